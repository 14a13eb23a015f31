"""Values of single metrics that can be worked out by hand."""

import math
import re

import pytest
import torch
from skimage.metrics import structural_similarity

from videopred.eval import METRICS, frame_metric, make_metric
from videopred.eval.frame_metric import Frames, measure_all
from videopred.eval.metric import Metric
from videopred.eval.pixel import bce_of_logits
from videopred.eval.settings import (
    BCEConfig,
    BCEMeanConfig,
    F1Config,
    OverlapConfig,
    PrecisionConfig,
    RecallConfig,
    SSIMConfig,
)
from videopred.settings import Settings


def test_a_clamp_that_single_precision_does_not_hold_is_refused():
    """It would be 0, and the cost of a sure mistake infinite, or not a number."""
    with pytest.raises(ValueError, match=r"clamp must be greater than or equal to 0\.0*1, got 1e-46"):
        BCEConfig(clamp=1e-46)


def test_bce_of_a_sure_mistake_is_the_clamp():
    """Of 3 x 5 pixels one is lit; predicted black, it costs -ln(clamp), and the 14 right ones 14 clamp."""
    truth = torch.zeros(1, 1, 1, 3, 5).double()
    truth[..., 1, 2] = 1
    for clamp in (1e-6, 1e-3):
        score = make_metric("bce", BCEConfig(clamp=clamp)).measure(torch.zeros_like(truth), truth)["bce"].item()
        assert score == pytest.approx(-math.log(clamp) - 14 * math.log1p(-clamp), rel=1e-12)
        mean = make_metric("bce-mean", BCEMeanConfig(clamp=clamp)).measure(torch.zeros_like(truth), truth)["bce-mean"]
        assert mean.item() == pytest.approx(score / 15, rel=1e-12)


def test_bce_of_single_precision_films_is_good_to_6e_8_nats_per_pixel():
    """Also where 1 - p rounds most, and where all pixels round the same way."""
    for p in (1e-7, 1e-5, 1.3e-4, 0.03, 0.97, 1 - 1.3e-4, 1 - 1e-5, 1 - 6e-8):
        for y in (0.0, 0.3, 1.0):
            film, truth = torch.full((1, 1, 1, 23, 35), p), torch.full((1, 1, 1, 23, 35), y)
            single, double = (
                make_metric("bce").measure(film.to(kind), truth.to(kind)) for kind in (torch.float32, torch.float64)
            )
            assert single["bce"].item() == pytest.approx(double["bce"].item(), rel=3e-7, abs=23 * 35 * 6e-8), (p, y)


@pytest.mark.parametrize("grey", [1e-30, 0.02, 0.5, 1 - 6e-8])
def test_a_film_with_one_grey_pixel_is_not_taken_for_black_and_white(grey):
    """Of 15 pixels this one alone is not missed, and costs what both of its parts do; it is lit from 0.5 on."""
    truth = torch.zeros(1, 1, 1, 3, 5)
    truth[..., 1, 2] = grey
    prediction = torch.zeros_like(truth)
    prediction[..., 1, 2] = 0.9
    score = make_metric("bce").measure(prediction, truth)["bce"].item()
    assert score == pytest.approx(-grey * math.log(0.9) - (1 - grey) * math.log(0.1), abs=2e-5)
    assert make_metric("f1").measure(prediction, truth)["tp"].item() == (grey >= 0.5)


def test_black_and_white_films_and_grey_ones_are_measured_alike():
    """Two frames are black and white, of which one has a grey neighbour in the block."""
    prediction, truth = torch.rand(1, 2, 3, 4, 5), torch.rand(1, 2, 3, 4, 5).round()
    beside = truth.clone()
    beside[:, 1] = torch.rand(3, 4, 5)
    for name in METRICS:
        if name != "lpips" and not name.startswith("ssim"):
            ours, others = (make_metric(name).measure(prediction, film) for film in (truth, beside))
            for key in ours:
                torch.testing.assert_close(ours[key][:, 0], others[key][:, 0], rtol=1e-6, atol=1e-6)


def test_bce_of_one_half_is_ln2_per_pixel_whatever_the_truth():
    truth = torch.rand(2, 3, 1, 4, 5)
    score = make_metric("bce").measure(torch.full_like(truth, 0.5), truth)["bce"]
    torch.testing.assert_close(score, torch.full((2, 3), 20 * math.log(2), dtype=torch.float64))


def test_of_two_films_the_precision_of_the_finer_one_counts():
    """In single precision 0.5 + 1e-9 is 0.5."""
    fine, coarse = torch.full((1, 2, 3, 4, 5), 0.5 + 1e-9, dtype=torch.float64), torch.full((1, 2, 3, 4, 5), 0.5)
    for films in ((fine, coarse), (coarse, fine)):
        assert make_metric("mae").measure(*films)["mae"].tolist() == [pytest.approx([1e-9, 1e-9], rel=1e-6)]


def test_mse_is_a_mean_over_channels_and_pixels():
    truth = torch.zeros(1, 2, 3, 4, 5)
    prediction = torch.zeros_like(truth)
    prediction[0, 1, 2, 3, 4] = 0.5
    for name, wrong in (("mse", 0.25 / 60), ("mse-sum", 0.25), ("mae", 0.5 / 60), ("mae-sum", 0.5)):
        assert make_metric(name).measure(prediction, truth)[name].tolist() == [[0, pytest.approx(wrong)]], name


def test_psnr_is_the_mean_of_the_values_of_frames():
    """Errors of 0.1 and 0.01 in every pixel are 20 and 40 dB: 30 dB, where the pooled error would give 23."""
    truth = torch.full((2, 1, 3, 4, 5), 0.5).double()
    prediction = truth + torch.tensor([0.1, 0.01]).double().view(2, 1, 1, 1, 1)
    metric = make_metric("psnr")
    measured = metric.measure(prediction, truth)
    assert measured["psnr"].flatten().tolist() == pytest.approx([20, 40])
    assert metric.reduce(measured).tolist() == pytest.approx([30])
    assert metric.remark(measured) == ""


def test_psnr_counts_the_frames_that_it_caps():
    truth = torch.rand(2, 3, 1, 4, 5)
    prediction = truth.clone()
    prediction[1, 2, 0, 3, 4] = 1 - prediction[1, 2, 0, 3, 4]
    metric = make_metric("psnr")
    measured = metric.measure(prediction, truth)
    assert measured["psnr"].flatten()[:5].tolist() == [100] * 5
    assert metric.remark(measured) == "5 of 6 frames above 100 dB, counted as 100"
    means = {key: values / 4 for key, values in measured.items()}  # as of samples of which a quarter was capped
    assert metric.remark(means) == "1.25 of 6 frames above 100 dB, counted as 100"
    weighted = metric.reduce(measured, torch.tensor([0.0, 1.0]))
    assert weighted.tolist()[:2] == [100, 100]
    assert weighted[2] < 100


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


def test_the_threshold_is_of_predictions_and_a_true_pixel_is_lit_from_one_half_on():
    """Of grey films, such as digits, another threshold would make another truth."""
    truth = torch.tensor([0.2, 0.4, 0.5, 0.6, 0.8, 0.0]).view(1, 1, 1, 2, 3)
    for threshold, hits in ((0.3, 3), (0.5, 3), (0.7, 1)):
        metric = make_metric("recall", RecallConfig(threshold=threshold))
        assert metric.reduce(metric.measure(truth, truth)).item() == pytest.approx(hits / 3)
    metric = make_metric("precision", PrecisionConfig(threshold=0.3))
    assert metric.reduce(metric.measure(truth, truth)).item() == 3 / 4
    assert "; lit where p >= 0.3 (truth >= 0.5), " in metric.convention


def test_f1_of_nothing_in_either_film_is_one():
    black = torch.zeros(2, 3, 1, 4, 5)
    metric = make_metric("f1")
    assert metric.reduce(metric.measure(black, black)).tolist() == [1, 1, 1]


TRUE = torch.tensor([[1.0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0]])
"""Of its five lit pixels, PREDICTED has two; it invents one."""
PREDICTED = torch.tensor([[1.0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0]])


@pytest.mark.parametrize(
    ("name", "score", "unpredicted", "invented", "dark"),
    [
        ("f1", 4 / 8, 0, 0, 1),
        ("precision", 2 / 3, 0, 0, 1),
        ("recall", 2 / 5, 0, 0, 1),
        ("iou", 2 / 6, 0, 0, 1),
        ("balanced-accuracy", (2 / 5 + 8 / 9) / 2, 1 / 2, 11 / 14, 1),
    ],
)
def test_overlap_by_hand(name, score, unpredicted, invented, dark):
    """Of 14 pixels; then a dark prediction, a dark truth, and both."""
    metric, black = make_metric(name), torch.zeros(2, 7)

    def of(prediction: torch.Tensor, truth: torch.Tensor) -> float:
        return metric.reduce(metric.measure(prediction.view(1, 1, 1, 2, 7), truth.view(1, 1, 1, 2, 7))).item()

    assert of(PREDICTED, TRUE) == pytest.approx(score)
    assert of(black, TRUE) == unpredicted
    assert of(PREDICTED, black) == pytest.approx(invented)
    assert of(black, black) == dark


def test_of_a_truth_that_is_all_lit_balance_is_the_share_that_is_found():
    truth = torch.ones(1, 1, 1, 3, 4)
    prediction = truth.clone()
    prediction[..., 1, :3] = 0
    metric = make_metric("balanced-accuracy")
    assert metric.reduce(metric.measure(prediction, truth)).item() == 9 / 12


@pytest.mark.parametrize("name", [name for name, (config, _) in METRICS.items() if issubclass(config, OverlapConfig)])
def test_the_formula_that_is_told_is_the_one_that_is_counted(name):
    counts = {"TP": 3.0, "FP": 5.0, "FN": 7.0, "TN": 11.0}
    metric = make_metric(name)
    formula = metric.convention.partition(";")[0]
    measured = {key.lower(): torch.tensor([[count]]) for key, count in counts.items()}
    told = eval(re.sub(r"(\d) ([TF])", r"\1 * \2", formula), counts)
    assert metric.reduce(measured).item() == pytest.approx(told)


@pytest.mark.parametrize("name", ["bce", "bce-mean", "mse", "mse-sum", "mae", "mae-sum"])
def test_the_convention_tells_sums_from_means(name):
    """Wrong in every value, a frame of 4 x 5 pixels scores 20 times what one pixel does, or as much."""
    truth = torch.ones(1, 1, 3, 4, 5)
    whole, pixel = (make_metric(name).measure(film * 0, film)[name].item() for film in (truth, truth[..., :1, :1]))
    word, factor = ("sum", 20) if name in ("bce", "mse-sum", "mae-sum") else ("mean", 1)
    assert whole == pytest.approx(factor * pixel)
    assert f"{word} over channels and pixels" in make_metric(name).convention


@pytest.mark.parametrize("name", [name for name in METRICS if name.startswith("ssim")])
def test_two_black_frames_are_perfectly_similar(name):
    black = torch.zeros(1, 2, 1, 12, 15)
    assert make_metric(name).measure(black, black)[name].tolist() == [[1, 1]]


def test_flat_frames_are_compared_by_their_means_alone():
    """Without variance, (2ab + c1) / (a^2 + b^2 + c1) everywhere, c1 being .01 squared, or .02 squared for range 2."""
    for name, c1 in (("ssim", 1e-4), ("ssim-uniform", 1e-4), ("ssim-same", 1e-4), ("ssim-svg", 4e-4)):
        ours, true = (torch.full((1, 1, 1, 12, 15), value, dtype=torch.float64) for value in (0.3, 0.1))
        expected = (2 * 0.03 + c1) / (0.09 + 0.01 + c1)
        assert make_metric(name).measure(ours, true)[name].item() == pytest.approx(expected, rel=1e-9), name


def test_ssim_equals_scikit_image_in_every_frame_of_black_and_white_films():
    """To 2e-6 in single precision, where variances are small differences of large numbers."""
    truth = (torch.rand(2, 9, 1, 40, 55) < 0.1).float()
    prediction = torch.where(torch.rand(truth.shape) < 0.02, 1 - truth, truth)
    ours = make_metric("ssim").measure(prediction, truth)["ssim"].flatten()
    settings = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 1.0}
    pairs = zip(prediction.double().view(-1, 40, 55).numpy(), truth.double().view(-1, 40, 55).numpy(), strict=True)
    expected = torch.tensor([structural_similarity(p, y, **settings) for p, y in pairs])
    torch.testing.assert_close(ours, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", METRICS)
def test_long_clips_are_measured_in_blocks(name, monkeypatch):
    """Nine frames in blocks of two; the score of a frame does not tell where the border was."""
    truth = torch.rand(1, 9, 1, 36, 39).round()
    prediction = torch.rand(1, 9, 1, 36, 39)
    metric = make_metric(name)
    whole = metric.measure(prediction, truth)
    sizes = []
    measure = metric.measure_frames
    monkeypatch.setattr(metric, "measure_frames", lambda frames: sizes.append(len(frames.truth)) or measure(frames))
    monkeypatch.setattr(frame_metric, "VALUES_AT_ONCE", 2 * 36 * 39 + 100)
    blocks = metric.measure(prediction, truth)
    assert sizes == [2, 2, 2, 2, 1]
    for key, values in blocks.items():
        torch.testing.assert_close(values, whole[key], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "other"), [("prediction", "truth"), ("truth", "prediction")])
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (-1e-6, "values from -1e-06 to 1; divide"),
        (1.5, "values from 0 to 1.5; divide"),
        (1 + 2e-7, "values from 0 to 1.0000002"),
        (math.nan, "NaN; look for"),
    ],
)
def test_one_wrong_value_anywhere_is_seen_and_told_beside_the_film_s_others(name, other, wrong, told, monkeypatch):
    """In the first, a middle and the last block; films of 0 and 1 else."""
    monkeypatch.setattr(frame_metric, "VALUES_AT_ONCE", 2 * 4 * 5)
    whole = torch.zeros(3, 6, 1, 4, 5)
    whole[1, 3] = 1
    for place in ((0, 0, 0, 0, 0), (1, 2, 0, 1, 3), (2, 5, 0, 3, 4)):
        film = whole.clone()
        film[place] = wrong
        message = rf"^{name} must lie in \[0, 1\], got {told}"
        with pytest.raises(ValueError, match=message):
            make_metric("mse").measure(**{name: film, other: whole})


def test_metrics_measured_together_are_those_measured_alone():
    """Also one that sees whole clips, in its place among those of frames."""

    class Seen(Metric):
        def measure(self, prediction, truth):
            return {"seen": prediction[:, :, 0, 0, 0].double()}

        convention = ""

    truth, prediction = torch.rand(3, 4, 1, 36, 39).round(), torch.rand(3, 4, 1, 36, 39)
    metrics = [make_metric("psnr"), Seen(Settings()), *(make_metric(name) for name in METRICS)]
    together = measure_all(metrics, prediction, truth)
    assert len(together) == len(metrics)
    for metric, measured in zip(metrics, together, strict=True):
        alone = metric.measure(prediction, truth)
        assert measured.keys() == alone.keys()
        assert all(torch.equal(measured[key], alone[key]) for key in alone)


def test_films_that_remember_how_they_were_made_are_measured_like_others():
    truth, prediction = torch.rand(1, 2, 1, 12, 15).round(), torch.rand(1, 2, 1, 12, 15)
    for name in ("bce", "psnr", "ssim", "f1"):
        ours = make_metric(name).measure(prediction.clone().requires_grad_(), truth)
        for key, values in make_metric(name).measure(prediction, truth).items():
            assert torch.equal(ours[key], values)
            assert not ours[key].requires_grad


def test_what_several_metrics_need_is_made_once():
    frames = Frames(*torch.rand(2, 2, 1, 3, 4), spare=torch.empty(2, 2, 1, 3, 4))
    asked = []

    def make(frames, setting=0):
        asked.append(setting)
        return object()

    assert frames.once(make) is frames.once(make)
    assert frames.once(make, 1) is not frames.once(make)
    assert asked == [0, 1]


def test_expanded_films_are_measured_like_whole_ones():
    truth = torch.rand(2, 5, 1, 12, 15).round()
    frame = torch.rand(2, 1, 1, 12, 15)
    metric = make_metric("ssim")
    view = metric.measure(frame.expand_as(truth), truth)["ssim"]
    assert torch.equal(view, metric.measure(frame.expand_as(truth).contiguous(), truth)["ssim"])


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("ssim", (10, 15)),
        ("ssim-svg", (9, 6)),
        ("ssim-uniform", (6, 9)),
        ("ssim-same", (5, 12)),
        ("ssim-same", (12, 5)),
    ],
)
def test_frames_below_the_window_are_refused(name, size):
    small = torch.zeros(1, 1, 1, *size)
    side = min(size) + 1
    message = (
        f"frames must be at least {side} x {side} px, got {size[0]} x {size[1]}; score larger frames, or leave {name}"
    )
    with pytest.raises(ValueError, match=message):
        make_metric(name).measure(small, small)
    enough = torch.zeros(1, 1, 1, side, side + 1)
    assert make_metric(name).measure(enough, enough)[name].item() == 1


def test_a_smaller_window_takes_smaller_frames():
    small = torch.zeros(1, 1, 1, 9, 15)
    assert make_metric("ssim", SSIMConfig(window=9)).measure(small, small)["ssim"].item() == 1


def test_bce_of_logits_is_that_of_their_probabilities_where_nothing_is_clipped():
    logits, truth = 3 * torch.randn(2, 3, 1, 4, 5).double(), torch.rand(2, 3, 1, 4, 5).double()
    nats = bce_of_logits(logits, truth)
    torch.testing.assert_close(nats, make_metric("bce").measure(logits.sigmoid(), truth)["bce"], rtol=1e-12, atol=0)


def test_bce_of_logits_clips_nothing():
    """A sure miss costs its logit."""
    truth = torch.zeros(1, 1, 1, 2, 3)
    logits = torch.full_like(truth, -200)
    logits[..., 1, 1] = 40
    assert bce_of_logits(logits, truth).item() == pytest.approx(40)


def test_bce_of_logits_of_single_precision_is_summed_in_double():
    """A hundred and five sure misses of 40.1 nats; float32 would be 2e-4 off the sum of what it holds."""
    logits = torch.full((1, 1, 3, 5, 7), 40.1)
    nats = bce_of_logits(logits, torch.zeros_like(logits))
    assert nats.dtype == torch.float64
    assert nats.item() == pytest.approx(105 * logits[0, 0, 0, 0, 0].item(), rel=1e-12)


def test_what_is_no_logits_is_refused():
    truth = torch.zeros(2, 3, 1, 4, 5)
    for logits, true, kind, message in (
        (truth.byte(), truth, TypeError, "logits must be floating point"),
        (truth[0], truth, ValueError, "logits must have the axes"),
        (truth[:1], truth, ValueError, "logits must have the truth's shape"),
        (truth / 0, truth, ValueError, "logits must be finite, got infinity or NaN"),
        (truth + math.inf, truth, ValueError, "logits must be finite, .*; look for a loss that diverged"),
        (truth, truth + 2, ValueError, r"truth must lie in \[0, 1\]"),
        (truth, truth.byte(), TypeError, "truth must be floating point"),
    ):
        with pytest.raises(kind, match=message):
            bce_of_logits(logits, true)
