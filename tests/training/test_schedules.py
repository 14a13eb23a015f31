"""What changes with the updates done."""

import math

import pytest
from training_runs import learner

from videopred.training.schedules import share_of_step_size


def test_the_schedule():
    assert [share_of_step_size("constant", 40, update) for update in (0, 20, 39)] == [1, 1, 1]
    cosine = [share_of_step_size("cosine", 40, update) for update in range(40)]
    assert cosine[0] == pytest.approx(0.5)  # the first of two updates on the way up
    assert cosine[1] == pytest.approx((1 + math.cos(math.pi / 40)) / 2)
    assert cosine[20] == pytest.approx(0.5)
    assert cosine[30] == pytest.approx(0.5 - math.sqrt(0.125))
    assert cosine[1:] == sorted(cosine[1:], reverse=True)
    assert 0 < cosine[39] < 0.01
    assert share_of_step_size("cosine", 1, 0) == 1


def test_the_schedule_moves_the_step_size_at_each_update():
    (adam,), (entry,) = learner(updates=40, schedule="cosine", learning_rate=0.3).configure_optimizers()
    assert entry["interval"] == "step"
    sizes = []
    for _ in range(40):
        sizes.append(adam.param_groups[0]["lr"])
        adam.step()
        entry["scheduler"].step()
    assert sizes == pytest.approx([0.3 * share_of_step_size("cosine", 40, update) for update in range(40)])
