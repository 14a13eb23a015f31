"""The whole flow at its smallest, step by step: whether it works on this machine."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from videopred import check
from videopred.checkpoint import load_run
from videopred.datasets import find_recipe, open_dataset
from videopred.datasets.generation import generate
from videopred.judging.drawing import render
from videopred.judging.evaluating import evaluate
from videopred.models.codec_settings import RNEMConfig
from videopred.models.rival_settings import GRUConfig
from videopred.models.settings import PredictorConfig
from videopred.settings import TrainingConfig, WatchConfig
from videopred.training.run import train

Steps = dict[str, Callable[[], None]]
"""Name -> what is to work, each after the one before."""


def tiny_flow(folder: Path, device: str) -> Steps:
    """The whole flow at its smallest: data, training, scores, pictures. Learns nothing."""
    data, run = folder / "data.h5", folder / "run"

    def make_data() -> None:
        recipe = find_recipe("balls4", balls=(2,), frames=8, height=24, width=32)
        generate("data", {"train": 8, "validation": 2, "test": 3}, recipe=recipe, out=data)

    def learn() -> None:
        model = PredictorConfig(core=GRUConfig(units=8), codec=RNEMConfig(channels=(4, 8), embedding=16))
        training = TrainingConfig(updates=3, batch_size=4, validate_every=3)
        train(data, model, training, watch=WatchConfig(pictures_every=0), out=run, device=device)

    def score() -> None:
        with open_dataset(data) as file:
            value = evaluate(load_run(run, device), file, metrics=("mse",)).mean("model", "mse")
        check.require(math.isfinite(value), "the error of a rollout", "be a finite number", value, _REPORT)

    def draw() -> None:
        with open_dataset(data) as file:
            render(load_run(run, device), file, clips=[0], out=folder / "pictures")

    return {"data": make_data, "training": learn, "rollout and scores": score, "pictures": draw}


_REPORT = "set VIDEOPRED_TRACEBACK=1 to see where, and report it with all of this"


def run_steps(steps: Steps, faults: list[str]) -> dict[str, str]:
    """Whether each step works, and how long it took; none is tried after one that failed."""
    rows = {}
    for name, step in steps.items():
        start = perf_counter()
        try:
            step()
        except Exception as error:  # whatever a broken machine raises is what is to be told
            if os.environ.get("VIDEOPRED_TRACEBACK"):
                raise
            told = f"{type(error).__name__}: {error}"
            rows[name] = f"failed: {told}"
            faults.append(check.complaint(f"the self test's {name}", "work", told, _REPORT))
            break
        rows[name] = f"works, {perf_counter() - start:.1f} s"
    return rows
