"""Runs of cores from elsewhere: loaded, resumed, begun from, exported, drawn and told by what the class can set."""

import re
import shutil
import sys

import pytest
from command_line import run
from own_cores import MINE
from tiny_runs import tiny_data, tiny_training

from videopred.checkpoint import load_run
from videopred.experiments import read_experiment
from videopred.models.codec_settings import RNEMConfig
from videopred.models.settings import OwnConfig, PredictorConfig
from videopred.training.run import resume, train


def test_a_run_is_loaded_again_and_says_so_when_the_module_is_gone(place, capsys):
    (place / "fleeting.py").write_text(MINE)
    data = tiny_data(place)
    learning = "--codec.channels 2 3 --updates 2 --batch-size 4 --validate-every 1 --device cpu --out run"
    assert run(f"train {data} --core fleeting:Leaky --core.units 7 {learning}") == 0
    before = load_run(place / "run")
    assert before.config.core == OwnConfig(source="fleeting:Leaky", settings={"units": 7})
    assert run(f"evaluate run {data} --metrics bce") == 0
    (place / "fleeting.py").unlink()
    del sys.modules["fleeting"]
    capsys.readouterr()
    assert run(f"evaluate run {data} --metrics bce --overwrite") == 2
    message = "core fleeting:Leaky must be importable, got ModuleNotFoundError: No module named 'fleeting'; run "
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("had", "asked"), [({"units": 7}, {}), ({}, {"units": 7})])
def test_settings_that_were_not_given_are_compared_by_their_defaults(place, had, asked):
    """As they are from Python; the command line gives all."""
    (place / "partly.py").write_text(MINE)
    data, training = tiny_data(place), tiny_training(updates=1)

    def model(settings: dict[str, int]) -> PredictorConfig:
        core = OwnConfig(source="partly:Leaky", settings=settings)
        return PredictorConfig(core=core, codec=RNEMConfig(channels=(2, 3)))

    run = train(data, model(had), training, out=place / "run", device="cpu")
    other = train(data, model(asked), training, out=place / "other", device="cpu")
    theirs, ours = (f"core.units {one.get('units', 64)}" for one in (had, asked))
    whole = model({"units": 64} | had)  # the same, though all is said
    train(data, whole, training, init_from=run, out=place / "same", device="cpu")
    with pytest.raises(ValueError, match=f"^--init-from must hold the same model, with {ours}, got {theirs};"):
        train(data, model(asked), training, init_from=run, out=place / "third", device="cpu")
    with pytest.raises(ValueError, match=f"^--core.units must be {theirs[11:]}, as in the run .*, got {ours[11:]};"):
        resume(run, data=data, model=model(asked), device="cpu")
    shutil.copy(other / "checkpoints" / "best.ckpt", run / "checkpoints")
    with pytest.raises(ValueError, match=f"must be of the model in settings.json, with {theirs}, got {ours};"):
        load_run(run)


def test_its_seeds_are_called_after_its_class(place, capsys):
    (place / "sown.py").write_text(MINE)
    data = tiny_data(place)
    learning = "--codec.channels 2 3 --updates 1 --batch-size 4 --device cpu --seeds 0,1 --out sown"
    assert run(f"train {data} --core sown:Leaky --core.units 7 {learning}") == 0
    assert run(f"evaluate sown {data} --metrics bce") == 0
    assert "\nleaky, 2 seeds (seed-0, seed-1) " in capsys.readouterr().out


def test_its_card_says_what_must_be_importable(place):
    (place / "carded.py").write_text(MINE)
    data = tiny_data(place)
    learning = "--codec.channels 2 3 --updates 2 --batch-size 4 --validate-every 1 --device cpu --out models/mine"
    assert run(f"train {data} --core carded:Leaky --core.units 7 {learning}") == 0
    assert run(f"evaluate models/mine {data} --context 3 --horizon 4") == 0
    assert run("export models/mine --card") == 0
    card = (place / "models" / "mine.md").read_text()
    assert "holds this export, where Python can import the core `carded:Leaky`:" in card
    assert "| core | `carded:Leaky`, units 7 |" in card


VARIANT = """
from videopred.models.rims import RIMs
from videopred.models.settings import RIMsConfig


class Ring(RIMs):
    settings = RIMsConfig
"""


def test_a_variant_of_ours_reads_strips_as_ours_does_and_is_told_by_its_own_settings(place, capsys):
    (place / "variants.py").write_text(VARIANT)
    data = tiny_data(place)
    learning = "--codec.channels 2 3 --updates 1 --batch-size 4 --device cpu"
    core = "--core variants:Ring --core.modules 3 --core.active 2 --core.units 4 --core.reads strips"
    assert run(f"train {data} {core} {learning} --out run") == 0
    assert run(f"render run {data} --figure strips --first 1 --context 3 --horizon 4 --out strips.svg") == 0
    capsys.readouterr()
    assert run(f"train {data} --init-from run --core.active 3 {learning} --out other") == 2
    assert "core.active 3, got core.active 2;" in capsys.readouterr().err
    assert run(f"train {data} --core rims {learning} --init-from run --out other") == 2
    assert "with core rims, got core variants:Ring;" in capsys.readouterr().err


def test_weights_that_no_longer_fit_the_module_are_one_clear_line(place, capsys):
    """And the run that is resumed stays as it was."""
    (place / "changing.py").write_text(MINE)
    data = tiny_data(place)
    learning = "--codec.channels 2 3 --updates 2 --batch-size 4 --validate-every 1 --device cpu"
    assert run(f"train {data} --core changing:Leaky --core.units 7 {learning} --time-limit 0s --out run") == 130
    record = (place / "run" / "run.json").read_text()
    (place / "changing.py").write_text(MINE.replace("settings.units)", "settings.units, bias=False)"))
    del sys.modules["changing"]
    capsys.readouterr()
    for words in ("--resume run", f"{data} --init-from run {learning} --out new"):
        assert run(f"train {words}") == 1
        err = capsys.readouterr().err
        assert re.fullmatch(r"videopred: weights of .* must fit the model in its settings, .*bias.* own, was .*\n", err)
    assert (place / "run" / "run.json").read_text() == record
    assert not (place / "new").exists()


def test_a_run_is_gone_on_with_and_begun_from_by_its_own_settings(place):
    """Which need not be typed again."""
    (place / "lasting.py").write_text(MINE)
    data = tiny_data(place)
    model = "--core lasting:Leaky --core.units 7 --codec.channels 2 3"
    learning = "--updates 2 --batch-size 4 --validate-every 1 --device cpu"
    assert run(f"train {data} {model} {learning} --time-limit 0s --out run") == 130
    assert run("train --resume run --time-limit 1h --device cpu") == 0
    assert run(f"train {data} --init-from run {learning} --out next") == 0
    assert load_run(place / "next").config == load_run(place / "run").config
    assert load_run(place / "run").config.core == OwnConfig(source="lasting:Leaky", settings={"units": 7})


def test_it_takes_the_place_of_an_experiments_core_with_what_a_scale_sets_for_most(place):
    (place / "swapped.py").write_text(MINE)
    words = "train scoff-balls4 --core swapped:Leaky --core.units 7"
    for scale, step in (("paper", 1e-4), ("small", 3e-3)):
        assert run(f"{words} --scale {scale} --write {scale}.json") == 0
        written = read_experiment(place / f"{scale}.json")
        assert written.model.core == OwnConfig(source="swapped:Leaky", settings={"units": 7})
        assert (written.model.decoder.kind, written.training.learning_rate) == ("shared", step)
