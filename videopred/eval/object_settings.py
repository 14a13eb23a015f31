"""Settings of each object metric. No torch here: help and every usage error stay light."""

from pydantic import Field

from videopred.settings import Settings


class PositionConfig(Settings):
    """Distance of predicted from true centers in px, each object tracked from the last observed frame on."""


class MissedConfig(Settings):
    """Share of visible objects whose own track is absent, or farther away than their radius."""


class CountConfig(Settings):
    """Difference between the numbers of predicted and of visible objects."""


class KeptConfig(Settings):
    """Share of clips not lost yet: no three frames in a row with a mean position error above the smallest radius."""

    threshold_px: float = Field(0.0, ge=0)
    """Mean position error beyond which objects are lost; 0 takes the smallest radius in the clip."""
    frames: int = Field(3, ge=1)
    """Frames in a row that the error must be larger."""


class SwitchesConfig(Settings):
    """Identity switches (CLEAR MOT): objects that are matched to a different track than at their last match."""


class SurvivalConfig(Settings):
    """Share of objects that keep their track while they are hidden, by the number of hidden frames."""

    shortest: int = Field(1, ge=1)
    """Hidden frames from which on an occlusion counts."""
    frames: int = Field(3, ge=1)
    """Frames after it that show half of the object; survival asks that it is on its old track in all of them."""


class ExitErrorConfig(SurvivalConfig):
    """Distance in px from its true place at which an object's track reappears, by the number of hidden frames."""


class FGARIConfig(Settings):
    """Adjusted Rand index of predicted and true masks in each frame, over the pixels of true objects."""


class FGARIClipConfig(Settings):
    """The same over all frames from the first predicted one up to each step, so that trading places costs."""


class MeanIoUConfig(Settings):
    """Intersection over union of true objects with the masks that fit them best in the frame."""


class OwnFGARIConfig(Settings):
    """`fg-ari` of the model's own masks: what its decoder `masks` paints, or where its modules attend on a map."""


class OwnFGARIClipConfig(Settings):
    """`fg-ari-clip` of the model's own masks."""


class OwnMeanIoUConfig(Settings):
    """`miou` of the model's own masks."""


class CollisionBCEConfig(Settings):
    """Binary cross-entropy in nats per frame over the pixels of objects that collide (R-NEM's relational loss)."""

    clamp: float = Field(1e-6, ge=1e-37, lt=0.5)
    """Predictions are taken as no closer than this to 0 and 1, in [1e-37, 0.5)."""


class EnergyConfig(Settings):
    """Drift of the kinetic energy of all clips, as a share of the true one."""


class MomentumConfig(Settings):
    """Change of a clip's total momentum from step to step where no ball is at a wall, as a share of all momenta."""


class OverlapsConfig(Settings):
    """Share of pairs of discs that overlap by more than a pixel."""

    tolerance_px: float = Field(1.0, ge=0)
    """How deep discs may overlap, since their places are estimates."""


class WallsConfig(Settings):
    """Share of objects that reach beyond the frame by more than a pixel."""

    tolerance_px: float = Field(1.0, ge=0)
    """How far they may, since their places are estimates."""


class Kept2Config(KeptConfig):
    """As `kept`, with 2 px for the mean error."""

    threshold_px: float = Field(2.0, ge=0)
    """Mean position error beyond which objects are lost; 0 takes the smallest radius in the clip."""
