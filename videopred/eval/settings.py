"""Settings of scoring and of each metric. No torch here: help and every usage error stay light."""

from pydantic import Field, field_validator

from videopred.check import complaint
from videopred.settings import Settings


class Protocol(Settings):
    """What is asked of a model: scores are comparable only under the same one."""

    context: int
    """Frames given, at least 1."""
    horizon: int
    """Frames to predict, at least 1."""
    part: str = "test"
    """train, validation or test."""
    metrics: tuple[str, ...] = ("bce", "mse", "ssim", "f1")
    """Names in METRICS."""
    clips: int | None = None
    """How many clips, from the first of the part; all of them if not given."""
    feedback: str = "soft"
    """What the model is fed after the context: soft is the probabilities that it predicted."""


class BCEConfig(Settings):
    """Binary cross-entropy in nats per frame: summed over pixels, as R-NEM does."""

    clamp: float = Field(1e-6, gt=0, lt=0.5)
    """Predictions are taken as no closer than this to 0 and 1, so one sure, wrong pixel costs −ln(clamp)."""


class MSEConfig(Settings):
    """Mean squared error per pixel of intensities in [0, 1]. Nothing to set."""


class SSIMConfig(Settings):
    """Structural similarity (Wang 2004): Gaussian window of standard deviation 1.5 px, valid region."""

    window: int = Field(11, ge=3)
    """Width of the Gaussian window, px; odd. Frames must be at least as large."""

    @field_validator("window")
    @classmethod
    def _is_odd(cls, window: int) -> int:
        if window % 2 == 0:
            raise ValueError(complaint("window", "be odd", window, f"take {window - 1} or {window + 1}"))
        return window


class F1Config(Settings):
    """F1 score of lit pixels, counted over all clips at a step."""

    threshold: float = Field(0.5, gt=0, le=1)
    """A predicted pixel counts as lit from this probability on. A true pixel is lit from 0.5 on."""
