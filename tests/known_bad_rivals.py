"""Deliberately broken rivals: each check of `rival_checks` must fail on one of them, or it checks nothing."""

from typing import Any

import rival_checks
import torch
from torch import Tensor, nn

from videopred.models.core import State, Trace, Unrolled
from videopred.models.ladder import Ladder
from videopred.models.rmc import RMC
from videopred.models.transformer import Transformer


class NormsOverRows(RMC):
    """Normalises all rows together, with a gain for each place, as a well-known port does."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        for block in self.blocks:
            block.attention_norm = nn.LayerNorm((self.rows + 1, self.units))


class IgnoresTheInput(RMC):
    """Hands out what is left of the attention between rows, renormalised."""

    def advance(self, projected: Any, state: Tensor) -> tuple[Tensor, Tensor, Trace]:
        output, state, trace = super().advance(projected, state)
        rows = trace["comm_attention"]
        return output, state, trace | {"comm_attention": rows / rows.sum(-1, keepdim=True)}


class ForgetsByDefault(RMC):
    """No bias of 1 on the forget gate."""

    def advance(self, projected: Any, state: Tensor) -> tuple[Tensor, Tensor, Trace]:
        row, gates = projected
        halves = gates.chunk(2, -1)
        return super().advance((row, torch.cat([halves[0], halves[1] - 1], -1)), state)


class AddsItsInput(RMC):
    def advance(self, projected: Any, state: Tensor) -> tuple[Tensor, Tensor, Trace]:
        output, state, trace = super().advance(projected, state)
        return output + projected[0], state, trace


class StartsEmpty(RMC):
    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        return torch.zeros_like(super().initial_state(batch))


class LooksFurther(Transformer):
    """Attends to a step more than its window."""

    def __init__(self, config: Any, features: int):
        super().__init__(config.model_copy(update={"window": config.window + 1}), features)


class WithoutPositions(Transformer):
    """Takes the past for a set."""

    def positions(self, steps: Tensor, dtype: torch.dtype) -> Tensor:
        return torch.zeros_like(super().positions(steps, dtype))


class OneAge(Transformer):
    """Takes all clips of a batch to be as old as the first."""

    def run(self, slots: Tensor, state: State) -> Unrolled:
        return super().run(slots, (state[0], state[1][:1].expand_as(state[1])))


class HearsTheLayerAboveAtOnce(Ladder):
    """Looks first what the layers above will be."""

    def advance(self, projected: Any, state: Any) -> Any:
        _, new, _ = super().advance(projected, state)
        return super().advance(projected, tuple((h, cell) for (h, _), (_, cell) in zip(new, state, strict=True)))


class DeafToTheLayerAbove(Ladder):
    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        for layer in self.layers:
            layer.above = None


class OneBias(Ladder):
    """Counts the second bias of torch's LSTM twice."""

    def advance(self, projected: Any, state: Any) -> Any:
        return super().advance(projected + self.layers[0].own.bias, state)


RIVALS = [
    (NormsOverRows, rival_checks.rows_can_be_exchanged),
    (NormsOverRows, rival_checks.weights_fit_any_number_of_rows),
    (IgnoresTheInput, rival_checks.rows_attend_to_all_rows_and_the_input),
    (ForgetsByDefault, rival_checks.without_gate_weights_most_is_kept),
    (AddsItsInput, rival_checks.memory_grows_by_at_most_one),
    (StartsEmpty, rival_checks.first_memory_is_the_identity),
    (LooksFurther, rival_checks.a_step_hears_its_window),
    (WithoutPositions, rival_checks.order_of_the_past_is_heard),
    (OneAge, rival_checks.clips_may_be_of_different_age),
    (HearsTheLayerAboveAtOnce, rival_checks.layers_hear_the_one_above_a_step_late),
    (DeafToTheLayerAbove, rival_checks.layers_hear_the_one_above_a_step_late),
    (OneBias, rival_checks.one_neighbour_without_attention_is_torchs),
]
"""Each broken core, and the check that must catch it."""
