"""Settings of codecs and decoders. Light: pydantic only."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PositiveInt, model_validator
from tyro.conf import Suppress

from videopred.check import require
from videopred.models.own_settings import OwnPart
from videopred.settings import Settings


class CodecSettings(Settings):
    """What the settings of every codec share."""

    flag_prefix: ClassVar[str] = "--codec."

    positions: Literal["learned", "coord4"] = "learned"
    """What tells cores that read a map where a position is: a learned key, or the coordinates x, 1 - x, y, 1 - y."""
    position_op: Literal["cat", "add"] = "cat"
    """Whether that is appended to the channels of the position (SCOFF, algorithm 1), or added to them."""
    position_width: PositiveInt | None = None
    """Width of a learned key that is appended; default: 16 (our choice, as it is unpublished)."""

    @model_validator(mode="after")
    def _width_is_used(self) -> Self:
        used = self.position_width is None or (self.positions == "learned" and self.position_op == "cat")
        must = "come with --codec.positions learned and --codec.position-op cat"
        got, fix = f"{self.position_width} with {self.positions} and {self.position_op}", "leave it out"
        require(used, "--codec.position-width", must, got, fix)
        return self


class RNEMConfig(CodecSettings):
    """Encoder and decoder of R-NEM (van Steenkiste et al. 2018), as RIMs and BRIMs use them."""

    kind: Suppress[Literal["rnem"]] = "rnem"
    channels: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (16, 32, 64)
    """Channels after each halving of the frame; the decoder mirrors them."""
    embedding: PositiveInt = 512
    """Width of the vector that stands for a frame, and of the decoder's first layer."""

    @property
    def shrink(self) -> int:
        """How many pixels of the frame, in each direction, one position of the smallest map stands for."""
        return int(2 ** len(self.channels))


class MilaConfig(CodecSettings):
    """Encoder and decoder of the authors' later code: no padding, so frames from 24 px on; bilinear upsampling."""

    kind: Suppress[Literal["mila"]] = "mila"
    channels: tuple[PositiveInt, PositiveInt, PositiveInt] = (16, 32, 64)
    """Channels after each halving of the frame; the decoder mirrors them."""
    embedding: PositiveInt = 600
    """Width of the vector that stands for a frame."""


class OwnCodecConfig(OwnPart):
    """A codec of one's own, MODULE:CLASS."""

    flag_prefix: ClassVar[str] = CodecSettings.flag_prefix


CodecConfig = Annotated[RNEMConfig | MilaConfig | OwnCodecConfig, Field(discriminator="kind")]


class DecoderSettings(Settings):
    """What the settings of every decoder share."""

    flag_prefix: ClassVar[str] = "--decoder."


class SharedConfig(DecoderSettings):
    """All modules' outputs, concatenated to one vector, through the codec."""

    kind: Suppress[Literal["shared"]] = "shared"


class FilesConfig(DecoderSettings):
    """Learned queries attend over the modules, so that their order does not show in the frame (SCOFF, section 4)."""

    kind: Suppress[Literal["files"]] = "files"
    queries: PositiveInt = 4
    """Number of learned queries; the codec gets all their results in one vector. Our choice, as it is unpublished."""


class MasksConfig(DecoderSettings):
    """Each module paints a picture and a mask; the masks are the model's own segmentation (Watters et al. 2019)."""

    kind: Suppress[Literal["masks"]] = "masks"


class OwnDecoderConfig(OwnPart):
    """A decoder of one's own, MODULE:CLASS."""

    flag_prefix: ClassVar[str] = DecoderSettings.flag_prefix


DecoderConfig = Annotated[SharedConfig | FilesConfig | MasksConfig | OwnDecoderConfig, Field(discriminator="kind")]
