"""Makes a data set: recipe -> states -> frames -> pieces -> HDF5 files."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from tqdm import tqdm

from videopred import check
from videopred.datasets import find_recipe, make_world
from videopred.datasets.crew import Crew
from videopred.datasets.finished import still_to_make, strays
from videopred.datasets.making import Maker, Makers
from videopred.datasets.piece import Piece, load_piece
from videopred.datasets.plan import Block, Target, plan
from videopred.datasets.settings import DatasetSettings
from videopred.datasets.shards import my_place
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
    shards: int = 1,
    workers: int = 1,
    overwrite: bool = False,
    progress: bool = False,
) -> Path:
    """Make a data set, and return the path of its file, or of its folder of shards.

    Stopped on the way and called again with the same arguments, it goes on with what is there, and says so on stderr.
    The bytes are the same for any number of workers, stopped or not. Of several processes that torchrun or srun
    started together, each makes its share of the shards.

    Args:
        name: a preset; with `recipe`, any name.
        clips: train, validation, test -> number of clips; parts that are left out or 0 are not in the file.
        seed: seed of the whole data set, at least 0.
        out: folder of the file `<name>.h5` or of the folder `<name>`; or the file itself if it ends in .h5.
        recipe: settings other than the preset's.
        mnist: folder with the full MNIST; the package's own digits when None.
        shards: number of files; several are `<name>/<name>-00000-of-00004.h5` and so on. Those that are there are kept.
        workers: processes that make clips; 1 is this one.
        overwrite: replace what is there, if it is not what was asked for.
        progress: show a bar on stderr.

    Raises:
        ValueError: unknown preset or part, no clips at all, scenes broken apart, a negative number, fewer shards than
            processes, or more than clips.
        FileExistsError: something is there and `overwrite` is false.
        FileNotFoundError: `mnist` lacks a file.
        OSError: a file cannot be written, or a worker died; nothing is left under its name.
        KeyboardInterrupt: somebody pressed Ctrl-C.
    """
    recipe = find_recipe(name) if recipe is None else recipe
    job = plan(name, clips, seed, out, recipe, shards)
    check.whole_number("--workers", workers, 1, "give a number of processes, 1 for this one alone")
    must, fix = "be 1 for clips that are drawn in order from one stream", "leave it out"
    check.require(workers == 1 or not recipe.in_order, "--workers", must, workers, fix)
    place, processes = my_place()
    must, fix = f"be at least {processes}, the processes started together", "give more shards or start fewer processes"
    check.require(shards >= processes, "--shards", must, shards, fix)
    world = make_world(recipe, mnist)
    job = job.by(world.recipe)  # which now names the digits
    mine = job.targets()[place::processes]
    missing = still_to_make(job, mine, overwrite, alone=processes == 1)
    if processes > 1:
        shares = " ".join(map(str, range(place, shards, processes)))
        print(f"process {place} of {processes} makes shard{'s' * (len(mine) > 1)} {shares}", file=sys.stderr)
    _say_what_is_there(mine, missing)
    alone = Maker(world, seed)
    try:
        with (
            tqdm(total=sum(target.clips for target in missing), unit="clip", desc=name, disable=not progress) as bar,
            Crew(workers, world.recipe, mnist, seed) if workers > 1 else nullcontext(alone) as makers,
        ):
            for target in missing:
                _make_file(target, makers, alone, bar)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command goes on where this one stopped") from None
    for path in strays(job):
        path.unlink(missing_ok=True)
    return job.path


def _say_what_is_there(mine: Sequence[Target], missing: Sequence[Target]) -> None:
    """Tell on stderr how much of this process's share was made before."""
    asked = sum(target.clips for target in mine)
    absent = sum(block.stop - block.start for target in missing for block in Unfinished(target).missing())
    if absent < asked:
        print(f"resuming: {asked - absent:,} of {asked:,} clips are there", file=sys.stderr)


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
