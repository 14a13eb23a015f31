"""Imagine: from a few true frames, the frames that a predictor expects to follow."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from videopred import check
from videopred.amounts import counted, number_told, shapes_told
from videopred.files import write_arrays
from videopred.models.arguments import how_to_make_a_film
from videopred.models.core import Trace
from videopred.models.interventions import Intervened
from videopred.models.predictor import Prediction, Predictor, check_model, check_suits_weights
from videopred.models.rnem import folded_once

Feed = Callable[[Tensor], Tensor]
"""From predicted probabilities to what is fed back as the next input, both (B, 1, C, H, W)."""


class Rollout(NamedTuple):
    """Films of one rollout, all float in [0, 1]."""

    context: Tensor
    """(B, context, C, H, W): the true frames it started from."""
    one_step: Tensor
    """(B, context − 1, C, H, W): predictions of context frames 1, 2, …, each from the true frames before it."""
    prediction: Tensor
    """(B, horizon, C, H, W): probabilities of the frames that follow the context."""
    trace: Trace
    """name -> (B, context + horizon − 1, …): what the core did at each step; empty unless asked for."""

    def __repr__(self) -> str:
        films = {"context": self.context, "one_step": self.one_step, "prediction": self.prediction}
        return f"<{type(self).__name__}: {shapes_told(films)}; trace of {', '.join(self.trace) or 'nothing'}>"


def predict_on(
    predictor: Predictor, film: Tensor, own: int, *, feed: Feed | None = None, trace: bool = False
) -> Prediction:
    """Predict the frame after each true frame, then `own` more frames from predictions fed back.

    Args:
        predictor: used in the mode and on the device it is in.
        film: (B, T, C, H, W) float in [0, 1], T at least 1: the true frames.
        own: how many of its own predictions it is fed after them.
        feed: what becomes of them before; as soft frames, the probabilities themselves, when None.
        trace: keep what the core did at each step.

    Returns:
        Logits (B, T + own, C, H, W), entry t about frame t + 1; the last state; the trace of all T + own steps.
    """
    return continue_from(predictor, predictor(film, trace=trace), own, feed=feed, trace=trace)


def continue_from(
    predictor: Predictor, said: Prediction, own: int, *, feed: Feed | None = None, trace: bool = False
) -> Prediction:
    """A prediction, and `own` more that follow from its last frame, fed back; see `predict_on`.

    The one loop behind rollouts and free-running training; gradients flow through what is fed back.
    """
    done = [said]
    for _ in range(own):
        frame = torch.sigmoid(done[-1].logits[:, -1:])
        done.append(predictor(frame if feed is None else feed(frame), done[-1].state, trace=trace))
    traces = {name: torch.cat([one.trace[name] for one in done], 1) for name in said.trace}
    return Prediction(torch.cat([one.logits for one in done], 1), done[-1].state, traces)


def roll_out(
    predictor: Predictor,
    context: Tensor,
    horizon: int,
    *,
    feedback: str = "soft",
    chance: Sequence[torch.Generator] | None = None,
    trace: bool = False,
) -> Rollout:
    """Feed the context, then feed back what was predicted.

    Runs in evaluation mode (no dropout) and leaves the predictor in the mode it was in.

    Args:
        predictor: a trained model; its device is where it runs.
        context: (B, T, C, H, W) float in [0, 1], T at least 1.
        horizon: frames to predict, at least 1.
        feedback: what is fed back. `soft`: the predicted probabilities. `threshold:0.5`: 1 where they are at least
            0.5 (or another number above 0 and at most 1), else 0. `sample`: 1 with that probability, else 0.
        chance: for `sample`, a generator on the CPU for each clip; seeded with the clip's place in the batch when None.
        trace: keep what the core did at each step.

    Returns:
        What was predicted carries no gradients, and may go into computations that have some.

    Raises:
        ValueError: no frame of context, no horizon, an unknown feedback, films of another shape or on another device,
            numbers outside [0, 1], not one generator for each clip, or another context than the model's intervention
            was made for, or a horizon in which it does not begin.
        TypeError: no model; a context that is no tensor, or of another precision than the model; `chance` without
            generators.
    """
    horizon = check.whole_number("--horizon", horizon, 1, "ask for at least one frame")
    fix = "videopred.rollout.predict_next predicts each frame from the true ones"
    rolls = feedback not in ("true", "elsewhere")
    check.require(rolls, "--feedback", "be soft, threshold:0.5 or sample", feedback, fix)
    _check_film("context", context, predictor, 1)
    check_intervention(predictor, context.shape[1], horizon)
    if chance is None:
        chance = [torch.Generator().manual_seed(clip) for clip in range(len(context))]
    return roll_on(predictor, context, horizon, feedback, chance, trace=trace)


def roll_on(
    predictor: Predictor,
    context: Tensor,
    horizon: int,
    feedback: str,
    chance: Sequence[torch.Generator],
    *,
    trace: bool,
) -> Rollout:
    """As `roll_out`, also from true frames beyond those after which an intervention begins."""
    _check_chance(chance, len(context))
    feed = _feed(feedback, chance)
    named = check.named({"film": "context"})
    with named, evaluating(predictor), torch.inference_mode(), folded_once(predictor):
        said = predict_on(predictor, context, horizon - 1, feed=feed, trace=trace)
    # Made outside of that mode, whose own tensors no gradient may pass by; unless all around is in it, as in scoring.
    film, happened = torch.sigmoid(said.logits), said.trace
    if not torch.is_inference_mode_enabled():
        happened = {name: values.clone() for name, values in happened.items()}
    return Rollout(context, film[:, :-horizon], film[:, -horizon:], happened)


def predict_next(predictor: Predictor, film: Tensor) -> Tensor:
    """Predict each frame but the first from the true frames before it: (B, T − 1, C, H, W) float in [0, 1].

    Args:
        predictor: as for `roll_out`.
        film: (B, T, C, H, W) float in [0, 1], T at least 2.

    Raises:
        ValueError, TypeError: as `roll_out`, about the film.
    """
    _check_film("film", film, predictor, 2)
    with evaluating(predictor), torch.inference_mode():
        said = predict_on(predictor, film[:, :-1], 0)
    return torch.sigmoid(said.logits)


def _check_film(name: str, film: Tensor, predictor: Predictor, frames: int) -> None:
    """Refuse what is no model, and what is no film of at least so many frames for it."""
    check_model(predictor)
    kind, fix = type(film).__name__, how_to_make_a_film(film)
    check.require_kind(isinstance(film, Tensor), name, "be a tensor", kind, fix)
    must, whole = f"be (B, T, C, H, W) with T at least {frames}", film.dim() == 5 and film.shape[1] >= frames
    lacking = "add the axis of clips by film[None]" if film.dim() == 4 else f"give at least {counted(frames, 'frame')}"
    check.require(whole, name, must, tuple(film.shape), lacking)
    check_suits_weights(name, film, predictor)
    low, high = (end.item() for end in film.aminmax()) if film.numel() else (0.0, 0.0)
    got = "NaN among them" if isnan(low) else f"{number_told(low)} to {number_told(high)}"
    check.require(0 <= low <= high <= 1, name, "hold numbers in [0, 1]", got, fix)


def check_intervention(predictor: Predictor, frames: int, horizon: int) -> None:
    """Refuse a context other than the one after which an intervention was told to begin, and a beginning behind what is
    predicted, which would do nothing."""
    core = getattr(predictor, "core", None)  # whatever rolls out like a model may have none
    if isinstance(core, Intervened):
        must = f"have as many frames as `intervene` was told, {core.context}"
        check.require(frames == core.context, "context", must, frames, "give both the same")
        core.intervention.check_beginning(horizon)


def _check_chance(chance: Any, clips: int) -> None:
    """Refuse what is not one generator for each of so many clips."""
    fits = isinstance(chance, Sequence) and all(isinstance(one, torch.Generator) for one in chance)
    must, fix = "be a list of torch.Generator, one for each clip", "give that, or leave it out"
    check.require_kind(fits, "chance", must, type(chance).__name__, fix)
    check.require(len(chance) == clips, "chance", f"hold {counted(clips, 'generator')}, one a clip", len(chance), fix)


@contextmanager
def evaluating(predictor: Predictor) -> Iterator[None]:
    """Within it, the predictor is in evaluation mode, without dropout; then each part of it in the mode it was in."""
    modes = [(part, part.training) for part in predictor.modules()]
    predictor.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _feed(feedback: str, chance: Sequence[torch.Generator]) -> Feed:
    """What a feedback makes of predicted probabilities."""
    threshold = check.threshold_of(feedback, rolled=True)
    if feedback == "soft":
        return lambda said: said
    if threshold is not None:
        return lambda said: (said >= threshold).to(said)

    def sample(said: Tensor) -> Tensor:
        # Drawn on the CPU, clip by clip: the same whatever the device, and whatever else is in the batch.
        draws = [torch.rand(said.shape[1:], generator=one, dtype=torch.float32, device="cpu") for one in chance]
        return (torch.stack(draws).to(said.device) < said).to(said)

    return sample


def save_rollout(
    path: Path, rollout: Rollout, truth: Tensor, made: Mapping[str, Any], others: Sequence[Tensor] = ()
) -> None:
    """Write an .npz with the films `context`, `one_step`, `prediction` and `truth`, and `made`, how, as JSON.

    Args:
        path: ends in .npz; its folder is made, and what is there is replaced.
        rollout: what was predicted.
        truth: (B, horizon, C, H, W) float in [0, 1], what came instead.
        made: what is to be known of how it was made.
        others: predictions of further samples, with which `prediction` is (N, B, horizon, C, H, W).
    """
    films = {
        "context": rollout.context,
        "one_step": rollout.one_step,
        "prediction": torch.stack([rollout.prediction, *others]) if others else rollout.prediction,
        "truth": truth,
    }
    arrays = {name: _array(film) for name, film in films.items()}
    write_arrays(path, arrays | {"made": np.array(json.dumps(made))})


def made_in(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """What arrays of `save_rollout` or `save_trace` say of how they were made; nothing of those of others."""
    try:
        made = json.loads(str(arrays["made"]))
    except (KeyError, ValueError, RecursionError):  # other programs call arrays so, too
        return {}
    return made if isinstance(made, dict) else {}


def rollout_words(made: Mapping[str, Any]) -> list[str]:
    """What a rollout is of that was kept: the run, and the words by which it is not the usual one.

    Args:
        made: what `videopred rollout` gave `save_rollout` and `save_trace`.
    """
    words = [str(made["run"])] if "run" in made else []
    for name, usual in (("part", "test"), ("feedback", "soft"), ("samples", 1)):
        words += [f"--{name}", str(made[name])] if made.get(name, usual) != usual else []
    intervention = made.get("intervention")
    return [*words, *map(str, intervention if isinstance(intervention, list) else ())]


def save_trace(path: Path, rollout: Rollout, truth: Mapping[str, np.ndarray], made: Mapping[str, Any]) -> None:
    """Write an .npz with `states` (B, T, K, D), `trace/<name>`, `truth/<name>`, `context`, a number, and `made`, JSON.

    T is context + horizon - 1 steps: at step t the model has read frame t, its own from the context on, and says what
    comes next.

    Args:
        path: ends in .npz; its folder is made, and what is there is replaced.
        rollout: with its trace.
        truth: name -> what is known of the clips, (B, context + horizon, …) or (B, …).
        made: what is to be known of how it was made.
    """
    arrays = {"context": np.array(rollout.context.shape[1]), "made": np.array(json.dumps(made))}
    for name, values in rollout.trace.items():
        arrays["states" if name == "states" else f"trace/{name}"] = _array(values)
    write_arrays(path, arrays | {f"truth/{name}": values for name, values in truth.items()})


def _array(values: Tensor) -> np.ndarray:
    """A tensor for NumPy, which has no bfloat16."""
    return (values.float() if values.dtype == torch.bfloat16 else values).cpu().numpy()
