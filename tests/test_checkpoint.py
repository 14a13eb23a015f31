"""Run folders: which checkpoint is kept, that it is whole, and what is said when it is not."""

import math
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny_runs import CODEC, CORE_SIZES, HEIGHT, WIDTH, tiny_model, tiny_training

from videopred.check import FaultyFileError
from videopred.checkpoint import (
    CONFIG_KEY,
    LOOKS_KEY,
    RunConfig,
    checkpoint_file,
    load_run,
    read_run,
)
from videopred.export import export_run
from videopred.files import write_json
from videopred.models import CORES, build
from videopred.models.codec_settings import RNEMConfig
from videopred.models.settings import PredictorConfig
from videopred.weights import read_export

SHAPE = (1, HEIGHT, WIDTH)


def config_of(core: str = "gru", **changes: Any) -> RunConfig:
    return RunConfig(model=tiny_model(core, **changes), film_shape=SHAPE, training=tiny_training())


def write_run(folder: Path, config: RunConfig, seed: int = 0, name: str = "best.ckpt") -> torch.nn.Module:
    """A run folder as training leaves it, and the predictor that is in its checkpoint."""
    torch.manual_seed(seed)
    predictor = build(config.model, config.film_shape)
    weights = {f"predictor.{name}": value for name, value in predictor.state_dict().items()}
    (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    content = {"state_dict": weights, "global_step": seed, CONFIG_KEY: config.model_dump_json()}
    torch.save(content, folder / "checkpoints" / name)
    write_json(folder / "settings.json", config.model_dump(mode="json"))
    return predictor


def same_weights(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    first, second = one.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("core", CORES)
def test_a_run_is_loaded_as_it_was_saved_and_ready_to_predict(tmp_path, core):
    saved, chance = write_run(tmp_path, config_of(core)), torch.get_rng_state()
    loaded = load_run(tmp_path)
    assert torch.equal(torch.get_rng_state(), chance)
    assert same_weights(saved, loaded)
    assert not loaded.training
    assert (loaded.config, loaded.film_shape) == (tiny_model(core), SHAPE)
    assert loaded.config.core.model_dump() == CORES[core][0](**CORE_SIZES[core]).model_dump()
    assert loaded.config.codec == CODEC


def test_where_the_weights_go_is_named_as_everywhere(tmp_path):
    write_run(tmp_path, config_of())
    assert next(load_run(tmp_path, "auto").parameters()).device.type in ("cpu", "cuda")
    with pytest.raises(ValueError, match=r"^--device must be a device of this machine, which has .* of kind cuda"):
        load_run(tmp_path, "cuda:99")


def test_the_best_checkpoint_comes_before_the_last(tmp_path):
    last = write_run(tmp_path, config_of(), seed=1, name="last.ckpt")
    assert same_weights(load_run(tmp_path), last)
    best = write_run(tmp_path, config_of(), seed=2, name="best.ckpt")
    assert same_weights(load_run(tmp_path), best)
    assert checkpoint_file(tmp_path) == tmp_path / "checkpoints" / "best.ckpt"


@pytest.mark.parametrize("lowest", [0.25, math.inf])
@pytest.mark.parametrize("instead", ["nothing", "a folder"])
def test_the_last_checkpoint_does_not_stand_for_a_best_one_that_was_lost(tmp_path, lowest, instead):
    last = write_run(tmp_path, config_of(), seed=1, name="last.ckpt")
    path = tmp_path / "checkpoints" / "last.ckpt"
    torch.save(torch.load(path) | {LOOKS_KEY: {"lowest": lowest}}, path)
    if instead == "a folder":
        (tmp_path / "checkpoints" / "best.ckpt").mkdir()
    if lowest == math.inf:  # no look at the validation clips, or none that gave a number
        assert same_weights(load_run(tmp_path), last)
        return
    message = (
        r"^RUN must hold checkpoints/best\.ckpt, got .*, which lost it; put it back, or take .* --checkpoint last`$"
    )
    with pytest.raises(FaultyFileError, match=message):
        load_run(tmp_path)
    named = read_export(export_run(tmp_path, checkpoint="last"))
    assert named.record["weights"] == "last"
    assert all(torch.equal(value, named.weights[name]) for name, value in last.state_dict().items())


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:50]),
        lambda path: path.write_text("hello\n"),  # leads the unpickler to a KeyError
        lambda path: path.write_text("{}"),
        lambda path: torch.save(SimpleNamespace(evil=1), path),
    ],
)
def test_a_damaged_checkpoint_is_one_clear_line(tmp_path, damage):
    write_run(tmp_path, config_of())
    damage(tmp_path / "checkpoints" / "best.ckpt")
    message = r"best\.ckpt must be a whole checkpoint, got something else; delete it before `videopred train --re"
    with pytest.raises(ValueError, match=message) as caught:
        load_run(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [torch.zeros(3), [1, 2], {}, {"state_dict": {}}, {CONFIG_KEY: "{}"}])
def test_a_checkpoint_of_another_program_is_one_clear_line(tmp_path, content):
    write_run(tmp_path, config_of())
    torch.save(content, tmp_path / "checkpoints" / "best.ckpt")
    with pytest.raises(ValueError, match=r"^RUN must hold the settings of a run, got .*best\.ckpt; restore the file"):
        load_run(tmp_path)


@pytest.mark.parametrize("weights", [None, [1, 2], {3: torch.zeros(2)}])
def test_weights_without_names_are_one_clear_line(tmp_path, weights):
    write_run(tmp_path, config_of())
    path = tmp_path / "checkpoints" / "best.ckpt"
    torch.save(torch.load(path) | {"state_dict": weights}, path)
    with pytest.raises(FaultyFileError, match=r"^RUN must have weights by name in its checkpoint, got something else"):
        load_run(tmp_path)


def test_weights_that_are_named_twice_are_one_clear_line(tmp_path):
    write_run(tmp_path, config_of())
    path = tmp_path / "checkpoints" / "best.ckpt"
    content = torch.load(path)
    content["state_dict"] |= {name.partition(".")[2]: 0 * one for name, one in content["state_dict"].items()}
    torch.save(content, path)
    with pytest.raises(FaultyFileError, match=r"^RUN must name each weight once, got some also without predictor\. b"):
        load_run(tmp_path)


@pytest.mark.parametrize("key", ["state_dict", "global_step"])
def test_a_checkpoint_without_weights_or_updates_is_one_clear_line(tmp_path, key):
    write_run(tmp_path, config_of())
    path = tmp_path / "checkpoints" / "best.ckpt"
    content = torch.load(path)
    del content[key]
    torch.save(content, path)
    with pytest.raises(
        FaultyFileError, match=rf"best\.ckpt must hold weights and their updates, got no {key}; put back"
    ):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (config_of("rims"), "core gru, got core rims"),
        (config_of("lstm"), r"core gru, core\.units 5, got core lstm, core\.units 6"),
        (
            config_of().model_copy(update={"model": tiny_model().model_copy(update={"stack": 2})}),
            "stack 1, got stack 2",
        ),
        (config_of().model_copy(update={"film_shape": (1, WIDTH, HEIGHT)}), "frames 1×24×32, got frames 1×32×24"),
        (config_of().model_copy(update={"training": tiny_training(seed=7)}), "seed 0, got seed 7"),
        (config_of().model_copy(update={"film_shape": (3, HEIGHT, WIDTH)}), "frames 1×24×32, got frames 3×24×32"),
        (
            RunConfig(
                model=PredictorConfig(core=tiny_model().core, codec=RNEMConfig(channels=(2, 3), embedding=13)),
                film_shape=SHAPE,
                training=tiny_training(),
            ),
            r"codec\.embedding 11, got codec\.embedding 13",
        ),
    ],
)
def test_a_checkpoint_of_another_model_names_what_differs(tmp_path, other, differs):
    write_run(tmp_path / "ours", config_of())
    write_run(tmp_path / "other", other)
    shutil.copy(tmp_path / "other" / "checkpoints" / "best.ckpt", tmp_path / "ours" / "checkpoints")
    message = rf"best\.ckpt must be of the model in settings\.json, with {differs}; put back the run's own checkpoint"
    with pytest.raises(ValueError, match=message):
        load_run(tmp_path / "ours")


def test_a_model_trained_otherwise_is_the_same_model(tmp_path):
    """A checkpoint of the same model may come from another training."""
    write_run(tmp_path, config_of())
    longer = config_of().model_copy(update={"training": tiny_training(updates=77)})
    write_json(tmp_path / "settings.json", longer.model_dump(mode="json"))
    load_run(tmp_path)
    assert read_run(tmp_path)[0] == config_of()  # of the weights


def test_a_checkpoint_of_a_core_with_fewer_settings_is_one_clear_line(tmp_path):
    write_run(tmp_path / "ours", config_of("rims"))
    write_run(tmp_path / "other", config_of("gru"))
    shutil.copy(tmp_path / "other" / "checkpoints" / "best.ckpt", tmp_path / "ours" / "checkpoints")
    with pytest.raises(
        ValueError, match=r"best\.ckpt must be of the model in settings\.json, with core rims, got core g"
    ):
        load_run(tmp_path / "ours")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe{", b"[]", b'{"model": 3}'])
def test_damaged_settings_are_one_clear_line(tmp_path, content):
    write_run(tmp_path, config_of())
    (tmp_path / "settings.json").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"^RUN must hold the settings of a run, got .*settings\.json; restore"
    ) as caught:
        load_run(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_run_that_is_not_there(tmp_path):
    message = r"^RUN must be a run folder with a settings.json, got .*gone \(nothing there\); give a folder"
    with pytest.raises(FileNotFoundError, match=message):
        load_run(tmp_path / "gone")
    write_run(tmp_path, config_of())
    (tmp_path / "checkpoints" / "best.ckpt").unlink()
    lacking = r"^RUN must hold checkpoints/best\.ckpt or last\.ckpt, got .*"
    with pytest.raises(
        FileNotFoundError, match=f"{lacking} before the first of them; put checkpoints/ back, or train it"
    ):
        load_run(tmp_path)
    export = tmp_path.with_name(f"{tmp_path.name}.safetensors")
    export.touch()
    with pytest.raises(
        FileNotFoundError, match=f"{lacking}; give its export, {export}, put checkpoints/ back, or train"
    ):
        load_run(tmp_path)


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    """They predict nothing, and who draws or exports them would learn it late or never."""
    run = tmp_path / "run"
    write_run(run, config_of())
    content = torch.load(run / "checkpoints" / "best.ckpt", weights_only=True)
    name = next(iter(content["state_dict"]))
    content["state_dict"][name].view(-1)[0] = float("nan")
    torch.save(content, run / "checkpoints" / "best.ckpt")
    message = f"^RUN must have weights that are finite numbers, got others in {name.removeprefix('predictor.')} of "
    for read in (load_run, export_run):
        with pytest.raises(ValueError, match=message):
            read(run)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_weights_are_what_they_are_whatever_torch_makes_by_default(tmp_path, dtype):
    plain = write_run(tmp_path, config_of()).state_dict()
    torch.set_default_dtype(dtype)
    try:
        with torch.device("meta"):
            again = load_run(tmp_path).state_dict()
    finally:
        torch.set_default_dtype(torch.float32)
    for name, value in plain.items():
        torch.testing.assert_close(again[name], value, rtol=0, atol=0)
