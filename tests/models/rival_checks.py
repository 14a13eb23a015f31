"""What RMC, the transformer and the ladder of LSTMs promise, as checks that take the class: see `known_bad_rivals`."""

from collections.abc import Callable
from typing import Any

import torch
from core_checks import close, shaken
from torch import Tensor, nn

from videopred.models import CORES
from videopred.models.core import Core, unroll
from videopred.models.ladder import Ladder
from videopred.models.rival_settings import RMCConfig, TransformerConfig
from videopred.models.rmc import RMC
from videopred.models.transformer import Transformer

FEATURES, BATCH, STEPS = 5, 3, 6

Kind = Callable[[Any, int], Core]


def random_slots(batch: int = BATCH, steps: int = STEPS, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, steps, 1, FEATURES, generator=generator, dtype=torch.float64)


def make_rmc(kind: Kind = RMC, *, seed: int = 0, **settings: Any) -> Any:
    """An RMC in float64 and evaluation mode, with large weights."""
    torch.manual_seed(seed)
    sizes = {"rows": 4, "heads": 2, "head_size": 3, "key_size": 5, "blocks": 2, "mlp_layers": 3}
    return shaken(kind(RMCConfig(**{**sizes, **settings}), FEATURES).double().eval())


def memory(core: Any, seed: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(BATCH, core.rows, core.units, generator=generator, dtype=torch.float64)


def rows_can_be_exchanged(kind: Kind) -> None:
    """Permuted rows give permuted memories and attention."""
    order = torch.tensor([2, 0, 3, 1])
    for gate in ("unit", "memory", "none"):
        core = make_rmc(kind, gate=gate)
        start = memory(core)
        plain = unroll(core, random_slots(), start, trace=True)
        moved = unroll(core, random_slots(), start[:, order], trace=True)
        close(moved.output, plain.output[:, :, order])
        close(moved.trace["comm_attention"], plain.trace["comm_attention"][:, :, :, order][..., order])


def rows_attend_to_all_rows_and_the_input(kind: Kind) -> None:
    """The shares of all rows and the input sum to 1."""
    trace = unroll(make_rmc(kind), random_slots(), trace=True).trace
    assert trace["comm_attention"].shape == (BATCH, STEPS, 2, 4, 4)
    assert trace["input_attention"].shape == (BATCH, STEPS, 2, 4, 1)
    total = trace["comm_attention"].sum(-1) + trace["input_attention"].sum(-1)
    close(total, torch.ones_like(total))


def weights_fit_any_number_of_rows(kind: Kind) -> None:
    core, larger = make_rmc(kind), make_rmc(kind, rows=5)
    larger.load_state_dict(core.state_dict())
    unroll(larger, random_slots())


def without_gate_weights_most_is_kept(kind: Kind) -> None:
    """With gates of 0, M' is σ(1) M and at most one half."""
    for gate in ("unit", "memory"):
        core = make_rmc(kind, gate=gate)
        with torch.no_grad():
            for layer in (core.memory_gates, core.input_gates):
                layer.weight.zero_()
                layer.bias.zero_()
        start = memory(core)
        after, _, _ = core.step(random_slots()[:, 0], start)
        written = after - torch.sigmoid(torch.tensor(1.0).double()) * start
        assert 0.1 < written.abs().max() <= 0.5


def memory_grows_by_at_most_one(kind: Kind) -> None:
    core = make_rmc(kind)
    start = memory(core) * 3
    for t in range(STEPS):
        after, _, _ = core.step(100 * random_slots()[:, t], start)
        assert (after.abs() <= start.abs() + 1).all()
        start = after


def first_memory_is_the_identity(kind: Kind) -> None:
    """Filled with zeros, so that rows differ."""
    close(make_rmc(kind).initial_state(2), torch.eye(4, 6).double().expand(2, -1, -1))
    close(make_rmc(kind, rows=6).initial_state(1), torch.eye(6).double().unsqueeze(0))


def make_transformer(kind: Kind = Transformer, *, seed: int = 0, **settings: Any) -> Any:
    """A transformer in float64 and evaluation mode, with large weights."""
    torch.manual_seed(seed)
    sizes = {"layers": 2, "units": 6, "heads": 3, "hidden": 7, "window": 9}
    return shaken(kind(TransformerConfig(**{**sizes, **settings}), FEATURES).double().eval())


def steps_heard(core: Any, steps: int) -> Tensor:
    """(T, T): whether the output of one step hears the input of another."""
    inputs = random_slots(1, steps)
    slopes = torch.autograd.functional.jacobian(lambda x: unroll(core, x).output[0, :, 0], inputs)
    return (slopes[:, :, 0, :, 0] != 0).any(-1).any(1)


def a_step_hears_its_window(kind: Kind) -> None:
    """Itself and exactly `window` steps before it, in each layer."""
    age = torch.arange(8).unsqueeze(1) - torch.arange(8)
    for layers, reach in ((1, 2), (2, 4)):
        heard = steps_heard(make_transformer(kind, layers=layers, window=2), 8)
        assert torch.equal(heard, (age >= 0) & (age <= reach))


def order_of_the_past_is_heard(kind: Kind) -> None:
    """One layer of attention alone sees a set."""
    core, order = make_transformer(kind, layers=1), torch.tensor([2, 0, 3, 1, 4, 5])
    plain, moved = unroll(core, random_slots()).output, unroll(core, random_slots()[:, order]).output
    assert ((moved - plain)[:, -1].abs() > 1e-6).any(-1).all()


def clips_may_be_of_different_age(kind: Kind) -> None:
    """States of clips at different steps can be put into one batch."""
    core = make_transformer(kind, window=3)
    slots = random_slots(2)
    young, old = unroll(core, slots[:1, :1]), unroll(core, slots[1:, :5])
    later = random_slots(2, 2, seed=3)
    apart = [unroll(core, later[i : i + 1], one.state).output for i, one in enumerate((young, old))]
    together = torch.utils._pytree.tree_map(lambda *leaves: torch.cat(leaves), young.state, old.state)
    close(unroll(core, later, together).output, torch.cat(apart))


def make_ladder(name: str, kind: Kind = Ladder, *, seed: int = 0, **settings: Any) -> Any:
    """A ladder without attention in float64 and evaluation mode, with large weights."""
    torch.manual_seed(seed)
    return shaken(kind(CORES[name][0](**{"units": (4, 6, 7), **settings}), FEATURES).double().eval())


def layer_states(core: Any, seed: int = 3) -> Any:
    generator = torch.Generator().manual_seed(seed)
    pairs = [torch.randn(2, BATCH, units, generator=generator, dtype=torch.float64) for units in core.config.units]
    return tuple((hidden, cell) for hidden, cell in pairs)


def layers_hear_the_one_above_a_step_late(kind: Kind) -> None:
    """Where there is top-down reading: its last state, and not its weights. The layer below is heard at once."""
    slots = random_slots()[:, 0]
    for name in ("lstm-h", "lstm-hb"):
        core = make_ladder(name, kind)
        state = layer_states(core)
        _, before, _ = core.step(slots, state)
        for level in (1, 2):
            hidden, cell = state[level]
            moved = (*state[:level], (hidden + 1, cell), *state[level + 1 :])
            _, after, _ = core.step(slots, moved)
            changed = [bool((after[i][0] != before[i][0]).all()) for i in range(3)]
            assert changed == [(core.config.top_down and i >= level - 1) or i >= level for i in range(3)], (name, level)
            other = make_ladder(name, kind)
            with torch.no_grad():
                for parameter in other.layers[level].parameters():
                    parameter += 0.1
            _, after, _ = other.step(slots, state)
            for i in range(3):
                assert (after[i][0] != before[i][0]).all() if i >= level else torch.equal(after[i][0], before[i][0])


def one_neighbour_without_attention_is_torchs(kind: Kind) -> None:
    """lstm-h of equal layers is torch.nn.LSTM."""
    core = make_ladder("lstm-h", kind, units=(4, 4))
    reference = nn.LSTM(FEATURES, 4, 2, batch_first=True).double()
    for level, layer in enumerate(core.layers):
        for part, values in (("weight", "weight"), ("bias", "bias")):
            for end, linear in (("ih", layer.below), ("hh", layer.own)):
                getattr(reference, f"{part}_{end}_l{level}").data = getattr(linear, values).data
    state = layer_states(core)
    start = tuple(torch.stack(parts) for parts in zip(*state, strict=True))
    expected, ends = reference(random_slots().squeeze(2), start)
    done = unroll(core, random_slots(), state)
    close(done.output.squeeze(2), expected)
    close(tuple(torch.stack(parts) for parts in zip(*done.state, strict=True)), ends)


RMC_CHECKS = [
    rows_can_be_exchanged,
    rows_attend_to_all_rows_and_the_input,
    weights_fit_any_number_of_rows,
    without_gate_weights_most_is_kept,
    memory_grows_by_at_most_one,
    first_memory_is_the_identity,
]
TRANSFORMER_CHECKS = [a_step_hears_its_window, order_of_the_past_is_heard, clips_may_be_of_different_age]
LADDER_CHECKS = [
    layers_hear_the_one_above_a_step_late,
    one_neighbour_without_attention_is_torchs,
]
