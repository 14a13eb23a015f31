"""Saves the checkpoints of a run, and stops it where it can be resumed.

last.ckpt           the latest: after each look at the validation clips, every `save_every` or `keep_every` updates, and
                    on a stop
previous.ckpt       the one before, in case the latest is damaged
best.ckpt           lowest validation loss
update-0001000.ckpt every `keep_every` updates
"""

import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch.callbacks import Checkpoint

from videopred.checkpoint import BEST, LAST
from videopred.files import whole_file
from videopred.settings import TrainingConfig
from videopred.systems import replace
from videopred.training.learner import Learner
from videopred.training.resuming import PREVIOUS, StartingPoint
from videopred.training.stopping import Stopped, StopSigns

_NEXT = "next.ckpt"  # the last to be, and never read


class KeepCheckpoints(Checkpoint):
    """Saves between updates and after looks at the validation clips, and stops there when asked to.

    Args:
        folder: where the checkpoints go.
        training: says how often to save.
        signs: say when to stop.
        start: where the run goes on from.
        on_save: called after each save, with the number of updates.

    Attributes:
        saved_at: updates in the last checkpoint, at first in the one that is gone on from; 0 while there is none.
    """

    def __init__(
        self,
        folder: Path,
        training: TrainingConfig,
        signs: StopSigns,
        start: StartingPoint,
        on_save: Callable[[int], None],
    ) -> None:
        self.folder, self.training, self.signs = folder, training, signs
        self.best_so_far, self.begun_with, self.on_save = start.best_so_far, start.checkpoint, on_save
        self._begun = self.saved_at = start.done

    def on_fit_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """What a run goes on from becomes its last: one that has learned all saves nothing more.

        It was another if the run was killed between saving the best and the last, or if the last is damaged.
        """
        if self.begun_with is not None and self.begun_with.name != LAST and trainer.is_global_zero:
            with whole_file(self.folder / _NEXT) as partial:
                shutil.copyfile(self.begun_with, partial)
            self._make_next_the_last()

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        assert isinstance(pl_module, Learner)
        self.signs.held.listen()  # Lightning has put a handler of its own in place
        # A run that was killed right after the look that ended it has ended.
        if pl_module.has_stopped_falling:
            trainer.should_stop = True

    def on_train_batch_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Save and stop here, where all that belongs to the update before is done and logged."""
        assert isinstance(pl_module, Learner)
        done = trainer.global_step
        if done == self._begun or not pl_module.between_updates:
            return
        every = [number for number in (self.training.save_every, self.training.keep_every) if number]
        reason = self.signs.reason(trainer)
        if done > self.saved_at and (reason or any(done % number == 0 for number in every)):
            self._save(trainer)
        if reason:
            raise Stopped(reason)

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        assert isinstance(pl_module, Learner)
        latest = pl_module.validations.latest
        if latest < self.best_so_far:  # not the lowest of all, whose checkpoint may have been damaged
            self.best_so_far = latest
            trainer.save_checkpoint(self.folder / BEST)
        self._save(trainer)

    def on_train_batch_end(self, trainer: lightning.Trainer, *others: Any) -> None:
        """Have Lightning end after the last update; it first looks at the validation clips, whatever their interval."""
        if trainer.global_step >= self.training.updates:
            trainer.should_stop = True

    def _save(self, trainer: lightning.Trainer) -> None:
        done = trainer.global_step
        if self.training.keep_every and done % self.training.keep_every == 0:
            trainer.save_checkpoint(self.folder / f"update-{done:07}.ckpt")
        trainer.save_checkpoint(self.folder / _NEXT)
        if trainer.is_global_zero:
            self._make_next_the_last()
        self.saved_at = done
        self.on_save(done)

    def _make_next_the_last(self) -> None:
        if (self.folder / LAST).exists():
            replace(self.folder / LAST, self.folder / PREVIOUS)
        replace(self.folder / _NEXT, self.folder / LAST)


class AtomicIO(TorchCheckpointIO):
    """Writes beside the final name, then renames: a killed process never leaves half a checkpoint.

    Lightning's own way goes through the temporary folder, which may be another disk, and too small.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        content = BytesIO()  # to a full disk, torch says less than Python does
        torch.save(checkpoint, content)
        with whole_file(Path(path)) as partial:
            partial.write_bytes(content.getvalue())
