"""Structural similarity, in the ways it is published: the same films get another number in each."""

from abc import abstractmethod
from functools import lru_cache
from typing import ClassVar

import torch
from torch import Tensor

from videopred.check import require
from videopred.eval.frame_metric import FrameMetric, Frames
from videopred.eval.settings import SSIMConfig


class Similarity(FrameMetric):
    """Structural similarity, averaged over the region where the whole window lies inside the frame.

        SSIM = (2 μ_p μ_y + c₁)(2 σ_py + c₂) / ((μ_p² + μ_y² + c₁)(σ_p² + σ_y² + c₂)),  c₁ = (.01 R)²,  c₂ = (.03 R)²

    with means μ and (co)variances σ under a window, of each channel by itself, and R the range of values. Windows
    that are products of a column and a row make every mean two products with banded matrices: five times as fast as
    sliding them.

    Source: Wang et al. 2004.
    """

    range = (-1.0, 1.0)
    higher_is_better = True
    decimals = 3
    data_range: ClassVar[float] = 1.0
    """R: the range that values are said to have; they have 1."""

    @property
    @abstractmethod
    def window(self) -> tuple[float, ...]:
        """Weights of the window along a row or column; they sum to 1."""

    @property
    def sample_correction(self) -> float:
        """What (co)variances are multiplied with: 1 for those of a population."""
        return 1.0

    def measure_frames(self, frames: Frames) -> dict[str, Tensor]:
        height, width = frames.truth.shape[-2:]
        size = len(self.window)
        fix = f"score larger frames, or leave {self.name} out of --metrics"
        require(min(height, width) >= size, "frames", f"be at least {size} x {size} px", f"{height} x {width}", fix)
        ours, true = frames.prediction, frames.truth
        maps = torch.stack([ours, true, ours.square() + true.square(), ours * true])
        rows, columns = (_sliding(self.window, length).to(maps) for length in (height, width))
        mean, true_mean, squares, product = rows @ (maps @ columns.T)

        c1, c2 = (0.01 * self.data_range) ** 2, (0.03 * self.data_range) ** 2
        product_of_means, squares_of_means = mean * true_mean, mean.square() + true_mean.square()
        covariance = self.sample_correction * (product - product_of_means)
        variances = self.sample_correction * (squares - squares_of_means)
        similar = (2 * product_of_means + c1) * (2 * covariance + c2)
        values = similar / ((squares_of_means + c1) * (variances + c2))
        return {self.name: values.flatten(1).mean(1)}


class SSIM(Similarity):
    """Structural similarity under a Gaussian window of standard deviation 1.5 px.

    Source: Wang et al. 2004. Equals scikit-image's `structural_similarity(gaussian_weights=True, sigma=1.5,
    use_sample_covariance=False, data_range=1)`, SVG's `finn_ssim`, SlotFormer, piqa and pytorch-msssim, and kornia
    with padding="valid", eps=0.
    """

    name = "ssim"
    label = "SSIM"
    config: SSIMConfig

    @property
    def window(self) -> tuple[float, ...]:
        half = self.config.window // 2
        weights = torch.exp(-torch.arange(-half, half + 1, device="cpu").double().square() / (2 * 1.5**2))
        return tuple((weights / weights.sum()).tolist())

    @property
    def convention(self) -> str:
        window = f"Gaussian window {self.config.window}, sigma 1.5"
        return f"{window}, valid region only, population covariance, range 1, mean over channels"


class UniformSSIM(Similarity):
    """Structural similarity under a uniform window of 7 px, with sample covariance.

    Source: scikit-image's `structural_similarity(data_range=1)`, all else left alone.
    """

    name = "ssim-uniform"
    label = "SSIM uniform"

    @property
    def window(self) -> tuple[float, ...]:
        return (1 / 7,) * 7

    @property
    def sample_correction(self) -> float:
        return 49 / 48

    @property
    def convention(self) -> str:
        return f"uniform window 7, valid region only, sample covariance, range {self.data_range:g}, mean over channels"


class SVGSSIM(UniformSSIM):
    """As UniformSSIM, but for values said to have range 2, which makes the constants four times as large.

    Source: SVG's `eval_seq` and OpenSTL, which call old scikit-image (0.18 or before; 0.21 refuses) without a data
    range: for floating point it then took 2, from −1 to 1, though frames are in [0, 1]. So their numbers come out
    higher.
    """

    name = "ssim-svg"
    label = "SSIM SVG"
    data_range = 2.0


@lru_cache(maxsize=16)
def _sliding(window: tuple[float, ...], length: int) -> Tensor:
    """The matrix (places, length) whose product with a column is its weighted mean at every place of the window."""
    size = len(window)
    matrix = torch.zeros(length - size + 1, length, dtype=torch.float64, device="cpu")
    for place, row in enumerate(matrix):
        row[place : place + size] = torch.tensor(window, dtype=torch.float64, device="cpu")
    return matrix
