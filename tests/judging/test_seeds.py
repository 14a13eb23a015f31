"""Runs judged together: which differ in nothing but their seed, and what they are called."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from tiny_runs import tiny_data, tiny_model, tiny_training
from torch import nn

from videopred.checkpoint import DataRecord, ExperimentRecord, RunConfig, load_run, run_settings
from videopred.datasets import open_dataset
from videopred.datasets.generation import generate
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.export import export_run
from videopred.judging import runs
from videopred.judging.runs import evaluate_runs, row_names
from videopred.settings import Part
from videopred.training.run import train

ASKED = Protocol(context=3, horizon=2, metrics=("mse",), clips=3)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("seeds")
    data = tiny_data(folder)
    shutil.copy(data, folder / "moved.h5")
    for seed, where in ((0, data), (1, data), (2, folder / "moved.h5")):
        changed = {"training.seed": seed} if seed else {}
        experiment = ExperimentRecord(name="mine", scale="tiny", changed=changed)
        saved = {"save_every": 1, "keep_every": 2} if seed == 2 else {}  # which changes nothing of what it learns
        train(where, tiny_model(), tiny_training(seed=seed, **saved), out=folder / f"seed-{seed}", device="cpu",
              experiment=experiment)  # fmt: skip
    train(data, tiny_model(), tiny_training(seed=3, learning_rate=0.01), out=folder / "other", device="cpu")
    train(data, tiny_model("lstm"), tiny_training(seed=4), out=folder / "another", device="cpu")
    export_run(folder / "seed-0", folder / "small.safetensors")
    return folder


def judged(place: Path, *names: str, data: str = "balls4.h5", part: Part = "test") -> Scores:
    asked = ASKED.model_copy(update={"part": part})
    return evaluate_runs([place / name for name in names], open_dataset(place / data), asked, device="cpu")


def test_runs_that_differ_in_their_seed_alone_are_one_group(place):
    """Also where a flag gave the seed of an experiment, and where the data lay elsewhere."""
    scores = judged(place, "seed-0", "seed-1", "other", "seed-2")
    seeds = tuple(f"{place.name}/seed-{seed}" for seed in range(3))
    assert list(scores.seeds.values()) == [seeds]
    mean, half = scores.over_seeds(f"{place.name}, 3 seeds (0, 1, 2)", "mse")
    assert mean == pytest.approx(sum(scores.mean(seed, "mse") for seed in seeds) / 3)
    assert half > 0
    assert f"\n{place.name}, 3 seeds (0, 1, 2)  " in scores.table()
    assert list(judged(place, "seed-0", "seed-1").seeds) == ["gru, 2 seeds (seed-0, seed-1)"]


def test_a_run_and_its_export_are_one_seed(place):
    assert judged(place, "seed-0", "small.safetensors").seeds == {}
    with_export = judged(place, "seed-0", "small.safetensors", "seed-1")
    assert list(with_export.seeds.values()) == [(f"{place.name}/seed-0", f"{place.name}/seed-1")]
    shutil.copytree(place / "seed-1", place / "copies" / "seed-1")
    export_run(place / "seed-2", place / "third.safetensors")
    names = ("seed-0", "copies/seed-1", "small.safetensors", "seed-1", "third.safetensors")
    first, second = (f"{place.name}/seed-0", "copies/seed-1", "third"), ("small", f"{place.name}/seed-1")
    groups = judged(place, *names).seeds
    assert list(groups.values()) == [first, second], "a run and its copy are in no group together"
    assert list(groups)[1] == f"gru, 2 seeds (small, {place.name}/seed-1)"
    names = ("seed-0", "copies/seed-0", "copies/seed-1", "seed-1")
    shutil.copytree(place / "seed-0", place / "copies" / "seed-0")
    own = [tuple(f"{folder}/seed-{seed}" for seed in range(2)) for folder in (place.name, "copies")]
    assert list(judged(place, *names).seeds.values()) == own, "those of a folder stay together"
    shutil.copytree(place / "seed-0", place / "runs" / "first")
    shutil.copytree(place / "seed-1", place / "runs" / "second")
    assert list(judged(place, "runs/first", "runs/second", "other").seeds) == ["gru, 2 seeds (first, second)"]
    alone = judged(place, "seed-0")
    assert (alone.seeds, alone.models) == ({}, ("model",))


def test_scores_on_clips_that_a_run_learned_from_say_so(place, tmp_path):
    said = "{} learned from clips of this part: scores on others may be worse"
    assert judged(place, "seed-0", part="train").notes == (said.format("model"),)
    assert judged(place, "seed-0", "seed-1", part="train").notes == (said.format("seed-0 and seed-1"),)
    assert judged(place, "seed-0").notes == ()
    chosen = "model was chosen among its checkpoints by this part: scores on others may be worse"
    assert judged(place, "seed-0", part="validation").notes == (chosen,)
    other = generate("other", {"train": 4}, recipe=open_dataset(place / "balls4.h5").recipe, out=tmp_path / "other.h5")
    assert judged(place, "seed-0", data=str(other), part="train").notes == ()


@pytest.mark.parametrize("other", ["data", "first weights", "weights of another experiment's seed"])
def test_runs_of_other_data_or_first_weights_are_no_seeds_of_one(place, monkeypatch, other):
    """Their interval over seeds would tell of what they learned from."""

    def read(run: Path) -> RunConfig:
        config = run_settings(run)
        data = config.data.model_copy(update={"sha256": "of other bytes"})
        if other == "weights of another experiment's seed":
            first = "h" if run.name == "seed-1" else "g"
            return config.model_copy(update={"init_from": f"models/{first}/seed-0"})
        changes = {"data": {"data": data}, "first weights": {"init_from": "models/first"}}[other]
        return config.model_copy(update=changes if run.name == "seed-1" else {})

    monkeypatch.setattr(runs, "run_settings", read)
    assert judged(place, "seed-0", "seed-1").seeds == {}
    assert list(judged(place, "seed-0", "seed-1", "seed-2").seeds.values()) == [("seed-0", "seed-2")]


def test_scores_of_what_is_not_finished_say_so(place, tmp_path):
    half = shutil.copytree(place / "seed-0", tmp_path / "half")
    record = json.loads((half / "run.json").read_text())
    (half / "run.json").write_text(json.dumps(record | {"state": "interrupted", "updates": 1}))
    asked = run_settings(half).training.updates
    assert judged(place, str(half)).notes == (f"model is not finished: 1 of {asked} updates",)


def test_runs_in_a_folder_of_seeds_that_were_not_trained_alike_are_told(place, tmp_path):
    for name, source in (("seed-0", "seed-0"), ("seed-3", "other")):
        shutil.copytree(place / source, tmp_path / name)
    assert judged(tmp_path, "seed-0", "seed-3", data=str(place / "balls4.h5")).notes == ()
    (tmp_path / "seeds.json").write_text('{"seeds": [0, 3]}')
    scores = judged(tmp_path, "seed-0", "seed-3", data=str(place / "balls4.h5"))
    assert scores.notes == (
        "seed-0 and seed-3 do not differ in their seed alone, so there is no mean over all of them",
    )
    assert judged(tmp_path, "seed-3", data=str(place / "balls4.h5")).notes == ()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "seed-0")
        assert judged(Path(), ".", "../seed-3", data=str(place / "balls4.h5")).notes == scores.notes
    shutil.copytree(place / "seed-1", tmp_path / "seed-1")
    alike = judged(tmp_path, "seed-0", "seed-1", data=str(place / "balls4.h5"))
    assert (len(alike.seeds), alike.notes) == (1, ())


def test_one_run_by_two_spellings_is_one(place, tmp_path):
    with pytest.raises(ValueError, match=r"^RUN must be given once each, got \S+/seed-0 twice; leave one out"):
        judged(place, "seed-0", "other/../seed-0")


def test_the_export_of_a_checkpoint_on_the_way_is_no_seed(place, tmp_path):
    last = export_run(place / "seed-1", tmp_path / "last.safetensors", checkpoint="last")
    scores = judged(place, "seed-0", str(last))
    assert scores.seeds == {}
    assert not [note for note in scores.notes if "not finished" in note], "the last one is the whole of it"


@pytest.mark.parametrize("recipe", ["balls4", "mine/balls.json"])
def test_seeds_of_a_folder_that_made_their_clips_anew_are_one_group(place, tmp_path, monkeypatch, recipe):
    """As those of `train balls4 --seeds`: the seed of the training is that of the clips, too."""

    def read(run: Path) -> RunConfig:
        config = run_settings(run)
        data = DataRecord(path=recipe, name="balls4", sha256=run.name)
        return config.model_copy(update={"data": data})

    monkeypatch.setattr(runs, "run_settings", read)
    assert judged(place, "seed-0", "seed-1").seeds == {}
    for seed in (0, 1):
        shutil.copytree(place / f"seed-{seed}", tmp_path / f"seed-{seed}")
    (tmp_path / "seeds.json").write_text("{}")
    found = judged(place, *(str(tmp_path / f"seed-{seed}") for seed in (0, 1))).seeds
    assert list(found.values()) == [("seed-0", "seed-1")]


def test_a_run_and_the_export_of_another_seed_that_began_from_the_same_weights_are_one_group(place, monkeypatch):
    """An export keeps the name of the run that it began from, and not where that lies."""

    def read(run: Path) -> RunConfig:
        first = "first" if run.is_file() else "/models/first"
        return run_settings(run).model_copy(update={"init_from": first})

    monkeypatch.setattr(runs, "run_settings", read)
    assert list(judged(place, "small.safetensors", "seed-1").seeds.values()) == [("small", f"{place.name}/seed-1")]


def test_runs_of_other_models_are_no_seeds_of_one(place):
    assert judged(place, "seed-0", "another").seeds == {}


def test_runs_of_one_name_are_told_apart_by_their_folders(place, tmp_path):
    """As of the seeds of several experiments."""
    shutil.copytree(place / "seed-1", tmp_path / "theirs" / "seed-0")
    assert judged(place, "seed-0", str(tmp_path / "theirs" / "seed-0")).models == (
        f"{place.name}/seed-0",
        "theirs/seed-0",
    )
    twice = rf"RUN must be given once each, got .*{place.name}.seed-0 twice; leave one out"
    with pytest.raises(ValueError, match=twice):
        judged(place, "seed-0", "seed-1", "seed-0")


def test_a_run_is_called_as_its_folder_wherever_one_stands(place, monkeypatch):
    monkeypatch.chdir(place / "seed-0")
    assert row_names([Path(), place / "seed-1"]) == ["seed-0", "seed-1"]
    assert row_names([place / "small.safetensors", Path()]) == ["small", f"{place.name}/seed-0"]
    assert row_names([Path("x/a"), Path("y/a"), Path("y/b")]) == ["x/a", "y/a", "b"]
    assert row_names([Path("x/mine/seed-0"), Path("y/mine/seed-1")]) == ["mine/seed-0", "mine/seed-1"]


def test_models_are_loaded_where_they_are_asked_to_be(place, monkeypatch):
    asked = []

    def load(run: Path, where: torch.device) -> nn.Module:
        asked.append((run.name, where))
        return load_run(run)

    monkeypatch.setattr(runs, "load_run", load)
    monkeypatch.setattr(runs, "my_device", {"auto": "cuda:1"}.get)
    monkeypatch.setattr(runs, "pick_device", torch.device)
    evaluate_runs([place / "seed-0"], open_dataset(place / "balls4.h5"), ASKED)
    assert asked == [("seed-0", torch.device("cuda:1"))]


def test_a_run_may_not_be_called_as_a_trivial_row(place, tmp_path):
    shutil.copytree(place / "seed-0", tmp_path / "blank")
    with pytest.raises(
        ValueError, match="RUN must be runs of other names than the trivial baselines, got blank; rename"
    ):
        evaluate_runs([tmp_path / "blank", place / "seed-1"], open_dataset(place / "balls4.h5"), ASKED)
