"""A card for each data set: its recipe as JSON, and a small GIF of its first clips."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from videopred import check
from videopred.datasets import DATASETS, make_world
from videopred.files import write_json
from videopred.preview import preview_gif

_CLIPS = 3
_FRAMES = 51  # at most, so that a card stays small; a longer clip is shown to its end, but every n-th frame only


def write_cards(folder: Path, names: Sequence[str] = tuple(DATASETS)) -> list[Path]:
    """Write `<name>.json` and `<name>.gif` of some presets, replacing what is there, and return their paths.

    The GIF shows the first clips made with seed 0: of the training part, or, where test clips come in scenes that
    belong together, the first scene of the test part.

    Args:
        folder: made if it is not there.
        names: presets; all when left out.

    Raises:
        ValueError: no preset has that name.
        OSError: a file cannot be written.
    """
    paths = []
    for name in names:
        preset = DATASETS[check.one_of("the data set", name, DATASETS)]
        world = make_world(name)
        scene = preset.recipe.clips_per_scene("test")
        part, count = ("test", scene) if scene > 1 else ("train", _CLIPS)
        every = -(-preset.recipe.frames // _FRAMES)
        frames = np.stack([clip.frames[::every] for clip in world.clips(0, part, range(count))])
        card = {
            "name": name,
            "summary": preset.summary,
            "recipe": world.recipe.model_dump(mode="json"),
            "shown": {"part": part, "clips": count, "seed": 0, "every": every},
        }
        paths.append(write_json(folder / f"{name}.json", card))
        paths.append(preview_gif(frames, folder / f"{name}.gif", columns=4, panel_px=128))
    return paths
