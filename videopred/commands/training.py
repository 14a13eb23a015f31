"""The command that trains: on a data file, by an experiment, or from where a run stopped."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from tyro.conf import OmitArgPrefixes, Positional, arg

from videopred import check, check_path, flags
from videopred.commands import experiments, terminal
from videopred.commands.options import CORE_HELP, Device, Json, Overwrite, out_flag
from videopred.datasets import DATASETS, open_dataset
from videopred.datasets.advice import how_to_make
from videopred.experiments import experiment_names
from videopred.experiments.asking import Asked, ask
from videopred.experiments.figures import PAPER_FIGURES
from videopred.experiments.settings import Scale
from videopred.flags import model_flags
from videopred.models.codec_settings import CodecConfig, DecoderConfig, RNEMConfig, SharedConfig
from videopred.models.settings import CoreConfig, PredictorConfig, RIMsConfig
from videopred.processes import is_first_of_training
from videopred.run_files import SUMMARY, is_seed_folder, named_path
from videopred.settings import ComputeConfig, Settings, TrainingConfig, WatchConfig
from videopred.spelling import nearest_path
from videopred.systems import shell_quoted
from videopred.training.aside import bring_back, bring_back_seeds
from videopred.training.places import check_free, check_room, first_of, runs_of, spread, to_replace, usual_folder
from videopred.typed_commands import typed_command

if TYPE_CHECKING:
    from videopred.checkpoint import ExperimentRecord
    from videopred.datasets.clip_source import ClipSource


def train(
    data: Annotated[
        Positional[Path | None],
        arg(
            metavar="DATA",
            help="HDF5 file of clips, a folder of shards, a preset or JSON recipe for endless clips, or an experiment: "
            "one of `videopred list experiments` or its JSON file.",
        ),
    ] = None,
    *,
    core_name: Annotated[str, arg(name="core", metavar="NAME", help=CORE_HELP)] = "rims",
    training: OmitArgPrefixes[TrainingConfig] = TrainingConfig(),
    core: CoreConfig = RIMsConfig(),
    codec_name: Annotated[
        str, arg(name="codec", metavar="NAME", help="One of `videopred list codecs`, or MODULE:CLASS of your own.")
    ] = "rnem",
    codec: CodecConfig = RNEMConfig(),
    decoder_name: Annotated[
        str,
        arg(
            name="decoder",
            metavar="NAME",
            help="One of `videopred list decoders`, or MODULE:CLASS of your own; cores differ in the default.",
        ),
    ] = "shared",
    decoder: DecoderConfig = SharedConfig(),
    stack: Annotated[int, arg(help="Frames that the encoder sees at once, the latest and those before it.")] = 1,
    watch: OmitArgPrefixes[WatchConfig] = WatchConfig(),
    compute: OmitArgPrefixes[ComputeConfig] = ComputeConfig(),
    out: Annotated[
        Path | None,
        out_flag("Run folder; default: models/<experiment>, with -<scale> behind it, or models/<data>-<core>."),
    ] = None,
    device: Device = "auto",
    dry_run: Annotated[bool, arg(help="Only estimate the time, memory and disk space that it would take.")] = False,
    seeds: Annotated[
        str | None, arg(metavar="0,1,2", help="Train once from each seed, in <out>/seed-0 and so on.")
    ] = None,
    resume: Annotated[
        Path | None, arg(metavar="RUN", help="Resume this run with its own settings; DATA may be left out.")
    ] = None,
    init_from: Annotated[
        Path | None, arg(metavar="RUN", help="Start from the weights of this run or export; its model is the default.")
    ] = None,
    scale: Annotated[
        Scale | None, arg(help="Size of an experiment: as published, for a laptop, for a test; default: paper.")
    ] = None,
    clips: Annotated[
        Path | None, arg(name="data", metavar="FILE", help="Clips for an experiment in place of its own.")
    ] = None,
    write: Annotated[
        Path | None, arg(metavar="FILE", help="Only write the experiment, as it would be run, to a JSON file.")
    ] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Train a model on a data file, run an experiment, or resume a run."""
    parts = {"core": (core_name, core), "codec": (codec_name, codec), "decoder": (decoder_name, decoder)}
    model = model_flags.chosen_model(parts, stack)
    learning = _Learning(model, training, compute, watch, device)
    check.device_kind(device)
    if resume is not None:
        of_new_runs = {
            "--out": out, "--init-from": init_from, "--seeds": seeds, "--overwrite": overwrite,
            "--scale": scale, "--data": clips, "--write": write, "--dry-run": dry_run,
        }  # fmt: skip
        _check_left_out(of_new_runs, "--resume", "the run is resumed as it is")
        learned = _go_on(resume, data, learning)
        _say_trained(resume, watch, json_, wrote=learned)
        return
    fix = "give it, as in `videopred train datasets/balls4.h5`, or a run with --resume"
    check.require(data is not None, "DATA", "be given", "nothing", fix)
    assert data is not None
    if init_from is not None:
        check_path.run_folder(init_from, "--init-from")
    asked = ask(str(data), scale, core_name)
    chosen = None if seeds is None else _seeds(seeds, training, asked)
    if asked is None:
        _check_there(data, seeds)
        _check_no_experiment(data, {"--scale": scale, "--data": clips, "--write": write})
    if asked is not None and write is not None:
        of_runs: dict[str, Any] = {"--out": out, "--data": clips, "--init-from": init_from, "--seeds": seeds}
        of_runs |= {"--dry-run": dry_run, "--device": "" if device == "auto" else device}
        of_runs |= _given(compute) | _given(watch)
        _check_left_out(of_runs, "--write", "give it when you train from the file")
        experiments.write(asked.with_flags(model, training), write, overwrite, json_)
    elif dry_run:
        check.require(chosen is None, "--dry-run", "come without --seeds", f"--seeds {seeds}", "each takes as long")
        foreseen = experiments.foreseen_clips(asked, asked.with_flags(model, training), clips) if asked else data
        _foresee(foreseen, learning, init_from, json_)
    else:
        out = out or (Path("models") / asked.label if asked else usual_folder(data, model))
        _check_room(out, chosen, overwrite)
        begin: dict[str, Any] = {"out": out, "init_from": init_from, "overwrite": overwrite}
        with _unless_begun(out):
            if asked is not None:
                data, begin["experiment"] = _prepare(asked, clips, learning, init_from)
            _check_clips(data, learning)
            folder = _learn(data, chosen, learning, begin)
        _say_trained(folder, watch, json_, asked)


class _Learning(NamedTuple):
    """What learns, how and where: arguments that a new run, a forecast of it and one that is resumed have alike."""

    model: PredictorConfig
    training: TrainingConfig
    compute: ComputeConfig
    watch: WatchConfig
    device: str


def _go_on(run: Path, data: Path | None, learning: _Learning) -> bool:
    """Resume a run, or runs from several seeds, and return whether any had something left to learn."""
    check_path.run_or_runs(run)
    from videopred.training.resuming import check_same, is_finished, read_settings

    several = (run / SUMMARY).is_file()
    usual, _ = read_settings(first_of(run))
    if several:  # of which the first brings the settings that are not given
        seed = learning.training.seed
        must, fix = "be left out with runs from several seeds, as each keeps its own", "leave it out"
        check.require(seed == usual.training.seed, "--seed", must, seed, fix)
    check_same(usual, learning.model, learning.training)  # before all is loaded that a training needs
    from videopred.training.run import resume
    from videopred.training.seeds import resume_seeds

    unfinished = not all(map(is_finished, runs_of(run))) or (several and bool(to_replace(run)))
    go_on = resume_seeds if several else resume
    go_on(run, data=data, progress=True, **learning._asdict())
    return unfinished


@contextmanager
def _unless_begun(run: Path) -> Iterator[None]:
    """Within it Ctrl-C ends in the words that there is no run yet, as long as there is none."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if str(interrupt) or run.exists():
            raise
        raise KeyboardInterrupt("the training had not begun") from None


def _learn(data: Path, seeds: Sequence[int] | None, learning: _Learning, run: dict[str, Any]) -> Path:
    """Train, once or from each of several seeds, and return the folder.

    Args:
        run: what else `videopred.training.run.train` takes.
    """
    from videopred.training.run import train
    from videopred.training.seeds import train_seeds

    if seeds is None:
        return train(data, progress=True, **learning._asdict(), **run)
    return train_seeds(data, seeds, progress=True, **learning._asdict(), **run)


def _prepare(
    asked: Asked, given: Path | None, learning: _Learning, init_from: Path | None
) -> tuple[Path, "ExperimentRecord"]:
    """The clips of an experiment, made unless they are there or given, and what its run keeps of it.

    What does not fit the clips is refused before they are made, which may take long.
    """
    run, missing = asked.with_flags(learning.model, learning.training), experiments.clips_to_make(asked, given)
    if missing is not None:
        from videopred.training.run import check_fits

        check_fits(missing, init_from=init_from, **learning._asdict())
    return experiments.clips_of(asked, run, given), experiments.record_of(asked, run)


def _foresee(data: "Path | ClipSource", learning: _Learning, init_from: Path | None, json_: bool) -> None:
    """Say what a training would take."""
    if isinstance(data, Path):
        _check_clips(data, learning)
    from videopred.training.run import foresee

    told = foresee(data, init_from=init_from, **learning._asdict())
    terminal.print_json(told._asdict()) if json_ else print(told)


def _given(settings: Settings) -> dict[str, str]:
    """Flag -> what was given for it, of those that differ from their defaults."""
    usual = type(settings)()
    return {check.flag(name): str(value) for name, value in settings if value != getattr(usual, name)}


def _check_left_out(words: dict[str, Any], beside: str, fix: str) -> None:
    """Refuse what means nothing beside another flag."""
    for flag, word in words.items():
        check.require(not word, flag, f"be left out with {beside}", word, fix)


def _check_room(out: Path, seeds: Sequence[int] | None, overwrite: bool) -> None:
    """Refuse a folder that is in use before torch is loaded and the clips of an experiment are made.

    A run comes back that was to be replaced by a process that ended before it saved anything.
    In the first of several processes: the others may find the folder that it has made.
    """
    if not is_first_of_training():
        return
    if seeds is None:
        bring_back(out)
        _check_no_seed(out)
        check_free(out, overwrite)
    else:
        bring_back_seeds(out, seeds)
        check_room(out, seeds, overwrite)


def _check_no_seed(out: Path) -> None:
    """Refuse the place of one of several seeds, which are trained alike and summed up together."""
    place = out.resolve()
    among = is_seed_folder(place.name) and (place.parent / SUMMARY).is_file()
    around = place.parent if out.is_symlink() else named_path(out).parent
    more = "`evaluate` takes several runs that differ in their seeds as one model"
    if among and place in runs_of(place.parent):
        more = f"to train that seed again, delete it and give --resume {shell_quoted([str(around)])}"
    check.require(not among, "--out", "be no run of several seeds", out, f"choose another --out; {more}")


def _check_no_experiment(data: Path, words: dict[str, Any]) -> None:
    """Refuse what only experiments have."""
    for flag, word in words.items():
        check.require(word is None, flag, "come with an experiment as DATA", f"{word} with {data}", "leave it out")


def _seeds(words: str, training: TrainingConfig, asked: Asked | None) -> tuple[int, ...]:
    """The seeds asked for; refused beside --seed, before the clips of an experiment are made."""
    seeds = flags.seeds(words)
    usual = asked.scaled.training.seed if asked else TrainingConfig().seed
    check.require(training.seed == usual, "--seed", "be left out with --seeds", training.seed, "leave one out")
    return seeds


def _check_there(data: Path, seeds: str | None) -> None:
    """Refuse a word that means nothing, and offer what it could have been: a file, a preset or an experiment.

    Raises:
        FileNotFoundError: it is neither a path to something nor a name.
    """
    if data.exists() or str(data) in DATASETS:
        return
    fix, experiments_there = how_to_make(data), experiment_names()
    if data.suffix == ".json":
        known = data.stem if data.stem in experiments_there else "rims-balls4"
        fix = f"write one with `{typed_command(('train', known, '--write', str(data)))}`"
    if seeds is not None and str(data).isdecimal():
        fix = f"put commas between seeds: --seeds {shell_quoted([f'{seeds},{data}'])}"
    if str(data) in PAPER_FIGURES:
        must, fix = "be clips or an experiment", f"`videopred reproduce {data}` makes the figure"
        raise FileNotFoundError(check.complaint("DATA", must, data, fix))
    must = "be an existing file" if data.suffix else "be a data file, or a name that `videopred list` shows"
    names = [] if data.suffix else [*DATASETS, *experiments_there]
    raise check_path.not_found_error("DATA", must, data, fix, nearest_path(data, names))


def _check_clips(data: Path, learning: _Learning) -> None:
    """Refuse DATA that cannot be opened, or that does not fit, before all is loaded that a training needs."""
    endless = data.suffix == ".json" or (str(data) in DATASETS and not data.exists())  # clips are made when needed
    opened = None if endless else open_dataset(data)  # what is wrong with it is said before torch is loaded
    from videopred.device import pick_device
    from videopred.training.clips import TrainingClips, open_clips

    device, unread = pick_device(learning.device), learning.compute.model_copy(update={"hold": "disk"})
    with opened or open_clips(data, learning.training) as file:
        TrainingClips(file, learning.training, unread, str(device))


def _say_trained(
    folder: Path, watch: WatchConfig, json_: bool, asked: Asked | None = None, *, wrote: bool = True
) -> None:
    """Where a run is, or runs from several seeds are, and what judges it; their spread, and profiles if asked for.

    Said once per launch.

    Args:
        asked: the experiment; see `next_command`.
        wrote: whether anything was learned; else it was said already that the run is left as it is.
    """
    from videopred.training.processes import is_first

    if not is_first():
        return
    if json_:
        terminal.print_files([folder], json_)
        return
    from videopred.training import profiling
    from videopred.training.resuming import read_settings

    if (folder / SUMMARY).is_file():
        print(spread(folder))
    if watch.profile and wrote:
        for run in runs_of(folder):
            if read_settings(run)[0].watch.profile:  # not so where it was finished before
                print(f"{run}: {profiling.table(run)}")
    if wrote:
        terminal.print_files([folder], json_)
    following = experiments.next_command(folder, asked)
    if following is not None:
        terminal.print_next(following)
