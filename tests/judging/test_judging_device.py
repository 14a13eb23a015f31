"""Judging on a device, a pretended one, through the doors that commands use: all numbers are the CPU's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pretended_device import pretended_device
from tiny_runs import HEIGHT, WIDTH, tiny_data, tiny_model, tiny_training
from training_runs import UNDRAWN

from videopred.checkpoint import load_run
from videopred.datasets import open_dataset
from videopred.datasets.generation import generate
from videopred.datasets.settings import OcclusionConfig
from videopred.eval import METRICS, OBJECT_METRICS
from videopred.eval.plausibility_settings import PlausibilityConfig
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.judging.baselines import BASELINES
from videopred.judging.drawing import render
from videopred.judging.predicting import imagine
from videopred.judging.probing import known_of
from videopred.judging.runs import evaluate_runs
from videopred.models import build
from videopred.models.codec_settings import MasksConfig
from videopred.rollout import save_rollout, save_trace
from videopred.surprise import plausibility
from videopred.training.run import train

NEEDS_COLOR = {"lpips"}
CONTEXT, HORIZON = 3, 5


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A file, and a run of a model with masks of its own; tests only read them."""
    folder = tmp_path_factory.mktemp("place")
    data = tiny_data(folder)
    model = tiny_model("rims").model_copy(update={"decoder": MasksConfig()})
    train(data, model, tiny_training(), out=folder / "run", watch=UNDRAWN, device="cpu")
    return folder


def on_both(work: Callable[[str], Any]) -> tuple[Any, Any]:
    """What the work gives with --device cpu, and with --device cuda."""
    here = work("cpu")
    with pretended_device():
        return here, work("cuda")


def assert_same_scores(here: Scores, there: Scores) -> None:
    """To rounding; where two of a model's own masks are equal but for rounding, a pixel may be of either."""
    assert here.values.keys() == there.values.keys()
    for row, columns in here.values.items():
        for column, values in columns.items():
            close = 2e-3 if column.startswith("own-") else 1e-5
            np.testing.assert_allclose(there.values[row][column], values, close, 1e-7, err_msg=f"{row} {column}")


@pytest.mark.slow
def test_every_metric_of_every_row(place):
    metrics = tuple(name for name in (*METRICS, *OBJECT_METRICS) if name not in NEEDS_COLOR)
    file, protocol = open_dataset(place / "balls4.h5"), Protocol(context=CONTEXT, horizon=HORIZON, metrics=metrics)
    here, there = on_both(lambda device: evaluate_runs([place / "run"], file, protocol, device=device))
    assert_same_scores(here, there)
    assert set(there.values) == {"model", *BASELINES}
    assert set(there.values["model"]) == set(metrics)


@pytest.mark.parametrize("asked", [{"feedback": "sample", "samples": 3}, {"feedback": "true"}])
def test_other_feedbacks(place, asked):
    metrics = ("bce", "f1", "position", "own-miou")
    file, protocol = open_dataset(place / "balls4.h5"), Protocol(context=3, horizon=5, metrics=metrics, **asked)
    assert_same_scores(*on_both(lambda device: evaluate_runs([place / "run"], file, protocol, device=device)))


def test_what_a_rollout_keeps_for_probes(place, tmp_path):
    file = open_dataset(place / "balls4.h5")

    def kept(device: str) -> dict[str, np.ndarray]:
        rollout, truth = imagine(load_run(place / "run", device), file, "test", range(4), CONTEXT, HORIZON)
        save_rollout(tmp_path / f"{device}.npz", rollout, truth, {})
        save_trace(tmp_path / f"{device}-trace.npz", rollout, known_of(file, "test", range(4), CONTEXT + HORIZON), {})
        kept = dict(np.load(tmp_path / f"{device}.npz")) | dict(np.load(tmp_path / f"{device}-trace.npz"))
        return {name: values for name, values in kept.items() if name != "made"}

    here, there = on_both(kept)
    assert here.keys() == there.keys()
    for name, values in here.items():
        np.testing.assert_allclose(there[name], values, 1e-4, 1e-6, err_msg=name)
    assert {"prediction", "states", "trace/active", "truth/positions"} < there.keys()


def test_pictures(place, tmp_path):
    file = open_dataset(place / "balls4.h5")

    def drawn(device: str) -> list[bytes]:
        paths = render(load_run(place / "run", device), file, clips=[0, 2], out=tmp_path / device)
        return [path.read_bytes() for path in paths]

    here, there = on_both(drawn)
    assert here == there


def test_surprise(tmp_path):
    recipe = OcclusionConfig(frames=30, height=HEIGHT, width=WIDTH)
    films = generate("occlusion", {"train": 3, "test": 8}, recipe=recipe, out=tmp_path / "films.h5", seed=3)

    def judged(device: str) -> np.ndarray:
        torch.manual_seed(0)
        model = build(tiny_model(), (3, HEIGHT, WIDTH)).to(device)
        surprise = plausibility(model, films, PlausibilityConfig()).surprise
        assert surprise is not None
        return surprise

    np.testing.assert_allclose(*on_both(judged), rtol=1e-5)
