"""What tests of training share: what is in a run, and a learner without one."""

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import HEIGHT, WIDTH, tiny_model, tiny_training
from torch import Tensor

from videopred.checkpoint import CONFIG_KEY, RunConfig
from videopred.models import build
from videopred.settings import ComputeConfig, WatchConfig
from videopred.training.learner import Learner
from videopred.training.metrics_file import read_metrics
from videopred.training.stopping import StopSigns

UNDRAWN = WatchConfig(pictures_every=0)
"""Pictures for TensorBoard take most of the time of a tiny training that looks often."""


def load(path: Path) -> dict[str, Any]:
    return torch.load(path, weights_only=True)


def weights(run: Path, name: str = "last") -> dict[str, Tensor]:
    return load(run / "checkpoints" / f"{name}.ckpt")["state_dict"]


def equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def learner(core: str = "gru", strategy: str = "auto", **training: Any) -> Learner:
    torch.manual_seed(0)
    compute = ComputeConfig(strategy=strategy)
    config = RunConfig(
        model=tiny_model(core), film_shape=(1, HEIGHT, WIDTH), training=tiny_training(**training), compute=compute
    )
    return Learner(build(config.model, config.film_shape), config).eval()


class Terminal(io.StringIO):
    """A stream that somebody watches."""

    def isatty(self) -> bool:
        return True


@contextmanager
def stderr_unread() -> Iterator[None]:
    """Within it, whoever read stderr has left."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb", buffering=0) as pipe, redirect_stderr(io.TextIOWrapper(pipe, write_through=True)):
        yield


def everything_of(run: Path) -> dict[str, Any]:
    """All that a run leaves, wherever it computed: curves, and checkpoints with Lightning's own counters in them."""
    kept = {name: load(run / "checkpoints" / name) for name in ("best.ckpt", "last.ckpt")}
    for content in kept.values():
        del content[CONFIG_KEY]
    updates = json.loads((run / "run.json").read_text())["updates"]
    return {"metrics": read_metrics(run / "logs" / "metrics.csv"), "updates": updates, **kept}


def assert_same(one: Any, other: Any, where: str = "run") -> None:
    """Bit for bit."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for name in one:
            assert_same(one[name], other[name], f"{where} {name}")
    elif isinstance(one, list):
        assert_same(dict(enumerate(one)), dict(enumerate(other)), where)
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other), where
    else:
        assert one == other, where


def stop_after(monkeypatch: pytest.MonkeyPatch, updates: int) -> None:
    """Have training asked to stop after so many updates, and never if that is 0."""
    monkeypatch.setattr(
        StopSigns, "reason", lambda self, trainer: "stopped" if trainer.global_step == updates != 0 else ""
    )
