"""Masks made elsewhere: held against the true ones beside the films that they are of, and what is refused of them."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tiny_runs import RECIPE

from videopred.datasets.recipe_clips import RecipeClips, open_recipe
from videopred.eval.settings import GivenConfig, Protocol
from videopred.frames import to_film
from videopred.judging.given_flags import open_given, open_masks
from videopred.judging.given_scores import evaluate_given

CONTEXT, HORIZON, CLIPS = 3, 4, 3
NAMES = ("own-fg-ari", "own-fg-ari-clip", "own-miou", "fg-ari")


@pytest.fixture(scope="module")
def file() -> RecipeClips:
    return open_recipe(RECIPE, {"train": 2, "test": CLIPS}, seed=1)


@pytest.fixture
def kept(file, tmp_path):
    """Films made elsewhere, of three samples and of one, and beside them the true masks as own ones, shifted by 2."""
    true = file.read("test", "groups", 0, CLIPS)[:, CONTEXT : CONTEXT + HORIZON].astype(np.int64) + 2
    films = to_film(file.read_frames("test", 0, CLIPS))[:, CONTEXT : CONTEXT + HORIZON].numpy()
    for name, several in {"one": (), "three": (3,)}.items():
        np.save(tmp_path / f"{name}.npy", np.broadcast_to(films, (*several, *films.shape)))
        np.save(tmp_path / f"{name}-masks.npy", np.broadcast_to(true, (*several, *true.shape)))
    return tmp_path


def score_given(file, asked: Protocol, **said: Any):
    given = GivenConfig(range=(0, 1), **said)
    predicted, truth = open_given(given, "test", file)
    return evaluate_given(predicted, truth, asked, open_masks(given, predicted), batch_size=2)


@pytest.mark.parametrize(("name", "axes", "samples"), [("one", "BTCHW", 1), ("three", "NBTCHW", 3)])
def test_masks_made_elsewhere_are_scored_beside_their_films(file, kept, name, axes, samples):
    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=NAMES, samples=samples, feedback="elsewhere")
    said = {"pred": (kept / f"{name}.npy",), "pred_masks": (kept / f"{name}-masks.npy",), "axes": axes}
    scores = score_given(file, asked, **said)
    columns = [f"{metric}{'' if samples == 1 else f' best of {samples}'}" for metric in NAMES[:3]]
    assert {scores.mean("prediction", column) for column in columns} == {1.0}
    assert f"own masks of prediction: those in {kept / f'{name}-masks.npy'}" in scores.notes
    shorter = score_given(file, asked.model_copy(update={"horizon": HORIZON - 1}), **said)
    assert {shorter.mean("prediction", column) for column in columns} == {1.0}, "of longer films the first frames count"
    wrong = np.load(kept / f"{name}-masks.npy")
    wrong[..., -1, 1] = 9
    np.save(kept / "wrong.npy", wrong)
    other = score_given(file, asked, **said | {"pred_masks": (kept / "wrong.npy",)})
    assert np.isfinite(other.mean("prediction", columns[0]))


def test_each_of_several_films_has_the_masks_in_its_place(file, kept):
    true = np.load(kept / "one-masks.npy")
    np.save(kept / "turned.npy", true[::-1])
    np.save(kept / "other.npy", np.load(kept / "one.npy"))
    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=NAMES, feedback="elsewhere")
    said = {"pred": (kept / "other.npy", kept / "one.npy"), "axes": "BTCHW"}
    scores = score_given(file, asked, **said, pred_masks=(kept / "turned.npy", kept / "one-masks.npy"))
    assert scores.mean("one", "own-miou") == 1 > scores.mean("other", "own-miou")


def test_each_sample_has_the_masks_in_its_place(file, kept):
    """Here those of the last of three are the true ones, and the best."""
    masks = np.load(kept / "three-masks.npy")
    masks[:2] = masks[:2, ::-1]
    np.save(kept / "last.npy", masks)
    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=NAMES, samples=3, feedback="elsewhere")
    scores = score_given(file, asked, pred=(kept / "three.npy",), pred_masks=(kept / "last.npy",), axes="NBTCHW")
    best, mean = (scores.mean("prediction", f"own-miou {which} of 3") for which in ("best", "mean"))
    assert best == 1 > mean


@pytest.mark.parametrize(
    ("masks", "metrics", "kind", "message"),
    [
        (
            None,
            NAMES,
            ValueError,
            "--metrics must be of films without --pred-masks, got own-fg-ari, of a model's own ma",
        ),
        (
            "one-masks.npy",
            ("mse",),
            ValueError,
            "--pred-masks must come with a metric of them, got none; name e.g. own-fg",
        ),
        ("gone.npy", NAMES, FileNotFoundError, "--pred-masks must be an existing"),
        (
            "one.npy",
            NAMES,
            TypeError,
            "--pred-masks must be whole numbers, got float32 in .*; give the number of the part",
        ),
        ("whether.npy", NAMES, TypeError, "--pred-masks must be whole numbers, got bool in .*whether.npy; give the"),
        (
            "three-masks.npy",
            NAMES,
            ValueError,
            r"--pred-masks must be \(3, 4, .*\), as the films in .*one.npy, got \(3, 3",
        ),
        (
            "below.npy",
            NAMES,
            ValueError,
            "--pred-masks must be 0, which is no part, or up to 65,535, got -1 in .*; count the parts from 1",
        ),
        (
            "colors.npy",
            NAMES,
            ValueError,
            "--pred-masks must be 0, .*, or up to 65,535, got 65536 in .*colors.npy",
        ),
        ("large.npy", NAMES, ValueError, "--pred-masks must be 0, .*, got 9223372036854775808 in .*large.npy; count"),
        ("half.h5", NAMES, ValueError, "--pred-masks must be a whole HDF5 file, got .*half.h5"),
        (
            "several.npz",
            NAMES,
            ValueError,
            "--masks-array must be given where a file holds several arrays, got n",
        ),
        ("text.txt", NAMES, ValueError, "--pred-masks must be an array of masks, got .*text.txt; give an array: .npy"),
    ],
)
def test_masks_made_elsewhere_that_cannot_be_scored_are_refused(file, kept, masks, metrics, kind, message):
    np.save(kept / "below.npy", np.load(kept / "one-masks.npy") - 3)
    (kept / "text.txt").write_text("1")
    good = np.load(kept / "one-masks.npy")
    np.save(kept / "colors.npy", np.where(good == good.max(), 2**16, good))
    np.save(kept / "large.npy", np.full_like(good, 2**63, np.uint64))
    np.save(kept / "whether.npy", good > good.min())
    np.savez(kept / "several.npz", masks=good, others=good)
    with h5py.File(kept / "half.h5", "w") as whole:
        whole["masks"] = good
    (kept / "half.h5").write_bytes((kept / "half.h5").read_bytes()[:5000])
    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=metrics, feedback="elsewhere")
    pred_masks = () if masks is None else (kept / masks,)
    with pytest.raises(kind, match=message):
        score_given(file, asked, pred=(kept / "one.npy",), axes="BTCHW", pred_masks=pred_masks)


def test_one_of_several_arrays_of_masks_is_taken_by_name(file, kept):
    masks = np.load(kept / "one-masks.npy").astype(np.uint16)
    masks[0, 0, 0, 0] = 2**16 - 1
    np.savez(kept / "both.npz", other=masks[:1], own=masks)
    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=NAMES, feedback="elsewhere")
    said = {"pred": (kept / "one.npy",), "axes": "BTCHW", "pred_masks": (kept / "both.npz",), "masks_array": "own"}
    assert score_given(file, asked, **said).mean("prediction", "own-fg-ari") == pytest.approx(1, abs=0.01)
    with pytest.raises(ValueError, match="--masks-array must go with --pred-masks, got own; leave it out"):
        GivenConfig(pred=(Path("a.npy"),), masks_array="own")


def test_masks_are_as_many_as_films():
    message = "--pred-masks must be one for each of --pred, 2, got 1; give them in the order of the films"
    with pytest.raises(ValueError, match=message):
        GivenConfig(pred=(Path("a.npy"), Path("b.npy")), pred_masks=(Path("m.npy"),))
