"""What can be said of films of others. Light, as settings.py."""

from typing import Literal

from pydantic import PositiveInt, model_validator

from videopred import check
from videopred.settings import Settings


class ImportConfig(Settings):
    """What is said of films of others, and asked for; what is left out is found out, and said."""

    part: Literal["train", "validation", "test"] = "test"
    """Part of the data file that they become."""
    axes: str | None = None
    """Axes of an array in its order: B clips, T frames, C channels, H rows, W columns; such as TBHW."""
    array: str | None = None
    """Name of the array in a .npz file."""
    values: tuple[float, float] | None = None
    """Numbers that mean black and white, such as 0 255, in films whose kind of number does not say so."""
    height: PositiveInt | None = None
    """Rows that frames are resized to, in pixels; as they are when left out."""
    width: PositiveInt | None = None
    """Columns that frames are resized to, in pixels; as they are when left out."""
    every: PositiveInt = 1
    """Keep every n-th frame of IntPhys' films, from the first on; the benchmark's scorers use 2."""

    @model_validator(mode="after")
    def _words_mean_something(self) -> "ImportConfig":
        if self.axes is not None:
            known = set("THW") <= set(self.axes) <= set("BTCHW") and len(set(self.axes)) == len(self.axes)
            must = "be letters of B clips, T frames, C channels, H rows and W columns, each once, T, H and W among them"
            check.require(known, "--axes", must, repr(self.axes), "give them in the array's order, such as TBHW")
        if self.values is not None:
            low, high = self.values
            fix = "give black first, such as 0 255"
            check.require(low < high, "--values", "be two numbers, the smaller first", f"{low:g} {high:g}", fix)
        both = (self.height is None) == (self.width is None)
        got = f"--height {self.height} --width {self.width}"
        check.require(both, "--height and --width", "be given together", got, "add the other")
        return self
