"""What a core reads of a frame: one vector, or the positions of a small map, each with a key that says where it is."""

from typing import Literal

import torch
from torch import Tensor, nn

from videopred.models import build_codec
from videopred.models.codec_settings import CodecConfig, CodecSettings


class Encoder(nn.Module):
    """Frames to slots, through the codec's convolutions.

    Args:
        config: settings of one of CODECS.
        film_shape: (channels, height, width) of the films.
        reads: what the core wants. `vector`: one slot per frame, its embedding. `map`: one slot per position of the
            smallest map, row by row: its channels, then its key (SCOFF, Algorithm 1).

    Raises:
        ValueError: the codec cannot take frames of that size.
    """

    def __init__(
        self, config: CodecConfig, film_shape: tuple[int, int, int], reads: Literal["vector", "map"] = "vector"
    ):
        super().__init__()
        self.map_shape: tuple[int, int] | None
        """Rows and columns of the positions that are the slots; None for a vector."""
        codec = build_codec(config, film_shape)
        layers = codec.shrink()
        if reads == "vector":
            layers += [*codec.embed(), nn.Unflatten(1, (1, config.embedding))]
            self.features, self.map_shape = config.embedding, None
        else:
            channels, rows, columns = codec.shrunk_shape
            self.map_shape = rows, columns
            keys = Positions(config, rows, columns)
            layers.append(keys)
            self.features = channels + keys.width
        self.layers = nn.Sequential(*layers)

    def forward(self, film: Tensor) -> Tensor:
        """(N, C, H, W) in [0, 1] -> slots (N, L, D)."""
        return self.layers(film)


class Positions(nn.Module):
    """A map as slots, each with a key behind its channels that says where it is.

    Learned keys start from a unit normal distribution, as large as the normalised channels beside them (our choice).
    `coord4` is x, 1 − x, y, 1 − y, with x and y from 0 at the first column and row to 1 at the last, or 0 if it is
    the only one: what the SCOFF authors' slot encoder maps onto the channels and adds; here it stands beside them.
    """

    keys: Tensor

    def __init__(self, config: CodecSettings, rows: int, columns: int):
        super().__init__()
        if config.positions == "learned":
            self.keys = nn.Parameter(torch.randn(rows * columns, config.position_width))
        else:
            self.register_buffer("keys", coordinates(rows, columns).flatten(0, 1), persistent=False)
        self.width = self.keys.shape[1]

    def forward(self, features: Tensor) -> Tensor:
        """(N, channels, rows, columns) -> (N, rows * columns, channels + width)."""
        slots = features.flatten(2).transpose(1, 2)
        return torch.cat([slots, self.keys.to(slots.dtype).expand(len(slots), -1, -1)], -1)


def coordinates(rows: int, columns: int) -> Tensor:
    """x, 1 − x, y, 1 − y of each position of a grid, (rows, columns, 4) in [0, 1]."""
    y, x = torch.meshgrid(torch.linspace(0, 1, rows), torch.linspace(0, 1, columns), indexing="ij")
    return torch.stack([x, 1 - x, y, 1 - y], -1)
