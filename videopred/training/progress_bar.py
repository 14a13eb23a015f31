"""The bar of a training on a terminal."""

import time
from collections.abc import Callable
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback
from tqdm import tqdm

from videopred.amounts import four_digits

_SHAPE = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
"""Short, so that all of it has room in 80 columns."""


class ProgressBar(Callback):
    """Updates, losses and frames per second, on stderr, if that is a terminal.

    Args:
        updates: of the whole training.
        frames: that a piece of a batch has: clips times their length.
        clock: tells seconds.
    """

    def __init__(self, updates: int, frames: int, clock: Callable[[], float] = time.perf_counter):
        self.updates, self.frames, self.clock = updates, frames, clock
        self.pace: float | None = None
        """Seconds per piece, looks at the validation clips left out; the last ones count most."""

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.bar = tqdm(total=self.updates, bar_format=_SHAPE, initial=trainer.global_step, disable=None)
        self.since = self.clock()

    def on_train_batch_end(self, trainer: lightning.Trainer, *others: Any) -> None:
        now = self.clock()
        passed, self.since = now - self.since, now
        self.pace = passed if self.pace is None else 0.9 * self.pace + 0.1 * passed
        if self.bar.update(trainer.global_step - self.bar.n):  # it is drawn a few times a second
            self._show_losses(trainer)

    def _show_losses(self, trainer: lightning.Trainer) -> None:
        """Losses are asked for only when they are shown: they are on the device, which has to be waited for."""
        if self.bar.disable or self.pace is None:
            return
        losses = [
            f"{name.partition('_')[0]} {four_digits(float(value))}"
            for name, value in trainer.callback_metrics.items()
            if name.startswith(("train_", "validation_"))
        ]
        self.bar.set_postfix_str(", ".join([f"{self.frames / max(self.pace, 1e-9):.0f} frames/s", *losses]))

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.since = self.clock()

    def on_train_end(self, trainer: lightning.Trainer, *others: Any) -> None:
        self._show_losses(trainer)
        self.bar.close()

    def on_exception(self, *others: Any) -> None:
        if hasattr(self, "bar"):
            self.bar.close()
