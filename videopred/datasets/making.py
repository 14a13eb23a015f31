"""Makes the pieces of a file from a recipe: the same bytes for the same block, whoever makes it and when."""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Protocol

from videopred.datasets.piece import Piece, make_piece
from videopred.datasets.plan import Block
from videopred.datasets.record import full_record
from videopred.datasets.world import World

Errand = tuple[Block, Path]
"""A block of clips to be made, and where to save its piece."""


class Makers(Protocol):
    """Anything that makes pieces: this process, or a crew of others."""

    def make(self, errands: Sequence[Errand]) -> Iterator[Piece]:
        """The pieces of the errands, in their order, each saved before it is handed out."""


class Maker:
    """Makes pieces in this process, when they are asked for.

    Args:
        world: makes the clips.
        seed: seed of the data set.

    Attributes:
        recipe: of the world.
    """

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._seed, self.recipe = world, seed, world.recipe

    def make(self, errands: Sequence[Errand]) -> Iterator[Piece]:
        """The pieces of the errands, in their order, each saved before it is handed out."""
        binary = self.recipe.binary
        for part, some in groupby(errands, key=lambda errand: errand[0].part):
            blocks = list(some)
            # One call for all: laws that draw clips in order then draw none of them twice.
            addresses = chain.from_iterable(range(block.start, block.stop) for block, _ in blocks)
            clips = self._world.clips(self._seed, part, addresses)
            for block, path in blocks:
                numbered = zip(range(block.start, block.stop), clips, strict=False)  # leaves the next block's clips
                records = (full_record(clip, binary, self._seed, part, index) for index, clip in numbered)
                piece = make_piece(records, part, block.place, block.total)
                piece.save(path)
                yield piece
