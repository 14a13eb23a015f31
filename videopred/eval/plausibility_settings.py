"""Settings of plausibility. Light: no torch and no NumPy."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, field_validator

from videopred import check
from videopred.settings import Part, Settings

Surprise = Literal["bce", "kl", "mse"]
"""What a frame's surprise is; see `videopred.surprise.SURPRISES`."""
Aggregate = Literal["mean", "max", "matched"]
"""How the surprise of frames becomes that of a film; see `videopred.eval.plausibility.AGGREGATES`."""


class PlausibilityConfig(Settings):
    """Which films are judged, how surprise is measured, and the errors with their intervals."""

    surprise: Surprise = "bce"
    """Surprise at a frame: bce, cross-entropy in nats, summed over pixels; kl, bce less the frame's entropy; mse."""
    aggregates: Annotated[tuple[Aggregate, ...], Field(min_length=1)] = ("mean", "max", "matched")
    """Of a film: mean or max over its frames; matched, mean over those where the film that begins alike differs."""
    burn_in: PositiveInt = 1
    """Frames shown before surprise counts."""
    every: PositiveInt | None = None
    """Show every n-th frame only; default: 2 for IntPhys folders, 1 for data files."""
    part: Part = "test"
    """Part of a data file."""
    film_names: Path | None = None
    """Text file with the names of an IntPhys folder's films in answers; default: dev_ids.txt beside dev, or
    test_ids.txt beside test, if any."""
    scenes_at_once: PositiveInt = 4
    """Scenes judged together; changes memory and speed, and scores by rounding alone."""
    resamples: Annotated[int, Field(ge=40)] = 1000  # of fewer, none would lie beyond a 95 % interval
    """Resamples of the scenes for the 95 % intervals of absolute errors, at least 40."""
    seed: NonNegativeInt = 0
    """Random seed of the resamples."""

    @field_validator("film_names", mode="before")
    @classmethod
    def _as_path(cls, given: Any) -> Any:
        return Path(given) if isinstance(given, str) else given

    @field_validator("aggregates")
    @classmethod
    def _each_once(cls, aggregates: tuple[str, ...]) -> tuple[str, ...]:
        check.each_once("--aggregates", aggregates)
        return aggregates


def asked_of_films(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What scores say was asked, without whose they are and how intervals were drawn: where it is the same, relative
    errors can be compared."""
    return {name: value for name, value in settings.items() if name not in ("run", "resamples", "seed", "pixels")}


def asked_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether scores are of the same films, asked alike. Where both were shown at one size, pixels tell the films,
    however these were called."""
    ours, theirs = one.get("pixels", {}), other.get("pixels", {})
    sizes = ours.keys() & theirs.keys()
    called = {"data": None} if sizes else {}
    same = all(ours[size] == theirs[size] for size in sizes)
    return same and asked_of_films(one) | called == asked_of_films(other) | called
