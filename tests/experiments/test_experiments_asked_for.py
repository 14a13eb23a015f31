"""What the words of a command ask for: a name or data of that name, and the command that judges a run."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from videopred.datasets import DATASETS
from videopred.datasets.world_settings import DatasetSettings
from videopred.experiments import find_experiment
from videopred.experiments.asking import ask, ask_by_name


@pytest.mark.parametrize(
    ("name", "scale", "command"),
    [
        ("scoff-motion3", "paper", "evaluate R D"),
        ("rims-balls4", "paper", "evaluate R D --protocol rnem-balls"),
        ("rims-balls4", "small", "evaluate R D --context 15 --horizon 35"),
        ("rims-balls4", "tiny", "evaluate R D --context 6 --horizon 6"),
        ("brims-smmnist", "tiny", "evaluate R D --context 5 --horizon 7"),
    ],
)
def test_the_next_command_asks_what_the_protocol_asks(name, scale, command):
    assert " ".join(ask(name, scale).next_command(Path("R"), Path("D"))) == command


def test_a_file_with_other_clips_is_not_judged_as_published(tmp_path):
    """The protocol would be refused on them."""
    for scale in ("paper", "small"):
        mine = tmp_path / f"{scale}.json"
        mine.write_text(ask("rims-balls4", scale).scaled.model_dump_json())
        command = ask(str(mine), None).next_command(Path("R"), Path("D"))
        asked = ("--protocol", "rnem-balls") if scale == "paper" else ("--context", "15", "--horizon", "35")
        assert command == ("evaluate", "R", "D", *asked)


def test_what_learned_from_other_clips_is_judged_on_these(tmp_path):
    """They are of another world, of another law or shorter; protocols of the experiment would be refused on them."""

    def next_of(name: str, recipe: DatasetSettings | None, frames: int) -> str:
        clips = SimpleNamespace(recipe=recipe, frames=frames)
        return " ".join(ask(name, None).next_command(Path("R"), Path("D"), clips))

    published = find_experiment("rims-balls4").recipe
    assert next_of("rims-balls4", published, 51) == "evaluate R D --protocol rnem-balls"
    assert (
        next_of("rims-balls4", published.model_copy(update={"frames": 8}), 8) == "evaluate R D --context 4 --horizon 4"
    )
    for other in (DATASETS["motion3"].recipe, None):
        assert next_of("rims-balls4", other, 99) == "evaluate R D --context 15 --horizon 35"
        assert next_of("scoff-intphys", other, 99) == "evaluate R D"


def test_a_name_means_the_experiment_unless_data_lies_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = Path("rims-balls4")
    run.mkdir()
    (run / "settings.json").touch()
    assert ask("rims-balls4", "tiny") == ask_by_name("rims-balls4", "tiny")
    (run / "part-0.h5").touch()
    assert ask("rims-balls4", None) is None


def test_impossible_films_are_judged_by_plausibility():
    assert ask("scoff-intphys", "small").next_command(Path("R s"), Path("D")) == ("plausibility", "R s", "D")


def test_runs_from_several_seeds_are_judged_together(tmp_path):
    (tmp_path / "seeds.json").touch()
    commands = {"rims-balls4": "evaluate {} D --context 15 --horizon 35", "scoff-intphys": "plausibility {} D"}
    for name, expected in commands.items():
        assert " ".join(ask(name, "small").next_command(tmp_path, Path("D"))) == expected.format(tmp_path)
