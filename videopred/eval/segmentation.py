"""Which pixels belong together: the adjusted Rand index over objects, and intersection over union."""

import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from videopred.check import complaint, require
from videopred.eval.matching import assign
from videopred.eval.object_metric import ObjectMetric
from videopred.eval.objects import Objects

_WHOSE = (
    "of the model's own masks (each pixel is of the module with the largest share; of blank, a grid of blocks), not of "
    "objects found in its pictures: "
)


class Segmentation(ObjectMetric):
    """A way to compare predicted masks with the true ones, those that a field of the predicted objects holds."""

    higher_is_better = True
    decimals = 3
    needs: ClassVar[tuple[str, ...]] = ("groups",)
    reads: ClassVar[tuple[str, ...]] = ("masks",)

    def table_of(self, predicted: Objects, true: Objects, *, background: bool) -> Tensor:
        """`contingency` of the predicted frames."""
        (field,) = self.reads
        return contingency(*_masks(getattr(predicted, field), true.masks), background=background)


class FGARI(Segmentation):
    """Adjusted Rand index of predicted and true masks, over the pixels of true objects.

    1 says that pixels are together in one mask where they are together in the other; 0 is what chance would give. The
    names of masks do not matter, nor what they do in the background. Each frame stands for itself, so trading places
    is free: see `fg-ari-clip`. Frames with fewer than two objects in sight do not count: the index would be 0 or 1 by
    convention alone.

    Source: Hubert & Arabie 1985, over the foreground as in Greff et al. 2019; equals scikit-learn's
    `adjusted_rand_score` there.
    """

    name = "fg-ari"
    label = "FG-ARI"
    range = (-0.5, 1.0)
    convention = "over pixels of true objects in each frame; frames with fewer than two objects do not count"

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        return self._of(self.table_of(predicted, true, background=False))

    def _of(self, table: Tensor) -> dict[str, Tensor]:
        counts = (table.sum(-1) > 0).sum(-1) > 1
        return {"total": torch.where(counts, rand_index(table), 0.0), "count": counts}


class FGARIClip(FGARI):
    """`fg-ari` over all pixels of the frames 1 to t at once: whoever trades places, or flickers, loses."""

    name = "fg-ari-clip"
    label = "FG-ARI clip"
    convention = "over pixels of true objects in all predicted frames up to the step, which masks must follow"

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        return self._of(self.table_of(predicted, true, background=False).cumsum(1))


class MeanIoU(Segmentation):
    """Intersection over union of every true object with its predicted mask, by the best matching in the frame.

    Objects in sight that are left without a mask score 0; masks that are left over cost nothing.
    """

    name = "miou"
    label = "mIoU"
    range = (0.0, 1.0)
    convention = "mean over true objects in sight, each with one predicted mask by Hungarian matching in the frame"

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        table = self.table_of(predicted, true, background=True)
        areas, ours = table.sum(-1)[..., 1:], table.sum(-2)[..., 1:]
        common = table[..., 1:, 1:]
        shares = common / (areas.unsqueeze(-1) + ours.unsqueeze(-2) - common).clamp(min=1)
        shares = functional.pad(shares, (1, 0)).flatten(0, 1)  # (B * T, N, 1 + M)
        chosen = assign(shares, shares > 0)
        best = shares.gather(2, chosen.clamp(min=0).unsqueeze(-1)).view(areas.shape)  # NOBODY reads the first: 0
        return {"total": best.sum(-1), "count": (areas > 0).sum(-1)}


class OwnFGARI(FGARI):
    """`fg-ari` of the masks that the model itself gives, whatever its pictures show."""

    name = "own-fg-ari"
    label = "own FG-ARI"
    reads, of_own_masks = ("own_masks",), True
    convention = _WHOSE + FGARI.convention


class OwnFGARIClip(FGARIClip):
    """`fg-ari-clip` of the masks that the model itself gives."""

    name = "own-fg-ari-clip"
    label = "own FG-ARI clip"
    reads, of_own_masks = ("own_masks",), True
    convention = _WHOSE + FGARIClip.convention


class OwnMeanIoU(MeanIoU):
    """`miou` of the masks that the model itself gives."""

    name = "own-miou"
    label = "own mIoU"
    reads, of_own_masks = ("own_masks",), True
    convention = _WHOSE + MeanIoU.convention


def contingency(predicted: Tensor, true: Tensor, *, background: bool) -> Tensor:
    """How many pixels of each true object lie in each predicted one, for every frame of every clip.

    Args:
        predicted: (B, T, H, W) whole numbers from 0.
        true: the same.
        background: whether to count, beside the pixels of true objects, those of predicted ones alone.

    Returns:
        (B, T, N + 1, M + 1) float64, with the largest numbers N and M; row 0 is empty without background,
        and its first place in any case: pixels of nothing are not counted.
    """
    clips = zip(predicted.cpu().numpy(), true.cpu().numpy(), strict=True)
    counted = [_count(ours, theirs, background=background) for ours, theirs in clips]  # a clip stays in the cache
    rows, columns = (max(table.shape[axis] for table in counted) for axis in (1, 2))
    tables = np.zeros((*true.shape[:2], rows, columns))
    for table, of_clip in zip(tables, counted, strict=True):
        table[:, : of_clip.shape[1], : of_clip.shape[2]] = of_clip
    return torch.from_numpy(tables).to(true.device)


def _count(ours: np.ndarray, theirs: np.ndarray, *, background: bool) -> np.ndarray:
    """The table (T, N + 1, M + 1) of a clip of masks (T, H, W).

    Most words of eight pixels hold nothing that counts and are left out; the others' empty pixels are taken back.
    """
    frames, rows, columns = len(theirs), int(theirs.max()) + 1, int(ours.max()) + 1
    kinds = rows * columns
    # The smallest whole numbers that hold them: bytes are eight times as fast to go through.
    small, large = np.min_scalar_type(kinds), np.min_scalar_type(frames * kinds)
    pixels = min(math.gcd(theirs[0].size, 8), 8 // small.itemsize)
    word = f"u{pixels * small.itemsize}"
    their, our = (np.ascontiguousarray(masks, small).reshape(-1).view(word) for masks in (theirs, ours))
    counted = np.flatnonzero((their | our if background else their) != 0)
    pair = their.take(counted).view(small) * small.type(columns) + our.take(counted).view(small)
    cell = pair.reshape(-1, pixels).T.astype(large, order="C")
    cell += (counted // (their.size // frames) * kinds).astype(large)  # each frame has cells of its own
    table = np.bincount(cell.ravel(), minlength=frames * kinds).reshape(frames, rows, columns)
    table[:, 0, : 1 if background else None] = 0
    return table


def rand_index(table: Tensor) -> Tensor:
    """Adjusted Rand index of contingency tables (…, N, M): (…) float64.

    Two equal partitions of one part each, or of single pixels, score 1, as in scikit-learn.
    """
    pixels = table.sum((-2, -1))
    together, rows, columns = (_pairs(part) for part in (table.flatten(-2), table.sum(-1), table.sum(-2)))
    expected = rows * columns / (pixels * (pixels - 1) / 2).clamp(min=1)
    most = (rows + columns) / 2
    return torch.where(most == expected, 1.0, (together - expected) / (most - expected))


def _pairs(counts: Tensor) -> Tensor:
    """Pairs within each of some groups (…, G), added up."""
    return (counts * (counts - 1) / 2).sum(-1)


def _masks(predicted: Tensor, true: Tensor | None) -> tuple[Tensor, Tensor]:
    """Both masks of the predicted frames, (B, T, H, W) of the same size."""
    assert true is not None, "metrics that need masks have checked"
    ours, theirs = predicted[:, 1:], true[:, 1:]
    must, fix = f"have the size of the true ones, {tuple(theirs.shape)}", "give masks of the same frames"
    require(ours.shape == theirs.shape, "predicted masks", must, tuple(ours.shape), fix)
    for name, masks in (("predicted", ours), ("true", theirs)):
        if masks.is_floating_point() or masks.dtype == torch.bool:
            fix = "give the number of the object at each pixel"
            raise TypeError(complaint(f"{name} masks", "be whole numbers", masks.dtype, fix))
        least = int(masks.min()) if masks.dtype.is_signed else 0
        require(least >= 0, f"{name} masks", "be at least 0, which is no object", least, "count objects from 1")
    return ours, theirs
