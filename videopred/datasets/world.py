"""What every world can do."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from videopred.datasets.clip import Clip
from videopred.datasets.settings import DatasetSettings


class World(Protocol):
    """Makes clips by a recipe."""

    @property
    def recipe(self) -> DatasetSettings:
        """The full recipe, stored in the file: whoever has it makes the same clips."""

    def clips(self, seed: int, part: str, indices: Iterable[int]) -> Iterator[Clip]:
        """The clips at these addresses, one by one, in the order of `indices`.

        Clip i depends on (recipe, seed, part, i) alone, never on the other indices.

        Args:
            seed: seed of the whole data set, at least 0.
            part: train, validation or test.
            indices: which clips of the part, each at least 0.
        """
