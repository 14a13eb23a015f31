"""The trivial baselines, by hand on tiny films."""

import pytest
import torch

from videopred.eval import baselines, make_metric
from videopred.eval.baselines import TrainingStatistics


def strip(*rows: str) -> torch.Tensor:
    """A film (1, T, 1, 1, W) of frames written as digits: tenths of full brightness, `x` is 1."""
    tenths = [[10 if pixel == "x" else int(pixel) for pixel in row] for row in rows]
    return torch.tensor(tenths).float().div(10).view(1, len(rows), 1, 1, -1)


def test_blank_and_copy_last():
    context = torch.rand(2, 3, 1, 4, 5)
    assert torch.equal(baselines.blank(context, 6), torch.zeros(2, 6, 1, 4, 5))
    copied = baselines.copy_last(context, 6)
    assert copied.shape == (2, 6, 1, 4, 5)
    assert all(torch.equal(copied[:, step], context[:, 2]) for step in range(6))


def test_mean_frame_is_over_all_frames_of_all_training_clips():
    """Two clips of four frames; the first pixel is lit in 5 of 8, the second in 2, the third holds 0.4 once."""
    statistics = TrainingStatistics(1, 2, (1, 1, 3))
    statistics.update(strip("x00", "xx0", "x00", "x00"))
    statistics.update(strip("x00", "000", "0x4", "000"))
    torch.testing.assert_close(statistics.mean_frame.flatten(), torch.tensor([5, 2, 0.4]).double() / 8)
    film = baselines.mean_frame(torch.zeros(3, 1, 1, 1, 3), statistics)
    assert film.shape == (3, 2, 1, 1, 3)
    torch.testing.assert_close(film[2, 1].flatten(), torch.tensor([0.625, 0.25, 0.05]))


def test_chances_by_hand():
    """Last context frame `xx000`: one of 2 lit pixels stays at step 1, none at step 2; dark ones 1/3, then 0.6/3."""
    statistics = TrainingStatistics(2, 2, (1, 1, 5))
    statistics.update(strip("0xxx0", "xx000", "x0x00", "00060", "xxxxx"))
    torch.testing.assert_close(statistics.chances, torch.tensor([[1 / 3, 0.6 / 3], [1 / 2, 0]]).double())
    film = baselines.copy_last_calibrated(strip("xx0", "04x"), statistics)
    expected = torch.tensor([[1 / 3, 1 / 3, 1 / 2], [0.2, 0.2, 0]])
    torch.testing.assert_close(film.view(2, 3), expected)


def test_a_pixel_is_lit_from_half_of_white_on():
    statistics = TrainingStatistics(1, 1, (1, 1, 2))
    statistics.update(strip("54", "x0"))
    assert statistics.chances.tolist() == [[0], [1]]
    assert baselines.copy_last_calibrated(strip("45"), statistics).flatten().tolist() == [0, 1]


def test_processes_add_up_what_they_have_seen():
    """Two that have seen a film each know what one knows that has seen both; a third has seen nothing."""
    films = torch.rand(2, 6, 1, 4, 7)
    whole = TrainingStatistics(2, 3, (1, 4, 7))
    whole.update(films)
    ours, others = (TrainingStatistics(2, 3, (1, 4, 7)) for _ in range(2))
    ours.update(films[:1])
    others.update(films[1:])
    theirs: list[torch.Tensor] = []
    others.add_up(lambda values: (theirs.append(values), values)[1])
    ours.add_up(lambda values: values + theirs.pop(0))
    torch.testing.assert_close(ours.mean_frame, whole.mean_frame, rtol=1e-14, atol=0)
    torch.testing.assert_close(ours.chances, whole.chances, rtol=1e-14, atol=0)


def test_chance_of_pixels_never_lit_is_that_of_all():
    statistics = TrainingStatistics(1, 2, (1, 1, 4))
    statistics.update(strip("0000", "x000", "xx00"))
    torch.testing.assert_close(statistics.chances, torch.tensor([[0.25, 0.5], [0.25, 0.5]]).double())


@pytest.mark.parametrize("at_once", [2.01, 0.99])
def test_batches_give_what_one_batch_gives(monkeypatch, at_once):
    """Also where a batch is taken in parts, which stay in the cache: two clips at a time, or one that is larger."""
    films = torch.rand(5, 7, 3, 4, 6)
    whole, parts = TrainingStatistics(2, 4, (3, 4, 6)), TrainingStatistics(2, 4, (3, 4, 6))
    whole.update(films)
    monkeypatch.setattr(baselines, "_AT_ONCE", int(at_once * films[0].numel()))
    for batch in films.split([1, 4]):
        parts.update(batch)
    torch.testing.assert_close(parts.mean_frame, whole.mean_frame, rtol=1e-12, atol=0)
    torch.testing.assert_close(parts.chances, whole.chances, rtol=1e-12, atol=0)


def test_no_other_constants_beat_the_calibrated_copy_on_its_own_training_clips():
    films = (torch.rand(6, 5, 1, 7, 9) < 0.3).float()
    statistics = TrainingStatistics(2, 3, (1, 7, 9))
    statistics.update(films)
    context, truth = films[:, :2], films[:, 2:]
    bce = make_metric("bce")

    def score(prediction: torch.Tensor) -> torch.Tensor:
        return bce.reduce(bce.measure(prediction, truth))

    calibrated = baselines.copy_last_calibrated(context, statistics)
    best = score(calibrated)
    lit = (context[:, -1:] >= 0.5).expand_as(truth)
    for pixels in (lit, ~lit):
        for nudge in (-0.02, 0.02):
            assert torch.all(score(torch.where(pixels, calibrated + nudge, calibrated)) > best)
    assert torch.all(score(baselines.copy_last(context, 3)) > best)


def test_training_clips_that_are_too_short_are_refused():
    with pytest.raises(ValueError, match="training clips must have 9 frames, got 8; lower --horizon"):
        TrainingStatistics(4, 5, (1, 2, 3)).update(torch.zeros(1, 8, 1, 2, 3))
