"""The codec in later PyTorch code of the authors of RIMs and SCOFF, similar to R-NEM's but not equal."""

from torch import nn

from videopred import check
from videopred.models.codec_settings import MilaConfig
from videopred.models.columns import by_columns
from videopred.models.elu import ELU

_SMALLEST = 24


class Mila:
    """Layers between frames, maps and vectors: halvings without padding, bilinear doublings back.

    In: 4×4 convolutions of stride 2 without padding, 64 -> 31 -> 14 -> 6 pixels; a linear layer. Each is followed by
    ELU and then a norm over all of channels, rows and columns, without gain and bias.
    Out: sigmoid and norm of the vector; a linear layer to 8×8, ReLU, norm; then three bilinear doublings, each padded
    by repeating the border (by 2, by 1, not at all) and convolved without padding (4×4, 4×4, 3×3), with ReLU and norm
    between them: 8 -> 16 -> 20 -> 17 -> 34 -> 36 -> 33 -> 66 -> 64 pixels.

    Source: EncoderDecoder.py of the authors' neural production systems. Other frames are our generalisation: 8 n
    pixels shrink to n − 2 and grow back from n, so every multiple of 8 from 24 on fits. Weights start as torch draws
    them.

    Args:
        config: sizes.
        film_shape: (channels, height, width) of the films.

    Raises:
        ValueError: height or width is no multiple of 8, or below 24.
    """

    def __init__(self, config: MilaConfig, film_shape: tuple[int, int, int]):
        self.config, self.film_shape, self.embedding = config, film_shape, config.embedding
        for name, size in zip(("height", "width"), film_shape[1:], strict=True):
            fix = f"generate frames of such a {name}, or import films with --{name}, or take --codec rnem"
            must = f"be a multiple of 8 from {_SMALLEST} on for --codec mila"
            check.require(size % 8 == 0 and size >= _SMALLEST, f"frame {name}", must, size, fix)
        rows, columns = (size // 8 for size in film_shape[1:])
        self.shrunk_shape = config.channels[-1], rows - 2, columns - 2
        self.start_shape = config.channels[-1], rows, columns

    def shrink(self) -> list[nn.Module]:
        """Frames (N, C, H, W) -> maps (N, *shrunk_shape)."""
        layers: list[nn.Module] = []
        channels = self.film_shape[0]
        for out in self.config.channels:
            layers += [nn.Conv2d(channels, out, 4, stride=2), ELU(), _norm_of_map(out)]
            channels = out
        return layers

    def embed(self) -> list[nn.Module]:
        """Maps (N, *shrunk_shape) -> vectors (N, embedding)."""
        channels, rows, columns = self.shrunk_shape
        width = self.embedding
        linear = by_columns(nn.Linear(channels * rows * columns, width))
        return [nn.Flatten(), linear, ELU(), _norm_of_vector(width)]

    def expand(self, features: int) -> list[nn.Module]:
        """Vectors (N, features) -> maps (N, *start_shape)."""
        channels, rows, columns = self.start_shape
        size = channels * rows * columns
        layers = [nn.Sigmoid(), _norm_of_vector(features), by_columns(nn.Linear(features, size)), nn.ReLU()]
        return [*layers, _norm_of_vector(size), nn.Unflatten(1, self.start_shape)]

    def grow(self, outputs: int) -> list[nn.Module]:
        """Maps (N, *start_shape) -> (N, outputs, H, W), without an activation."""
        first, second, third = self.config.channels
        return [
            *[_doubling(), nn.ReplicationPad2d(2), nn.Conv2d(third, second, 4), nn.ReLU(), _norm_of_map(second)],
            *[_doubling(), nn.ReplicationPad2d(1), nn.Conv2d(second, first, 4), nn.ReLU(), _norm_of_map(first)],
            *[_doubling(), nn.Conv2d(first, outputs, 3)],
        ]


def _doubling() -> nn.Module:
    return nn.Upsample(scale_factor=2, mode="bilinear")


def _norm_of_map(channels: int) -> nn.Module:
    return nn.GroupNorm(1, channels, affine=False)


def _norm_of_vector(width: int) -> nn.Module:
    return nn.LayerNorm(width, elementwise_affine=False)
