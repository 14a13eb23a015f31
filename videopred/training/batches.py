"""The clips of a training run, and the order in which they come."""

import itertools
from collections.abc import Iterator
from typing import Any

import lightning
import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from videopred.checkpoint import RunConfig
from videopred.datasets.loader import FilmDataset
from videopred.training.chance import ORDER, source_of
from videopred.training.clips import TrainingClips


class Batches(lightning.LightningDataModule):
    """Batches of a run from any update on, shared out among processes and pieces."""

    def __init__(self, clips: TrainingClips, config: RunConfig, device: torch.device) -> None:
        super().__init__()
        self.clips, self.config, self.device = clips, config, device

    def train_dataloader(self) -> "DataLoader[Any] | HeldBatches":
        training, compute = self.config.training, self.config.compute
        assert self.trainer is not None  # whoever asks for batches
        done = self.trainer.global_step
        shares = Shares(training.batch_size, training.accumulate, self.trainer.world_size, self.trainer.global_rank)
        if self.clips.endless:
            made = MadeBatches(self.clips, shares)
            numbers = Rounds(training.updates * training.accumulate, start=done * training.accumulate)
            return DataLoader(made, batch_size=None, sampler=numbers, num_workers=compute.workers)
        whole = ShuffledBatches(len(self.clips.learn), training.batch_size, training.seed, start=done)
        batches = SharedBatches(whole, shares)
        if self.clips.held_on_device:
            return HeldBatches(self.clips.frames_on(self.device), batches)
        return DataLoader(self.clips.learn, batch_sampler=batches, num_workers=compute.workers)

    def val_dataloader(self) -> "DataLoader[tuple[Tensor, Tensor]]":
        assert self.trainer is not None
        training, world = self.config.training, self.trainer.world_size
        clips = WeightedClips(self.clips.validate)
        size = max(1, training.batch_size // (training.accumulate * world))
        numbers = equal_numbers(len(self.clips.validate), world, self.trainer.global_rank)
        return DataLoader(clips, batch_size=size, sampler=numbers, num_workers=self.config.compute.workers)


class Shares:
    """Which clips of a batch pass in which piece of which process; share after share in the order of the batch.

    Args:
        size: clips of a whole batch, a multiple of pieces times processes.
        pieces: of each process, one after another.
        world: processes.
        rank: the process that asks.
    """

    def __init__(self, size: int, pieces: int, world: int, rank: int) -> None:
        self.size, self.pieces, self.rank = size, pieces, rank
        self.clips = size // (pieces * world)

    def slice_of(self, piece: int) -> slice:
        """The part of a batch that is this process's piece of that number."""
        start = (self.rank * self.pieces + piece) * self.clips
        return slice(start, start + self.clips)


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


class SharedBatches(Sampler[list[int]]):
    """The pieces of one process, from whole batches."""

    def __init__(self, whole: ShuffledBatches, shares: Shares) -> None:
        self.whole, self.shares = whole, shares

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self.whole:
            for piece in range(self.shares.pieces):
                yield batch[self.shares.slice_of(piece)]


class Rounds(Sampler[int]):
    """0 up to `count`, from `start` on, over and over: loaders fetch ahead, and so beyond the last that is needed.

    It has no length, which Lightning would take for that of an epoch.
    """

    def __init__(self, count: int, start: int) -> None:
        self.count, self.start = count, start

    def __iter__(self) -> Iterator[int]:
        for number in itertools.count(self.start):
            yield number % self.count


class HeldBatches:
    """Batches of frames (N, T, H, W, C) that are on the device already."""

    def __init__(self, frames: Tensor, batches: SharedBatches) -> None:
        self.frames, self.batches = frames, batches

    def __iter__(self) -> Iterator[Tensor]:
        for batch in self.batches:
            yield self.frames[batch]


class MadeBatches(Dataset[Tensor]):
    """Batches that are made when they are asked for and never come again: batch k is the clips from k times size on."""

    def __init__(self, clips: TrainingClips, shares: Shares) -> None:
        self.file, self.shares = clips.file, shares

    def __getitem__(self, number: int) -> Tensor:
        """Piece `number`, counted over all updates: (B, T, H, W, C) uint8."""
        batch, piece = divmod(number, self.shares.pieces)
        part, first = self.shares.slice_of(piece), batch * self.shares.size
        return torch.from_numpy(self.file.read_frames("train", first + part.start, first + part.stop))


class WeightedClips(Dataset[tuple[Tensor, Tensor]]):
    """Clips with weight 1; beyond the last, the first again with weight 0, so that processes have equally many."""

    def __init__(self, clips: FilmDataset) -> None:
        self.clips = clips

    def __getitem__(self, item: int) -> tuple[Tensor, Tensor]:
        there = item < len(self.clips)
        frames = self.clips[item if there else 0]
        assert isinstance(frames, Tensor)
        return frames, torch.tensor(float(there))


def equal_numbers(clips: int, world: int, rank: int) -> range:
    """The clips that one of several processes looks at; as many for each, so that the last may lie beyond the end."""
    each = -(-clips // world)
    return range(rank, rank + each * world, world)
