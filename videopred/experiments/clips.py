"""The clips of an experiment: found where they are, or made."""

import sys
from pathlib import Path

from videopred import check
from videopred.amounts import parts_told
from videopred.datasets import open_dataset
from videopred.datasets.generation import generate
from videopred.experiments.settings import ExperimentConfig


def find_or_make_clips(experiment: ExperimentConfig, *, progress: bool = False, others: bool = True) -> Path:
    """The data file of an experiment, made if it is not there, which is said on stderr.

    Args:
        experiment: at its scale.
        progress: show a bar on stderr.
        others: whether whoever asks may take clips by another recipe, with --data.

    Raises:
        ValueError: a file of that name is there and was made by another recipe.
        OSError: the file cannot be made, or another process is making it.
    """
    path = experiment.data_file
    if not path.exists():
        print(f"making {path}: {parts_told(experiment.clips)} clips", file=sys.stderr)
        try:
            with check.named({"--out": "the experiment's clips"}):
                return generate(
                    experiment.data, experiment.clips, recipe=experiment.recipe, out=path, progress=progress
                )
        except FileExistsError:
            if not path.exists():  # else another process was quicker
                raise
    with open_dataset(path) as file:
        # A file names the digits that it was made of; a recipe may leave it to whoever makes it.
        ours = experiment.recipe.model_copy(update=_digits(file.recipe))
        theirs = {part: count for part, count in file.parts.items() if count}
        fix = "move it away" + (f", or add `--data {path}` to use it as it is" if others else "")
        check.require(file.recipe == ours, str(path), "be made by the experiment's recipe", "one made by another", fix)
        check.require(file.seed == 0, str(path), "be made with seed 0", f"seed {file.seed}", fix)
        check.require(theirs == experiment.clips, str(path), f"hold {_told(experiment.clips)}", _told(theirs), fix)
    return path


def _digits(recipe: object) -> dict[str, str]:
    digits = getattr(recipe, "mnist_sha256", None)
    return {} if digits is None else {"mnist_sha256": digits}


def _told(clips: dict[str, int]) -> str:
    return " ".join(f"{part}={count}" for part, count in clips.items())
