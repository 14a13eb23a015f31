"""What every core must do, as checks that take a core: ours pass them in the tests, yours in `videopred check-core`.

A check takes a core in float64 and evaluation mode whose slots have `FEATURES` features, and raises AssertionError
with the reason. It may leave the core changed, so each wants a fresh one.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from videopred.models.conformance_ground import BATCH, STEPS, mixed, need, prepared, same, shaken, slots
from videopred.models.conformance_seeing import (
    modules_can_be_intervened_on,
    schemata_are_as_many_as_it_says,
    trace_is_as_declared,
)
from videopred.models.core import unroll
from videopred.models.precision import not_finite
from videopred.user_errors import error_told


def run_checks(make: Callable[[], Any]) -> dict[str, str]:
    """What is wrong with a core, by the name of the check; an empty string where it passes.

    Args:
        make: builds the core for slots of `FEATURES` features, with fresh weights; called once for each check, and
            once before them.

    Raises:
        Any error that `make` raises.
    """
    make()
    found = {}
    for check in CHECKS:
        torch.manual_seed(0)
        try:
            core = make()
            check(core if check is is_of_one_precision else prepared(core))
            found[check.__name__] = ""
        except AssertionError as error:
            found[check.__name__] = str(error)
        except Exception as error:  # a stranger's core may raise anything; the other checks still have their say
            found[check.__name__] = f"it raised {error_told(error)}"
    return found


def shapes(core: Any) -> None:
    """Output (B, T, K, D), finite, of the parameters' dtype, as the first state is; the trace has B and T first."""
    for leaf in tree.tree_leaves(core.initial_state(BATCH)):
        need(isinstance(leaf, Tensor), f"the first state must be of tensors alone, got {type(leaf).__name__}")
        got = tuple(leaf.shape)
        need(got[:1] == (BATCH,), f"a tensor of the state must have one row per clip, got {got}")
        fits = not leaf.is_floating_point() or leaf.dtype == torch.float64
        fix = "make it with new_zeros of one of them"
        need(fits, f"the first state must have the parameters' dtype, here float64, got {leaf.dtype}: {fix}")
    done = unroll(core, slots(core), trace=True)
    need(done.output.dtype == torch.float64, f"the output must have the parameters' dtype, got {done.output.dtype}")
    need(done.output.isfinite().all(), "the output must be finite")
    for name, value in done.trace.items():
        got = tuple(value.shape)
        need(got[:2] == (BATCH, STEPS), f"trace {name} must have one row per clip of the batch, got {got} over time")


def initial_state_repeats(core: Any) -> None:
    """All its chance comes from the generator it is given."""

    def drawn() -> Any:
        return core.initial_state(BATCH, generator=torch.Generator().manual_seed(2))

    first = drawn()
    torch.manual_seed(3)
    same(drawn(), first, "two initial states from generators of one seed must be the same")


def first_state_may_be_written_into(core: Any) -> None:
    """A tensor of the first state shares its memory with no other, and a clip in it with no other clip."""
    count = len(tree.tree_leaves(core.initial_state(BATCH)))
    for place in range(count):
        leaves = [leaf.detach() for leaf in tree.tree_leaves(core.initial_state(BATCH))]
        before = [leaf.clone() for leaf in leaves]
        leaves[place][0].fill_(7)
        others = zip(leaves, before, strict=True)
        kept = [(one[1:], other[1:]) if at == place else (one, other) for at, (one, other) in enumerate(others)]
        reason = "writing into one clip of one tensor of the first state must change nothing else, so make each anew"
        need(all(torch.equal(one, other) for one, other in kept), reason)


def step_is_one_unroll(core: Any) -> None:
    """Steps in a row are what an unroll does."""
    inputs = slots(core)
    start = state = core.initial_state(BATCH)
    outputs = []
    for t in range(STEPS):
        output, state, _ = core.step(inputs[:, t], state)
        outputs.append(output)
    done = unroll(core, inputs, start)
    same(torch.stack(outputs, 1), done.output, "outputs of single steps must equal those of an unroll")
    same(state, done.state, "the state after single steps must equal that after an unroll")


def two_unrolls_are_one(core: Any) -> None:
    """An unroll goes on from the state of another as if there had been no break."""
    inputs, start = slots(core), core.initial_state(BATCH)
    first = unroll(core, inputs[:, :3], start)
    second = unroll(core, inputs[:, 3:], first.state)
    whole = unroll(core, inputs, start)
    same(torch.cat([first.output, second.output], 1), whole.output, "two unrolls in a row must equal one")
    same(second.state, whole.state, "the state after two unrolls in a row must equal that after one")


def step_depends_on_its_arguments_alone(core: Any) -> None:
    """The same step again, after others, gives the same, also in training: no memory hides on the core."""
    inputs = slots(core)
    for learns in (False, True):
        state = unroll(core.train(learns), inputs[:, :2]).state
        torch.manual_seed(5)
        before, _, _ = core.step(inputs[:, 2], state)
        unroll(core, slots(core, seed=5))
        torch.manual_seed(5)
        after, _, _ = core.step(inputs[:, 2], state)
        mode = "in training" if learns else "in evaluation"
        reason = f"a step on the same input and state must give the same, whatever was run in between, {mode}"
        same(after, before, reason)


def arguments_stay_as_they_were(core: Any) -> None:
    """A step writes into neither its input nor its state."""
    inputs = slots(core)
    state = unroll(core, inputs[:, :2]).state
    inputs_before, state_before = inputs.clone(), tree.tree_map(torch.clone, state)
    core.step(inputs[:, 2], state)
    same(inputs, inputs_before, "a step must not write into its input")
    same(state, state_before, "a step must not write into the state it is given")


def clips_do_not_mix(core: Any) -> None:
    """A clip's output does not depend on the other clips of its batch, nor its first state on how many these are.

    In training, and of a first state, this is seen of cores that draw nothing there.
    """
    inputs, start = slots(core), core.initial_state(BATCH)
    clips = [tree.tree_map(lambda leaf, b=b: leaf[b : b + 1], start) for b in range(BATCH)]

    def outputs() -> Tensor:
        return unroll(core, inputs, start).output

    for learns in (False, True):
        core.train(learns)
        if not (learns and _draws(outputs)):
            alone = [unroll(core, inputs[b : b + 1], own).output for b, own in enumerate(clips)]
            mode = "in training" if learns else "in evaluation"
            same(outputs(), torch.cat(alone), f"a clip must give the same alone as in a batch, {mode}")
    if not _draws(lambda: core.initial_state(BATCH)):
        for own in clips:
            same(core.initial_state(1), own, "a clip must have the same first state alone as in a batch")


def _draws(make: Callable[[], Any]) -> bool:
    """Whether torch's global generator has a say in what is made."""
    made = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        made.append(tree.tree_leaves(make()))
    return not all(torch.equal(one, other) for one, other in zip(*made, strict=True))


def future_does_not_reach_the_past(core: Any) -> None:
    """An output depends on the inputs of all steps up to its own and on none after it.

    On which slots of a step is the core's matter: one that looks at the largest alone is as sound.
    """
    inputs = slots(core).requires_grad_()
    (gradient,) = torch.autograd.grad(mixed(unroll(core, inputs).output[:, 3]), inputs)
    need(not gradient[:, 4:].any(), "an output must not depend on later inputs")
    reached = (gradient[:, :4] != 0).flatten(2).any(-1)  # (B, T)
    need(reached.all(), "an output must depend on the inputs of every step up to its own")


def every_parameter_learns(core: Any) -> None:
    """Over some steps, a gradient reaches every parameter that is not frozen."""
    mixed(unroll(core, slots(core)).output).backward()
    learning = {name: weight for name, weight in core.named_parameters() if weight.requires_grad}
    silent = [name for name, weight in learning.items() if weight.grad is None or not weight.grad.any()]
    need(not silent, f"a gradient must reach every parameter, got none for {', '.join(silent)}")


def evaluation_is_deterministic(core: Any) -> None:
    """In evaluation mode torch's global generator changes nothing."""
    inputs = slots(core)
    torch.manual_seed(1)
    first = unroll(core, inputs).output
    torch.manual_seed(2)
    same(unroll(core, inputs).output, first, "in evaluation mode two unrolls must be the same")


def state_follows_the_parameters(core: Any) -> None:
    """In dtype, half precision too: a core has no argument for it."""
    for dtype in (torch.float32, torch.bfloat16):
        other = copy.deepcopy(core).to(dtype)
        for leaf in tree.tree_leaves(other.initial_state(BATCH)):
            need(not leaf.is_floating_point() or leaf.dtype == dtype, f"the state must be {dtype}, got {leaf.dtype}")
        got = unroll(other, slots(core).to(dtype)).output.dtype
        need(got == dtype, f"the output must be {dtype}, as the parameters are, got {got}")


def runs_under_autocast(core: Any) -> None:
    """With weights in float32, from which linear maps then make bfloat16, on slots of either, and on from its state."""
    single = copy.deepcopy(core).float()
    for dtype in (torch.float32, torch.bfloat16):
        inputs = slots(core).to(dtype)
        with torch.autocast("cpu", torch.bfloat16):
            again = unroll(single, inputs, unroll(single, inputs).state)
        need(again.output.isfinite().all(), f"the output under autocast must be finite, on slots of {dtype}")


def moves_to_another_device(core: Any) -> None:
    """On the device of its parameters it makes all that it makes, in either mode: there is no device argument.

    Shown on torch's `meta` device, which every machine has: tensors there have shapes and no numbers, and those of the
    CPU do not go with them.
    """
    away = copy.deepcopy(core).to("meta")
    fix = "make tensors like those that are there, or keep them as buffers; on torch's device meta it"
    must = "what a core makes must be on the device of its parameters"
    try:
        given = slots(core, steps=2).to("meta")  # where each operation takes long; a third step is as the second
        done = [unroll(away.train(learns), given, trace=True) for learns in (False, True)]
        done[1].output.sum().backward()
    except RuntimeError as error:
        raise AssertionError(f"{must}: {fix} raised {error}") from error
    left = {str(leaf.device) for leaf in tree.tree_leaves([tuple(one) for one in done])} - {"meta"}
    need(not left, f"{must}: {fix} gave a tensor on {', '.join(left)}")


def weights_travel(core: Any) -> None:
    """A state_dict makes another core the same, holds nothing of what happened, and finite numbers alone."""
    odd, others = not_finite(core.state_dict()), "so register buffers of others, as of a mask, with persistent=False"
    need(not odd, f"a state_dict must hold tensors of finite numbers alone, {others}; there is {', '.join(odd)}")
    other = shaken(copy.deepcopy(core))
    for module in other.modules():  # tensors that are no parameters and no buffers stay where they were made
        for name, value in vars(module).items():
            if isinstance(value, Tensor) and value.is_floating_point():
                setattr(module, name, torch.randn_like(value))
    other.load_state_dict(core.state_dict())
    unroll(core, slots(core, seed=3))
    names = core.state_dict().keys() ^ other.state_dict().keys()
    need(not names, f"running must add nothing to the state_dict, got {', '.join(sorted(names))}")
    start, inputs = core.initial_state(BATCH), slots(core)
    outputs = unroll(other, inputs, start).output, unroll(core, inputs, start).output
    reason = "a core with the state_dict of another must give the same, so keep tensors as parameters or buffers"
    same(*outputs, reason)


def step_compiles_whole(core: Any) -> None:
    """torch.compile takes a step without a break in its graph, and changes nothing."""
    inputs, state = slots(core)[:, 0], core.initial_state(BATCH)
    plain = core.step(inputs, state)[0]  # first, as torch prints a page when it compiles a step that raises
    torch.compiler.reset()
    compiled = torch.compile(core.step, backend="eager", fullgraph=True)
    same(compiled(inputs, state)[0], plain, "a compiled step must give the same")


def is_of_one_precision(core: Any) -> None:
    """As it is built, before all of it is made float64."""
    there = {name: tensor.dtype for name, tensor in [*core.named_parameters(), *core.named_buffers()]}
    floating = {name: dtype for name, dtype in there.items() if dtype.is_floating_point}
    first = next(iter(floating.values()), None)
    odd = [f"{name} of {dtype}" for name, dtype in floating.items() if dtype != first]
    need(not odd, f"parameters and buffers must be of one precision, {first}; there is {', '.join(odd)}")


CHECKS: list[Callable[[Any], None]] = [
    is_of_one_precision,
    shapes,
    trace_is_as_declared,
    initial_state_repeats,
    first_state_may_be_written_into,
    step_is_one_unroll,
    two_unrolls_are_one,
    step_depends_on_its_arguments_alone,
    arguments_stay_as_they_were,
    clips_do_not_mix,
    future_does_not_reach_the_past,
    every_parameter_learns,
    evaluation_is_deterministic,
    state_follows_the_parameters,
    runs_under_autocast,
    moves_to_another_device,
    weights_travel,
    modules_can_be_intervened_on,
    schemata_are_as_many_as_it_says,
    step_compiles_whole,
]
"""In the order in which a broken core is best mended."""
