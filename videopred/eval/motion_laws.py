"""Laws of motion that predicted objects keep or break: energy, momentum, room. Needs no true future to be right.

Velocities are differences of places, so errors of s px in both places add 2 s² to the squared speed along each axis.
"""

from itertools import combinations
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from videopred.eval.matching import followed
from videopred.eval.object_metric import ObjectMetric, nothing, pooled
from videopred.eval.object_settings import OverlapsConfig, WallsConfig
from videopred.eval.objects import Objects


class Energy(ObjectMetric):
    """Whether the predicted world slows down or speeds up.

    Kinetic energy of all predicted objects over that of the same true ones, minus one, without its sign. Energies are
    added up over clips first: a contact within a step shortens the difference of places and so the energy, and it
    comes at other steps in each clip.
    """

    name = "energy"
    label = "energy"
    range = (0.0, float("inf"))
    higher_is_better = False
    decimals = 3
    needs: ClassVar[tuple[str, ...]] = ("positions", "objects/mass")
    convention = "|predicted / true kinetic energy - 1|, energies from differences of places, added up over clips"

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        ours, theirs = followed(predicted, true).diff(dim=1), true.positions.diff(dim=1)
        mass = _moving_mass(true)
        found = ~ours.isnan().any(-1) & ~theirs.isnan().any(-1) & true.seen[:, 1:] & true.seen[:, :-1]
        energies = (torch.where(found, mass * steps.square().sum(-1), 0.0).sum(-1) / 2 for steps in (ours, theirs))
        return dict(zip(("total", "count"), energies, strict=True))

    def of_sums(self, sums: dict[str, Tensor], clips: Tensor) -> Tensor:
        return (super().of_sums(sums, clips) - 1).abs()


class Momentum(ObjectMetric):
    """Whether what one object gains another loses.

        |P(t) - P(t - 1)| / Σ m |v|,  P(t) the sum of m (x(t) - x(t - 1)) over all objects;
                                      Σ m |v| is the mean of both steps

    Exactly 0 for contacts between objects, also within a step. Only where all objects of a clip were found in three
    frames in a row, and none was so near to a wall that it may have touched it; never in clips with fixed objects.
    Under gravity it is not kept.
    """

    name = "momentum"
    label = "momentum"
    range = (0.0, 2.0)
    higher_is_better = False
    decimals = 3
    needs: ClassVar[tuple[str, ...]] = ("positions", "groups", "objects/mass", "objects/radius")
    convention = "change of total momentum in a step, divided by the sum of all momenta; only where no wall is near"

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        assert true.radius is not None, "what it needs was checked"
        places, there = followed(predicted, true), ~true.positions[:, :1].isnan().any(-1)
        steps, mass = places.diff(dim=1), _moving_mass(true)
        momenta = torch.where(there.unsqueeze(-1), mass.unsqueeze(-1) * steps, 0.0)
        jump = momenta.sum(2).diff(dim=1).norm(dim=-1)  # (B, T - 1), about frames 2 to T
        sizes = momenta.norm(dim=-1).sum(2)
        share = jump / ((sizes[:, 1:] + sizes[:, :-1]) / 2)
        room = true.radius.unsqueeze(1) + steps.norm(dim=-1)
        free = _inside(places[:, 1:], room, true) & _inside(places[:, :-1], room, true)
        free = (free | ~there).all(-1) & (mass > 0)[:, 0].eq(there[:, 0]).all(-1, keepdim=True)
        counts = free[:, 1:] & free[:, :-1] & share.isfinite()
        share, counts = (functional.pad(values, (1, 0)) for values in (share, counts))  # nothing at the first step
        return pooled(share.unsqueeze(-1), counts.unsqueeze(-1))


class Overlaps(ObjectMetric):
    """Which share of the pairs of found discs overlap."""

    name = "overlaps"
    label = "overlaps"
    range = (0.0, 1.0)
    higher_is_better = False
    decimals = 3
    needs: ClassVar[tuple[str, ...]] = ("positions", "objects/radius")
    config: OverlapsConfig

    @property
    def convention(self) -> str:
        return f"share of pairs of found discs that overlap by more than {self.config.tolerance_px:g} px"

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        assert true.radius is not None, "what it needs was checked"
        places = followed(predicted, true)[:, 1:]
        pairs = list(combinations(range(places.shape[2]), 2))
        if not pairs:
            return nothing(true)
        first, second = torch.tensor(pairs, device=places.device).T
        apart = (places[:, :, first] - places[:, :, second]).norm(dim=-1)
        least = (true.radius[:, first] + true.radius[:, second] - self.config.tolerance_px).unsqueeze(1)
        return pooled((apart < least).double(), ~apart.isnan())


class Walls(ObjectMetric):
    """Which share of the found objects reach beyond the frame, where the true box ends."""

    name = "walls"
    label = "walls"
    range = (0.0, 1.0)
    higher_is_better = False
    decimals = 3
    needs: ClassVar[tuple[str, ...]] = ("positions", "groups", "objects/radius")
    config: WallsConfig

    @property
    def convention(self) -> str:
        return f"share of found objects that reach more than {self.config.tolerance_px:g} px beyond the frame"

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        assert true.radius is not None, "what it needs was checked"
        places = followed(predicted, true)[:, 1:]
        room = (true.radius - self.config.tolerance_px).unsqueeze(1)
        return pooled((~_inside(places, room, true)).double(), ~places.isnan().any(-1))


def _moving_mass(true: Objects) -> Tensor:
    """(B, 1, N) float64: masses, 0 for what is not there or never moves."""
    assert true.mass is not None, "what it needs was checked"
    return true.mass.nan_to_num(nan=0.0, posinf=0.0).unsqueeze(1)


def _inside(places: Tensor, room: Tensor, true: Objects) -> Tensor:
    """Whether places (B, T, N, 2) are at least `room` (B, T or 1, N) away from every side of the frame; NaN are not."""
    assert true.masks is not None, "what it needs was checked"
    height, width = true.masks.shape[-2:]
    far = torch.tensor([width, height], device=places.device) - room.unsqueeze(-1)
    return ((places >= room.unsqueeze(-1)) & (places <= far)).all(-1)
