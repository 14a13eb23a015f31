"""Named protocols: their cards, the files they take, and each asked to its end."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import run
from mnist_folders import write_full_mnist
from tiny_runs import tiny_data

from videopred.checkpoint import DataRecord
from videopred.commands.question import Question
from videopred.datasets import DATASETS, find_recipe, open_dataset
from videopred.datasets.digits import read_digits
from videopred.datasets.generation import generate
from videopred.eval.protocols import PROTOCOLS, Card
from videopred.eval.settings import Protocol
from videopred.judging.fitting import check_card, shows_its_digits, trained_on

LEARNING = "--core gru --core.units 5 --codec.channels 2 3 --codec.embedding 7 --updates 1 --batch-size 2 --device cpu"
ASKED = [(name, preset) for name, card in PROTOCOLS.items() for preset in card.datasets]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """preset -> the file that `generate` makes of it, with as few clips as there can be."""
    folder = tmp_path_factory.mktemp("made")

    def make(preset: str, **clips: int) -> Path:
        path = folder / f"{preset}-{len(clips)}" / f"{preset}.h5"
        return path if path.exists() else generate(preset, clips, out=path)

    return make


@pytest.fixture(scope="module")
def learned(made, tmp_path_factory):
    """preset -> a run that learned from it, if hardly."""
    folder = tmp_path_factory.mktemp("runs")

    def learn(preset: str) -> Path:
        if not (folder / preset).exists():
            data = made(preset, train=3, test=4 if preset == "occlusion" else 2)
            assert run(f"train {data} {LEARNING} --out {folder / preset}") == 0
        return folder / preset

    return learn


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return open_dataset(tiny_data(tmp_path_factory.mktemp("data")))


@pytest.mark.parametrize("name", [name for name, card in PROTOCOLS.items() if card.protocol])
def test_without_a_word_a_card_asks_what_it_says(name):
    """None draws pixels unless asked to, for example."""
    file = SimpleNamespace(context=10, horizon=10, frames=20)
    assert Question(name, {}).protocol(file) == PROTOCOLS[name].protocol


@pytest.mark.parametrize(("name", "preset"), ASKED)
def test_a_protocol_takes_what_generate_makes_of_each_of_its_data_sets(made, name, preset):
    """A file says more than its preset, such as whose digits it shows."""
    file = open_dataset(made(preset, test=4 if preset == "occlusion" else 1))
    digits = f"{preset}.h5 shows the package's own digits, MNIST's test file; {name} is of the whole MNIST"
    assert check_card(name, file) == ((digits,) if "mnist" in preset or preset == "srivastava" else ())


def test_digits_of_the_whole_mnist_need_no_word(made):
    file = open_dataset(made("sm-mnist", test=1))
    for sha256, words in ((read_digits().sha256, 1), ("0" * 64, 0)):
        file.recipe = file.recipe.model_copy(update={"mnist_sha256": sha256})
        assert len(check_card("brims-smmnist", file)) == words


def test_films_of_others_are_held_against_the_size_of_frames():
    """A file that came by `import` says nothing of its law."""
    theirs = SimpleNamespace(recipe=None, path=Path("theirs.h5"), film_shape=(1, 64, 64))
    (note,) = check_card("rnem-balls", theirs)
    assert note.startswith("theirs.h5 does not say how it was made: only the size of its frames was held against rnem")
    theirs.film_shape = (1, 64, 48)
    with pytest.raises(ValueError, match=r"DATA must hold frames of 1 x 64 x 64 .* for rnem-balls, got 1 x 64 x 48"):
        check_card("rnem-balls", theirs)


@pytest.mark.parametrize(
    ("changes", "differs"),
    [({"engine": "rnem"}, ""), ({"frames": 70}, ""), ({"engine": "rnem", "frames": 70, "balls": (3,)}, "balls is")],
)
def test_a_protocol_minds_neither_the_law_of_motion_nor_longer_clips(changes, differs):
    recipe = DATASETS["balls4"].recipe.model_copy(update=changes)
    file = SimpleNamespace(recipe=recipe, path=Path("mine.h5"))
    if not differs:
        assert check_card("rnem-balls", file) == ()
        return
    with pytest.raises(ValueError, match=rf"got mine\.h5, where {differs} \(3,\) for \(4,\) \(balls4 differs least\)"):
        check_card("rnem-balls", file)


@pytest.mark.parametrize(
    ("name", "learned", "tested", "asks"),
    [
        ("crops", "crops", "crops", None),
        ("crops", "crops", "crops6", None),
        ("crops", "crops6", "crops6", "crops"),
        ("rims-transfer", "balls4", "balls678", None),
        ("rims-transfer", "balls678", "balls4", None),
        ("rims-transfer", "balls4", "curtain", None),
        ("rims-transfer", "curtain", "curtain", "balls4"),
        ("rnem-balls", "curtain", "curtain", None),
        ("rnem-balls", "balls4", "curtain", "curtain"),
    ],
)
def test_models_of_other_data_than_a_protocol_is_about_are_named(made, name, learned, tested, asks):
    """RIMs, section 4.2: trained on 4 balls and shown the curtain; appendix D.5: trained on three balls."""
    said = trained_on(
        name, open_dataset(made(tested, test=1)), {Path("mine"): DataRecord(path="gone.h5", name=learned, sha256="")}
    )
    assert said == (() if asks is None else (f"mine was trained on {learned}, where {name} asks for {asks}",))


@pytest.mark.parametrize(
    ("learned", "tested", "asks"),
    [
        ("balls4-rnem", "balls4-rnem", None),  # as experiments call it
        ("balls4-rnem", "balls4", None),
        ("balls4", "balls4-rnem", None),
        ("mine", "mine", None),
        ("curtain-rnem", "balls4-rnem", "balls4"),
    ],
)
def test_data_of_a_protocol_is_known_by_its_recipe_whatever_it_is_called(tmp_path, learned, tested, asks):
    recipe = find_recipe("balls4", engine="rnem")
    file = open_dataset(generate(tested, {"test": 1}, recipe=recipe, out=tmp_path))
    said = trained_on("rnem-balls", file, {Path("run"): DataRecord(path="gone.h5", name=learned, sha256="")})
    assert said == (() if asks is None else (f"run was trained on {learned}, where rnem-balls asks for {asks}",))


def test_data_of_the_name_but_not_of_the_recipe_is_named(tmp_path):
    recipe = find_recipe("balls4", engine="rnem")
    tested = open_dataset(generate("tested", {"test": 1}, recipe=recipe, out=tmp_path))
    two = recipe.model_copy(update={"radii": (1.2, 1.2), "masses": (1.0, 1.0)})
    path = generate("balls4", {"train": 1}, recipe=type(recipe)(**dict(two)), out=tmp_path)
    data = DataRecord(path=str(path), name="balls4", sha256="")
    (said,) = trained_on("rnem-balls", tested, {Path("run"): data})
    assert said.startswith("run was trained on balls4 with radii (1.2, 1.2) and ")
    assert said.endswith(", where rnem-balls asks for balls4")
    path.write_text("something else lies there now")
    assert trained_on("rnem-balls", tested, {Path("run"): data}) == ()


@pytest.mark.parametrize(("preset", "shown"), [("srivastava", True), ("sm-mnist", False)])
def test_digits_that_a_run_learned_from_are_told_under_any_protocol_or_none(
    made, learned, tmp_path, capfd, monkeypatch, preset, shown
):
    """The package's own are MNIST's test digits; of sm-mnist, other classes are tested than learned."""
    model = learned(preset)
    whole = generate(preset, {"train": 2, "test": 3}, mnist=write_full_mnist(tmp_path), out=tmp_path / "whole.h5")
    monkeypatch.chdir(tmp_path)
    for part in ("test", "train"):
        capfd.readouterr()
        assert run(f"evaluate {model} {whole} --metrics mse --part {part} --device cpu --json --overwrite") == 0
        notes = json.loads(capfd.readouterr().out)["notes"]
        told = (
            "model learned from digits of MNIST's test file, which whole.h5 tests with: scores on others may be worse"
        )
        assert (told in notes) == (shown and part == "test")


@pytest.mark.parametrize(
    ("learned", "tested", "part", "shown"),
    [
        ("srivastava", {"mnist_sha256": "whole"}, "test", True),  # made as they were needed
        ("srivastava", {"mnist_sha256": "whole"}, "validation", False),
        ("srivastava", {"mnist_sha256": read_digits().sha256}, "test", False),
        ("srivastava", {"mnist_sha256": "whole", "test_digits": (3,)}, "test", True),
        ("sm-mnist", {"mnist_sha256": "whole", "test_digits": (8, 9)}, "test", False),
        ("balls4", {"mnist_sha256": "whole"}, "test", False),
    ],
)
def test_digits_that_an_endless_run_learned_from_are_known_by_its_recipe(learned, tested, part, shown):
    recipe = DATASETS["srivastava"].recipe.model_copy(update=tested)
    data = DataRecord(path=learned, name=learned, sha256="")
    assert shows_its_digits(SimpleNamespace(recipe=recipe), part, data) == shown
    assert not shows_its_digits(SimpleNamespace(recipe=DATASETS["balls4"].recipe), part, data)
    assert not shows_its_digits(SimpleNamespace(recipe=recipe), part, None)


def test_of_films_that_do_not_say_how_they_were_made_no_training_is_asked():
    theirs: Any = SimpleNamespace(recipe=None, name="theirs")
    assert trained_on("rnem-balls", theirs, {Path("run"): DataRecord(path="gone.h5", name="balls4", sha256="")}) == ()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "preset"), ASKED)
def test_each_protocol_runs_to_its_end(made, learned, tmp_path, capfd, monkeypatch, name, preset):
    """Data, a run that learned from what the card says, and scores, as a reader of the paper would type them."""
    card = PROTOCOLS[name]
    pairs = card.trained_on or ((preset, preset),)
    model = learned(next(trained for trained, tested in pairs if tested == preset))
    tested = made(preset, train=3, test=4 if preset == "occlusion" else 2)
    monkeypatch.chdir(tmp_path)
    capfd.readouterr()
    if card.command == "plausibility":
        assert run(f"plausibility {model} {tested} --device cpu --json") == 0
        assert set(json.loads(capfd.readouterr().out)["errors"]) == {"mean", "max", "matched"}
        return
    protocol = card.protocol
    assert protocol is not None
    assert run(f"evaluate {model} {tested} --protocol {name} --device cpu --json") == 0
    told = json.loads(capfd.readouterr().out)
    assert told["protocol"]["name"] == name
    assert told["protocol"]["changed"] == []
    assert tuple(told["rows"]["model"]) == protocol.metrics
    for row in ("model", "blank", "mean frame", "copy last"):
        for metric in protocol.metrics:
            assert len(told["rows"][row][metric]["steps"]) == protocol.horizon
    assert not [note for note in told["notes"] if "trained on" in note]


def test_samples_are_as_many_as_a_card_says_where_pixels_are_drawn(made, learned, tmp_path, capfd, monkeypatch):
    """SVG's hundred of each clip; here three, which are said to be other than asked."""
    file = made("sm-mnist", train=3, test=2)
    monkeypatch.chdir(tmp_path)
    asked = f"evaluate {learned('sm-mnist')} {file} --protocol brims-smmnist --feedback sample --device cpu --json"
    capfd.readouterr()
    assert run(f"{asked} --samples 3 --first 1") == 0
    told = json.loads(capfd.readouterr().out)
    assert told["protocol"]["samples"] == 3
    assert set(told["protocol"]["changed"]) == {"samples", "first"}
    assert "ssim-svg best of 3" in told["rows"]["model"]


def test_of_a_model_that_draws_by_itself_it_is_said_that_the_best_of_several_is_asked_for():
    one, three = (Protocol(context=5, horizon=25, samples=samples) for samples in (1, 3))
    told = Question("svg-smmnist", {}).notes_on_samples(["a", "b"], one)
    asked = "where svg-smmnist is of the best of 100: --samples 100 judges as many"
    assert told == (f"one film of each clip was judged of a and b, {asked}",)
    assert Question("svg-smmnist", {}).notes_on_samples([], one) == ()
    assert Question("svg-smmnist", {}).notes_on_samples(["a"], three) == ()
    assert Question("rnem-balls", {}).notes_on_samples(["a"], one) == ()


def test_scores_of_a_model_that_draws_by_itself_have_that_note(made, tmp_path, capfd, monkeypatch):
    file = made("sm-mnist", train=3, test=2)
    monkeypatch.chdir(tmp_path)
    scoff = LEARNING.replace("--core gru", "--core scoff --core.files 2 --core.norm mean --core.eval-sample")
    assert run(f"train {file} {scoff} --out drawing") == 0
    capfd.readouterr()
    assert run(f"evaluate drawing {file} --protocol brims-smmnist --first 1 --device cpu --json") == 0
    notes = json.loads(capfd.readouterr().out)["notes"]
    assert [note for note in notes if note.startswith("one film of each clip was judged of drawing, where brims-smm")]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "rnem-balls",
            "DATA must be made as balls4, balls678, curtain for --protocol rnem-balls, got .*height",
        ),
        ("svg-smmnist", "for --protocol svg-smmnist, got .*, where the world is Balls; "),
    ],
)
def test_data_that_a_protocol_does_not_mean_is_refused(small, name, message):
    with pytest.raises(ValueError, match=message):
        check_card(name, small)


def committed(card: Card) -> dict[str, Any]:
    """A card as its file holds it."""
    return card.model_dump(mode="json", exclude={"protocol": {"changed", "metric_settings"}})


def test_committed_cards_are_the_protocols():
    folder = Path(__file__).parents[2] / "eval" / "protocols"
    cards = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    assert cards == {name: committed(card) for name, card in PROTOCOLS.items()}
    asked = [card.protocol for card in PROTOCOLS.values() if card.protocol]
    assert not any(one.changed or one.metric_settings for one in asked)  # which their files do not hold
