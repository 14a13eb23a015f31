"""Makes a data file: recipe -> states -> frames -> pieces -> HDF5 file."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

from tqdm import tqdm

from videopred import check
from videopred.datasets import find_recipe, make_world
from videopred.datasets.crew import Crew
from videopred.datasets.making import Maker, Makers
from videopred.datasets.piece import Piece, load_piece
from videopred.datasets.plan import Block, Target, attributes_of, check_request
from videopred.datasets.settings import DatasetSettings
from videopred.datasets.unfinished import Unfinished
from videopred.datasets.writer import new_file


def generate(
    name: str,
    clips: Mapping[str, int],
    *,
    seed: int = 0,
    out: Path = Path("datasets"),
    recipe: DatasetSettings | None = None,
    mnist: Path | None = None,
    workers: int = 1,
    overwrite: bool = False,
    progress: bool = False,
) -> Path:
    """Make a data file, and return its path.

    Stopped on the way and called again with the same arguments, it goes on with what is there, and says so on stderr.
    The bytes are the same for any number of workers, stopped or not.

    Args:
        name: a preset; with `recipe`, any name.
        clips: train, validation, test -> number of clips; parts that are left out or 0 are not in the file.
        seed: seed of the whole data set, at least 0.
        out: folder of the file `<name>.h5`, or the file itself if it ends in .h5.
        recipe: settings other than the preset's.
        mnist: folder with the full MNIST; the package's own digits when None.
        workers: processes that make clips; 1 is this one.
        overwrite: replace a file that is there.
        progress: show a bar on stderr.

    Raises:
        ValueError: unknown preset or part, no clips at all, scenes broken apart, a negative number.
        FileExistsError: the file is there and `overwrite` is false.
        FileNotFoundError: `mnist` lacks a file.
        OSError: the file cannot be written, or a worker died; nothing is left under its name.
        KeyboardInterrupt: somebody pressed Ctrl-C.
    """
    recipe = find_recipe(name) if recipe is None else recipe
    parts = check_request(clips, seed, recipe)
    check.whole_number("--workers", workers, 1, "give a number of processes, 1 for this one alone")
    must, fix = "be 1 for clips that are drawn in order from one stream", "leave it out"
    check.require(workers == 1 or not recipe.in_order, "--workers", must, workers, fix)
    path = check.absent("--out", out if out.suffix == ".h5" else out / f"{name}.h5", overwrite)
    world = make_world(recipe, mnist)
    ranges = {part: range(count) for part, count in parts.items()}
    scenes = {part: recipe.clips_per_scene(part) for part in parts}
    target = Target(path, ranges, attributes_of(name, world.recipe, seed), scenes)
    alone = Maker(world, seed)
    there = target.clips - sum(block.stop - block.start for block in Unfinished(target).missing())
    if there:
        print(f"resuming: {there:,} of {target.clips:,} clips are there", file=sys.stderr)
    try:
        with (
            tqdm(total=target.clips, unit="clip", desc=name, disable=not progress) as bar,
            Crew(workers, world.recipe, mnist, seed) if workers > 1 else nullcontext(alone) as makers,
        ):
            _make_file(target, makers, alone, bar)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command goes on where this one stopped") from None
    return path


def _make_file(target: Target, makers: Makers, alone: Maker, bar: tqdm) -> None:
    """Make a file out of pieces: those that are there, and those that the makers make."""
    unfinished = Unfinished(target)
    with unfinished.open(), new_file(target.path, target.attributes) as writer:
        missing = unfinished.missing()
        made = makers.make([(block, unfinished.path_of(block)) for block in missing])
        absent = set(missing)

        def pieces(part: str) -> Iterator[Piece]:
            for block in target.blocks():
                if block.part == part:
                    yield next(made) if block in absent else _kept(block, unfinished, alone)
                    bar.update(block.stop - block.start)

        for part, addresses in target.ranges.items():
            writer.write_pieces(part, pieces(part), len(addresses))


def _kept(block: Block, unfinished: Unfinished, alone: Maker) -> Piece:
    """The piece of a block that was made before, or made again if it was damaged since."""
    path = unfinished.path_of(block)
    return load_piece(path) or next(alone.make([(block, path)]))
