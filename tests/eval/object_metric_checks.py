"""What every object metric must do, as checks of one metric each; run over OBJECT_METRICS, and over broken ones."""

from dataclasses import fields, replace

import pytest
import torch
from made_up_objects import (
    CLIPS,
    STEPS,
    as_predicted,
    blank,
    cut,
    in_another_order,
    lost,
    objects_with_hidden,
    stack,
    swapped,
)
from torch import Tensor

from videopred.eval.object_metric import ObjectMetric
from videopred.eval.objects import TRUTH, Objects


def cases() -> dict[str, Objects]:
    true = objects_with_hidden()
    wrong = (swapped(true, 3), lost(true, 2), blank(true))
    one_each = [cut(objects, slice(b, b + 1)) for b, objects in enumerate(wrong)]
    return {"perfect": as_predicted(true), "mixed": stack(one_each)}


def same(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12, equal_nan=True)


def check_shape(metric: ObjectMetric) -> None:
    for predicted in cases().values():
        measured = metric.measure(predicted, objects_with_hidden())
        for values in measured.values():
            assert values.shape == (CLIPS, STEPS)
            assert values.dtype == torch.float64
            assert values.isfinite().all()
        reduced = metric.reduce(measured)
        assert reduced.shape == (STEPS,)
        assert reduced.dtype == torch.float64


def check_perfect_is_best(metric: ObjectMetric) -> None:
    """A perfect prediction has the best value where it has one, and all values lie within the range."""
    true, found = objects_with_hidden(), 0
    low, high = metric.range
    for name, predicted in cases().items():
        values = metric.reduce(metric.measure(predicted, true))
        values = values[~values.isnan()]
        found += len(values)
        assert torch.all((low <= values) & (values <= high))
        if name == "perfect":
            torch.testing.assert_close(values, torch.full_like(values, metric.best), rtol=0, atol=1e-4)
    assert found


def check_names_do_not_matter(metric: ObjectMetric) -> None:
    """Predicted objects under other numbers, and columns that are never filled, change nothing."""
    true = objects_with_hidden()
    for predicted in (as_predicted(true), lost(true, 3)):
        ours, theirs = (metric.measure(objects, true) for objects in (predicted, in_another_order(predicted)))
        for key, values in ours.items():
            same(theirs[key], values)


def check_a_clip_stands_alone(metric: ObjectMetric) -> None:
    true, predicted = objects_with_hidden(), cases()["mixed"]
    together = metric.measure(predicted, true)
    for clip in range(CLIPS):
        alone = metric.measure(*(cut(objects, slice(clip, clip + 1)) for objects in (predicted, true)))
        for key, values in together.items():
            same(alone[key], values[clip : clip + 1])


def check_weights_count_clips(metric: ObjectMetric) -> None:
    """A clip of weight 2 counts like two of it, one of weight 0 like none."""
    true, predicted = objects_with_hidden(), cases()["mixed"]
    measured = metric.measure(predicted, true)
    copies = [1, 1, 2, 2, 2]
    repeated = metric.measure(*(stack([cut(one, slice(b, b + 1)) for b in copies]) for one in (predicted, true)))
    weighted = metric.reduce(measured, torch.tensor([0, 2, 3]))
    same(weighted, metric.reduce(repeated))


def check_draws_are_reduced_each(metric: ObjectMetric) -> None:
    """Several draws of the clips at once give what each gives by itself."""
    measured, draws = metric.measure(cases()["mixed"], objects_with_hidden()), torch.tensor([[0.0, 2, 3], [1, 0, 0]])
    same(metric.reduce_each(measured, draws.double()), torch.stack([metric.reduce(measured, draw) for draw in draws]))


def check_leaves_objects_alone(metric: ObjectMetric) -> None:
    true, predicted = objects_with_hidden(), cases()["mixed"]
    metric.measure(predicted, true)
    for objects, fresh in ((true, objects_with_hidden()), (predicted, cases()["mixed"])):
        for field in fields(objects):
            ours, theirs = getattr(objects, field.name), getattr(fresh, field.name)
            assert (ours is None) == (theirs is None)
            assert ours is None or torch.equal(ours.nan_to_num(-7), theirs.nan_to_num(-7))


def check_refusals(metric: ObjectMetric) -> None:
    true, predicted = objects_with_hidden(), cases()["perfect"]
    some = replace(predicted, positions=predicted.positions[:, :3], film=None, masks=None, own_masks=None)
    flat = replace(predicted, positions=predicted.positions[..., 0])
    for ours, theirs, message in (
        (some, true, r"predicted positions must have the clips and frames of the true ones, \(3, 8\), got \(3, 3\)"),
        (flat, true, r"predicted positions must have the axes \(clips, frames, objects, 2\).*got shape \(3, 8, 4\)"),
        (predicted, replace(true, radius=true.radius[:2]), r"true radius must have the axes \(clips, objects\)"),
        (*(_first_frame(objects) for objects in (predicted, true)), "true positions must have at least two frames"),
    ):
        with pytest.raises(ValueError, match=message):
            metric.measure(ours, theirs)
    assert metric.needs
    for name in set(metric.needs) - {"positions"}:
        with pytest.raises(ValueError, match=f"metric {metric.name} must have the truth {name}, got none; score other"):
            metric.measure(predicted, replace(true, **{TRUTH[name]: None}))


def _first_frame(objects: Objects) -> Objects:
    return Objects(objects.positions[:, :1])


CHECKS = (
    check_shape,
    check_perfect_is_best,
    check_names_do_not_matter,
    check_a_clip_stands_alone,
    check_weights_count_clips,
    check_draws_are_reduced_each,
    check_leaves_objects_alone,
    check_refusals,
)
