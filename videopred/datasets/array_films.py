"""Films in arrays, whatever file holds them, whose axes are named or certain."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from videopred import check
from videopred.datasets.foreign_films import RawFilms
from videopred.datasets.import_settings import ImportConfig

_READINGS = {
    3: ["THW", "HWC"],
    4: ["TBHW", "BTHW", "THWC", "TCHW", "CTHW"],
    5: ["BTHWC", "TBHWC", "BTCHW", "TBCHW", "BCTHW"],
}
"""Number of axes -> how such arrays are usually kept; of these, only those with a sensible number of channels."""


def films_of_array(source: Path, what: str, array: np.ndarray, config: ImportConfig) -> RawFilms:
    """The films in an array.

    Args:
        source: the file that the array is in.
        what: what the array is called.
        array: numbers of any kind, with the axes that `config.axes` names.
        config: what its user says of it.

    Raises:
        ValueError: see `axes_of`; or there are neither 1 nor 3 channels.
    """
    axes = axes_of(array.shape, config.axes, source)
    there = np.expand_dims(array, tuple(range(array.ndim, 5)))  # the axes that it lacks, of length 1, at the end
    letters = axes + "".join(letter for letter in "BTHWC" if letter not in axes)
    films = there.transpose([letters.index(letter) for letter in "BTHWC"])
    channels = films.shape[-1]
    fix = "leave alpha out" if channels == 4 else "say with --axes which axis is which"
    must = "have 1 or 3 channels"
    check.require(channels in (1, 3), "SOURCE", must, f"{channels} ({axes}, {array.shape}) in {source}", fix)

    def frames(clip: int) -> Iterator[np.ndarray]:
        for frame in films[clip]:
            yield np.array(frame)

    said = axes if config.axes else f"{axes}, the only ones possible for three"
    found = {"format": what, "axes": said}
    return RawFilms(source, found, [f"clip {clip}" for clip in range(len(films))], frames)


def axes_of(shape: tuple[int, ...], given: str | None, source: Path | str) -> str:
    """The letters of the axes, in their order in the array: those given, or THW where nothing else is possible.

    Raises:
        ValueError: none are given and there are several readings, or those given do not fit.
    """
    check.require_sound(
        3 <= len(shape) <= 5, "SOURCE", "have 3 to 5 axes", f"{shape} in {source}", "choose another array"
    )
    if given is not None:
        must, got = f"name each axis of the array, {shape} in {source}", f"{len(given)} ({given})"
        check.require(len(given) == len(shape), "--axes", must, got, "give one letter for each")
        return given
    usual = _READINGS[len(shape)]
    readings = [axes for axes in usual if "C" not in axes or shape[axes.index("C")] in (1, 3, 4)] or usual
    must = f"be given for {len(shape)} axes, which may be {' or '.join(readings)}"
    fix = "name them in their order: B clips, T frames, C channels, H rows, W columns"
    check.require(readings == ["THW"], "--axes", must, f"none for {shape} in {source}", fix)
    return "THW"


def require_numbers(dtype: np.dtype, shape: tuple[int, ...], source: Path, fix: str) -> None:
    """Refuse an array that is empty, or of other things than numbers."""
    check.require_sound(dtype.kind in "biuf", "SOURCE", "hold an array of numbers", f"{dtype} in {source}", fix)
    check.require_sound(0 not in shape, "SOURCE", "hold an array that is not empty", f"{shape} in {source}", fix)
