"""Imagine: from a few true frames, the frames that a predictor expects to follow."""

from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from videopred import check
from videopred.files import whole_file
from videopred.models.core import Trace
from videopred.models.predictor import Prediction, Predictor

Feedback = Literal["soft"]
"""What is fed back as the next input: `soft` is the predicted probabilities themselves."""


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


def predict_on(predictor: Predictor, film: Tensor, own: int, *, trace: bool = False) -> Prediction:
    """Predict the frame after each true frame, then `own` more frames from predictions fed back as soft frames.

    The one loop behind rollouts and free-running training; gradients flow through what is fed back.

    Args:
        predictor: used in the mode and on the device it is in.
        film: (B, T, C, H, W) float in [0, 1], T at least 1: the true frames.
        own: how many of its own predictions it is fed after them.
        trace: keep what the core did at each step.

    Returns:
        Logits (B, T + own, C, H, W), entry t about frame t + 1; the last state; the trace of all T + own steps.
    """
    done = [predictor(film, trace=trace)]
    for _ in range(own):
        done.append(predictor(torch.sigmoid(done[-1].logits[:, -1:]), done[-1].state, trace=trace))
    traces = {name: torch.cat([one.trace[name] for one in done], 1) for name in done[0].trace}
    return Prediction(torch.cat([one.logits for one in done], 1), done[-1].state, traces)


@torch.inference_mode()
def roll_out(
    predictor: Predictor, context: Tensor, horizon: int, *, feedback: Feedback = "soft", trace: bool = False
) -> Rollout:
    """Feed the context, then feed back what was predicted.

    Runs in evaluation mode (no dropout) and leaves the predictor in the mode it was in.

    Args:
        predictor: a trained model; its device is where it runs.
        context: (B, T, C, H, W) float in [0, 1], T at least 1.
        horizon: frames to predict, at least 1.
        feedback: see `Feedback`.
        trace: keep what the core did at each step.

    Raises:
        ValueError: no frame of context, no horizon, an unknown feedback, or films of another shape.
    """
    check.whole_number("--horizon", horizon, 1, "ask for at least one frame")
    check.one_of("--feedback", feedback, get_args(Feedback))
    must, fix = "be (B, T, C, H, W) with T at least 1", "give at least one frame to start from"
    check.require(context.dim() == 5 and context.shape[1] > 0, "context", must, tuple(context.shape), fix)
    was_training = predictor.training
    predictor.eval()
    try:
        said = predict_on(predictor, context, horizon - 1, trace=trace)
    finally:
        predictor.train(was_training)
    film = torch.sigmoid(said.logits)
    return Rollout(context, film[:, :-horizon], film[:, -horizon:], said.trace)


def save_rollout(path: Path, rollout: Rollout, truth: Tensor) -> None:
    """Write an .npz with the films `context`, `one_step`, `prediction` and `truth`, and `trace_<name>` arrays.

    Args:
        path: ends in .npz; its folder is made, and what is there is replaced.
        rollout: what was predicted.
        truth: (B, horizon, C, H, W) float in [0, 1], what came instead.
    """
    arrays: dict[str, Any] = {
        "context": rollout.context,
        "one_step": rollout.one_step,
        "prediction": rollout.prediction,
        "truth": truth,
    }
    arrays |= {f"trace_{name}": value for name, value in rollout.trace.items()}
    with whole_file(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **{name: value.cpu().numpy() for name, value in arrays.items()})
