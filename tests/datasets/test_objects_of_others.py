"""What files that are not ours tell of objects: where they are, how large and how fast, in which units and numbers."""

import h5py
import numpy as np
import pytest
from groups_of_others import write_group

from videopred.datasets import find_recipe, make_world
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.description import describe
from videopred.datasets.foreign_values import unit_and_offset, unit_of_radii
from videopred.datasets.h5_arrays import arrays_in
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.importing import import_films
from videopred.judging.objects import notes_on_places


def discs_and_places() -> tuple[np.ndarray, np.ndarray]:
    """Two squares of 3 x 3 px on the move, (T, N, H, W), and their centres in px, (T, N, 2, 2); H is 20 px."""
    masks, places = np.zeros((5, 3, 20, 30), np.uint8), np.empty((5, 3, 2, 2))
    for frame, clip, number in np.ndindex(places.shape[:-1]):
        left, top = 1 + 4 * frame + clip, 2 + 12 * number - frame // 2
        masks[frame, clip, top : top + 3, left : left + 3] = number + 1
        places[frame, clip, number] = left + 1.5, top + 1.5
    return masks, places


def test_places_in_arena_units_are_given_in_px_and_said(tmp_path):
    """R-NEM's files are said to have them: ten units are a frame's height, here 20 px."""
    masks, places = discs_and_places()
    group = {"training__features": masks[..., None] > 0, "training__groups": masks}
    write_group(**group, training__positions=places)(tmp_path / "px.h5")
    write_group(**group, training__positions=places / 2, training__velocities=places)(tmp_path / "units.h5")
    px, units = ClipFile(tmp_path / "px.h5"), ClipFile(tmp_path / "units.h5")
    assert px.places_known
    assert units.places_known
    for file in (px, units):
        np.testing.assert_array_equal(file.read("train", "positions", 1, 3), places[:, 1:].swapaxes(0, 1))
    np.testing.assert_array_equal(units.read("train", "velocities", 0, 1)[0], 2 * places[:, 0])
    assert "places" not in describe(px)
    told = "positions and velocities are in arena units, ten to a frame's height, and are converted to px"
    assert describe(units)["places"] == told


@pytest.mark.parametrize(
    ("radii", "expected", "told"),
    [
        (1.5, 1.5, None),
        (np.nan, np.nan, None),
        (0.75, 1.5, "radii are in arena units, ten to a frame's height, and are converted to px"),
        (0.3, 0.3, "radii do not match the objects in groups, neither in px nor in arena units"),
        (5.0, 5.0, "radii do not match the objects in groups, neither in px nor in arena units"),
    ],
)
@pytest.mark.parametrize("scale", [1, 2])
def test_radii_have_a_unit_of_their_own(tmp_path, radii, expected, told, scale):
    """Whatever that of places is: discs here have 9 px of a frame 20 px high."""
    masks, places = discs_and_places()
    told_radii = np.full(places.shape[1:3], radii, np.float32)
    group = {"training__features": masks[..., None] > 0, "training__groups": masks}
    group |= {"training__positions": places / scale, "training__objects__radius": told_radii}
    write_group(**group)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    assert file.read("train", "objects/radius", 1, 3) == pytest.approx(
        np.full((2, *told_radii.shape[1:]), expected), nan_ok=True
    )
    assert file.read("train", "positions", 0, 3) == pytest.approx(places.swapaxes(0, 1))
    assert file.remarks.get("radii") == told
    assert any("radii" in note for note in notes_on_places(["position"], file, "train")) == (told is not None)


@pytest.mark.parametrize(("seen", "units"), [(1, (1, 2)), (0, (1, 1))])
def test_radii_of_objects_that_are_hidden_tell_no_unit(seen, units):
    """Most here are seen in one of five frames, or in none, and have a radius in all."""
    masks, places = (array[:, 0] for array in discs_and_places())
    masks[seen:] = 0
    told = [unit_of_radii(np.full(places.shape[:2], radius), masks) for radius in (1.5, 0.75)]
    assert told == list(units)


@pytest.mark.parametrize(
    ("times", "told"),
    [(1, None), (0.55, None), (1.9, None), (25, "velocities are 25 times as"), (0.45, "velocities are 0.45 times as")],
)
def test_velocities_that_do_not_tell_how_far_objects_go_are_remarked(tmp_path, times, told):
    """Such as those per second; tracking goes by them."""
    masks, places = discs_and_places()
    speeds = times * np.diff(places, axis=0, append=2 * places[-1:] - places[-2:-1])
    group = {"training__features": masks[..., None] > 0, "training__groups": masks}
    write_group(**group, training__positions=places, training__velocities=speeds)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    remark = file.remarks.get("velocities")
    assert remark == (told and f"{told} large as objects go in a frame")
    assert any("velocities are" in note for note in notes_on_places(["position"], file, "train")) == (told is not None)


@pytest.mark.parametrize("turn", [[[0, 1], [1, 0]], [[-1, 0], [0, -1]]])
def test_so_are_those_that_point_elsewhere(tmp_path, turn):
    masks, places = discs_and_places()
    speeds = np.diff(places, axis=0, append=2 * places[-1:] - places[-2:-1]) @ np.array(turn)
    group = {"training__features": masks[..., None] > 0, "training__groups": masks}
    write_group(**group, training__positions=places, training__velocities=speeds)(tmp_path / "x.h5")
    told = "velocities do not point to where objects go; x is to the right, y is down"
    assert ClipFile(tmp_path / "x.h5").remarks["velocities"] == told


@pytest.mark.parametrize("most", [3, 9])
def test_groups_of_more_objects_than_have_places_are_remarked(tmp_path, most):
    masks, places = discs_and_places()
    masks[masks == masks.max()] = most
    group = {"training__features": masks[..., None] > 0, "training__groups": masks}
    write_group(**group, training__positions=places)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    told = f"groups hold {most}, and positions are of {places.shape[2]} objects: those without a mask count as absent, "
    told += "and masks without a position are never found"
    assert file.remarks["numbers"] == told
    assert f"{file.path}: {told}" in notes_on_places(["position"], file, "train")


def test_truth_that_somebody_adds_to_imported_films_is_that_of_others(tmp_path):
    masks, places = discs_and_places()
    np.save(tmp_path / "films.npy", masks > 0)
    path, _ = import_films(tmp_path / "films.npy", tmp_path / "films.h5", ImportConfig(axes="TBHW", part="test"))
    with h5py.File(path, "r+") as file:
        file["test/groups"], file["test/positions"] = masks.astype(np.float32), places / 2
    file = ClipFile(path)
    np.testing.assert_array_equal(file.read("test", "positions", 1, 3), places[:, 1:].swapaxes(0, 1))
    assert file.read("test", "groups", 0, 1).dtype == np.uint8
    assert "are converted to px" in describe(file)["places"]


@pytest.mark.parametrize(("offset", "told"), [(-0.5, "were (0, 0)"), (0.5, "were (1, 1)")])
@pytest.mark.parametrize("scale", [1, 2])
def test_places_that_are_half_a_pixel_off_stay_as_they_are_and_that_is_said(tmp_path, offset, told, scale):
    """Some count pixels from their centres, or from 1."""
    masks, places = discs_and_places()
    odd = (places + offset) / scale
    write_group(training__features=masks[..., None] > 0, training__groups=masks, training__positions=odd)(
        tmp_path / "x.h5"
    )
    file = ClipFile(tmp_path / "x.h5")
    assert file.places_known
    assert file.read("train", "positions", 0, 3) == pytest.approx(odd.swapaxes(0, 1) * scale)
    assert told in describe(file)["offset"]


def test_discs_at_their_places_never_seem_half_a_pixel_off_and_others_always_do():
    """Wherever they are: hard-edged pixels move the centre of a small disc by 0.15 px at most."""
    for name, changes in (("balls4", {"radii": (0.4, 0.5)}), ("balls678", {"engine": "rnem"}), ("motion3", {})):
        for clip in make_world(find_recipe(name, frames=8, **changes)).clips(0, "train", range(60)):
            for offset in (0, -0.5, 0.5):
                assert unit_and_offset(clip.positions + np.float32(offset), clip.masks) == (1, offset)


def test_places_are_half_a_pixel_off_only_if_most_are_along_both_axes():
    masks, places = (array[:, 0] for array in discs_and_places())
    assert unit_and_offset(places + np.array([0.5, 0]), masks) == (1, 0)
    assert unit_and_offset(places + np.array([[0.5], [0]]), masks) == (1, 0)
    assert unit_and_offset(places + np.array([[2], [0]]), masks) == (None, 0)  # of 1.7 px in radius


def test_places_are_known_by_all_parts_and_clips_and_frames(tmp_path):
    """In the first clip nothing is seen until the last frame; in another, places lie beside the objects."""
    masks, places = discs_and_places()
    masks[:-1, 0], places[:-1, 0] = 0, np.nan
    for name, moved in (("sound", places), ("odd", np.where(np.arange(3)[:, None, None] > 0, places + 9, places))):
        write_group(training__features=masks[..., None] > 0, training__groups=masks, training__positions=moved)(
            tmp_path / f"{name}.h5"
        )
    assert ClipFile(tmp_path / "sound.h5").places_known
    assert not ClipFile(tmp_path / "odd.h5").places_known


@pytest.mark.parametrize("change", [lambda places: 3 * places, lambda places: places[..., ::-1], np.zeros_like])
def test_places_that_are_elsewhere_stay_as_they_are_and_that_is_said(tmp_path, change):
    masks, places = discs_and_places()
    odd = change(places)
    write_group(training__features=masks[..., None] > 0, training__groups=masks, training__positions=odd)(
        tmp_path / "x.h5"
    )
    file = ClipFile(tmp_path / "x.h5")
    assert not file.places_known
    np.testing.assert_array_equal(file.read("train", "positions", 0, 3), odd.swapaxes(0, 1))
    assert describe(file)["places"].startswith("positions do not match the objects in groups")


def test_what_is_told_of_objects_is_of_as_many_as_positions_are(tmp_path):
    """Else metrics would end in the words of other libraries."""
    masks, places = discs_and_places()
    group = {"training__features": masks[..., None] > 0, "training__groups": masks, "training__positions": places}
    group |= {"training__velocities": places[:, :, :1], "training__visibility__fraction": places[..., 0, 0]}
    group |= {"training__objects__mass": np.ones((3, 2)), "training__objects__radius": np.ones((5, 3, 2))}
    write_group(**group)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    assert file.truth == ("groups", "objects/mass", "positions")
    assert describe(file)["left_out"].startswith("objects/radius, velocities, visibility/fraction, of other axes or le")


def test_parts_may_have_other_numbers_of_objects(tmp_path):
    """As of the papers, which learn from four balls and test with six to eight."""
    masks, places = discs_and_places()
    more = np.concatenate([places, np.full_like(places, np.nan)], 2)
    group = {f"{part}__features": masks[..., None] > 0 for part in ("training", "test")}
    group |= {f"{part}__groups": masks for part in ("training", "test")}
    group |= {"training__positions": more / 2, "test__positions": places / 2}
    group |= {"training__objects__mass": np.ones((3, 4)), "test__objects__mass": np.ones((3, 2))}
    group |= {"training__objects__radius": np.ones((3, 2)), "test__objects__radius": np.ones((3, 2))}
    write_group(**group)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    assert file.truth == ("groups", "objects/mass", "positions")
    np.testing.assert_array_equal(file.read("train", "positions", 0, 3), more.swapaxes(0, 1))


@pytest.mark.parametrize("kind", [np.int8, np.uint16, ">i4", np.longdouble, ">f4", np.float16])
def test_what_is_measured_may_be_any_number(tmp_path, kind):
    """One reckons with it, where small whole numbers would wrap around and torch has no larger floats."""
    masks, places = discs_and_places()
    places = places.astype(int)
    mass = np.array([[2, 3], [3, 5], [7, 1]])
    group = {"training__features": masks[..., None] > 0, "training__groups": masks}
    group |= {"training__positions": places.astype(kind), "training__objects__mass": mass.astype(kind)}
    group |= {"training__velocities": np.diff(places, axis=0, append=2 * places[-1:] - places[-2:-1]).astype(kind)}
    write_group(**group)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    assert "velocities" not in file.remarks or np.dtype(kind).kind == "u"  # which hold no step back
    for name, told in (("positions", places.swapaxes(0, 1)), ("objects/mass", mass)):
        values = file.read("train", name, 0, 3)
        assert (values.dtype.kind, values.dtype.isnative, values.dtype.itemsize <= 8) == ("f", True, True)
        np.testing.assert_array_equal(values, told)


def test_arrays_have_each_of_their_names(tmp_path):
    """One is called otherwise by a second link to it, hard or soft."""
    masks, places = discs_and_places()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["mine/films"], file["mine/masks"], file["test/centers"] = masks[..., None] > 0, masks, places
        file["test/features"], file["test/groups"] = h5py.SoftLink("/mine/films"), h5py.SoftLink("/mine/masks")
        file["test/positions"], file["test/gone"] = file["test/centers"], h5py.SoftLink("/nowhere")
        file["test/labels"], file["test/x"] = h5py.SoftLink("/test"), h5py.SoftLink("/test/x")  # without end
    file = ClipFile(tmp_path / "x.h5")
    assert {"groups", "positions"} <= set(file.truth)
    np.testing.assert_array_equal(file.read("test", "positions", 0, 3), places.swapaxes(0, 1))
    assert {"mine/films", "test/features", "test/positions", "test/centers"} <= arrays_in(tmp_path / "x.h5").keys()


@pytest.mark.parametrize("kind", [">f4", ">f8", "<f2"])
def test_numbers_of_any_kind_stay_what_they_are(tmp_path, kind):
    masks, places = discs_and_places()
    arrays = {"training__groups": masks.astype(">i4"), "training__positions": places.astype(kind)}
    bulbs = np.random.default_rng(4).normal(size=masks.shape[:2]).astype(kind)
    write_group(training__features=masks[..., None] > 0, training__series__bulb=bulbs, **arrays)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    assert file.places_known
    for name, expected in (("positions", places.astype(kind)), ("series/bulb", bulbs), ("groups", masks)):
        read = file.read("train", name, 0, masks.shape[1])
        assert read.dtype.isnative
        np.testing.assert_array_equal(read, expected.swapaxes(0, 1))


def test_velocities_of_slow_objects_are_looked_at_too(tmp_path):
    """They go a fifth of a pixel along each axis, so that their masks stay."""
    masks, places = discs_and_places()
    masks[:], places[:] = masks[:1], places[:1] + 0.2 * np.arange(5)[:, None, None, None]
    group = {"training__features": masks[..., None] > 0, "training__groups": masks, "training__positions": places}
    write_group(**group, training__velocities=np.full_like(places, 5.0))(tmp_path / "x.h5")
    told = "velocities are 25 times as large as objects go in a frame"
    assert ClipFile(tmp_path / "x.h5").remarks["velocities"] == told


def test_places_are_known_though_nothing_is_seen_at_first(tmp_path):
    masks, places = discs_and_places()
    masks[:-1], places[:-1] = 0, np.nan
    group = {"training__features": masks[..., None] > 0, "training__groups": masks}
    write_group(**group, training__positions=places)(tmp_path / "x.h5")
    assert ClipFile(tmp_path / "x.h5").places_known


def test_places_are_not_known_where_nothing_is_ever_seen():
    masks, places = (array[:, 0] for array in discs_and_places())
    assert unit_and_offset(places, np.zeros_like(masks)) == (None, 0)
