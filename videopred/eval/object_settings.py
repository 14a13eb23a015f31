"""Settings of each object metric. No torch here: help and every usage error stay light."""

from pydantic import Field

from videopred.settings import Settings


class PositionConfig(Settings):
    """Distance of predicted from true centres in px, each object its own from the last observed frame on."""


class MissedConfig(Settings):
    """Share of seen objects whose own track is absent, or farther away than their radius."""


class CountConfig(Settings):
    """Difference between the numbers of predicted and of seen objects."""


class KeptConfig(Settings):
    """Share of clips not lost yet: no three frames in a row with a mean position error above the smallest radius."""

    threshold_px: float = Field(0.0, ge=0)
    """Mean position error beyond which objects are lost; 0 takes the smallest radius in the clip."""
    frames: int = Field(3, ge=1)
    """Frames in a row that the error must be larger."""


class Kept2Config(KeptConfig):
    """As `kept`, with 2 px for the mean error."""

    threshold_px: float = Field(2.0, ge=0)
    """Mean position error beyond which objects are lost; 0 takes the smallest radius in the clip."""
