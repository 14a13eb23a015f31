"""Strips of frames, as the papers print them: what is shown, what is said of it, and how it is marked."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from view_samples import CONTEXT, FRAMES, trace, view

from videopred import palette
from videopred.palette import MARK
from videopred.rendering.canvas import hue
from videopred.rendering.clip_view import ClipView
from videopred.rendering.film_rows import laid_over
from videopred.rendering.paper_figures import COLUMNS, active_strips, strip_figure

STRIPS = [(0, 5), (5, 8), (8, 12)]


@pytest.mark.parametrize("channels", [1, 3])
def test_a_strip_of_several_models_has_a_row_for_each_and_their_names(channels):
    films = np.random.default_rng(3).integers(0, 256, (3, FRAMES, 12, 20, channels), np.uint8)
    theirs = ClipView(CONTEXT, films[0], films[2], model="theirs")
    both = ClipView(CONTEXT, films[0], films[1], model="ours", beside=[theirs])
    plots = strip_figure([both]).axes
    rows = [films[0]] * (channels == 3) + [films[1], films[2]]
    if channels == 1:
        rows = [laid_over(films[0], film) for film in rows]
    assert len(plots) == len(rows) * FRAMES  # all frames fit
    for row, film in enumerate(rows):
        for t in range(FRAMES):
            np.testing.assert_array_equal(plots[row * FRAMES + t].images[0].get_array(), film[t])
    names = [plot.get_ylabel() for plot in plots[::FRAMES]]
    assert names == ["truth"] * (channels == 3) + ["ours", "theirs"]
    assert not any(plot.get_ylabel() for plot in strip_figure([both._replace(beside=())]).axes)


def test_names_of_several_models_stand_clear_of_each_other_and_of_the_edge():
    names = ["RIMs", "one head", "no input attention", "rims-balls4-lstm-small", "a$_{$b"]
    first, *others = (view(model=name) for name in names)
    figure = strip_figure([first._replace(beside=others)])
    figure.draw_without_rendering()
    labels = [plot.yaxis.label for plot in figure.axes[::FRAMES]]
    boxes = [label.get_window_extent() for label in labels]
    assert [label.get_text().replace("\\$", "$") for label in labels] == names
    assert all(box.x0 >= 0 for box in boxes)
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert all(box.x1 <= plot.get_window_extent().x0 for box, plot in zip(boxes, figure.axes[::FRAMES], strict=True))


def test_all_of_a_frame_is_seen_within_its_border():
    """Whose lines lie half to either side of where they are; and in PDF and SVG as it is, not resampled."""
    films = np.random.default_rng(0).integers(0, 256, (2, 30, 12, 20, 1), np.uint8)
    plots = strip_figure([ClipView(CONTEXT, *films)]).axes
    widths = set()
    for plot in plots:
        for spine in plot.spines.values():
            where, by = spine.get_position()
            assert where == "outward"
            assert 0 < spine.get_linewidth() / 2 - by < 0.5, "points of 72 to the inch"
            widths.add(spine.get_linewidth())
        assert plot.images[0].get_interpolation() == "none"
    assert len(widths) == 2


@pytest.mark.parametrize(("height", "width"), [(12, 20), (20, 12)])
def test_frames_of_a_strip_take_its_width_and_all_of_its_height_but_the_text(height, width):
    films = np.random.default_rng(0).integers(0, 256, (2, FRAMES, height, width, 1), np.uint8)
    figure = strip_figure([ClipView(CONTEXT, *films)])
    figure.draw_without_rendering()
    frame = figure.axes[0].get_window_extent()
    assert frame.width * FRAMES / figure.dpi > 6
    assert figure.get_figheight() - frame.height / figure.dpi < 0.9  # inches


@pytest.mark.parametrize(("frames", "marked"), [(30, True), (45, True), (12, False)])
def test_the_strip_marks_rollout_step_10_in_red(frames, marked):
    chance = np.random.default_rng(0)
    films = chance.integers(0, 256, (2, frames, 12, 20, 1), np.uint8)
    figure = strip_figure([ClipView(CONTEXT, *films)])
    plots = figure.axes
    assert figure.get_suptitle().endswith("; red: step 10") == marked
    red = [plot for plot in plots if to_rgb(plot.spines["left"].get_edgecolor()) == tuple(c / 255 for c in MARK)]
    assert [(plot.get_title(), plot.get_xlabel()) for plot in red] == ([(str(CONTEXT + 10), "10")] if marked else [])
    assert len(plots) <= COLUMNS
    for plot in plots:
        t = int(plot.get_title()) - 1
        np.testing.assert_array_equal(plot.images[0].get_array(), laid_over(films[0, t], films[1, t]))
        assert plot.get_xlabel() == (str(t + 1 - CONTEXT) if t >= CONTEXT else "given")


def test_the_strip_of_a_film_in_color_leaves_its_colors_alone():
    chance = np.random.default_rng(0)
    films = chance.integers(0, 256, (2, 12, 12, 20, 3), np.uint8)
    plots = np.reshape(strip_figure([ClipView(CONTEXT, *films)]).axes, (2, -1))
    for row, film in zip(plots, films, strict=True):
        for plot, above, below in zip(row, *plots, strict=True):
            np.testing.assert_array_equal(plot.images[0].get_array(), film[int(above.get_title()) - 1])
            assert below.get_xlabel() in ("given", str(int(above.get_title()) - CONTEXT))


def test_strips_are_grey_where_their_modules_read_them():
    there = view(strips=STRIPS)
    plots = active_strips([there]).axes
    assert [int(plot.get_title()) for plot in plots] == list(range(1, FRAMES))  # but for the last, which is not read
    for t, plot in enumerate(plots):
        plain, drawn = laid_over(there.truth[t], there.prediction[t]), plot.images[0].get_array()
        for (first, end), is_active in zip(there.strips, trace()["active"][t + 1], strict=True):
            lit = 90 if is_active else 0  # what black becomes; white stays
            np.testing.assert_allclose(drawn[first:end], lit + plain[first:end] / 255 * (255 - lit), atol=1)


def test_the_strip_says_of_every_frame_whether_it_was_given():
    plots = strip_figure([view()]).axes
    steps = range(1, FRAMES - CONTEXT + 1)
    assert [plot.get_xlabel() for plot in plots] == ["given"] * CONTEXT + [str(step) for step in steps]
    borders = [to_rgb(plot.spines["left"].get_edgecolor()) for plot in plots]
    assert borders == [hue(palette.CONTEXT)] * CONTEXT + [hue(palette.ROLLOUT)] * len(steps)


def test_the_strip_of_a_film_without_step_10_shows_the_first_frame_of_the_rollout():
    films = np.zeros((2, 13, 12, 20, 1), np.uint8)
    assert "1" in [plot.get_xlabel() for plot in strip_figure([ClipView(5, *films)]).axes]


def test_the_words_over_a_strip_say_what_stands_where():
    colored = ClipView(CONTEXT, *np.zeros((2, FRAMES, 12, 20, 3), np.uint8))
    figures = [strip_figure([one]) for one in (view(), colored, colored._replace(beside=[colored]))]
    assert [
        figure.get_suptitle().partition("; ")[2] for figure in (*figures, active_strips([view(strips=STRIPS)]))
    ] == [
        "truth in blue over the prediction",
        "upper row the truth, lower row the prediction",
        "predictions below the truth",
        "truth in blue over the prediction, strips of active modules grey",
    ]
