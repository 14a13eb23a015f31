"""SCOFF against its slow statement, against limit cases, and with each of its options."""

import known_bad_scoff
import pytest
import scoff_checks
import torch
from core_checks import close, operations_of_a_step
from scoff_checks import BATCH, FEATURES, POSITIONS, SIZES, STEPS, make, random_slots, random_state
from torch import nn
from torch.utils import _pytree as tree

from videopred.bench.plain_scoff import PlainSCOFF
from videopred.models.core import unroll
from videopred.models.schemata import pick
from videopred.models.scoff import SCOFF
from videopred.models.scoff_settings import SCOFFConfig


@pytest.mark.parametrize("check", scoff_checks.CHECKS, ids=lambda check: check.__name__)
def test_scoff_keeps_its_promises(check):
    check(SCOFF)


@pytest.mark.parametrize(("broken", "check"), known_bad_scoff.SCOFFS, ids=lambda item: item.__name__)
def test_check_fails_on_a_broken_scoff(broken, check):
    with pytest.raises(AssertionError):
        check(broken)


def test_every_check_is_shown_to_fail():
    assert {check for _, check in known_bad_scoff.SCOFFS} == set(scoff_checks.CHECKS)


@pytest.mark.parametrize("heads", [1, 3])
def test_equals_the_plain_statement_forward_and_gradient(heads):
    core = make(input_heads=heads)
    plain = PlainSCOFF(core).eval()
    slots, ((hidden,), _) = random_slots().requires_grad_(), random_state(core)
    output, expected = unroll(core, slots, ((hidden,), ())).output, unroll(plain, slots, hidden).output
    close(output, expected)
    weight = torch.randn_like(output)
    (gradient,) = torch.autograd.grad((output * weight).sum(), slots)
    (wanted,) = torch.autograd.grad((expected * weight).sum(), slots)
    close(gradient, wanted)


def test_a_candidate_keeps_its_digits_under_autocast():
    candidates, chosen = torch.randn(2, 3, 5, 7), torch.tensor([[0, 4, 1], [2, 2, 3]])
    choice = nn.functional.one_hot(chosen, 5).float()
    with torch.autocast("cpu", torch.bfloat16):
        picked = pick(choice, candidates)
    assert torch.equal(picked, candidates[torch.arange(2)[:, None], torch.arange(3), chosen])


def test_plain_statement_has_weights_of_its_own():
    core = make()
    ours = {weight.data_ptr() for weight in core.parameters()}
    assert ours.isdisjoint(weight.data_ptr() for weight in PlainSCOFF(core).parameters())


def test_plain_statement_is_of_the_algorithm_alone():
    with pytest.raises(ValueError, match=r"^core must use no option of SCOFF, got active, norm; build it with its siz"):
        PlainSCOFF(make(active=2, norm="mean"))


def test_one_schema_is_one_gru_that_all_files_share():
    core = make(schemata=1, comm=False)
    reference = nn.GRUCell(10, 8).double()
    layers = {"ih": core.input_gates, "hh": core.state_gates}
    weights = {f"weight_{name}": layer.weight for name, layer in layers.items()}
    reference.load_state_dict(weights | {f"bias_{name}": layer.bias for name, layer in layers.items()})
    slots, ((hidden,), _) = random_slots()[:, 0], random_state(core)
    keys, values = core.input_map(slots).split([6, 10], -1)
    attention = torch.softmax(core.input_query(hidden) @ keys.transpose(1, 2) / 6**0.5, 1)
    expected = reference((attention @ values).flatten(0, 1), hidden.flatten(0, 1)).unflatten(0, (BATCH, -1))
    output, _, trace = core.step(slots, ((hidden,), ()))
    close(output, expected)
    assert (trace["schema"] == 0).all()


@pytest.mark.parametrize(
    ("settings", "features", "count"),
    [  # n_s (3 d (a + d) + 6 d) + d dk + D (dk + a) + 2 d 16 + d 4 (3 · 32) + 4 · 32 d, a = d; and 2 d of the start
        ({"schemata": 2}, 80, 195_120 + 200),  # the spec's reference, whose first state had no weights
        ({"schemata": 4}, 80, 316_320 + 200),
        ({"schemata": 6, "files": 8}, 80, 437_520 + 200),
        ({"schemata": 6, "files": 8, "start": "learned"}, 80, 437_520 + 800),
    ],
)
def test_number_of_parameters(settings, features, count):
    core = SCOFF(SCOFFConfig(**settings), features)
    assert sum(parameter.numel() for parameter in core.parameters()) == count


def test_weights_start_as_torchs_where_asked_and_files_from_a_unit_normal_distribution():
    core = SCOFF(SCOFFConfig(units=25, schema_spread=1), 64)
    for parameter in (*core.input_gates.parameters(), *core.state_gates.parameters()):
        assert 0.19 < parameter.abs().max() <= 0.2
    assert not core.start_mean.any()
    assert (core.start_scale == 1).all()


@pytest.mark.parametrize(("spread", "correlation"), [(0.0, 1.0), (0.6, 0.64), (1.0, 0.0)])
def test_schemata_start_as_alike_as_asked_with_the_variance_of_torchs_cells(spread, correlation):
    torch.manual_seed(0)
    core = SCOFF(SCOFFConfig(units=50, schemata=3, schema_spread=spread), 64)
    for weight in (core.input_gates.weight, core.state_gates.weight):
        each = weight.detach().unflatten(0, (3, -1)).flatten(1)
        assert ((each.var(1) * 3 * 50 - 1).abs() < 0.05).all()
        others = torch.corrcoef(each)[~torch.eye(3, dtype=torch.bool)]
        assert ((others - correlation).abs() < 0.05).all()


def test_queries_and_keys_alone_start_larger():
    weights = []
    for gain in (1.0, 4.0):
        torch.manual_seed(0)
        weights.append(SCOFF(SCOFFConfig(**SIZES, input_heads=2, input_gain=gain), FEATURES).state_dict())
    torchs, ours = weights
    keys = torch.tensor(2 * (6 * [4.0] + 10 * [1.0]))  # of each head, then its values
    close(ours.pop("input_map.weight"), torchs.pop("input_map.weight") * keys.unsqueeze(1))
    close(ours.pop("input_query.weight"), torchs.pop("input_query.weight") * 4)
    for name, weight in ours.items():
        close(weight, torchs[name])


def test_slots_of_all_steps_are_mapped_at_once_but_on_a_cpu():
    core, mapped = make(input_heads=2).train(), []
    core.input_map.register_forward_hook(lambda layer, slots, output: mapped.append(output.device.type))
    for device in ("cpu", "meta"):
        slots = random_slots().to(device)
        for entry in core.to(device).project(slots):
            assert [part.shape for part in entry[1:3]] == [(2 * BATCH, POSITIONS, 6), (2 * BATCH, POSITIONS, 10)]
        assert unroll(core, slots).output.shape == (BATCH, STEPS, 4, 8)
    assert mapped == 2 * STEPS * ["cpu"] + 2 * ["meta"]


def output_of(core, seed=2):
    return unroll(core, random_slots(), random_state(core, seed=seed)).output


def test_without_input_attention_all_files_read_the_same_share():
    core = make(input_attention=False, comm=False, schemata=1)
    trace = unroll(core, random_slots(), trace=True).trace
    assert (trace["input_attention"] == 0.25).all()
    hidden = random_state(core, batch=1)[0][0].detach()
    jacobian = torch.autograd.functional.jacobian(
        lambda h: core.step(random_slots(batch=1)[:, 0], ((h,), ()))[0], hidden
    )
    coupling = jacobian[0, :, :, 0].abs().amax((1, 3))  # (K, K): file i's output by file j's state
    assert (coupling.diagonal() > 0).all()
    assert (coupling - coupling.diagonal().diag() == 0).all(), "files without any exchange are independent"


def test_competition_couples_files():
    core = make(comm=False, schemata=1)
    (hidden,), _ = random_state(core)
    changed = hidden.detach().clone()
    changed[:, 0] += 1
    before, after = (core.step(random_slots()[:, 0], ((h,), ()))[0] for h in (hidden, changed))
    assert (before[:, 1:] != after[:, 1:]).all()


def test_mean_is_the_sum_over_the_number_of_slots():
    mean, total = make(norm="mean"), make()
    with torch.no_grad():
        total.input_map.weight[6:] /= POSITIONS  # the values
    close(output_of(mean), output_of(total))


@pytest.mark.parametrize("norm", ["sum", "mean"])
def test_summing_over_more_than_64_slots_is_warned_of(norm, recwarn):
    core = make(norm=norm)
    unroll(core, random_slots(positions=64))
    assert not recwarn.list
    if norm == "mean":
        unroll(core, random_slots(positions=65))
        assert not recwarn.list
    else:
        with pytest.warns(UserWarning, match=r"^--core.norm must be mean for more than 64 slots, got sum over 65; "):
            unroll(core, random_slots(positions=65))


def test_a_step_on_a_large_map_compiles_whole():
    torch.compiler.reset()
    core = make()
    slots, state = random_slots(positions=65)[:, 0], random_state(core)
    compiled = torch.compile(core.step, backend="eager", fullgraph=True)(slots, state)
    with pytest.warns(UserWarning, match="must be mean"):
        close(compiled[0], core.step(slots, state)[0])


def test_the_start_in_evaluation_is_that_of_float32_whatever_torchs_default():
    core = make().float().eval()
    started = core.initial_state(1)[0][0]
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.equal(core.initial_state(1)[0][0], started)
    finally:
        torch.set_default_dtype(torch.float32)


def test_no_clip_shares_its_first_state_with_another():
    for settings in ({}, {"frozen_schema": True}):
        for part in tree.tree_leaves(make(**settings).initial_state(2)):
            other = part[1].clone()
            part[0] = 7
            assert torch.equal(part[1], other)


def test_a_frozen_schema_is_drawn_once_a_clip_and_kept():
    core = make(frozen_schema=True, files=5).train()
    state = core.initial_state(40)
    trace = unroll(core, random_slots(batch=40), state, trace=True).trace
    assert torch.equal(trace["schema"], state[1].unsqueeze(1).expand(-1, STEPS, -1))
    assert (torch.bincount(state[1].flatten(), minlength=3) > 40).all()
    assert not (state[1] == state[1][:1]).all(0).any(), "each clip draws its own in training"
    core.eval()
    assert core.initial_state(4)[1].tolist() == [[0, 1, 2, 0, 1]] * 4, "every schema takes part in what is scored"
    silent = [name for name, _ in core.named_parameters() if name.startswith("schema")]
    assert not silent, "what chooses no more is not there"


def test_queries_from_the_new_state_are_the_pseudocodes():
    old, new = make(comm_gate=False), make(query_from="new")
    (hidden,), _ = random_state(old)
    slots = random_slots()[:, 0]
    updated = make(comm=False)
    updated.load_state_dict({k: v for k, v in old.state_dict().items() if not k.startswith("communication")})
    before_talk = updated.step(slots, ((hidden,), ()))[0]
    for core, asking in ((old, hidden), (new, before_talk)):
        query = core.communication.query(asking).unflatten(-1, (2, 3)).transpose(1, 2)
        keys, values = core.communication.map(before_talk).unflatten(-1, (2, 8)).transpose(1, 2).split([3, 5], -1)
        heard = nn.functional.scaled_dot_product_attention(query, keys, values).transpose(1, 2).flatten(2)
        close(core.step(slots, ((hidden,), ()))[0], before_talk + core.communication.message(heard))


def test_communication_of_each_schema_is_that_of_all_when_the_maps_are_equal():
    plain, own = make(), make(schema_comm=True)
    weights = plain.state_dict()
    for name in ("communication.query.weight", "communication.map.weight"):
        weights[name] = weights[name].repeat(3, 1)
    own.load_state_dict(weights)
    close(output_of(own), output_of(plain))
    with torch.no_grad():
        own.communication.map.weight[8:] += 0.1
    assert (output_of(own) != output_of(plain)).any()


def test_a_gated_message_is_squashed():
    core, silent = make(comm_gate=True), make(comm=False)
    silent.load_state_dict({k: v for k, v in core.state_dict().items() if not k.startswith("communication")})
    with torch.no_grad():
        core.communication.message.weight *= 100
    slots, state = random_slots()[:, 0], random_state(core)
    said = core.step(slots, state)[0] - silent.step(slots, state)[0]
    assert 0.9 < said.abs().max() <= 1
    with torch.no_grad():
        core.communication.message.bias[8:] = -1e6  # the gate
    close(core.step(slots, state)[0], silent.step(slots, state)[0])


def test_learned_starts_are_one_for_each_file():
    core = make(start="learned").train()
    (hidden,), _ = core.initial_state(2)
    assert torch.equal(hidden, core.start.expand(2, -1, -1))
    with pytest.raises(RuntimeError, match="size mismatch for start"):
        make(start="learned", files=5).load_state_dict(core.state_dict())


def test_dropout_is_on_in_training_only():
    slots = random_slots()
    for settings in ({"comm": False}, {"input_value": 10}):
        core = make(dropout=0.5, schemata=1, **settings)
        state = random_state(core)
        if settings != {"comm": False}:
            with torch.no_grad():
                core.input_map.weight.zero_()  # nothing is read, so what varies is the message
        assert torch.equal(unroll(core, slots, state).output, unroll(core, slots, state).output)
        core.train()
        assert not torch.equal(unroll(core, slots, state).output, unroll(core, slots, state).output)


@pytest.mark.parametrize(
    "settings",
    [
        {"frozen_schema": True, "active": 2},
        {"frozen_schema": True, "cell": "lstm", "input_heads": 2, "comm_gate": True, "query_from": "new"},
        {"schemata": 1, "norm": "mean", "schema_comm": True},
        {"schemata": 1, "input_attention": False, "comm": False, "start": "learned"},
    ],
)
def test_gradients_are_true_where_the_choice_is_fixed(settings):
    torch.manual_seed(0)
    core = SCOFF(SCOFFConfig(**{**SIZES, "units": 4, "input_value": 3, **settings}), FEATURES).double().eval()
    slots = random_slots(batch=2, steps=2, positions=3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: unroll(core, x).output, (slots,))


def test_operations_of_a_step_are_few():
    forward, backward = operations_of_a_step(SCOFF(SCOFFConfig(), 80), torch.randn(2, 6, 64, 80))
    assert forward <= 35
    assert backward <= 63


@pytest.mark.parametrize("settings", [{}, {"cell": "lstm", "active": 2, "schema_comm": True, "comm_gate": True}])
def test_learns_under_autocast(settings):
    core = SCOFF(SCOFFConfig(**{**SIZES, **settings}), FEATURES)
    with torch.autocast("cpu", torch.bfloat16):
        done = unroll(core, random_slots().float(), trace=True)
    done.output.float().square().sum().backward()
    assert all(parameter.grad.isfinite().all() and parameter.grad.any() for parameter in core.parameters())


@pytest.mark.parametrize("how", ["bfloat16", "float16", "autocast"])
def test_half_precision_tells_apart_which_fresh_files_read_most(how):
    """Their mean attentions differ by less than it has digits for: of the choices in bfloat16, half were others."""
    torch.manual_seed(0)
    core = SCOFF(SCOFFConfig(files=6, active=3, units=20, input_gain=0.3), FEATURES).eval()
    slots, state = torch.randn(50, 1, 64, FEATURES), core.initial_state(50)
    whole = unroll(core, slots, state, trace=True).trace
    half = torch.float32 if how == "autocast" else getattr(torch, how)
    (hidden,), schema = state
    with torch.autocast("cpu", torch.bfloat16, enabled=how == "autocast"):
        trace = unroll(core.to(half), slots.to(half), ((hidden.to(half),), schema), trace=True).trace
    assert (trace["active"] == whole["active"]).all(-1).float().mean() > 0.95


def test_active_files_by_chance_are_as_many_and_no_matter_of_attention():
    core = make(active=2, competition="random", schemata=1).train()
    slots = random_slots(batch=200)
    trace = unroll(core, slots, trace=True).trace
    assert (trace["active"].sum(-1) == 2).all()
    assert len(trace["active"].flatten(0, 1).unique(dim=0)) == 6, "every pair has its turn"
    core.eval()
    first, second = (unroll(core, slots, trace=True).trace["active"] for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(first, unroll(core, slots * 2, trace=True).trace["active"])
    assert len(first[0].unique(dim=0)) > 1


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"competition": "random"}, "--core.competition must be attention where all files are active, got random; say"),
        ({"input_attention": False, "active": 3}, "--core.active must be 4, all files, with --core.no-input-atte"),
    ],
)
def test_options_that_contradict_each_other_are_refused(settings, fault):
    with pytest.raises(ValueError, match=f"^{fault}"):
        SCOFFConfig(**settings)


def test_more_active_than_files_is_refused():
    with pytest.raises(ValueError, match=r"^--core.active must be at most 4, got 5; lower --core.active or raise --co"):
        SCOFFConfig(active=5)


def test_no_files_are_refused():
    with pytest.raises(ValueError, match=r"^--core.files must be greater than 0, got 0"):
        SCOFFConfig(files=0)


def test_learned_starts_differ_from_the_beginning_as_drawn_ones_do():
    start = SCOFF(SCOFFConfig(start="learned", files=6, units=200), FEATURES).start.detach()
    assert start.mean().abs() < 0.1
    assert (start.std() - 1).abs() < 0.1


def test_queries_and_keys_have_the_variance_of_their_input_unless_asked():
    core = SCOFF(SCOFFConfig(units=400), 400)
    rows, key = torch.randn(500, 400), core.config.input_key
    assert (core.input_query(rows).var() - 1).abs() < 0.1
    assert (core.input_map(rows)[:, :key].var() - 1).abs() < 0.1


def test_schemata_start_with_a_correlation_of_64_hundredths_unless_asked():
    weight = SCOFF(SCOFFConfig(units=50, schemata=2), 64).state_gates.weight.detach()
    assert torch.corrcoef(weight.unflatten(0, (2, -1)).flatten(1))[0, 1].item() == pytest.approx(0.64, abs=0.05)


def test_noise_on_first_states_fits_weights_that_were_made_under_other_defaults():
    config = SCOFFConfig(files=3, schemata=2, units=4, start="drawn")
    try:
        torch.set_default_dtype(torch.bfloat16)
        half = SCOFF(config, FEATURES).eval()
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.device("meta"):
        elsewhere = SCOFF(config, FEATURES).eval()
    for core in (half, elsewhere):
        (hidden, *_), *_ = core.initial_state(BATCH)
        assert (hidden.dtype, hidden.device) == (core.start_mean.dtype, core.start_mean.device)
