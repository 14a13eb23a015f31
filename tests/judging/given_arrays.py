"""Films made elsewhere, of grey frames and of black and white ones, for tests of what is read of them and scored."""

from pathlib import Path
from typing import Any

import numpy as np

from videopred.datasets.clip_source import ClipSource
from videopred.eval.scores import Scores
from videopred.eval.settings import GivenConfig
from videopred.judging.given_films import GivenFilms
from videopred.judging.given_flags import open_given
from videopred.judging.given_scores import evaluate_given

CLIPS, FRAMES, HEIGHT, WIDTH = 3, 4, 5, 7
CHANCE = np.random.default_rng(0)
SOFT = CHANCE.random((CLIPS, FRAMES, 1, HEIGHT, WIDTH))
"""B T C H W, float64."""
HARD = (CHANCE.random((CLIPS, FRAMES, 1, HEIGHT, WIDTH)) < 0.4).astype(np.uint8)


def given(path: Path, **changes: Any) -> GivenFilms:
    """Predictions, as of a user who typed --pred."""
    return GivenFilms("--pred", path, **changes)


def open_one(part: str, data: ClipSource | None = None, *, pred: Path, **said: Any) -> tuple[GivenFilms, ClipSource]:
    """The predicted films of one path, and the true ones."""
    predicted, truth = open_given(GivenConfig(pred=(pred,), **said), part, data)
    return predicted["prediction"], truth


def score_one(predicted: GivenFilms, *asked: Any, **how: Any) -> Scores:
    """Scores of one path's films."""
    return evaluate_given({"prediction": predicted}, *asked, **how)
