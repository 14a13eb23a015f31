"""Cross-entropy over the pixels of colliding objects, by hand."""

import math
from dataclasses import replace

import pytest
import torch
from made_up_objects import as_predicted, true_objects

from videopred.eval import make_metric
from videopred.eval.object_settings import CollisionBCEConfig

TRUE = true_objects()
METRIC = make_metric("collision-bce")


def test_only_pixels_of_colliding_objects_count_one_frame_later():
    """Ball 1 of every clip collides after frame 2, balls 2 and 3 of clip 1 after frame 4: see `drawn`."""
    grey = replace(as_predicted(TRUE), film=torch.full_like(TRUE.film, 0.25))
    measured = METRIC.measure(grey, TRUE)
    assert measured["count"].nonzero().tolist() == [[0, 2], [1, 2], [1, 4], [2, 2]]
    for clip, step in ((0, 2), (1, 2), (1, 4), (2, 2)):
        pixels = TRUE.collisions[clip, step]
        lit = (TRUE.film[clip, step + 1, 0] > 0)[pixels]
        expected = -(lit.sum() * math.log(0.25) + (~lit).sum() * math.log(0.75))
        assert measured["total"][clip, step].item() == pytest.approx(expected.item())
    values = METRIC.reduce(measured)
    assert values.isnan().tolist() == [True, True, False, True, False, True, True]
    assert values[4] == measured["total"][1, 4]


def test_what_happens_elsewhere_does_not_count():
    film = TRUE.film.clone()
    film[:, 1:][~TRUE.collisions[:, :-1].unsqueeze(2)] = 0.5
    assert METRIC.reduce(METRIC.measure(replace(as_predicted(TRUE), film=film), TRUE))[2] < 0.001


def test_clamp_is_the_cost_of_a_sure_miss():
    wrong = replace(as_predicted(TRUE), film=1 - TRUE.film)
    metric = make_metric("collision-bce", CollisionBCEConfig(clamp=0.01))
    assert metric.convention.endswith(", predictions clipped to [0.01, 1 - 0.01]")
    pixels = TRUE.collisions[1, 4].sum().item()
    assert metric.reduce(metric.measure(wrong, TRUE))[4].item() == pytest.approx(pixels * -math.log(0.01))


@pytest.mark.parametrize("lit", [0.0, 1.0])
def test_a_sure_miss_costs_as_much_where_it_is_dark_as_where_it_is_lit(lit):
    """Also with the usual clamp, so near to 1 that in float32 it would cost 0.1 % less."""
    true = replace(TRUE, film=torch.full_like(TRUE.film, lit))
    wrong = replace(as_predicted(TRUE), film=1 - true.film)
    pixels = TRUE.collisions[1, 4].sum().item()
    assert METRIC.reduce(METRIC.measure(wrong, true))[4].item() == pytest.approx(pixels * -math.log(1e-6))


@pytest.mark.parametrize("clamp", [1e-17, 1e-37])
def test_the_smallest_clamps_leave_a_value(clamp):
    """1 minus one of them is 1, whose complement has no logarithm."""
    metric = make_metric("collision-bce", CollisionBCEConfig(clamp=clamp))
    pixels = TRUE.collisions[1, 4].sum().item()
    for film, expected in ((TRUE.film, clamp), (1 - TRUE.film, -math.log(clamp))):
        value = metric.reduce(metric.measure(replace(as_predicted(TRUE), film=film), TRUE))[4].item()
        assert value == pytest.approx(pixels * expected)


def test_films_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"prediction must lie in \[0, 1\], got values from 0 to 2"):
        METRIC.measure(replace(as_predicted(TRUE), film=TRUE.film * 2), TRUE)
    with pytest.raises(ValueError, match="metric collision-bce must have the predicted film, got none"):
        METRIC.measure(replace(as_predicted(TRUE), film=None), TRUE)
