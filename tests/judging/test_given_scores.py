"""Scores of films made elsewhere: those of the same films by a function, and a line for whatever does not fit."""

import json
import re

import h5py
import imageio.v3 as iio
import numpy as np
import pytest
import torch
from given_arrays import HARD, SOFT, given, open_one, score_one

from videopred.datasets import open_dataset
from videopred.eval.settings import Protocol
from videopred.judging.evaluating import judge
from videopred.judging.given_films import GivenFilms, GivenTruth


def test_predictions_are_scored_as_a_models_would_be(tmp_path):
    """The same films by way of a file and of a function: the same scores to the last bit, in batches of any size."""
    np.save(tmp_path / "t.npy", HARD)
    np.save(tmp_path / "p.npy", SOFT[:, 1:])
    words = {"range": (0, 1), "axes": "BTCHW"}
    predicted, truth = open_one("test", pred=tmp_path / "p.npy", true=tmp_path / "t.npy", **words)
    asked = Protocol(context=1, horizon=3, metrics=("bce", "mse", "f1"), feedback="elsewhere")
    scores = [score_one(predicted, truth, asked, batch_size=size) for size in (1, 2, 5)]
    films = iter([torch.from_numpy(SOFT[:, 1:])])
    by_function = judge(lambda *_: next(films), truth, asked, batch_size=5)
    for one in scores:
        assert tuple(one.values) == ("prediction", "blank", "copy last")
        for name, values in by_function.values["model"].items():
            np.testing.assert_array_equal(one.values["prediction"][name], values)


def test_without_context_only_blank_stands_beside(tmp_path):
    np.save(tmp_path / "t.npy", HARD.astype(bool))
    truth = GivenTruth(GivenFilms("--true", tmp_path / "t.npy", axes="BTCHW"))
    np.save(tmp_path / "p.npy", SOFT)
    predicted = given(tmp_path / "p.npy", value_range=(0, 1), axes="BTCHW")
    scores = score_one(predicted, truth, Protocol(context=0, horizon=4, metrics=("mse",), feedback="elsewhere"))
    assert tuple(scores.values) == ("prediction", "blank")
    expected = ((SOFT - HARD) ** 2).mean(axis=(0, 2, 3, 4))
    np.testing.assert_allclose(scores.values["prediction"]["mse"], expected)
    assert (scores.reference, scores.protocol.clips) == (None, 3)
    assert scores.skill("prediction", "mse") is None


def test_a_reference_without_context_is_refused(tmp_path):
    """The rows that learn from it start from a frame."""
    np.save(tmp_path / "t.npy", HARD.astype(bool))
    truth = GivenTruth(GivenFilms("--true", tmp_path / "t.npy", axes="BTCHW"))
    asked = Protocol(context=0, horizon=4, metrics=("mse",), feedback="elsewhere")
    with pytest.raises(ValueError, match=r"^--reference must come with a --context of at least 1, got 0; give one, or"):
        score_one(truth.given, truth, asked, reference=truth)


def test_true_films_keep_their_exact_numbers(tmp_path):
    """Who asks for frames gets 256 levels, as of any data; scores see none of that."""
    np.save(tmp_path / "t.npy", SOFT)
    films = GivenFilms("--true", tmp_path / "t.npy", value_range=(0, 1), axes="BTCHW")
    truth = GivenTruth(films)
    asked = Protocol(context=0, horizon=4, metrics=("mae",), feedback="elsewhere")
    assert score_one(films, truth, asked).values["prediction"]["mae"].tolist() == [0] * 4
    levels = truth.read_frames("test", 1, 3)
    np.testing.assert_array_equal(levels, np.round(SOFT[1:] * 255).transpose(0, 1, 3, 4, 2))
    assert levels.dtype == np.uint8


def test_predictions_shorter_than_a_named_protocol_are_not_told_to_change_it(tmp_path):
    """--horizon is refused beside --protocol."""
    np.save(tmp_path / "t.npy", HARD.astype(bool))
    np.save(tmp_path / "p.npy", SOFT[:, :3])
    truth = GivenTruth(GivenFilms("--true", tmp_path / "t.npy", axes="BTCHW"))
    asked = Protocol(name="ours", context=0, horizon=4, feedback="elsewhere", metrics=("mse",))
    with pytest.raises(ValueError, match=r"frames of the horizon, got 3 in .*; predict as many as ours asks for"):
        score_one(given(tmp_path / "p.npy", value_range=(0, 1), axes="BTCHW"), truth, asked)


@pytest.mark.parametrize(
    ("array", "horizon", "message"),
    [
        (SOFT[:2], 4, "--pred must hold the 3 clips asked for, got 2 in .*p.npy; give --first 2 for the first"),
        (SOFT[[0, 1, 2, 0]], 4, "--pred must hold the 3 clips asked for, got 4 in .*p.npy; leave the others out"),
        (SOFT[:, :3], 4, "--pred must hold the 4 frames of the horizon, got 3 in .*p.npy; give --context 1 if so many"),
        (SOFT[:, :2], 3, "--pred must hold the 3 frames of the horizon, got 2 in .*p.npy; give a shorter --horizon"),
        (
            SOFT[..., :6],
            4,
            r"--pred must hold frames of 1 x 5 x 7 .* as the truth, got 1 x 5 x 6 .*; predict frames of",
        ),
        (SOFT.swapaxes(3, 4), 4, r"--pred must hold frames of 1 x 5 x 7 .*, got 1 x 7 x 5 .*; say with --axes which"),
    ],
)
def test_predictions_that_do_not_fit_the_truth_are_refused(tmp_path, array, horizon, message):
    np.save(tmp_path / "t.npy", HARD.astype(bool))
    np.save(tmp_path / "p.npy", array)
    truth = GivenTruth(GivenFilms("--true", tmp_path / "t.npy", axes="BTCHW"))
    predicted = given(tmp_path / "p.npy", value_range=(0, 1), axes="BTCHW")
    with pytest.raises(ValueError, match=message):
        score_one(predicted, truth, Protocol(context=0, horizon=horizon, feedback="elsewhere", metrics=("mse",)))


def test_longer_predictions_are_cut_and_that_is_said(tmp_path):
    np.save(tmp_path / "t.npy", HARD.astype(bool))
    np.save(tmp_path / "p.npy", SOFT)
    truth = GivenTruth(GivenFilms("--true", tmp_path / "t.npy", axes="BTCHW"))
    predicted = given(tmp_path / "p.npy", value_range=(0, 1), axes="BTCHW")
    asked = Protocol(context=0, horizon=2, metrics=("mse",), feedback="elsewhere")
    scores = score_one(predicted, truth, asked, notes=("one of the caller's",))
    told = f"of the 4 frames in {tmp_path / 'p.npy'}, the first 2 count"
    assert scores.notes == ("one of the caller's", told)
    expected = ((SOFT - HARD) ** 2).mean(axis=(0, 2, 3, 4))[:2]
    np.testing.assert_allclose(scores.values["prediction"]["mse"], expected)


@pytest.mark.parametrize(("frames", "context", "horizon"), [(4, 1, 3), (4, 2, 2), (2, 3, 1)])
def test_longer_predictions_that_begin_with_the_context_are_refused(tmp_path, frames, context, horizon):
    """As films of whole clips do; the last is so short that it is all context."""
    np.save(tmp_path / "t.npy", HARD)
    np.save(tmp_path / "p.npy", np.concatenate([HARD[:, :context], SOFT], axis=1)[:, :frames])
    words = {"range": (0, 1), "axes": "BTCHW"}
    predicted, truth = open_one("test", pred=tmp_path / "p.npy", true=tmp_path / "t.npy", **words)
    asked = Protocol(context=context, horizon=horizon, metrics=("mse",), feedback="elsewhere")
    message = "--pred must begin with the first predicted frame, got .*, which begins with the . true ones before it"
    with pytest.raises(ValueError, match=message):
        score_one(predicted, truth, asked)


def test_so_are_those_of_films_of_which_a_frame_comes_again_and_of_another_part(tmp_path):
    true = HARD.copy()
    true[:, 2] = true[:, 0]
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["training/features"], file["test/features"] = (
            films.transpose(1, 0, 3, 4, 2).astype(np.float32) for films in (true, 1 - true)
        )
    np.save(tmp_path / "p.npy", true)
    asked = Protocol(part="train", context=2, horizon=2, metrics=("mse",), feedback="elsewhere")
    with open_dataset(tmp_path / "t.h5") as data:
        predicted, _ = open_one("train", data, pred=tmp_path / "p.npy", range=(0, 1), axes="BTCHW")
        with pytest.raises(ValueError, match=r"^--pred must begin with the first predicted frame, got "):
            score_one(predicted, data, asked)


@pytest.mark.parametrize(("kind", "value_range"), [(np.float16, (0, 1)), (np.float32, (-1, 1)), (np.float64, (0, 1))])
@pytest.mark.parametrize("frames", [4, 2])
def test_so_are_those_as_long_as_the_horizon_and_those_that_were_rounded(tmp_path, kind, value_range, frames):
    low, high = value_range
    np.save(tmp_path / "t.npy", SOFT)
    whole = np.concatenate([SOFT[:, :2], 0.9 * SOFT[:, 2:]], axis=1)[:, :frames]
    np.save(tmp_path / "p.npy", (whole * (high - low) + low).astype(kind))
    true = GivenTruth(given(tmp_path / "t.npy", value_range=(0, 1), axes="BTCHW"))
    predicted = given(tmp_path / "p.npy", value_range=value_range, axes="BTCHW")
    with pytest.raises(ValueError, match=r"^--pred must begin with the first predicted frame, got "):
        score_one(predicted, true, Protocol(context=2, horizon=2, metrics=("mse",), feedback="elsewhere"))


@pytest.mark.parametrize(("clips", "share"), [(1, 1), (3, 254 / 255)])
def test_predictions_that_begin_with_the_context_of_one_clip_or_nearly_are_taken(tmp_path, clips, share):
    """Of one clip it may be right, and a level of 256 is more than numbers of 16 bits round."""
    pred = HARD[:, 2:].astype(float)
    pred[:clips] = share * HARD[:clips, :2]
    np.save(tmp_path / "t.npy", HARD)
    np.save(tmp_path / "p.npy", pred)
    words = {"range": (0, 1), "axes": "BTCHW"}
    predicted, truth = open_one("test", pred=tmp_path / "p.npy", true=tmp_path / "t.npy", **words)
    asked = Protocol(context=2, horizon=2, metrics=("mse",), feedback="elsewhere")
    assert score_one(predicted, truth, asked).values["prediction"]["mse"].min() > 0


@pytest.mark.parametrize("frames", [4, 2])
def test_right_predictions_of_films_that_repeat_are_taken(tmp_path, frames):
    true = np.concatenate([HARD[:, :2], HARD[:, :2]], axis=1)
    np.save(tmp_path / "t.npy", true)
    np.save(tmp_path / "p.npy", np.concatenate([true[:, 2:], SOFT], axis=1)[:, :frames])
    truth = GivenTruth(given(tmp_path / "t.npy", value_range=(0, 1), axes="BTCHW"))
    predicted = given(tmp_path / "p.npy", value_range=(0, 1), axes="BTCHW")
    scores = score_one(predicted, truth, Protocol(context=2, horizon=2, metrics=("mse",), feedback="elsewhere"))
    assert scores.mean("prediction", "mse") == 0
    told = [note.partition("; ")[2] for note in scores.notes if "of the" in note]
    following = "2 true ones follow the context, so look whether these begin where it ends"
    assert told == ([following] if frames == 4 else [])


def test_so_are_right_ones_that_are_shorter_than_the_context_that_comes_again(tmp_path):
    true = np.concatenate([HARD[:, :3], HARD[:, :2]], axis=1)
    np.save(tmp_path / "t.npy", true)
    np.save(tmp_path / "p.npy", true[:, 3:])
    said = {"pred": tmp_path / "p.npy", "true": tmp_path / "t.npy", "range": (0, 1), "axes": "BTCHW"}
    asked = Protocol(context=3, horizon=2, metrics=("mse",), feedback="elsewhere")
    assert score_one(*open_one("test", **said), asked).mean("prediction", "mse") == 0


@pytest.mark.parametrize("still", [1, 2])
def test_predictions_that_copy_what_stands_still_are_taken(tmp_path, still):
    true = np.concatenate([HARD[:, :1].repeat(2, axis=1), HARD[:, 2:]], axis=1)
    np.save(tmp_path / "t.npy", true)
    np.save(tmp_path / "p.npy", np.concatenate([true[:, :still], SOFT[:, still:2]], axis=1))
    truth = GivenTruth(given(tmp_path / "t.npy", value_range=(0, 1), axes="BTCHW"))
    predicted = given(tmp_path / "p.npy", value_range=(0, 1), axes="BTCHW")
    scores = score_one(predicted, truth, Protocol(context=2, horizon=2, metrics=("mse",), feedback="elsewhere"))
    assert scores.mean("prediction", "mse") > 0
    assert scores.notes == ()  # of whole clips without a context alone


def test_right_predictions_of_films_that_hardly_change_are_taken(tmp_path):
    true = 0.9 * SOFT[:, :1].repeat(10, axis=1) + 1e-4 * np.arange(10)[None, :, None, None, None]
    np.save(tmp_path / "t.npy", true)
    np.save(tmp_path / "p.npy", true[:, 5:])
    truth = GivenTruth(given(tmp_path / "t.npy", value_range=(0, 1), axes="BTCHW"))
    predicted = given(tmp_path / "p.npy", value_range=(0, 1), axes="BTCHW")
    scores = score_one(predicted, truth, Protocol(context=5, horizon=5, metrics=("mse",), feedback="elsewhere"))
    assert scores.mean("prediction", "mse") == 0


@pytest.mark.parametrize(("true", "told"), [(0, []), (1, ["1 frame"]), (3, ["3 frames"]), (4, [])])
def test_whole_clips_that_begin_with_true_frames_are_remarked(tmp_path, true, told):
    np.save(tmp_path / "t.npy", HARD)
    whole = np.concatenate([HARD[:, :true], SOFT[:, true:]], axis=1)
    whole[:, 3] = HARD[:, 3] if true == 1 else whole[:, 3]  # a later one that is true by chance
    np.save(tmp_path / "p.npy", whole)
    truth = GivenTruth(given(tmp_path / "t.npy", value_range=(0, 1), axes="BTCHW"))
    predicted = given(tmp_path / "p.npy", value_range=(0, 1), axes="BTCHW")
    scores = score_one(predicted, truth, Protocol(context=0, horizon=4, metrics=("mse",), feedback="elsewhere"))
    path, context = tmp_path / "p.npy", f"if they are context, say --context {true}"
    assert list(scores.notes) == [f"the first {one} of {path} equal the true ones; {context}" for one in told]
    if 0 < true < 4:  # all that are asked for
        scores = score_one(predicted, truth, Protocol(context=0, horizon=true, metrics=("mse",), feedback="elsewhere"))
        assert [note for note in scores.notes if "equal the true ones" in note] == []


def test_longer_predictions_of_a_clip_that_stands_still_are_none_that_begin_with_the_context(tmp_path):
    true, longer = HARD.copy(), np.concatenate([SOFT, SOFT[:, :1]], axis=1)
    true[0] = longer[0] = HARD[0, 0]
    np.save(tmp_path / "t.npy", true)
    np.save(tmp_path / "p.npy", longer)
    said = {"pred": tmp_path / "p.npy", "true": tmp_path / "t.npy", "range": (0, 1), "axes": "BTCHW"}
    predicted, truth = open_one("test", **said)
    scores = score_one(predicted, truth, Protocol(context=2, horizon=2, metrics=("mse",), feedback="elsewhere"))
    expected = ((longer[:, :2] - true[:, 2:]) ** 2).mean(axis=(0, 2, 3, 4))
    np.testing.assert_allclose(scores.values["prediction"]["mse"], expected)


def test_a_range_that_the_films_hardly_use_is_remarked(tmp_path):
    np.save(tmp_path / "t.npy", HARD)
    np.save(tmp_path / "p.npy", SOFT)
    asked = Protocol(context=0, horizon=4, metrics=("mse",), feedback="elsewhere")
    said = {"pred": tmp_path / "p.npy", "true": tmp_path / "t.npy", "axes": "BTCHW"}
    predicted, truth = open_one("test", **said, range=(0, 255))
    notes = score_one(predicted, truth, asked).notes
    assert [note.partition(" goes ")[0].rpartition("/")[2] for note in notes] == ["p.npy", "t.npy"]
    assert notes[1].endswith("goes from 0 to 1, of a range from 0 to 255")
    predicted, truth = open_one("test", **said, range=(0, 90), true_range=(0, 1))
    assert score_one(predicted, truth, asked).notes == ()
    predicted = given(tmp_path / "p.npy", value_range=(-1, 1), axes="BTCHW")
    assert re.search(r"goes from 0\.\d+ to \S+, of a range from -1 to 1$", predicted.remark)
    np.save(tmp_path / "p.npy", np.zeros_like(SOFT))
    assert given(tmp_path / "p.npy", value_range=(0, 1), axes="BTCHW").remark == ""


@pytest.mark.parametrize("mark", ["-", "."])
@pytest.mark.parametrize("shift", [0, 1, 9])
def test_pictures_that_are_called_as_others_are_refused(tmp_path, shift, mark):
    """Folders have no endings."""
    for folder, first in (("p", shift), ("t", 0)):
        for clip in range(first, first + 3):
            path = tmp_path / folder / f"clip{mark}{clip}"
            path.mkdir(parents=True)
            for frame in range(4):
                iio.imwrite(path / f"{frame}.png", np.full((5, 7), 9 * clip + frame, np.uint8))
    predicted, truth = open_one("test", pred=tmp_path / "p", true=tmp_path / "t")
    asked = Protocol(context=0, horizon=4, metrics=("mse",), feedback="elsewhere")
    if shift != 1:  # they have the true ones' names, or names of their own
        assert (score_one(predicted, truth, asked).mean("prediction", "mse") == 0) == (shift == 0)
        return
    message = r"--pred must have the films of --true, in their order, got clip.1 of \S+ against clip.0 of \S+; leave"
    with pytest.raises(ValueError, match=message):
        score_one(predicted, truth, asked)


def test_a_gif_without_times_is_remarked(tmp_path):
    film = HARD[0, :, 0, :, :, None].repeat(3, axis=-1) * 255
    iio.imwrite(tmp_path / "f.gif", film[[0, 1, 1, 2]], duration=0)
    told = "have no times: equal ones in a row, which writers merge, came once"
    assert given(tmp_path / "f.gif").remark == f"the frames of {tmp_path / 'f.gif'} {told}"
    iio.imwrite(tmp_path / "g.gif", film[[0, 1, 1, 2]], duration=100)
    assert given(tmp_path / "g.gif").remark == ""


@pytest.mark.parametrize(("pred", "true"), [("p.npy", "t"), ("t", "p.npy")])
def test_an_array_has_no_names_to_be_held_against_those_of_pictures(tmp_path, pred, true):
    """Its clips are counted from 0, and these may be called as if counted from 1."""
    for clip, film in enumerate(HARD, 1):
        (tmp_path / "t" / f"clip {clip}").mkdir(parents=True)
        for frame, pixels in enumerate(film[:, 0] * 255):
            iio.imwrite(tmp_path / "t" / f"clip {clip}" / f"{frame}.png", pixels)
    np.save(tmp_path / "p.npy", HARD)
    said = {"pred": tmp_path / pred, "true": tmp_path / true, "range": (0, 1), "axes": "BTCHW"}
    asked = Protocol(context=0, horizon=4, metrics=("mse",), feedback="elsewhere")
    assert score_one(*open_one("test", **said), asked).mean("prediction", "mse") == 0


def test_rollouts_of_files_with_other_clips_are_not_held_against_each_other(tmp_path):
    for name in ("p", "t"):
        made = {"data": f"{name}.h5", "part": "test", "clips": [0, 1, 2], "context": 1, "fingerprint": name}
        films = SOFT.astype(np.float32)
        np.savez(tmp_path / f"{name}.npz", prediction=films, truth=films, made=json.dumps(made))
    predicted, truth = open_one("test", pred=tmp_path / "p.npz", true=tmp_path / "t.npz")
    message = r"^--pred must be of the clips and the context of \S+t.npz, got \S+p.npz, of other clips of p.h5; give"
    with pytest.raises(ValueError, match=message):
        score_one(predicted, truth, Protocol(context=0, horizon=4, metrics=("mse",), feedback="elsewhere"))
