"""Clips of the occlusion world that tests write as folders of IntPhys."""

from videopred.datasets.recipe_clips import RecipeClips, open_recipe
from videopred.datasets.settings import OcclusionConfig

FRAMES, HEIGHT, WIDTH = 31, 26, 38
PARTS = {"train": 3, "validation": 2, "test": 16}


def clips_of_ours(**parts: int) -> RecipeClips:
    return open_recipe(OcclusionConfig(frames=FRAMES, height=HEIGHT, width=WIDTH), PARTS | parts, seed=5)


def crowded_clips() -> RecipeClips:
    """A scene of three objects and two occluders, of which one object appears or vanishes."""
    where = {"blocks": ("O1",), "movements": ("dynamic-2",), "occlusion": ("occluded",), "objects": (3,)}
    return open_recipe(OcclusionConfig(frames=FRAMES, height=HEIGHT, width=WIDTH, **where), {"test": 4}, seed=5)
