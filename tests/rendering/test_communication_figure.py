"""The figure of who hears whom: which numbers it shows, of which layers, modules and frames."""

import numpy as np
import pytest
from view_samples import CONTEXT, FRAMES, view

from videopred.palette import INK, PAGE
from videopred.rendering.communication_figure import communication, measure

SIZES = (3, 2)


def heard(seed: int = 0, **more: np.ndarray):
    """A view of two layers of 3 and 2 modules with two heads."""
    chance = np.random.default_rng(seed)
    trace = {
        f"layer{layer}.comm_attention": chance.dirichlet(np.ones(size), (FRAMES, 2, size))
        for layer, size in enumerate(SIZES)
    }
    for values in trace.values():
        values[0] = np.nan
    return view(trace=trace | more)


def test_means_are_of_all_clips_and_of_the_steps_at_which_the_listener_is_active():
    views = []
    for seed in range(2):
        active = [np.ones((FRAMES, size)) for size in SIZES]
        active[0][CONTEXT:, 1], active[1][CONTEXT + 1 :, 0], active[1][:, 1] = seed, 0, 0
        views.append(heard(seed, **{f"layer{layer}.active": of for layer, of in enumerate(active)}))
    low, high = measure(views, slice(CONTEXT, None))
    both = [view.trace["layer0.comm_attention"][CONTEXT:].mean(1) for view in views]
    np.testing.assert_allclose(low[[0, 2]], np.concatenate(both).mean(0)[[0, 2]])
    np.testing.assert_allclose(low[1], both[1].mean(0)[1], err_msg="module 1 rests in the first clip")
    first = np.mean([view.trace["layer1.comm_attention"][CONTEXT].mean(0) for view in views], 0)
    np.testing.assert_allclose(high[0], first[0])
    assert np.isnan(high[1]).all()
    every = measure([heard()], slice(1, CONTEXT))
    np.testing.assert_allclose(every[0], heard().trace["layer0.comm_attention"][1:CONTEXT].mean((0, 1)))
    assert measure([heard()], slice(FRAMES, None)) == []


@pytest.mark.parametrize(("context", "spans"), [(CONTEXT, ["context", "rollout"]), (1, ["rollout"])])
def test_a_cell_has_the_mean_of_its_pair_and_the_top_layer_is_above(context, spans):
    there = heard()._replace(context=context)
    figure = communication([there])
    plots = np.reshape(figure.axes, (2, len(spans)))
    assert [plot.get_title(loc="left") for plot in plots.ravel()] == [
        f"{span}, layer {layer}" for layer in (1, 0) for span in spans
    ]
    (upper,), (lower,) = plots[:, -1:]
    assert [label.get_text() for label in upper.get_yticklabels()] == ["3", "4"]
    assert (lower.get_ylabel(), lower.get_xlabel()) == (
        ("module that hears" if len(spans) == 1 else ""), "module that is heard",
    )  # fmt: skip
    low, high = measure([there], slice(context, None))
    for plot, shares in ((lower, low), (upper, high)):
        assert {(*text.get_position()[::-1], text.get_text()) for text in plot.texts} == {
            (*place, f"{share:.2f}") for place, share in np.ndenumerate(shares)
        }
        mixed = shares[..., None] * np.array(INK) + (1 - shares[..., None]) * np.array(PAGE)
        np.testing.assert_allclose(plot.images[0].get_array(), mixed, atol=0.5)


def test_where_modules_share_attention_with_the_input_it_is_the_last_column():
    """As in RMC; a core whose modules read and hear by themselves has no such column."""
    shares = np.random.default_rng(3).dirichlet(np.ones(4), (FRAMES, 2, 3))  # T, heads, K, K + 1
    shares[0] = np.nan
    there = view(trace={"comm_attention": shares[..., :3], "input_attention": shares[..., 3:]})
    (found,) = measure([there], slice(CONTEXT, None))
    np.testing.assert_allclose(found, shares[CONTEXT:].mean((0, 1)))
    plot = communication([there]).axes[1]
    assert [label.get_text() for label in plot.get_xticklabels()] == ["0", "1", "2", "input"]
    assert [label.get_text() for label in plot.get_yticklabels()] == ["0", "1", "2"]
    rounded = view(trace={"comm_attention": 1.004 * shares[..., :3], "input_attention": 1.004 * shares[..., 3:]})
    assert measure([rounded, there], slice(CONTEXT, None))[0].shape == (3, 4)
    whole = shares[..., :3] / shares[..., :3].sum(-1, keepdims=True)
    for heard_alone, read in ((shares[..., :3], shares[..., :3]), (whole, 0 * shares[..., 3:])):
        apart = view(trace={"comm_attention": heard_alone, "input_attention": read})
        (found,) = measure([apart], slice(CONTEXT, None))
        np.testing.assert_allclose(found, heard_alone[CONTEXT:].mean((0, 1)))


def test_a_module_that_never_hears_has_dashes():
    active = np.ones((FRAMES, 3))
    active[:, 1] = 0
    trace = {"comm_attention": np.full((FRAMES, 1, 3, 3), 0.25), "active": active}
    figure = communication([view(trace=trace)])
    assert figure.get_supxlabel().startswith("over 1 clip; ")
    told = {(text.get_position()[1], text.get_text()) for text in figure.axes[1].texts}
    assert told == {(0, "0.25"), (1, "–"), (2, "0.25")}
    assert figure.axes[1].get_title(loc="left") == "rollout"
