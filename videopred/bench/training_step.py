"""One training step of a whole predictor, ours or a plain one: forward, loss, backward, Adam."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred.bench.plain_cores import plain_rims
from videopred.bench.plain_predictor import PlainPredictor
from videopred.bench.plain_scoff import PlainSCOFF
from videopred.models import build
from videopred.models.modular_settings import RIMsConfig
from videopred.models.predictor import Predictor
from videopred.models.scoff_settings import SCOFFConfig
from videopred.models.settings import PredictorConfig
from videopred.training.feeding import loss_of_next

MODELS = {
    "rims": PredictorConfig(core=RIMsConfig(modules=6, active=4, units=100)),
    "scoff": PredictorConfig(core=SCOFFConfig(files=4, schemata=4, units=100)),
}
"""The models of the papers on bouncing balls, with R-NEM's encoder and decoder."""


class Pair(NamedTuple):
    """A predictor and a plain implementation of it, with the same weights."""

    ours: Predictor
    plain: PlainPredictor


def pair_of(name: str, film_shape: tuple[int, int, int] = (1, 64, 64)) -> Pair:
    """One of MODELS with fresh weights, in training mode."""
    ours = build(MODELS[name], film_shape)
    core: Any = ours.core
    return Pair(ours, PlainPredictor(ours, PlainSCOFF(core) if name == "scoff" else plain_rims(core)))


def training_step(predictor: nn.Module, film: Tensor, dtype: torch.dtype | None = None) -> Callable[[], None]:
    """Work: one update on a film (B, T, C, H, W) float in [0, 1], each frame but the first predicted from those before.

    Args:
        predictor: ours or a plain one; it learns.
        film: on the predictor's device.
        dtype: autocast to it; None computes in float32.
    """
    adam = torch.optim.Adam(predictor.parameters(), lr=1e-4, capturable=film.is_cuda)

    def loss(logits: Tensor, truth: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(logits.float(), truth)

    def work() -> None:
        adam.zero_grad(set_to_none=True)
        with torch.autocast(film.device.type, dtype, enabled=dtype is not None):
            if isinstance(predictor, Predictor):
                lost = loss_of_next(predictor, film, loss)
            else:
                lost = loss(predictor(film[:, :-1]), film[:, 1:])
        lost.backward()
        adam.step()

    return work
