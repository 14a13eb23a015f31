"""Puts a file together out of its pieces."""

from collections.abc import Callable, Iterator

from videopred import check
from videopred.datasets.making import Maker, Makers
from videopred.datasets.piece import Piece, load_piece
from videopred.datasets.plan import Block, Target
from videopred.datasets.unfinished import Unfinished
from videopred.datasets.writer import new_file


def make_file(
    target: Target, makers: Makers, alone: Maker, done: Callable[[int], object], *, overwrite: bool = False
) -> None:
    """Make a file out of pieces: those that are there, and those that the makers make.

    Args:
        target: the file.
        makers: whoever makes the missing pieces.
        alone: makes damaged ones again.
        done: called with the number of clips of each piece once it is in the file.
        overwrite: whether what is there may be replaced.

    Raises:
        FileExistsError: the file is there, maybe since a moment ago, and `overwrite` is false.
        OSError: the file cannot be written; what was made of it is kept.
    """
    unfinished = Unfinished(target)
    with unfinished.open(), new_file(target.path, target.attributes) as writer:
        check.absent("--out", target.path, overwrite)  # now that nobody else can make it
        missing = unfinished.missing()
        made = makers.make([(block, unfinished.path_of(block)) for block in missing])
        absent = set(missing)

        def pieces(part: str) -> Iterator[Piece]:
            for block in target.blocks():
                if block.part == part:
                    yield next(made) if block in absent else _kept(block, unfinished, alone)
                    done(block.stop - block.start)

        for part, addresses in target.ranges.items():
            writer.write_pieces(part, pieces(part), len(addresses))


def _kept(block: Block, unfinished: Unfinished, alone: Maker) -> Piece:
    """The piece of a block that was made before, or made again if it was damaged since."""
    path = unfinished.path_of(block)
    return load_piece(path) or next(alone.make([(block, path)]))
