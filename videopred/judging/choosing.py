"""Which clips to look at: the ones a model predicts worst or best, or any."""

from typing import Literal

import numpy as np

from videopred import check
from videopred.datasets.clip_source import ClipSource
from videopred.device import device_of, measuring_device
from videopred.eval import METRICS, find_metric, make_metric
from videopred.eval.metric import clip_means
from videopred.judging.batches import films, seeded_sample
from videopred.judging.fitting import check_fit
from videopred.judging.tally import measure
from videopred.models.predictor import Predictor
from videopred.rollout import roll_out


def clip_scores(
    predictor: Predictor,
    file: ClipSource,
    part: str,
    metric: str,
    context: int,
    horizon: int,
    *,
    first: int | None = None,
    batch_size: int = 32,
) -> np.ndarray:
    """One number for each clip: a metric of the model's rollout, as a mean over its steps that have a value.

    Args:
        predictor: a trained model, used where it is.
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
    check_fit(predictor, file)
    clips = file.parts[part] if first is None else first
    file.check_rollout(context, horizon)
    device, scores = device_of(predictor), []
    measured_on = measuring_device(device)
    for start, film in films(file, part, range(0, clips, batch_size), clips, batch_size, False):
        given, truth = film[:, : context + horizon].split([context, horizon], 1)
        with seeded_sample(start, 0, device):  # as `evaluate` draws in batches of this size
            prediction = roll_out(predictor, given.to(device), horizon).prediction
        measured = measure({metric: scorer}, prediction.to(measured_on), truth.to(measured_on))
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
