"""Makes a data file: recipe -> states -> frames -> HDF5."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tqdm import tqdm

from videopred import check
from videopred.datasets import find_recipe, make_world
from videopred.datasets.clip import PARTS
from videopred.datasets.record import Record, full_record
from videopred.datasets.settings import DatasetSettings
from videopred.datasets.world import World
from videopred.datasets.writer import attributes_of, new_file


def generate(
    name: str,
    clips: Mapping[str, int],
    *,
    seed: int = 0,
    out: Path = Path("datasets"),
    recipe: DatasetSettings | None = None,
    mnist: Path | None = None,
    overwrite: bool = False,
    progress: bool = False,
) -> Path:
    """Make a data file, and return its path.

    Args:
        name: a preset; with `recipe`, any name.
        clips: train, validation, test -> number of clips; parts that are left out or 0 are not in the file.
        seed: seed of the whole data set, at least 0.
        out: folder of the file `<name>.h5`, or the file itself if it ends in .h5.
        recipe: settings other than the preset's.
        mnist: folder with the full MNIST; the package's own digits when None.
        overwrite: replace a file that is there.
        progress: show a bar on stderr.

    Raises:
        ValueError: unknown preset or part, no clips at all, a negative number.
        FileExistsError: the file is there and `overwrite` is false.
        FileNotFoundError: `mnist` lacks a file.
        OSError: the file cannot be written; nothing is left under its name.
    """
    recipe = find_recipe(name) if recipe is None else recipe
    check.whole_number("--seed", seed, 0, "give a whole number such as 0")
    check.require(seed < 2**64, "--seed", "be below 2**64", seed, "choose a smaller one")
    for part, count in clips.items():
        check.one_of("--clips", part, PARTS)
        check.whole_number(f"--clips {part}", count, 0, "give a number of clips such as 100")
    total = sum(clips.values())
    check.require(total > 0, "--clips", "ask for at least one clip", total, "try --clips train=100 test=10")
    path = check.absent("--out", out if out.suffix == ".h5" else out / f"{name}.h5", overwrite)
    world = make_world(recipe, mnist)
    with (
        tqdm(total=total, unit="clip", desc=name, disable=not progress) as bar,
        new_file(path, attributes_of(name, world.recipe, seed)) as writer,
    ):
        for part in PARTS:  # always in this order, however `clips` is sorted: equal files are equal bytes
            if count := clips.get(part, 0):
                writer.write_part(part, _records(world, seed, part, count, bar), count)
    return path


def _records(world: World, seed: int, part: str, count: int, bar: tqdm) -> Iterator[Record]:
    """What the file holds of the first clips of a part, each moving the bar."""
    for index, clip in enumerate(world.clips(seed, part, range(count))):
        yield full_record(clip, world.recipe.binary, seed, part, index)
        bar.update()
