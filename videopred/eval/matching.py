"""Who is who: predicted objects matched with true ones."""

import numpy as np
import torch
from torch import Tensor

from videopred.check import require
from videopred.eval.objects import Objects

NOBODY = -1
"""The number of the predicted object of a true one that has none."""

_FAR = 1e6
"""A distance in px beyond any in a frame: to `nearest`, one more pair is worth more than any saving of distance."""


def assign(worth: Tensor, allowed: Tensor) -> Tensor:
    """The one-to-one assignment of greatest worth.

    Args:
        worth: (B, N, M) of giving column m to row n, at least 0; read where it is allowed.
        allowed: (B, N, M) bool.

    Returns:
        (B, N) int64: the column of each row; NOBODY where it has none.
    """
    from scipy.optimize import linear_sum_assignment  # loaded for metrics of objects alone, as it takes long

    pairs = allowed.detach().cpu().numpy()
    worths = np.where(pairs, worth.detach().cpu().numpy(), 0)
    chosen = np.full(pairs.shape[:2], NOBODY)
    for clip in np.flatnonzero(pairs.any((1, 2))):
        rows, columns = linear_sum_assignment(worths[clip], maximize=True)
        kept = pairs[clip, rows, columns]
        chosen[clip, rows[kept]] = columns[kept]
    return torch.from_numpy(chosen).to(worth.device)


def nearest(apart: Tensor, allowed: Tensor) -> Tensor:
    """The assignment with as many allowed pairs as can be, and of these the one of least total distance; see `assign`.

    Args:
        apart: (B, N, M) px.
        allowed: (B, N, M) bool.
    """
    return assign(_FAR - apart.double(), allowed)


def distances(predicted: Tensor, true: Tensor) -> Tensor:
    """Distance (…, N, M) of each of N true places (…, N, 2) from each of M predicted ones (…, M, 2); NaN stays NaN."""
    return (true.unsqueeze(-2) - predicted.unsqueeze(-3)).norm(dim=-1)


def gates(true: Objects) -> Tensor:
    """How far from a true object its match may be: its radius, (B, N) px; without one, that of a disc of its area.

    NaN for objects that are not there, or that no mask shows.
    """
    if true.radius is not None:
        return true.radius
    fix = "give one of them: a match lies within an object's radius"
    require(true.masks is not None, "true objects", "have a radius, or masks", "neither", fix)
    assert true.masks is not None
    number = torch.arange(1, true.positions.shape[2] + 1, device=true.masks.device)
    area = torch.stack([(true.masks == one).sum((2, 3)).amax(1) for one in number], -1)
    return (area.double() / torch.pi).sqrt().masked_fill(area == 0, torch.nan)


def identities(predicted: Objects, true: Objects) -> Tensor:
    """Which predicted object each true one is, for the whole clip.

    Settled in the last observed frame, by the assignment of least total distance within the gates; objects that are
    hidden there are settled in the first frame that shows both of a pair.

    Returns:
        (B, N) int64: its number among the predicted objects; NOBODY if it never had one.
    """
    chosen = torch.full(true.positions.shape[::2], NOBODY, device=true.positions.device)  # (B, N)
    gate, seen = gates(true).unsqueeze(-1), true.seen
    for frame in range(true.positions.shape[1]):
        open_ = seen[:, frame] & (chosen == NOBODY)
        if not open_.any():
            continue
        apart = distances(predicted.positions[:, frame], true.positions[:, frame])
        columns = torch.arange(apart.shape[-1], device=chosen.device)
        taken = (chosen.unsqueeze(-1) == columns).any(1, keepdim=True)
        found = nearest(apart, open_.unsqueeze(-1) & ~taken & (apart <= gate))
        chosen = torch.where(open_, found, chosen)
    return chosen


def followed(predicted: Objects, true: Objects) -> Tensor:
    """Places of the predicted objects in the order of the true ones they are: (B, 1 + T, N, 2), NaN where none is."""
    places, chosen = predicted.positions, identities(predicted, true)[:, None, :, None]
    if places.shape[2] == 0:
        return places.new_full(true.positions.shape, torch.nan)
    return torch.where(chosen == NOBODY, torch.nan, places.take_along_dim(chosen.clamp(min=0), 2))
