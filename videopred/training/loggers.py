"""Where a training's curves go: to TensorBoard, and to loggers of other libraries."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from lightning.pytorch import loggers
from lightning.pytorch.utilities import rank_zero_only

from videopred import check
from videopred.files import told_of
from videopred.typed_commands import resume_command

LOGGERS: dict[str, tuple[str, str, Callable[[Path], dict[str, Any]]]] = {
    "wandb": ("WandbLogger", "wandb", lambda run: {"project": "videopred", "name": run.name, "save_dir": run}),
    "mlflow": ("MLFlowLogger", "mlflow", lambda run: {"experiment_name": "videopred", "run_name": run.name}),
    "comet": ("CometLogger", "comet_ml", lambda run: {"project": "videopred", "name": run.name}),
}
"""Name for --logger -> Lightning's class, the library that it needs, and the arguments of it for a run folder."""


def check_loggers(names: Sequence[str]) -> None:
    """Refuse loggers whose libraries are not installed.

    Raises:
        ValueError: names the flag.
    """
    for name in names:
        _, library, _ = LOGGERS[name]
        package = library.replace("_", "-")
        try:
            import_module(library)
        except ImportError as error:
            must, got = f"find {package} installed", f"{name} ({error})"
            fix = f"`pip install {package}`, or leave --logger {name} out; CSV and TensorBoard are always written"
            raise ValueError(check.complaint("--logger", must, got, fix)) from None


class Curves(loggers.TensorBoardLogger):
    """TensorBoard's curves, without that of epochs: it is 0 throughout, for all updates are of one."""

    @property
    def experiment(self) -> Any:
        """What writes them, which makes their folder at first."""
        with told_of(Path(self.log_dir), "folder"):
            return super().experiment

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        with told_of(Path(self.log_dir), "folder"):
            super().log_metrics({name: value for name, value in metrics.items() if name != "epoch"}, step)

    @rank_zero_only
    def save(self) -> None:
        with told_of(Path(self.log_dir), "folder"):
            super().save()

    @rank_zero_only
    def finalize(self, status: str) -> None:
        with told_of(Path(self.log_dir), "folder"):
            super().finalize(status)


@contextmanager
def writing_quietly() -> Iterator[None]:
    """Within it, the thread that writes TensorBoard's file does not print what it fails with: `Curves` raises that."""
    plain = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        if not type(args.thread).__module__.startswith("tensorboard."):
            plain(args)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = plain


def make_loggers(names: Sequence[str], run: Path) -> list[loggers.Logger]:
    """Loggers of Lightning's besides CSV and TensorBoard; their own settings say where they send what they are told.

    Raises:
        FailedError: one does not start, as for want of a key or an address.
    """
    made: list[loggers.Logger] = []
    for name in names:
        kind, _, arguments = LOGGERS[name]
        try:
            logger = getattr(loggers, kind)(**arguments(run))
            _ = logger.experiment  # which starts it, in the first process
        except Exception as error:  # of any kind, as its library has it
            got = f"{name}, which says: {' '.join(str(error).split()) or type(error).__name__}"
            fix = f"set what it asks for, and continue with `{resume_command(run, '--logger', *names)}`"
            raise check.FailedError(check.complaint("--logger", "start", got, fix)) from error
        made.append(logger)
    return made
