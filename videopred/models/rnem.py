"""The codec of R-NEM (van Steenkiste et al. 2018), with its upsampling folded into the convolution."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred import check
from videopred.models.codec_settings import RNEMConfig
from videopred.models.columns import by_columns
from videopred.models.constants import keep_constants
from videopred.models.elu import ELU


class RNEM:
    """Layers between frames, maps and vectors: halvings with 4×4 convolutions, and doublings back.

    Source: R-NEM's network.py. In: 4×4 kernels, stride 2, to 16, 32 and 64 channels, a linear layer to 512; each
    normalised, then ELU. Out: two linear layers, then doublings with 4×4 convolutions to 32, 16 and C channels; each
    normalised, then ReLU, but for the last, whose output is the logit. The normalisation runs over all of channels,
    rows and columns, with gain and bias per channel, before the activation: without it, small sets of few updates
    stay on the mean image. Glorot-uniform weights, zero biases.
    We differ in the constant under the root of the norms: torch's 1e-5, where TensorFlow 1 is said to have had 1e-12.

    Args:
        config: sizes.
        film_shape: (channels, height, width) of the films.

    Raises:
        ValueError: height or width cannot be halved often enough.
    """

    def __init__(self, config: RNEMConfig, film_shape: tuple[int, int, int]):
        self.config, self.film_shape, self.embedding = config, film_shape, config.embedding
        for name, size in zip(("height", "width"), film_shape[1:], strict=True):
            fix = f"generate frames of such a {name}, or import films with --{name}, or give fewer --codec.channels"
            must = f"be a multiple of {config.shrink} for {len(config.channels)} halvings"
            check.require(size % config.shrink == 0, f"frame {name}", must, size, fix)
        rows, columns = (size // config.shrink for size in film_shape[1:])
        self.shrunk_shape = self.start_shape = config.channels[-1], rows, columns

    def shrink(self) -> list[nn.Module]:
        """Frames (N, C, H, W) -> maps (N, *shrunk_shape)."""
        layers: list[nn.Module] = []
        channels = self.film_shape[0]
        for out in self.config.channels:
            layers += [nn.Conv2d(channels, out, 4, stride=2, padding=1), nn.GroupNorm(1, out), ELU()]
            channels = out
        return _drawn(layers)

    def embed(self) -> list[nn.Module]:
        """Maps (N, *shrunk_shape) -> vectors (N, embedding)."""
        channels, rows, columns = self.shrunk_shape
        width = self.embedding
        layers = [nn.Flatten(), nn.Linear(channels * rows * columns, width), nn.LayerNorm(width), ELU()]
        return _drawn(layers)

    def expand(self, features: int) -> list[nn.Module]:
        """Vectors (N, features) -> maps (N, *start_shape)."""
        channels, rows, columns = self.start_shape
        width, size = self.embedding, channels * rows * columns
        layers = [nn.Linear(features, width), nn.LayerNorm(width), nn.ReLU(inplace=True)]
        layers += [nn.Linear(width, size), nn.LayerNorm(size), nn.ReLU(inplace=True)]
        layers.append(nn.Unflatten(1, self.start_shape))
        return _drawn(layers)

    def grow(self, outputs: int) -> list[nn.Module]:
        """Maps (N, *start_shape) -> (N, outputs, H, W), without an activation."""
        *rest, channels = self.config.channels
        layers: list[nn.Module] = []
        for out in reversed(rest):
            layers += [UpsampleConv(channels, out), nn.GroupNorm(1, out), nn.ReLU(inplace=True)]
            channels = out
        return _drawn([*layers, UpsampleConv(channels, outputs)])


class UpsampleConv(nn.Conv2d):
    """Doubling by nearest pixels, then a 4×4 convolution, as one 3×3 convolution at the low resolution.

    A 4×4 window on the doubled map sees only 3×3 different pixels. For an even row the taps (0 1 2 3) fall on low
    rows (−1, 0, 0, 1), for an odd row on (0, 0, 1, 1); summing the taps that meet gives one 3×3 kernel for each of
    the 2×2 phases. These are computed as channels: all of the first phase, then all of the second, and so on, so that
    with channels last in memory, whole rows of numbers go to their places. The same function, borders included, from
    the same 4×4 parameters, two and a half times as fast and without the doubled map in memory.

    Padding follows TensorFlow's SAME for a 4×4 kernel: one pixel before, two behind.
    """

    bias: Tensor
    fold: Tensor
    kept: list[tuple[Tensor, Tensor]] | None = None
    """Within `folded_once` what `folded` gives, once it is folded."""

    def __init__(self, channels: int, outputs: int):
        super().__init__(channels, outputs, 4)
        keep_constants(self)

    def constants(self) -> dict[str, Tensor]:
        """Which taps meet in each tap of a folded kernel."""
        even = [[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
        odd = [[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]]
        along = torch.tensor([even, odd]).to(self.weight.dtype)  # (phase, low tap, tap), for rows as for columns
        return {"fold": torch.einsum("pau,qbv->pqabuv", along, along).reshape(2 * 2 * 3 * 3, 4 * 4)}

    def forward(self, inputs: Tensor) -> Tensor:
        """(N, channels, H, W) -> (N, outputs, 2 H, 2 W)."""
        kernels, bias = self.kept[0] if self.kept else self.folded()
        if self.kept is not None:
            self.kept[:] = [(kernels, bias)]
        outputs = self.out_channels
        phases = functional.conv2d(inputs, kernels, bias, padding=1).permute(0, 2, 3, 1)
        count, rows, columns, _ = phases.shape
        pairs = phases.unflatten(3, (2, 2 * outputs)).transpose(2, 3)  # (N, H, row phase, W, column phase * outputs)
        return pairs.reshape(count, 2 * rows, 2 * columns, outputs).permute(0, 3, 1, 2)

    def folded(self) -> tuple[Tensor, Tensor]:
        """The kernels of all phases, (4 outputs, channels, 3, 3), and their biases, (4 outputs,)."""
        folded = self.fold @ self.weight.flatten(2).transpose(1, 2)  # (outputs, phases * low taps, channels)
        kernels = folded.unflatten(1, (4, 3, 3)).transpose(0, 1).flatten(0, 1).permute(0, 3, 1, 2)
        return kernels, self.bias.repeat(4)


@contextmanager
def folded_once(model: nn.Module) -> Iterator[None]:
    """Within it, a model's kernels are folded at their first use alone; its weights must stay as they are."""
    layers = [layer for layer in model.modules() if isinstance(layer, UpsampleConv)]
    try:
        for layer in layers:
            layer.kept = []
        yield
    finally:
        for layer in layers:
            layer.kept = None


def _drawn(layers: list[nn.Module]) -> list[nn.Module]:
    """The layers with Glorot-uniform weights and zero biases, as TensorFlow 1 drew them for R-NEM.

    Kernels lie in memory channels last, and so do the maps that they give, which is faster (docs/speed.md).
    """
    for layer in layers:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        if isinstance(layer, nn.Linear):
            by_columns(layer)
        if isinstance(layer, nn.Conv2d):
            layer.to(memory_format=torch.channels_last)
    return layers
