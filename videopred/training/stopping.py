"""Stopping training where nothing is lost."""

from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from videopred.interrupt import HeldInterrupt


class StopOnInterrupt(Callback):
    """Ends training after the step under way if somebody pressed Ctrl-C, so that no half-made update is saved."""

    def __init__(self, held: HeldInterrupt):
        self.held = held

    def on_train_batch_end(self, trainer: lightning.Trainer, *others: Any) -> None:
        trainer.should_stop = trainer.should_stop or self.held.asked
