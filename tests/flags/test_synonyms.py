"""Flags that other tools have, and what they are called here."""

import pytest

from videopred import cli
from videopred.flags import synonyms
from videopred.flags.synonyms import meant_flag
from videopred.flags.unboxing import _FLAG

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
        ("--gpu", "--device cuda"),
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


def test_what_other_names_stand_for_is_a_flag_of_some_command(capsys):
    found = set()
    for words in COMMANDS:
        with pytest.raises(SystemExit):
            cli.run([*words.split(), "--help"])
        found.update(_FLAG.findall(capsys.readouterr().out))
    assert {here.partition(" ")[0] for here in synonyms._ELSEWHERE} <= found
