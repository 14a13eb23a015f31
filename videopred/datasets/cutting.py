"""Long films as clips of some frames, side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from videopred import check
from videopred.amounts import counted
from videopred.datasets.foreign_films import RawFilms


def cut(films: RawFilms, lengths: Sequence[int], frames: int) -> RawFilms:
    """The clips that films are cut into; the rest at the end of a film is left out, and `found` says so.

    Clips that are read in their order share one pass over the film, which may have to be unpacked from its beginning.

    Args:
        films: the whole films.
        lengths: how many frames each has.
        frames: how many a clip has.

    Raises:
        ValueError: a film is shorter than a clip.
    """
    shortest = min(lengths)
    got, fix = f"{frames} with {shortest} in {films.names[lengths.index(shortest)]}", "lower it, or leave that film out"
    check.require(frames <= shortest, "--frames", "be at most the frames of the shortest film", got, fix)
    counts = [length // frames for length in lengths]
    places = [(film, frames * clip) for film, count in enumerate(counts) for clip in range(count)]
    before, parts = 0, {}
    for part, count in (films.parts or {}).items():
        parts[part] = sum(counts[before : before + count])
        before += count
    names = [f"{films.names[film]} from frame {start}" for film, start in places]
    left_out = counted(sum(lengths) - frames * len(places), "frame")
    found = {"cut": f"from {counted(len(lengths), 'film')}; {left_out} at ends left out"}
    reader = _InOneGo(films)
    return replace(
        films,
        found={**films.found, **found},
        names=names,
        frames=lambda clip: reader.read(*places[clip], frames),
        frame_name=None,
        parts=parts or None,
    )


class _InOneGo:
    """Reads a film on from where it was left, as long as the frames asked for are the next ones."""

    def __init__(self, films: RawFilms) -> None:
        self._films = films
        self._next: tuple[int, int] | None = None
        self._frames: Iterator[np.ndarray] = iter(())

    def read(self, film: int, start: int, frames: int) -> Iterator[np.ndarray]:
        """So many frames of a film, from frame `start` on."""
        ahead = self._frames if self._next == (film, start) else islice(self._films.frames(film), start, None)
        self._next = None  # nobody can go on from a clip of which only some frames were read
        yield from islice(ahead, frames)
        self._next, self._frames = (film, start + frames), ahead
