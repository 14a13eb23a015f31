"""Structural similarity with the border of frames, as kornia has it. The only door of kornia."""

from kornia.metrics import ssim
from torch import Tensor

from videopred.check import require
from videopred.eval.frame_metric import FrameMetric, Frames


class BorderedSSIM(FrameMetric):
    """Structural similarity of the whole frame: windows that hang over its border see it mirrored there.

    On films with a dark border it is up to 0.09 above `ssim`, which it equals elsewhere: Gaussian window 11,
    standard deviation 1.5 px, population covariance.

    Source: `kornia.metrics.ssim` as it comes (padding "same"), which torchmetrics'
    `structural_similarity_index_measure(data_range=1)` equals, but for kornia's epsilon: with it, two black frames
    would score less than 1, so it is 0 here.
    """

    name = "ssim-same"
    label = "SSIM same"
    range = (-1.0, 1.0)
    higher_is_better = True
    decimals = 3
    convention = "Gaussian window 11, sigma 1.5, whole frame mirrored at its border, range 1, mean over channels"

    def measure_frames(self, frames: Frames) -> dict[str, Tensor]:
        height, width = frames.truth.shape[-2:]
        fix = f"score larger frames, or leave {self.name} out of --metrics"
        # The mirror of five pixels needs six.
        require(min(height, width) >= 6, "frames", "be at least 6 x 6 px", f"{height} x {width}", fix)
        values = ssim(frames.prediction, frames.truth, 11, max_val=1.0, eps=0.0, padding="same")
        return {self.name: values.mean(dim=(1, 2, 3))}
