"""Frames as stored, and films as computed with: the only place that converts one into the other.

*Frames* are uint8, channels last, 0 to 255. A *film* is float, channels first, in [0, 1].
"""

from math import isnan

import numpy as np
import torch
from torch import Tensor

from videopred import check
from videopred.amounts import number_told


def to_film(frames: Tensor | np.ndarray, dtype: torch.dtype = torch.float32) -> Tensor:
    """The film of stored frames.

    Args:
        frames: (..., T, H, W, C) uint8, 0 to 255.
        dtype: floating type of the film.

    Returns:
        (..., T, C, H, W) of `dtype` in [0, 1], on the same device.

    Raises:
        TypeError: frames are not uint8 (a float film would be scaled twice), or no array; `dtype` is not floating.
        ValueError: frames have fewer than three axes.
    """
    masked, fix = isinstance(frames, np.ma.MaskedArray), "fill it, e.g. with .filled(0)"
    check.require_kind(not masked, "frames", "be an array without a mask", "a masked one", fix)
    if isinstance(frames, np.ndarray):  # torch has no negative strides, and warns of what is only to be read
        plain = frames.flags.writeable and min(frames.strides, default=0) >= 0
        frames = torch.from_numpy(frames if plain else frames.copy())
    if not isinstance(frames, Tensor):
        shown, fix = f"{frames!r}, of class {type(frames).__name__}", "give what `read_frames` of open data gave"
        raise TypeError(check.complaint("frames", "be an array or a tensor", shown, fix))
    if frames.dtype != torch.uint8:
        fix = "a film in [0, 1] needs no conversion"
        if not frames.is_floating_point():
            fix = "make True 255 and False 0" if frames.dtype == torch.bool else "convert numbers from 0 to 255 to it"
        raise TypeError(check.complaint("frames", "be uint8", frames.dtype, fix))
    floating = isinstance(dtype, torch.dtype) and dtype.is_floating_point
    check.require_kind(floating, "dtype", "be floating", repr(dtype), "choose torch.float32")
    must, fix = "have at least the axes (height, width, channels)", "add those that are missing"
    check.require(frames.dim() >= 3, "frames", must, f"shape {tuple(frames.shape)}", fix)
    return frames.movedim(-1, -3).to(dtype) / 255


def to_frames(film: Tensor) -> np.ndarray:
    """The frames that store a film, rounded to the nearest of 256 levels.

    Args:
        film: (..., T, C, H, W) float in [0, 1].

    Returns:
        (..., T, H, W, C) uint8, 0 to 255.

    Raises:
        TypeError: the film is not floating point.
        ValueError: a value lies outside [0, 1] or is not a number.
    """
    floating = isinstance(film, Tensor) and film.is_floating_point()
    got = getattr(film, "dtype", type(film).__name__)
    check.require_kind(floating, "film", "be floating point in [0, 1]", got, "frames need no conversion")
    shape, fix = tuple(film.shape), "give channels, height and width, even if there is one of each"
    check.require(film.dim() >= 3, "film", "have at least three axes (C, H, W)", shape, fix)
    low, high = (end.item() for end in film.aminmax()) if film.numel() else (0, 0)  # both NaN when a value is
    check.require(not isnan(low), "film", "lie in [0, 1]", "NaN", "look for the first step at which it arises")
    got = f"values from {number_told(low)} to {number_told(high)}"
    check.require(low >= 0 and high <= 1, "film", "lie in [0, 1]", got, "apply a sigmoid to logits first")
    return (film.movedim(-3, -1) * 255).round().to(torch.uint8).cpu().numpy()


def nearest(size: int, positions: int) -> list[int]:
    """For each of so many rows or columns of a frame, the nearest of so many of a map, which need not divide them."""
    return [place * positions // size for place in range(size)]


def shape_told(shape: tuple[int, ...]) -> str:
    """Channels, height and width of a frame, as complaints tell them: 1 x 64 x 64 (channels x height x width)."""
    return " x ".join(map(str, shape)) + " (channels x height x width)"
