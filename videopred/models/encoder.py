"""The convolutional encoder of R-NEM (van Steenkiste et al. 2018), which RIMs and BRIMs share, and position keys."""

from typing import Literal

import torch
from torch import Tensor, nn

from videopred import check
from videopred.models.settings import CodecConfig


class Encoder(nn.Module):
    """Frames to slots: halving convolutions, each normalised, then ELU; the map they end in is what `reads` asks for.

    vector  one slot per frame: the map through a linear layer, normalised, then ELU.
    map     one slot per position of the map, row by row: its channels, then its position key (SCOFF, Algorithm 1).

    Source: R-NEM's network.py: 4×4 kernels, stride 2, 16, 32 and 64 channels, 512 units; the normalisation runs over
    all of channels, rows and columns, with gain and bias per channel, before the activation. Without it, small sets
    of few updates stay on the mean image. Glorot-uniform weights, zero bias.
    We differ in the constant under the root of the norms: torch's 1e-5, where TensorFlow 1 is said to have had 1e-12.

    Raises:
        ValueError: height or width cannot be halved often enough.
    """

    def __init__(
        self, config: CodecConfig, film_shape: tuple[int, int, int], reads: Literal["vector", "map"] = "vector"
    ):
        super().__init__()
        channels, height, width = film_shape
        check_divisible(config, height, width)
        layers: list[nn.Module] = []
        for out in config.channels:
            layers += [nn.Conv2d(channels, out, 4, stride=2, padding=1), nn.GroupNorm(1, out), nn.ELU()]
            channels = out
        rows, columns = height // config.shrink, width // config.shrink
        if reads == "vector":
            layers += [nn.Flatten(), nn.Linear(channels * rows * columns, config.embedding)]
            layers += [nn.LayerNorm(config.embedding), nn.ELU(), nn.Unflatten(1, (1, config.embedding))]
            self.features = config.embedding
        else:
            keys = Positions(config, rows, columns)
            layers.append(keys)
            self.features = channels + keys.width
        self.layers = nn.Sequential(*layers)
        self.layers.apply(initialise)

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

    def __init__(self, config: CodecConfig, rows: int, columns: int):
        super().__init__()
        if config.positions == "learned":
            self.keys = nn.Parameter(torch.randn(rows * columns, config.position_width))
        else:
            y, x = torch.meshgrid(torch.linspace(0, 1, rows), torch.linspace(0, 1, columns), indexing="ij")
            self.register_buffer("keys", torch.stack([x, 1 - x, y, 1 - y], -1).flatten(0, 1), persistent=False)
        self.width = self.keys.shape[1]

    def forward(self, features: Tensor) -> Tensor:
        """(N, channels, rows, columns) -> (N, rows * columns, channels + width)."""
        slots = features.flatten(2).transpose(1, 2)
        return torch.cat([slots, self.keys.to(slots.dtype).expand(len(slots), -1, -1)], -1)


def check_divisible(config: CodecConfig, height: int, width: int) -> None:
    """Raise ValueError unless both sides of the frame divide by the codec's shrinking."""
    for name, size in (("height", height), ("width", width)):
        fix = f"generate frames of such a {name}, or give fewer --codec.channels"
        must = f"be a multiple of {config.shrink} for {len(config.channels)} halvings"
        check.require(size % config.shrink == 0, f"frame {name}", must, size, fix)


def initialise(layer: nn.Module) -> None:
    """Glorot-uniform weights and zero biases, as TensorFlow 1 drew them for R-NEM."""
    if isinstance(layer, nn.Conv2d | nn.Linear):
        nn.init.xavier_uniform_(layer.weight)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
