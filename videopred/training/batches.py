"""The clips of a training run, and the order in which they come."""

from collections.abc import Iterator

import numpy as np
from torch.utils.data import Sampler

from videopred import check
from videopred.datasets.loader import FilmDataset
from videopred.datasets.source import ClipSource
from videopred.settings import TrainingConfig
from videopred.training.chance import ORDER, source_of


def training_clips(file: ClipSource, training: TrainingConfig) -> tuple[FilmDataset, FilmDataset]:
    """The clips to learn from and the clips to choose the best checkpoint by, both outside the test part.

    Raises:
        ValueError: the file has no training part, or too few clips for a batch.
    """
    count = file.parts.get("train", 0)
    check.require(
        file.frames > 1, "DATA", "hold clips of two frames or more", file.frames, "there is nothing to predict"
    )
    fix = "generate some with `--clips train=1000`, or import them with `--part train`"
    check.require(count > 0, "DATA", "hold a training part", f"{file.path} without one", fix)
    kept = count
    if not file.parts.get("validation"):
        kept = count - max(1, round(count * training.validation_share))
    must = f"be at most {kept}, the clips left to learn from"
    fix = "lower it, or generate more clips"
    check.require(training.batch_size <= kept, "--batch-size", must, training.batch_size, fix)
    most = file.frames - 2
    must = f"be at most {most}, so that of {file.frames} frames one is given and one is predicted from it"
    check.require(training.free_running <= most, "--free-running", must, training.free_running, "lower it")
    learn = FilmDataset(file, "train", stop=kept)
    if kept == count:
        return learn, FilmDataset(file, "validation")
    return learn, FilmDataset(file, "train", start=kept)


class ShuffledBatches(Sampler[list[int]]):
    """Endless batches of whole shuffles; batch k is a function of (seed, k), and a shuffle's remainder is skipped.

    Args:
        clips: number of clips.
        size: clips per batch, at most `clips`.
        seed: source of the shuffles.
        start: the first batch to give.
    """

    def __init__(self, clips: int, size: int, seed: int, start: int = 0):
        self.clips, self.size, self.seed, self.start = clips, size, seed, start

    def __iter__(self) -> Iterator[list[int]]:
        per_shuffle = self.clips // self.size
        shuffle, offset = divmod(self.start, per_shuffle)
        while True:
            order = np.random.default_rng(source_of(self.seed, ORDER, shuffle)).permutation(self.clips)
            for k in range(offset, per_shuffle):
                yield order[k * self.size : (k + 1) * self.size].tolist()
            shuffle, offset = shuffle + 1, 0
