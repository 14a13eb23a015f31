"""The command that scores predictions."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import OmitArgPrefixes, Positional, arg

from videopred import check
from videopred.commands import terminal
from videopred.commands.opening import check_data, results
from videopred.commands.options import Context, Device, Horizon, Json, Overwrite, Part
from videopred.eval import DEFAULT_METRICS, METRICS, OBJECT_METRICS, read_metric_settings
from videopred.eval.protocols import PROTOCOLS
from videopred.eval.settings import GivenConfig, Protocol, flag_name

if TYPE_CHECKING:
    from videopred.datasets.source import ClipSource
    from videopred.eval.scores import Scores

_PATHS_HELP = "Runs or their exports, then the data; for films made elsewhere, DATA or nothing."
_FEEDBACK_HELP = "What a model is fed after the context: soft, threshold:0.5, sample or true; default: soft."


def evaluate(
    paths: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN... DATA", help=_PATHS_HELP)] = (),
    *,
    protocol: Annotated[str | None, arg(metavar="NAME", help="One of `videopred list protocols`.")] = None,
    part: Annotated[Part | None, arg(help="Part of the data; default: test.")] = None,
    context: Context = None,
    horizon: Horizon = None,
    feedback: Annotated[str | None, arg(help=_FEEDBACK_HELP)] = None,
    samples: Annotated[int | None, arg(help="Films predicted of each clip; default: 1.")] = None,
    metrics: Annotated[
        tuple[str, ...], arg(metavar="NAME", help="See `videopred list metrics`; default: bce mse ssim f1.")
    ] = (),
    metric_settings: Annotated[
        tuple[str, ...], arg(metavar="METRIC.SETTING=VALUE", help="Such as lpips.net=vgg or f1.threshold=0.4.")
    ] = (),
    first: Annotated[int | None, arg(metavar="CLIPS", help="How many clips, from the first on; default: all.")] = None,
    given: OmitArgPrefixes[GivenConfig] = GivenConfig(),
    batch_size: Annotated[int, arg(help="Clips at a time; changes memory and speed, not the scores.")] = 32,
    reference: Annotated[
        Path | None, arg(help="File whose training part calibrates the trivial rows; default: DATA.")
    ] = None,
    out: Annotated[Path | None, arg(help="Folder; default: eval/<run>/<data>.")] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Score predictions beside the trivial ones: rollouts of runs, or films made elsewhere."""
    runs, data = _split(paths, given)
    check.whole_number("--batch-size", batch_size, 1, "give at least one clip at a time")
    check.whole_number("--first", 1 if first is None else first, 1, "score at least one clip")
    check.device_kind(device)
    _check_metrics(metrics)
    words = {
        "part": part, "context": context, "horizon": horizon, "feedback": feedback, "samples": samples,
        "metrics": metrics or None, "metric_settings": metric_settings or None, "clips": first,
    }  # fmt: skip
    said = {name: word for name, word in words.items() if word is not None}
    _check_words(said, protocol, 0 if given.true else 1)
    card = PROTOCOLS[protocol].protocol if protocol else None
    read_metric_settings(metrics or (card.metrics if card else DEFAULT_METRICS), metric_settings)
    if given.pred is not None:
        _check_words_about_films(said)
    for run in runs:
        check.run_folder(run)
    if data is not None:
        check_data(data)
    folder = out or _results(runs, data, given)
    for name in ("scores.json", "scores.csv", "measurements.npz"):
        check.absent("--out", folder / name, overwrite)
    options: dict[str, Any] = {"batch_size": batch_size, "progress": terminal.watched(), "device": device}
    if given.pred is not None:
        scores = _score_films(given, data, protocol, said, reference, options)
    else:
        assert data is not None  # _split has asked for it
        scores = _score_runs(runs, data, protocol, said, reference, options)
    from videopred.judging.sharing import my_place

    if my_place()[0] > 0:  # another process writes and prints
        return
    paths_written = scores.save(folder, overwrite=overwrite)
    if json_:
        terminal.print_json(scores.to_dict() | {"files": [str(path) for path in paths_written]})
        return
    print(scores.table(), end="\n\n")
    terminal.print_files(paths_written, False)


def _score_runs(
    runs: list[Path],
    data: Path,
    protocol: str | None,
    said: Mapping[str, Any],
    reference: Path | None,
    options: dict[str, Any],
) -> "Scores":
    """Scores of the runs' own rollouts; what can be refused before torch is loaded is."""
    from videopred.datasets.opening import open_dataset

    file = open_dataset(data)
    asked = _protocol(protocol, said, file)
    if protocol is None:  # else what differs from the protocol's data is said first
        check.context_and_horizon(asked.context, asked.horizon, file.frames)
    from videopred.judging import fitting
    from videopred.judging.own_masks import usual_metrics
    from videopred.judging.runs import data_of, evaluate_runs, model_of

    notes: tuple[str, ...] = ()
    if protocol is not None:
        card, learned = PROTOCOLS[protocol], {run: data_of(run) for run in runs}
        notes = (*fitting.check_card(protocol, card, file), *fitting.trained_on(protocol, card, file, learned))
    elif "metrics" not in said:
        asked = asked.model_copy(update={"metrics": usual_metrics([model_of(run) for run in runs], file)})
    calibrating = None if reference is None else open_dataset(reference)
    return evaluate_runs(runs, file, asked, notes=notes, reference=calibrating, **options)


def _score_films(
    given: GivenConfig,
    data: Path | None,
    protocol: str | None,
    said: Mapping[str, Any],
    reference: Path | None,
    options: dict[str, Any],
) -> "Scores":
    """Scores of films made elsewhere."""
    from videopred.datasets.opening import open_dataset
    from videopred.judging import evaluating, fitting, opening

    predicted, true = opening.open_given(given, said.get("part", "test"))
    truth = true or open_dataset(data or "")
    asked = _protocol(protocol, {**said, "samples": predicted.samples} if predicted.samples > 1 else said, truth)
    if not asked.one_step:  # else the trivial rows are drawn from the true frames as well
        asked = asked.model_copy(update={"feedback": "elsewhere"})
    notes = () if protocol is None else fitting.check_card(protocol, PROTOCOLS[protocol], truth)
    calibrating = None if reference is None else open_dataset(reference)
    return evaluating.evaluate_given(predicted, truth, asked, notes=notes, reference=calibrating, **options)


def _protocol(name: str | None, said: Mapping[str, Any], file: "ClipSource") -> Protocol:
    """What is asked: a named protocol, or what the words and the data say."""
    if name is None:
        context = said.get("context", file.context)
        usual = file.horizon if file.context else file.frames - context  # of films alone, all that follow
        return Protocol(**{"context": context, "horizon": usual, **said})
    card = PROTOCOLS[name]
    assert card.protocol is not None
    usual = card.protocol.model_dump()
    if said.get("feedback") == "sample" and card.samples_when_sampled > 1:
        usual |= {"feedback": "sample", "samples": card.samples_when_sampled}
    changed = tuple(flag_name(word) for word, value in said.items() if value != usual[word])
    return Protocol(**{**usual, **said, "changed": changed})


def _split(paths: tuple[Path, ...], given: GivenConfig) -> tuple[list[Path], Path | None]:
    """The runs and the data among the paths: the data comes last, and films made elsewhere stand for runs and data."""
    if given.pred is None:
        got, fix = " ".join(map(str, paths)) or "nothing", "or --pred for films made elsewhere; see --help"
        check.require(len(paths) >= 2, "RUN and DATA", "be given", got, fix)
        return list(paths[:-1]), paths[-1]
    there = given.true is not None or len(paths) > 0
    check.require(there, "DATA or --true", "be given with --pred", "neither", "name the true films")
    must = "be left out with --pred and --true" if given.true else "be DATA alone with --pred"
    fits = len(paths) == (0 if given.true else 1)
    check.require(fits, "RUN and DATA", must, " ".join(map(str, paths)), "judge runs by themselves")
    return [], paths[0] if paths else None


def _check_metrics(metrics: tuple[str, ...]) -> None:
    for name in metrics:
        check.one_of("--metrics", name, [*METRICS, *OBJECT_METRICS])
    check.require(len(set(metrics)) == len(metrics), "--metrics", "name each once", " ".join(metrics), "leave one out")


def _check_words(said: Mapping[str, Any], protocol: str | None, least_context: int) -> None:
    """Refuse words that mean nothing, or contradict a named protocol."""
    check.feedback(said.get("feedback", "soft"))
    check.whole_number("--samples", said.get("samples", 1), 1, "1 asks for a single film of each clip")
    check.whole_number("--context", said.get("context", 1), least_context, "give at least one frame to start from")
    check.whole_number("--horizon", said.get("horizon", 1), 1, "ask for at least one frame")
    if protocol is None:
        return
    card = PROTOCOLS[check.one_of("--protocol", protocol, PROTOCOLS)]
    fix = f"use `videopred {card.command}`"
    check.require(card.protocol is not None, "--protocol", "be one that evaluate answers", protocol, fix)
    for name in ("part", "context", "horizon"):
        must, got = f"be left out with --protocol {protocol}, which says it", said.get(name)
        check.require(name not in said, f"--{name}", must, got, "leave --protocol out to ask freely")
    fed, one_step = said.get("feedback"), card.protocol is not None and card.protocol.one_step
    must = f"be true or left out with --protocol {protocol}" if one_step else f"not be true with --protocol {protocol}"
    fix = "leave --protocol out to ask freely"
    check.require(fed is None or (fed == "true") == one_step, "--feedback", must, fed, fix)


def _check_words_about_films(said: Mapping[str, Any]) -> None:
    """Refuse words that mean nothing of films made elsewhere: of each clip there is one, and it is made already."""
    must, fix = "be true or left out with --pred", "true says that each frame was predicted from the true ones"
    check.require(said.get("feedback", "true") == "true", "--feedback", must, said.get("feedback"), fix)
    fix = "an N in --axes says which axis of an array is that of the films of a clip"
    check.require("samples" not in said, "--samples", "be left out with --pred", said.get("samples"), fix)


def _results(runs: list[Path], data: Path | None, given: GivenConfig) -> Path:
    """Where results go unless --out says otherwise."""
    if given.pred is not None:
        return Path("eval") / given.pred.stem / (data or given.true or given.pred).stem
    assert data is not None  # _split has asked for it
    return results(runs[0], data, len(runs) - 1)
