"""Clips to judge."""

import pytest
from made_up_clips import Clips, noise


@pytest.fixture
def file() -> Clips:
    return Clips({"train": noise(6, 0), "test": noise(7, 1)})
