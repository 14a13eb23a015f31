"""Predictors that see several frames at once: what they see, what they remember, and that all else stays as it is."""

import pytest
import torch
from tiny_runs import CODEC, FRAMES, HEIGHT, WIDTH, tiny_data, tiny_model, tiny_training

from videopred.datasets.clip_file import ClipFile
from videopred.datasets.loader import FilmDataset
from videopred.frames import to_film
from videopred.judging import evaluate
from videopred.models import CORES, build
from videopred.models.predictor import Predictor
from videopred.models.settings import PredictorConfig
from videopred.models.stacking import Stacked, stack_frames
from videopred.rollout import roll_out


def predictor(core: str = "gru", stack: int = 3, channels: int = 1) -> Predictor:
    torch.manual_seed(0)
    config = tiny_model(core).model_copy(update={"stack": stack})
    return build(config, (channels, HEIGHT, WIDTH)).eval()


def test_what_is_seen_is_what_the_loader_stacks(tmp_path):
    data = tiny_data(tmp_path)
    plain, stacked = FilmDataset(data, "train"), FilmDataset(data, "train", stack=4)
    film = to_film(torch.stack([plain[0], plain[5]]))
    expected = to_film(torch.stack([stacked[0], stacked[5]]))
    assert torch.equal(stack_frames(film, 4)[0], expected)


def test_each_frame_stands_behind_those_before_it_with_its_channels_together():
    film = torch.rand(2, 5, 3, 4, 6)
    stacked, _ = stack_frames(film, 2)
    assert torch.equal(stacked[:, 1:, :3], film[:, :-1])
    assert torch.equal(stacked[:, :, 3:], film)
    assert torch.equal(stacked[:, 0, :3], film[:, 0])


@pytest.mark.parametrize("cut", [1, 2, 5])
def test_a_film_in_two_parts_is_stacked_as_a_whole(cut):
    film = torch.rand(2, 7, 3, 4, 5)
    whole, last = stack_frames(film, 4)
    first, recent = stack_frames(film[:, :cut], 4)
    second, again = stack_frames(film[:, cut:], 4, recent)
    assert torch.equal(torch.cat([first, second], 1), whole)
    assert torch.equal(again, last)
    assert torch.equal(last, film[:, -3:])


@pytest.mark.parametrize("core", CORES)
def test_predictions_go_on_from_a_state(core):
    model, film = predictor(core, channels=3), torch.rand(2, FRAMES, 3, HEIGHT, WIDTH)
    whole = model(film)
    first = model(film[:, :4])
    second = model(film[:, 4:], first.state)
    assert whole.logits.shape == film.shape
    torch.testing.assert_close(torch.cat([first.logits, second.logits], 1), whole.logits, atol=1e-5, rtol=1e-4)


def test_a_rollout_sees_its_own_frames_behind_the_next():
    """By hand: the whole film so far, true and predicted, is read again for each frame."""
    model, film = predictor(), torch.rand(2, 4, 1, HEIGHT, WIDTH)
    rollout = roll_out(model, film, 3)
    so_far = film
    for _ in range(3):
        so_far = torch.cat([so_far, torch.sigmoid(model(so_far).logits[:, -1:])], 1)
    torch.testing.assert_close(rollout.prediction, so_far[:, 4:])


def test_a_stack_of_one_is_no_stack():
    one, plain = predictor(stack=1), PredictorConfig(core=tiny_model().core, codec=CODEC)
    assert one.config == plain
    assert not isinstance(one(torch.rand(1, 2, 1, HEIGHT, WIDTH)).state, Stacked)


def test_a_stack_of_two_is_a_stack():
    assert predictor(stack=2)(torch.rand(1, 2, 1, HEIGHT, WIDTH)).state.recent.shape == (1, 1, 1, HEIGHT, WIDTH)


def test_a_state_of_another_kind_is_refused():
    model, film = predictor(), torch.rand(2, 3, 1, HEIGHT, WIDTH)
    with pytest.raises(ValueError, match=r"^state must hold the frames before, with stack above 1, got tuple; carry"):
        model(film, ())
    state = model(film).state
    with pytest.raises(ValueError, match=r"^state must hold frames \(3, 2, 1, 24, 32\), got \(2, 2, 1, 24, 32\)"):
        model(torch.rand(3, 1, 1, HEIGHT, WIDTH), state)


def test_a_run_that_sees_three_frames_is_trained_loaded_and_scored_from_its_folder_alone(tmp_path):
    from videopred.checkpoint import load_run
    from videopred.training.run import train

    data = tiny_data(tmp_path)
    config = tiny_model().model_copy(update={"stack": 3})
    run = train(data, config, tiny_training(), out=tmp_path / "run", device="cpu")
    loaded = load_run(run)
    assert loaded.config.stack == 3
    scores = evaluate(loaded, ClipFile(data), context=3, horizon=2, metrics=("mse",))
    assert scores.table()
