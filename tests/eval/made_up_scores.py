"""Scores whose numbers are known."""

from typing import Any

import numpy as np

from videopred.eval import make_metric
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol

SPREAD = np.array([-3, -2, -1, 0, 1, 2, 3])[:, None]
"""Adds up to 0 over the seven clips."""


def counts(scores: list[float]) -> dict[str, np.ndarray]:
    """Pixels whose F1, pooled over seven clips, are these: hits in odd clips only, the rest missed in even ones."""
    hits = np.zeros((7, len(scores)))
    missed = np.zeros((7, len(scores)))
    hits[1::2], missed[::2] = 4, 2 * 4 * 3 * (1 / np.array(scores) - 1) / 4
    return {"tp": hits, "fp": np.zeros_like(hits), "fn": missed, "tn": np.full_like(hits, 50)}


def made_up(clips: int = 7, **changes: Any) -> Scores:
    """Three rows of two metrics; each row is best in one of them, but not at every step."""
    measurements = {
        "model": {"bce": {"bce": [1.0, 20.0, 300.0] + 0.1 * SPREAD}, "f1": counts([1 / 3, 0.5, 0.25])},
        "blank": {"bce": {"bce": [2.0, 20.0, 400.0] + 0 * SPREAD}, "f1": counts([0.5, 0.5, 0.5])},
        "copy last": {"bce": {"bce": [4.0, 60.0, 320.0] - 0.2 * SPREAD}, "f1": counts([0.25, 0.25, 0.25])},
    }
    cut = {
        row: {name: {key: values[:clips] for key, values in measured.items()} for name, measured in of_row.items()}
        for row, of_row in measurements.items()
    }
    given = {
        "measurements": cut,
        "metrics": {name: make_metric(name) for name in ("bce", "f1")},
        "file": "data/balls4.h5",
        "fingerprint": "1234abcd",
        "reference": "data/balls4.h5",
        "protocol": Protocol(context=4, horizon=3, metrics=("bce", "f1"), clips=clips),
    }
    return Scores(**(given | changes))
