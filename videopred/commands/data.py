"""Commands that make, bring in, look at and give out data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import OmitArgPrefixes, Positional, arg

from videopred import check, check_path, flags
from videopred.commands import terminal
from videopred.commands.options import Data, Json, Overwrite, out_flag
from videopred.datasets import DATASETS, open_dataset
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.settings import DatasetSettings
from videopred.settings import Part

if TYPE_CHECKING:
    from videopred.datasets.clip_source import ClipSource

_PREVIEWED = 6
"""Clips in a preview, at most."""
_PREVIEWED_FRAMES = 200
"""Frames of a preview, at most: a GIF of thousands takes minutes and gigabytes."""


def generate(
    preset: Annotated[
        Positional[str],
        arg(
            metavar="PRESET",
            help="One of `videopred list datasets`, or a JSON recipe. `generate PRESET --help` shows its own options.",
        ),
    ],
    *,
    recipe: DatasetSettings = DATASETS["balls4"].recipe,
    clips: Annotated[
        tuple[str, ...], arg(metavar="PART=COUNT...", help="Clips of each part: train, validation, test.")
    ] = ("train=1000", "validation=100", "test=100"),
    seed: Annotated[int, arg(help="Random seed; with the recipe it determines every clip.")] = 0,
    out: Annotated[Path, out_flag("Folder for PRESET.h5, or a file name ending in .h5.")] = Path("datasets"),
    mnist: Annotated[Path | None, arg(help="Folder with the whole MNIST (torchvision's layout).")] = None,
    shards: Annotated[int, arg(help="Files to split the data set into; several go into a folder PRESET.")] = 1,
    workers: Annotated[int, arg(help="Processes that make clips; any number makes the same bytes.")] = 1,
    dry_run: Annotated[bool, arg(help="Only estimate the time and disk space that it would take.")] = False,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Generate a data set from a recipe, as an HDF5 file."""
    counts = flags.counts(clips)
    name = Path(preset).stem if preset.endswith(".json") else preset
    must, fix = "be 1 for a recipe that is not called after a preset", "rename the file, or name a preset"
    check.require(shards == 1 or name in DATASETS, "--shards", must, shards, fix)
    from videopred.datasets import generation

    asked: dict[str, Any] = {
        "recipe": recipe, "seed": seed, "out": out, "mnist": mnist, "shards": shards, "workers": workers,
        "overwrite": overwrite,
    }  # fmt: skip
    if dry_run:
        told = generation.foresee(name, counts, **asked)
        terminal.print_json(told._asdict()) if json_ else print(told)
        if told.lacking:
            raise OSError(told.lacking)
        return
    path = generation.generate(name, counts, progress=terminal.watched(), **asked)
    terminal.print_files([path], json_)


def import_(
    source: Annotated[
        Positional[Path],
        arg(metavar="SOURCE", help="An array (.npy, .npz, .h5), GIF, MP4, PNG frames, folders of them, or IntPhys."),
    ],
    *,
    out: Annotated[Path, out_flag("Data file to make; ends in .h5.")],
    reading: OmitArgPrefixes[ImportConfig] = ImportConfig(),
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Convert films made elsewhere to a data file, and print what was found."""
    check.require(out.suffix == ".h5", "--out", "end in .h5", out, "rename it")
    check_path.existing("SOURCE", source)
    from videopred.datasets.importing import import_films

    path, found = import_films(source, out, reading, overwrite=overwrite, progress=terminal.watched())
    terminal.print_found(found, [path], json_)


def inspect(
    data: Data,
    *,
    preview: Annotated[Path | None, arg(help="Write a GIF of the first 200 frames of some clips there.")] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Show what is in a data file."""
    if preview is None:
        check.require(not overwrite, "--overwrite", "come with --preview", "it alone", "leave it out")
    else:
        check.require(preview.suffix == ".gif", "--preview", "end in .gif", preview, "rename it")
        check_path.absent("--preview", preview, overwrite)
    from videopred.datasets.description import describe

    with open_dataset(data) as file:
        rows = describe(file)
        if preview is not None:
            _write_preview(file, preview, overwrite)
    terminal.print_found(rows, [preview] if preview else [], json_)


def _write_preview(file: "ClipSource", path: Path, overwrite: bool) -> None:
    """Write a GIF of how the first clips of the first part begin."""
    import numpy as np

    from videopred.preview import preview_gif

    part, there = next(iter(file.parts.items()))
    clips, length = range(min(_PREVIEWED, there)), min(_PREVIEWED_FRAMES, file.frames)
    frames = np.stack([file.read_window(part, clip, 0, length) for clip in clips])
    masks = None
    if "groups" in file.truth:
        masks = np.stack([file.read(part, "groups", clip, clip + 1)[0, :length] for clip in clips])
    check_path.absent("--preview", path, overwrite)  # again: reading may have taken long
    preview_gif(frames, path, masks)


def export(
    data: Data,
    *,
    out: Annotated[Path, out_flag("Folder to make.")],
    part: Annotated[Part | None, arg(help="Part to write; default: all that there are.")] = None,
    unlabelled: Annotated[bool, arg(help="Leave out the files that say which test films are possible.")] = False,
    random_levels: Annotated[bool, arg(help="Give masks other grey levels in each frame, as IntPhys does.")] = False,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Write clips of `occlusion` as PNG files, in the folder layout of the IntPhys benchmark."""
    from videopred.datasets.intphys_export import export_intphys

    with open_dataset(data) as file:
        export_intphys(
            file,
            out,
            part=part,
            unlabelled=unlabelled,
            random_levels=random_levels,
            overwrite=overwrite,
            progress=terminal.watched(),
        )
    terminal.print_files([out], json_)


def verify(
    data: Data,
    *,
    sample: Annotated[int, arg(metavar="CLIPS", help="Clips of each part to make again and compare.")] = 32,
    mnist: Annotated[Path | None, arg(help="Folder that `generate --mnist` was given, if it was.")] = None,
    json_: Json = False,
) -> None:
    """Check that data is complete, matches its recipe, and that no two parts share anything."""
    from videopred.datasets import verification

    with open_dataset(data) as file:
        verdict = verification.verify(file, sample=sample, mnist=mnist, progress=terminal.watched())
        mark = {"fingerprint": file.fingerprint()}
    if json_:
        terminal.print_json(verdict._asdict() | mark)
        return
    unproved = {f"not checked: {name}": why for name, why in verdict.not_proved.items()}
    terminal.print_rows(mark | verdict.proved | unproved)


def cards(
    presets: Annotated[Positional[tuple[str, ...]], arg(metavar="PRESET", help="Presets; default: all.")] = (),
    *,
    out: Annotated[Path, out_flag("Folder.")] = Path("datasets/cards"),
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Write a card for each data set: its recipe and a small GIF."""
    for name in presets:
        check.one_of("PRESET", name, DATASETS)
    presets = presets or tuple(DATASETS)
    for name in presets:
        for suffix in (".json", ".gif"):
            check_path.absent("--out", out / f"{name}{suffix}", overwrite)
    from videopred.cards import write_cards

    terminal.print_files(write_cards(out, presets), json_)
