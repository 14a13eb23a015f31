"""Forecasts the time, memory and disk that a training takes, by doing a few of its updates on a copy of the model."""

import math
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from videopred import check, check_path
from videopred.amounts import counted, duration, size
from videopred.checkpoint import RunConfig
from videopred.systems import total_memory_bytes
from videopred.training.clips import TrainingClips
from videopred.training.learner import Learner
from videopred.training.places import is_unbegun
from videopred.training.schedules import share_of_samples

_TIMED, _ENOUGH = 3, 5.0
"""Updates that are timed after one that is not, and seconds after which no further one is."""

_LAST_AND_BEST = 3
"""Checkpoints that a run has from its third save on: the last two and the best."""

_KINDS = {"64-true": torch.float64, "bf16-true": torch.bfloat16}
"""Precision -> what the weights have in training, if that is not float32."""


class Forecast(NamedTuple):
    """What a training will take."""

    device: str
    parameters: int
    core_parameters: int
    """Those of the core, of which models at equal parameter count have as many."""
    memory: int
    """Bytes on the device at most, libraries aside: weights, gradients, Adam's two numbers a weight, what is kept for
    the way back, and clips that are held there."""
    seconds_per_update: float
    seconds_per_epoch: float | None
    """Time of an epoch's updates alone; None where clips are endless."""
    updates: int
    seconds: float
    """Time of all updates and looks at the validation clips, without pictures, loggers and compilation."""
    disk: int
    """Bytes of the checkpoints that are kept, and one more while it is written."""

    def __str__(self) -> str:
        epoch = "" if self.seconds_per_epoch is None else f" ({duration(self.seconds_per_epoch)} an epoch)"
        take = "takes" if self.updates == 1 else "take"
        return (
            f"{counted(self.parameters, 'parameter')}, {self.core_parameters:,} of them the core's; "
            f"{counted(self.updates, 'update')} {take} about {duration(self.seconds)}{epoch} "
            f"and {size(self.memory)} of memory on {self.device}, checkpoints {size(self.disk)} of disk"
        )


def forecast(learner: Learner, clips: TrainingClips, device: torch.device) -> Forecast:
    """What training will take on a device; leaves the learner and torch's random stream as they are.

    With several devices or machines, one share of the batch is timed; that they wait for one another is not.
    """
    config = learner.config
    training = config.training
    size_of_share = _size_of_share(config)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        trial = _Trial(learner, device)
        some = np.zeros(min(size_of_share, clips.to_learn), int)  # there may be fewer clips than windows in a share
        reading, frames = _timed(lambda: clips.read_windows(0, some), device)
        batch = torch.from_numpy(np.resize(frames, (size_of_share, *frames.shape[1:]))).to(device)
        update = trial.seconds_of(lambda: trial.update(batch)) * training.accumulate
        taken = trial.bytes_taken(batch)
        clips_at_once = training.batch_size // training.accumulate  # of all processes together
        look = trial.seconds_of(lambda: trial.look(batch)) * len(clips.validate) / clips_at_once
    reading *= training.accumulate * size_of_share / len(some)
    if clips.are_read_each_time:
        workers = config.compute.workers
        update = max(update, reading / workers) if workers else update + reading
    looks = -(-training.updates // training.validate_every)
    # Each clip to learn from is seen once in an epoch, if only in one window.
    epoch = None if clips.endless else max(1, clips.to_learn // training.batch_size) * update
    return Forecast(
        device=str(device),
        parameters=sum(weight.numel() for weight in learner.parameters()),
        core_parameters=sum(weight.numel() for weight in learner.predictor.core.parameters()),
        memory=taken + _bytes_held(clips, device),
        seconds_per_update=update,
        seconds_per_epoch=epoch,
        updates=training.updates,
        seconds=training.updates * update + looks * look,
        disk=_bytes_of_checkpoints(learner),
    )


def check_memory(learner: Learner, clips: TrainingClips, device: torch.device) -> None:
    """Refuse a batch that is far too large for the memory of the CPU, as the system kills without a word.

    Other devices say themselves that they are full. Nothing is tried where a hundred times the batch's frames would
    fit, as what a model keeps of a frame is mostly some dozens of times as large, nor where a batch is no larger than
    what is tried.

    Raises:
        ValueError: an update would take more than twice the memory of this machine.
    """
    config, there = learner.config, total_memory_bytes()
    share, few = _size_of_share(config), 1 + 2 * learner.predictor.block_on(device) // clips.frames
    frames = share * clips.frames * 4 * math.prod(config.film_shape)
    if device.type != "cpu" or there is None or 100 * frames < there or share <= 2 * few:
        return
    with torch.random.fork_rng([]):
        takes = _bytes_expected(_Trial(learner, device), clips, share, few)
    must = f"leave an update room in the {size(there)} of memory of this machine"
    got, fix = f"{config.training.batch_size}, with which it takes {size(takes)}", "lower it, or raise --accumulate"
    check.require(takes <= 2 * there, "--batch-size", must, got, fix)


def check_room(learner: Learner, folder: Path) -> None:
    """Refuse a new run for whose checkpoints the disk has no room; one that replaces another gets that one's room.

    Raises:
        OSError: they would not fit.
    """
    if not folder.exists() or is_unbegun(folder):
        lacking = check_path.lacking_room("--out", folder, _bytes_of_checkpoints(learner), "checkpoints")
        if lacking:
            raise OSError(lacking)


def _bytes_of_checkpoints(learner: Learner) -> int:
    """What the checkpoints of a run take that are kept, and one more while it is written."""
    training = learner.config.training
    intervals = (training.validate_every, training.save_every, training.keep_every)
    # The first few of each interval, as all of a trillion updates would fill the memory.
    firsts = (range(every, training.updates, every)[:_LAST_AND_BEST] for every in intervals if every)
    saves = {training.updates}.union(*firsts)
    every_n = training.updates // training.keep_every if training.keep_every else 0
    checkpoints = min(len(saves), _LAST_AND_BEST) + 1 + every_n
    bytes_of_weight = _KINDS.get(training.precision, torch.float32).itemsize
    # Adam has two numbers for each weight that learns.
    numbers = sum(weight.numel() * (3 if weight.requires_grad else 1) for weight in learner.parameters())
    return checkpoints * bytes_of_weight * numbers


def _bytes_expected(trial: "_Trial", clips: TrainingClips, share: int, few: int) -> float:
    """`bytes_taken` of a share of a batch on the CPU, from what a few clips and twice as many take.

    What one more takes does not depend on how many there are, once they fill two blocks of the decoder, of which only
    one is in memory at a time.
    """
    clip = clips.read_windows(0, np.zeros(1, int))
    less, more = (trial.bytes_taken(torch.from_numpy(np.repeat(clip, clips_, 0))) for clips_ in (few, 2 * few))
    return less + (more - less) * (share - few) / few


def _size_of_share(config: RunConfig) -> int:
    """Clips that one process learns from at once."""
    return config.training.batch_size // (config.compute.processes * config.training.accumulate)


def _bytes_held(clips: TrainingClips, device: torch.device) -> int:
    """What clips take of the device's memory, those of validation too; others stay on disk or in the host's memory."""
    on_cpu = device.type == "cpu"
    learn = not clips.endless and (clips.held_on_device or (on_cpu and clips.learn.held))
    return clips.bytes_to_learn * learn + clips.bytes_to_validate * (on_cpu and clips.validate.held)


class _Trial:
    """A copy of a learner that is trained a little and thrown away."""

    def __init__(self, learner: Learner, device: torch.device) -> None:
        self.training, self.device = learner.config.training, device
        self.before = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
        self.copy = deepcopy(learner).to(device)
        if self.training.precision in _KINDS:
            self.copy.to(_KINDS[self.training.precision])
        self.adam = self.copy.configure_optimizers()

    @property
    def bytes_of_weights(self) -> int:
        """What the weights take, in the precision that they have in training."""
        return sum(weight.numel() * weight.element_size() for weight in self.copy.parameters())

    def loss(self, batch: Tensor) -> Tensor:
        """The loss as it is at the end of training, when curricula are complete."""
        training = self.training
        sampling = share_of_samples(training, training.updates)
        with self.rounding():
            return self.copy.loss_to_learn(batch, training.free_running, sampling)

    def rounding(self) -> AbstractContextManager[Any]:
        """What Lightning does for mixed precision."""
        kinds = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
        kind = kinds.get(self.training.precision)
        return nullcontext() if kind is None else torch.autocast(self.device.type, kind)

    def update(self, batch: Tensor) -> None:
        loss = self.loss(batch)
        self.adam.zero_grad()  # here, as Lightning does: the old gradients are still there meanwhile
        loss.backward()
        nn.utils.clip_grad_norm_(self.copy.parameters(), self.training.clip_norm or 1.0)
        self.adam.step()

    def look(self, batch: Tensor) -> None:
        with torch.no_grad(), self.rounding():
            self.copy.losses_of(batch)

    def bytes_taken(self, batch: Tensor) -> int:
        """Most bytes that an update takes at once, but for its first, which makes Adam's numbers.

        On a CUDA device they are measured; elsewhere they are those of weights, gradients, Adam's two numbers a weight,
        and the most that is kept for the way back.
        """
        if self.device.type == "cuda":
            self.copy.forget_graph()  # a replay takes no memory but what it holds
            torch.cuda.reset_peak_memory_stats(self.device)
            self.update(batch)
            return torch.cuda.max_memory_allocated(self.device) - self.before
        kept = _Kept(self.copy.parameters())
        with torch.autograd.graph.saved_tensors_hooks(kept.take, lambda ticket: ticket.tensor):
            self.loss(batch).backward()
        return 4 * self.bytes_of_weights + kept.most

    def seconds_of(self, work: Callable[[], Any]) -> float:
        """Median of a few times, after one that does not count."""
        _timed(work, self.device)
        times: list[float] = []
        while len(times) < _TIMED and sum(times) < _ENOUGH:
            times.append(_timed(work, self.device)[0])
        return sorted(times)[len(times) // 2]


class _Kept:
    """Counts the bytes of what is kept for the way back, each place in memory once, and the most there ever were.

    Args:
        weights: not counted.
    """

    def __init__(self, weights: Iterable[Tensor]) -> None:
        self.most = self._now = 0
        self._weights = {weight.untyped_storage().data_ptr() for weight in weights}
        self._holders: Counter[int] = Counter()

    def take(self, tensor: Tensor) -> "_Ticket":
        """What autograd keeps in place of a tensor; when it lets go of it, the bytes no longer count."""
        ticket, storage = _Ticket(tensor), tensor.untyped_storage()
        place, taken = storage.data_ptr(), storage.nbytes()
        if place not in self._weights:
            self._now += 0 if self._holders[place] else taken
            self._holders[place] += 1
            self.most = max(self.most, self._now)
            weakref.finalize(ticket, self._leave, place, taken)
        return ticket

    def _leave(self, place: int, taken: int) -> None:
        self._holders[place] -= 1
        self._now -= 0 if self._holders[place] else taken


@dataclass(eq=False)
class _Ticket:
    tensor: Tensor


def _timed(work: Callable[[], Any], device: torch.device) -> tuple[float, Any]:
    """Seconds that the work took, and what it gave."""
    start = time.perf_counter()
    done = work()
    if device.type != "cpu":  # which only notes down what it is asked for
        torch.accelerator.synchronize(device)
    return time.perf_counter() - start, done
