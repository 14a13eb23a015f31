"""What SCOFF promises, as checks that take its class, so that broken ones can be shown to fail them."""

from collections.abc import Callable
from typing import Any

import torch
from core_checks import close, shaken
from torch import Tensor

from videopred.models.core import Unrolled, unroll
from videopred.models.scoff import SCOFF, Memory, Projected
from videopred.models.scoff_settings import SCOFFConfig

FEATURES, BATCH, STEPS, POSITIONS = 9, 2, 5, 6
SIZES = {"files": 4, "schemata": 3, "units": 8, "schema_key": 7, "input_key": 6, "input_value": 10}
SIZES |= {"comm_heads": 2, "comm_key": 3, "comm_value": 5}

Kind = Callable[[SCOFFConfig, int], SCOFF]


def make(kind: Kind = SCOFF, *, seed: int = 0, **settings: Any) -> SCOFF:
    """A SCOFF core in float64 and evaluation mode, with large weights."""
    torch.manual_seed(seed)
    return shaken(kind(SCOFFConfig(**{**SIZES, **settings}), FEATURES).double().eval())


def random_slots(batch: int = BATCH, steps: int = STEPS, positions: int = POSITIONS, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, steps, positions, FEATURES, generator=generator, dtype=torch.float64)


def random_state(core: SCOFF, batch: int = BATCH, seed: int = 2) -> tuple[Memory, Any]:
    """Files that differ, and cells that are not 0."""
    (hidden, *cell), schema = core.initial_state(batch, generator=torch.Generator().manual_seed(seed))
    return (hidden, *(torch.randn_like(part) for part in cell)), schema


def run(core: SCOFF, projected: list[Projected], state: Any) -> Unrolled:
    """An unroll over entries that were projected before, so that they can be changed."""
    outputs, traces = [], []
    for entry in projected:
        output, state, trace = core.advance(entry, state)
        outputs.append(output)
        traces.append(trace)
    return Unrolled(
        torch.stack(outputs, 1), state, {name: torch.stack([one[name] for one in traces], 1) for name in traces[0]}
    )


def files_can_be_exchanged(kind: Kind) -> None:
    """Permuted files, with what is drawn for them, give permuted states, choices and attention; training mode."""
    order = torch.tensor([2, 0, 3, 1])
    for settings in ({}, {"cell": "lstm", "input_heads": 2}, {"active": 2}, {"schema_comm": True, "query_from": "new"}):
        core = make(kind, **settings).train()
        state = random_state(core)
        projected = list(core.project(random_slots()))
        changed = [
            entry._replace(**{name: getattr(entry, name)[:, order] for name in ("read_mask", "noise", "message_mask")})
            for entry in projected
        ]
        plain = run(core, projected, state)
        moved = run(core, changed, (tuple(part[:, order] for part in state[0]), state[1]))
        close(moved.output, plain.output[:, :, order])
        assert torch.equal(moved.trace["schema"], plain.trace["schema"][:, :, order])
        close(moved.trace["input_attention"], plain.trace["input_attention"][:, :, :, order])
        close(moved.trace["comm_attention"], plain.trace["comm_attention"][:, :, :, order][..., order])


def schemata_can_be_exchanged(kind: Kind) -> None:
    """Permuted schemata give the same states, and their new numbers as choices."""
    order = torch.tensor([2, 0, 1])
    core, other = make(kind), make(kind)
    with torch.no_grad():
        for layer in (other.input_gates, other.state_gates):
            for parameter in layer.parameters():
                parameter.copy_(parameter.unflatten(0, (3, -1))[order].flatten(0, 1))
    slots, state = random_slots(), random_state(core)
    plain, moved = (unroll(one, slots, state, trace=True) for one in (core, other))
    close(moved.output, plain.output)
    assert torch.equal(order[moved.trace["schema"]], plain.trace["schema"])
    close(moved.trace["schema_weights"], plain.trace["schema_weights"][..., order])
    assert len(plain.trace["schema"].unique()) == 3


def positions_can_be_exchanged(kind: Kind) -> None:
    """Slots carry their position with them: in another order they are read alike."""
    core, order = make(kind), torch.tensor([3, 5, 0, 2, 1, 4])
    slots, state = random_slots(), random_state(core)
    plain, moved = unroll(core, slots, state, trace=True), unroll(core, slots[:, :, order], state, trace=True)
    close(moved.output, plain.output)
    close(moved.trace["input_attention"], plain.trace["input_attention"][..., order])


def attention_is_shared_out(kind: Kind) -> None:
    """At every position and head the files' shares sum to 1; so do those of whom a file hears."""
    trace = unroll(make(kind, input_heads=3), random_slots(), trace=True).trace
    for name, axis in (("input_attention", 3), ("comm_attention", 4)):
        assert (trace[name] > 0).all()
        close(trace[name].sum(axis), torch.ones_like(trace[name].sum(axis)))
    assert trace["input_attention"].shape == (BATCH, STEPS, 3, 4, POSITIONS)
    assert trace["comm_attention"].shape == (BATCH, STEPS, 2, 4, 4)


def weights_fit_any_number_of_files(kind: Kind) -> None:
    """Weights learned with 4 files run with 8, none of which they tell from the others."""
    four, eight = make(kind), make(kind, seed=1, files=8)
    assert sum(weight.numel() for weight in four.parameters()) == sum(weight.numel() for weight in eight.parameters())
    eight.load_state_dict(four.state_dict())
    slots, ((hidden,), _) = random_slots(), random_state(eight)
    output = unroll(eight, slots, ((hidden,), ())).output
    order = torch.randperm(8, generator=torch.Generator().manual_seed(0))
    close(unroll(eight, slots, ((hidden[:, order],), ())).output, output[:, :, order])


def choice_is_hard_and_learns_softly(kind: Kind) -> None:
    """Forward exactly one schema, backward the softmax at the temperature; so every schema learns at every step."""
    core = make(kind, temperature=0.7).train()
    generator = torch.Generator().manual_seed(0)
    candidates, query = torch.randn(2, BATCH, 4, 3, 8, generator=generator, dtype=torch.float64)
    query = query[:, :, 0].requires_grad_()  # comes divided by the temperature already
    noise = torch.randn(BATCH, 4, 3, generator=generator, dtype=torch.float64)
    schema, choice, soft = core._choose(candidates, query, noise)
    logits = (candidates * query.unsqueeze(2)).sum(-1) + noise
    assert torch.equal(choice.detach(), torch.nn.functional.one_hot(logits.argmax(-1), 3).double())
    assert torch.equal(schema, logits.argmax(-1))
    close(soft, logits.softmax(-1))
    weights = torch.randn(BATCH, 4, 3, generator=generator, dtype=torch.float64)
    (expected,) = torch.autograd.grad((logits.softmax(-1) * weights).sum(), query)
    assert choice.requires_grad, "no gradient flows through the choice"
    close(torch.autograd.grad((choice * weights).sum(), query)[0], expected)

    core = make(kind)
    output, _, trace = core.step(random_slots()[:1, 0], random_state(core, batch=1))
    output.square().sum().backward()
    of_schemata = core.input_gates.weight.grad.unflatten(0, (3, -1)).abs().sum((1, 2))
    assert len(trace["schema"].unique()) < 3, "some schema should not be chosen in this step"
    assert (of_schemata > 0).all()


def equal_files_stay_equal_in_evaluation(kind: Kind) -> None:
    """Why the first state is drawn: nothing else tells files apart, but for noise in training."""
    core = make(kind)
    hidden = torch.randn(BATCH, 1, 8, dtype=torch.float64).expand(-1, 4, -1)
    output = unroll(core, random_slots(), ((hidden,), ())).output
    close(output, output[:, :, :1].expand_as(output))
    noisy = unroll(core.train(), random_slots(), ((hidden,), ())).output
    assert (noisy[:, :, 1:] != noisy[:, :, :1]).any()


def files_start_apart(kind: Kind) -> None:
    """From one distribution: of each clip anew in training, of all clips alike in evaluation."""
    core = make(kind, files=5)
    ((start,), _), ((again,), _) = core.initial_state(3), core.initial_state(1)
    assert torch.equal(start, again.expand_as(start))
    assert len(start[0].unique(dim=0)) == 5
    core.train()
    ((first,), _), ((second,), _) = core.initial_state(3), core.initial_state(3)
    assert len(torch.cat([first, second]).flatten(0, 1).unique(dim=0)) == 30
    with torch.no_grad():
        core.start_mean.fill_(2.0)
        core.start_scale.copy_(torch.linspace(0.5, 1.5, 8))
    ((drawn,), _) = core.initial_state(4000)
    close_to = {"rtol": 0.03, "atol": 0.03}
    torch.testing.assert_close(drawn.mean((0, 1)), core.start_mean, **close_to)
    torch.testing.assert_close(drawn.std((0, 1)), core.start_scale, **close_to)


def resting_files_keep_their_state(kind: Kind) -> None:
    """Exactly `active` files update, those with most attention; the others keep h and c to the bit, by no schema."""
    for cell, heads in (("gru", 1), ("lstm", 2)):
        core = make(kind, active=1, cell=cell, input_heads=heads)
        before = random_state(core)
        _, (after, _), trace = core.step(random_slots()[:, 0], before)
        active = trace["active"]
        assert torch.equal(active, functional_one_hot(trace["input_attention"].mean((1, 3))))
        assert torch.equal(trace["schema"] >= 0, active)
        for old, new in zip(before[0], after, strict=True):
            assert torch.equal(new[~active], old[~active])
            assert (new[active] != old[active]).all()


def functional_one_hot(scores: Tensor) -> Tensor:
    """A mask of the highest score of each row."""
    return scores == scores.amax(-1, keepdim=True)


def cells_come_from_the_chosen_schema(kind: Kind) -> None:
    """An LSTM's h and c are those that torch's LSTMCell with the chosen schema's weights gives."""
    core = make(kind, cell="lstm", comm=False)
    (projected,) = core.project(random_slots()[:, :1])
    (hidden, cell), _ = state = random_state(core)
    _, ((new_hidden, new_cell), _), trace = core.advance(projected, state)
    for b in range(BATCH):
        for k in range(4):
            read = trace["input_attention"][b, 0, k] @ projected.values[b]
            reference = torch.nn.LSTMCell(10, 8).double()
            for parameter, layer in (("ih", core.input_gates), ("hh", core.state_gates)):
                weights = layer.weight.unflatten(0, (3, -1))[trace["schema"][b, k]]
                biases = layer.bias.unflatten(0, (3, -1))[trace["schema"][b, k]]
                reference.load_state_dict({f"weight_{parameter}": weights, f"bias_{parameter}": biases}, strict=False)
            expected = reference(read, (hidden[b, k], cell[b, k]))
            close((new_hidden[b, k], new_cell[b, k]), expected)
    assert len(trace["schema"].unique()) > 1


def noise_is_gumbels_and_for_training(kind: Kind) -> None:
    """Schemata are sampled with the probabilities of the softmax in training; in evaluation if asked for."""
    clips = 6000
    for settings, training in (({}, True), ({"eval_sample": True}, False), ({}, False)):
        core = make(kind, dropout=0.0, comm=False, files=1, temperature=0.5, **settings).train(training)
        slots, ((hidden,), _) = random_slots(batch=1, steps=1), random_state(core, batch=1)
        state = (hidden.expand(clips, -1, -1),), ()
        (projected,) = core.project(slots.expand(clips, -1, -1, -1))
        _, _, trace = core.advance(projected, state)
        (one,) = core.project(slots)
        candidates = [core.advance(*core.with_schema(one, ((hidden,), ()), schema))[0] for schema in range(3)]
        (scores,) = core.schema_key(torch.cat(candidates, 1)) @ core.schema_query(hidden[0, 0])
        chances = scores.softmax(-1)
        counts = torch.bincount(trace["schema"].flatten(), minlength=3) / clips
        if training or settings:
            torch.testing.assert_close(counts.double(), chances, rtol=0, atol=0.03)
        else:
            assert counts[chances.argmax()] == 1


CHECKS: list[Callable[[Kind], None]] = [
    files_can_be_exchanged,
    schemata_can_be_exchanged,
    positions_can_be_exchanged,
    attention_is_shared_out,
    weights_fit_any_number_of_files,
    choice_is_hard_and_learns_softly,
    equal_files_stay_equal_in_evaluation,
    files_start_apart,
    resting_files_keep_their_state,
    cells_come_from_the_chosen_schema,
    noise_is_gumbels_and_for_training,
]
