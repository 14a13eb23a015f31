"""Cores of a user's own: that of docs/cores.md, and the plainest."""

import re
from pathlib import Path

GUIDE = (Path(__file__).parents[2] / "docs" / "cores.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
MINE = PROGRAMS[2]
PLAIN = """
from torch import nn


class Plain(nn.Module):
    rows, units, reads = 2, 3, "map"

    def __init__(self, features):
        super().__init__()
        self.inward = nn.Linear(features, 6)

    def initial_state(self, batch, *, generator=None):
        return self.inward.weight.new_zeros(batch, 6)

    def step(self, inputs, state):
        state = 0.5 * state + self.inward(inputs.mean(1))
        return state.unflatten(1, (2, 3)), state, {}
"""
