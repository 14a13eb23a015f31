"""Models that learned in a program of somebody's own: whatever takes a run takes their files, and tells no tales."""

import importlib
import re
import sys
from pathlib import Path

import pytest
import torch
from command_line import run
from safetensors.torch import load_file
from test_checkpoint import SHAPE, same_weights
from tiny_runs import no_file_longer_than, tiny_data, tiny_model

import videopred
from videopred import load_scores
from videopred.checkpoint import run_settings
from videopred.models import CORES, build
from videopred.models.predictor import Predictor
from videopred.report.found import find_run
from videopred.runs import list_runs, run_stamp
from videopred.weights import read_export


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trained(core: str = "rims") -> Predictor:
    """A model with weights that no seed draws."""
    torch.manual_seed(4)
    predictor = build(tiny_model(core), SHAPE)
    with torch.no_grad():
        for number, values in enumerate(predictor.parameters()):
            values.add_(0.01 * number)
    return predictor


@pytest.mark.parametrize("core", CORES)
def test_it_is_loaded_as_it_was_saved(core):
    mine, chance = trained(core), torch.get_rng_state()
    assert videopred.save_model(mine, "models/mine.safetensors") == Path("models/mine.safetensors")
    assert torch.equal(torch.get_rng_state(), chance)
    assert mine.training
    loaded = videopred.load_run("models/mine.safetensors")
    assert same_weights(mine, loaded)
    assert (loaded.config, loaded.film_shape, loaded.training) == (mine.config, SHAPE, False)


@pytest.mark.parametrize(
    "words",
    [
        "evaluate {mine} {data} --context 4 --horizon 3",
        "render {mine} {data} --context 4 --horizon 3",
        "rollout {mine} {data} --context 4 --horizon 3 --trace states.npz",
        "report {mine} --data {data}",
        "train {data} --init-from {mine} --updates 1 --batch-size 4 --device cpu --out on",
    ],
)
def test_commands_take_it_in_place_of_a_run(words, place, capsys):
    """Training goes on from it with its own model, which is none of the usual."""
    data, mine = tiny_data(place), videopred.save_model(trained(), "mine.safetensors")
    assert run(words.format(mine=mine, data=data)) == 0, capsys.readouterr().err
    if words.startswith("train"):
        assert run_settings(Path("on")).model == trained().config


def test_plausibility_is_judged_by_it(place):
    recipe = videopred.find_recipe("occlusion", frames=30, height=SHAPE[1], width=SHAPE[2])
    scenes = videopred.generate("scenes", {"test": 4}, recipe=recipe)
    mine = videopred.save_model(build(tiny_model("gru"), (recipe.channels, *SHAPE[1:])), "mine.safetensors")
    assert run(f"plausibility {mine} {scenes} --burn-in 5") == 0
    assert videopred.plausibility(mine, scenes, videopred.PlausibilityConfig(burn_in=5)).stamp == run_stamp(mine)


def test_nothing_is_said_of_how_it_learned(monkeypatch):
    monkeypatch.setattr("sys.argv", ["train.py", "/home/me/d.h5"])
    for name, value in {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}.items():
        monkeypatch.setenv(name, value)
    settings, record, _ = read_export(videopred.save_model(trained(), "mine.safetensors"))
    assert settings.keys() == {"model", "film_shape", "data"}
    assert settings["data"] is None
    assert {"finished", "versions", "commit", "threads"} <= record.keys()
    assert record.keys().isdisjoint({"started", "state", "updates", "command", "host", "process", "home", "job"})
    (listed,) = list_runs(Path("mine.safetensors"))
    assert (listed.state, listed.updates, listed.asked, listed.problem) == ("export", None, None, "")
    assert find_run(Path("mine.safetensors"), Path("eval")).scores == {}


def test_scores_on_the_clips_it_learned_from_say_so(place):
    data = tiny_data(place)
    with videopred.open_dataset(data) as clips:
        mine = videopred.save_model(trained(), "mine.safetensors", learned_from=clips)
    assert run_settings(mine).data.path == data.name
    assert run(f"evaluate {mine} {data} --context 4 --horizon 3 --part train --out seen --metrics mse") == 0
    assert "model learned from clips of this part: scores on others may be worse" in load_scores("seen").notes
    assert run(f"evaluate {mine} {data} --context 4 --horizon 3 --part validation --out chosen --metrics mse") == 0
    assert load_scores("chosen").notes == ()


def test_scores_are_of_the_file_they_were_made_of(place, capsys):
    data, words = tiny_data(place), "--context 4 --horizon 3 --metrics mse"
    mine = videopred.save_model(trained(), "mine.safetensors")
    assert run(f"evaluate {mine} {data} {words}") == 0
    assert list_runs(mine)[0].scores.keys() == {"balls4 4+3"}
    videopred.save_model(trained("gru"), mine, overwrite=True)
    assert not list_runs(mine)[0].scores
    capsys.readouterr()
    assert run(f"evaluate {mine} {data} {words}") == 1
    assert "--out must hold no scores of other runs" in capsys.readouterr().err


def test_models_of_unknown_seeds_are_no_group(place):
    data = tiny_data(place)
    for name in ("one", "two"):
        videopred.save_model(trained(), f"{name}.safetensors")
    assert run(f"evaluate one.safetensors two.safetensors {data} --context 4 --horizon 3 --metrics mse --out both") == 0
    assert load_scores("both").seeds == {}


def test_16_bits_are_half_the_size_and_told():
    mine = trained()
    whole, half = (videopred.save_model(mine, f"{half}.safetensors", half=half) for half in (False, True))
    assert {value.dtype for value in load_file(half).values()} == {torch.float16}
    assert half.stat().st_size < whole.stat().st_size
    assert read_export(half).record["weights"] == "16 bits"
    assert "weights" not in read_export(whole).record
    assert same_weights(videopred.load_run(half), mine.half().float())


def test_what_torch_compiles_is_saved_as_the_model_inside():
    mine = trained()
    assert same_weights(mine, videopred.load_run(videopred.save_model(torch.compile(mine), "mine.safetensors")))


def spoilt(**parts: torch.nn.Module) -> Predictor:
    mine = trained()
    for name, part in parts.items():
        setattr(mine, name, part)
    return mine


class Louder(Predictor):
    """A model of one's own, with the weights of ours."""

    def forward(self, *words, **named):
        said = super().forward(*words, **named)
        return said._replace(logits=3 * said.logits)


SAME_NAME = type("Predictor", (Louder,), {"__qualname__": "Predictor"})


class Wrapper(torch.nn.Module):
    film_shape = SHAPE


def filled(number: float) -> Predictor:
    mine = trained()
    torch.nn.init.constant_(next(mine.encoder.parameters()), number)
    return mine


@pytest.mark.parametrize(
    ("model", "how", "said"),
    [
        (lambda: "models/mine", {}, r"predictor must be a model, got models/mine; give videopred\.load_run"),
        (lambda: torch.nn.Linear(2, 3), {}, "predictor must be a model, got Linear"),
        (trained, {"out": "mine.pt"}, r"--out must end in \.safetensors, got mine\.pt; rename it"),
        (trained, {"out": 3}, "--out must be a path"),
        (trained, {"learned_from": "balls4.h5"}, r"learned_from must be clips that are open.*videopred\.open_dataset"),
        (
            lambda: spoilt(decoder=torch.nn.Linear(2, 3)),
            {},
            r"predictor must have the weights of its settings, got others at decoder\..*; save what videopred\.build",
        ),
        (
            lambda: videopred.intervene(trained(), videopred.Intervention(without=(1,)), context=4),
            {},
            r"got others at core\..*; save what videopred\.build gave, with none of its parts changed",
        ),
        (lambda: spoilt(more=torch.nn.Linear(2, 3)), {}, r"got others at more\.weight, more\.bias; save what"),
        (lambda: spoilt(decoder=torch.nn.Identity()), {}, r"must have the weights of its settings, got others at dec"),
        (lambda: spoilt(more=torch.nn.Tanh()), {}, "must have the parts of its settings, got others at more; save"),
        (lambda: Louder(tiny_model(), SHAPE), {}, "must have the parts of its settings, got others at itself; save"),
        (lambda: SAME_NAME(tiny_model(), SHAPE), {}, "must have the parts of its settings, got others at itself; save"),
        (Wrapper, {}, r"predictor must be a model, got Wrapper; give what videopred\.build gave"),
        (trained, {"half": "no"}, "half must be True or False, got 'no'"),
        (lambda: filled(float("nan")), {}, r"are finite numbers, got others in encoder\.[\w.]+; train again"),
        (lambda: filled(1e5), {"half": True}, r"must have weights below 65,504 for --half, got larger ones in enc"),
    ],
)
def test_what_cannot_be_saved_is_one_clear_line_and_no_file(place, model, how, said):
    with pytest.raises((TypeError, ValueError), match=said):
        videopred.save_model(model(), **{"out": "mine.safetensors"} | how)
    assert not list(place.iterdir())


def test_a_file_that_is_there_stays_unless_it_may_go(place):
    file = videopred.save_model(trained(), "mine.safetensors")
    before = file.read_bytes()
    with pytest.raises(FileExistsError, match=r"--out must be a new path, got mine\.safetensors"):
        videopred.save_model(trained("gru"), file)
    with no_file_longer_than(1000), pytest.raises(OSError, match=r"mine\.safetensors"):
        videopred.save_model(trained("gru"), file, overwrite=True)
    assert file.read_bytes() == before
    assert [path.name for path in place.iterdir()] == [file.name]


OWN = """
import torch


class Masked(torch.nn.Module):
    rows, units = 2, 3

    def __init__(self, features):
        super().__init__()
        self.inward = torch.nn.Linear(features, 6)
        self.register_buffer("mask", torch.zeros(6), persistent=False)

    def initial_state(self, batch, *, generator=None):
        return self.inward.weight.new_zeros(batch, 6)

    def step(self, inputs, state):
        state = 0.5 * state + self.inward(inputs) + self.mask
        return state.unflatten(1, (2, 3)), state, {}
"""


@pytest.mark.parametrize(
    ("more", "odd"),
    [
        ("", ""),
        ("    def get_extra_state(self):\n        return {'steps': 3}\n", "core._extra_state"),
        ("infinite", "core.mask"),
    ],
)
def test_a_core_of_ones_own_saves_tensors_of_numbers_alone(place, monkeypatch, more, odd):
    """Its class may have been made anew since the model was built, as in a notebook."""
    name = f"masked{len(more)}"
    monkeypatch.syspath_prepend(place)
    text = OWN + more if more != "infinite" else OWN.replace("zeros(6), persistent=False", "full((6,), -torch.inf)")
    Path(f"{name}.py").write_text(text)
    mine = build(tiny_model().model_copy(update={"core": videopred.core_config(f"{name}:Masked")}), SHAPE)
    importlib.reload(sys.modules[name])
    if not odd:
        assert same_weights(mine, videopred.load_run(videopred.save_model(mine, "mine.safetensors")))
        return
    must = f"finite numbers, got others in {odd}; register a buffer, as of a mask, with persistent=False, save no extra"
    with pytest.raises(ValueError, match=re.escape(must)):
        videopred.save_model(mine, "mine.safetensors")
