"""RMC against a slow statement of it, its promises, and its sizes."""

import math

import known_bad_rivals
import pytest
import rival_checks
import torch
from core_checks import close
from rival_checks import BATCH, STEPS, make_rmc, memory, random_slots
from torch import Tensor, nn
from torch.nn import functional

from videopred.models.core import unroll
from videopred.models.rival_settings import RMCConfig
from videopred.models.rmc import RMC


@pytest.mark.parametrize("check", rival_checks.RMC_CHECKS, ids=lambda check: check.__name__)
def test_rmc_keeps_its_promises(check):
    check(RMC)


@pytest.mark.parametrize(("broken", "check"), known_bad_rivals.RIVALS, ids=lambda item: item.__name__)
def test_check_fails_on_a_broken_rival(broken, check):
    with pytest.raises((AssertionError, RuntimeError)):
        check(broken)


def test_every_check_is_shown_to_fail():
    checks = {*rival_checks.RMC_CHECKS, *rival_checks.TRANSFORMER_CHECKS, *rival_checks.LADDER_CHECKS}
    assert {check for _, check in known_bad_rivals.RIVALS} == checks


def plain_step(core: RMC, x: Tensor, start: Tensor) -> Tensor:
    """One step for one clip, as the equations say it: a row, a head at a time. x (features), start (K, D)."""
    config = core.config
    own = core.input.weight @ x + core.input.bias
    rows = [*start, own]
    for block in core.blocks:
        maps = [normed(block.maps.weight @ row + block.maps.bias, block.maps_norm) for row in rows]
        heard = []
        for this in maps:
            parts = []
            for head in range(config.heads):
                width = 2 * config.key + config.head_size
                query = this[head * width :][: config.key]
                keys = [other[head * width + config.key :][: config.key] for other in maps]
                values = [other[head * width + 2 * config.key :][: config.head_size] for other in maps]
                weights = torch.stack([query @ key for key in keys]).div(math.sqrt(config.key)).exp()
                parts.append(sum(weight * value for weight, value in zip(weights / weights.sum(), values, strict=True)))
            heard.append(torch.cat(parts))
        rows = [normed(row + one, block.attention_norm) for row, one in zip(rows, heard, strict=True)]
        for i, row in enumerate(rows):
            inner = row
            linears = [layer for layer in core.mlp if isinstance(layer, nn.Linear)]
            for number, layer in enumerate(linears):
                inner = layer.weight @ inner + layer.bias
                inner = inner.clamp(min=0) if number < len(linears) - 1 else inner
            rows[i] = normed(row + inner, block.mlp_norm)
    if config.gate == "none":
        return torch.stack(rows[:-1])
    new = []
    for row, old in zip(rows[:-1], start, strict=True):
        gates = core.memory_gates.weight @ old.tanh() + core.memory_gates.bias
        gates = gates + core.input_gates.weight @ own + core.input_gates.bias
        i, f = gates.split(len(gates) // 2)
        new.append(row.tanh() / (1 + (-i).exp()) + old / (1 + (-f - 1).exp()))
    return torch.stack(new)


def normed(row: Tensor, norm: nn.LayerNorm) -> Tensor:
    return (row - row.mean()) / (row.var(correction=0) + 1e-5).sqrt() * norm.weight + norm.bias


@pytest.mark.parametrize("gate", ["unit", "memory", "none"])
@pytest.mark.parametrize("blocks", [1, 2])
def test_equals_the_plain_statement_forward_and_gradient(gate, blocks):
    core = make_rmc(gate=gate, blocks=blocks)
    slots, state = random_slots().requires_grad_(), memory(core)
    output = unroll(core, slots, state).output
    clips = []
    for b in range(BATCH):
        now, outputs = state[b], []
        for t in range(STEPS):
            now = plain_step(core, slots[b, t, 0], now)
            outputs.append(now)
        clips.append(torch.stack(outputs))
    expected = torch.stack(clips)
    close(output, expected)
    weight = torch.randn_like(output)
    (gradient,) = torch.autograd.grad((output * weight).sum(), slots)
    (wanted,) = torch.autograd.grad((expected * weight).sum(), slots)
    close(gradient, wanted)


def test_the_trace_is_of_the_first_block():
    one, two = make_rmc(blocks=1, gate="none"), make_rmc(blocks=2, gate="none")
    two.load_state_dict(one.state_dict(), strict=False)
    first, both = (unroll(core, random_slots()[:, :1], memory(one), trace=True).trace for core in (one, two))
    close(first, both)


def test_keys_are_as_wide_as_values_unless_asked_for():
    assert RMC(RMCConfig(heads=2, head_size=3), 5).blocks[0].sizes == [3, 3, 3]
    assert make_rmc().blocks[0].sizes == [5, 5, 3]


def test_without_a_gate_there_are_no_weights_of_one():
    assert not [name for name, _ in make_rmc(gate="none").named_parameters() if "gates" in name]
    assert make_rmc(gate="memory").memory_gates.out_features == 2


@pytest.mark.parametrize(
    ("settings", "count"),
    [  # D F + F + 3 F² + 3 F + 2 · 3 F + 2 · 2 F + 2 (F² + F) + 2 (2 F² + 2 F), F = 256, D = 512
        ({}, 726_016),  # the spec's reference
        ({"rows": 9}, 726_016),
        ({"blocks": 3}, 726_016 + 2 * (3 * 256**2 + 3 * 256 + 6 * 256 + 4 * 256)),  # the MLP is shared
        ({"gate": "none"}, 726_016 - 2 * (2 * 256**2 + 2 * 256)),
    ],
)
def test_number_of_parameters(settings, count):
    assert sum(parameter.numel() for parameter in RMC(RMCConfig(**settings), 512).parameters()) == count


def test_weights_start_as_sonnets():
    core = RMC(RMCConfig(), 300)
    for layer, inputs in ((core.input, 300), (core.blocks[0].maps, 256), (core.mlp[0], 256)):
        # Cutting a normal distribution at two deviations leaves 0.88 of its deviation.
        assert layer.weight.std().item() == pytest.approx(0.88 / math.sqrt(inputs), rel=0.01)
        assert layer.weight.abs().max() <= 2 / math.sqrt(inputs)
        assert not layer.bias.any()


def test_more_than_one_slot_is_refused():
    with pytest.raises(ValueError, match=r"slots must be one vector per step"):
        unroll(make_rmc(), functional.pad(random_slots(), (0, 0, 0, 1)))


def test_rows_that_would_stay_alike_are_refused():
    RMCConfig(rows=12, heads=2, head_size=6)
    with pytest.raises(ValueError, match=r"--core.rows must be at most heads x head-size = 12, got 13; rows beyond"):
        RMCConfig(rows=13, heads=2, head_size=6)
