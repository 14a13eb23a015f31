"""Masks made elsewhere: which part of somebody's model each pixel of its predicted films belongs to."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from videopred import check, check_path
from videopred.judging.given_files import holds_array, open_any_array
from videopred.judging.given_films import GivenFilms

_LARGEST = 2**16 - 1
"""The largest number of a part: tables of pixels have a column for each number up to the largest."""


class GivenMasks:
    """A model's own masks of films that it predicted, as an array.

    Args:
        path: a .npy, .npz or .h5 file with an array, (B, T, H, W) whole numbers: the part at each pixel, from 1; 0 is
            none. Of films with samples, (N, B, T, H, W).
        films: the films that they are of.
        array: name of the array in a .npz or .h5 file that holds several.

    Raises:
        FileNotFoundError: nothing is there.
        ValueError: it is no array, or of other clips, frames or pixels than the films.
        TypeError: its numbers are not whole.
    """

    def __init__(self, path: Path, films: GivenFilms, array: str | None = None) -> None:
        self.path, flag = check_path.existing("--pred-masks", path), "--pred-masks"
        fix = "give an array: .npy, .npz or .h5"
        with check.named({"SOURCE": flag, "DATA": flag, "--array": "--masks-array"}):
            check.require(path.is_file() and holds_array(path, array), flag, "be an array of masks", path, fix)
            _, masks = open_any_array(path, array)
        got, fix = f"{masks.dtype} in {path}", "give the number of the part of the model at each pixel, from 1"
        check.require_kind(masks.dtype.kind in "iu", flag, "be whole numbers", got, fix)
        _, height, width = films.film_shape
        several = (films.samples,) if films.samples > 1 else ()
        wanted = (*several, films.clips, films.frames, height, width)
        must = f"be {wanted}, as the films in {films.path}"
        check.require(masks.shape == wanted, flag, must, f"{masks.shape} in {path}", "give masks of the same frames")
        self._masks = masks if several else masks[None]

    def read(self, start: int, stop: int, sample: int = 0) -> Tensor:
        """(B, T, H, W) int64 of some clips.

        Raises:
            ValueError: a number is below 0, or so large that it is none of a part.
        """
        masks = self._masks[sample][start:stop]
        for number in (int(masks.min()), int(masks.max())):
            must, got = f"be 0, which is no part, or up to {_LARGEST:,}", f"{number} in {self.path}"
            check.require(0 <= number <= _LARGEST, "--pred-masks", must, got, "count the parts from 1")
        return torch.from_numpy(masks.astype(np.int64))
