"""Imagine: from a few true frames, the frames that a predictor expects to follow."""

from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from videopred import check
from videopred.files import whole_file
from videopred.models.core import Trace
from videopred.models.predictor import Predictor

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
    check.one_of("--feedback", feedback, ["soft"])
    check.require(
        context.dim() == 5 and context.shape[1] > 0, "context", "be (B, T, C, H, W) with T at least 1",
        tuple(context.shape), "give at least one frame to start from",
    )  # fmt: skip
    was_training = predictor.training
    predictor.eval()
    try:
        seen = predictor(context, trace=trace)
        said, state, traces = torch.sigmoid(seen.logits), seen.state, [seen.trace]
        frames = [said[:, -1:]]
        while len(frames) < horizon:
            step = predictor(frames[-1], state, trace=trace)
            frames.append(torch.sigmoid(step.logits))
            state = step.state
            traces.append(step.trace)
    finally:
        predictor.train(was_training)
    kept = {name: torch.cat([one[name] for one in traces], 1) for name in traces[0]}
    return Rollout(context, said[:, :-1], torch.cat(frames, 1), kept)


def save_rollout(path: Path, rollout: Rollout, truth: Tensor) -> None:
    """Write an .npz with the films `context`, `one_step`, `prediction` and `truth`, and `trace_<name>` arrays.

    Args:
        path: ends in .npz; its folder is made, and what is there is replaced.
        rollout: what was predicted.
        truth: (B, horizon, C, H, W) float in [0, 1], what came instead.
    """
    films = {"context": rollout.context, "one_step": rollout.one_step, "prediction": rollout.prediction, "truth": truth}
    traces = {f"trace_{name}": value for name, value in rollout.trace.items()}
    with whole_file(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **{name: value.cpu().numpy() for name, value in (films | traces).items()})
