"""What a codec is: lists of layers that lead from frames to maps to vectors, and back.

Each call draws layers anew, from torch's global generator. Encoder and decoder join the lists that they need.
"""

from typing import Protocol

from torch import nn


class Codec(Protocol):
    """Layers between frames of one shape, maps and vectors."""

    shrunk_shape: tuple[int, int, int]
    """Channels, rows and columns of the maps that frames shrink to."""
    embedding: int
    """Width of the vectors that stand for frames."""
    start_shape: tuple[int, int, int]
    """Channels, rows and columns of the maps from which frames grow."""

    def shrink(self) -> list[nn.Module]:
        """Frames (N, C, H, W) -> maps (N, *shrunk_shape)."""

    def embed(self) -> list[nn.Module]:
        """Maps (N, *shrunk_shape) -> vectors (N, embedding)."""

    def expand(self, features: int) -> list[nn.Module]:
        """Vectors (N, features) -> maps (N, *start_shape)."""

    def grow(self, outputs: int) -> list[nn.Module]:
        """Maps (N, *start_shape) -> (N, outputs, H, W), without an activation."""
