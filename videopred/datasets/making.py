"""Makes a data file: its pieces from a recipe, and the file from its pieces.

A piece has the same bytes, whoever makes it and when.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Protocol

from videopred import check_path
from videopred.datasets.file_layout import full_record
from videopred.datasets.piece import Piece, load_piece, make_piece
from videopred.datasets.plan import Block, Target
from videopred.datasets.resuming import PieceFolder
from videopred.datasets.world import World
from videopred.datasets.writer import new_file

Task = tuple[Block, Path]
"""A block of clips to be made, and where to save its piece."""


class PieceMaker(Protocol):
    """Anything that makes pieces: this process, or a pool of workers."""

    def make(self, tasks: Sequence[Task]) -> Iterator[Piece]:
        """The pieces of the tasks, in their order, each saved before it is handed out."""


class LocalMaker:
    """Makes pieces in this process, when they are asked for.

    Args:
        world: makes the clips.
        seed: seed of the data set.

    Attributes:
        recipe: of the world.
    """

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._seed, self.recipe = world, seed, world.recipe

    def make(self, tasks: Sequence[Task]) -> Iterator[Piece]:
        """The pieces of the tasks, in their order, each saved before it is handed out."""
        binary = self.recipe.binary
        for part, some in groupby(tasks, key=lambda task: task[0].part):
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


def make_file(target: Target, maker: PieceMaker, done: Callable[[int], object], *, overwrite: bool = False) -> None:
    """Make a file from the pieces that are there and those that are still missing.

    Args:
        target: the file.
        maker: makes the missing pieces, and damaged ones again.
        done: called with the number of clips of each piece once it is in the file.
        overwrite: whether what is there may be replaced.

    Raises:
        FileExistsError: the file is there, maybe since a moment ago, and `overwrite` is false.
        OSError: the file cannot be written; what was made of it is kept.
    """
    folder = PieceFolder(target)
    with folder.open(), new_file(target.path, target.attributes) as writer:
        check_path.absent("--out", target.path, overwrite)  # now that nobody else can make it
        missing = folder.missing()
        made = maker.make([(block, folder.path_of(block)) for block in missing])
        absent = set(missing)

        def pieces(part: str) -> Iterator[Piece]:
            for block in target.blocks():
                if block.part == part:
                    path = folder.path_of(block)
                    yield next(made) if block in absent else load_piece(path) or next(maker.make([(block, path)]))
                    done(block.stop - block.start)

        for part, addresses in target.ranges.items():
            writer.write_pieces(part, pieces(part), len(addresses))
