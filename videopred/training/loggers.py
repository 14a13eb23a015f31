"""Where a training's curves go: to TensorBoard, and to loggers of other libraries."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from lightning.pytorch import loggers
from lightning.pytorch.utilities import rank_zero_only

from videopred import check
from videopred.files import told_of
from videopred.run_files import run_name
from videopred.typed_commands import resume_command


class Service(NamedTuple):
    """A logger of another library."""

    kind: str
    """Lightning's class."""
    library: str
    """What it needs."""
    arguments: Callable[[Path], dict[str, Any]]
    """What the class is made with for a run folder."""
    opened: Callable[[Any], Any] = lambda library: None
    """What the program has open already, from the library; Lightning's class goes on with it."""
    end: Callable[[Any, int], Any] = lambda experiment, status: None
    """Ends what the class opened, where Lightning does not; the next training would go on with it. The status is 0 of
    a training that came to its end, else 1."""


LOGGERS = {
    "wandb": Service(
        "WandbLogger",
        "wandb",
        lambda run: {"project": "videopred", "name": run_name(run), "save_dir": run},
        opened=lambda wandb: wandb.run,
        end=lambda experiment, status: experiment.finish(exit_code=status),
    ),
    "mlflow": Service(
        "MLFlowLogger",
        "mlflow",
        lambda run: {
            "experiment_name": "videopred",
            "run_name": run_name(run),
            "tracking_uri": import_module("mlflow").get_tracking_uri(),  # Lightning's own default is one it refuses
        },
    ),
    "comet": Service(
        "CometLogger",
        "comet_ml",
        lambda run: {"project": "videopred", "name": run_name(run)},
        opened=lambda comet_ml: comet_ml.get_running_experiment(),
        end=lambda experiment, status: experiment.end(),
    ),
}
"""Those that --logger names."""


def check_loggers(names: Sequence[str]) -> None:
    """Refuse loggers whose libraries are not installed.

    Raises:
        ValueError: names the flag.
    """
    for name in names:
        library = LOGGERS[name].library
        package = library.replace("_", "-")
        try:
            import_module(library)
        except ImportError as error:
            must, got = f"find {package} installed", f"{name} ({error})"
            fix = (
                f"`pip install {package}`, or leave --logger {name} out (to resume without it, give --logger and no "
                "name); CSV and TensorBoard are always written"
            )
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


@contextmanager
def started(names: Sequence[str], run: Path, settings: Mapping[str, Any]) -> Iterator[list[loggers.Logger]]:
    """Loggers of Lightning's besides CSV and TensorBoard, which have heard the settings; their own settings say where
    they send what they are told. What they opened ends with it.

    Raises:
        FailedError: one does not start, as for want of a key or an address, or fails later.
    """
    with ExitStack() as stack:
        yield [stack.enter_context(_started(name, run, settings, names)) for name in names]


@contextmanager
def _started(name: str, run: Path, settings: Mapping[str, Any], names: Sequence[str]) -> Iterator[loggers.Logger]:
    """One of them."""
    service, again = LOGGERS[name], resume_command(run, "--logger", *names)
    with _told(name, "start", f"set what it asks for, and continue with `{again}`"):
        before = service.opened(import_module(service.library))
        logger: Any = getattr(loggers, service.kind)(**service.arguments(run))
        experiment = logger.experiment  # which starts it, in the first process
    status, fix = 1, f"what was saved is kept; continue with `{again}`, or with other loggers"
    try:
        with _told(name, "take settings", f"see to it, and continue with `{again}`"):
            logger.log_hyperparams(dict(settings))
        for method in ("log_metrics", "save", "finalize"):
            setattr(logger, method, _told(name, "take what it is told", fix)(getattr(logger, method)))
        yield logger
        status = 0
    finally:
        if experiment is not before:
            with suppress(Exception) if status else _told(name, "end", fix):  # it would hide what went wrong
                service.end(experiment, status)


@contextmanager
def _told(name: str, must: str, fix: str) -> Iterator[None]:
    """Within it, and in what it decorates, an error of a logger's library becomes one line."""
    try:
        yield
    except Exception as error:  # of any kind, as its library has it
        got = f"{name}, which says: {' '.join(str(error).split()) or type(error).__name__}"
        raise check.FailedError(check.complaint("--logger", must, got, fix)) from error
