"""Makes the films that are judged: a model's rollouts under any feedback, each clip with a random stream of its own."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from videopred.judging.batches import Batch, Predicted
from videopred.judging.own_masks import masks_of
from videopred.models.predictor import Predictor
from videopred.rollout import predict_next, roll_out

Predict = Callable[[Tensor, int], Tensor]
"""What can be judged: (context film (B, T, C, H, W), horizon) -> film (B, horizon, C, H, W) in [0, 1]."""
Forecast = Callable[[Batch, int], Tensor | Predicted]
"""The same, told which clips they are: (batch, sample counted from 0) -> film (B, horizon, C, H, W) in [0, 1]."""


def forecast_of(predictor: Predictor, feedback: str, *, masks: bool = False) -> Forecast:
    """A model's predictions under a feedback.

    Args:
        predictor: a trained model, used where it is.
        feedback: see `Protocol`.
        masks: give the model's own masks as well; it must have some.
    """
    device = device_of(predictor)

    def forecast(batch: Batch, sample: int) -> Tensor:
        if batch.one_step:
            return predict_next(predictor, batch.film.to(device))[:, -batch.horizon :]
        given = batch.context.to(device)
        return roll_out(predictor, given, batch.horizon, feedback=feedback, chance=_chance(batch, sample)).prediction

    def segmented(batch: Batch, sample: int) -> Predicted:
        # One step more than is asked for, which reads the last frame that is; of true frames, all are read.
        given, ahead = (batch.film, 1) if batch.one_step else (batch.context, batch.horizon + 1)
        fed, chance = "soft" if batch.one_step else feedback, _chance(batch, sample)
        said = roll_out(predictor, given.to(device), ahead, feedback=fed, chance=chance, trace=True)
        film = said.one_step[:, -batch.horizon :] if batch.one_step else said.prediction[:, :-1]
        return Predicted(film, masks_of(predictor, said.trace, batch.horizon))

    return segmented if masks else forecast


def device_of(predictor: Predictor) -> torch.device:
    """Where a model is."""
    return next(predictor.parameters()).device


def _chance(batch: Batch, sample: int) -> list[torch.Generator]:
    """A random stream for each clip, which depends on its index and the sample alone."""
    seeds = (np.random.SeedSequence(0, spawn_key=(clip, sample)).generate_state(1)[0] for clip in batch.clips)
    return [torch.Generator().manual_seed(int(seed)) for seed in seeds]
