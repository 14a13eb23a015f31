"""What cores made of modules must do (RIMs paper, sections 2.2 to 2.4), layer by layer, as checks that take a core.

They take it in float64 and evaluation mode, with large weights, so that broken cores can be shown to fail them.
"""

from collections.abc import Callable
from typing import Any

import torch
from core_checks import BATCH, FEATURES, close
from torch import Tensor

from videopred.models.rims import RIMs

ORDERS = {5: [3, 0, 4, 1, 2], 4: [2, 0, 3, 1]}


def levels(core: Any) -> list[tuple[Any, Any]]:
    """Reading and layer of each level, the lowest first."""
    one = isinstance(core, RIMs)
    return [(core.reading, core.layer)] if one else list(zip(core.readings, core.layers, strict=True))


def by_level(core: Any, state: Any) -> list[Any]:
    """The state of each level."""
    return [state] if isinstance(core, RIMs) else list(state)


def joined(core: Any, states: list[Any]) -> Any:
    """The core's state from that of each level."""
    return states[0] if isinstance(core, RIMs) else tuple(states)


def seen(core: Any, trace: dict[str, Tensor], level: int, name: str) -> Tensor:
    return trace[name] if isinstance(core, RIMs) else trace[f"layer{level}.{name}"]


def drawn_inputs(seed: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(BATCH, 1, FEATURES, generator=generator, dtype=torch.float64)


def drawn_state(core: Any, seed: int = 1) -> Any:
    """A state of numbers of the size of one, with gradients."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor) or not leaf.is_floating_point():
            return leaf
        return torch.randn(leaf.shape, generator=generator, dtype=leaf.dtype).requires_grad_()

    return joined(core, [tuple(map(drawn, state)) for state in by_level(core, core.initial_state(BATCH))])


def exactly_k_are_active(core: Any) -> None:
    _, _, trace = core.step(drawn_inputs(), drawn_state(core))
    for level, (_, layer) in enumerate(levels(core)):
        assert (seen(core, trace, level, "active").sum(1) == layer.active).all()


def resting_modules_keep_their_state_to_the_bit(core: Any) -> None:
    before = drawn_state(core)
    _, after, trace = core.step(drawn_inputs(), before)
    for level, (old, new) in enumerate(zip(by_level(core, before), by_level(core, after), strict=True)):
        active = seen(core, trace, level, "active")
        for was, is_ in zip(old[:2], new[:2], strict=True):
            if isinstance(was, Tensor):
                assert torch.equal(is_[~active], was[~active])
                assert (is_[active] != was[active]).all()


def resting_modules_stay_untouched_by_what_they_would_have_become(core: Any) -> None:
    """Whose NaN it is shows in who was active: a product with 0 would carry it into all."""
    before = drawn_state(core)
    with torch.no_grad():
        for _, layer in levels(core):
            layer.state_bias.fill_(torch.nan)
    _, after, trace = core.step(drawn_inputs(), before)
    for level, (old, new) in enumerate(zip(by_level(core, before), by_level(core, after), strict=True)):
        active = seen(core, trace, level, "active")
        for was, is_ in zip(old[:2], new[:2], strict=True):
            assert torch.equal(is_[~active], was[~active])
            assert is_[active].isnan().any(-1).all()


def modules_that_attend_least_to_null_are_active(core: Any) -> None:
    _, _, trace = core.step(drawn_inputs(), drawn_state(core))
    for level in range(len(levels(core))):
        active, null = (seen(core, trace, level, name) for name in ("active", "null_attention"))
        highest = null.where(active, torch.tensor(-1.0).double()).amax(1)
        assert (null.where(~active, torch.tensor(2.0).double()).amin(1) >= highest).all()


def the_module_that_cares_most_for_its_input_is_active(core: Any) -> None:
    """The sign of the choice, without the trace: one module's query is made to match the key of what comes in."""
    state, inputs = drawn_state(core), drawn_inputs()[:1].expand(BATCH, -1, -1)
    reading, _ = levels(core)[0]
    hidden = by_level(core, state)[0][0]
    with torch.no_grad():
        hidden[:] = hidden[:1]
        reading.query.weight.zero_()
        reading.query.weight[2] = torch.outer(hidden[0, 2], 9 * _key(reading, inputs[0, 0]))
    _, after, _ = core.step(inputs, state)
    moved = (by_level(core, after)[0][0] != hidden).any(-1)
    assert moved[:, 2].all()


def _key(reading: Any, vector: Tensor) -> Tensor:
    """The key of an input, all heads."""
    if hasattr(reading, "key"):
        return reading.key(vector)
    return reading.below(vector).unflatten(-1, (reading.heads, -1)).split(reading.sizes, -1)[0].flatten()


def without_a_state_all_slots_are_alike_and_ties_go_to_the_lowest_index(core: Any) -> None:
    _, _, trace = core.step(drawn_inputs(), core.initial_state(BATCH))
    for level, (reading, layer) in enumerate(levels(core)):
        slots = 2 + (getattr(reading, "above", None) is not None)
        null = seen(core, trace, level, "null_attention")
        assert (null == null[0, 0]).all()
        close(null, torch.full_like(null, 1 / slots))
        expected = [True] * layer.active + [False] * (layer.rows - layer.active)
        assert seen(core, trace, level, "active").tolist() == [expected] * BATCH


def without_exchange_modules_are_independent(core: Any) -> None:
    """In every layer that no layer below reads: what does would tell all its modules at once."""
    state, inputs = drawn_state(core), drawn_inputs()
    for _, layer in levels(core):
        with torch.no_grad():
            layer.communication.message.weight.zero_()
            layer.communication.message.bias.zero_()
    states = by_level(core, state)
    for level, (hidden, *rest) in enumerate(states):
        if level and levels(core)[level - 1][0].above is not None:
            continue

        def moved(hidden: Tensor, level: int = level, rest: Any = rest) -> Tensor:
            changed = joined(core, [*states[:level], (hidden, *rest), *states[level + 1 :]])
            return by_level(core, core.step(inputs, changed)[1])[level][0].sum((0, 2))

        coupling = torch.autograd.functional.jacobian(moved, hidden).abs().amax((1, 3))  # (K, K)
        assert (coupling.diagonal() > 0).all()
        assert (coupling - coupling.diagonal().diag() == 0).all()


def gradient_reaches_resting_modules_only_through_their_own_memory(core: Any) -> None:
    state = drawn_state(core)
    hidden = by_level(core, state)[0][0]
    _, after, trace = core.step(drawn_inputs(), state)
    new, active = by_level(core, after)[0][0], seen(core, trace, 0, "active")
    (of_active,) = torch.autograd.grad(new[active].sum(), hidden, retain_graph=True)
    (of_resting,) = torch.autograd.grad(new[~active].sum(), hidden)
    assert (of_active[~active] == 0).all()
    assert (of_active[active] != 0).any(-1).all()
    assert (of_resting[~active] == 1).all()
    assert (of_resting[active] == 0).all()


def active_modules_hear_what_resting_ones_would_have_become(core: Any) -> None:
    """A resting module's candidate is heard, which its cell moves, and not its old hidden state alone."""
    state, inputs = drawn_state(core), drawn_inputs()
    _, after, trace = core.step(inputs, state)
    states = by_level(core, state)
    active = seen(core, trace, 0, "active")
    changed = (states[0][0], states[0][1] + (~active).unsqueeze(-1), *states[0][2:])
    _, other, _ = core.step(inputs, joined(core, [changed, *states[1:]]))
    heard = by_level(core, other)[0][0] != by_level(core, after)[0][0]
    assert heard[active].any(-1).all()


def permuting_modules_with_their_weights_permutes_them(core: Any) -> None:
    state, inputs = drawn_state(core), drawn_inputs()
    _, after, trace = core.step(inputs, state)
    states, new = by_level(core, state), by_level(core, after)
    reading, layer = levels(core)[0]
    order = torch.tensor(ORDERS[layer.rows])
    with torch.no_grad():
        for weight in (reading.query.weight, reading.gates.weight, layer.state_gates.weight, layer.input_bias):
            weight.copy_(weight[order])
        layer.state_bias.copy_(layer.state_bias[order])
        layer.communication.attend.weight.copy_(layer.communication.attend.weight[order])
        for above, _ in levels(core)[1:2]:  # it reads all modules as one vector
            above.below.weight.copy_(above.below.weight.unflatten(1, (layer.rows, -1))[:, order].flatten(1))
    permuted = tuple(leaf[:, order] if isinstance(leaf, Tensor) else leaf for leaf in states[0])
    _, after, other = core.step(inputs, joined(core, [permuted, *states[1:]]))
    close(by_level(core, after)[0][0], new[0][0][:, order])
    assert torch.equal(seen(core, other, 0, "active"), seen(core, trace, 0, "active")[:, order])
    for left, right in zip(by_level(core, after)[1:], new[1:], strict=True):
        close(left, right)


def all_modules_are_awake(core: Any) -> None:
    """Of a core in which as many may be active as there are."""
    _, _, trace = core.step(drawn_inputs(), drawn_state(core))
    assert all(seen(core, trace, level, "active").all() for level in range(len(levels(core))))


def without_an_input_the_null_attention_is_one_half(core: Any) -> None:
    """Of a core that reads one vector, or a map of one position: neither slot has a score."""
    _, _, trace = core.step(torch.zeros_like(drawn_inputs()), drawn_state(core))
    assert (trace["null_attention"] == 0.5).all()


def the_order_of_positions_does_not_matter(core: Any) -> None:
    """Of a core that reads a map."""
    order, state = torch.tensor([2, 0, 3, 1, 4, 5]), drawn_state(core)
    slots = torch.stack([drawn_inputs(seed)[:, 0] for seed in range(6)], 1)
    output, _, trace = core.step(slots, state)
    other, _, same = core.step(slots[:, order], state)
    close(other, output)
    assert torch.equal(same["active"], trace["active"])
    close(same["input_attention"], trace["input_attention"][..., order])


READING_CHECKS: list[Callable[[Any], None]] = [
    without_an_input_the_null_attention_is_one_half,
    the_order_of_positions_does_not_matter,
]

MODULAR_CHECKS: list[Callable[[Any], None]] = [
    exactly_k_are_active,
    resting_modules_keep_their_state_to_the_bit,
    resting_modules_stay_untouched_by_what_they_would_have_become,
    modules_that_attend_least_to_null_are_active,
    the_module_that_cares_most_for_its_input_is_active,
    without_a_state_all_slots_are_alike_and_ties_go_to_the_lowest_index,
    without_exchange_modules_are_independent,
    gradient_reaches_resting_modules_only_through_their_own_memory,
    active_modules_hear_what_resting_ones_would_have_become,
    permuting_modules_with_their_weights_permutes_them,
]
