"""The clips of a training run, and the order in which they come."""

import itertools
import multiprocessing.util
import os
import signal
import threading
from collections.abc import Iterator
from functools import partial
from multiprocessing.context import BaseContext
from multiprocessing.synchronize import Semaphore
from typing import Any

import lightning
import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from videopred.checkpoint import RunConfig
from videopred.datasets.loader import FilmDataset
from videopred.systems import stop_signals
from videopred.training.chance import ORDER, WINDOW, source_of
from videopred.training.clips import TrainingClips


class Batches(lightning.LightningDataModule):
    """Batches of a run from any update on, shared out among processes and pieces.

    Attributes:
        over: above 0 where loader processes are needed no more. Not an event, with whose lock one could die.
    """

    def __init__(self, clips: TrainingClips, config: RunConfig, device: torch.device) -> None:
        super().__init__()
        self.clips, self.config, self.device = clips, config, device
        self._context = _context()
        self.over = self._context.Semaphore(0)
        if config.compute.workers:  # else each makes a folder for what it sends, and leaves it where it ends at once
            multiprocessing.util.get_temp_dir()

    def train_dataloader(self) -> "DataLoader[Any] | HeldBatches":
        training = self.config.training
        assert self.trainer is not None  # whoever asks for batches
        done = self.trainer.global_step
        shares = Shares(training.batch_size, training.accumulate, self.trainer.world_size, self.trainer.global_rank)
        if self.clips.endless:
            made = MadeBatches(self.clips, shares, training.seed)
            numbers = Rounds(training.updates * training.accumulate, start=done * training.accumulate)
            return DataLoader(made, batch_size=None, sampler=numbers, **self._workers)
        clips, windows = self.clips.to_learn, self.clips.windows
        batches = SharedBatches(ShuffledBatches(clips, training.batch_size, training.seed, done, windows), shares)
        if self.clips.held_on_device:
            return HeldBatches(self.clips.frames_on(self.device), batches, self.clips.frames)
        return DataLoader(self.clips.learn, batch_sampler=batches, **self._workers)

    def val_dataloader(self) -> "DataLoader[tuple[Tensor, Tensor]]":
        assert self.trainer is not None
        training, world = self.config.training, self.trainer.world_size
        clips = WeightedClips(self.clips.validate)
        size = training.batch_size // (training.accumulate * world)
        numbers = equal_numbers(len(self.clips.validate), world, self.trainer.global_rank)
        return DataLoader(clips, batch_size=size, sampler=numbers, **self._workers)

    @property
    def _workers(self) -> dict[str, Any]:
        if not (workers := self.config.compute.workers):
            return {"num_workers": 0}
        begin = partial(_live_until, self.over)
        return {"num_workers": workers, "worker_init_fn": begin, "multiprocessing_context": self._context}


def _context() -> BaseContext:
    """How loader processes begin: as copies of this one where Python, from 3.14 on, would leave them to a server.

    Copies begin at once, share the clips that are in memory, and notice when this process is killed. A server's do not:
    it lives as long as they do, and they wait for its end.
    """
    usual = multiprocessing.get_start_method()
    return multiprocessing.get_context("fork" if usual == "forkserver" else usual)


def _live_until(over: Semaphore, worker: int) -> None:
    """A loader process ignores SIGINT and `stop_signals`, and ends when training needs no batches: when it has saved.

    Terminals and Slurm send these signals to it as well. It is not left to torch to end it: where training fails, the
    garbage collector closes the queue in which torch would tell it to, and torch waits for five seconds.
    """
    for number in (signal.SIGINT, *stop_signals()):
        signal.signal(number, signal.SIG_IGN)

    def end_when_over() -> None:
        over.acquire()
        over.release()  # for the others
        os._exit(0)

    threading.Thread(target=end_when_over, daemon=True).start()


class Shares:
    """Which clips of a batch belong to which piece of which process: equal shares, in the order of the batch.

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


def starts_of(seed: int, batch: int, size: int, windows: int) -> np.ndarray:
    """The frames at which the windows of a batch begin, (B,): each of them equally likely in each clip."""
    return np.random.default_rng(source_of(seed, WINDOW, batch)).integers(windows, size=size)


class ShuffledBatches(Sampler[list[int]]):
    """Endless batches of whole shuffles; batch k is a function of (seed, k), and a shuffle's remainder is skipped.

    A batch is of windows, one drawn from each of its clips, counted clip by clip as `FilmDataset` does. Where there are
    fewer clips than a batch takes, a shuffle holds each of them several times, so that it fills one batch.

    Args:
        clips: number of clips.
        size: clips per batch.
        seed: source of the shuffles.
        start: the first batch to give.
        windows: of each clip, each beginning a frame after the other.
    """

    def __init__(self, clips: int, size: int, seed: int, start: int = 0, windows: int = 1):
        self.clips, self.size, self.seed, self.start, self.windows = clips, size, seed, start, windows

    def __iter__(self) -> Iterator[list[int]]:
        in_a_shuffle = self.clips * -(-self.size // self.clips)
        per_shuffle = in_a_shuffle // self.size
        shuffle, offset = divmod(self.start, per_shuffle)
        while True:
            order = np.random.default_rng(source_of(self.seed, ORDER, shuffle)).permutation(in_a_shuffle) % self.clips
            for k in range(offset, per_shuffle):
                clips = order[k * self.size : (k + 1) * self.size]
                starts = starts_of(self.seed, shuffle * per_shuffle + k, self.size, self.windows)
                yield (clips * self.windows + starts).tolist()
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
    """Batches of windows of clips (B, T, H, W, C) that are on the device already."""

    def __init__(self, clips: Tensor, batches: SharedBatches, frames: int) -> None:
        self.clips, self.batches, self.frames = clips, batches, frames

    def __iter__(self) -> Iterator[Tensor]:
        windows = self.clips.shape[1] - self.frames + 1
        for batch in self.batches:
            # Indexing would send indices by itself, but wait until the device has done all it was asked for.
            numbers = torch.tensor(batch).to(self.clips.device, non_blocking=True)[:, None]
            frames = torch.arange(self.frames, device=self.clips.device)
            yield self.clips[numbers // windows, numbers % windows + frames]


class MadeBatches(Dataset[Tensor]):
    """Batches that are made when they are asked for and never come again: batch k begins with clip k times size.

    Each clip is made whole, and the one window that is drawn for it is given.
    """

    def __init__(self, clips: TrainingClips, shares: Shares, seed: int) -> None:
        self.clips, self.shares, self.seed = clips, shares, seed

    def __getitem__(self, number: int) -> Tensor:
        """Piece `number`, counted over all updates: (B, T, H, W, C) uint8."""
        batch, piece = divmod(number, self.shares.pieces)
        part, first = self.shares.slice_of(piece), batch * self.shares.size
        starts = starts_of(self.seed, batch, self.shares.size, self.clips.windows)
        return torch.from_numpy(self.clips.read_windows(first + part.start, starts[part]))


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
