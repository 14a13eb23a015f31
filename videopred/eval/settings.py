"""Settings of scoring and of each metric. No torch here: help and every usage error stay light."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from videopred.check import complaint, each_once, flag, require, threshold_of, whole_number
from videopred.settings import Settings, check_range

DEFAULT_METRICS = ("bce", "mse", "ssim", "f1")
"""What films are scored with unless metrics are named."""


class Protocol(Settings):
    """What is asked of a model: scores are comparable only under the same one."""

    name: str | None = None
    """Name in PROTOCOLS; none if it is free."""
    changed: tuple[str, ...] = ()
    """Settings that differ from the protocol of that name."""
    context: int
    """Frames given."""
    horizon: int
    """Frames to predict, at least 1."""
    part: str = "test"
    """train, validation or test."""
    metrics: tuple[str, ...] = DEFAULT_METRICS
    """Names in METRICS and OBJECT_METRICS, or MODULE:CLASS of one's own."""
    metric_settings: tuple[str, ...] = ()
    """Settings of metrics other than the defaults, such as lpips.net=vgg."""
    clips: int | None = None
    """How many clips, from the first of the part; all of them if not given."""
    feedback: str = "soft"
    """What the model is fed after the context: soft, its predicted probabilities; threshold:0.5, these made black and
    white; sample, pixels drawn from them; true, the true frames, so that every prediction is one step ahead.
    Of films made elsewhere, as by functions, it is not known."""
    samples: int = 1
    """Films predicted of each clip; if several, the best and the mean are reported."""
    means: tuple[int, ...] = ()
    """Numbers of first steps to report means over, beside the mean over all steps."""

    @model_validator(mode="after")
    def _goes_together(self) -> "Protocol":
        threshold_of(self.feedback)
        whole_number("--samples", self.samples, 1, "1 asks for a single film of each clip")
        each_once("--metrics", self.metrics)
        each_once("--means", self.means)
        for steps in self.means:
            must = f"be between 1 and {self.horizon}, the frames predicted"
            require(1 <= steps <= self.horizon, "--means", must, steps, "choose one of these")
        return self

    @property
    def called(self) -> str:
        """Its name, with what was changed; nothing of a free one."""
        if not self.changed:
            return self.name or ""
        return f"{self.name} changed ({', '.join(self.changed)})"

    @property
    def one_step(self) -> bool:
        """Whether every frame is predicted from the true frames before it."""
        return self.feedback == "true"

    @property
    def spans(self) -> tuple[int, ...]:
        """Numbers of first steps that means are reported over; all steps come last."""
        return tuple(sorted({*self.means, self.horizon}))


def flag_name(setting: str) -> str:
    """How `videopred evaluate` calls a setting of a protocol, without the dashes: `clips` is --first there."""
    return {"clips": "first"}.get(setting, setting.replace("_", "-"))


class FilmsConfig(Settings):
    """Films made elsewhere. Arrays that are not bool need --range, and --axes where several readings are possible."""

    pred: tuple[Path, ...] = ()
    """Predicted films: arrays (.npy, .npz, .h5), data files, GIFs, MP4s or PNG frames; a row each."""
    true: Path | None = None
    """The true films, instead of DATA; the same kinds."""
    range: tuple[float, float] | None = None
    """Numbers that mean black and white in arrays, such as 0 1, -1 1 or 0 255."""
    true_range: tuple[float, float] | None = None
    """The same for the true films, if theirs differs."""
    axes: str | None = None
    """Axes of the arrays, such as BTCHW: B clips, T frames, C channels, H rows, W columns; N, films of each clip."""
    true_axes: str | None = None
    """The same for the true films, if theirs differ."""
    pred_array: str | None = None
    """Name of the array of predictions in a .npz or .h5 file that holds several."""
    true_array: str | None = None
    """Name of the array of true films, likewise."""

    @model_validator(mode="after")
    def _goes_together(self) -> "FilmsConfig":
        check_range("--range", self.range)
        check_range("--true-range", self.true_range)
        said = [flag(name) for name, value in self if value not in (None, ())]
        fits = bool(self.pred) or not said
        require(fits, "--pred", "be given for films made elsewhere", " ".join(said), "name the predicted films")
        about = [word for word in said if word.startswith("--true-")]
        fits = self.true is not None or not about
        require(fits, "--true", "be given with words about it", " ".join(about), "a data file says these itself")
        return self


class GivenConfig(FilmsConfig):
    """Films made elsewhere, with own masks or without.

    Arrays that are not bool need --range, and --axes where several readings are possible.
    """

    pred_masks: tuple[Path, ...] = ()
    """Own masks of each of --pred, for metrics such as own-fg-ari: arrays of whole numbers (B, T, H, W), from 1."""
    masks_array: str | None = None
    """Name of the array of masks in a .npz or .h5 file that holds several."""

    @model_validator(mode="after")
    def _masks_go_together(self) -> "GivenConfig":
        count = len(self.pred_masks)
        must, fix = f"be one for each of --pred, {len(self.pred)}", "give them in the order of the films"
        require(count in (0, len(self.pred)), "--pred-masks", must, count, fix)
        must, fix = "go with --pred-masks", "leave it out"
        require(self.masks_array is None or count > 0, "--masks-array", must, self.masks_array, fix)
        return self


class BCEConfig(Settings):
    """Binary cross-entropy in nats per frame: summed over pixels, as R-NEM does."""

    clamp: float = Field(1e-6, ge=1e-37, lt=0.5)
    """Predictions are taken as no nearer than this to 0 and 1, in [1e-37, 0.5); a sure, wrong one costs −ln(clamp)."""


class BCEMeanConfig(BCEConfig):
    """Binary cross-entropy in nats per pixel and channel."""


class MSEConfig(Settings):
    """Mean squared error per pixel of intensities in [0, 1]."""


class MSESumConfig(Settings):
    """Squared error summed over a frame, as OpenSTL, PredRNN and vp-suite do."""


class MAEConfig(Settings):
    """Mean absolute error per pixel of intensities in [0, 1]."""


class MAESumConfig(Settings):
    """Absolute error summed over a frame, as OpenSTL and PredRNN do."""


class PSNRConfig(Settings):
    """Peak signal-to-noise ratio in dB: mean of the values of frames, each at most 100."""


class SSIMConfig(Settings):
    """Structural similarity (Wang 2004): Gaussian window of standard deviation 1.5 px, valid region."""

    window: int = Field(11, ge=3)
    """Width of the Gaussian window, px; odd, at least 3. Frames must be at least as large."""

    @field_validator("window")
    @classmethod
    def _is_odd(cls, window: int) -> int:
        if window % 2 == 0:
            raise ValueError(complaint("--window", "be odd", window, "take an odd number"))
        return window


class UniformSSIMConfig(Settings):
    """Structural similarity as scikit-image has it by default: uniform window of 7 px."""


class SVGSSIMConfig(Settings):
    """Structural similarity as in SVG's and OpenSTL's tables: uniform window of 7 px, range 2."""


class BorderedSSIMConfig(Settings):
    """Structural similarity as in kornia and torchmetrics: with the mirrored border."""


class LPIPSConfig(Settings):
    """Learned perceptual distance (LPIPS 0.1), also of grey films; the trunk's weights are not included."""

    net: Literal["alex", "vgg", "squeeze"] = "alex"
    """The trunk, whose numbers are comparable with those of the same trunk only."""
    weights: Annotated[Path, Field(strict=False)] | None = None  # JSON has no paths
    """File of the trunk's weights as torchvision publishes it; if not given, it is looked for in torch's cache."""


class OverlapConfig(Settings):
    """What counts as lit."""

    threshold: float = Field(0.5, gt=0, le=1)
    """A predicted pixel counts as lit from this probability on, in (0, 1]. A true pixel is lit from 0.5 on."""


class F1Config(OverlapConfig):
    """F1 score of lit pixels, counted over all clips at a step."""


class PrecisionConfig(OverlapConfig):
    """Share of the predicted lit pixels that are lit, counted over all clips at a step."""


class RecallConfig(OverlapConfig):
    """Share of the lit pixels that are predicted lit, counted over all clips at a step."""


class IoUConfig(OverlapConfig):
    """Intersection over union of lit pixels, counted over all clips at a step."""


class BalancedAccuracyConfig(OverlapConfig):
    """Mean of two shares: lit pixels predicted lit, dark ones predicted dark, counted over all clips at a step."""
