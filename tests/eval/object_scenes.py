"""Scenes made by hand: balls that fly straight, and what may become of them in a prediction.

All sizes differ and no frame is square: 3 clips, 1 + 7 frames, 4 balls, 33 rows, 47 columns.
"""

from dataclasses import replace

import torch
from torch import Tensor

from videopred.eval.scene import Scene

CLIPS, STEPS, BALLS, HEIGHT, WIDTH = 3, 7, 4, 33, 47
RADIUS = torch.tensor([2.5, 3.0, 3.5, 4.0]).double()


def true_scene() -> Scene:
    """Four balls, one in each quarter of the frame, that fly a little apart from one another."""
    random = torch.Generator().manual_seed(0)
    corner = torch.tensor([[9.0, 8.0], [36.0, 8.0], [9.0, 24.0], [36.0, 24.0]]).double()
    start = corner + torch.rand((CLIPS, BALLS, 2), generator=random).double()
    velocity = 0.4 * torch.rand((CLIPS, BALLS, 2), generator=random).double() - 0.2
    time = torch.arange(1 + STEPS).double().view(1, -1, 1, 1)
    return drawn(start.unsqueeze(1) + time * velocity.unsqueeze(1), RADIUS.expand(CLIPS, -1))


def scene_with_hidden() -> Scene:
    """The same, but ball 3 of the first clip and ball 1 of the second cannot be seen in frames 2 and 3."""
    scene = hide(true_scene(), 0, 2, slice(2, 4))
    return hide(scene, 1, 0, slice(2, 4))


def hide(scene: Scene, clip: int, ball: int, frames: slice) -> Scene:
    """The scene with a ball hidden for some frames."""
    masks, film, visibility = scene.masks.clone(), scene.film.clone(), scene.visibility.clone()
    gone = masks[clip, frames] == ball + 1
    masks[clip, frames][gone], film[clip, frames, 0][gone] = 0, 0.0
    visibility[clip, frames, ball] = 0.0
    return replace(scene, masks=masks, film=film, visibility=visibility, collisions=scene.collisions & (masks > 0))


def drawn(positions: Tensor, radius: Tensor) -> Scene:
    """The scene of discs at these places, later ones in front; with all truth."""
    masks = paint(positions, radius)
    area = torch.stack([(masks == ball + 1).sum((2, 3)) for ball in range(positions.shape[2])], -1)
    whole = torch.pi * radius.square().unsqueeze(1)
    there = ~positions.isnan().any(-1)
    collisions = torch.zeros_like(masks, dtype=torch.bool)
    collisions[:, 2] = masks[:, 2] == 1
    collisions[1:2, 4] = (masks[1:2, 4] == 2) | (masks[1:2, 4] == 3)
    return Scene(
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


def as_predicted(scene: Scene) -> Scene:
    """What is known of a perfect prediction: places of the balls that are seen, and no truth about them."""
    positions = torch.where(scene.seen.unsqueeze(-1), scene.positions, torch.nan)
    kept = {"positions": positions, "own_masks": scene.masks}
    return replace(scene, **kept, visibility=None, collisions=None, radius=None, mass=None)


def moved(scene: Scene, positions: Tensor) -> Scene:
    """A prediction with the balls of a scene at other places; what the scene hides stays hidden."""
    shown = torch.where(scene.seen.unsqueeze(-1), positions, torch.nan)
    return as_predicted(drawn(shown, RADIUS[: positions.shape[2]].expand(len(positions), -1)))


def in_another_order(scene: Scene) -> Scene:
    """The same objects under other numbers, beside two that are never there."""
    order = torch.tensor([2, 0, 3, 1])
    nowhere = torch.full((*scene.positions.shape[:2], 1, 2), torch.nan).double()
    positions = torch.cat([nowhere, scene.positions[:, :, order], nowhere], 2)
    number = torch.tensor([0, 3, 5, 2, 4])  # background, then balls 1 to 4: ball 1 is third among `positions`
    masks = number[scene.masks.long()]
    return replace(as_predicted(scene), positions=positions, masks=masks, own_masks=masks)


def swapped(scene: Scene, frame: int) -> Scene:
    """Balls 1 and 2 trade places at a frame."""
    order = torch.tensor([1, 0, 2, 3])
    late = scene.positions[:, frame:, order]
    return moved(scene, torch.cat([scene.positions[:, :frame], late], 1))


def lost(scene: Scene, frame: int) -> Scene:
    """Ball 1 is gone from a frame on."""
    positions = scene.positions.clone()
    positions[:, frame:, 0] = torch.nan
    return moved(scene, positions)


def blank(scene: Scene) -> Scene:
    """Nothing is left after the observed frame."""
    positions = scene.positions.clone()
    positions[:, 1:] = torch.nan
    return moved(scene, positions)


def cut(scene: Scene, clips: slice) -> Scene:
    """The scene of some of the clips."""
    fields = {name: values for name, values in vars(scene).items() if values is not None}
    return Scene(**{name: values[clips] for name, values in fields.items()})


def stack(scenes: list[Scene]) -> Scene:
    """One scene of the clips of several, which hold the same fields."""
    held = [name for name, values in vars(scenes[0]).items() if values is not None]
    return Scene(**{name: torch.cat([getattr(scene, name) for scene in scenes]) for name in held})
