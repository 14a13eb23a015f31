"""Every entry of OBJECT_METRICS, and the table itself."""

from dataclasses import fields, replace

import pytest
from known_bad_objects import BAD_OBJECT_METRICS
from made_up_objects import CLIPS, as_predicted, objects_with_hidden
from object_metric_checks import CHECKS

from videopred.eval import METRICS, OBJECT_METRICS, make_metric
from videopred.eval.object_settings import CountConfig, KeptConfig
from videopred.eval.objects import TRUTH, Objects


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", OBJECT_METRICS)
def test_object_metric(name, check):
    check(make_metric(name))


@pytest.mark.parametrize("case", BAD_OBJECT_METRICS)
def test_each_check_catches_a_broken_metric(case):
    (check,) = (check for check in CHECKS if check.__name__ == case)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(BAD_OBJECT_METRICS[case])


def test_every_check_has_a_broken_metric_that_it_catches():
    assert set(BAD_OBJECT_METRICS) == {check.__name__ for check in CHECKS}


@pytest.mark.parametrize("name", OBJECT_METRICS)
def test_metric_describes_itself(name):
    metric = make_metric(name)
    assert metric.name == name
    assert metric.label
    assert len(metric.convention) > 20
    assert metric.convention.startswith(metric.unit)
    assert metric.range[0] < metric.range[1]
    assert set(metric.needs) <= set(TRUTH)


@pytest.mark.parametrize("name", OBJECT_METRICS)
def test_a_horizon_of_one_frame_is_enough(name):
    """But for what takes several to lose a clip, unless it is told that one will do."""
    settings_class, _ = OBJECT_METRICS[name]
    settings = settings_class(frames=1) if issubclass(settings_class, KeptConfig) else None
    true, metric = objects_with_hidden(), make_metric(name, settings)
    measured = metric.measure(*(one_frame_ahead(objects) for objects in (as_predicted(true), true)))
    assert {values.shape for values in measured.values()} == {(CLIPS, 1)}


def one_frame_ahead(objects: Objects) -> Objects:
    """The first two frames: the last observed one, and the first predicted one."""
    over_time = {field.name for field in fields(objects)} - {"radius", "mass"}
    known = {name: getattr(objects, name) for name in over_time}
    return replace(objects, **{name: values[:, :2] for name, values in known.items() if values is not None})


def test_no_name_means_two_metrics():
    assert not set(OBJECT_METRICS) & set(METRICS)


def test_unknown_and_foreign_settings_are_refused():
    message = r"--metrics must be one of bce, .* MODULE:CLASS, got posision; did you mean position\?"
    with pytest.raises(ValueError, match=message):
        make_metric("posision")
    with pytest.raises(TypeError, match="config must be a PositionConfig for position, got CountConfig"):
        make_metric("position", CountConfig())
