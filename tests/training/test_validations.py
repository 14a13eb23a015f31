"""What is remembered of the looks at the validation clips: the lowest loss, fruitless looks and decays, by hand."""

import pytest

from videopred.training.validations import ValidationHistory

FALLING = [5.0, 4.0, 4.5, 4.0, 3.0]


def after(losses: list[float], improvement: float = 0.0, patience: int = 2) -> ValidationHistory:
    """Looks after each tenth update."""
    history = ValidationHistory(improvement)
    for number, loss in enumerate(losses, 1):
        history.note(loss, 10 * number, patience)
    return history


def test_before_any_look_everything_is_lower():
    history = ValidationHistory(0.0)
    assert (history.latest, history.lowest, history.fruitless, history.decays) == (float("inf"), float("inf"), 0, 0)


def test_the_lowest_loss_and_when_it_was_seen_first():
    history = after(FALLING[:4])
    assert (history.latest, history.lowest, history.lowest_at) == (4.0, 4.0, 20)
    history = after(FALLING)
    assert (history.latest, history.lowest, history.lowest_at) == (3.0, 3.0, 50)


def test_fruitless_looks_are_counted_since_the_last_that_bore_fruit():
    counts = [after(FALLING[:number]).fruitless for number in range(1, 6)]
    assert counts == [0, 0, 1, 2, 0]


def test_every_patience_fruitless_looks_are_one_decay_and_a_lower_loss_begins_anew():
    level = [1.0] + [2.0] * 5
    assert [after(level[:number]).decays for number in range(1, 7)] == [0, 0, 1, 1, 2, 2]
    assert [after([1.0, 2.0, 0.9, 2.0, 2.0][:number]).decays for number in range(1, 6)] == [0, 0, 0, 0, 1]


def test_a_loss_must_be_lower_by_the_share_that_is_asked_for():
    """Of the last that was low enough, so that many small steps add up; also for losses below 0, as of densities."""
    assert [after([1.0, 0.95, 0.89][:number], 0.1).fruitless for number in (1, 2, 3)] == [0, 1, 0]
    assert [after([-1.0, -1.05, -1.11][:number], 0.1).fruitless for number in (1, 2, 3)] == [0, 1, 0]
    assert [after([20.0, 18.5, 17.5][:number], 0.1).fruitless for number in (1, 2, 3)] == [0, 1, 0]
    assert after([1.0, 0.9], 0.1).fruitless == 1  # lower by just as much is not lower by more
    history = after([1.0, 0.95], 0.1)
    assert (history.lowest, history.lowest_at) == (0.95, 20)


def test_what_is_no_number_is_never_lower():
    history = after([float("nan"), 2.0, float("nan")])
    assert (history.lowest, history.lowest_at, history.fruitless) == (2.0, 20, 1)


@pytest.mark.parametrize("cut", range(10))
def test_a_copy_goes_on_as_the_original_would(cut):
    losses = [5.0, 4.5, 6.0, 3.0, 4.7, 2.9, 2.5, 3.5, 2.7]
    whole, first = after(losses, 0.2), after(losses[:cut], 0.2)
    second = ValidationHistory(0.2)
    second.load_state_dict(first.state_dict())
    for number, loss in enumerate(losses[cut:], cut + 1):
        second.note(loss, 10 * number, 2)
    assert vars(second) == vars(whole)
