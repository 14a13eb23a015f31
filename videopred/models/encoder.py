"""What a core reads of a frame: one vector, the positions of a small map, each with a key that says where it is, or a
vector of each of several strips."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from videopred.check import require
from videopred.models import build_codec, reads
from videopred.models.codec import Codec
from videopred.models.codec_settings import CodecConfig, CodecSettings
from videopred.models.constants import keep_constants
from videopred.models.core_settings import CoreSettings
from videopred.models.own import settings_of

_USUAL_WIDTH = 16  # of a learned key behind the channels


def build_encoder(
    config: CodecConfig, film_shape: tuple[int, int, int], core: CoreSettings
) -> "Encoder | StripsEncoder":
    """The encoder that gives a core what it reads.

    Args:
        config: settings of one of CODECS, or of a codec of one's own.
        film_shape: (channels, height, width) of the films.
        core: settings of the core.

    Raises:
        ValueError: the codec cannot take frames of that size, or they have fewer rows than the core has modules.
    """
    wanted, codec = reads(core), build_codec(config, film_shape)
    if wanted == "strips":  # one for each module
        return StripsEncoder(codec, film_shape[1], settings_of(core).modules)
    return Encoder(codec, settings_of(config) if wanted == "map" else None)


class Encoder(nn.Module):
    """Frames to slots, through the codec's convolutions.

    Args:
        codec: whose layers it draws.
        positions: for one slot per position of the smallest map, row by row: its channels and its key (SCOFF,
            algorithm 1), which is as these settings say. None: one slot per frame, its embedding.
    """

    strips = None

    def __init__(self, codec: Codec, positions: CodecSettings | None = None):
        super().__init__()
        self.map_shape: tuple[int, int] | None
        """Rows and columns of the positions that are the slots; None for a vector."""
        layers = codec.shrink()
        if positions is None:
            layers += [*codec.embed(), nn.Unflatten(1, (1, codec.embedding))]
            self.features, self.map_shape = codec.embedding, None
        else:
            channels, rows, columns = codec.shrunk_shape
            self.map_shape = rows, columns
            slots = Positions(positions, channels, rows, columns)
            layers.append(slots)
            self.features = slots.width
        self.layers = nn.Sequential(*layers)

    def forward(self, film: Tensor) -> Tensor:
        """(N, C, H, W) in [0, 1] -> slots (N, L, D)."""
        return self.layers(film)


class StripsEncoder(nn.Module):
    """Frames to horizontal strips as slots, from the top down, each through an encoder of its own to which the rest of
    the frame is dark.

    Source: RIMs, appendix D.4.1: the input of each encoder is multiplied by a fixed mask of zeros with a band of ones.
    Where the rows cannot be shared out evenly, some strips have one more than others.

    Args:
        codec: whose layers it draws for each of them.
        height: rows of a frame.
        strips: how many.

    Raises:
        ValueError: there are fewer rows than strips.
    """

    bands: Tensor
    map_shape = None
    strips: list[tuple[int, int]]
    """The rows of each, the first and the one behind the last."""

    def __init__(self, codec: Codec, height: int, strips: int):
        super().__init__()
        must, fix = f"be at most {height}, the rows of a frame, with --core.reads strips", "lower it"
        require(strips <= height, "--core.modules", must, strips, fix)
        encoders = [Encoder(codec) for _ in range(strips)]
        self.encoders, self.features = nn.ModuleList(encoders), encoders[0].features
        self.strips = list(pairwise(round(strip * height / strips) for strip in range(strips + 1)))
        keep_constants(self)

    def constants(self) -> dict[str, Tensor]:
        """A mask of ones on the rows of each strip."""
        bands = torch.zeros(len(self.strips), self.strips[-1][1], 1)
        for band, (first, end) in zip(bands, self.strips, strict=True):
            band[first:end] = 1
        return {"bands": bands}

    def forward(self, film: Tensor) -> Tensor:
        """(N, C, H, W) in [0, 1] -> slots (N, K, D)."""
        return torch.cat([encode(film * band) for encode, band in zip(self.encoders, self.bands, strict=True)], 1)


class Positions(nn.Module):
    """A map as slots, each with a key behind its channels, or added to them, that says where it is.

    Learned keys start from a unit normal distribution, as large as the normalised channels beside them (our choice).
    `coord4` is x, 1 − x, y, 1 − y, with x and y from 0 at the first column and row to 1 at the last, or 0 if it is
    the only one. To be added it goes through a linear map, as in the SCOFF authors' later slot encoder.

    Args:
        config: which keys, and how they join the channels.
        channels, rows, columns: sizes of the map.
    """

    keys: Tensor
    width: int
    """Features of a slot."""

    def __init__(self, config: CodecSettings, channels: int, rows: int, columns: int):
        super().__init__()
        self.grid, self.added = (rows, columns), config.position_op == "add"
        self.inward: nn.Linear | None = None
        if config.positions == "learned":
            width = channels if self.added else config.position_width or _USUAL_WIDTH
            self.keys = nn.Parameter(torch.randn(rows * columns, width))
        else:
            keep_constants(self)
            self.inward = nn.Linear(4, channels) if self.added else None
        self.width = channels if self.added else channels + self.keys.shape[1]

    def constants(self) -> dict[str, Tensor]:
        """Keys that are not learned."""
        return {"keys": coordinates(*self.grid).flatten(0, 1)}

    def forward(self, features: Tensor) -> Tensor:
        """(N, channels, rows, columns) -> (N, rows * columns, width)."""
        slots = features.flatten(2).transpose(1, 2)
        keys = (self.keys if self.inward is None else self.inward(self.keys)).to(slots.dtype)
        return slots + keys if self.added else torch.cat([slots, keys.expand(len(slots), -1, -1)], -1)


def coordinates(rows: int, columns: int) -> Tensor:
    """x, 1 − x, y, 1 − y of each position of a grid, (rows, columns, 4) in [0, 1]."""
    y, x = torch.meshgrid(torch.linspace(0, 1, rows), torch.linspace(0, 1, columns), indexing="ij")
    return torch.stack([x, 1 - x, y, 1 - y], -1)
