"""A core in the place of nn.LSTM or nn.GRU."""

from collections.abc import Mapping
from typing import Any

from torch import Generator, Tensor, nn

from videopred import check
from videopred.models import CORES, build_core, core_config
from videopred.models.arguments import check_done, check_finite, check_slots, check_state
from videopred.models.core import State, unroll
from videopred.models.core_settings import CoreSettings
from videopred.models.settings import OwnConfig
from videopred.synonyms import meant_setting


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
        ValueError: no such core or setting, or sizes that do not fit together. TypeError: a core or a width of another
            kind.
    """

    def __init__(self, core: str | CoreSettings, input_size: int, **settings: Any):
        super().__init__()
        fix = f"give a name such as {', '.join(CORES)}, or MODULE:CLASS for your own"
        ours = isinstance(core, CoreSettings) and hasattr(core, "kind")  # which settings of an own core lack
        check.require_kind(isinstance(core, str) or ours, "core", "be a name or settings", repr(core), fix)
        config = core_config(core) if isinstance(core, str) else core
        if not isinstance(config, OwnConfig):
            _check_names(config, settings)
        config = config.changed(**settings)
        self.input_size = check.whole_number("input_size", input_size, 1, "it is the width of the inputs")
        self.core = build_core(config, self.input_size)
        self.output_size = self.core.rows * self.core.units

    def initial_state(self, batch: int, *, generator: Generator | None = None) -> State:
        """The state before the first step, on the device and in the dtype of the parameters.

        Raises:
            ValueError: fewer than one clip. TypeError: no whole number of them, or no generator.
        """
        batch = check.whole_number("batch", batch, 1, "it is the number of clips")
        must, fix = "be a torch.Generator or None", "make one, e.g. torch.Generator().manual_seed(3)"
        check.require_kind(generator is None or isinstance(generator, Generator), "generator", must, generator, fix)
        return self.core.initial_state(batch, generator=generator)

    def forward(self, inputs: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """All steps.

        Args:
            inputs: (B, T, D), or (B, T, L, D) with several slots for cores that attend over them.
            state: where to start; None is the core's initial state.

        Returns:
            Outputs (B, T, K D) and the state after the last step.
        """
        slots = _as_slots(inputs, 4, "(B, T, D) or (B, T, L, D)")
        check_slots(self.core, slots, "inputs")
        done = unroll(self.core, slots, state)
        return done.output.flatten(2), done.state

    def step(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """One step: inputs (B, D) or (B, L, D) and a state -> output (B, K D) and the new state."""
        slots = _as_slots(inputs, 3, "(B, D) or (B, L, D)")
        check_slots(self.core, slots.unsqueeze(1), "inputs")
        check_state(self.core, len(slots), state)
        done = self.core.step(slots, state)
        check_done(self.core, done, len(slots))
        output, state, _ = done
        check_finite("output", output.unsqueeze(1))
        return output.flatten(1), state


def _check_names(config: CoreSettings, settings: Mapping[str, Any]) -> None:
    """Refuse settings that a core does not have, under the names that they have in Python."""
    known = [name for name in type(config).model_fields if name != "kind"]
    for name, value in settings.items():
        must = f"be a setting of {config.label}: {', '.join(known)}"
        fix = check.suggest(meant_setting(name, known) or name, known, "leave it out")
        check.require(name in known, name, must, value, fix)


def _as_slots(inputs: Tensor, most: int, axes: str) -> Tensor:
    """Inputs as slots, which have so many axes; with one less they are vectors, each of which is one slot.

    Raises:
        ValueError: they have other axes. TypeError: they are no tensor.
    """
    kind, fix = type(inputs).__name__, "make one, e.g. with torch.as_tensor"
    if isinstance(inputs, nn.utils.rnn.PackedSequence):
        fix = "give pad_packed_sequence(…, batch_first=True)[0]"
    check.require_kind(isinstance(inputs, Tensor), "inputs", "be a tensor", kind, fix)
    fits, fix = inputs.dim() in (most - 1, most), "a single clip is B = 1"
    check.require(fits, "inputs", f"be {axes}", tuple(inputs.shape), fix)
    must = f"be {axes}, none of which but D is 0"
    check.require(0 not in inputs.shape[:-1], "inputs", must, tuple(inputs.shape), "leave empty batches out")
    return inputs if inputs.dim() == most else inputs.unsqueeze(-2)
