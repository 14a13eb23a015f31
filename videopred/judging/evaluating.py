"""Scores of what predicts the clips of a file: models, or functions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import torch
from torch import Tensor

from videopred import check
from videopred.datasets.clip_source import ClipSource
from videopred.device import device_of, my_device, pick_device
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.judging.baselines import BASELINES
from videopred.judging.batches import Batch, Predicted
from videopred.judging.fitting import check_fit, check_names, check_opened
from videopred.judging.own_masks import asks_for_masks, check_masks, source_of, usual_metrics
from videopred.judging.predicting import Predict, PredictBatch, ask, batch_predictor
from videopred.judging.scoring import How, HowAndWhere, judge_rows
from videopred.models.predictor import Predictor


def evaluate(
    predictor: Predictor | Mapping[str, Predictor],
    file: ClipSource,
    *,
    context: int | None = None,
    horizon: int | None = None,
    part: str = "test",
    metrics: Sequence[str] | None = None,
    metric_settings: Sequence[str] = (),
    means: Sequence[int] = (),
    batch_size: int = 32,
    first: int | None = None,
    reference: ClipSource | None = None,
    feedback: str = "soft",
    samples: int = 1,
    seeds: Mapping[str, Sequence[str]] | None = None,
    progress: bool = False,
    share: bool = False,
) -> Scores:
    """Scores of a model's rollouts, or of several models' on the same clips; `judge` scores predictions of any origin.

    A model runs on its device in evaluation mode, and is left in the mode it was in. With feedback `sample`, each clip
    has its own random stream. A model that is itself random draws batch by batch, so its scores, but no others, depend
    on the batch size.

    Args:
        predictor: a trained model; or several, each under the name of its row.
        file: holds the clips.
        context, horizon: frames given and predicted; the data's own when None.
        part: train, validation or test.
        metrics: names in METRICS and OBJECT_METRICS, or MODULE:CLASS of one's own; the usual ones when None: BCE, MSE,
            SSIM and F1, and for a decoder that paints masks, how well these segment, if the file has true masks.
        metric_settings: what differs from their defaults, such as `f1.threshold=0.4`.
        means: numbers of first steps over which means are reported, too.
        batch_size: clips at a time.
        first: how many clips, from the first of the part on; all when None.
        reference: the clips whose training part gives the mean frame and the calibration; `file` when None.
        feedback: what it is fed after the context: `soft`, `threshold:0.5`, `sample` or `true`; see docs/scoring.md.
        samples: films that it predicts of each clip; with several, columns are of the best and of the mean.
        seeds: name -> rows of models that differ in nothing but their seed, over which the mean is told as well.
        progress: show a bar on stderr.
        share: share the clips with the processes that torchrun or srun started together, each of which must ask the
            same of the same models; they wait for one another, and all return the scores of all clips.

    Raises:
        ValueError: the file's frames are not what the model was built for, or `seeds` are not groups of rows, see
            `judge`; or see `judge_rows`.
        TypeError: a path or another thing in the place of a model or of clips.
    """
    models = predictor if isinstance(predictor, Mapping) else {"model": predictor}
    check_names(models, "predictor")
    check_opened(file, models.values(), ", or several in a dict; videopred.judge scores functions")
    if metrics is None:
        metrics = usual_metrics([one.config for one in models.values() if isinstance(one, Predictor)], file)
    if first is not None:
        check.whole_number("first", first, 1, "leave it out for all")
    protocol = Protocol(
        context=file.context if context is None else context,
        horizon=file.horizon if horizon is None else horizon,
        part=part,
        metrics=check.as_names("metrics", metrics),
        metric_settings=check.as_names(
            "metric_settings", metric_settings, fix="write ('f1.threshold=0.4',)", must="be texts in a list or tuple"
        ),
        means=check.as_tuple("means", means, "be numbers of steps", "write e.g. means=[5, 10]"),
        clips=first,
        feedback=feedback,
        samples=samples,
    )
    groups = _groups(seeds, models)
    how = How(reference=reference, batch_size=batch_size, progress=progress, share=share)
    return replace(evaluate_protocol(models, file, protocol, **how), seeds=groups)


def evaluate_protocol(
    predictors: Mapping[str, Predictor], file: ClipSource, protocol: Protocol, **how: Unpack[How]
) -> Scores:
    """Scores of models' rollouts under a protocol, on the device of the first; see `evaluate` and `judge_rows`."""
    for one in predictors.values():
        check_fit(one, file)
    told = check_masks(protocol.metrics, predictors)
    predictions = {
        name: batch_predictor(one, protocol.feedback, masks=bool(told) and source_of(one) is not None)
        for name, one in predictors.items()
    }
    device = device_of(next(iter(predictors.values())))
    how["notes"] = (*how.get("notes", ()), *told)
    return judge_rows(predictions, file, protocol, device=device, **how)


def judge(
    predict: Predict | Mapping[str, Predict],
    file: ClipSource,
    protocol: Protocol,
    *,
    seeds: Mapping[str, Sequence[str]] | None = None,
    **how: Unpack[HowAndWhere],
) -> Scores:
    """Scores of any predictions, in the row *model*, or of several, each in a row of its name.

    Whatever a prediction draws comes from a random stream of its own; torch's global one is left alone.

    Args:
        predict: makes the films to judge, from the context of a batch of clips on the device, or pairs of films and of
            the model's own masks, for metrics such as own-fg-ari (see `Predict`); or several of such. With
            feedback `true` it is asked for one frame at a time, after each of the true ones; with any other, what it
            feeds back is its own matter, and the scores say so. It is asked for some of the clips at a time. A torch
            module is in evaluation mode meanwhile.
        seeds: name -> rows of models that differ in nothing but their seed, over which the mean is told as well.
        file: holds the clips to predict.
        protocol: what is asked.
        how: any of device (a name as for `pick_device`; the CPU unless said), batch_size (32), progress (a bar on
            stderr), reference (the clips whose training part gives the mean frame and the calibration; `file` unless
            said), notes (texts that readers of the scores should know) and share (see `evaluate`).

    Raises:
        ValueError: `seeds` name a row that no model has or that is in two groups, or fewer than two, or are called as a
            row is; a feedback that only models know; an unknown metric or part; more clips than there are; context and
            horizon longer than the clips; a reference without a train part or of other frames; a name that a trivial
            baseline has; or a prediction of another shape.
        TypeError: a path in the place of clips, something that cannot be called in that of a function, or no protocol.
    """
    check_opened(file)
    fix = "make one, e.g. Protocol(context=5, horizon=10)"
    check.require_kind(isinstance(protocol, Protocol), "protocol", "be a Protocol", repr(protocol), fix)
    if not protocol.one_step:
        knows = protocol.feedback in ("soft", "elsewhere")
        must, fix = "be left out or true for functions", "leave it out, and feed back in the function what you like"
        check.require(knows, "feedback", must, protocol.feedback, fix)
        protocol = protocol.model_copy(update={"feedback": "elsewhere"})
    how["device"] = pick_device(my_device(str(how.get("device", "cpu"))))
    models = predict if isinstance(predict, Mapping) else {"model": predict}
    check_names(models, "predict")
    for name, model in models.items():
        must, fix = "be a function of (context, horizon)", "give one that returns the films, see docs/adding.md"
        of_models = "score it with videopred.evaluate(model, clips)"
        check.require_kind(not isinstance(model, Predictor), f"predict of {name}", must, "a model", of_models)
        check.require_kind(callable(model), f"predict of {name}", must, repr(model), fix)
    groups = _groups(seeds, models)
    gave: dict[str, set[bool]] = {name: set() for name in models}

    def predicted(name: str, model: Predict, film: Tensor, horizon: int) -> Predicted:
        said = ask(name, model, film, horizon)
        gave[name].add(said.masks is not None)
        return said

    def checked(name: str, model: Predict) -> PredictBatch:
        def predict_batch(batch: Batch, _: int) -> Predicted:
            film = batch.film.to(how["device"])
            if not batch.one_step:
                return predicted(name, model, film[:, : batch.given], batch.horizon)
            ends = range(batch.given, film.shape[1])
            films, masks = zip(*(predicted(name, model, film[:, :end], 1) for end in ends), strict=True)
            return Predicted(torch.cat(films, 1), None if any(one is None for one in masks) else torch.cat(masks, 1))

        return predict_batch

    scores = judge_rows({name: checked(name, model) for name, model in models.items()}, file, protocol, **how)
    notes = scores.notes
    if asks_for_masks(protocol.metrics) is not None:
        lacking = {name: " of some frames" if True in said else "" for name, said in gave.items() if False in said}
        notes += tuple(f"own masks of {name}: it has none{of}" for name, of in lacking.items())
    return replace(scores, seeds=groups, notes=notes)


def _groups(seeds: Mapping[str, Sequence[str]] | None, models: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The rows of each group; refused are groups that are called as a row is, or do not name two or more of the models,
    each in a single group."""
    seeds, fix = {} if seeds is None else seeds, 'write {"mine, 2 seeds": ("a", "b")}'
    check.require_kind(isinstance(seeds, Mapping), "seeds", "be a dict of rows by group", repr(seeds), fix)
    groups: dict[str, tuple[str, ...]] = {}
    group_of: dict[str, str] = {}
    for name, rows in seeds.items():
        argument, must, fix = f"seeds {name}", "be another name than the rows have", "rename the group"
        check.require_kind(isinstance(name, str) and name != "", "seeds", "be called by text", repr(name), fix)
        check.require(name not in {*models, *BASELINES}, argument, must, name, fix)
        groups[name] = named = check.as_names(argument, rows)
        check.each_once(argument, named)
        check.require(len(named) > 1, argument, "name two rows or more", ", ".join(named), "leave it out")
        for row in named:
            check.one_of(argument, row, models)
            other = group_of.setdefault(row, name)
            must, got = "name rows of no other group", f"{row}, which is in {other}"
            check.require(other == name, argument, must, got, "leave it out of one")
    return groups
