"""Structural similarity. The only door of kornia."""

import torch
from kornia.metrics import ssim
from torch import Tensor

from videopred.check import require
from videopred.eval.metric import Metric, check_films
from videopred.eval.settings import SSIMConfig

FRAMES_AT_ONCE = 64
"""Frames in one convolution; the memory of a measurement stops growing there."""


class SSIM(Metric):
    """Structural similarity, averaged over the region where the whole window lies inside the frame.

        SSIM = (2 μ_p μ_y + .01²)(2 σ_py + .03²) / ((μ_p² + μ_y² + .01²)(σ_p² + σ_y² + .03²))

    with means μ, population (co)variances σ under the Gaussian window, of each channel by itself.

    Source: Wang et al. 2004. Equals scikit-image's `structural_similarity(gaussian_weights=True, sigma=1.5,
    use_sample_covariance=False, data_range=1)`. Left alone, kornia keeps the border (padding "same"), which
    changes values by up to 0.07, and adds an epsilon, with which two black frames score less than 1.
    """

    name = "ssim"
    label = "SSIM"
    range = (-1.0, 1.0)
    higher_is_better = True
    decimals = 3
    config: SSIMConfig

    @property
    def convention(self) -> str:
        window = f"Gaussian window {self.config.window}, sigma 1.5"
        return f"{window}, valid region only, population covariance, range 1, mean over channels"

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        check_films(prediction, truth)
        height, width = truth.shape[-2:]
        window = self.config.window
        fits = min(height, width) >= window
        fix = "score larger frames, or leave ssim out of --metrics"
        require(fits, "frames", f"be at least {window} x {window} px for SSIM", f"{height} x {width}", fix)
        # Clip by clip: a score must not depend, even by rounding, on the clip's neighbours in a batch.
        clips = [self._of_clip(*pair) for pair in zip(prediction, truth, strict=True)]
        return {"ssim": torch.stack(clips)}

    def _of_clip(self, prediction: Tensor, truth: Tensor) -> Tensor:
        """SSIM of each frame, (T,) float64, of films (T, C, H, W)."""
        dtype = torch.promote_types(torch.promote_types(prediction.dtype, truth.dtype), torch.float32)
        blocks = zip(prediction.split(FRAMES_AT_ONCE), truth.split(FRAMES_AT_ONCE), strict=True)
        means = []
        for block in blocks:
            ours, true = (frames.to(dtype).contiguous() for frames in block)  # kornia is slow on views
            values = ssim(ours, true, self.config.window, max_val=1.0, eps=0.0, padding="valid")
            means.append(values.mean(dim=(1, 2, 3), dtype=torch.float64))
        return torch.cat(means)
