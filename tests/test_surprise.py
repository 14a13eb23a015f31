"""Surprise: by hand, blind to what a model sees later, and sound: who has no memory cannot tell what is impossible."""

import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import xlogy
from torch import Tensor, nn

import videopred
from videopred.datasets import open_dataset
from videopred.datasets.generation import generate
from videopred.datasets.intphys_export import export_intphys
from videopred.datasets.quadruplets import Quadruplets, open_quadruplets
from videopred.datasets.settings import OcclusionConfig
from videopred.eval.mates import mates
from videopred.eval.plausibility_settings import PlausibilityConfig, asked_alike
from videopred.models.predictor import Prediction
from videopred.surprise import SURPRISES, Scorer, judge_scorer, open_scenes, plausibility, score_file, scorer_of

FRAMES, HEIGHT, WIDTH, SCENES = 53, 40, 56, 54


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """One scene of each of the 54 conditions."""
    recipe = OcclusionConfig(frames=FRAMES, height=HEIGHT, width=WIDTH)
    folder = tmp_path_factory.mktemp("films")
    return generate("occlusion", {"train": 3, "test": 4 * SCENES}, recipe=recipe, out=folder / "films.h5", seed=3)


@pytest.fixture(scope="module")
def few(tmp_path_factory) -> Path:
    """Scenes as a file and, in folder and unlabelled beside it, as folders."""
    folder = tmp_path_factory.mktemp("few")
    recipe = OcclusionConfig(frames=30, height=HEIGHT, width=WIDTH)
    data = generate("occlusion", {"test": 4 * 5}, recipe=recipe, out=folder / "films.h5", seed=3)
    export_intphys(open_dataset(data), folder / "folder")
    export_intphys(open_dataset(data), folder / "unlabelled", unlabelled=True)
    return data


@pytest.fixture(scope="module")
def films(data) -> Quadruplets:
    return open_quadruplets(data)


class Repeating(nn.Module):
    """A predictor that expects what it sees, and counts; it has as little memory as a predictor can."""

    film_shape = (3, HEIGHT, WIDTH)

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(4.0))
        self.seen: list[tuple[bool, int, int]] = []

    def forward(self, film: Tensor, state: Any = None, *, trace: bool = False) -> Prediction:
        self.seen.append((self.training, *film.shape[:2]))
        return Prediction((film - 0.5) * self.gain, state, {})


# --- sound ---------------------------------------------------------------------------------------------------


def hashed(film: Tensor) -> Tensor:
    """A scorer of single frames: wild, and a function of each frame alone."""
    return torch.sin(1e6 * film[:, 1:].double().mean((2, 3, 4))) * 1e3


def lit(film: Tensor) -> Tensor:
    """Pixels above one half: how much of objects is seen."""
    return (film[:, 1:] > 0.5).sum((2, 3, 4), dtype=torch.float64)


def constant(film: Tensor) -> Tensor:
    return torch.full((len(film), film.shape[1] - 1), 0.1, dtype=torch.float64)


@pytest.mark.parametrize("score", [hashed, lit, constant])
def test_a_scorer_of_single_frames_is_wrong_exactly_half_of_the_time(films, score: Scorer):
    """In every condition, occluded or visible: possible and impossible films show the same frames."""
    found = judge_scorer(score, films, PlausibilityConfig(aggregates=("mean", "matched"), burn_in=4))
    for rows in found.errors.values():
        assert {row.relative.value for row in rows} == {0.5}
        assert {row.strict for row in rows} == {0}
        assert all(row.ties == row.scenes for row in rows)


def test_a_scorer_of_ones_own_has_surprise_of_its_own(films):
    scores = judge_scorer(constant, films, PlausibilityConfig(surprise="mse"))
    assert scores.settings["surprise"] == "own"
    assert "surprise own, burn-in 1" in scores.title


@pytest.mark.parametrize("aggregates", [("mean",), ("max", "mean")])
def test_a_table_says_that_max_is_not_sound_where_it_is_shown(films, aggregates):
    table = judge_scorer(hashed, films, PlausibilityConfig(aggregates=aggregates)).table()
    assert ("max is low also for who counts bright pixels" in table) == ("max" in aggregates)


def test_films_that_are_no_scenes_are_told_how_to_be_opened():
    fix = r"open them with videopred\.surprise\.open_scenes\(DATA, config, \(height, width\)\)$"
    with pytest.raises(TypeError, match=rf"^films must be scenes of four, got 'films\.h5'; {fix}"):
        judge_scorer(constant, "films.h5", PlausibilityConfig())


def test_a_scorer_may_give_bfloat16(films):
    found = judge_scorer(lambda film: hashed(film).bfloat16(), films, PlausibilityConfig(aggregates=("mean",)))
    same = judge_scorer(lambda film: hashed(film).bfloat16().double(), films, PlausibilityConfig(aggregates=("mean",)))
    assert found.errors == same.errors


def test_max_tells_by_single_frames_what_it_should_not(films):
    """Why max is not to be trusted: an object that is missing in one run shows in both impossible films."""
    found = judge_scorer(lit, films, PlausibilityConfig(aggregates=("max",)))
    errors = {row.where["block"]: row for row in found.errors["max"] if set(row.where) == {"block"}}
    assert errors["O1"].relative.value < 0.2


@pytest.mark.slow
def test_a_predictor_that_remembers_one_frame_cannot_tell_what_is_hidden(films):
    """Windows of two frames are shared as well where the trick is hidden; in view it shows."""
    scorer = scorer_of(Repeating(), PlausibilityConfig(surprise="mse"))
    exact = judge_scorer(lambda film: scorer(film.double()), films, PlausibilityConfig(aggregates=("mean", "matched")))
    for rows in exact.errors.values():
        told = {row.where["occlusion"]: row for row in rows if set(row.where) == {"occlusion"}}
        assert told["occluded"].relative.value == 0.5
        assert told["visible"].relative.value < 0.2


def test_an_oracle_makes_no_error(films):
    def knows(film: Tensor) -> Tensor:
        """Finds each film among those that it knows, and is surprised by all frames of impossible ones."""
        labels = [known[frames.numpy().tobytes()] for frames in (film * 255).round().to(torch.uint8)]
        return (1 - torch.tensor(labels, dtype=torch.float64))[:, None].expand(-1, FRAMES - 1)

    known = {}
    for scene in range(SCENES):
        for film, possible in zip(films.read(scene), films.possible[scene], strict=True):
            known[np.ascontiguousarray(film.transpose(0, 3, 1, 2)).tobytes()] = possible
    found = judge_scorer(knows, films, PlausibilityConfig())
    for rows in found.errors.values():
        assert {row.relative.value for row in rows} == {0}
        assert {row.absolute.value for row in rows} == {0}


# --- surprise ------------------------------------------------------------------------------------------------


def test_surprise_by_hand():
    chance = np.random.default_rng(0)
    logits, truth = chance.normal(size=(2, 3, 1, 4, 5)) * 3, chance.random((2, 3, 1, 4, 5)).round(1)
    p = 1 / (1 + np.exp(-logits))
    nats = -(truth * np.log(p) + (1 - truth) * np.log(1 - p))
    entropy = -(xlogy(truth, truth) + xlogy(1 - truth, 1 - truth))
    expected = {
        "bce": nats.sum((2, 3, 4)),
        "kl": (nats - entropy).sum((2, 3, 4)),
        "mse": ((p - truth) ** 2).mean((2, 3, 4)),
    }
    assert set(expected) == set(SURPRISES)
    for name, values in expected.items():
        found = SURPRISES[name](torch.from_numpy(logits).float(), torch.from_numpy(truth).float())
        assert found.dtype == torch.float64
        np.testing.assert_allclose(found, values, rtol=1e-5)


@pytest.mark.parametrize("name", SURPRISES)
def test_a_small_surprise_counts_beside_a_large_one(name):
    """Of three dark pixels; in float32, sums would lose digits of the second, and squares the third."""
    logits = torch.tensor([2.0**25, 101, -10]).reshape(1, 1, 1, 1, 3)
    nats = 2**25 + 101 + math.log1p(math.exp(-10))
    expected = {"bce": nats, "kl": nats, "mse": (1 + 1 + (1 + math.exp(10)) ** -2) / 3}[name]
    assert SURPRISES[name](logits, torch.zeros_like(logits)).item() == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("name", SURPRISES)
def test_black_and_white_frames_may_be_surely_foretold(name):
    truth = torch.tensor([0.0, 1, 1, 0, 0, 1]).reshape(1, 1, 1, 2, 3)
    right, wrong = (SURPRISES[name]((truth * 2 - 1) * sure, truth) for sure in (200, -200))
    assert right == 0
    assert wrong == {"bce": 1200, "kl": 1200, "mse": 1}[name]


def test_each_frame_is_foretold_from_those_before_it(films):
    """Of a model: its prediction after frame t, held against frame t + 1, in evaluation mode, left as it was."""
    predictor = Repeating().train()
    found = judge_scorer(
        scorer_of(predictor, PlausibilityConfig(surprise="mse")), films, PlausibilityConfig(surprise="mse", burn_in=3)
    )
    assert predictor.training
    assert predictor.seen == [(False, 16, FRAMES - 1)] * 13 + [(False, 8, FRAMES - 1)]
    film = films.read(9)[2] / 255
    p = 1 / (1 + np.exp(-(film[:-1] - 0.5) * 4))
    np.testing.assert_allclose(found.surprise[9, 2], ((p - film[1:]) ** 2).mean((1, 2, 3))[2:], rtol=1e-5)


def test_scenes_at_once_change_nothing(films):
    one, seven = (judge_scorer(hashed, films, PlausibilityConfig(scenes_at_once=count)) for count in (1, 7))
    np.testing.assert_array_equal(one.surprise, seven.surprise)
    assert one.errors == seven.errors
    assert one.settings["pixels"] == seven.settings["pixels"]


def test_a_folder_gives_what_its_file_gives(few):
    folder = few.parent / "folder"
    theirs = plausibility(Repeating(), folder, PlausibilityConfig(every=1, resamples=40))
    ours = plausibility(Repeating(), few, PlausibilityConfig(resamples=40))
    order = np.argsort(ours.scenes.conditions["block"], kind="stable")
    np.testing.assert_array_equal(theirs.surprise, ours.surprise[order])
    np.testing.assert_array_equal(theirs.differs, ours.differs[order])
    key = {name: [(row.where, row.relative.value) for row in rows] for name, rows in ours.errors.items()}
    assert {name: [(row.where, row.relative.value) for row in rows] for name, rows in theirs.errors.items()} == key
    usual = plausibility(Repeating(), folder)
    assert usual.surprise.shape == (5, 4, 14)
    assert (usual.settings["part"], usual.settings["every"]) == ("dev", 2), "what was done where nothing was said"


def test_without_labels_there_are_scores_but_no_errors(few):
    folder = few.parent / "unlabelled"
    found = plausibility(Repeating(), folder, PlausibilityConfig(every=1))
    assert found.errors == {"mean": [], "max": [], "matched": []}
    assert "no labels say which films are possible" in found.table()
    known = plausibility(Repeating(), few, PlausibilityConfig(resamples=40))
    order = np.argsort(known.scenes.conditions["block"], kind="stable")
    np.testing.assert_array_equal(found.plausible["mean"].films, known.plausible["mean"].films[order])
    ours, theirs = (dict(line.split() for line in scores.answers().splitlines()) for scores in (known, found))
    assert ours.keys() == theirs.keys()
    assert all(abs(float(ours[name]) - float(theirs[name])) < 1e-14 for name in ours), "but for mended ties"


def test_labels_are_heard_where_films_are_judged():
    """All four part at frame 2; after it films 0 and 2 are the same again, and films 1 and 3."""
    shown = np.zeros((4, 5, 2, 3, 1), np.uint8)
    shown[:, 2] = np.arange(4)[:, None, None, None]
    shown[[1, 3], 3:] = 9
    names = [[f"scene/{film}" for film in range(4)]]
    possible = np.array([[True, True, False, False]])
    films = Quadruplets(Path("here"), "test", names, names, possible, {}, None, 1, 5, lambda scene: shown)
    asked = PlausibilityConfig(aggregates=("mean",), resamples=40)
    found = judge_scorer(lambda film: torch.zeros(4, 4, dtype=torch.float64), films, asked)
    np.testing.assert_array_equal(found.differs[0], [[False, True, False, False]] * 4)


def test_films_that_never_differ_begin_alike_longest():
    """As where what changes is too small to be drawn: frame 7 of 7, so to speak, and 2 for all others."""
    different = np.zeros((4, 4, 7), bool)
    different[..., 2:] = True
    different[0, 1] = different[1, 0] = False
    assert mates(different, None) == [1, 0, 3, 2]


@pytest.mark.parametrize(
    ("other", "place", "alike"),
    [
        ("pixels", "here", False),
        ("size", "here", True),
        ("size", "there", False),
        ("nothing", "there", True),
    ],
)
def test_scores_of_other_films_of_the_same_names_are_told_by_their_pixels(other, place, alike):
    """Where both were shown at one size: each model is shown a folder's pictures at its own. Else by the folder."""
    names, possible = [[f"scene/{film}" for film in range(4)]], np.array([[True, True, False, False]])
    settings = []
    for changed in (False, True):
        shown = np.zeros((4, 5, 2, 4 if changed and other == "size" else 3, 1), np.uint8)
        shown[:, 2] = np.arange(4)[:, None, None, None] + (7 if changed and other == "pixels" else 1)
        path = Path(place if changed else "here")
        films = Quadruplets(path, "test", names, names, possible, {}, None, 1, 5, lambda scene, now=shown: now)
        asked = PlausibilityConfig(aggregates=("mean",), resamples=40)
        settings.append(judge_scorer(lambda film: torch.zeros(4, 4, dtype=torch.float64), films, asked).settings)
    assert asked_alike(*settings) == asked_alike(*settings[::-1]) == alike
    assert asked_alike(settings[0], settings[0])


# --- what is kept, and what is refused -----------------------------------------------------------------------


def test_saved_scores_are_scored_again_alike(data, films, tmp_path):
    found = judge_scorer(hashed, films, PlausibilityConfig(resamples=50), asked={"run": "x"})
    paths = found.save(str(tmp_path / "here"), answers=str(tmp_path / "answer.txt"))  # which may be text
    assert [path.name for path in paths] == [
        "plausibility.json", "plausibility.csv", "films.csv", "answer.txt", "surprise.npz"
    ]  # fmt: skip
    again = score_file(tmp_path / "here/films.csv", data, PlausibilityConfig(resamples=50))
    assert again.errors == found.errors
    assert again.settings["scores"] == str(tmp_path / "here/films.csv")
    answered = score_file(tmp_path / "answer.txt", data, PlausibilityConfig(resamples=50))
    assert answered.errors["given"] == found.errors["mean"]
    with np.load(tmp_path / "here/surprise.npz") as kept:
        np.testing.assert_array_equal(kept["surprise"], found.surprise)
        np.testing.assert_array_equal(kept["differs"], found.differs)
        assert kept["films"].tolist() == [list(names) for names in films.names]
    table = (tmp_path / "here/films.csv").read_text().splitlines()
    label = "true" if ",true," in table[3] else "false"
    table[3] = table[3].replace(f",{label},", ",false," if label == "true" else ",TRUE,")
    (tmp_path / "others.csv").write_text("\n".join(table))
    said = r"others\.csv, line 4 must say of a film whether it is possible as DATA does, got possible (true|false) for "
    with pytest.raises(ValueError, match=said):
        score_file(tmp_path / "others.csv", data)
    with pytest.raises(FileExistsError, match=r"--answers must be a new path, got .*answer.txt \(already there\)"):
        found.save(tmp_path / "there", answers=tmp_path / "answer.txt")
    assert not (tmp_path / "there").exists()


def test_what_was_drawn_of_earlier_scores_goes_with_them(data, films, tmp_path):
    asked = PlausibilityConfig(resamples=40)
    found = judge_scorer(hashed, films, asked)
    found.save(tmp_path / "here")
    for name in ("scene-1.png", "scene-12.gif", "scene-of-mine.png", "scene-2-mine.png"):
        (tmp_path / "here" / name).write_bytes(b"")
    (tmp_path / "here" / "scene-3.png").mkdir()
    (tmp_path / "here" / "scene-4.png").symlink_to(tmp_path / "gone")
    score_file(tmp_path / "here/films.csv", data, asked).save(tmp_path / "here", overwrite=True)
    left = {path.name for path in (tmp_path / "here").iterdir()}
    mine = {"scene-of-mine.png", "scene-2-mine.png", "scene-3.png"}
    assert left == {"plausibility.json", "plausibility.csv", "films.csv"} | mine


def test_saving_over_earlier_scores_leaves_what_was_written_anew(films, tmp_path):
    found = judge_scorer(hashed, films, PlausibilityConfig(resamples=40))
    together = tmp_path.with_name("together.json")
    together.write_text("{}")
    found.save(tmp_path, summaries=[together])
    assert together.exists(), "there was nothing before that it could tell of"
    (tmp_path / "scene-3.gif").write_bytes(b"")
    written = found.save(tmp_path, overwrite=True, summaries=[together])
    assert not together.exists()
    assert sorted(tmp_path.iterdir()) == sorted(written)
    assert tmp_path / "surprise.npz" in written


def test_films_may_be_scored_by_their_folders_and_named_by_a_file(few, tmp_path):
    """As IntPhys does both: a film in dev/O1/01/3 may be scored as O1/01/3, and dev_ids.txt gives its full name."""
    shutil.copytree(few.parent / "folder", tmp_path / "folder")
    (tmp_path / "folder" / "dev_ids.txt").rename(tmp_path / "ids.txt")
    ids = re.sub(r"_\w+/", "_of_ours/", (tmp_path / "ids.txt").read_text())
    (tmp_path / "ids.txt").write_text(ids)
    films = open_quadruplets(tmp_path / "folder", every=1)
    numbered = [(name, scene, film) for scene, of in enumerate(films.folders) for film, name in enumerate(of)]
    lines = [f"{name} {0.1 * scene + 0.01 * film}" for name, scene, film in numbered]
    (tmp_path / "answer.txt").write_text("\n".join(lines) + "\n")
    asked = PlausibilityConfig(resamples=40, film_names=str(tmp_path / "ids.txt"))  # a path may be text
    found = score_file(tmp_path / "answer.txt", tmp_path / "folder", asked)
    np.testing.assert_allclose(found.plausible["given"].films, 0.1 * np.arange(5)[:, None] + 0.01 * np.arange(4))
    assert sorted(name for of in found.scenes.names for name in of) == sorted(ids.split())


def test_intervals_are_drawn_by_the_seed(few):
    told = [
        judge_scorer(
            lit, open_quadruplets(few), PlausibilityConfig(aggregates=("max",), resamples=40, seed=seed)
        ).errors
        for seed in (0, 1, 0)
    ]
    assert told[0] == told[2] != told[1]


def test_json_and_csv_say_the_same(films):
    found = judge_scorer(lit, films, PlausibilityConfig(resamples=50), asked={"run": "x"})
    told, (heads, *lines) = found.to_dict(), [line.split(",") for line in found.to_csv().splitlines()]
    assert heads[:6] == ["aggregate", "block", "occlusion", "movement", "objects", "scenes"]
    rows = [(name, row) for name, of in told["errors"].items() for row in of]
    assert len(rows) == len(lines) == 3 * (1 + 3 + 2 + 3 + 3 + 6 + 9 + 9)
    for (name, row), line in zip(rows, lines, strict=True):
        assert line[0] == name
        assert line[1:5] == [row["where"].get(head, "") for head in heads[1:5]]
        numbers = [row["scenes"], *row["relative"].values(), row["strict"], row["ties"], *row["absolute"].values()]
        assert [float(cell) for cell in line[5:]] == numbers
    assert told["settings"]["run"] == "x"
    assert told["scenes"][5]["films"] == list(films.names[5])
    assert told["scenes"][5]["plausibility"]["max"] == found.plausible["max"].films[5].tolist()
    table = found.table()
    assert all(words in table for words in ("O2 occluded", "dynamic-2", "1 object ", "3 objects", "matched"))
    of_aggregates = table.split("\n\n")[1:-1]
    heads = ["scenes", "relative", "from", "to", "strict", "ties", "absolute", "from", "to"]
    assert [block.split("\n")[0].split() for block in of_aggregates] == [[name, *heads] for name in told["errors"]]
    shown = 1 + 3 + 2 + 3 + 3 + 6  # of pairs of conditions, block and occlusion alone
    assert [len(block.splitlines()) for block in of_aggregates] == [1 + shown] * 3


def test_the_function_is_public(data):
    found = videopred.plausibility(Repeating(), data, PlausibilityConfig(aggregates=("max",), resamples=40))
    assert list(found.errors) == ["max"]


def test_what_is_refused(data, films):
    class Small(Repeating):
        film_shape = (3, 24, 32)

    message = r"films.h5 must hold frames of 3 x 24 x 32 \(channels x height x width\), .* built for, got 3 x 40 x 56"
    with pytest.raises(ValueError, match=message):
        plausibility(Small(), data)
    with pytest.raises(ValueError, match="--burn-in must be below 53, the frames of a film as it is shown, got 53"):
        judge_scorer(lit, films, PlausibilityConfig(burn_in=53))
    with pytest.raises(ValueError, match=r"surprise must be \(films, frames - 1\), \(16, 52\), got \(16, 51\)"):
        judge_scorer(lambda film: lit(film)[:, 1:], films, PlausibilityConfig())
    with pytest.raises(TypeError, match=r"^surprise must be a tensor, got ndarray; make it one with torch.from_numpy"):
        judge_scorer(lambda film: lit(film).numpy(), films, PlausibilityConfig())
    with pytest.raises(TypeError, match=r"^surprise must be of real numbers, got torch\.complex[0-9]+; take"):
        judge_scorer(lambda film: lit(film) + 0j, films, PlausibilityConfig())
    for size in ((3, 40, 56), (40.0, 56), 40):
        with pytest.raises(
            TypeError, match=r"^size must be \(height, width\), two whole numbers, got .*; give e\.g\. "
        ):
            open_scenes(data, PlausibilityConfig(), size)
    with pytest.raises(TypeError, match=r"^run must be a run folder or a predictor, got 5; give its folder, or what"):
        plausibility(5, data)
    for call in (
        lambda: judge_scorer(lit, films, "no"),
        lambda: score_file("films.csv", data, "no"),
        lambda: open_scenes(data, "no"),
    ):
        with pytest.raises(TypeError, match=r"^config must be a PlausibilityConfig, got 'no', of class str; make it"):
            call()
    calls = []
    with pytest.raises(
        ValueError, match=r"^DATA must hold films that differ .*, got none in scene 6 \(counted from 0\)"
    ):
        judge_scorer(
            lambda film: calls.append(1) or lit(film), films, PlausibilityConfig(burn_in=52, scenes_at_once=20)
        )
    assert not calls
    for wrong in (torch.nan, torch.inf):
        with pytest.raises(ValueError, match="surprise must be finite, got NaN or infinity; look at the model's weigh"):
            judge_scorer(lambda film, wrong=wrong: constant(film) * wrong, films, PlausibilityConfig())
