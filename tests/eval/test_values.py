"""Values of single metrics that can be worked out by hand."""

import math

import pytest
import torch

from videopred.eval import make_metric
from videopred.eval.settings import BCEConfig, F1Config, SSIMConfig


def test_bce_of_a_sure_mistake_is_the_clamp():
    """Of 3 x 5 pixels one is lit; predicted black, it costs -ln(clamp), and the 14 right ones 14 clamp."""
    truth = torch.zeros(1, 1, 1, 3, 5)
    truth[..., 1, 2] = 1
    for clamp in (1e-6, 1e-3):
        score = make_metric("bce", BCEConfig(clamp=clamp)).measure(torch.zeros_like(truth), truth)["bce"].item()
        assert score == pytest.approx(-math.log(clamp) - 14 * math.log1p(-clamp), rel=1e-12)


def test_bce_of_one_half_is_ln2_per_pixel_whatever_the_truth():
    truth = torch.rand(2, 3, 1, 4, 5)
    score = make_metric("bce").measure(torch.full_like(truth, 0.5), truth)["bce"]
    torch.testing.assert_close(score, torch.full((2, 3), 20 * math.log(2), dtype=torch.float64))


def test_mse_is_a_mean_over_channels_and_pixels():
    truth = torch.zeros(1, 2, 3, 4, 5)
    prediction = torch.zeros_like(truth)
    prediction[0, 1, 2, 3, 4] = 0.5
    assert make_metric("mse").measure(prediction, truth)["mse"].tolist() == [[0, 0.25 / 60]]


def test_f1_pools_counts_over_clips():
    """Clip 0: 3 hits of 3; clip 1: one invented pixel, nothing there. Pooled 6/7; the mean over clips would be 1/2."""
    truth = torch.zeros(2, 1, 1, 3, 4)
    truth[0, 0, 0, 0, :3] = 1
    prediction = truth.clone()
    prediction[1, 0, 0, 2, 2] = 0.5  # exactly the threshold is lit
    metric = make_metric("f1")
    measured = metric.measure(prediction, truth)
    assert {key: values.flatten().tolist() for key, values in measured.items()} == {
        "tp": [3, 0],
        "fp": [0, 1],
        "fn": [0, 0],
        "tn": [9, 11],
    }
    assert metric.reduce(measured).tolist() == [6 / 7]
    assert make_metric("f1", F1Config(threshold=0.6)).measure(prediction, truth)["fp"].sum() == 0


def test_f1_of_nothing_in_either_film_is_one():
    black = torch.zeros(2, 3, 1, 4, 5)
    metric = make_metric("f1")
    assert metric.reduce(metric.measure(black, black)).tolist() == [1, 1, 1]


def test_two_black_frames_are_perfectly_similar():
    black = torch.zeros(1, 2, 1, 12, 15)
    assert make_metric("ssim").measure(black, black)["ssim"].tolist() == [[1, 1]]


def test_long_clips_are_measured_in_blocks():
    """70 frames need two blocks; the score of a frame does not tell where the border was."""
    truth = torch.rand(1, 70, 1, 11, 13).round()
    prediction = torch.rand(1, 70, 1, 11, 13)
    metric = make_metric("ssim")
    whole, tail = (metric.measure(prediction[:, start:], truth[:, start:])["ssim"] for start in (0, 60))
    torch.testing.assert_close(whole[:, 60:], tail, rtol=1e-5, atol=1e-6)


def test_expanded_films_are_measured_like_whole_ones():
    truth = torch.rand(2, 5, 1, 12, 15).round()
    frame = torch.rand(2, 1, 1, 12, 15)
    metric = make_metric("ssim")
    view = metric.measure(frame.expand_as(truth), truth)["ssim"]
    assert torch.equal(view, metric.measure(frame.expand_as(truth).contiguous(), truth)["ssim"])


def test_ssim_of_frames_below_the_window_is_refused():
    small = torch.zeros(1, 1, 1, 10, 15)
    with pytest.raises(ValueError, match=r"frames must be at least 11 x 11 px for SSIM, got 10 x 15; score larger"):
        make_metric("ssim").measure(small, small)
    assert make_metric("ssim", SSIMConfig(window=9)).measure(small, small)["ssim"].item() == 1
