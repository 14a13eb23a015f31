"""Scenes with screens: what makes their quadruplets sound, so that only memory can tell what is impossible."""

import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_proofs import slow
from tiny_runs import tiny_model, tiny_training

from videopred.datasets.clip import Clip, clip_seed
from videopred.datasets.generation import generate
from videopred.datasets.occlusion import Occlusion
from videopred.datasets.scenes import Condition, draw_scene
from videopred.datasets.settings import BallsConfig, OcclusionConfig
from videopred.training.run import train

BLOCKS, MOVEMENTS = ("O1", "O2", "O3"), ("static", "dynamic-1", "dynamic-2")
SIZES = {"frames": 53, "height": 40, "width": 56}
Scene = list[Clip]


def recipe_of(**changes: object) -> OcclusionConfig:
    return OcclusionConfig(**(SIZES | changes))


def scenes(recipe: OcclusionConfig, count: int, seed: int = 3) -> Iterator[Scene]:
    """Quadruplets of the test part."""
    clips = Occlusion(recipe).clips(seed, "test", range(4 * count))
    return iter(lambda: [clip for _, clip in zip(range(4), clips, strict=False)], [])


def pairs(scene: Scene) -> tuple[Scene, Scene]:
    """The possible and the impossible clips."""
    possible = [clip for clip in scene if clip.labels["possible"]]
    return possible, [clip for clip in scene if not clip.labels["possible"]]


def hidden_run(scene: Scene, splice: int) -> range:
    """The frames around a splice in which the target is seen in no clip of the scene."""
    target = scene[0].labels["target"]
    unseen = np.all([~(clip.masks == target + 1).any((1, 2)) for clip in scene], axis=0)
    equal = np.all([(clip.frames == scene[0].frames).all((1, 2, 3)) for clip in scene], axis=0)
    first = last = int(splice)
    assert unseen[splice]
    while first > 0 and (unseen & equal)[first - 1]:
        first -= 1
    while last + 1 < len(unseen) and (unseen & equal)[last + 1]:
        last += 1
    return range(first, last + 1)


# --- what every scene promises, as checks that a broken world fails -----------------------------------------


def windows(clips: Scene, length: int) -> Counter[bytes]:
    """All windows of so many frames, each as often as it comes."""
    return Counter(
        clip.frames[t : t + length].tobytes() for clip in clips for t in range(len(clip.frames) - length + 1)
    )


def check_frames(scene: Scene) -> None:
    """Possible and impossible clips show the same frames equally often."""
    possible, impossible = pairs(scene)
    assert windows(possible, 1) == windows(impossible, 1)


def check_neighbours(scene: Scene) -> None:
    """And the same pairs of frames that follow each other."""
    possible, impossible = pairs(scene)
    assert windows(possible, 2) == windows(impossible, 2)


def check_splices(scene: Scene) -> None:
    """The target is hidden on both sides of every splice, in all clips."""
    splices = scene[0].labels["splices"]
    assert splices[0] > 0
    for splice in splices[splices >= 0]:
        run = hidden_run(scene, splice)
        assert splice - 1 in run
        assert splice in run
        for clip in scene:
            seen = clip.visibility[splice - 1 : splice + 1, clip.labels["target"]]
            assert not (seen > 0).any()


Scorer = Callable[[Clip], Iterable[float]]
"""Gives the plausibility of each moment of a clip; that of a clip is their exact sum, free of any order."""


def half_credit(scene: Scene, score: Scorer) -> float:
    """Relative error of a scorer: 1 if it prefers the impossible pair, a half for a tie."""
    possible, impossible = (math.fsum(value for clip in pair for value in score(clip)) for pair in pairs(scene))
    return 0.5 if possible == impossible else float(possible < impossible)


def memoryless(length: int) -> list[Scorer]:
    """Scorers that see a window of so many frames at a time: a hash, the same as a fraction, and one of brightness."""

    def hashed(clip: Clip) -> list[float]:
        return [zlib.crc32(clip.frames[t : t + length]) for t in range(len(clip.frames) - length + 1)]

    def bright(clip: Clip) -> list[float]:
        means = clip.frames.mean((1, 2, 3))
        return [math.sin(1e6 * means[t : t + length].std()) for t in range(len(means) - length + 1)]

    return [hashed, lambda clip: [1 / (1 + value) for value in hashed(clip)], bright]


def check_memoryless(scene: Scene) -> None:
    """Who sees no more frames at a time than the target is hidden for finds both pairs alike, exactly."""
    splices = scene[0].labels["splices"]
    shortest = min(len(hidden_run(scene, splice)) for splice in splices[splices >= 0])
    for length in {1, 2, shortest}:
        for score in memoryless(length):
            assert half_credit(scene, score) == 0.5


SOUND = [check_frames, check_neighbours, check_splices, check_memoryless]


@given(
    st.sampled_from(BLOCKS),
    st.sampled_from(MOVEMENTS),
    st.integers(1, 3),
    st.integers(30, 70),
    st.integers(24, 70),
    st.integers(24, 70),
    st.integers(0, 2**20),
)
@settings(max_examples=60)
def test_every_occluded_scene_is_sound(block, movement, objects, frames, height, width, seed):
    recipe = OcclusionConfig(
        frames=frames, height=height, width=width, blocks=(block,), movements=(movement,), objects=(objects,),
        occlusion=("occluded",),
    )  # fmt: skip
    [scene] = scenes(recipe, 1, seed)
    for check in SOUND:
        check(scene)


@pytest.mark.parametrize(("block", "movement"), list(product(BLOCKS, MOVEMENTS)))
def test_a_visible_scene_shows_the_same_frames_and_its_splice_in_view(block, movement):
    [scene] = scenes(recipe_of(blocks=(block,), movements=(movement,), occlusion=("visible",)), 1)
    check_frames(scene)
    with pytest.raises(AssertionError):
        check_neighbours(scene)
    with pytest.raises(AssertionError):
        check_splices(scene)
    assert all((clip.series["occluders"] == 0).all() for clip in scene)
    for clip in scene:
        present = clip.series["shapes"] >= 0
        assert (clip.visibility[present] == 1).all()


def respliced(scene: Scene, frame: int) -> Scene:
    """The same scene, the second half of its impossible clips taken over at another frame."""
    begins = {int(clip.labels["start"]): clip for clip in pairs(scene)[0]}
    broken = []
    for clip in scene:
        start = int(clip.labels["start"])
        if not clip.labels["possible"]:
            kept = {}
            for name in ("frames", "masks", "visibility"):
                one, other = (getattr(begins[run], name) for run in (start, 1 - start))
                kept[name] = np.concatenate([one[:frame], other[frame:]])
            clip = Clip(**(vars(clip) | kept | {"labels": {**clip.labels, "splices": np.array([frame, -1])}}))
        broken.append(clip)
    return broken


@pytest.mark.parametrize("check", [check_neighbours, check_splices, check_memoryless])
def test_a_splice_outside_the_hidden_frames_is_found(check):
    [scene] = scenes(recipe_of(blocks=("O1",), movements=("dynamic-1",), occlusion=("occluded",), objects=(1,)), 1)
    run = hidden_run(scene, scene[0].labels["splices"][0])
    for frame in run:
        if frame > run.start:
            check(respliced(scene, frame))
    for frame in (run.start - 1, run.stop + 1):
        broken = respliced(scene, frame)
        with pytest.raises(AssertionError):
            check(broken)
        assert any(half_credit(broken, score) != 0.5 for score in memoryless(2))


def test_a_distractor_that_knows_the_run_is_found():
    """Frames that differ between runs beyond the target break both checks above once they are not spliced with it."""
    [scene] = scenes(recipe_of(blocks=("O2",), movements=("static",), occlusion=("occluded",)), 1)
    for clip in scene:
        if not clip.labels["possible"]:
            clip.frames[0, 0, 0] ^= 1
    for check in (check_frames, check_neighbours, check_memoryless):
        with pytest.raises(AssertionError):
            check(scene)


@pytest.mark.parametrize(("height", "width"), [(24, 24), (25, 60), (30, 30)])
def test_a_change_of_shape_shows_in_the_smallest_frames(height, width):
    """There a disc and a square at rest may cover the same pixels."""
    changes = {"blocks": ("O2",), "movements": ("static",), "frames": 30, "height": height, "width": width}
    for scene in scenes(recipe_of(**changes), 100):
        one, other = pairs(scene)[0]
        assert (one.frames != other.frames).any()


@pytest.mark.parametrize(("height", "width", "frames"), [(25, 80, 37), *slow((24, 96, 40))])
def test_so_it_does_on_both_sides_of_every_splice(height, width, frames):
    """Between two occluders a moving disc and a square may show the same: then an impossible clip is a possible one."""
    changes = {"blocks": ("O2",), "movements": ("dynamic-2",), "occlusion": ("occluded",)}
    for scene in scenes(recipe_of(**changes, height=height, width=width, frames=frames), 400):
        assert all((one.frames != other.frames).any() for one, other in combinations(scene, 2))


# --- what memory can tell ------------------------------------------------------------------------------------


def broken_laws(clip: Clip) -> int:
    """How often an object appears, vanishes, changes its shape or jumps, judged by the truth."""
    shapes, position, velocity = clip.series["shapes"], clip.positions, clip.velocities
    changes = (shapes[1:] != shapes[:-1]).sum()
    jumps = np.abs(position[1:, :, 0] - position[:-1, :, 0] - velocity[:-1, :, 0]) > 0.5
    return int(changes + jumps.sum())


def test_an_oracle_makes_no_error():
    """Who knows where all objects are finds every impossible clip, and no possible one."""
    recipe = recipe_of()
    for scene in scenes(recipe, 54):
        assert half_credit(scene, lambda clip: [-broken_laws(clip)]) == 0
        for clip in scene:
            splices = clip.labels["splices"]
            expected = 0 if clip.labels["possible"] else (splices >= 0).sum()
            assert broken_laws(clip) == expected


def test_the_four_clips_are_the_splices_of_two_runs():
    for scene in scenes(recipe_of(), 54):
        possible, impossible = pairs(scene)
        runs = {int(clip.labels["start"]): clip for clip in possible}
        assert set(runs) == {int(clip.labels["start"]) for clip in impossible} == {0, 1}
        for clip in impossible:
            begin, end = clip.labels["splices"]
            end = len(clip.frames) if end < 0 else end
            inner = np.zeros(len(clip.frames), bool)
            inner[begin:end] = True
            start = int(clip.labels["start"])
            for name in ("frames", "masks", "positions", "velocities", "visibility"):
                mine = getattr(clip, name)
                np.testing.assert_array_equal(mine[~inner], getattr(runs[start], name)[~inner])
                np.testing.assert_array_equal(mine[inner], getattr(runs[1 - start], name)[inner])
            assert (clip.labels["splices"][1] >= 0) == (clip.labels["movement"] == 2)


def test_all_but_the_target_is_the_same_in_a_scene():
    for scene in scenes(recipe_of(), 54):
        target = int(scene[0].labels["target"])
        others = [number for number in range(3) if number != target]
        for clip in scene:
            for name in ("positions", "velocities", "visibility"):
                mine, first = getattr(clip, name), getattr(scene[0], name)
                np.testing.assert_array_equal(mine[:, others], first[:, others])
            np.testing.assert_array_equal(clip.series["occluders"], scene[0].series["occluders"])
            same = [name for name in clip.labels if name not in ("possible", "start")]
            assert all((clip.labels[name] == scene[0].labels[name]).all() for name in same)


def test_what_is_absent_has_no_place():
    for scene in scenes(recipe_of(blocks=("O1",)), 18):
        for clip in scene:
            present = clip.series["shapes"] >= 0
            assert (np.isfinite(clip.visibility) == present).all()
            assert (np.isfinite(clip.positions).all(-1) == present).all()
            assert (np.isfinite(clip.velocities).all(-1) == present).all()
            active = clip.objects["active"]
            assert (active == present.any(0)).all()
            assert (clip.objects["color"].any(1) == active).all()
            assert (np.isfinite(clip.objects["size"]) == active).all()


def test_the_target_is_seen_whole_before_between_and_after():
    """Else nobody could know what to expect."""
    for scene in scenes(recipe_of(occlusion=("occluded",), blocks=("O2", "O3"), height=64, width=80, frames=100), 18):
        target, splices = scene[0].labels["target"], scene[0].labels["splices"]
        bounds = [0, *splices[splices >= 0], 100]
        for clip in scene:
            whole = clip.visibility[:, target] == 1
            assert all(whole[first:last].any() for first, last in pairwise(bounds))


# --- parts and balance ---------------------------------------------------------------------------------------


def test_training_shows_what_is_possible_only():
    for part in ("train", "validation"):
        clips = list(Occlusion(recipe_of()).clips(3, part, range(108)))
        assert all(clip.labels["possible"] for clip in clips)
        assert all(broken_laws(clip) == 0 for clip in clips)
        assert [int(clip.labels["scene"]) for clip in clips] == list(range(108))
        assert all((clip.series["shapes"] >= 0).any() for clip in clips)
        starts = Counter(int(clip.labels["start"]) for clip in clips)
        assert min(starts[0], starts[1]) > 30


def test_conditions_come_equally_often():
    recipe = recipe_of(frames=30, height=24, width=26)
    for part, times in (("train", 1), ("test", 4)):
        clips = Occlusion(recipe).clips(3, part, range(2 * 54 * times))
        names = ("block", "movement", "occluded", "objects")
        counts = Counter(tuple(int(clip.labels[name]) for name in names) for clip in clips)
        assert len(counts) == 54
        assert set(counts.values()) == {2 * times}


def test_a_choice_of_conditions_is_kept():
    recipe = recipe_of(blocks=("O3",), movements=("static",), occlusion=("visible",), objects=(2,))
    for clip in Occlusion(recipe).clips(3, "test", range(8)):
        labels = clip.labels
        assert (labels["block"], labels["movement"], labels["occluded"], labels["objects"]) == (3, 0, False, 2)
        assert clip.positions.shape[1] == 2
        assert clip.series["occluders"].shape == (53, 1, 4)


def test_a_clip_depends_on_its_scene_alone():
    world = Occlusion(recipe_of())
    together = list(world.clips(3, "test", range(24)))
    for index, clip in zip([22, 5, 6, 0], world.clips(3, "test", [22, 5, 6, 0]), strict=True):
        assert clip.frames.tobytes() == together[index].frames.tobytes()
        assert clip.labels["start"] == together[index].labels["start"]


def test_a_scene_is_drawn_from_the_address_of_its_first_clip():
    recipe = recipe_of()
    for index in (0, 8):
        [clip] = Occlusion(recipe).clips(3, "test", [index + 3])
        chance = np.random.Generator(np.random.PCG64(clip_seed(3, "test", index)))
        condition = Condition(BLOCKS[index // 4], "static", "occluded", 1)
        assert (draw_scene(recipe, condition, chance).occluders == clip.series["occluders"]).all()


def test_all_but_objects_is_wall_floor_and_occluders_in_their_colors():
    recipe = recipe_of()
    [clip] = Occlusion(recipe).clips(3, "test", [24])
    condition = Condition("O1", "dynamic-2", "occluded", 1)
    scene = draw_scene(recipe, condition, np.random.Generator(np.random.PCG64(clip_seed(3, "test", 24))))
    assert clip.labels["floor"] == scene.floor
    for frame, masks, places in zip(clip.frames, clip.masks, scene.occluders, strict=True):
        expected = np.empty_like(frame)
        expected[: scene.floor], expected[scene.floor :] = scene.colors["wall"], scene.colors["floor"]
        for top, left, height, width in places:
            expected[top : top + height, left : left + width] = scene.colors["occluder"]
        assert (frame[masks == 0] == expected[masks == 0]).all()


def test_possible_clips_stand_at_each_place_equally_often():
    """χ² over the four places with 400 scenes and seed 3; 11.3 is the 99 % point for three degrees of freedom."""
    recipe = recipe_of(frames=30, height=24, width=26, movements=("static",), objects=(1,))
    places = np.array([[clip.labels["possible"] for clip in scene] for scene in scenes(recipe, 400)])
    assert (places.sum(1) == 2).all()
    # Two of four are drawn without replacement: each place has p (1 - p) = 1/4, and the sum is fixed, hence 3/4.
    chi2 = 3 / 4 * ((places.sum(0) - 200) ** 2 / (400 / 4)).sum()
    assert chi2 < 11.3


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"frames": 29}, "frames must be greater than or equal to 30, got 29"),
        ({"height": 23}, "height must be greater than or equal to 24, got 23"),
        ({"blocks": ("O4",)}, "blocks must be 'O1', 'O2' or 'O3', got 'O4'"),
        ({"movements": ()}, "movements must"),
        ({"objects": (4,)}, "objects must be less than or equal to 3, got 4"),
    ],
)
def test_scenes_that_cannot_be(changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        OcclusionConfig(**changes)


WIDE = OcclusionConfig(frames=30, height=24, width=84)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (WIDE, "--width must be at most 83 px with 30 frames of 24 rows, else objects pass a gap unseen, got 84"),
        (OcclusionConfig(frames=32768), "--frames must be at most 32,767, got 32768; ask for less"),
        (BallsConfig(width=4097), "--width must be at most 4,096, got 4097; ask for less"),
    ],
)
def test_what_is_of_no_use_is_not_made_any_more(tmp_path, recipe, message):
    """Such as possible and impossible films that could be the same. Files of it can be read."""
    with pytest.raises(ValueError, match=f"^{message}"):
        generate("mine", {"test": 4}, recipe=recipe, out=tmp_path / "x.h5")


def test_nor_is_it_learned_from_anew(tmp_path):
    (tmp_path / "x.json").write_text(WIDE.model_dump_json())
    with pytest.raises(ValueError, match=r"^--width must be at most 83 px"):
        train(tmp_path / "x.json", tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")


@pytest.mark.parametrize("changes", [{"movements": ("static",)}, {"occlusion": ("visible",)}, {"width": 83}])
def test_gaps_show_what_passes_if_nothing_does_or_it_is_slow(changes):
    OcclusionConfig(**WIDE.model_dump() | changes).check_use()
