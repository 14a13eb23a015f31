"""Runs and scores made up by hand, for pages about them: no training, and every number known."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from videopred.eval import make_metric
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol

SPREAD = np.array([-2, -1, 0, 1, 2])[:, None]
"""Adds up to 0 over the five clips."""
ONE = {"model": ([0.1, 0.2, 0.3], [10.0, 11.0, 12.0]), "blank": ([0.5] * 3, [1.0, 1.0, 1.0])}
"""A model and blank, as `scored` takes them."""
LOG = [
    {"update": "1", "train_bce": "9", "learning_rate": "0.1", "gradient_norm": "3"},
    {"update": "2", "train_bce": "8", "validation_bce": "7.25", "learning_rate": "0.1", "gradient_norm": "2"},
    {"update": "3", "train_bce": "6", "validation_bce": "7.75", "learning_rate": "0.1", "gradient_norm": "fast"},
]
"""Rows of a run's curves."""


def scored(**rows: tuple[list[float], list[float]]) -> Scores:
    """Each row's MSE and PSNR at each step; the first row is a model's."""
    measurements: dict[str, Any] = {
        row.replace("_", " "): {
            "mse": {"mse": mse + 0.001 * SPREAD},
            "psnr": {"psnr": psnr + 0.1 * SPREAD, "capped": np.zeros((5, len(psnr)))},
        }
        for row, (mse, psnr) in rows.items()
    }
    return Scores(
        measurements=measurements,
        metrics={name: make_metric(name) for name in ("mse", "psnr")},
        file="a.h5",
        fingerprint="1",
        reference=None,
        protocol=Protocol(context=2, horizon=len(next(iter(rows.values()))[0]), metrics=("mse", "psnr"), clips=5),
        models=(next(iter(measurements)),),
    )


def made_up_run(
    folder: Path, log: Sequence[Mapping[str, str]] = (), record: Mapping[str, Any] | None = None, **settings: Any
) -> Path:
    """A run folder without weights: its settings, curves and record."""
    (folder / "logs").mkdir(parents=True)
    usual = {"model": {"core": {"kind": "gru", "units": 5}, "own": True}, "film_shape": [1, 24, 32]}
    (folder / "settings.json").write_text(json.dumps(usual | settings))
    if record is not None:
        (folder / "run.json").write_text(json.dumps(record))
    if log:
        with (folder / "logs" / "metrics.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(name for row in log for name in row)))
            writer.writeheader()
            writer.writerows(log)
    return folder
