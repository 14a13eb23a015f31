"""The picture of what modules did."""

import numpy as np

from videopred.palette import OBJECT_COLORS, PAGE, SCHEMA_COLORS, TRACK
from videopred.rendering.activity_figure import activity_figure, drawable, first_modules
from videopred.rendering.canvas import pixels

STEPS, MODULES, CONTEXT = 7, 2, 3


def active(module: int | None = None) -> dict[str, np.ndarray]:
    """Blank, then seven steps, of which three read what is given; from step 3 on one module of 2 is active, or none."""
    trace = np.zeros((1 + STEPS, MODULES))
    trace[0] = np.nan
    if module is not None:
        trace[CONTEXT:, module] = 1
    return {"active": trace}


def test_what_has_a_number_for_each_module_is_drawn():
    axes = {"active": "K", "input_attention": "heads K L", "layer0.top_down": "K", "phase": ""}
    assert drawable(axes.keys(), axes | {"gone": "K"}) == ["active", "layer0.top_down"]


def test_the_step_that_led_to_the_first_imagined_frame_stands_right_of_the_line():
    figure = activity_figure(active(1), CONTEXT)
    (plot,) = figure.axes
    (image,) = plot.images
    drawn = np.asarray(image.get_array())  # a row for each module, a column for each frame
    assert drawn.shape == (MODULES, STEPS + 1, 3)
    assert (drawn[:, 0] == TRACK).all()
    assert (drawn[1, CONTEXT:] == OBJECT_COLORS[1]).all()
    assert (drawn[0, 1:] == 255).all()
    assert (drawn[1, 1:CONTEXT] == 255).all()
    assert tuple(image.get_extent()[:2]) == (0.5, STEPS + 1.5)
    lines = [line.get_xdata()[0] for line in plot.lines if len(set(line.get_xdata())) == 1]
    assert lines == [CONTEXT + 0.5]


def test_shares_are_fainter_colours_and_schemata_have_their_own():
    half = np.full((1 + STEPS, 3), 0.5)
    chosen = np.arange(-1.0, STEPS)[:, None] % 2 * np.ones(3)
    chosen[3] = -1
    share, schema = (plot.images[0].get_array() for plot in activity_figure({"a": half, "schema": chosen}, 3).axes)
    np.testing.assert_allclose(share[2, 1], (OBJECT_COLORS[2] + 255.0) / 2, atol=1)
    assert (schema[:, 1] == SCHEMA_COLORS[0]).all()
    assert (schema[:, 2] == SCHEMA_COLORS[1]).all()
    assert (schema[:, 3] == PAGE).all(), "none"


def test_only_the_band_of_an_active_module_changes():
    resting, image = (pixels(activity_figure(active(module), CONTEXT)) for module in (None, 1))
    assert image.shape == resting.shape
    changed = np.argwhere((image != resting).any(2))
    assert changed[:, 0].min() > image.shape[0] * 0.25  # the lower module
    assert (image[tuple(changed.T)] == OBJECT_COLORS[1]).all(1).mean() > 0.9


def test_modules_of_a_higher_layer_go_on_in_number_and_colour_where_the_lower_ends():
    """As in rows of films, and for --without."""
    sizes = {"layer0.active": 3, "layer0.top_down": 3, "layer1.active": 2}
    panels = {name: np.ones((1 + STEPS, size)) for name, size in sizes.items()}
    assert first_modules(panels) == {"layer0.active": 0, "layer0.top_down": 0, "layer1.active": 3}
    plot = activity_figure(panels, CONTEXT).axes[-1]
    assert [label.get_text() for label in plot.get_yticklabels()] == ["3", "4"]
    np.testing.assert_array_equal(np.asarray(plot.images[0].get_array())[:, 1], OBJECT_COLORS[3:5])


def test_bands_are_of_object_files_where_one_says_which_schema_was_chosen():
    chosen = active(1) | {"schema": np.zeros((1 + STEPS, MODULES))}
    for panels, word in ((active(1), "module"), (chosen, "object file")):
        assert {plot.get_ylabel() for plot in activity_figure(panels, CONTEXT).axes} == {word}
