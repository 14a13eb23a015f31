"""Objects that pass behind occluders, and what cannot happen there.

Data sheet
    World      1 to 3 objects on a floor, each in a lane of its own, so that none ever hides or touches another, and
               one or two rectangular occluders in front of all. To one object, the target, something may happen
    Frames     RGB, hard edges; 100 of 64 x 64 px by default. Wall, floor and occluders have random dull colors; only
               objects reach half of white
    Objects    discs, squares and triangles of one area, the square of 0.12 times the frame's shorter side; different
               colors out of four of Set1
    Movement   static: the target rests, an occluder rises before it and falls again. dynamic-1: it crosses half of
               the frame at constant speed, behind one occluder. dynamic-2: most of the frame, behind two. The other
               objects rest or move at constant speed, by the toss of a coin
    Occluders  rise gently and are up by a sixth of the clip at the latest, and fall in its last sixth; `visible`:
               the same scenes without any
    Runs       a scene has two possible runs, A and B. O1: the target is there, or not at all. O2: it has another
               shape, which shows. O3: it is elsewhere on its path, by 0.2 to 0.3 widths of the frame (static), 0.15
               to 0.2 (dynamic-1) or 0.06 to 0.08 (dynamic-2)
    Test       a scene is four clips in a random order. static and dynamic-1: AA, BB (possible), AB, BA (impossible);
               dynamic-2: AAA, BBB, ABA, BAB. Clips 4s to 4s + 3 are scene s, drawn from the address of clip 4s
    Train      one possible clip per scene, A or B by the toss of a coin, but no empty room; validation alike
    Balance    scene s has condition s, counted round all combinations asked for (54 by default), blocks fastest
    Truth      positions (centres of area), velocities, masks and visibility of the objects, but not of the occluders;
               color and size per object; series: the occluders' places, top, left, height and width, and the shapes
               that the objects show (0 disc, 1 square, 2 triangle; -1 while an object is not there)
    Labels     possible; scene; block 1 to 3; movement 0 to 2; occluded; objects, how many the scene has; target, which
               of them; start, whether the clip begins like A (0) or B (1); splices, frames at which the scene's
               impossible clips go on with the other run (-1: none; in train always); floor, its first row
    Protocol   20 frames given, 80 imagined; or all given, and each scored as it comes

While the target is hidden, the frames of A and B are equal to the last bit, and the splices lie there. So the possible
and the impossible pair show the same frames, and the same windows of frames, up to one more than the target is hidden
for: whoever judges with less memory judges both pairs alike. In `visible` scenes the frames are the same, but windows
across a splice are not. What is absent has NaN for its place, velocity and visibility; in an impossible clip of O1,
only while it is absent.

Source: Riochet et al. 2018 (IntPhys): blocks, movements, quadruplets, 100 frames. We differ in being flat, and in
that an object moves at constant speed all the time; sizes, speeds and times are ours.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby, pairwise, product

import numpy as np

from videopred.datasets.chance import open_sources
from videopred.datasets.clip import Clip
from videopred.datasets.contacts import CONTACT
from videopred.datasets.scene_names import BLOCKS, MOVEMENTS
from videopred.datasets.scenes import Condition, Scene, draw_scene
from videopred.datasets.settings import OcclusionConfig
from videopred.datasets.shapes import centre_height, half_widths, paint_spans, spans

_A, _B = 0, 1
_FILMS = ((_A, _A), (_B, _B), (_A, _B), (_B, _A))
"""The clips of a scene: the run they begin with, and the run they show between the first and the second splice."""

Shown = dict[str, np.ndarray]
"""What is seen and true at each frame: name -> (T, ...)."""


class Occlusion:
    """Clips of objects and occluders: see `World`."""

    def __init__(self, recipe: OcclusionConfig) -> None:
        self.recipe = recipe
        choices = product(recipe.objects, recipe.occlusion, recipe.movements, recipe.blocks)
        self._conditions = [
            Condition(block, movement, occlusion, objects) for objects, occlusion, movement, block in choices
        ]

    def clips(self, seed: int, part: str, indices: Iterable[int]) -> Iterator[Clip]:
        """The clips at these addresses, in this order; each depends on the address of its scene alone."""
        per_scene = self.recipe.clips_per_scene(part)
        for number, group in groupby(indices, lambda index: index // per_scene):
            [chance] = open_sources(seed, part, [number * per_scene])
            scene = draw_scene(self.recipe, self._conditions[number % len(self._conditions)], chance)
            films, splices = [_FILMS[film] for film in scene.order], scene.splices
            if per_scene == 1:
                empty = scene.condition.block == "O1" and scene.condition.objects == 1
                start = _A if empty else int(chance.integers(2))
                films, splices = [(start, start)], ()
            runs = {run: self._show(scene, run) for run in {*chain(*films)}}
            for index in group:
                yield self._clip(scene, number, runs, films[index % per_scene], splices)

    def _show(self, scene: Scene, run: int) -> Shown:
        """A run as it is seen, and its truth."""
        shown = _empty_room(self.recipe, scene)
        side, rows, drawn = scene.stage.side, scene.stage.rows, {}
        for number, thing in enumerate(scene.things):
            x, shape, present = thing.runs[run]
            if not present:
                continue
            start, stop = spans(x if x[0] != x[-1] else x[:1], half_widths(shape, side, rows), self.recipe.width)
            band = np.s_[:, thing.ground - rows : thing.ground]
            paint_spans(shown["frames"][band], start, stop, thing.color)
            paint_spans(shown["masks"][band], start, stop, np.array([number + 1], np.uint8))
            drawn[number] = (stop - start).sum(1)
            shown["positions"][:, number, 0] = x
            shown["positions"][:, number, 1] = thing.ground - centre_height(shape, side)
            shown["velocities"][:, number] = (x[-1] - x[0]) / (len(x) - 1), 0
            shown["shapes"][:, number] = shape
        _paint_occluders(shown, scene)
        for number, pixels in drawn.items():
            ground = scene.things[number].ground
            seen = shown["masks"][:, ground - rows : ground] == number + 1
            shown["visibility"][:, number] = np.count_nonzero(seen, axis=(1, 2)) / pixels
        return shown

    def _clip(
        self, scene: Scene, number: int, runs: Mapping[int, Shown], film: tuple[int, int], splices: tuple[int, ...]
    ) -> Clip:
        """The clip that begins with the film's first run and shows its second one between the splices."""
        start, between = film
        shown = {name: _spliced(values, runs[between][name], splices) for name, values in runs[start].items()}
        frames, shapes, most = shown.pop("frames"), shown.pop("shapes"), max(self.recipe.objects)
        active = np.asarray((shapes >= 0).any(0))
        colors = np.zeros((most, 3), np.uint8)
        colors[: len(scene.things)] = [thing.color for thing in scene.things]
        condition = scene.condition
        return Clip(
            frames=frames.reshape(*shown["masks"].shape, 3),
            **shown,
            collisions=np.zeros(shown["masks"].shape, bool),
            events=np.zeros(self.recipe.frames, np.uint8),
            contacts=np.zeros(0, CONTACT),
            objects={
                "active": active,
                "color": np.where(active[:, None], colors, np.uint8(0)),
                "size": np.where(active, np.float32(scene.stage.side), np.float32(np.nan)),
            },
            series={"occluders": scene.occluders, "shapes": shapes},
            labels={
                "block": np.array(1 + BLOCKS.index(condition.block), np.uint8),
                "floor": np.array(scene.floor, np.int16),
                "movement": np.array(MOVEMENTS.index(condition.movement), np.uint8),
                "objects": np.array(condition.objects, np.uint8),
                "occluded": np.array(condition.occlusion == "occluded"),
                "possible": np.array(start == between),
                "scene": np.array(number, np.int64),
                "splices": np.array([*splices, -1, -1][:2], np.int16),
                "start": np.array(start, np.uint8),
                "target": np.array(scene.target, np.uint8),
            },
        )


def _empty_room(recipe: OcclusionConfig, scene: Scene) -> Shown:
    """Wall and floor, and no objects; `frames` are (T, H, W * 3), as painting wants them."""
    times, height, most = recipe.frames, recipe.height, max(recipe.objects)
    room = np.empty((height, recipe.width, 3), np.uint8)
    room[: scene.floor], room[scene.floor :] = scene.colors["wall"], scene.colors["floor"]
    return {
        "frames": np.tile(room.reshape(1, height, -1), (times, 1, 1)),
        "masks": np.zeros((times, height, recipe.width), np.uint8),
        "positions": np.full((times, most, 2), np.nan, np.float32),
        "velocities": np.full((times, most, 2), np.nan, np.float32),
        "visibility": np.full((times, most), np.nan, np.float16),
        "shapes": np.full((times, most), -1, np.int8),
    }


def _paint_occluders(shown: Shown, scene: Scene) -> None:
    """Paint the occluders over all that is behind them, in place."""
    color = scene.colors["occluder"]
    for places in scene.occluders.swapaxes(0, 1):  # (T, 4) of one after the other
        changes = np.flatnonzero((np.diff(places, axis=0) != 0).any(1)) + 1
        for first, last in pairwise([0, *changes, len(places)]):  # while it stands still it is painted at once
            top, left, height, width = map(int, places[first])
            area = np.s_[first:last, top : top + height]
            shown["frames"][area][..., left * 3 : (left + width) * 3] = np.tile(color, width)
            shown["masks"][area][..., left : left + width] = 0


def _spliced(first: np.ndarray, second: np.ndarray, splices: tuple[int, ...]) -> np.ndarray:
    """(T, ...): the first run, but the second from the first splice up to the next one, or to the end."""
    values = first.copy()
    if splices:
        begin, end = (*splices, len(values))[:2]
        values[begin:end] = second[begin:end]
    return values
