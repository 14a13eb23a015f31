"""What a training says: in its log file and, on request, on stderr."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import lightning
from lightning.pytorch.callbacks import Callback
from tqdm import tqdm

from videopred.files import told_of
from videopred.printable import printable_lines
from videopred.training.learner import Learner
from videopred.training.processes import is_first

_SPEAKER = logging.getLogger("videopred.training")


def say(line: str) -> None:
    """One line for whoever listens; see `listening`."""
    _SPEAKER.info(printable_lines(line))


@contextmanager
def listening(path: Path, progress: bool) -> Iterator[None]:
    """Within it, what is said is added to a file, with the time; and, with `progress`, shown on stderr.

    Only the first of several processes writes. A failure that ends the block is in the file as well.
    """
    if not is_first():
        yield
        return
    with told_of(path):
        handlers: list[logging.Handler] = [_LogFile(path, encoding="utf-8")]
    handlers[0].setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    if progress:
        handlers.append(_AboveTheBar())
    level, passes_on = _SPEAKER.level, _SPEAKER.propagate
    _SPEAKER.setLevel(logging.INFO)
    _SPEAKER.propagate = False
    for handler in handlers:
        _SPEAKER.addHandler(handler)
    try:
        yield
    except BaseException as error:
        told = printable_lines(str(error)) or type(error).__name__
        handlers[0].handle(_SPEAKER.makeRecord(_SPEAKER.name, logging.INFO, "", 0, f"ended: {told}", (), None))
        raise
    finally:
        for handler in handlers:
            _SPEAKER.removeHandler(handler)
            handler.close()
        _SPEAKER.setLevel(level)
        _SPEAKER.propagate = passes_on


class _LogFile(logging.FileHandler):
    """Drops lines that cannot be written: on a full disk a training shall fail when it saves, not when it speaks."""

    def handleError(self, record: logging.LogRecord) -> None:
        pass


class _AboveTheBar(logging.Handler):
    """Writes lines to stderr where they do not tear a progress bar.

    Whoever reads them may leave, as `tee` does on Ctrl-C.
    """

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            tqdm.write(record.getMessage(), file=sys.stderr)


class TellValidations(Callback):
    """Says the loss of each look at the validation clips."""

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        assert isinstance(pl_module, Learner)
        name = f"validation_{pl_module.config.training.loss_name}"
        loss, lowest = trainer.callback_metrics[name], pl_module.validations.lowest_at == trainer.global_step
        say(f"update {trainer.global_step:,}: {name} {float(loss):.6g}{', the lowest so far' if lowest else ''}")
