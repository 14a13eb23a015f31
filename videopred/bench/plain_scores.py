"""Scores as one writes them first: frame by frame, with the libraries that everybody has."""

import warnings

import numpy as np
from skimage.metrics import structural_similarity
from torch import Tensor
from torchmetrics.functional.clustering import adjusted_rand_score


def plain_pixel_scores(prediction: np.ndarray, truth: np.ndarray) -> dict[str, np.ndarray]:
    """MSE, PSNR, BCE and counts of lit pixels of each frame, by the conventions of our metrics.

    Args:
        prediction: (N, H, W) float32 in [0, 1].
        truth: the same.

    Returns:
        name -> (N,) float64.
    """
    rows = []
    for ours, true in zip(prediction, truth, strict=True):
        mse = np.mean((ours - true) ** 2)
        p = np.clip(ours.astype(np.float64), 1e-6, 1 - 1e-6)
        bce = -np.sum(true * np.log(p) + (1 - true) * np.log(1 - p))
        lit, truly_lit = ours >= 0.5, true >= 0.5
        hits, invented, missed = (lit & truly_lit).sum(), (lit & ~truly_lit).sum(), (~lit & truly_lit).sum()
        rows.append((mse, 10 * np.log10(1 / mse), bce, hits, invented, missed, (~lit & ~truly_lit).sum()))
    names = ("mse", "psnr", "bce", "tp", "fp", "fn", "tn")
    return dict(zip(names, np.array(rows, np.float64).T, strict=True))


def plain_ssim(prediction: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """SSIM of each frame by scikit-image, with Wang's settings: (N,) float64, for (N, H, W) in [0, 1]."""
    settings = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 1.0}
    return np.array([structural_similarity(p, y, **settings) for p, y in zip(prediction, truth, strict=True)])


def plain_fg_ari(predicted: Tensor, true: Tensor) -> list[float]:
    """FG-ARI of each row of pixels by torchmetrics, for whole numbers (N, L): the object at each pixel, 0 none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse invariant checks", UserWarning)  # torchmetrics' own affair
        rows = zip(predicted, true, strict=True)
        return [adjusted_rand_score(ours[theirs > 0], theirs[theirs > 0]).item() for ours, theirs in rows]
