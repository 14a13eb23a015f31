"""Clips straight from a recipe: made when they are asked for, the same as a file of them would hold."""

import copy
import hashlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from videopred import check, check_path
from videopred.datasets import check_recipe, find_recipe, make_world
from videopred.datasets.clip import Clip
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.file_layout import record_of, without_thin_axes
from videopred.datasets.plan import check_seed, parts_asked
from videopred.datasets.settings import DatasetSettings

if TYPE_CHECKING:
    from videopred.datasets.world import World

_KEPT_CLIPS = 32  # of the last request, so that frames and several kinds of truth cost one making


def open_recipe(
    recipe: str | DatasetSettings,
    clips: Mapping[str, int],
    *,
    seed: int = 0,
    mnist: Path | str | None = None,
) -> "RecipeClips":
    """The clips that `generate` would write with the same recipe, clips and seed, without a file.

    Args:
        recipe: a preset, or settings of any world.
        clips: train, validation, test -> number of clips; parts that are left out or 0 are not there.
        seed: seed of the whole data set, at least 0.
        mnist: folder with the full MNIST; the package's own digits when None.

    Raises:
        ValueError: unknown preset or part, no clips at all, a number that is negative or breaks scenes apart, or a
            recipe whose clips come from one stream.
        FileNotFoundError: `mnist` lacks a file.
        TypeError: an argument of another kind.
    """
    return RecipeClips(recipe, clips, seed, None if mnist is None else check_path.as_path("mnist", mnist))


class RecipeClips(ClipSource):
    """Clips that are made when they are asked for. Made by `open_recipe`.

    Each process makes its own world on first use, so that a copy for a worker is small.
    """

    def __init__(
        self, recipe: str | DatasetSettings, clips: Mapping[str, int], seed: int, mnist: Path | None = None
    ) -> None:
        self.seed: int = check_seed("seed", seed)
        asked = find_recipe(recipe) if isinstance(recipe, str) else recipe
        check_recipe(asked)
        self.name = recipe if isinstance(recipe, str) else recipe.model_dump()["kind"]
        self.path = Path(f"{self.name}.h5")
        must, fix = "be one whose clips have addresses", "write a file with `videopred generate`"
        check.require(not asked.in_order, "recipe", must, "clips from one stream", fix)
        self.parts = parts_asked("clips", clips, asked, '{"train": 100}')
        self._mnist = None if mnist is None else mnist.absolute()
        self._world: World | None = make_world(asked, mnist)
        self.recipe: DatasetSettings = self._world.recipe
        self.context, self.horizon = self.recipe.context, self.recipe.horizon
        self.frames, self.height, self.width = self.recipe.frames, self.recipe.height, self.recipe.width
        self.channels, self.binary = self.recipe.channels, self.recipe.binary
        self._last: tuple[Any, list[Clip]] = None, []
        first = next(self._clips(next(iter(self.parts)), 0, 1))
        self.truth = tuple(sorted(set(record_of(first)) - {"features"}))

    def read_frames(self, part: str, start: int, stop: int) -> np.ndarray:
        """Frames (B, T, H, W, C) uint8 of some clips."""
        self.check_clips(part, start, stop)
        frames = np.empty((stop - start, self.frames, self.height, self.width, self.channels), np.uint8)
        for index, clip in enumerate(self._clips(part, start, stop)):
            frames[index] = clip.frames
        return frames

    def read(self, part: str, name: str, start: int, stop: int) -> np.ndarray:
        """(B, T, ...) or, for objects/… and labels/…, (B, ...): one kind of truth about some clips."""
        self.check_clips(part, start, stop)
        check.one_of("the truth", name, self.truth)
        made = np.stack([record_of(clip)[name] for clip in self._clips(part, start, stop)])
        return without_thin_axes(name, made)

    def clip(self, part: str, index: int) -> Clip:
        """A clip with its truth."""
        index = self.check_clip(part, index)
        return copy.deepcopy(next(self._clips(part, index, index + 1)))

    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of recipe, seed, numbers of clips, and the version, whose code makes them."""
        told = (version("videopred"), self.recipe.model_dump_json(), self.seed, sorted(self.parts.items()))
        return hashlib.sha256(repr(told).encode()).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_world": None, "_last": (None, [])}

    def _clips(self, part: str, start: int, stop: int) -> Iterator[Clip]:
        """The clips from `start` up to `stop`; a few of them are kept until others are asked for."""
        if self._world is None:
            self._world = make_world(self.recipe, self._mnist)
        if stop - start > _KEPT_CLIPS:
            yield from self._world.clips(self.seed, part, range(start, stop))
            return
        address = part, start, stop
        if self._last[0] != address:
            self._last = address, list(self._world.clips(self.seed, part, range(start, stop)))
        yield from self._last[1]
