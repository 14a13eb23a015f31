"""Objects made by hand: balls that fly straight, and what may become of them in a prediction.

All sizes differ and no frame is square: 3 clips, 1 + 7 frames, 4 balls, 33 rows, 47 columns.
"""

from dataclasses import replace

import torch
from torch import Tensor

from videopred.eval import make_metric
from videopred.eval.objects import Objects

CLIPS, STEPS, BALLS, HEIGHT, WIDTH = 3, 7, 4, 33, 47
RADIUS = torch.tensor([2.5, 3.0, 3.5, 4.0]).double()


def true_objects() -> Objects:
    """Four balls, one in each quarter of the frame, that fly a little apart from one another."""
    random = torch.Generator().manual_seed(0)
    corner = torch.tensor([[9.0, 8.0], [36.0, 8.0], [9.0, 24.0], [36.0, 24.0]]).double()
    start = corner + torch.rand((CLIPS, BALLS, 2), generator=random).double()
    velocity = 0.4 * torch.rand((CLIPS, BALLS, 2), generator=random).double() - 0.2
    time = torch.arange(1 + STEPS).double().view(1, -1, 1, 1)
    return drawn(start.unsqueeze(1) + time * velocity.unsqueeze(1), RADIUS.expand(CLIPS, -1))


def objects_with_hidden() -> Objects:
    """The same, but ball 3 of the first clip and ball 1 of the second cannot be seen in frames 2 and 3."""
    objects = hide(true_objects(), 0, 2, slice(2, 4))
    return hide(objects, 1, 0, slice(2, 4))


def hide(objects: Objects, clip: int, ball: int, frames: slice) -> Objects:
    """The same with a ball hidden for some frames."""
    masks, film, visibility = objects.masks.clone(), objects.film.clone(), objects.visibility.clone()
    gone = masks[clip, frames] == ball + 1
    masks[clip, frames][gone], film[clip, frames, 0][gone] = 0, 0.0
    visibility[clip, frames, ball] = 0.0
    return replace(objects, masks=masks, film=film, visibility=visibility, collisions=objects.collisions & (masks > 0))


def drawn(positions: Tensor, radius: Tensor) -> Objects:
    """Discs at these places, later ones in front; with all truth."""
    masks = paint(positions, radius)
    area = torch.stack([(masks == ball + 1).sum((2, 3)) for ball in range(positions.shape[2])], -1)
    whole = torch.pi * radius.square().unsqueeze(1)
    there = ~positions.isnan().any(-1)
    collisions = torch.zeros_like(masks, dtype=torch.bool)
    collisions[:, 2] = masks[:, 2] == 1
    collisions[1:2, 4] = (masks[1:2, 4] == 2) | (masks[1:2, 4] == 3)
    return Objects(
        positions=positions,
        film=(masks > 0).float().unsqueeze(2),
        masks=masks,
        visibility=torch.where(there, (area / whole).clamp(max=1), torch.nan),
        collisions=collisions,
        radius=radius,
        mass=(radius / 2).square() * there[:, 0].double(),
    )


def paint(positions: Tensor, radius: Tensor) -> Tensor:
    """Masks (B, T, H, W) uint8 of discs at positions (B, T, N, 2), by the law of the data: d² <= r², pixel centres."""
    y, x = torch.arange(HEIGHT).double() + 0.5, torch.arange(WIDTH).double() + 0.5
    masks = torch.zeros((*positions.shape[:2], HEIGHT, WIDTH), dtype=torch.uint8)
    for ball in range(positions.shape[2]):
        dx = x - positions[:, :, ball, :1]
        dy = y - positions[:, :, ball, 1:]
        inside = dx.square().unsqueeze(-2) + dy.square().unsqueeze(-1) <= radius[:, None, ball, None, None].square()
        masks[inside] = ball + 1
    return masks


def as_predicted(objects: Objects) -> Objects:
    """What is known of a perfect prediction: places of the balls that are seen, and no truth about them."""
    positions = torch.where(objects.seen.unsqueeze(-1), objects.positions, torch.nan)
    kept = {"positions": positions, "own_masks": objects.masks}
    return replace(objects, **kept, visibility=None, collisions=None, radius=None, mass=None)


def moved(objects: Objects, positions: Tensor) -> Objects:
    """A prediction with the balls at other places; those that are hidden stay hidden."""
    shown = torch.where(objects.seen.unsqueeze(-1), positions, torch.nan)
    return as_predicted(drawn(shown, RADIUS[: positions.shape[2]].expand(len(positions), -1)))


def in_another_order(objects: Objects) -> Objects:
    """The same objects under other numbers, beside two that are never there."""
    order = torch.tensor([2, 0, 3, 1])
    nowhere = torch.full((*objects.positions.shape[:2], 1, 2), torch.nan).double()
    positions = torch.cat([nowhere, objects.positions[:, :, order], nowhere], 2)
    number = torch.tensor([0, 3, 5, 2, 4])  # background, then balls 1 to 4: ball 1 is third among `positions`
    masks = number[objects.masks.long()]
    return replace(as_predicted(objects), positions=positions, masks=masks, own_masks=masks)


def swapped(objects: Objects, frame: int) -> Objects:
    """Balls 1 and 2 trade places at a frame."""
    order = torch.tensor([1, 0, 2, 3])
    late = objects.positions[:, frame:, order]
    return moved(objects, torch.cat([objects.positions[:, :frame], late], 1))


def lost(objects: Objects, frame: int) -> Objects:
    """Ball 1 is gone from a frame on."""
    positions = objects.positions.clone()
    positions[:, frame:, 0] = torch.nan
    return moved(objects, positions)


def blank(objects: Objects) -> Objects:
    """Nothing is left after the observed frame."""
    positions = objects.positions.clone()
    positions[:, 1:] = torch.nan
    return moved(objects, positions)


def cut(objects: Objects, clips: slice) -> Objects:
    """The objects of some of the clips."""
    fields = {name: values for name, values in vars(objects).items() if values is not None}
    return Objects(**{name: values[clips] for name, values in fields.items()})


def stack(several: list[Objects]) -> Objects:
    """The objects of all their clips, one after another; all hold the same fields."""
    held = [name for name, values in vars(several[0]).items() if values is not None]
    return Objects(**{name: torch.cat([getattr(objects, name) for objects in several]) for name in held})


def score(name: str, predicted: Objects, true: Objects | None = None) -> list[float]:
    """A metric at each step; the true objects are those above unless given."""
    metric = make_metric(name)
    return metric.reduce(metric.measure(predicted, true or true_objects())).tolist()
