"""The command line: one function per command; flags in, one library call, paths and numbers out.

Only light modules are imported here, and torch inside the commands, so that help and every usage error are instant.
Results go to stdout, progress and complaints to stderr. Exit status: 0 fine, 1 failure, 2 usage, 130 interrupted.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NoReturn

from tyro.conf import OmitArgPrefixes, Positional, arg

from videopred import check, flags, model_flags
from videopred.datasets import DATASETS
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.settings import DatasetSettings
from videopred.eval import METRICS
from videopred.models import CODECS, CORES, DECODERS
from videopred.models.codec_settings import CodecConfig, DecoderConfig, RNEMConfig, SharedConfig
from videopred.models.presets import PRESETS
from videopred.models.settings import CoreConfig, PredictorConfig, RIMsConfig
from videopred.settings import TrainingConfig

if TYPE_CHECKING:
    from torch import Tensor

    from videopred.datasets.source import ClipSource
    from videopred.rollout import Rollout

Part = Literal["train", "validation", "test"]
Run = Annotated[Positional[Path], arg(metavar="RUN", help="Run folder that `videopred train` wrote.")]
Data = Annotated[Positional[Path], arg(metavar="DATA", help="HDF5 file of clips, or a folder of shards.")]
Context = Annotated[int | None, arg(metavar="FRAMES", help="True frames to start from; default: the data's own.")]
Horizon = Annotated[int | None, arg(metavar="FRAMES", help="Frames to predict; default: the data's own.")]
Device = Annotated[str, arg(help="auto, cpu, cuda, cuda:1 or mps; auto takes a CUDA device if there is one.")]
Overwrite = Annotated[bool, arg(help="Replace what is there.")]
Json = Annotated[bool, arg(name="json", help="Print JSON instead of tables.")]


CORE_HELP = "A core or preset of `videopred list`, or MODULE:CLASS of your own."


class Asked(NamedTuple):
    """What a command works on."""

    file: "ClipSource"
    context: int
    horizon: int


def list_shelves(
    shelf: Annotated[
        Positional[Literal["all", "datasets", "cores", "presets", "codecs", "decoders", "metrics"]],
        arg(help="What to list."),
    ] = "all",
    *,
    json_: Json = False,
) -> None:
    """List the data sets, cores and their presets, codecs, decoders and metrics there are."""
    shelves = {
        "datasets": {name: preset.summary for name, preset in DATASETS.items()},
        "cores": {name: first_line(settings) for name, (settings, _) in CORES.items()},
        "presets": {name: preset.summary for name, preset in PRESETS.items()},
        "codecs": {name: first_line(settings) for name, (settings, _) in CODECS.items()},
        "decoders": {name: first_line(settings) for name, (settings, _) in DECODERS.items()},
        "metrics": {name: first_line(settings) for name, (settings, _) in METRICS.items()},
    }
    chosen: dict[str, dict[str, str]] = shelves if shelf == "all" else {shelf: shelves[shelf]}
    if json_:
        _print_json(chosen)
        return
    for title, rows in chosen.items():
        print(title)
        _print_rows(rows)


def generate(
    preset: Annotated[Positional[str], arg(metavar="PRESET", help="One of `videopred list datasets`.")],
    *,
    recipe: DatasetSettings = DATASETS["balls4"].recipe,
    clips: Annotated[
        tuple[str, ...], arg(metavar="PART=COUNT", help="Clips of each part: train, validation, test.")
    ] = ("train=1000", "validation=100", "test=100"),
    seed: Annotated[int, arg(help="Source of all chance.")] = 0,
    out: Annotated[Path, arg(help="Folder for PRESET.h5, or a name that ends in .h5.")] = Path("datasets"),
    mnist: Annotated[Path | None, arg(help="Folder with the whole MNIST (torchvision's layout).")] = None,
    shards: Annotated[int, arg(help="Files to cut the set into; several go to a folder PRESET.")] = 1,
    workers: Annotated[int, arg(help="Processes that make clips; any number makes the same bytes.")] = 1,
    dry_run: Annotated[bool, arg(help="Only say how long it would take, and how much disk.")] = False,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Make a data set: recipe, states, frames, HDF5 file."""
    counts = flags.counts(clips)
    from videopred.datasets import generation

    asked: dict[str, Any] = {
        "recipe": recipe, "seed": seed, "out": out, "mnist": mnist, "shards": shards, "workers": workers,
        "overwrite": overwrite,
    }  # fmt: skip
    if dry_run:
        told = generation.foresee(preset, counts, **asked)
        _print_json(told._asdict()) if json_ else print(told)
        return
    path = generation.generate(preset, counts, progress=_watched(), **asked)
    _print_files([path], json_)


def import_(
    source: Annotated[
        Positional[Path], arg(metavar="SOURCE", help="An array, GIF, MP4, PNG frames, or a folder of IntPhys.")
    ],
    *,
    out: Annotated[Path, arg(help="Data file to make; ends in .h5.")],
    config: OmitArgPrefixes[ImportConfig] = ImportConfig(),
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Bring films of others into a data file, and say what they are."""
    check.require(out.suffix == ".h5", "--out", "end in .h5", out, "rename it")
    check.existing("SOURCE", source)
    from videopred.datasets.importing import import_films

    path, found = import_films(source, out, config, overwrite=overwrite, progress=_watched())
    if json_:
        _print_json(found | {"files": [str(path)]})
        return
    _print_rows(found)
    _print_files([path], False)


def inspect(
    data: Data,
    *,
    preview: Annotated[Path | None, arg(help="Write a GIF of some clips there.")] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Show what is in a data file."""
    from videopred.datasets.description import describe
    from videopred.datasets.opening import open_dataset

    if preview is not None:
        check.absent("--preview", preview, overwrite)
    with open_dataset(data) as file:
        rows = describe(file)
        if preview is not None:
            from videopred.preview import preview_gif

            part, count = next(iter(file.parts.items()))
            masks = file.read(part, "groups", 0, min(6, count)) if "groups" in file.truth else None
            preview_gif(file.read_frames(part, 0, min(6, count)), preview, masks)
    if json_:
        _print_json(rows | ({"files": [str(preview)]} if preview else {}))
        return
    _print_rows(rows)
    if preview is not None:
        _print_files([preview], False)


def export(
    data: Data,
    *,
    out: Annotated[Path, arg(help="Folder to make.")],
    part: Annotated[Part | None, arg(help="Part to write; default: all that there are.")] = None,
    unlabelled: Annotated[bool, arg(help="Leave out what says which test films are possible.")] = False,
    random_levels: Annotated[bool, arg(help="Masks with other grey levels in each frame, as IntPhys has.")] = False,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Write clips of `occlusion` in the folders of the IntPhys benchmark, as PNG files."""
    check.absent("--out", out, overwrite)
    from videopred.datasets.intphys_export import export_intphys
    from videopred.datasets.opening import open_dataset

    with open_dataset(data) as file:
        export_intphys(
            file,
            out,
            part=part,
            unlabelled=unlabelled,
            random_levels=random_levels,
            overwrite=overwrite,
            progress=_watched(),
        )
    _print_files([out], json_)


def verify(
    data: Data,
    *,
    sample: Annotated[int, arg(metavar="CLIPS", help="Clips of each part to make again and compare.")] = 32,
    mnist: Annotated[Path | None, arg(help="The folder that its digits were taken from, if --mnist was given.")] = None,
    json_: Json = False,
) -> None:
    """Prove that data is whole, is what its recipe makes, and has nothing in two parts."""
    from videopred.datasets import verification
    from videopred.datasets.opening import open_dataset

    with open_dataset(data) as file:
        verdict = verification.verify(file, sample=sample, mnist=mnist, progress=_watched())
    if json_:
        _print_json(verdict._asdict())
        return
    _print_rows(verdict.proved | {f"not proved: {name}": why for name, why in verdict.not_proved.items()})


def cards(
    presets: Annotated[Positional[tuple[str, ...]], arg(metavar="PRESET", help="Which; default: all.")] = (),
    *,
    out: Annotated[Path, arg(help="Folder.")] = Path("datasets/cards"),
    json_: Json = False,
) -> None:
    """Write a card of each data set: its recipe and a small GIF of what it makes."""
    for name in presets:
        check.one_of("PRESET", name, DATASETS)
    from videopred.cards import write_cards

    _print_files(write_cards(out, presets or tuple(DATASETS)), json_)


def train(
    data: Data,
    *,
    core_name: Annotated[str, arg(name="core", metavar="NAME", help=CORE_HELP)] = "rims",
    core: CoreConfig = RIMsConfig(),
    codec_name: Annotated[str, arg(name="codec", metavar="NAME", help="One of `videopred list codecs`.")] = "rnem",
    codec: CodecConfig = RNEMConfig(),
    decoder_name: Annotated[
        str, arg(name="decoder", metavar="NAME", help="One of `videopred list decoders`; default: the core's own.")
    ] = "shared",
    decoder: DecoderConfig = SharedConfig(),
    training: OmitArgPrefixes[TrainingConfig] = TrainingConfig(),
    out: Annotated[Path | None, arg(help="Run folder; default: models/<data>-<core>.")] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Train a predictor on a data file."""
    _opened(data, device)
    from videopred import training as learning

    model = PredictorConfig(core=model_flags.chosen_core(core_name, core), codec=codec, decoder=decoder)
    folder = learning.train(data, model, training, out=out, device=device, overwrite=overwrite, progress=_watched())
    _print_files([folder], json_)


def check_core(
    name: Annotated[Positional[str], arg(metavar="CORE", help=CORE_HELP)],
    *,
    core: CoreConfig = RIMsConfig(),
    json_: Json = False,
) -> None:
    """Hold a core to what every core must do, one line per check."""
    from videopred.models import build_core, conformance

    config = model_flags.chosen_core(name, core)
    found = conformance.run_checks(lambda: build_core(config, conformance.FEATURES))
    if json_:
        _print_json(found)
    else:
        _print_rows({check_name.replace("_", " "): reason or "passes" for check_name, reason in found.items()})
    failed = sum(map(bool, found.values()))
    fix = "mend them from the top; videopred.models.core says what a core is"
    check.require(not failed, f"core {name}", "pass every check", f"{failed} of {len(found)} failed", fix)


def rollout(
    run: Run,
    data: Data,
    *,
    part: Part = "test",
    first: Annotated[int | None, arg(metavar="CLIPS", help="How many clips, from the first on; default: 16.")] = None,
    context: Context = None,
    horizon: Horizon = None,
    out: Annotated[Path | None, arg(help="File; default: eval/<run>/<data>/rollout.npz.")] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Predict the frames that follow a context, and keep them as arrays."""
    path = check.absent("--out", out or _results(run, data) / "rollout.npz", overwrite)
    check.require(path.suffix == ".npz", "--out", "end in .npz", path, "rename it")
    chosen = _first_clips(data, part, first, 16)
    rollout, truth = _roll_out(run, data, part, chosen, context, horizon, device)
    from videopred.rollout import save_rollout

    save_rollout(path, rollout, truth)
    _print_files([path], json_)


def evaluate(
    run: Run,
    data: Data,
    *,
    part: Part = "test",
    context: Context = None,
    horizon: Horizon = None,
    metrics: Annotated[tuple[str, ...], arg(metavar="NAME", help="See `videopred list metrics`.")] = tuple(METRICS),
    first: Annotated[int | None, arg(metavar="CLIPS", help="How many clips, from the first on; default: all.")] = None,
    batch_size: Annotated[int, arg(help="Clips at a time; changes memory and speed, not the scores.")] = 32,
    reference: Annotated[
        Path | None, arg(help="File whose training part calibrates the trivial rows; default: DATA.")
    ] = None,
    out: Annotated[Path | None, arg(help="Folder; default: eval/<run>/<data>.")] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Score a model's rollouts beside the trivial predictions."""
    for name in metrics:
        check.one_of("--metrics", name, METRICS)
    check.whole_number("--batch-size", batch_size, 1, "give at least one clip at a time")
    check.whole_number("--first", 1 if first is None else first, 1, "score at least one clip")
    check.require(len(set(metrics)) == len(metrics), "--metrics", "name each once", " ".join(metrics), "leave one out")
    asked = _opened(data, device, run, context, horizon)
    from videopred import judging
    from videopred.checkpoint import load_run
    from videopred.datasets.opening import open_dataset
    from videopred.device import pick_device

    folder = out or _results(run, data)
    for name in ("scores.json", "scores.csv"):
        check.absent("--out", folder / name, overwrite)
    scores = judging.evaluate(
        load_run(run, pick_device(device)),
        asked.file,
        context=asked.context,
        horizon=asked.horizon,
        part=part,
        metrics=metrics,
        batch_size=batch_size,
        first=first,
        reference=None if reference is None else open_dataset(reference),
        progress=_watched(),
    )
    paths = scores.save(folder, overwrite=overwrite)
    if json_:
        _print_json(scores.to_dict() | {"files": [str(path) for path in paths]})
        return
    print(scores.table(), end="\n\n")
    _print_files(paths, False)


def render(
    run: Run,
    data: Data,
    *,
    part: Part = "test",
    clips: Annotated[
        tuple[int, ...], arg(metavar="INDEX", help="Which clips, counted from 0; default: the first three.")
    ] = (),
    context: Context = None,
    horizon: Horizon = None,
    out: Annotated[Path | None, arg(help="Folder; default: eval/<run>/<data>.")] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Draw truth, prediction and difference: a GIF and a film strip of each clip."""
    folder = out or _results(run, data)
    clips = clips or tuple(_first_clips(data, part, None, 3))
    check.require(len(set(clips)) == len(clips), "--clips", "name each clip once", clips, "leave one out")
    names = [f"{part}-{clip}" for clip in clips]
    for name in names:
        for suffix in (".gif", ".png"):
            check.absent("--out", folder / f"{name}{suffix}", overwrite)
    rollout, truth = _roll_out(run, data, part, clips, context, horizon, device)
    from videopred import rendering

    paths = [path for i, name in enumerate(names) for path in rendering.render(rollout, truth, i, folder, name)]
    _print_files(paths, json_)


def bench_generate(
    *,
    clips: Annotated[int, arg(help="Clips made in each turn.")] = 256,
    repeats: Annotated[int, arg(help="Turns of each comparison.")] = 5,
    growth: Annotated[tuple[int, ...], arg(metavar="CLIPS", help="Sizes at which the time per clip is shown.")] = (
        100,
        1000,
        10_000,
    ),
    whole: Annotated[int, arg(metavar="CLIPS", help="Also generate a file of so many clips; none when 0.")] = 0,
    workers: Annotated[int, arg(help="Processes for that file.")] = 2,
    json_: Json = False,
) -> None:
    """Measure how fast data is made: ratios to plain generators, from one process, in turns, medians."""
    from videopred.bench import generate

    rows = generate.bench_generate(clips=clips, repeats=repeats, growth=growth, whole=whole, workers=workers)
    _print_json(rows) if json_ else print(generate.table(rows))


def bench_cores(
    *,
    cores: Annotated[tuple[str, ...], arg(metavar="NAME", help="Of rims, brims, scoff.")] = ("rims", "brims", "scoff"),
    batches: Annotated[tuple[int, ...], arg(metavar="CLIPS", help="Clips at a time.")] = (64, 8),
    steps: Annotated[int, arg(help="Steps of a sequence.")] = 50,
    repeats: Annotated[int, arg(help="Turns of each comparison.")] = 3,
    json_: Json = False,
) -> None:
    """Measure how fast cores run: ratios to plain statements of them and to an LSTM, on one thread."""
    from videopred.bench import cores as bench

    rows = bench.bench_cores(cores=cores, batches=batches, steps=steps, repeats=repeats)
    _print_json(rows) if json_ else print(bench.table(rows))


def demo(
    *,
    out: Annotated[Path, arg(help="Folder for data, run, scores and pictures.")] = Path("eval/demo"),
    tiny: Annotated[bool, arg(help="A few updates only: shows that all works, learns nothing.")] = False,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """From nothing to a prediction GIF: generate, train, roll out, score, render."""
    check.device_kind(device)
    from videopred.demo import run_demo

    outcome = run_demo(out, tiny=tiny, device=device, overwrite=overwrite, progress=_watched())
    if json_:
        _print_json(outcome.to_dict())
        return
    print(outcome.scores.table(), end="\n\n")
    print(outcome.verdict, end="\n\n")
    _print_files(outcome.files, False)


COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "list": list_shelves,
    "generate": generate,
    "import": import_,
    "inspect": inspect,
    "verify": verify,
    "export": export,
    "cards": cards,
    "check-core": check_core,
    "train": train,
    "rollout": rollout,
    "evaluate": evaluate,
    "render": render,
    "bench generate": bench_generate,
    "bench cores": bench_cores,
}


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit with its status. With VIDEOPRED_TRACEBACK set, failures show where they arose."""
    # Spinning threads crawl when anything else runs; torch reads this once, when it is first imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if "" not in sys.path:
        sys.path.append("")  # where MODULE:CLASS is looked for last: the current folder
    try:
        run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        print(f"videopred: interrupted; {str(interrupt) or 'what was saved before is whole'}", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # whoever read our output, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, TypeError, OSError, MemoryError) as error:
        if os.environ.get("VIDEOPRED_TRACEBACK"):
            raise
        print(f"videopred: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ValueError | TypeError) else 1)
    sys.exit(0)


def run(argv: list[str]) -> None:
    """Run one command, given as the words after `videopred`.

    Raises:
        ValueError: an unknown command, preset, core or metric, or values that do not fit together.
        SystemExit: the status of tyro, which has printed its help or its complaint.
    """
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: videopred COMMAND [OPTIONS]\n\nObject-centric video prediction, from the data to the GIF.\n")
        _print_rows({name: first_line(command) for name, command in COMMANDS.items()})
        print("\n`videopred COMMAND --help` shows the options of a command.")
        return
    if argv[0] == "--version":
        print(f"videopred {version('videopred')}")
        return
    length = 2 if " ".join(argv[:2]) in COMMANDS else 1  # some commands are two words
    name, words = check.one_of("COMMAND", " ".join(argv[:length]), COMMANDS), argv[length:]
    command = COMMANDS[name]
    if name == "generate":
        # Only in the first place is a word surely the preset: later ones may be a flag's values.
        preset = words[0] if words and words[0] not in ("-h", "--help") else "balls4"
        fix = "put PRESET first, as in `videopred generate balls4 --seed 1`"
        check.require(not preset.startswith("-"), "PRESET", "come before the options", preset, fix)
        recipe = DATASETS[check.one_of("PRESET", preset, DATASETS)].recipe
        command = flags.with_default(command, "recipe", recipe, Annotated[type(recipe), OmitArgPrefixes])
    if name == "train":
        command = model_flags.with_model_flags(command, words)
    if name == "check-core" and words and not words[0].startswith("-"):
        core = model_flags.core_flags(words[0], words)
        command = flags.with_default(command, "core", core, type(core))
    flags.call(command, name, words)


def _results(run: Path, data: Path) -> Path:
    """Where results of a run on a data file go unless --out says otherwise."""
    return Path("eval") / run.resolve().name / data.stem


def _first_clips(data: Path, part: str, first: int | None, usual: int) -> range:
    """Indices of the first clips of a part: as many as asked for, or else the usual number, if there are so many."""
    check.whole_number("--first", 1 if first is None else first, 1, "ask for at least one clip")
    from videopred.datasets.opening import open_dataset

    count = open_dataset(data).count(part)
    if first is None:
        return range(min(usual, count))
    check.require(first <= count, "--first", f"be at most {count}, the clips of the {part} part", first, "lower it")
    return range(first)


def _opened(
    data: Path, device: str, run: Path | None = None, context: int | None = None, horizon: int | None = None
) -> Asked:
    """The data file, and the context and horizon asked for or usual; all is checked before torch is loaded."""
    check.device_kind(device)
    check.whole_number("--context", 1 if context is None else context, 1, "give at least one frame to start from")
    check.whole_number("--horizon", 1 if horizon is None else horizon, 1, "ask for at least one frame")
    if run is not None:
        check.run_folder(run)
    known = data.stem if data.stem in DATASETS else "NAME"
    if not data.is_dir():  # a folder of shards is looked at when it is opened
        check.existing_file("DATA", data, f"make one with `videopred generate {known}`")
    from videopred.datasets.opening import open_dataset

    file = open_dataset(data)
    asked = Asked(file, file.context if context is None else context, file.horizon if horizon is None else horizon)
    if run is not None:
        check.context_and_horizon(asked.context, asked.horizon, file.frames)
    return asked


def _roll_out(
    run: Path, data: Path, part: str, clips: Sequence[int], context: int | None, horizon: int | None, device: str
) -> "tuple[Rollout, Tensor]":
    """The rollout of a run on some clips of a file, and the true films of the horizon."""
    asked = _opened(data, device, run, context, horizon)
    from videopred.checkpoint import load_run
    from videopred.device import pick_device
    from videopred.judging import imagine

    return imagine(load_run(run, pick_device(device)), asked.file, part, clips, asked.context, asked.horizon)


def _watched() -> bool:
    """Whether somebody sees the progress bars."""
    return sys.stderr.isatty()


def first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().split("\n")[0]


def _print_rows(rows: Mapping[str, Any]) -> None:
    flat = dict(_flat(rows))
    width = max(map(len, flat))
    for name, value in flat.items():
        print(f"  {name.ljust(width)}  {value}")


def _flat(rows: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested rows as one level, names joined by points, numbers as people read them."""
    for name, value in rows.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield f"{prefix}{name}", " ".join(map(str, value))
        else:
            yield f"{prefix}{name}", f"{value:.6g}" if isinstance(value, float) else str(value)


def _print_files(paths: Sequence[Path], as_json: bool) -> None:
    if as_json:
        _print_json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        print(f"wrote {path}")


def _print_json(content: Mapping[str, Any]) -> None:
    print(json.dumps(content, indent=2, allow_nan=False))
