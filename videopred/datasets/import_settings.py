"""Settings of `videopred import`: what a user says of films that others made. Light, as settings.py."""

from typing import Annotated, get_args

from pydantic import Field, PositiveInt, model_validator

from videopred import check
from videopred.settings import Part, Settings, check_range


class ImportConfig(Settings):
    """How to read films made elsewhere. Whatever is left out is inferred from the films and printed."""

    part: Part | None = None
    """Part of the data file that the films go to; default: test, unless --array or folders name parts."""
    axes: str | None = None
    """Order of an array's axes, such as TBHW: B clips, T frames, C channels, H rows, W columns."""
    array: tuple[str, ...] = ()
    """Name of the array in a .npz or HDF5 file, or one for each part: train=NAME test=NAME; * matches any text."""
    range: tuple[float, float] | None = None
    """Numbers that mean black and white, such as 0 255, if the films do not say so by their type of number."""
    frames: Annotated[int, Field(gt=1)] | None = None
    """Cut each film into consecutive clips of this many frames, at least 2; frames left over at its end are dropped."""
    height: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Rows that frames are resized to, in pixels, 1 to 4096; default: unchanged."""
    width: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Columns that frames are resized to, in pixels, 1 to 4096; default: unchanged."""
    color: bool = False
    """Give grey films three channels, as color has, e.g. if another part of the data is in color."""
    every: PositiveInt = 1
    """Keep every n-th frame of IntPhys' films, from the first on; the benchmark's scorers use 2."""

    @model_validator(mode="after")
    def _words_mean_something(self) -> "ImportConfig":
        if self.axes is not None:
            known = set("THW") <= set(self.axes) <= set("BTCHW") and len(set(self.axes)) == len(self.axes)
            must = "be letters of B clips, T frames, C channels, H rows and W columns, each once, T, H and W among them"
            check.require(known, "--axes", must, repr(self.axes), "give them in the array's order, such as TBHW")
        if self.array_of_part:
            must, fix = "be left out where --array names parts", "leave one of the two out"
            check.require(self.part is None, "--part", must, self.part, fix)
        else:
            must, got = "be one name, or one for each part, as in train=NAME test=NAME", " ".join(self.array)
            check.require(len(self.array) <= 1, "--array", must, got, "say which part each of them is")
        check_range("--range", self.range)
        both = (self.height is None) == (self.width is None)
        got = f"--width {self.width} alone" if self.height is None else f"--height {self.height} alone"
        check.require(both, "--height and --width", "be given together", got, "add the other")
        return self

    @property
    def size(self) -> tuple[int, int] | None:
        """Rows and columns that frames are resized to; None if they stay as they are."""
        return None if self.height is None or self.width is None else (self.height, self.width)

    @property
    def array_of_part(self) -> dict[str, str]:
        """Part -> the name of its array, in the order of parts, if `array` names parts."""
        pairs = dict(word.split("=", 1) for word in self.array if "=" in word)
        named = len(pairs) == len(self.array) and pairs.keys() <= set(get_args(Part))
        return {part: pairs[part] for part in get_args(Part) if part in pairs} if named else {}
