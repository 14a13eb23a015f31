"""Films that a model predicts of clips: to be judged, under any feedback, or to be looked at."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from videopred import check
from videopred.datasets.clip_source import ClipSource
from videopred.device import device_of
from videopred.eval.metric import check_films
from videopred.frames import to_film
from videopred.judging.batches import Batch, Predicted, seeded_sample
from videopred.judging.fitting import check_fit, check_opened, check_part
from videopred.judging.own_masks import masks_of
from videopred.models.own import in_evaluation
from videopred.models.predictor import Predictor
from videopred.rollout import Rollout, check_intervention, predict_next, roll_on, roll_out

Predict = Callable[[Tensor, int], Tensor | tuple[Tensor, Tensor]]
"""What can be judged: (context film (B, T, C, H, W), horizon) -> film (B, horizon, C, H, W) in [0, 1]; or that and its
own masks, (B, horizon, H, W) whole numbers: the part of the model that made each pixel, from 1; 0 is none."""
PredictBatch = Callable[[Batch, int], Tensor | Predicted]
"""The same, told which clips they are: (batch, sample counted from 0) -> film (B, horizon, C, H, W) in [0, 1]."""


def batch_predictor(predictor: Predictor, feedback: str, *, masks: bool = False) -> PredictBatch:
    """A model's predictions under a feedback.

    Args:
        predictor: a trained model, used where it is.
        feedback: see `Protocol`.
        masks: give the model's own masks as well; it must have some.
    """
    device = device_of(predictor)

    def predict_batch(batch: Batch, sample: int) -> Tensor:
        if batch.one_step:
            check_intervention(predictor, batch.given, batch.horizon)
            return predict_next(predictor, batch.film.to(device))[:, -batch.horizon :]
        given = batch.context.to(device)
        return roll_out(
            predictor, given, batch.horizon, feedback=feedback, chance=_chance(batch.clips, sample)
        ).prediction

    def segmented(batch: Batch, sample: int) -> Predicted:
        # One step more than is asked for, which reads the last frame that is; of true frames, all are read.
        given, ahead = (batch.film, 1) if batch.one_step else (batch.context, batch.horizon + 1)
        fed, chance = "soft" if batch.one_step else feedback, _chance(batch.clips, sample)
        check_intervention(predictor, batch.given, batch.horizon)
        said = roll_on(predictor, given.to(device), ahead, fed, chance, trace=True)
        film = said.one_step[:, -batch.horizon :] if batch.one_step else said.prediction[:, :-1]
        return Predicted(film, masks_of(predictor, said.trace, batch.horizon))

    return segmented if masks else predict_batch


def function_predictor(name: str, predict: Predict) -> PredictBatch:
    """The films that a function makes of the context of a batch, on the CPU, held against what was asked for.

    Args:
        name: what complaints call it.
        predict: see `Predict`; own masks are left out.
    """

    def predict_batch(batch: Batch, _: int) -> Tensor:
        film = ask(name, predict, batch.context, batch.horizon).film.cpu()
        with check.named({"prediction": f"prediction of {name}"}):
            check_films(film, batch.truth)
        return film

    return predict_batch


def ask(name: str, predict: Predict, context: Tensor, horizon: int) -> Predicted:
    """What the row of that name predicts after a context, of which it is given a copy: it may write into it.

    A torch module is in evaluation mode meanwhile.

    Raises:
        TypeError, ValueError: see `parted`.
    """
    with in_evaluation(predict) if isinstance(predict, nn.Module) else nullcontext():
        return parted(name, predict(context.clone(), horizon))


def imagine(
    predictor: Predictor,
    file: ClipSource,
    part: str,
    clips: Sequence[int] | np.ndarray,
    context: int,
    horizon: int,
    *,
    feedback: str = "soft",
    sample: int = 0,
) -> tuple[Rollout, Tensor]:
    """A model's rollout of chosen clips, and the frames that truly followed.

    What the model itself draws (SCOFF with `eval_sample`) is the same each time that it is asked of the same clips and
    sample.

    Args:
        predictor: a trained model; the rollout is on its device.
        file: holds the clips.
        part: train, validation or test.
        clips: their indices in the part, from 0.
        context: frames given, at least 1.
        horizon: frames to predict, at least 1.
        feedback: see `roll_out`; what `sample` draws for a clip is what `evaluate` draws for its film of that number.
        sample: number of the film that is drawn, from 0.

    Returns:
        The rollout with its trace, and the truth: (B, horizon, C, H, W) float in [0, 1], on the CPU.

    Raises:
        ValueError: frames that are not what the model was built for, an unknown part, clips that are not
            there, or context and horizon longer than the clips.
        TypeError: a path in the place of the model or of clips.
    """
    check_opened(file, [predictor])
    check_fit(predictor, file)
    there = check_part(part, file)
    file.check_rollout(context, horizon)
    context, horizon = int(context), int(horizon)  # small numbers of NumPy's would wrap around in sums
    fix = f"write ({clips},)" if isinstance(clips, Integral) else "write e.g. (0, 1)"
    check.require_kind(np.ndim(clips) == 1, "--clips", "be numbers of clips", repr(clips), fix)
    check.require(len(clips) > 0, "--clips", "name at least one clip", "none", "give e.g. --clips 0 1")
    for clip in clips:
        check.require_kind(check.is_whole(clip), "--clips", "be numbers of clips", repr(clip), "count from 0")
        must = f"lie in 0 to {there - 1}, the clips of the {part} part"
        check.require(0 <= clip < there, "--clips", must, clip, "choose one of these")
    sample, clips = check.whole_number("sample", sample, 0, "count from 0"), [int(clip) for clip in clips]
    film = to_film(np.concatenate([file.read_frames(part, clip, clip + 1) for clip in clips]))
    given, truth = film[:, : context + horizon].split([context, horizon], dim=1)
    device, chance = device_of(predictor), _chance(clips, sample)
    with seeded_sample(clips[0], sample, device):
        rollout = roll_out(predictor, given.to(device), horizon, feedback=feedback, chance=chance, trace=True)
    return rollout, truth


def parted(name: str, said: Any) -> Predicted:
    """What the row of that name predicts: a film, or a film and masks.

    Raises:
        TypeError: it is something else.
        ValueError: the masks are of other clips, frames or pixels than the film.
    """
    if not isinstance(said, tuple):
        return Predicted(check_predicted(name, said))
    must, fix = "be a film, or a film and masks", "give the film alone, or both"
    check.require_kind(
        len(said) == 2, f"prediction of {name}", must, f"{len(said)} things in a {type(said).__name__}", fix
    )
    film, masks = said
    known = isinstance(masks, Tensor) and not (masks.is_floating_point() or masks.is_complex())
    known = known and masks.dtype != torch.bool
    must, fix = "be a tensor of whole numbers", "give the number of the module at each pixel, from 1"
    got = masks.dtype if isinstance(masks, Tensor) else type(masks).__name__
    check.require_kind(known, f"masks of {name}", must, got, fix)
    film = check_predicted(name, film)
    wanted = (*film.shape[:2], *film.shape[3:])
    must, fix = f"be {wanted}, as its films", "give one number for each pixel"
    check.require(masks.shape == wanted, f"masks of {name}", must, tuple(masks.shape), fix)
    return Predicted(film, masks)


def check_predicted(name: str, film: Any) -> Tensor:
    """Return what the row of that name predicts, if it is a tensor.

    Raises:
        TypeError: it is none.
    """
    kind, fix = type(film).__name__, "make it one, e.g. with torch.from_numpy"
    check.require_kind(isinstance(film, Tensor), f"prediction of {name}", "be a tensor", kind, fix)
    return film


def _chance(clips: Iterable[int], sample: int) -> list[torch.Generator]:
    """A random stream for each clip, which depends on its index and the sample alone."""
    seeds = (np.random.SeedSequence(0, spawn_key=(clip, sample)).generate_state(1)[0] for clip in clips)
    return [torch.Generator().manual_seed(int(seed)) for seed in seeds]
