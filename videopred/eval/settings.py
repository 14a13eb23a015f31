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
    """Settings of the binary cross-entropy."""

    clamp: float = Field(1e-6, gt=0, lt=0.5)
    """Predictions are taken as no closer than this to 0 and 1, so one sure, wrong pixel costs −ln(clamp)."""


class MSEConfig(Settings):
    """The mean squared error has nothing to set."""


class SSIMConfig(Settings):
    """Settings of the structural similarity. The window is a Gaussian of standard deviation 1.5 px."""

    window: int = Field(11, ge=3)
    """Width of the Gaussian window, px; odd. Frames must be at least as large."""

    @field_validator("window")
    @classmethod
    def _is_odd(cls, window: int) -> int:
        if window % 2 == 0:
            raise ValueError(complaint("window", "be odd", window, f"take {window - 1} or {window + 1}"))
        return window


class F1Config(Settings):
    """Settings of the F1 score."""

    threshold: float = Field(0.5, gt=0, le=1)
    """A predicted pixel counts as lit from this probability on. A true pixel is lit from 0.5 on."""
