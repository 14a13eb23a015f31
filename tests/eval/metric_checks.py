"""What every metric must do, as checks of one metric each; run over METRICS, and over the broken ones of known_bad.

All sizes differ and no frame is square: 5 clips, 4 frames, 3 channels, 33 rows, 37 columns.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import lpips
import numpy as np
import pytest
import torch
from skimage.metrics import peak_signal_noise_ratio, structural_similarity
from torch import Tensor
from torchmetrics.functional.classification import multiclass_accuracy
from torchmetrics.functional.image import structural_similarity_index_measure

from videopred.eval.metric import Metric

Reference = Callable[[np.ndarray, np.ndarray], float]
"""Films of one step (B, C, H, W) -> the score."""

CLIPS, FRAMES = 5, 4
SHAPE = (CLIPS, FRAMES, 3, 33, 37)


def films(seed: int = 0) -> tuple[Tensor, Tensor]:
    """A soft prediction and a black and white truth that it resembles; the share of lit pixels differs by clip."""
    random = torch.Generator().manual_seed(seed)
    share = torch.linspace(0.02, 0.6, CLIPS).view(-1, 1, 1, 1, 1)
    truth = (torch.rand(SHAPE, generator=random) < share).float()
    prediction = 0.45 * truth + 0.55 * torch.rand(SHAPE, generator=random)
    return prediction, truth


def check_shape(metric: Metric) -> None:
    measured = metric.measure(*films())
    for values in measured.values():
        assert values.shape == (CLIPS, FRAMES)
        assert values.dtype == torch.float64
    reduced = metric.reduce(measured)
    assert reduced.shape == (FRAMES,)
    assert reduced.dtype == torch.float64


def check_perfect_is_best(metric: Metric) -> None:
    """A perfect prediction has the best value (the clamp of BCE leaves 1e-6 per pixel), any other a worse one."""
    prediction, truth = films()
    perfect = metric.reduce(metric.measure(truth, truth))
    torch.testing.assert_close(perfect, torch.full_like(perfect, metric.best), rtol=0, atol=2e-6 * truth[0, 0].numel())
    worse = metric.reduce(metric.measure(1 - truth, truth))
    low, high = metric.range
    assert torch.all((low <= worse) & (worse <= high))
    sign = 1 if metric.higher_is_better else -1
    assert torch.all(sign * (perfect - metric.reduce(metric.measure(prediction, truth))) > 0)
    assert torch.all(sign * (perfect - worse) > 0.1)


def check_clip_order(metric: Metric) -> None:
    prediction, truth = films()
    order = torch.tensor([3, 0, 4, 1, 2])
    ours, shuffled = metric.measure(prediction, truth), metric.measure(prediction[order], truth[order])
    for key, values in ours.items():
        torch.testing.assert_close(shuffled[key], values[order], rtol=1e-12, atol=0)
    torch.testing.assert_close(metric.reduce(shuffled), metric.reduce(ours), rtol=1e-12, atol=1e-12)


def check_weights_count_clips(metric: Metric) -> None:
    """A clip of weight 2 counts like two of it, one of weight 0 like none."""
    prediction, truth = films()
    weights = torch.tensor([2, 0, 1, 3, 1])
    repeated = torch.arange(CLIPS).repeat_interleave(weights)
    weighted = metric.reduce(metric.measure(prediction, truth), weights)
    copies = metric.reduce(metric.measure(prediction[repeated], truth[repeated]))
    torch.testing.assert_close(weighted, copies, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(weighted, metric.reduce(metric.measure(prediction, truth)), rtol=1e-3)


def check_draws_are_reduced_each(metric: Metric) -> None:
    """Several draws of the clips at once give what each gives by itself."""
    measured, draws = metric.measure(*films()), torch.tensor([[2.0, 0, 1, 3, 1], [0, 4, 1, 0, 0], [1, 1, 1, 1, 1]])
    expected = torch.stack([metric.reduce(measured, draw) for draw in draws])
    torch.testing.assert_close(metric.reduce_each(measured, draws.double()), expected, rtol=1e-12, atol=1e-12)


def check_a_frame_stands_alone(metric: Metric) -> None:
    """Clips and frames measured one by one are those measured together."""
    prediction, truth = films()
    together = metric.measure(prediction, truth)
    for key, values in together.items():
        alone = [
            [
                metric.measure(prediction[b : b + 1, t : t + 1], truth[b : b + 1, t : t + 1])[key].item()
                for t in range(FRAMES)
            ]
            for b in range(CLIPS)
        ]
        torch.testing.assert_close(values, torch.tensor(alone, dtype=torch.float64), rtol=1e-6, atol=1e-7)
        one_by_one = [metric.measure(prediction[b : b + 1], truth[b : b + 1])[key] for b in range(CLIPS)]
        torch.testing.assert_close(values, torch.cat(one_by_one), rtol=1e-12, atol=1e-12)


def check_precisions(metric: Metric) -> None:
    """Half and double precision films give the numbers of their values, in float64."""
    half = films()[0].half().clamp(0.01, 0.99), films()[1].half()
    exact = metric.measure(*(film.double() for film in half))
    for ours in (half, tuple(film.float() for film in half), (half[0].float(), half[1].double())):
        for key, values in metric.measure(*ours).items():
            assert values.dtype == torch.float64
            torch.testing.assert_close(values, exact[key], rtol=1e-6, atol=1e-6)


def check_leaves_films_alone(metric: Metric) -> None:
    prediction, truth = films()
    before = prediction.clone(), truth.clone()
    metric.measure(prediction, truth)
    assert torch.equal(prediction, before[0])
    assert torch.equal(truth, before[1])


def check_refusals(metric: Metric) -> None:
    """Nothing is broadcast, cast or clipped in silence."""
    prediction, truth = films()
    nan = prediction.clone()
    nan[1, 2, 0, 3, 4] = float("nan")
    axes = r"must have the axes \(clips, frames, channels, height, width\), got shape"
    for ours, true, kind, message in (
        (prediction[:1], truth, ValueError, r"prediction must have the truth's shape \(5, 4, 3, 33, 37\), got \(1, 4"),
        (prediction[:, :, :1], truth, ValueError, r"prediction must have the truth's shape .* got \(5, 4, 1, 33"),
        (prediction.to("meta"), truth, ValueError, "prediction must be on cpu, where the truth is, got meta; move one"),
        (prediction[0], truth[0], ValueError, f"prediction {axes}"),
        (prediction, truth[0], ValueError, f"truth {axes}"),
        (prediction[:0], truth[:0], ValueError, "prediction must hold at least one value"),
        ((prediction * 255).byte(), truth, TypeError, "prediction must be floating point .* got torch.uint8"),
        (prediction.numpy(), truth, TypeError, "prediction must be a tensor, got ndarray; make it one with"),
        (prediction, truth.numpy(), TypeError, "truth must be a tensor, got ndarray"),
        (prediction, truth.bool(), TypeError, "truth must be floating point .* got torch.bool"),
        (prediction * 2 - 1, truth, ValueError, r"prediction must lie in \[0, 1\], got values from -"),
        (prediction, truth * 255, ValueError, r"truth must lie in \[0, 1\], got values from 0 to 255"),
        (nan, truth, ValueError, r"prediction must lie in \[0, 1\], got NaN; look for the first step"),
    ):
        with pytest.raises(kind, match=message):
            metric.measure(ours, true)
    measured = metric.measure(prediction, truth)
    for weights, message in (
        ([1.0] * CLIPS, "clip_weights must be a tensor, got list"),
        (torch.ones(CLIPS + 1), r"clip_weights must have shape \(5,\), got \(6,\)"),
        (torch.zeros(CLIPS), "clip_weights must be at least 0 and not all 0"),
        (torch.tensor([1.0, 1, -1, 1, 1]), "clip_weights must be at least 0"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            metric.reduce(measured, weights)


def check_equals_reference(metric: Metric) -> None:
    """The pooled score of each step is that of independent, slow code."""
    for seed in (1, 2):
        prediction, truth = films(seed)
        expected = [REFERENCES[metric.name](prediction[:, t].numpy(), truth[:, t].numpy()) for t in range(FRAMES)]
        ours = metric.reduce(metric.measure(prediction, truth)).numpy()
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-7)


def _bce(prediction: np.ndarray, truth: np.ndarray) -> float:
    p = torch.from_numpy(prediction).double().clamp(1e-6, 1 - 1e-6)
    loss = torch.nn.functional.binary_cross_entropy(p, torch.from_numpy(truth).double(), reduction="sum")
    return loss.item() / CLIPS


def _bce_mean(prediction: np.ndarray, truth: np.ndarray) -> float:
    """Mean over pixels of -ln of the probability that was given to what happened."""
    given = np.where(truth == 1, prediction.astype(np.float64), 1 - prediction.astype(np.float64))
    return float(-np.mean(np.log(np.clip(given, 1e-6, 1 - 1e-6))))


def _mse(prediction: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean((prediction.astype(np.float64) - truth) ** 2))


def _mse_sum(prediction: np.ndarray, truth: np.ndarray) -> float:
    """As OpenSTL writes it: the mean over clips, then the sum over what is left."""
    return float(np.mean((prediction.astype(np.float64) - truth) ** 2, axis=0).sum())


def _mae(prediction: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean(np.abs(prediction.astype(np.float64) - truth)))


def _mae_sum(prediction: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean(np.abs(prediction.astype(np.float64) - truth), axis=0).sum())


def _psnr(prediction: np.ndarray, truth: np.ndarray) -> float:
    pairs = zip(prediction.astype(np.float64), truth.astype(np.float64), strict=True)
    return float(np.mean([peak_signal_noise_ratio(y, p, data_range=1.0) for p, y in pairs]))


def _ssim(**settings: Any) -> Reference:
    """The mean over frames of scikit-image's."""

    def of_films(prediction: np.ndarray, truth: np.ndarray) -> float:
        pairs = zip(prediction.astype(np.float64), truth.astype(np.float64), strict=True)
        return float(np.mean([structural_similarity(p, y, channel_axis=0, **settings) for p, y in pairs]))

    return of_films


def _ssim_same(prediction: np.ndarray, truth: np.ndarray) -> float:
    """torchmetrics', which mirrors the border by code of its own."""
    films = (torch.from_numpy(film).double() for film in (prediction, truth))
    return structural_similarity_index_measure(*films, data_range=1.0).item()  # type: ignore[union-attr]


@cache
def _lpips_network() -> torch.nn.Module:
    (path,) = (Path(torch.hub.get_dir()) / "checkpoints").iterdir()
    with pytest.warns(UserWarning, match="pretrained"):
        network = lpips.LPIPS(pnet_rand=True, verbose=False)
    convolutions = [layer for layer in network.net.modules() if isinstance(layer, torch.nn.Conv2d)]
    layers = list(torch.load(path).values())
    for layer, weight, bias in zip(convolutions, layers[::2], layers[1::2], strict=True):
        layer.weight.data, layer.bias.data = weight, bias
    return network


def _lpips(prediction: np.ndarray, truth: np.ndarray) -> float:
    """The library's, its trunk taken from a random network of torchvision's layer by layer."""
    films = (torch.from_numpy(film) for film in (prediction, truth))
    with torch.no_grad():
        return _lpips_network()(*films, normalize=True).mean().item()


def _lit(prediction: np.ndarray, truth: np.ndarray) -> tuple[set, set]:
    """Lit pixels as sets of addresses (clip, channel, row, column)."""
    ours, true = (set(map(tuple, np.argwhere(film >= 0.5).tolist())) for film in (prediction, truth))
    return ours, true


def _f1(prediction: np.ndarray, truth: np.ndarray) -> float:
    """Twice the common pixels over the sum of both."""
    ours, true = _lit(prediction, truth)
    return 2 * len(ours & true) / (len(ours) + len(true))


def _precision(prediction: np.ndarray, truth: np.ndarray) -> float:
    ours, true = _lit(prediction, truth)
    return len(ours & true) / len(ours)


def _recall(prediction: np.ndarray, truth: np.ndarray) -> float:
    ours, true = _lit(prediction, truth)
    return len(ours & true) / len(true)


def _iou(prediction: np.ndarray, truth: np.ndarray) -> float:
    ours, true = _lit(prediction, truth)
    return len(ours & true) / len(ours | true)


def _balanced_accuracy(prediction: np.ndarray, truth: np.ndarray) -> float:
    """The mean recall of both classes, by torchmetrics."""
    labels = (torch.from_numpy(film >= 0.5).flatten().long() for film in (prediction, truth))
    return multiclass_accuracy(*labels, num_classes=2, average="macro").item()


REFERENCES: dict[str, Reference] = {
    "bce": _bce,
    "bce-mean": _bce_mean,
    "mse": _mse,
    "mse-sum": _mse_sum,
    "mae": _mae,
    "mae-sum": _mae_sum,
    "psnr": _psnr,
    "ssim": _ssim(gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=1.0),
    "ssim-svg": _ssim(data_range=2.0),
    "ssim-uniform": _ssim(data_range=1.0),
    "ssim-same": _ssim_same,
    "lpips": _lpips,
    "f1": _f1,
    "precision": _precision,
    "recall": _recall,
    "iou": _iou,
    "balanced-accuracy": _balanced_accuracy,
}

CHECKS = (
    check_shape,
    check_perfect_is_best,
    check_clip_order,
    check_weights_count_clips,
    check_draws_are_reduced_each,
    check_a_frame_stands_alone,
    check_precisions,
    check_leaves_films_alone,
    check_refusals,
    check_equals_reference,
)
