"""What tests of training share: what is in a run, and a learner without one."""

from pathlib import Path
from typing import Any

import torch
from tiny_runs import HEIGHT, WIDTH, tiny_model, tiny_training
from torch import Tensor

from videopred.checkpoint import RunConfig
from videopred.models import build
from videopred.training.learner import Learner


def load(path: Path) -> dict[str, Any]:
    return torch.load(path, weights_only=True)


def weights(run: Path, name: str = "last") -> dict[str, Tensor]:
    return load(run / "checkpoints" / f"{name}.ckpt")["state_dict"]


def equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def learner(core: str = "gru", **training: Any) -> Learner:
    torch.manual_seed(0)
    config = RunConfig(model=tiny_model(core), film_shape=(1, HEIGHT, WIDTH), training=tiny_training(**training))
    return Learner(build(config.model, config.film_shape), config).eval()
