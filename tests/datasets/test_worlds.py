"""What every world in DATASETS promises. A new line in the table is tested by all of this."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from small_worlds import OFF_THE_STRAIGHT, SHORTEST, SMALL, WITHOUT_CONTACTS, small

from videopred.datasets import DATASETS, make_world
from videopred.datasets.clip import PARTS, Clip, clip_seed
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.contacts import CONTACT
from videopred.datasets.generation import generate
from videopred.datasets.settings import MovingMNISTConfig, load_recipe

pytestmark = pytest.mark.parametrize("name", DATASETS)
H, W = SMALL["height"], SMALL["width"]


def assert_same(one: Clip, other: Clip) -> None:
    """Equal to the last bit, also where both are NaN."""
    for field in fields(Clip):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            mine, theirs = {"": mine}, {"": theirs}
        assert list(mine) == list(theirs), field.name
        for key, array in mine.items():
            assert (array.dtype, array.shape) == (theirs[key].dtype, theirs[key].shape), (field.name, key)
            assert array.tobytes() == theirs[key].tobytes(), (field.name, key)


def clips_of(name: str, count: int = 12, part: str = "train") -> list[Clip]:
    return list(make_world(small(name)).clips(seed=3, part=part, indices=range(count)))


def test_a_clip_depends_on_its_address_alone(name, monkeypatch):
    monkeypatch.setattr(f"{DATASETS[name].world.partition(':')[0]}._CLIPS_AT_ONCE", 5, raising=False)
    world = make_world(small(name))
    together = clips_of(name)
    shuffled = world.clips(3, "train", [11, 0, 7])
    for index, clip in zip([11, 0, 7], shuffled, strict=True):
        assert_same(clip, together[index])
    [alone] = world.clips(3, "train", [4])
    assert_same(alone, together[4])


def test_another_seed_part_or_index_is_another_clip(name):
    world = make_world(small(name))
    made = [*clips_of(name, 4), *world.clips(4, "train", range(4))]
    made += [clip for part in ("validation", "test") for clip in world.clips(3, part, range(4))]
    assert len({clip.frames.tobytes() for clip in made}) == len(made)
    states = {tuple(clip_seed(3, part, i).generate_state(4)) for part in PARTS for i in range(200)}
    assert len(states) == 3 * 200


def test_shapes_kinds_and_ranges(name):
    recipe = small(name)
    T = recipe.frames
    for clip in clips_of(name):
        objects = clip.positions.shape[1]
        expected = {
            "frames": (np.uint8, (T, H, W, recipe.channels)),
            "masks": (np.uint8, (T, H, W)),
            "positions": (np.float32, (T, objects, 2)),
            "velocities": (np.float32, (T, objects, 2)),
            "collisions": (np.bool_, (T, H, W)),
            "events": (np.uint8, (T,)),
            "visibility": (np.float16, (T, objects)),
            "contacts": (CONTACT, (len(clip.contacts),)),
        }
        for field, (dtype, shape) in expected.items():
            array = getattr(clip, field)
            assert (array.dtype, array.shape) == (dtype, shape), field
        assert all(len(table) == objects for table in clip.objects.values())
        assert clip.masks.max() <= objects
        assert not recipe.binary or set(np.unique(clip.frames)) <= {0, 255}
        present = clip.objects["active"]
        x, y = clip.positions[:, present].T
        assert ((x > 0) & (x < W)).all()
        assert ((y > 0) & (y < H)).all()
        for array in (clip.positions, clip.velocities, clip.visibility):
            assert np.isfinite(array[:, present]).all()
            assert np.isnan(array[:, ~present]).all()


def test_what_a_mask_claims_can_be_seen(name):
    for clip in clips_of(name):
        assert clip.frames.max(-1)[clip.masks > 0].all()
        for item in np.flatnonzero(clip.objects["active"]):
            seen = (clip.masks == item + 1).any((1, 2))
            assert ((clip.visibility[:, item] > 0) == seen).all()
        assert not (clip.visibility > 1).any()


def test_collisions_are_the_contacts_up_to_the_next_frame(name):
    found, frames = 0, 50  # in a few frames, slow objects meet nobody
    for clip in make_world(small(name, frames=frames)).clips(3, "train", range(30)):
        events, pixels = np.zeros(frames, int), np.zeros((frames, H, W), bool)
        for time, first, second, _ in clip.contacts:
            frame = next(t for t in range(frames) if t < time <= t + 1)
            events[frame] += 1
            pixels[frame] |= clip.masks[frame] == first + 1
            if second >= 0:
                pixels[frame] |= clip.masks[frame] == second + 1
        assert (clip.events == events).all()
        assert (clip.collisions == pixels).all()
        assert (np.diff(clip.contacts["time"]) >= 0).all()
        found += len(clip.contacts)
    assert (found == 0) if name in WITHOUT_CONTACTS else (found > 10)


def test_between_contacts_objects_fly_straight(name):
    if name in OFF_THE_STRAIGHT:
        return
    for clip in clips_of(name):
        for item in np.flatnonzero(clip.objects["active"]):
            mine = clip.contacts[(clip.contacts["first"] == item) | (clip.contacts["second"] == item)]
            busy = np.ceil(mine["time"]).astype(int) - 1
            for t in set(range(len(clip.events) - 1)) - set(busy):
                assert (clip.velocities[t + 1, item] == clip.velocities[t, item]).all()
                step = clip.positions[t + 1, item] - clip.positions[t, item]
                np.testing.assert_allclose(step, clip.velocities[t, item], atol=1e-5)


def test_the_recipe_survives_json(name):
    recipe = make_world(small(name)).recipe
    assert load_recipe(recipe.model_dump_json()) == recipe


def test_the_stored_recipe_makes_the_same_clips(name):
    recipe = make_world(small(name)).recipe
    [again] = make_world(recipe).clips(3, "train", [2])
    assert_same(again, clips_of(name, 3)[2])


def test_a_file_gives_back_what_was_made(name, tmp_path, monkeypatch):
    train, test = clips_of(name), clips_of(name, 4, "test")
    monkeypatch.setattr("videopred.datasets.balls._CLIPS_AT_ONCE", 5)
    monkeypatch.setattr("videopred.datasets.balls._PIXELS_DRAWN_AT_ONCE", 3 * 7 * 40 * 56)
    path = generate(name, {"test": 4, "train": 12}, seed=3, out=tmp_path, recipe=small(name))
    with ClipFile(path) as file:
        assert file.parts == {"train": 12, "test": 4}
        for index, clip in enumerate(train):
            assert_same(file.clip("train", index), clip)
        frames = np.stack([clip.frames for clip in test])
        assert (file.read_frames("test", 0, 4) == frames).all()


def test_equal_recipes_and_seeds_give_equal_bytes(name, tmp_path):
    def contents(out: str, **clips: int) -> bytes:
        return generate(name, clips, seed=5, out=tmp_path / out, recipe=small(name)).read_bytes()

    first = contents("a.h5", train=4, validation=2)
    assert contents("b.h5", validation=2, train=4, test=0) == first
    assert contents("c.h5", train=4, validation=3) != first


def test_a_longer_file_begins_with_the_clips_of_a_shorter(name, tmp_path):
    short = generate(name, {"train": 3}, out=tmp_path / "short.h5", recipe=small(name))
    long = generate(name, {"train": 20}, out=tmp_path / "long.h5", recipe=small(name))
    for index in range(3):
        assert_same(ClipFile(short).clip("train", index), ClipFile(long).clip("train", index))


def test_the_usual_protocol_fits(name):
    for frames in {max(frames, SHORTEST.get(name, 2)) for frames in (2, 3, 30, 51)}:
        recipe = small(name, frames=frames)
        assert recipe.context >= 1
        assert recipe.horizon >= 1
        assert recipe.context + recipe.horizon <= frames


def test_digits_are_refused_by_worlds_without(name, tmp_path):
    if not isinstance(DATASETS[name].recipe, MovingMNISTConfig):
        with pytest.raises(ValueError, match=r"^--mnist must be left out, got .*; this data set has no digits$"):
            make_world(name, mnist=Path(tmp_path))
