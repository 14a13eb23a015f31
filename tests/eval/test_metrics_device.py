"""Every metric on a device, a pretended one: its tensors are there, and its numbers the CPU's."""

from dataclasses import fields, replace

import pytest
import torch
from made_up_objects import objects_with_hidden
from metric_checks import films
from pretended_device import assert_same_there
from torch import Tensor

from videopred.eval import METRICS, OBJECT_METRICS, make_metric
from videopred.eval.metric import Metric
from videopred.eval.objects import Objects
from videopred.eval.pixel import MSE
from videopred.eval.settings import MSEConfig


def measured(metric: Metric, device: torch.device) -> Tensor:
    """Of a few small films: the score, from weighed clips."""
    prediction, truth = (film[:2, :2].to(device) for film in films())
    return metric.reduce(metric.measure(prediction, truth), torch.tensor([2.0, 1.0], device=device))


@pytest.mark.parametrize("name", METRICS)
def test_a_metric(name):
    assert_same_there(lambda device: measured(make_metric(name), device))


class MSEOfABorder(MSE):
    """Weighs pixels by numbers that it makes on the CPU."""

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        weights = torch.linspace(0, 2, truth.shape[-1])
        return {"mse": ((prediction - truth).square() * weights).mean((2, 3, 4)).double()}


def test_a_metric_that_forgets_the_device_is_noticed():
    with pytest.raises(RuntimeError, match="must have all tensors on one device"):
        assert_same_there(lambda device: measured(MSEOfABorder(MSEConfig()), device))


def objects_on(device: torch.device) -> Objects:
    objects = objects_with_hidden()
    values = {field.name: getattr(objects, field.name) for field in fields(objects)}
    return replace(objects, **{name: value.to(device) for name, value in values.items() if isinstance(value, Tensor)})


@pytest.mark.parametrize("name", OBJECT_METRICS)
def test_an_object_metric(name):
    metric = make_metric(name)

    def found(device: torch.device) -> Tensor:
        true = objects_on(device)
        predicted = replace(true, positions=true.positions + 0.25, own_masks=true.masks)
        return metric.reduce(metric.measure(predicted, true))

    assert_same_there(found)
