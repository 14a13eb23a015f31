"""What changes with the updates done, each against its definition."""

import csv
import math

import pytest
from tiny_runs import tiny_model, tiny_training

from videopred.training.run import train
from videopred.training.schedules import own_frames, share_of_samples, share_of_step_size, without_effect


def shares(updates: int, **settings: object) -> list[float]:
    training = tiny_training(updates=updates, **settings)
    return [share_of_step_size(training, update, 0) for update in range(updates)]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"free_running": 3, "grow_over": 5}, None),
        (
            {"free_running": 3, "grow_over": 6},
            "--grow-over 6 is not shorter than the training: at its end 2 of the 3",
        ),
        ({"sampling": "linear", "sampling_over": 6}, None),
        ({"sampling": "linear", "sampling_over": 7}, "--sampling-over 7 is longer than the training, which ends on"),
        ({"schedule": "step", "decay_every": 5}, None),
        ({"schedule": "step", "decay_every": 6}, "--decay-every 6 is not shorter than the training: no step is taken"),
        ({"schedule": "plateau", "validate_every": 1, "patience": 4}, None),
        (
            {"schedule": "plateau", "validate_every": 2, "patience": 2},
            "with --patience 2 needs more than 3 vali",
        ),
    ],
)
def test_what_a_training_is_too_short_for_is_said(settings, told):
    said = without_effect(tiny_training(**{"updates": 6, "validate_every": 3} | settings))
    assert bool(said) == (told is not None)
    assert (told or "") in "".join(said)


def test_it_stands_in_the_log(data, tmp_path):
    settings = tiny_training(updates=2, validate_every=1, schedule="plateau")
    run = train(data, tiny_model("gru"), settings, out=tmp_path / "run", device="cpu")
    assert "--schedule plateau with --patience 5 needs more than 2 validations\n" in (run / "log.txt").read_text()


def test_the_cosine():
    assert set(shares(40)) == {1}
    cosine = shares(40, schedule="cosine")
    assert cosine[0] == pytest.approx(0.5)  # the first of two updates on the way up
    assert cosine[1] == pytest.approx((1 + math.cos(math.pi / 40)) / 2)
    assert cosine[20] == pytest.approx(0.5)
    assert cosine[30] == pytest.approx(0.5 - math.sqrt(0.125))
    assert cosine[1:] == sorted(cosine[1:], reverse=True)
    assert 0 < cosine[39] < 0.01
    assert shares(1, schedule="cosine") == [1]


def test_steps():
    assert shares(7, schedule="step", decay_every=3) == [1, 1, 1, 0.5, 0.5, 0.5, 0.25]
    assert shares(3, schedule="step", decay_every=1, decay=0.1) == pytest.approx([1, 0.1, 0.01])


def test_the_plateau_has_no_clock():
    """It only goes by how often the loss stopped falling."""
    training = tiny_training(schedule="plateau")
    assert [share_of_step_size(training, 99, decays) for decays in range(3)] == [1, 0.5, 0.25]


def test_the_schedule_moves_the_step_size_at_each_update(data, tmp_path):
    """Adam's own size of step, as the weights of a plain decay show: the logged ones are those it used."""
    settings = tiny_training(updates=4, schedule="step", decay_every=2, learning_rate=0.3)
    run = train(data, tiny_model(), settings, out=tmp_path / "run", device="cpu")
    with (run / "logs" / "metrics.csv").open() as file:
        sizes = [float(row["learning_rate"]) for row in csv.DictReader(file) if row["learning_rate"]]
    assert sizes == pytest.approx([0.3, 0.3, 0.15, 0.15])


def test_own_frames_grow():
    training = tiny_training(free_running=3, grow_over=6)
    assert [own_frames(training, update) for update in range(10)] == [0, 0, 1, 1, 2, 2, 3, 3, 3, 3]
    assert own_frames(tiny_training(free_running=3), 0) == 3
    assert own_frames(tiny_training(), 5) == 0


@pytest.mark.parametrize("law", ["linear", "exponential", "sigmoid"])
def test_samples_become_more_and_then_stay(law):
    training = tiny_training(updates=90, sampling=law, sampling_over=60, sampling_share=0.8)
    chances = [share_of_samples(training, update) for update in range(90)]
    assert 0 <= chances[0] < 0.08
    assert chances[:61] == sorted(chances[:61])
    assert chances[60] == pytest.approx(0.8, abs=0.07)
    assert set(chances[60:]) == {chances[60]}


def test_the_laws_of_sampling():
    """Bengio et al. 2015, section 2.4: 1 - c i, k ** i, and k / (k + exp(i / k)), each with its constant by hand."""

    def chance(law: str, update: int) -> float:
        return share_of_samples(tiny_training(updates=60, sampling=law), update)

    assert chance("linear", 15) == pytest.approx(0.25)
    assert chance("exponential", 30) == pytest.approx(1 - 0.1)
    assert chance("sigmoid", 30) == pytest.approx(0.5, abs=1e-6)
    k = 12.052  # 2 k ln k = 60.00
    assert chance("sigmoid", 12) == pytest.approx(1 - k / (k + math.exp(12 / k)), abs=1e-4)
    assert share_of_samples(tiny_training(), 5) == 0
