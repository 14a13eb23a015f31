"""Clips as films, in batches, cut where the rollout begins."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from videopred.datasets.clip_source import ClipSource
from videopred.device import seeded_devices
from videopred.frames import to_film
from videopred.judging.given_films import GivenTruth


class Batch(NamedTuple):
    """Some clips that follow one another in a part of a file."""

    file: ClipSource
    """Where they are, with whatever else it knows of them."""
    part: str
    start: int
    """Index of the first of them in the part."""
    film: Tensor
    """(B, context + horizon, C, H, W) float in [0, 1]."""
    given: int
    """Frames of context."""
    one_step: bool = False
    """Whether every frame is predicted from the true frames before it, not from predictions."""

    @property
    def context(self) -> Tensor:
        """The frames given: (B, context, C, H, W)."""
        return self.film[:, : self.given]

    @property
    def truth(self) -> Tensor:
        """The frames to predict: (B, horizon, C, H, W)."""
        return self.film[:, self.given :]

    @property
    def horizon(self) -> int:
        return self.film.shape[1] - self.given

    @property
    def clips(self) -> range:
        """Indices of the clips in the part."""
        return range(self.start, self.start + len(self.film))


class Predicted(NamedTuple):
    """What was predicted of a batch."""

    film: Tensor
    """(B, horizon, C, H, W) float in [0, 1]."""
    masks: Tensor | None = None
    """(B, horizon, H, W) whole numbers: which part of the model made each pixel, counted from 1, if it says so."""


def seed_sample(start: int, sample: int) -> None:
    """Seed what a model draws for a sample of the clips from `start` on, whatever was drawn before."""
    torch.manual_seed(1_000_003 * start + sample)


@contextmanager
def seeded_sample(start: int, sample: int, device: torch.device) -> Iterator[None]:
    """Within this, draws are as after `seed_sample`; after it, torch's streams are as they were."""
    with torch.random.fork_rng(seeded_devices(device)):
        seed_sample(start, sample)
        yield


def read_film(file: ClipSource, part: str, start: int, stop: int) -> Tensor:
    """Clips of a part as a film: (B, T, C, H, W) float in [0, 1]."""
    if isinstance(file, GivenTruth):
        return file.given.read(start, stop)
    return to_film(file.read_frames(part, start, stop))


def films(
    file: ClipSource, part: str, starts: Sequence[int], clips: int, batch_size: int, progress: bool
) -> Iterator[tuple[int, Tensor]]:
    """The first clips of a part as films, in batches, each with the index of its first clip.

    Args:
        file: holds the clips.
        part: train, validation or test.
        starts: first clips of the batches to read; see `Share.of`.
        clips: how many clips count, from the first of the part on.
        batch_size: clips at a time.
        progress: show a bar on stderr.
    """
    for start in tqdm(starts, desc=f"{file.path.name} {part}", unit="batch", disable=not progress):
        yield start, read_film(file, part, start, min(start + batch_size, clips))
