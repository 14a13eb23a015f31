"""The blocks in which the clips of a file are made."""

import math
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from videopred.datasets.piece import STEP
from videopred.datasets.plan import Target
from videopred.datasets.settings import BallsConfig


class InTrainScenes(BallsConfig):
    """As a world whose training clips come in scenes of any size."""

    scene: int

    def clips_per_scene(self, part: str) -> int:
        return self.scene if part == "train" else 1


@given(scene=st.integers(1, 40), scenes=st.integers(1, 50), before=st.integers(0, 9))
@settings(max_examples=40)
def test_blocks_hold_every_clip_once_and_cut_neither_scenes_nor_chunks(scene, scenes, before):
    addresses, unit = range(before * scene, (before + scenes) * scene), math.lcm(scene, STEP)
    target = Target(Path("x.h5"), {"train": addresses, "test": range(3)}, {}, InTrainScenes(scene=scene))
    *blocks, last = target.blocks()
    assert last == ("test", 0, 3, 0, 3)
    assert [index for block in blocks for index in range(block.start, block.stop)] == list(addresses)
    for block in blocks:
        assert (block.part, block.total) == ("train", scenes * scene)
        assert block.place == block.start - addresses.start
        assert block.place % unit == 0
        assert block.stop - block.start <= max(256, unit)


def test_blocks_of_large_clips_are_shorter():
    """The piece of a block is held in memory."""
    sizes = {}
    for frames in (51, 1024, 4096, 10**6):
        target = Target(Path("x.h5"), {"train": range(300)}, {}, BallsConfig(frames=frames))
        sizes[frames] = [block.stop - block.start for block in target.blocks()]
    assert sizes[51] == [256, 44]
    assert sizes[1024] == [128, 128, 44]
    assert sizes[4096][:2] == [32, 32]
    assert sizes[10**6][:2] == [STEP, STEP]
