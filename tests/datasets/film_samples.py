"""Small films, and how tests read those of others back."""

from pathlib import Path

import numpy as np

from videopred.datasets.film_formats import read_films
from videopred.datasets.import_settings import ImportConfig

B, T, H, W = 3, 5, 8, 10
SIZES = {"B": B, "T": T, "H": H, "W": W}
CHANCE = np.random.default_rng(0)
GREY = CHANCE.integers(0, 256, (B, T, H, W, 1), np.uint8)
COLOR = CHANCE.integers(0, 256, (B, T, H, W, 3), np.uint8)


def noise(*shape: int, dtype: type = np.uint8) -> np.ndarray:
    """Drawn levels, the same for the same shape."""
    return np.random.default_rng(0).integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def read(source: Path, part: str = "test", **config) -> tuple[np.ndarray, dict]:
    """All clips that a source gives, (B, T, H, W, C), and what was found out."""
    films = read_films(source, ImportConfig(part=part, **config))
    assert list(films.parts) == [part]
    clips = np.stack([films.record(part, clip)["features"] for clip in range(films.parts[part])])
    facts = {
        "part": part,
        "clips": len(clips),
        "frames": clips.shape[1],
        "height": clips.shape[2],
        "width": clips.shape[3],
    }
    assert films.found.items() >= (facts | {"channels": clips.shape[4]}).items()
    return clips, dict(films.found)
