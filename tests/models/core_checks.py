"""What every core must do, as checks that take a core, so that broken cores can be shown to fail them."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as tree

from videopred.models import CORES, build_core
from videopred.models.core import unroll
from videopred.settings import Settings

BATCH, STEPS, FEATURES = 3, 7, 11

SMALL: dict[str, Settings] = {
    "gru": CORES["gru"][0](units=13),
    "lstm": CORES["lstm"][0](units=13),
    "rims": CORES["rims"][0](modules=5, active=2, units=6, input_key=4, comm_heads=2, comm_key=3, comm_value=8),
}
"""A small version of every core, no two sizes alike."""


def make(name: str, seed: int = 0) -> Any:
    """A small core in float64 and evaluation mode, its weights large enough that all it does shows."""
    torch.manual_seed(seed)
    core = build_core(SMALL[name], FEATURES).double().eval()
    return shaken(core)


def shaken(core: Any) -> Any:
    """The core with weights drawn anew: at their own start, attention is uniform to 1e-3."""
    for parameter in core.parameters():
        nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5)
    return core


def slots(batch: int = BATCH, steps: int = STEPS, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, steps, 1, FEATURES, generator=generator, dtype=torch.float64)


def close(left: Any, right: Any) -> None:
    torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-12)


def shapes(core: Any) -> None:
    """Output (B, T, K, D), finite, of the parameters' dtype; the trace has B and T first."""
    done = unroll(core, slots(), trace=True)
    assert done.output.shape == (BATCH, STEPS, core.rows, core.units)
    assert done.output.dtype == torch.float64
    assert done.output.isfinite().all()
    assert all(value.shape[:2] == (BATCH, STEPS) for value in done.trace.values())


def trace_is_as_declared(core: Any) -> None:
    """The names of `trace_axes`, neither more nor fewer, each with as many axes behind B and T."""
    trace = unroll(core, slots(), trace=True).trace
    axes = {name: len(declared.split()) for name, declared in core.trace_axes.items()}
    assert {name: value.dim() - 2 for name, value in trace.items()} == axes


def step_is_one_unroll(core: Any) -> None:
    inputs = slots()
    state, outputs = core.initial_state(BATCH), []
    for t in range(STEPS):
        output, state, _ = core.step(inputs[:, t], state)
        outputs.append(output)
    done = unroll(core, inputs)
    close(torch.stack(outputs, 1), done.output)
    close(state, done.state)


def two_unrolls_are_one(core: Any) -> None:
    inputs = slots()
    first = unroll(core, inputs[:, :3])
    second = unroll(core, inputs[:, 3:], first.state)
    whole = unroll(core, inputs)
    close(torch.cat([first.output, second.output], 1), whole.output)
    close(second.state, whole.state)


def step_depends_on_its_arguments_alone(core: Any) -> None:
    """The same step again, after others, gives the same: no memory hides on the core."""
    inputs = slots()
    state = unroll(core, inputs[:, :2]).state
    before, _, _ = core.step(inputs[:, 2], state)
    unroll(core, slots(batch=BATCH, seed=5))
    after, _, _ = core.step(inputs[:, 2], state)
    close(after, before)


def arguments_stay_as_they_were(core: Any) -> None:
    inputs = slots()
    state = unroll(core, inputs[:, :2]).state
    inputs_before, state_before = inputs.clone(), tree.tree_map(torch.clone, state)
    core.step(inputs[:, 2], state)
    close(inputs, inputs_before)
    close(state, state_before)


def clips_do_not_mix(core: Any) -> None:
    """A clip's output does not depend on the other clips of its batch."""
    inputs = slots()
    alone = torch.cat([unroll(core, inputs[b : b + 1]).output for b in range(BATCH)])
    close(unroll(core, inputs).output, alone)


def future_does_not_reach_the_past(core: Any) -> None:
    inputs = slots().requires_grad_()
    unroll(core, inputs).output[:, 3].sum().backward()
    assert (inputs.grad[:, 4:] == 0).all()
    assert (inputs.grad[:, :4] != 0).any(-1).all(), "an input up to now is not heard"


def every_parameter_learns(core: Any) -> None:
    unroll(core, slots()).output.square().sum().backward()
    silent = [name for name, weight in core.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert not silent, f"no gradient reaches {silent}"


def evaluation_is_deterministic(core: Any) -> None:
    inputs = slots()
    torch.manual_seed(1)
    first = unroll(core, inputs).output
    torch.manual_seed(2)
    close(unroll(core, inputs).output, first)


def state_follows_the_parameters(core: Any) -> None:
    """In dtype, and so in device: a core has no device argument."""
    single = copy.deepcopy(core).float()
    leaves = tree.tree_leaves(single.initial_state(BATCH))
    assert all(leaf.dtype == torch.float32 and leaf.shape[0] == BATCH for leaf in leaves)
    assert unroll(single, slots().float()).output.dtype == torch.float32


def weights_travel(core: Any) -> None:
    """A state_dict makes another core the same, and holds nothing of what happened."""
    other = shaken(copy.deepcopy(core))
    other.load_state_dict(core.state_dict())
    unroll(core, slots(seed=3))
    assert core.state_dict().keys() == other.state_dict().keys()
    close(unroll(other, slots()).output, unroll(core, slots()).output)


CHECKS: list[Callable[[Any], None]] = [
    shapes,
    trace_is_as_declared,
    step_is_one_unroll,
    two_unrolls_are_one,
    step_depends_on_its_arguments_alone,
    arguments_stay_as_they_were,
    clips_do_not_mix,
    future_does_not_reach_the_past,
    every_parameter_learns,
    evaluation_is_deterministic,
    state_follows_the_parameters,
    weights_travel,
]
