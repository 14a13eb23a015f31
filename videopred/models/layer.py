"""A core in the place of nn.LSTM or nn.GRU."""

from typing import Any

import torch
from torch import Generator, Tensor, nn

from videopred.models import build_core, core_config
from videopred.models.arguments import check_slots, check_state
from videopred.models.core import State, unroll
from videopred.models.core_settings import CoreSettings


class Layer(nn.Module):
    """Any core, with the habits of nn.LSTM(batch_first=True): `output, state = layer(inputs)`.

    The modules' outputs stand side by side in `output`, so its width `output_size` is K D. The state is the core's own
    (for `lstm` and `rims` a pair), to be carried on as it is. What the core did at each step is in
    `unroll(layer.core, inputs.unsqueeze(2), trace=True).trace`.

    Args:
        core: a name of `videopred list cores` or `videopred list presets`, a MODULE:CLASS of your own, or settings.
        input_size: width of the inputs.
        settings: changes to the core's settings, e.g. `modules=5`; `videopred train --core NAME --help` lists them.

    Raises:
        ValueError: no such core or setting, or sizes that do not fit together.
    """

    def __init__(self, core: str | CoreSettings, input_size: int, **settings: Any):
        super().__init__()
        config = core_config(core, **settings) if isinstance(core, str) else core.changed(**settings)
        self.core = build_core(config, input_size)
        self.input_size = input_size
        self.output_size = self.core.rows * self.core.units

    def initial_state(self, batch: int, *, generator: Generator | None = None) -> State:
        """The state before the first step, on the device and in the dtype of the parameters."""
        return self.core.initial_state(batch, generator=generator)

    def forward(self, inputs: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """All steps.

        Args:
            inputs: (B, T, D), or (B, T, L, D) with several slots for cores that attend over them.
            state: where to start; None is the core's initial state.

        Returns:
            Outputs (B, T, K D) and the state after the last step.
        """
        done = unroll(self.core, inputs.unsqueeze(2) if inputs.dim() == 3 else inputs, state)
        return done.output.flatten(2), done.state

    def step(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """One step: inputs (B, D) or (B, L, D) and a state -> output (B, K D) and the new state."""
        slots = inputs.unsqueeze(1) if inputs.dim() == 2 else inputs
        check_slots(self.core, slots.unsqueeze(1))
        if not torch.compiler.is_compiling():  # what the state is compared with is not to be compiled
            check_state(self.core, len(slots), state)
        output, state, _ = self.core.step(slots, state)
        return output.flatten(1), state
