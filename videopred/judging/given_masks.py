"""Masks made elsewhere: which part of somebody's model each pixel of its predicted films belongs to."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from videopred import check, check_path
from videopred.judging.given_files import holds_array, open_any_array
from videopred.judging.given_films import GivenFilms


class GivenMasks:
    """A model's own masks of films that it predicted, as an array.

    Args:
        path: a .npy, .npz or .h5 file with one array, (B, T, H, W) whole numbers: the part at each pixel, from 1; 0 is
            none. Of films with samples, (N, B, T, H, W).
        films: the films that they are of.

    Raises:
        FileNotFoundError: nothing is there.
        ValueError: it is no array, or of other clips, frames or pixels than the films.
        TypeError: its numbers are not whole.
    """

    def __init__(self, path: Path, films: GivenFilms) -> None:
        self.path, flag = check_path.existing("--pred-masks", path), "--pred-masks"
        fix = "give an array: .npy, .npz or .h5"
        check.require(path.is_file() and holds_array(path, None), flag, "be an array of masks", path, fix)
        with check.named({"SOURCE": flag, "DATA": flag}):
            _, masks = open_any_array(path, None)
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
            ValueError: a number is below 0.
        """
        masks = torch.from_numpy(self._masks[sample][start:stop].astype(np.int64))
        got = f"{int(masks.min())} in {self.path}"
        check.require(bool((masks >= 0).all()), "--pred-masks", "be at least 0, which is no part", got, "count from 1")
        return masks
