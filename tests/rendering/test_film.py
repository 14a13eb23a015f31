"""Films as pictures: the right pixels in the right place, and colours that say what they should."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import imageio.v3 as iio
import numpy as np
import pytest
import torch
from torch import Tensor
from view_samples import labels_written

from videopred.frames import to_frames
from videopred.palette import AGREED, CONTEXT, DISCOLORED, INVENTED, MISSED, PAGE, ROLLOUT, TRACK
from videopred.rendering import film as rendering
from videopred.rendering.clip_view import ClipView, view_of_rollout
from videopred.rendering.encoding import draw_view
from videopred.rendering.film import film_frames
from videopred.rendering.film_rows import difference
from videopred.rendering.lettering import text_width
from videopred.rendering.strip import GAP, NAMES, TOP, every_nth, strip

HEIGHT, WIDTH, SCALE = 12, 20, 11  # 11 = 220 px // 20


def films(context: int = 3, horizon: int = 4, channels: int = 1) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Context, truth, prediction and one-step films of noise; no two frames are equal."""
    random = torch.Generator().manual_seed(0)
    lengths = (context, horizon, horizon, context - 1)
    shape = (channels, HEIGHT, WIDTH)
    return tuple(torch.rand((length, *shape), generator=random) for length in lengths)


class Films(NamedTuple):
    """What is drawn of a rollout."""

    context: Tensor
    one_step: Tensor
    prediction: Tensor
    trace: dict[str, Tensor]


def view_of(context: Tensor, truth: Tensor, prediction: Tensor, one_step: Tensor) -> ClipView:
    """The view of films of one clip, which is the second of its batch."""
    context, truth, prediction, one_step = (
        torch.stack([1 - film, film]) for film in (context, truth, prediction, one_step)
    )
    return view_of_rollout(Films(context, one_step, prediction, {}), truth, 1)


def panels_in(image: np.ndarray, colour: tuple[int, int, int]) -> list[np.ndarray]:
    """The panels that a border of this colour surrounds, shrunk to one value per pixel of the film."""
    tall = (image == colour).all(axis=-1).sum(axis=0) >= HEIGHT * SCALE
    edges = np.flatnonzero(np.diff(tall.astype(int))) + 1  # left border begins, ends; right one begins, ends
    inside = edges.reshape(3, 4)[:, 1:3]
    row = (image[:, inside[0, 0] - 2] == colour).all(axis=-1).argmax() + rendering.BORDER
    return [image[row : row + HEIGHT * SCALE : SCALE, left:right:SCALE] for left, right in inside]


@pytest.mark.parametrize("channels", [1, 3])
def test_panels_show_the_right_frames_in_the_colour_of_their_time(channels):
    context, truth, prediction, one_step = films(channels=channels)
    gif = film_frames(view_of(context, truth, prediction, one_step), panel_px=SCALE * WIDTH)
    assert gif.dtype == np.uint8
    assert len(gif) == 7
    true = to_frames(torch.cat([context, truth]))
    ours = to_frames(torch.cat([context[:1], one_step, prediction]))
    for t, image in enumerate(gif):
        shown = panels_in(image, CONTEXT if t < 3 else ROLLOUT)
        np.testing.assert_array_equal(shown[0], np.broadcast_to(true[t], (HEIGHT, WIDTH, 3)))
        np.testing.assert_array_equal(shown[1], np.broadcast_to(ours[t], (HEIGHT, WIDTH, 3)))
        np.testing.assert_array_equal(shown[2], difference(true[t], ours[t]))
        timeline = image[-17]
        given, own, rest = (int((timeline == color).all(-1).sum()) for color in (CONTEXT, ROLLOUT, TRACK))
        whole = given + own + rest
        assert (given, own) == (round(whole * min(t + 1, 3) / 7), round(whole * (t + 1) / 7) - given)


@pytest.mark.parametrize(("rows", "panel_px"), [(["pred"], WIDTH), (["pred", "diff"], WIDTH), (["pred"], 8 * WIDTH)])
def test_what_stands_under_narrow_panels_is_whole_and_apart(rows, panel_px):
    """The frame's number on the left, what happens at it on the right, over a line as wide as both."""
    gif = film_frames(view_of(*films(horizon=11)), rows, panel_px=panel_px)
    for t in (0, 12):
        line = np.flatnonzero((gif[t][-17] != PAGE).any(-1))
        inked = np.flatnonzero((gif[t][-50:-20] != PAGE).any((0, 2)))
        gaps = np.diff(inked)
        assert gaps.max() > 10, "the widest gap is between the two"
        widths = inked[gaps.argmax()] - inked[0], inked[-1] - inked[gaps.argmax() + 1]
        words = f"frame {t + 1}", "context" if t == 0 else f"rollout step {t - 2}"
        np.testing.assert_allclose(widths, [text_width(text) for text in words], atol=3)
        assert 0 < line[0] <= inked[0] + 1
        assert inked[-1] - 2 <= line[-1] < gif.shape[2] - 1


@pytest.mark.parametrize(
    ("panels", "cells"),
    [
        (3, [(0, 0), (0, 1), (0, 2)]),
        (4, [(0, 0), (0, 1), (0, 2), (0, 3)]),
        (5, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]),
    ],
)
def test_panels_stand_in_lines_of_about_one_length(panels, cells):
    assert rendering._in_lines(panels) == cells


def test_every_pixel_becomes_a_square():
    context, truth, prediction, one_step = films(context=1)
    image = film_frames(view_of(context, truth, prediction, one_step), ["truth", "pred"], panel_px=SCALE * WIDTH)[2]
    left = rendering.MARGIN + rendering.BORDER
    top = 16 + rendering.LINE + rendering.BORDER
    panel = image[top : top + HEIGHT * SCALE, left : left + WIDTH * SCALE]
    small = np.broadcast_to(to_frames(truth)[1], (HEIGHT, WIDTH, 3))
    np.testing.assert_array_equal(panel, np.kron(small, np.ones((SCALE, SCALE, 1), np.uint8)))


def test_difference_says_missed_invented_agreed_and_mixes_them():
    truth = np.array([[255, 255, 0, 0, 255, 0]], np.uint8)[..., None]
    prediction = np.array([[255, 0, 255, 0, 102, 51]], np.uint8)[..., None]
    colours = difference(truth, prediction)[0]
    half = 0.4 * np.array(AGREED) + 0.6 * np.array(MISSED), 0.2 * np.array(INVENTED)
    np.testing.assert_array_equal(colours[:4], [AGREED, MISSED, INVENTED, (0, 0, 0)])
    np.testing.assert_array_equal(colours[4:], np.round(half))


def test_a_wrong_colour_has_a_colour_of_its_own():
    """Mixed from what is missed and what is invented it would be grey, as what is right."""
    black, red, green, yellow, faint = np.array(
        [[0, 0, 0], [255, 0, 0], [0, 255, 0], [255, 255, 0], [0, 51, 0]], np.uint8
    )
    shown = {
        (tuple(one), tuple(other)): difference(one[None, None], other[None, None])[0, 0]
        for one in (black, red, yellow)
        for other in (black, red, green, faint)
    }
    np.testing.assert_array_equal(shown[tuple(red), tuple(red)], AGREED)
    np.testing.assert_array_equal(shown[tuple(red), tuple(green)], DISCOLORED)
    np.testing.assert_array_equal(shown[tuple(red), tuple(black)], MISSED)
    np.testing.assert_array_equal(shown[tuple(black), tuple(green)], INVENTED)
    np.testing.assert_allclose(
        shown[tuple(red), tuple(faint)], 0.2 * np.array(DISCOLORED) + 0.8 * np.array(MISSED), atol=1
    )
    np.testing.assert_allclose(shown[tuple(yellow), tuple(red)], (np.array(AGREED) + MISSED) / 2, atol=0.5)


@pytest.mark.parametrize(
    ("context", "frames", "columns"), [(15, 50, 12), (3, 7, 12), (1, 30, 2), (8, 18, 12), (8, 25, 7)]
)
def test_strip_takes_even_steps_through_the_rollouts_first_frame_and_ends_with_the_last(context, frames, columns):
    shown = every_nth(context, frames, columns)
    assert context in shown
    assert 2 <= len(shown) <= columns
    assert len(set(np.diff(shown[:-1]))) <= 1
    assert 0 < shown[-1] - shown[-2] <= max(np.diff(shown[:-1]), default=frames)
    assert shown[0] >= 0
    assert shown[-1] == frames - 1


def test_strip_shows_every_row_of_every_column():
    context, truth, prediction, one_step = films()
    still = strip(view_of(context, truth, prediction, one_step), panel_px=4 * WIDTH)
    true, ours = to_frames(torch.cat([context, truth])), to_frames(torch.cat([context[:1], one_step, prediction]))
    rows = [np.broadcast_to(true, (*true.shape[:-1], 3)), np.broadcast_to(ours, (*ours.shape[:-1], 3))]
    rows.append(difference(true, ours))
    for row, frames in enumerate(rows):
        for column, frame in enumerate(frames):
            top = TOP + row * (4 * HEIGHT + GAP)
            left = NAMES + column * (4 * WIDTH + GAP) + (24 if column >= 3 else 0)
            cell = still[top : top + 4 * HEIGHT : 4, left : left + 4 * WIDTH : 4]
            np.testing.assert_array_equal(cell, frame)


def test_film_and_strip_are_drawn_as_suffixes_say_with_the_rows_and_the_time_per_frame_that_were_asked_for():
    view, paths = view_of(*films()), [Path(f"test-1.{kind}") for kind in ("gif", "png", "mp4")]
    contents = draw_view(view, paths, ["pred"], frame_ms=70)
    assert list(contents) == paths
    gif, png, mp4 = contents.values()
    np.testing.assert_array_equal(iio.imread(png), strip(view, ["pred"]))
    assert iio.imread(gif).shape == film_frames(view, ["pred"]).shape
    assert iio.immeta(gif)["duration"] == 70
    assert iio.immeta(mp4, plugin="pyav")["duration"] == pytest.approx(7 * 0.07)


def test_a_trace_is_blank_at_the_frame_that_nobody_predicts():
    """What a model did to predict frame t stands at t."""
    context, truth, prediction, one_step = (film[None] for film in films())
    did = torch.arange(6.0).view(1, 6, 1)
    view = view_of_rollout(Films(context, one_step, prediction, {"active": did}), truth, 0)
    np.testing.assert_array_equal(view.trace["active"], [[np.nan], [0], [1], [2], [3], [4], [5]])


def test_rollout_from_one_frame_can_be_drawn():
    view = view_of(*films(context=1))
    assert len(film_frames(view)) == 5
    assert strip(view, columns=2).shape[-1] == 3


@pytest.mark.slow
def test_pyplot_with_its_windows_and_global_figures_stays_out():
    code = "import videopred.rendering.encoding, sys; print('matplotlib.pyplot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("which", "change", "message"),
    [
        (1, lambda film: film[1:], r"truth must have the prediction's shape \(4, 1, 12, 20\), got \(3, 1, 12, 20\)"),
        (1, lambda film: film[..., 1:], r"truth must have the prediction's shape \(4, 1, 12, 20\), got .*19\)"),
        (2, lambda film: film * 3 - 1, r"film must lie in \[0, 1\], got values from -"),
    ],
)
def test_films_that_do_not_belong_together_are_refused(which, change, message):
    given = list(films())
    given[which] = change(given[which])
    with pytest.raises(ValueError, match=message):
        view_of(*given)


def test_a_strip_of_one_column_is_refused():
    with pytest.raises(ValueError, match="columns must be at least 2, got 1"):
        strip(view_of(*films()), columns=1)


def test_frames_and_steps_of_the_rollout_are_counted_from_1(monkeypatch):
    labels = labels_written(monkeypatch)
    film_frames(view_of(*films()), ["pred"])
    said = ["context"] * 3 + [f"rollout step {step}" for step in range(1, 5)]
    under = [label.text for label in labels if label.text != "prediction"]
    assert under == [text for t, state in enumerate(said, 1) for text in (f"frame {t}", state)]
    labels.clear()
    strip(view_of(*films()), ["pred"])
    frames, steps = sorted({label.y for label in labels if label.text.isdigit()})
    for y, numbers in ((frames, range(1, 8)), (steps, range(1, 5))):
        assert [label.text for label in labels if label.y == y and label.text.isdigit()] == list(map(str, numbers))


def test_a_strip_has_a_line_over_what_was_given_and_one_over_what_was_predicted():
    lines = strip(view_of(*films()), ("truth",))[TOP - 70]
    given, imagined = (np.flatnonzero((lines == color).all(-1)) for color in (CONTEXT, ROLLOUT))
    for columns, frames in ((given, 3), (imagined, 4)):
        assert len(columns) == np.ptp(columns) + 1 == frames * 6 * WIDTH + (frames - 1) * GAP
    assert given[-1] < imagined[0]
