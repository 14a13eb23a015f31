"""One run, from data and a model to a run folder: begun, foreseen, or gone on with."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import RLock
from typing import NamedTuple

import torch

from videopred import check, check_path
from videopred.checkpoint import DataRecord, ExperimentRecord, RunConfig, take_checkpoint
from videopred.datasets import DATASETS
from videopred.datasets.clip_source import ClipSource
from videopred.device import device_name, pick_device, seeded_devices, usual_numbers
from videopred.interrupt import stop_if_lost
from videopred.models.settings import PredictorConfig
from videopred.printable import printable
from videopred.settings import ComputeConfig, TrainingConfig, WatchConfig
from videopred.training.clips import TrainingClips, open_clips
from videopred.training.course import Course
from videopred.training.engine import check_compute
from videopred.training.first_weights import as_it_learns, first_predictor
from videopred.training.float32_products import fast_products
from videopred.training.folder import RunFolder
from videopred.training.forecast import Forecast, check_memory, check_room, forecast
from videopred.training.learner import Learner
from videopred.training.own_loss import try_out
from videopred.training.places import usual_folder
from videopred.training.resuming import StartingPoint, check_data, check_same, find_start, is_finished, read_settings
from videopred.training.stopping import TimeLimit
from videopred.training.watching import check_watch

_ONE_AT_A_TIME = RLock()
"""Held while torch is set up to train: its defaults and its random stream are those of the whole process."""


@contextmanager
def _as_usual() -> Iterator[None]:
    """Within it, and in what it decorates, torch makes numbers of 32 bits on the CPU and keeps gradients, also in
    inference mode and autocast, and no other thread trains; behind it, all is as the caller had it, with the random
    streams that were in use."""
    with (
        _ONE_AT_A_TIME,
        torch.random.fork_rng(seeded_devices()),
        usual_numbers(),
        torch.inference_mode(False),  # this and the next two, Lightning would leave as they are
        torch.enable_grad(),
        _without_autocast(),
    ):
        yield


@contextmanager
def _without_autocast() -> Iterator[None]:
    """Within it, no products are rounded but those of a training's own precision."""
    with ExitStack() as stack:
        for kind in ("cpu", "cuda", "mps"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        yield


@_as_usual()
def train(
    data: Path | str,
    model: PredictorConfig | None = None,
    training: TrainingConfig | None = None,
    *,
    compute: ComputeConfig | None = None,
    watch: WatchConfig | None = None,
    out: Path | str | None = None,
    init_from: Path | str | None = None,
    experiment: ExperimentRecord | None = None,
    device: torch.device | str = "auto",
    overwrite: bool = False,
    progress: bool = False,
    limit: TimeLimit | None = None,
) -> Path:
    """Train a predictor and return its run folder.

    Learns from the training part. The loss that chooses the best checkpoint is measured on the validation part or, if
    there is none, on the last clips of the training part, which are then kept aside. Never reads the test part.
    Ctrl-C, SIGTERM, SIGUSR1, SIGHUP and the time limit finish the update, save, and raise KeyboardInterrupt: the run
    can be used as it is, and `resume` continues with it.
    All chance comes from the seed in the settings. Torch's global random streams, of the CPU and of CUDA devices that
    were in use, are left as they were. Trainings in several threads of a process wait for one another; what else uses
    these streams in another thread meanwhile, as `load_run` and `evaluate` do, changes the run's chance.

    Args:
        data: HDF5 file of clips or a folder of shards; or a preset or a JSON file of a recipe, whose clips are made as
            they are needed, each seen once.
        model: settings of core, codec and decoder; None takes the defaults.
        training: settings of learning; None takes the defaults.
        compute: where it computes; None takes the defaults.
        watch: what is shown meanwhile; None takes the defaults.
        out: the run folder; None is models/<data>-<core>.
        init_from: run or export whose weights are the first, of the same model, which is `load_run(init_from).config`;
            None draws them.
        experiment: the experiment that it is a run of, which its settings name; None if it is of none.
        device: cpu, cuda, cuda:1, mps or auto, which is the first CUDA device if there is one, else the CPU.
        overwrite: replace a run that is there already; it goes when the new one has saved its first checkpoint.
        progress: say on stderr what goes into the log; where that is a terminal, below a bar.
        limit: the time limit of several trainings together; None is that of `compute`, from when training begins.

    Raises:
        FileNotFoundError, ValueError: no such file, or one that does not fit the settings; a loss that is not finite.
        TypeError: settings of another class, or what is no path in the place of one.
        FileExistsError: the run folder is there already.
        OSError: it cannot be written to.
        KeyboardInterrupt: stopped before the last update; the message says why and how to go on.
    """
    fix = "give that of a file or folder of clips or of a recipe's JSON file, or a preset"
    path = check_path.as_path("DATA", data, fix)  # clips that are open cannot be found again to resume the run
    out = None if out is None else check_path.as_path("--out", out)
    _check_limit(limit)
    how = _checked(model, training, compute, watch, device)
    folder = RunFolder(out or usual_folder(path, how.model))
    folder.mend()  # it may be the run that gives its weights
    learner, clips = _prepare(data, how, init_from, experiment, folder)
    check_memory(learner, clips, how.device)
    check_room(learner, folder.path)
    stop_if_lost()
    folder.begin(learner.config, device_name(how.device), overwrite)
    limit = limit or TimeLimit(how.compute.time_limit)
    return Course(folder, learner, clips, how.device, StartingPoint(), progress, limit).to_the_end()


@_as_usual()
def foresee(
    data: Path | str | ClipSource,
    model: PredictorConfig | None = None,
    training: TrainingConfig | None = None,
    *,
    compute: ComputeConfig | None = None,
    watch: WatchConfig | None = None,
    init_from: Path | str | None = None,
    device: torch.device | str = "auto",
) -> Forecast:
    """The time, memory and disk that `train` with the same arguments would take; writes nothing.

    `data` may also be clips that are in no file yet: the forecast is then that of a file of them.

    Raises:
        FileNotFoundError, ValueError: as `train`.
    """
    how = _checked(model, training, compute, watch, device)
    learner, clips = _prepare(data, how, init_from)
    with clips.file, fast_products(how.training, how.compute, how.device):
        check_memory(learner, clips, how.device)
        return forecast(learner, clips, how.device)


@_as_usual()
def check_fits(
    data: ClipSource,
    model: PredictorConfig,
    training: TrainingConfig,
    *,
    compute: ComputeConfig,
    watch: WatchConfig,
    init_from: Path | str | None = None,
    device: torch.device | str = "auto",
) -> None:
    """Refuse what `train` would refuse with a file of these clips, before they are made.

    Raises:
        FileNotFoundError, ValueError: as `train`.
    """
    unread = compute.model_copy(update={"hold": "disk"})
    _prepare(data, _checked(model, training, unread, watch, device), init_from)


class _How(NamedTuple):
    """What learns, how and where, nothing of it left open."""

    model: PredictorConfig
    training: TrainingConfig
    compute: ComputeConfig
    watch: WatchConfig
    device: torch.device


def _checked(
    model: PredictorConfig | None,
    training: TrainingConfig | None,
    compute: ComputeConfig | None,
    watch: WatchConfig | None,
    device: torch.device | str,
) -> _How:
    """Defaults in the place of None, and all settings checked as far as that can be without clips."""
    _check_kinds(model, training, compute, watch)
    how = _How(
        model or PredictorConfig(),
        training or TrainingConfig(),
        compute or ComputeConfig(),
        watch or WatchConfig(),
        pick_device(device),
    )
    check_compute(how.training, how.compute, how.device)
    check_watch(how.watch, how.compute)
    return how


def _prepare(
    data: Path | str | ClipSource,
    how: _How,
    init_from: Path | str | None,
    experiment: ExperimentRecord | None = None,
    folder: RunFolder | None = None,
) -> tuple[Learner, TrainingClips]:
    """A learner that has learned nothing yet, and its clips, which fit one another."""
    init_from = None if init_from is None else check_path.as_path("--init-from", init_from)
    file = data if isinstance(data, ClipSource) else open_clips(data, how.training)
    clips = TrainingClips(file, how.training, how.compute, str(how.device), as_a_file=file is data)
    if clips.endless and file.recipe is not None:
        file.recipe.check_use()
    must = f"be at most {clips.frames - 1}, as the last of {clips.frames} frames is predicted and never read"
    check.require(how.model.stack < clips.frames, "--stack", must, how.model.stack, "lower it")
    config = RunConfig(
        model=how.model,
        film_shape=file.film_shape,
        training=how.training,
        compute=how.compute,
        watch=how.watch,
        data=None if isinstance(data, ClipSource) else _recorded(data, file),
        init_from=None if init_from is None else str(init_from.resolve()),
        experiment=experiment,
    )
    try_out(config.training, config.film_shape, how.device)
    return Learner(first_predictor(config, folder), config), clips


@_as_usual()
def resume(
    run: Path | str,
    *,
    data: Path | str | None = None,
    model: PredictorConfig | None = None,
    training: TrainingConfig | None = None,
    compute: ComputeConfig | None = None,
    watch: WatchConfig | None = None,
    device: torch.device | str = "auto",
    progress: bool = False,
    limit: TimeLimit | None = None,
) -> Path:
    """Resume a run that stopped, from its last intact checkpoint, and return its folder.

    On the same kind of CPU, with the same number of threads, the result is bit for bit that of a run which never
    stopped.

    Args:
        run: the run folder. A run that is finished is left as it is.
        data: where its clips are now; None is where they were.
        model, training: must equal the run's; None takes them.
        compute: where it computes from now on; None is as before.
        watch: what is recorded from now on; None is as before.
        device: cpu, cuda, cuda:1, mps or auto, which is the first CUDA device if there is one, else the CPU.
        progress, limit: as for `train`.

    Raises:
        FileNotFoundError, ValueError: no run, no data, settings or data that are not those of the run, or a run that
            another process trains.
        TypeError: as `train`.
        KeyboardInterrupt: as `train`.
    """
    run = check_path.as_path("RUN", run)
    _check_kinds(model, training, compute, watch)
    _check_limit(limit)
    pick_device(device)  # refuses one that is not there, also where nothing is left to learn
    config, record = read_settings(run)
    check_same(config, model, training)
    config = config.model_copy(update={"compute": compute or config.compute, "watch": watch or config.watch})
    if is_finished(run):
        if data is not None:
            _same_clips(config, data)  # refuses others
        if progress:
            print(printable(f"{run} is finished, and left as it was"), file=sys.stderr)
        return run
    file = _same_clips(config, data)
    if data is not None:
        config = config.model_copy(update={"data": _recorded(data, file)})
    how = _checked(config.model, config.training, config.compute, config.watch, device)
    folder = RunFolder(run)
    folder.take_up()
    try:
        clips = TrainingClips(file, how.training, how.compute, str(how.device))
        try_out(config.training, config.film_shape, how.device)
        start = find_start(run, config)
        # A checkpoint brings its weights; the run that the first were from may be gone.
        if start.checkpoint:
            predictor = as_it_learns(config)
            take_checkpoint(predictor, start.checkpoint)
        else:
            predictor = first_predictor(config, folder)
        learner = Learner(predictor, config)
        stop_if_lost()
        folder.go_on(config, record, device_name(how.device), start.done)
    except BaseException:
        folder.let_go()
        raise
    limit = limit or TimeLimit(how.compute.time_limit)
    return Course(folder, learner, clips, how.device, start, progress, limit).to_the_end()


def _check_kinds(
    model: PredictorConfig | None,
    training: TrainingConfig | None,
    compute: ComputeConfig | None,
    watch: WatchConfig | None,
) -> None:
    """Refuse names and dicts in the place of settings."""
    for name, value, kind in (
        ("model", model, PredictorConfig),
        ("training", training, TrainingConfig),
        ("compute", compute, ComputeConfig),
        ("watch", watch, WatchConfig),
    ):
        if value is not None:
            check.require_instance(name, value, kind)


def _check_limit(limit: TimeLimit | None) -> None:
    """Refuse a time as it is typed."""
    fix = "for one training, give compute=videopred.ComputeConfig(time_limit=…)"
    fits = limit is None or isinstance(limit, TimeLimit)
    check.require_kind(fits, "limit", "be a TimeLimit, of several trainings", repr(limit), fix)


def _same_clips(config: RunConfig, data: Path | str | None) -> ClipSource:
    """The clips of a run that is resumed, where they are now."""
    known = config.data.path if data is None and config.data is not None else data
    fix = "say where it is now, as in `videopred train DATA --resume RUN`"
    check.require(known is not None, "DATA", "be known", "a run without a record of it", fix)
    assert known is not None
    preset = data is None and known in DATASETS  # paths of files are kept whole
    if data is None and not preset and not Path(known).exists():
        raise check_path.not_found_error("DATA", "be where it was", Path(known), fix, None)
    file = open_clips(known, config.training, preset=preset)
    check_data(config, file, known)
    return file


def _recorded(data: Path | str, file: ClipSource) -> DataRecord:
    """Where the clips are and what they are, for the settings of the run."""
    place = Path(data).absolute()  # a link stays, which may lead elsewhere one day
    if ".." in place.parts:  # but not the way from a folder that has nothing to do with it
        place = place.resolve() if place.name == ".." else place.parent.resolve() / place.name
    return DataRecord(path=str(place if place.exists() else data), name=file.name, sha256=file.fingerprint())
