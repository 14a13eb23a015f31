"""Which clips to look at: the ones a model predicts worst or best, or any."""

from typing import Literal

import numpy as np
import torch

from videopred import check
from videopred.datasets.clip_source import ClipSource
from videopred.device import device_of, measuring_device
from videopred.eval import METRICS, find_metric, make_metric
from videopred.eval.metric import clip_means
from videopred.judging.batches import Batch, films
from videopred.judging.fitting import check_fit, check_frames
from videopred.judging.predicting import batch_predictor
from videopred.judging.tally import measure
from videopred.judging.views import Source, as_model, film_of


def clip_scores(
    source: Source,
    file: ClipSource,
    part: str,
    metric: str,
    context: int,
    horizon: int,
    *,
    first: int | None = None,
    batch_size: int = 32,
) -> np.ndarray:
    """One number for each clip: a metric of what is predicted of it, as a mean over its steps that have a value.

    Args:
        source: a trained model, used where it is, or what else makes films of a batch of clips.
        file: holds the clips.
        part: one that the file has.
        metric: a key of METRICS, or MODULE:CLASS, with its usual settings.
        context, horizon: frames given and predicted.
        first: how many of the part's clips, from the first on; all when None.
        batch_size: clips at a time.

    Returns:
        (clips,) float64; NaN for a clip of which nothing can be said.

    Raises:
        ValueError: there is no such metric, the clips are too short, or the file's frames are not the model's.
        TypeError, ValueError: see `measure` and `clip_means`.
    """
    find_metric("--by", metric, METRICS)
    scorer = make_metric(metric)
    predict, device = source, torch.device("cpu")
    if (model := as_model(source)) is not None:
        check_fit(model, file)
        predict, device = batch_predictor(model, "soft"), device_of(model)
    clips = file.parts[part] if first is None else first
    check_frames(file, context, horizon)
    measured_on, scores = measuring_device(device), []
    for start, film in films(file, part, range(0, clips, batch_size), clips, batch_size, False):
        batch = Batch(file, part, start, film[:, : context + horizon], context)
        prediction = film_of(predict, batch, device)  # drawn as `evaluate` does in batches of this size
        measured = measure({metric: scorer}, prediction.to(measured_on), batch.truth.to(measured_on))
        scores.append(clip_means(scorer, measured[metric]))
    return np.concatenate(scores)


def extreme_clips(scores: np.ndarray, metric: str, which: Literal["worst", "best"], count: int) -> list[int]:
    """Indices of the clips with the worst or best scores, the most extreme first; of equal ones the first.

    Args:
        scores: (clips,), see `clip_scores`; clips without one are left out.
        metric: says whether high is good.
        which: which end of the scores.
        count: how many, at least 1.

    Raises:
        ValueError: fewer clips have a score.
    """
    scored = np.flatnonzero(~np.isnan(scores))
    must = f"be at most {len(scored)}, the clips that have a score by {metric}"
    fix = "lower it" if len(scored) else "choose another metric with --by"
    check.require(count <= len(scored), f"--{which}", must, count, fix)
    descending = make_metric(metric).higher_is_better == (which == "best")
    order = np.argsort(-scores[scored] if descending else scores[scored], kind="stable")
    return [int(clip) for clip in scored[order[:count]]]
