"""The transformer against torch's encoder with a causal mask, and its window."""

import math

import pytest
import rival_checks
import torch
from core_checks import close
from rival_checks import BATCH, FEATURES, STEPS, make_transformer, random_slots
from torch import Tensor, nn
from torch.nn import functional

from videopred.models.core import unroll
from videopred.models.rival_settings import TransformerConfig
from videopred.models.transformer import Transformer


@pytest.mark.parametrize("check", rival_checks.TRANSFORMER_CHECKS, ids=lambda check: check.__name__)
def test_transformer_keeps_its_promises(check):
    check(Transformer)


def torchs(core: Transformer) -> nn.TransformerEncoder:
    """torch's encoder with the weights of a core."""
    config = core.config
    sizes = {"d_model": config.units, "nhead": config.heads, "dim_feedforward": config.hidden}
    layer = nn.TransformerEncoderLayer(**sizes, dropout=config.dropout, batch_first=True, norm_first=True)
    norm = nn.LayerNorm(config.units)
    encoder = nn.TransformerEncoder(layer, config.layers, norm, enable_nested_tensor=False).double()
    names = {"self_attn.in_proj_": "maps.", "self_attn.out_proj.": "mix.", "linear1.": "hidden.", "linear2.": "back."}
    names |= {"norm1.": "attention_norm.", "norm2.": "hidden_norm."}
    weights = core.state_dict()
    theirs = {
        f"layers.{number}.{name}{part}": weights[f"layers.{number}.{ours}{part}"]
        for number in range(config.layers)
        for name, ours in names.items()
        for part in ("weight", "bias")
    }
    encoder.load_state_dict(theirs | {f"norm.{part}": weights[f"norm.{part}"] for part in ("weight", "bias")})
    return encoder.eval()


def placed(core: Transformer, slots: Tensor) -> Tensor:
    """The rows that the first layer gets: each wavelength 10000^(2i / D) 2π a sine and a cosine."""
    units = core.units
    waves = torch.tensor(
        [
            [math.sin(t / 10000 ** (2 * i / units)) for i in range(units // 2)]
            + [math.cos(t / 10000 ** (2 * i / units)) for i in range(units // 2)]
            for t in range(slots.shape[1])
        ],
        dtype=torch.float64,
    )
    return core.input(slots.squeeze(2)) + waves


@pytest.mark.parametrize("window", [1, 2, 9])  # with 1, it takes four steps at once
def test_equals_torchs_encoder_forward_and_gradient(window):
    core = make_transformer(window=window)
    slots = random_slots().requires_grad_()
    age = torch.arange(STEPS).unsqueeze(1) - torch.arange(STEPS)
    hidden_from = (age < 0) | (age > window)
    expected = torchs(core)(placed(core, slots), mask=hidden_from).unsqueeze(2)
    output = unroll(core, slots).output
    close(output, expected)
    weight = torch.randn_like(output)
    (gradient,) = torch.autograd.grad((output * weight).sum(), slots)
    (wanted,) = torch.autograd.grad((expected * weight).sum(), slots)
    close(gradient, wanted)


def test_positions_hold_in_half_precision():
    core = make_transformer(units=12)
    late = torch.tensor([1, 257, 70_001])
    exact, half = core.positions(late, torch.float64), core.positions(late, torch.bfloat16)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.double(), exact, rtol=0, atol=0.01)


def test_dropout_is_on_in_training_only():
    core = make_transformer(dropout=0.5)
    assert torch.equal(unroll(core, random_slots()).output, unroll(core, random_slots()).output)
    core.train()
    assert not torch.equal(unroll(core, random_slots()).output, unroll(core, random_slots()).output)


@pytest.mark.parametrize(
    ("call", "silent"),
    [(1, ["mix.weight", "mix.bias"]), (2, ["back.weight"]), (3, ["back.weight", "back.bias"])],
    ids=["what attention adds", "the inner width", "what the maps add"],
)
def test_dropout_falls_on_each_part(monkeypatch, call, silent):
    """One dropout takes all, the others nothing: that is as if the weights behind or before it were zero."""
    core, rates, heard = make_transformer(layers=1, dropout=0.25), [], functional.scaled_dot_product_attention

    def dropped(values, rate):
        rates.append(rate)
        return values * (len(rates) - 1 != call)

    def attended(query, key, value, mask, rate):
        rates.append(rate)
        return heard(query, key, value, mask)

    with monkeypatch.context() as patched:
        patched.setattr(functional, "dropout", dropped)
        patched.setattr(functional, "scaled_dot_product_attention", attended)
        output = unroll(core.train(), random_slots()).output
    assert rates == [0.25] * 4
    for name in silent:
        nn.init.zeros_(core.layers[0].get_parameter(name))
    close(output, unroll(core.eval(), random_slots()).output)


def test_the_state_is_of_one_size_from_the_start():
    core = make_transformer(window=4)
    first, last = core.initial_state(BATCH), unroll(core, random_slots()).state
    assert [part.shape for part in first[0]] == [part.shape for part in last[0]] == [(BATCH, 4, 12)] * 2
    assert last[1].tolist() == [STEPS] * BATCH


def test_nothing_is_traced():
    assert unroll(make_transformer(), random_slots(), trace=True).trace == {}


def test_number_of_parameters():
    units, hidden = 256, 1024
    layer = 4 * units * units + 4 * units + 2 * units * hidden + units + hidden + 4 * units
    count = sum(parameter.numel() for parameter in Transformer(TransformerConfig(), 512).parameters())
    assert count == 512 * units + units + 2 * layer + 2 * units


def test_heads_must_share_the_width():
    with pytest.raises(
        ValueError, match=r"^--core.heads must divide --core.units = 256, got 3; choose a divisor of it"
    ):
        TransformerConfig(heads=3)


def test_more_than_one_slot_is_refused():
    with pytest.raises(ValueError, match=r"slots must be one vector per step"):
        unroll(make_transformer(), torch.zeros(2, 3, 2, FEATURES).double())


def test_the_output_is_as_precise_as_the_weights_under_autocast():
    core = make_transformer().float()
    with torch.autocast("cpu", torch.bfloat16):
        assert unroll(core, random_slots().float()).output.dtype == torch.float32


def test_an_odd_width_has_a_sine_more_than_cosines():
    core = Transformer(TransformerConfig(units=5, heads=1, hidden=4), 3)
    steps = torch.tensor([1, 7])
    at = core.positions(steps, torch.float64)
    assert at.shape == (2, 5)
    torch.testing.assert_close(at[:, 0], steps.double().sin())
    torch.testing.assert_close(at[:, 3], steps.double().cos())
