"""What there is to say of a data set in a few rows."""

from typing import Any

import numpy as np

from videopred.datasets.clip_source import ClipSource
from videopred.datasets.predictability import error_growth, frames_predictable
from videopred.datasets.settings import BallsConfig

_SAMPLE = 100  # clips of a part that statistics are over, at most; evenly from all of it, as some parts are in an order


def describe(file: ClipSource) -> dict[str, Any]:
    """Facts of a data file, ready for JSON.

    Returns:
        path, name, seed, recipe (None if the file is not ours), frames, height, width, channels, values ("binary",
        "grey levels" or "colors", and how they stand in a file that is not ours), context, horizon, bytes, truth (names
        of what is known beside frames), imported (what was found out about imported films), what the source remarks;
        and under `parts`, for each part there is: clips; looked_at, if what follows is over fewer, from all over the
        part; mean_intensity in [0, 1]; if the file is ours, objects_per_clip and contacts_per_clip (means); and for
        bouncing balls, over as many from the first on, frames_predictable, how many frames pass until who knew the law
        and almost the start has lost the balls (see predictability.py).
    """
    return {
        "path": str(file.path),
        "name": file.name,
        "seed": file.seed,
        "recipe": file.recipe.model_dump(mode="json") if file.recipe else None,
        "frames": file.frames,
        "height": file.height,
        "width": file.width,
        "channels": file.channels,
        "values": file.pixel_values(),
        "context": file.context,
        "horizon": file.horizon,
        "bytes": sum(path.stat().st_size for path in file.files()),
        "truth": list(file.truth),
        **({"imported": dict(file.imported)} if file.imported else {}),
        **file.remarks,
        "parts": {part: {"clips": count, **_statistics(file, part, count)} for part, count in file.parts.items()},
    }


def _statistics(file: ClipSource, part: str, count: int) -> dict[str, Any]:
    clips = min(count, _SAMPLE)
    chosen = [number * count // clips for number in range(clips)]
    means = [file.read_frames(part, clip, clip + 1).mean() / 255 for clip in chosen]
    facts: dict[str, Any] = {"looked_at": clips} if clips < count else {}
    facts["mean_intensity"] = float(np.mean(means))
    if file.recipe:
        truth = (file.clip(part, clip) for clip in chosen)  # not all held at once
        counts = [(clip.objects["active"].sum(), len(clip.contacts)) for clip in truth]
        facts["objects_per_clip"], facts["contacts_per_clip"] = np.mean(counts, axis=0).tolist()
    if isinstance(file.recipe, BallsConfig):
        facts["frames_predictable"] = frames_predictable(error_growth(file, part, clips))
    return facts
