"""The convolutional encoder of R-NEM (van Steenkiste et al. 2018), which RIMs and BRIMs share."""

from torch import Tensor, nn

from videopred import check
from videopred.models.settings import CodecConfig


class Encoder(nn.Module):
    """Frames to one vector each: halving convolutions, then a linear layer, each normalised, then ELU.

    Source: R-NEM's network.py: 4×4 kernels, stride 2, 16, 32 and 64 channels, 512 units; the normalisation runs over
    all of channels, rows and columns, with gain and bias per channel, before the activation. Without it, small sets
    of few updates stay on the mean image. Glorot-uniform weights, zero bias.
    We differ in the constant under the root of the norms: torch's 1e-5, where TensorFlow 1 is said to have had 1e-12.

    Raises:
        ValueError: height or width cannot be halved often enough.
    """

    def __init__(self, config: CodecConfig, film_shape: tuple[int, int, int]):
        super().__init__()
        channels, height, width = film_shape
        check_divisible(config, height, width)
        layers: list[nn.Module] = []
        for out in config.channels:
            layers += [nn.Conv2d(channels, out, 4, stride=2, padding=1), nn.GroupNorm(1, out), nn.ELU()]
            channels = out
        positions = (height // config.shrink) * (width // config.shrink)
        layers += [nn.Flatten(), nn.Linear(channels * positions, config.embedding)]
        layers += [nn.LayerNorm(config.embedding), nn.ELU()]
        self.layers = nn.Sequential(*layers)
        self.features = config.embedding
        self.layers.apply(initialise)

    def forward(self, film: Tensor) -> Tensor:
        """(N, C, H, W) in [0, 1] -> one slot per frame, (N, 1, D)."""
        return self.layers(film).unsqueeze(1)


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
