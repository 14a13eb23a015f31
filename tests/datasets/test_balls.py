"""Clips of bouncing balls: frames, masks and truth tell the same."""

from itertools import count

import numpy as np
import pytest
from small_worlds import small

from videopred.datasets import balls, make_world
from videopred.datasets.clip import Clip
from videopred.datasets.painting import PALETTE
from videopred.datasets.raster import draw_discs
from videopred.datasets.settings import BallsConfig

SIZES = {"frames": 9, "height": 40, "width": 72}


def clips_of(count: int = 12, **changes: object) -> list[Clip]:
    return list(make_world(BallsConfig(**(SIZES | changes))).clips(5, "train", range(count)))


def test_masks_can_be_drawn_again_from_the_numbers_in_a_clip():
    recipe = small("balls4", balls=(2, 4))
    for clip in make_world(recipe).clips(0, "train", range(20)):
        masks, drawn = draw_discs(clip.positions, clip.objects["radius"], recipe.height, recipe.width)
        assert (clip.masks == masks).all()
        assert (clip.frames[..., 0] == 255 * (masks > 0)).all()
        # Balls never overlap, so all is seen, and each is at least one pixel.
        assert (drawn[:, clip.objects["active"]] > 0).all()
        assert (clip.visibility[:, clip.objects["active"]] == 1).all()


def test_fewer_long_clips_are_moved_at_once(monkeypatch):
    """Else memory would grow with their length. What they are does not depend on it."""
    plain, moved = clips_of(), []
    draw = balls.draw_starts
    monkeypatch.setattr(balls, "_FRAMES_AT_ONCE", 5 * SIZES["frames"])
    monkeypatch.setattr(balls, "draw_starts", lambda recipe, some: moved.append(len(some)) or draw(recipe, some))
    for clip, same in zip(clips_of(), plain, strict=True):
        assert (clip.frames == same.frames).all()
        assert (clip.contacts == same.contacts).all()
    assert moved == [5, 5, 2]
    moved.clear()
    clips_of(2, frames=6 * SIZES["frames"])
    assert moved == [1, 1]


def test_the_curtain_hides_all_there_is_and_nothing_else():
    plain, curtained = clips_of(), clips_of(curtain=(24, 30))
    hidden = False
    for bare, clip in zip(plain, curtained, strict=True):
        top, left, rows, columns = clip.labels["curtain"]
        assert clip.labels["curtain"].dtype == np.int16
        behind = np.zeros((40, 72), bool)
        behind[top : top + rows, left : left + columns] = True
        assert behind.sum() == 24 * 30
        for mine, theirs in ((clip.frames[..., 0], bare.frames[..., 0]), (clip.masks, bare.masks),
                             (clip.collisions, bare.collisions)):  # fmt: skip
            assert not mine[:, behind].any()
            assert (mine[:, ~behind] == theirs[:, ~behind]).all()
        hidden |= bool(bare.frames[:, behind].any())
        for ball in range(4):
            pixels = bare.masks == ball + 1
            share = (pixels & ~behind).sum((1, 2)) / pixels.sum((1, 2))
            np.testing.assert_allclose(clip.visibility[:, ball], share, atol=1e-3)
        for name in ("positions", "velocities", "events", "contacts"):
            assert getattr(clip, name).tobytes() == getattr(bare, name).tobytes(), name
    assert hidden


@pytest.mark.parametrize("changes", [{"edges": "smooth"}, {"colors": "palette"}])
def test_the_curtain_also_hides_light(changes):
    for clip in clips_of(curtain=(28, 40), **changes):
        top, left, rows, columns = clip.labels["curtain"]
        assert not clip.frames[:, top : top + rows, left : left + columns].any()


@pytest.mark.parametrize("curtain", [(0, 0), (0, 28), (28, 0)])
def test_a_curtain_without_area_is_none(curtain):
    for bare, clip in zip(clips_of(3), clips_of(3, curtain=curtain), strict=True):
        assert clip.frames.tobytes() == bare.frames.tobytes()
        assert clip.visibility.tobytes() == bare.visibility.tobytes()
        assert list(clip.labels) == []


@pytest.mark.parametrize("colors", ["palette", "distinct"])
def test_every_ball_has_its_stored_color_all_the_time(colors):
    for clip in clips_of(colors=colors, balls=(2, 4)):
        color, active = clip.objects["color"], clip.objects["active"]
        assert (color.dtype, color.shape) == (np.uint8, (4, 3))
        assert not color[~active].any()
        assert {tuple(c) for c in color[active]} <= {tuple(c) for c in PALETTE}
        for ball in np.flatnonzero(active):
            assert (clip.frames[clip.masks == ball + 1] == color[ball]).all()
        assert not clip.frames[clip.masks == 0].any()


def test_white_balls_have_no_color_to_tell():
    [clip] = clips_of(1)
    assert "color" not in clip.objects


@pytest.mark.parametrize("edges", ["hard", "smooth", "sutskever"])
def test_who_has_numpy_raise_may_make_clips(edges):
    with np.errstate(all="raise"):
        assert clips_of(2, edges=edges)[0].frames.any()


@pytest.mark.parametrize("edges", ["smooth", "sutskever"])
def test_soft_edges_change_the_frames_alone(edges):
    for hard, soft in zip(clips_of(), clips_of(edges=edges), strict=True):
        assert soft.masks.tobytes() == hard.masks.tobytes()
        assert soft.collisions.tobytes() == hard.collisions.tobytes()
        assert ((soft.frames > 0) >= (hard.frames > 0)).all()
        assert len(np.unique(soft.frames)) > 20
        # As much light falls on the frame: a blob's area is pi r² Gamma(5/4), that is 0.906 pi r².
        share = soft.frames.sum() / hard.frames.sum()
        assert share == pytest.approx({"smooth": 1, "sutskever": 0.906}[edges], abs=0.02)


def test_soft_balls_keep_their_colors():
    for clip in clips_of(5, edges="smooth", colors="palette"):
        assert clip.frames.shape == (9, 40, 72, 3)
        x, y = clip.positions.astype(int).transpose(2, 0, 1)  # the pixels that hold the centres
        assert (clip.frames[np.arange(9)[:, None], y, x] == clip.objects["color"]).all()


def test_balls_that_left_are_no_longer_seen():
    recipe = BallsConfig(**SIZES, walls=False, speed=9.0, balls=(2,))
    left = 0
    for clip in make_world(recipe).clips(5, "train", range(12)):
        x, y = clip.positions[..., 0], clip.positions[..., 1]
        r = clip.objects["radius"]
        outside = (x < -r) | (x > 72 + r) | (y < -r) | (y > 40 + r)
        inside = (x > r) & (x < 72 - r) & (y > r) & (y < 40 - r)
        assert (clip.visibility[outside] == 0).all()
        assert (clip.visibility[inside] == 1).all()
        edge = ~outside & ~inside
        assert ((clip.visibility[edge] >= 0) & (clip.visibility[edge] <= 1)).all()
        left += outside.sum()
    assert left > 20


def test_a_fixed_ball_stays_and_is_hit():
    hits = 0
    for clip in clips_of(40, fixed=((9.0, 5.0),), balls=(3,), speed=3.0):
        assert (clip.positions[:, 0] == [36, 20]).all()
        assert (clip.velocities[:, 0] == 0).all()
        assert clip.objects["mass"][0] == np.inf
        assert clip.objects["active"].tolist() == [True] * 4
        hits += (clip.contacts["first"] == 0).sum()
    assert hits > 5


@pytest.mark.parametrize("engine", ["rnem", "sutskever"])
def test_the_engine_of_the_recipe_moves_the_balls(engine):
    exact, stepped = (clips_of(20, engine=law, speed=3.0) for law in ("exact", engine))
    assert all(len(clip.contacts) == 0 or (clip.contacts["time"] * 2 % 1 == 0).all() for clip in stepped)
    if engine == "rnem":  # it starts as the exact engine does
        assert (stepped[0].positions[0] == exact[0].positions[0]).all()
    assert any((one.positions != other.positions).any() for one, other in zip(exact, stepped, strict=True))


def test_overlapping_balls_are_counted_once():
    """The soft law lets balls overlap: the later hides the earlier, whose visible share falls."""
    found = 0
    for clip in clips_of(30, engine="sutskever", balls=(6,), speed=4.0, frames=30):
        masks, drawn = draw_discs(clip.positions, clip.objects["radius"], 40, 72)
        assert (clip.masks == masks).all()
        seen = np.stack([(masks == ball + 1).sum((1, 2)) for ball in range(6)], axis=1)
        np.testing.assert_allclose(clip.visibility, seen / drawn, atol=1e-3)
        found += (clip.visibility < 0.98).sum()
    assert found > 10


def test_clips_are_made_as_they_are_asked_for():
    """Blocks of bounded size: a stream that never ends can be begun."""
    endless = make_world(BallsConfig(**SIZES)).clips(5, "train", count())
    for clip, same in zip(clips_of(3), endless, strict=False):
        assert clip.frames.tobytes() == same.frames.tobytes()


@pytest.mark.parametrize("kept", [1.0, 0.5])
def test_gravity_and_restitution_are_those_of_the_recipe(kept):
    """Between contacts a ball gains 0.05 arena units of 4 px per frame; a wall leaves `kept` of its speed."""
    recipe = BallsConfig(frames=40, height=40, width=56, balls=(1,), speed=0.3, gravity=0.05, restitution=kept)
    struck = 0
    for clip in balls.BouncingBalls(recipe).clips(3, "train", range(6)):
        velocity, events = clip.velocities[:, 0].astype(float), clip.events[:-1]
        gained = np.diff(velocity, axis=0)
        np.testing.assert_allclose(gained[events == 0], np.full((np.sum(events == 0), 2), [0, 0.2]), atol=1e-5)
        for first in clip.contacts[:1]:
            if first["second"] in (-1, -2):  # the left wall or the right one
                frame = int(first["time"])
                assert velocity[frame + 1, 0] == pytest.approx(-kept * velocity[frame, 0], abs=1e-5)
                struck += 1
    assert struck > 0
