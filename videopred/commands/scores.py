"""The command that scores predictions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import OmitArgPrefixes, Positional, arg

from videopred import check, check_path
from videopred.commands import terminal
from videopred.commands.naming import runs_and_true_films
from videopred.commands.opening import check_not_of_others, each_run, results, results_of_films, say_unfinished
from videopred.commands.options import RESULTS_HELP, Context, Device, Horizon, Json, Means, Overwrite, out_flag
from videopred.commands.question import Question
from videopred.datasets import open_dataset
from videopred.eval import find_metric, metric_settings, read_metric_settings
from videopred.eval.file_names import SCORE_FILES, SCORES
from videopred.eval.settings import DEFAULT_METRICS, GivenConfig
from videopred.run_files import run_name
from videopred.settings import Part

if TYPE_CHECKING:
    from videopred.datasets import ClipSource
    from videopred.eval.scores import Scores

_PATHS_HELP = "Runs, exports or folders of `train --seeds`, then the data; with --pred, DATA or nothing."
_METRICS_HELP = (
    "See `videopred list metrics` and `videopred list object-metrics`; or MODULE:CLASS of your own (docs/adding.md); "
    "default: those of --protocol, else bce mse ssim f1, and own-fg-ari own-miou of models with the decoder masks."
)
_METRIC_SETTINGS_HELP = f"Such as f1.threshold=0.4. All settings: {', '.join(metric_settings())}."
_FEEDBACK_HELP = "What a model receives after the context: soft, threshold:0.5, sample or true; default: soft."


def evaluate(
    paths: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN... DATA", help=_PATHS_HELP)] = (),
    *,
    protocol: Annotated[str | None, arg(metavar="NAME", help="One of `videopred list protocols`.")] = None,
    part: Annotated[Part | None, arg(help="Part of the data; default: test.")] = None,
    context: Context = None,
    horizon: Horizon = None,
    feedback: Annotated[str | None, arg(metavar="NAME", help=_FEEDBACK_HELP)] = None,
    samples: Annotated[int | None, arg(help="Films predicted for each clip; default: 1.")] = None,
    metrics: Annotated[tuple[str, ...], arg(metavar="NAME...", help=_METRICS_HELP)] = (),
    metric_settings: Annotated[
        tuple[str, ...], arg(metavar="METRIC.SETTING=VALUE...", help=_METRIC_SETTINGS_HELP)
    ] = (),
    means: Means = (),
    first: Annotated[int | None, arg(metavar="CLIPS", help="Use only the first so many clips; default: all.")] = None,
    films: OmitArgPrefixes[GivenConfig] = GivenConfig(),
    batch_size: Annotated[int, arg(help="Clips at a time; changes memory and speed, not the scores.")] = 32,
    reference: Annotated[
        Path | None, arg(help="File whose training part calibrates the trivial baselines; default: DATA.")
    ] = None,
    out: Annotated[Path | None, out_flag(RESULTS_HELP)] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Score rollouts of models, or films made elsewhere, beside trivial baselines."""
    runs, data = runs_and_true_films(paths, films)
    check.whole_number("--batch-size", batch_size, 1, "give at least one clip at a time")
    check.device_kind(device)
    for name in metrics:
        find_metric("--metrics", name)
    words = {
        "part": part, "context": context, "horizon": horizon, "feedback": feedback, "samples": samples,
        "metrics": metrics or None, "metric_settings": metric_settings or None, "means": means or None, "clips": first,
    }  # fmt: skip
    question = Question(protocol, {name: word for name, word in words.items() if word is not None})
    question.check_words(0 if films.true else 1)
    usual = question.card.protocol if question.card else None
    read_metric_settings(metrics or (usual.metrics if usual else DEFAULT_METRICS), metric_settings)
    if films.pred:
        question.check_words_about_films()
    folder = check_path.folder_for(out, SCORE_FILES) if out else _results(runs, data, films)
    runs = each_run(runs)
    file = None if data is None else open_dataset(data)
    check_not_of_others(folder / SCORES, runs, overwrite)
    for name in SCORE_FILES:
        check_path.absent("--out", folder / name, overwrite)
    how: dict[str, Any] = {"batch_size": batch_size, "progress": terminal.watched(), "device": device, "share": True}
    if films.pred:
        scores = _score_films(films, file, question, reference, how)
    else:
        say_unfinished(runs)
        assert file is not None  # as asked for before
        scores = _score_runs(runs, file, question, reference, how)
    from videopred.processes import my_place

    if my_place()[0] > 0:  # another process writes and prints
        return
    paths_written = scores.save(folder, overwrite=overwrite)
    terminal.print_found(scores.to_dict(), paths_written, json_, scores.table())


def _score_runs(
    runs: list[Path], file: "ClipSource", question: Question, reference: Path | None, how: dict[str, Any]
) -> "Scores":
    """Scores of the runs' own rollouts; what can be refused before torch is loaded is."""
    protocol = question.protocol(file)
    if question.name is None:  # else what differs from the protocol's data is said first
        file.check_rollout(protocol.context, protocol.horizon)
    from videopred.checkpoint import run_settings
    from videopred.judging import fitting
    from videopred.judging.own_masks import usual_metrics
    from videopred.judging.runs import evaluate_runs

    settings = {run: run_settings(run) for run in runs}
    notes: tuple[str, ...] = ()
    if question.name is not None:
        learned = {run: of.data for run, of in settings.items()}
        drawing = [run_name(run) for run, of in settings.items() if getattr(of.model.core, "eval_sample", False)]
        notes = (
            *fitting.check_card(question.name, file),
            *fitting.trained_on(question.name, file, learned),
            *question.notes_on_samples(drawing, protocol),
        )
    elif "metrics" not in question.said:
        protocol = protocol.model_copy(update={"metrics": usual_metrics([of.model for of in settings.values()], file)})
    return evaluate_runs(runs, file, protocol, notes=notes, reference=_calibrating(reference), **how)


def _score_films(
    films: GivenConfig, file: "ClipSource | None", question: Question, reference: Path | None, how: dict[str, Any]
) -> "Scores":
    """Scores of films made elsewhere."""
    from videopred.judging import fitting, given_flags, given_scores
    from videopred.judging.own_masks import USUAL_WITH_MASKS

    predicted, truth = given_flags.open_given(films, question.said.get("part", "test"), file)
    samples = max(of.samples for of in predicted.values())
    if samples > 1:
        question = question._replace(said={**question.said, "samples": samples})
    protocol = question.protocol(truth)
    if films.pred_masks:
        must, fix = "be left out where the truth has no masks (groups)", "give a data file that has them as DATA"
        check.require("groups" in truth.truth, "--pred-masks", must, truth.path, fix)
        if question.name is None and "metrics" not in question.said:
            protocol = protocol.model_copy(update={"metrics": (*protocol.metrics, *USUAL_WITH_MASKS)})
    if not protocol.one_step:  # else the trivial baselines are drawn from the true frames as well
        protocol = protocol.model_copy(update={"feedback": "elsewhere"})
    notes = () if question.name is None else fitting.check_card(question.name, truth)
    calibrating = _calibrating(reference)
    masks = given_flags.open_masks(films, predicted)
    return given_scores.evaluate_given(predicted, truth, protocol, masks, notes=notes, reference=calibrating, **how)


def _calibrating(reference: Path | None) -> "ClipSource | None":
    """The file that --reference names."""
    with check.named({"DATA": "--reference"}):
        return None if reference is None else open_dataset(reference)


def _results(runs: list[Path], data: Path | None, films: GivenConfig) -> Path:
    """Where results go unless --out says otherwise."""
    if films.pred:
        return results_of_films(films, data)
    assert data is not None  # as asked for before
    return results(runs[0], data, len(runs) - 1)
