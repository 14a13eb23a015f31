"""Films made elsewhere, of grey frames and of black and white ones, for tests of what is read of them and scored."""

from pathlib import Path
from typing import Any

import numpy as np

from videopred.judging.given_films import GivenFilms

CLIPS, FRAMES, HEIGHT, WIDTH = 3, 4, 5, 7
CHANCE = np.random.default_rng(0)
SOFT = CHANCE.random((CLIPS, FRAMES, 1, HEIGHT, WIDTH))
"""B T C H W, float64."""
HARD = (CHANCE.random((CLIPS, FRAMES, 1, HEIGHT, WIDTH)) < 0.4).astype(np.uint8)


def given(path: Path, **changes: Any) -> GivenFilms:
    """Predictions, as of a user who typed --pred."""
    return GivenFilms("--pred", path, **changes)
