"""One training, from where it starts to its end, or until somebody stops it; the run folder then says how it ended."""

import multiprocessing
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from videopred import check
from videopred.amounts import counted
from videopred.device import is_slow_in_bfloat16
from videopred.interrupt import pass_on
from videopred.models.compiling import compile_predictor
from videopred.run_files import LOG
from videopred.systems import processors
from videopred.training.batches import Batches
from videopred.training.clips import TrainingClips
from videopred.training.engine import make_trainer, quiet_lightning
from videopred.training.float32_products import fast_products
from videopred.training.folder import RunFolder
from videopred.training.forecast import forecast
from videopred.training.keeping import KeepCheckpoints
from videopred.training.learner import Learner
from videopred.training.loggers import started, writing_quietly
from videopred.training.processes import end_together, is_first, lost_another
from videopred.training.resuming import StartingPoint
from videopred.training.schedules import without_effect
from videopred.training.stopping import Stopped, StopSigns, TimeLimit
from videopred.training.telling import TellValidations, listening, say
from videopred.training.watching import watchers
from videopred.typed_commands import resume_command

if TYPE_CHECKING:
    from lightning.pytorch import Trainer

_FORESEEN = 100
"""Updates from which on it is worth a few of them to say what all will take."""


@dataclass
class Course:
    """The course of one training, all that it needs having been checked."""

    folder: RunFolder
    learner: Learner
    clips: TrainingClips
    device: torch.device
    start: StartingPoint
    progress: bool
    """Whether what goes into the log is said on stderr, too."""
    limit: TimeLimit
    _trainer: "Trainer | None" = field(default=None, init=False)
    _state: str = field(default="failed", init=False)

    @property
    def done(self) -> int:
        """Updates so far."""
        return self._trainer.global_step if self._trainer else self.start.done

    @property
    def _resuming(self) -> str:
        """The command that resumes the run."""
        return resume_command(self.folder.path)

    @property
    def _too_soon(self) -> str:
        """Why it ended before the last update, if it did."""
        training = self.learner.config.training
        if self.done >= training.updates:
            return ""
        lower = f"a loss lower by a share of {training.improvement:g}" if training.improvement else "a lower loss"
        looks = counted(training.stop_after or 0, "validation")
        return f" after {self.done:,} of {training.updates:,} updates: {looks} in a row without {lower} (--stop-after)"

    def to_the_end(self) -> Path:
        """Train, keep in the log what is said meanwhile, note in the folder how it ended, and return the folder.

        Raises:
            KeyboardInterrupt: somebody stopped it; the message says who, and how to go on.
        """
        training, compute = self.learner.config.training, self.learner.config.compute
        signs = StopSigns(self.limit, several=compute.processes > 1)
        keep = KeepCheckpoints(self.folder.checkpoints, training, signs, self.start, self.folder.settle)
        with signs.held, self.clips.file:  # which others may then move or delete, on Windows too
            try:
                with listening(self.folder.path / LOG, self.progress):
                    self._say_what_begins()
                    with fast_products(training, compute, self.device) as are_fast:
                        if are_fast:
                            say("oneDNN multiplies float32 matrices, as it is faster than MKL on this processor")
                        self._train_until_stopped(keep)
                    say(f"finished{self._too_soon}")
            finally:  # with the log closed: a folder that gives its place back moves
                self.folder.end(self._state, keep.saved_at)
        if signs.held.asked:  # too late for this training, and for others after it in time
            self.limit.over = f"{signs.held.heard} received"
            pass_on(signs.held)
        return self.folder.path

    def _say_what_begins(self) -> None:
        training, compute = self.learner.config.training, self.learner.config.compute
        before = f"resumes after {self.start.done:,} of " if self.start.checkpoint else ""
        say(f"{self.folder.path} on {self.device}: {before}{counted(training.updates, 'update')}")
        if training.precision.startswith("bf16") and is_slow_in_bfloat16(self.device):
            say("this CPU has no instructions for bfloat16, in which it may take ten times as long as in 32-true")
        if self.clips.held_on_device and compute.workers:
            why = "the training clips are held on the device; --hold memory changes that"
            say(f"--workers only read validation clips: {why}")
        if self.device.type != "cpu" and self.clips.are_read_each_time and not compute.workers:
            what = "made" if self.clips.endless else "read from disk"
            say(f"{self.device} waits while clips are {what}; with --workers 2 that happens meanwhile")
        if compute.workers > processors():
            say(f"--workers {compute.workers} are more than the {counted(processors(), 'logical CPU')} of this process")
        if self.clips.endless:
            say(f"clips of {self.clips.file.name} are made as they are needed, without end; none are read from a file")
        if unread := self.clips.file.remarks.get("unread"):
            say(f"{self.clips.file.path} has parts of other names, which are not read: {unread}")
        for told in without_effect(training):
            say(told)

    def _train_until_stopped(self, keep: KeepCheckpoints) -> None:
        """Train, and raise KeyboardInterrupt where somebody stops it."""
        training = self.learner.config.training
        try:
            self._train(keep)
            self._state = "finished"
            return
        except Stopped as stopped:
            told = f"{stopped}: {self.done:,} of {training.updates:,} updates are done"
        except RuntimeError as error:
            if lost := lost_another(error):
                who, fix = "another process", "see what it said last"
            elif (lost := str(error).rstrip(". ")).startswith("DataLoader worker"):
                who, fix = "a loader process", "lower --workers if memory has run out"
                if multiprocessing.get_start_method() == "spawn":  # it imports the script again
                    fix += ', put what a script does under `if __name__ == "__main__":`'
            else:
                raise
            got = f"nothing more of it ({lost})"
            fix = f"what was saved before is kept: {fix}, and continue with `{self._resuming}`"
            raise ConnectionError(check.complaint(who, "work along to the end", got, fix)) from error
        except (KeyboardInterrupt, SystemExit):  # the second is how Lightning ends on the first
            told = f"stopped at once: {keep.saved_at:,} of {training.updates:,} updates are saved"
        self._state = "interrupted"
        if is_first():  # in other processes, Lightning takes an error for a crash
            raise KeyboardInterrupt(f"{told}{self.folder.replaces}; continue with `{self._resuming}`")

    def _train(self, keep: KeepCheckpoints) -> None:
        """Foresee where that is worth it, and let Lightning train."""
        config, clips, path = self.learner.config, self.clips, self.folder.path
        if not self.start.checkpoint and config.training.updates >= _FORESEEN and is_first():
            say(str(forecast(self.learner, clips, self.device)))
        shown = self.progress and is_first()
        callbacks = [keep, TellValidations(), *watchers(config.watch, path, clips, config.training, shown)]
        settings = config.model_dump(mode="json", exclude={"watch"})
        with (
            started(config.watch.logger, path, settings) as loggers,
            warnings.catch_warnings(),
            writing_quietly(),
            quiet_lightning(),
        ):
            warnings.filterwarnings("ignore", module=r"lightning\.")  # hints about its own defaults, and to use srun
            warnings.filterwarnings("default", "The loaded checkpoint was produced with")  # a later version of it
            warnings.filterwarnings("ignore", "This DataLoader will create", UserWarning)  # said by us, once
            self._trainer = make_trainer(config, path, self.device, callbacks, self.start.done, loggers)
            if config.compute.processes > 1:
                end_together()
            if config.compute.compile != "none":
                compile_predictor(self.learner.predictor, config.compute.compile, self.device.type)
            batches = Batches(clips, config, self.device)
            try:
                try:
                    self._trainer.fit(self.learner, datamodule=batches, ckpt_path=self.start.checkpoint)
                finally:
                    keep.signs.held.listen()  # Lightning has put back what was there before
            except (OSError, ValueError) as error:
                if told := _told_by_loader(error):
                    raise type(error)(told) from error
                raise
            except RuntimeError as error:
                if isinstance(error.__context__, KeyboardInterrupt):  # over which Lightning stumbles as loaders begin
                    raise KeyboardInterrupt from error
                raise
            finally:
                batches.over.release()


def _told_by_loader(error: Exception) -> str:
    """The complaint of a loader process, which torch hands on below all that was called; empty if it is none."""
    told = re.match(r"Caught \w+ in DataLoader worker process .*\n[\w.]+: (.* must .*; .*)\Z", str(error), re.DOTALL)
    return told[1].strip() if told else ""
