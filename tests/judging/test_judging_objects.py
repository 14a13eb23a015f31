"""Object metrics of whole worlds: from a data file and a film to scores."""

import re
from copy import copy
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from torch import Tensor

from videopred.datasets.clip import PARTS
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.file_layout import record_of
from videopred.datasets.recipe_clips import RecipeClips, open_recipe
from videopred.datasets.settings import BallsConfig, DatasetSettings
from videopred.eval import OBJECT_METRICS, make_metric
from videopred.eval.objects import Objects
from videopred.eval.settings import Protocol
from videopred.judging import judge
from videopred.judging.batches import Batch, Predicted, read_film
from videopred.judging.objects import _seen_in_masks, predicted_objects, true_objects
from videopred.judging.scoring import judge_rows
from videopred.judging.tally import Tally

RECIPE = BallsConfig(frames=24, height=40, width=56, balls=(2, 3))
CONTEXT, HORIZON = 6, 17
NAMES = tuple(OBJECT_METRICS)


def world(recipe: DatasetSettings = RECIPE, test: int = 5) -> RecipeClips:
    return open_recipe(recipe, {"train": 3, "validation": test, "test": test}, seed=3)


def the_truth(batch: Batch, _: int) -> Tensor:
    return batch.truth


def scores_of(recipe: DatasetSettings, names: tuple[str, ...] = NAMES, **more: int):
    protocol = Protocol(context=CONTEXT, horizon=HORIZON, metrics=names)
    return judge_rows({"model": the_truth}, world(recipe), protocol, **more)


def test_a_perfect_film_is_perfect_but_for_what_pixels_do_not_tell():
    scores = scores_of(RECIPE)
    mean = {name: scores.mean("model", name) for name in NAMES}
    assert mean["position"] < 0.12
    assert {name: mean[name] for name in ("missed", "count", "switches", "overlaps", "walls")} == dict.fromkeys(
        ("missed", "count", "switches", "overlaps", "walls"), 0.0
    )
    assert {name: mean[name] for name in ("kept", "kept-2px", "fg-ari", "fg-ari-clip", "miou")} == pytest.approx(
        dict.fromkeys(("kept", "kept-2px", "fg-ari", "fg-ari-clip", "miou"), 1.0)
    )
    assert mean["energy"] < 0.1
    assert mean["momentum"] < 0.25
    assert mean["collision-bce"] < 0.001
    assert np.isnan(mean["survival"])  # nothing hides here


def test_trivial_rows_have_their_place():
    scores = scores_of(RECIPE, ("position", "missed", "count", "kept", "energy"))
    assert scores.mean("blank", "missed") == 1.0
    assert scores.mean("blank", "count") == pytest.approx(scores.mean("mean frame", "count"), abs=1)
    assert np.isnan(scores.mean("blank", "position"))
    assert scores.mean("copy last", "count") == 0.0
    assert scores.mean("copy last", "position") > 3
    assert scores.values["copy last"]["energy"] == pytest.approx(np.ones(HORIZON), abs=1e-9)


def test_tables_show_that_of_blank_films_no_error_can_be_told():
    table = scores_of(RECIPE, ("mse", "position", "survival")).table()
    (skill,) = (block for block in table.split("\n\n") if block.startswith("skill"))
    assert [line.split()[-1] for line in skill.splitlines() if line.startswith("blank")] == ["–"]
    assert "nan" not in table


def test_batches_make_no_difference():
    whole, parts = (scores_of(RECIPE, ("mse", *NAMES), batch_size=size) for size in (5, 2))
    for row, columns in whole.values.items():
        for name, values in columns.items():
            np.testing.assert_allclose(parts.values[row][name], values, rtol=1e-9, atol=1e-12)


def test_a_curtain_hides_balls_and_the_truth_survives_it():
    recipe = BallsConfig(
        frames=40, height=48, width=56, balls=(3,), radii=(1.0,), masses=(1.0,), speed=0.9, curtain=(20, 30)
    )
    file = world(recipe, test=12)
    scores = judge_rows(
        {"model": the_truth}, file, Protocol(context=8, horizon=32, metrics=("survival", "position", "missed", "kept"))
    )
    assert scores.mean("model", "survival") > 0.9
    assert scores.mean("model", "position") < 1.0
    assert scores.mean("model", "missed") < 0.06
    assert scores.mean("model", "kept") > 0.9


@pytest.mark.parametrize("part", ["test", "validation"])
def test_objects_are_those_of_the_part_and_begin_with_the_last_observed_frame(part):
    file = world()
    film = read_film(file, part, 1, 4)[:, :10]
    batch = Batch(file, part, 1, film, given=6)
    true = true_objects(batch)
    np.testing.assert_array_equal(true.positions.numpy(), file.read(part, "positions", 1, 4)[:, 5:10])
    np.testing.assert_array_equal(true.masks.numpy(), file.read(part, "groups", 1, 4)[:, 5:10])
    np.testing.assert_array_equal(true.radius.numpy(), file.read(part, "objects/radius", 1, 4))
    predicted = predicted_objects(Predicted(1 - batch.truth), batch, true)
    assert torch.equal(predicted.film[:, 0], film[:, 5])
    assert torch.equal(predicted.film[:, 1:], 1 - film[:, 6:])


def test_what_moves_is_found_where_it_is_expected_to_be_however_fast():
    fast = BallsConfig(frames=24, height=40, width=56, balls=(1,), radii=(0.5,), masses=(1.0,), speed=1.2)
    assert scores_of(fast, ("missed",)).mean("model", "missed") == 0.0


@pytest.mark.parametrize(("seen", "covered"), [(0.95, False), (0.85, True)])
def test_something_covers_objects_of_which_less_than_nine_tenths_are_seen(seen, covered):
    """Then what shows only its left half is placed by its edge; else it is a ball that is shown smaller."""
    file = world(BallsConfig(frames=24, height=40, width=56, balls=(1,), radii=(1.5,), masses=(1.0,)))
    batch = Batch(file, "test", 0, read_film(file, "test", 0, 3)[:, :7], given=6)
    true = true_objects(batch)
    true = replace(true, visibility=torch.ones_like(true.visibility))
    true.visibility[:, 1] = seen  # which was seen whole before
    place = true.positions[:, 1, 0]
    right = torch.arange(56) + 0.5 > place[:, :1]
    film = batch.truth.masked_fill(right[:, None, None, None], 0)
    off = (predicted_objects(Predicted(film), batch, true).positions[:, 1, 0] - place).norm(dim=-1)
    assert ((off < 0.6) if covered else (off > 1)).all()


def test_where_no_velocities_are_known_what_is_lost_is_expected_to_rest():
    """It comes back after eight frames at its own place, where one that moved on would have been too far off."""
    file = world(BallsConfig(frames=24, height=40, width=56, balls=(1,), radii=(0.5,), masses=(1.0,)))
    file.truth = tuple(name for name in file.truth if name != "velocities")
    batch = Batch(file, "test", 0, read_film(file, "test", 0, 5)[:, :16], given=6)
    film = torch.zeros_like(batch.truth)
    film[:, 8:] = batch.context[:, -1:]
    true = true_objects(batch)
    found = predicted_objects(Predicted(film), batch, true).positions[:, -1]
    assert (found[:, 0] - true.positions[:, 0, 0]).norm(dim=-1).max() < 0.5
    assert found[:, 1:].isnan().all()


def without_groups(file: RecipeClips) -> RecipeClips:
    """The clips, of which nothing is known but frames, places and velocities."""
    known = copy(file)
    known.truth = ("positions", "velocities")
    return known


def as_rnems(path: Path, clips: RecipeClips, swapped: bool = False, offset: float = 0) -> ClipFile:
    """The clips as R-NEM's original files are said to have them: other types, arena units, zeros for absent balls.

    Args:
        swapped: y before x.
        offset: px added to all places.
    """
    with h5py.File(path, "w") as file:
        for part, group in PARTS.items():
            some = [clips.clip(part, index) for index in range(clips.parts.get(part, 0))]
            if not some:
                continue
            kept = {name: np.stack([record_of(clip)[name] for clip in some], 1) for name in KEPT}
            for name in ("positions", "velocities"):
                units = np.nan_to_num(kept[name] + (offset if name == "positions" else 0)) / clips.recipe.px_per_unit
                kept[name] = units[..., [1, 0]] if swapped else units
            for name, values in kept.items():
                file[f"{group}/{name}"] = values > 0 if name == "features" else values.astype(np.float32)
    return ClipFile(path)


KEPT = ("features", "groups", "collisions", "events", "positions", "velocities")


def test_rnems_own_files_are_scored_as_ours(tmp_path):
    """Whatever the types and the units, and though absent balls have places there.

    They have no radii: when a ball is missed or lost is told by its area, for copies not quite as by its radius.
    """
    names = ("position", "missed", "count", "kept", "kept-2px", "switches", "fg-ari", "miou", "collision-bce")
    protocol = Protocol(context=CONTEXT, horizon=HORIZON, metrics=names)
    theirs = as_rnems(tmp_path / "theirs.h5", world())
    scores = judge_rows({"model": the_truth}, theirs, protocol)
    ours = scores_of(RECIPE, names)
    for name in names:
        np.testing.assert_allclose(scores.values["model"][name], ours.values["model"][name], atol=1e-4)
        assert scores.mean("copy last", name) == pytest.approx(ours.mean("copy last", name), abs=0.03), name


def test_places_that_are_not_where_objects_are_are_refused(tmp_path):
    """They would be scored against nonsense."""
    theirs = as_rnems(tmp_path / "theirs.h5", world(), swapped=True)
    complaint = r"^--metrics must be a metric that .* has the truth for, got position, which needs positions that lie"
    with pytest.raises(ValueError, match=complaint):
        judge_rows({"model": the_truth}, theirs, Protocol(context=CONTEXT, horizon=HORIZON, metrics=("position",)))


@pytest.mark.parametrize(
    ("low", "high", "note"),
    [(0, 1, None), (0, 0.4, "0% of the objects' pixels and 0%"), (0.6, 1, "100% of the obj.*100%")],
)
def test_objects_that_are_not_lit_alone_are_noted(tmp_path, low, high, note):
    """Even of the true films, what tracking finds there means nothing."""
    theirs = as_rnems(tmp_path / "theirs.h5", world())
    with h5py.File(theirs.path, "a") as file:
        for part in file.values():
            lit = part["features"][:]
            del part["features"]
            part["features"] = np.where(lit, np.float32(high), np.float32(low))
    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=("position", "mse"))
    scores = judge_rows({"model": the_truth}, ClipFile(theirs.path), asked)
    assert (scores.mean("model", "position") < 0.2) == (note is None)
    assert len(scores.notes) == (note is not None)
    told = rf"{theirs.path}: {note} of the others are lit in the first 5 clips;"
    assert note is None or re.match(told, scores.notes[0])
    of_masks = asked.model_copy(update={"metrics": ("own-miou", "mse")})
    assert judge_rows({"model": the_truth}, ClipFile(theirs.path), of_masks).notes == (), "they ask nothing of tracking"


def test_one_channel_that_is_lit_is_enough():
    assert scores_of(RECIPE.model_copy(update={"colors": "palette"}), ("position",)).notes == ()


def test_places_that_seem_half_a_pixel_off_are_scored_as_they_are_and_that_is_noted(tmp_path):
    names = ("position", "mse")
    theirs = [as_rnems(tmp_path / f"{number}.h5", world(), offset=-0.5 * number) for number in range(2)]
    sound, odd = (
        judge_rows({"model": the_truth}, file, Protocol(context=CONTEXT, horizon=HORIZON, metrics=names))
        for file in theirs
    )
    assert sound.notes == ()
    assert [note.partition(", as if")[0] for note in odd.notes] == [
        f"{tmp_path / '1.h5'}: positions lie half a pixel left of and above most objects in groups"
    ]
    assert odd.mean("model", "position") > sound.mean("model", "position") + 0.5
    films = Protocol(context=CONTEXT, horizon=HORIZON, metrics=("mse",))
    assert judge_rows({"model": the_truth}, theirs[1], films).notes == ()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("position", "--metrics must be a metric that .* has the truth for, got position, which needs groups; leave"),
        ("energy", "has the truth for, got energy, which needs groups"),
        ("collision-bce", "got collision-bce, which needs groups; leave it out, or score clips of which it is known"),
    ],
)
def test_metrics_that_the_file_has_no_truth_for_are_refused(name, message):
    asked = Protocol(context=6, horizon=5, metrics=("mse", name))
    with pytest.raises(ValueError, match=message):
        judge(lambda film, steps: film, without_groups(world()), asked)


def test_a_horizon_within_which_no_clip_can_be_lost_is_refused_before_clips_are_read(monkeypatch):
    monkeypatch.setattr(RecipeClips, "read_frames", lambda *_: pytest.fail("clips were read"))
    protocol = Protocol(context=CONTEXT, horizon=2, metrics=("mse", "kept"))
    with pytest.raises(ValueError, match="--horizon must be at least 3 for kept, "):
        judge_rows({"model": the_truth}, world(), protocol)


def test_a_metric_may_need_more_than_others():
    file = world()
    file.truth = tuple(name for name in file.truth if name != "objects/mass")
    assert judge_rows({"model": the_truth}, file, Protocol(context=6, horizon=5, metrics=("position",))).models
    with pytest.raises(ValueError, match="got energy, which needs objects/mass"):
        judge_rows({"model": the_truth}, file, Protocol(context=6, horizon=5, metrics=("energy",)))


def test_a_sample_is_the_best_by_the_steps_of_which_something_can_be_said():
    """One shows balls where they are, and none after five steps; the other shows all, three pixels off."""
    file = world()
    film = read_film(file, "test", 0, 3)[:, :16]
    batch = Batch(file, "test", 0, film, given=6)
    gone = batch.truth.clone()
    gone[:, 5:] = 0
    tally = Tally({"position": make_metric("position")}, samples=2)
    tally.add("model", batch, [Predicted(torch.roll(batch.truth, 3, -1)), Predicted(gone)])
    counted = tally.measured_here[0].measured["position best of 2"]["count"]
    assert (counted[:, :5] > 0).all()
    assert (counted[:, 6:] == 0).all()


def test_objects_that_no_mask_shows_are_not_there_whatever_their_places():
    masks = torch.zeros(1, 3, 4, 5, dtype=torch.uint8)
    masks[0, 1, 1, 2] = 1
    found = _seen_in_masks(Objects(positions=torch.ones(1, 3, 2, 2, dtype=torch.float64), masks=masks))
    assert found.positions.isnan().all(-1)[0].tolist() == [[False, True]] * 3
    assert found.visibility[0, :, 0].tolist() == [0, 1, 0]
    assert found.visibility[0, :, 1].isnan().all()
