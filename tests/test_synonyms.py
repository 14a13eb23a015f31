"""Flags that other tools have, and what they are called here."""

import pytest

from videopred import cli, synonyms
from videopred.flags.unboxing import _FLAG
from videopred.models import core_config
from videopred.settings import TrainingConfig
from videopred.synonyms import meant_flag

FLAGS = ["--updates", "--learning-rate", "--decay", "--decoder", "--device", "--core.units", "--curtain"]
FLAGS += ["--curtain-place", "--codec.channels", "--core.comm-key", "--core.no-comm"]
COMMANDS = ("generate balls4", "generate sm-mnist", "generate occlusion", "train", "train --core scoff")
COMMANDS += ("train --core transformer", "evaluate", "render", "import")


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--lr", "--learning-rate"),
        ("--n_epochs", "--updates"),
        ("--Epochs", "--updates"),
        ("--num-units", "--core.units"),
        ("--core.num_units", "--core.units"),
        ("--training.lr", "--learning-rate"),
        ("--codec.num-units", None),  # which is not of the core
        ("--gpu", "--device cuda"),
        ("--no-cuda", "--device cpu"),
        ("--codec.decoder", "--decoder"),
        ("--training.decay", "--decay"),
        ("--units", "--core.units"),
        ("--decoder.channels", "--codec.channels"),
        ("--core-comm-key", "--core.comm-key"),
        ("--curtain-size", "--curtain"),
        ("--no-core.comm", "--core.no-comm"),
        ("--no-core.units-key", None),
        ("--curtain-place-x", "--curtain-place"),
        ("--batch-size", None),  # known elsewhere, but this command has no such thing
        ("--curtains", None),
        ("--key", None),
    ],
)
def test_a_flag_is_known_by_its_name_elsewhere_its_last_part_or_its_beginning(option, meant):
    assert meant_flag(option, FLAGS) == meant


def test_a_command_is_known_by_what_others_call_it():
    assert [synonyms.meant_command(word) for word in ("Plot", "test", "predict", "frobnicate")] == [
        "render", "evaluate", "rollout", None,
    ]  # fmt: skip
    known = " ".join(synonyms._COMMANDS.values()).split()
    assert len(known) == len({*known} - {*cli.COMMANDS})


def test_a_part_is_one_to_look_at_or_clips_to_make():
    assert meant_flag("--test", ["--first", "--clips", "--part"]) == "--part"
    assert meant_flag("--test", ["--seed", "--clips"]) == "--clips"


@pytest.mark.parametrize(
    ("make", "meant"),
    [
        (lambda: core_config("rims", topk=3), "--core.active"),
        (lambda: core_config("rims", num_blocks=5), "--core.modules"),
        (lambda: core_config("gru", Hidden_size=7), "--core.units"),
        (lambda: TrainingConfig(epochs=3), "--updates"),
    ],
)
def test_settings_are_known_by_their_names_elsewhere_too(make, meant):
    with pytest.raises(ValueError, match=rf"must be a known setting, got \d; did you mean {meant}\?"):
        make()


def test_what_other_names_stand_for_is_a_flag_of_some_command(capsys):
    found = set()
    for words in COMMANDS:
        with pytest.raises(SystemExit):
            cli.run([*words.split(), "--help"])
        found.update(_FLAG.findall(capsys.readouterr().out))
    assert {here.partition(" ")[0] for here in synonyms._ELSEWHERE} <= found
