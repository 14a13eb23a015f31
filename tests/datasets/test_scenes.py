"""How scenes of the occlusion world are drawn: each quantity has the law that the data sheet states."""

from itertools import permutations

import numpy as np
import pytest
from distributions import assert_drawn_from, count_bins

from videopred.datasets.painting import PALETTE
from videopred.datasets.scenes import Condition, Scene, draw_scene
from videopred.datasets.settings import OcclusionConfig

W, DRAWS = 90, 500
RECIPE = OcclusionConfig(frames=37, height=64, width=W)


def scenes_of(block: str, movement: str, objects: int = 3, draws: int = DRAWS) -> list[Scene]:
    condition = Condition(block, movement, "occluded", objects)
    return [draw_scene(RECIPE, condition, np.random.default_rng([4, draw])) for draw in range(draws)]


def paths_of(scenes: list[Scene]) -> np.ndarray:
    """Columns (B, 2, T) of the targets in both runs."""
    return np.array([[run.x for run in scene.things[scene.target].runs] for scene in scenes])


def test_any_object_may_be_the_target_in_any_color_and_any_clip_at_any_place():
    scenes = scenes_of("O2", "static")
    assert_drawn_from(np.bincount([scene.target for scene in scenes], minlength=3))
    colors = [(scene.things[scene.target].color == PALETTE).all(1).argmax() for scene in scenes]
    assert_drawn_from(np.bincount(colors, minlength=4))
    orders = list(permutations(range(4)))
    assert_drawn_from(np.bincount([orders.index(tuple(scene.order.tolist())) for scene in scenes], minlength=24))


def test_every_two_shapes_are_equally_likely_before_and_after_the_change():
    shapes = [[run.shape for run in scene.things[scene.target].runs] for scene in scenes_of("O2", "static")]
    counts = np.zeros((3, 3), int)
    np.add.at(counts, tuple(np.array(shapes).T), 1)
    assert (np.diag(counts) == 0).all()
    assert_drawn_from(counts[~np.eye(3, dtype=bool)])


def test_others_rest_or_move_by_the_toss_of_a_coin_from_anywhere_to_anywhere():
    things = [(thing, scene) for scene in scenes_of("O3", "static") for thing in scene.things]
    paths = np.array([thing.runs[0].x for thing, scene in things if thing is not scene.things[scene.target]])
    half = things[0][1].stage.half_width
    rests = paths[:, 0] == paths[:, -1]
    assert_drawn_from(np.bincount(rests))
    assert_drawn_from(count_bins(paths[:, 0], half, W - half))
    assert_drawn_from(count_bins(paths[~rests, -1], half, W - half))
    np.testing.assert_allclose(np.diff(paths, n=2), 0, atol=1e-4)


@pytest.mark.parametrize(
    ("movement", "span"), [("static", (0.2, 0.3)), ("dynamic-1", (0.15, 0.2)), ("dynamic-2", (0.06, 0.08))]
)
def test_a_jump_is_uniformly_as_far_as_documented(movement, span):
    paths = paths_of(scenes_of("O3", movement))
    leads = paths[:, 1] - paths[:, 0]
    np.testing.assert_allclose(leads, leads[:, :1] * np.ones(RECIPE.frames), atol=1e-4)
    assert_drawn_from(count_bins((np.abs(leads[:, 0]) / W).round(6), *span))
    assert_drawn_from(np.bincount(leads[:, 0] > 0))  # mirrored or not


@pytest.mark.parametrize("movement", ["dynamic-1", "dynamic-2"])
def test_the_target_crosses_as_much_of_the_frame_as_documented_either_way(movement):
    scenes = scenes_of("O1", movement)
    paths = paths_of(scenes)[:, 0]
    ways, room = paths[:, -1] - paths[:, 0], W - 2 * scenes[0].stage.half_width
    span = (0.5 * W, 0.6 * W) if movement == "dynamic-1" else (0.95 * room, room)
    assert_drawn_from(count_bins(np.abs(ways).round(3), *span))
    assert_drawn_from(np.bincount(ways > 0))


def test_a_resting_target_may_be_anywhere_behind_an_occluder_within_the_frame():
    scenes = scenes_of("O1", "static")
    left, width = np.array([scene.occluders[0, 0, [1, 3]] for scene in scenes]).T
    assert_drawn_from(count_bins((left + 0.5) / (W - width + 1), 0, 1, bins=4))


def test_the_target_crosses_any_part_of_the_frame():
    scenes = scenes_of("O1", "dynamic-1")
    paths = paths_of(scenes)[:, 0]
    half = scenes[0].stage.half_width
    share = (paths.min(1) - half) / (W - 2 * half - np.ptp(paths, axis=1))
    assert_drawn_from(count_bins(share.round(4), 0, 1))


def test_of_two_occluders_the_left_one_comes_first_mirrored_or_not():
    for scene in scenes_of("O1", "dynamic-2", draws=20):
        first, second = scene.occluders[0, :, 1]
        assert first < second


def test_objects_are_told_from_the_back_to_the_front():
    grounds = np.array([[thing.ground for thing in scene.things] for scene in scenes_of("O1", "static", draws=20)])
    assert (np.diff(grounds) > 0).all()


@pytest.mark.parametrize("block", ["O1", "O3"])
def test_a_static_target_rests(block):
    assert (np.ptp(paths_of(scenes_of(block, "static", draws=20)), axis=2) == 0).all()
