"""Encoder and decoder: the folded upsampling against the plain one, sizes, and what they refuse."""

import pytest
import torch
from core_checks import close
from torch import nn
from torch.nn import functional

from videopred.models.decoder import Decoder, UpsampleConv
from videopred.models.encoder import Encoder
from videopred.models.settings import CodecConfig

SMALL = CodecConfig(channels=(3, 5, 4), embedding=13)


@pytest.mark.parametrize(("height", "width"), [(1, 2), (3, 4), (6, 5)])
def test_folded_upsampling_is_doubling_then_convolution_borders_included(height, width):
    # TensorFlow's SAME for a 4×4 kernel: one pixel of padding before, two behind.
    torch.manual_seed(0)
    layer = UpsampleConv(3, 2).double()
    x = torch.randn(2, 3, height, width, dtype=torch.float64, requires_grad=True)
    doubled = functional.interpolate(x, scale_factor=2, mode="nearest")
    plain = functional.conv2d(functional.pad(doubled, (1, 2, 1, 2)), layer.weight, layer.bias)
    folded = layer(x)
    close(folded, plain)
    weights = torch.randn_like(plain)
    close(
        torch.autograd.grad((folded * weights).sum(), [x, *layer.parameters()]),
        torch.autograd.grad((plain * weights).sum(), [x, *layer.parameters()]),
    )


def test_encoder_and_decoder_have_r_nems_sizes():
    # R-NEM: convolutions of 16, 32 and 64 channels, 8×8 of them flattened to 4096, 512 units; and back.
    encoder, decoder = Encoder(CodecConfig(), (1, 64, 64)), Decoder(CodecConfig(), 250, (1, 64, 64))
    linear = [(m.in_features, m.out_features) for m in encoder.modules() if isinstance(m, nn.Linear)]
    assert linear == [(4096, 512)]
    linear = [(m.in_features, m.out_features) for m in decoder.modules() if isinstance(m, nn.Linear)]
    assert linear == [(250, 512), (512, 4096)]
    convolutions = [(m.in_channels, m.out_channels) for m in encoder.modules() if isinstance(m, nn.Conv2d)]
    assert convolutions == [(1, 16), (16, 32), (32, 64)]
    convolutions = [(m.in_channels, m.out_channels) for m in decoder.modules() if isinstance(m, UpsampleConv)]
    assert convolutions == [(64, 32), (32, 16), (16, 1)]


@pytest.mark.parametrize("channels", [1, 3])
def test_any_frame_that_halves_is_taken(channels):
    film_shape = (channels, 16, 24)
    encoder, decoder = Encoder(SMALL, film_shape), Decoder(SMALL, 14, film_shape)
    assert encoder(torch.zeros(6, *film_shape)).shape == (6, 1, 13)
    assert decoder(torch.zeros(6, 2, 7)).shape == (6, *film_shape)


def test_order_is_convolution_norm_activation_and_the_last_layer_is_bare():
    # R-NEM normalises before the activation, over all of channels, rows and columns (one group).
    encoder, decoder = Encoder(SMALL, (1, 16, 24)), Decoder(SMALL, 14, (1, 16, 24))
    halving, linear = [nn.Conv2d, nn.GroupNorm, nn.ELU], [nn.Linear, nn.LayerNorm]
    assert [type(layer) for layer in encoder.layers] == [*halving * 3, nn.Flatten, *linear, nn.ELU, nn.Unflatten]
    doubling = [UpsampleConv, nn.GroupNorm, nn.ReLU]
    expected = [nn.Flatten, *[*linear, nn.ReLU] * 2, nn.Unflatten, *doubling * 2, UpsampleConv]
    assert [type(layer) for layer in decoder.layers] == expected
    norms = [layer for layer in (*encoder.layers, *decoder.layers) if isinstance(layer, nn.GroupNorm)]
    assert all(norm.num_groups == 1 for norm in norms)


def test_weights_start_glorot_uniform_and_biases_at_zero():
    torch.manual_seed(0)
    encoder, decoder = Encoder(CodecConfig(), (1, 64, 64)), Decoder(CodecConfig(), 250, (1, 64, 64))
    layers = [layer for layer in (*encoder.layers, *decoder.layers) if isinstance(layer, nn.Conv2d | nn.Linear)]
    for layer in layers:
        fan_in, fan_out = nn.init._calculate_fan_in_and_fan_out(layer.weight)
        bound = (6 / (fan_in + fan_out)) ** 0.5
        assert 0.97 * bound < layer.weight.abs().max().item() <= bound
        assert not layer.bias.any()


def test_a_map_has_8_by_8_positions_of_64_pixels():
    assert Encoder(CodecConfig(), (1, 64, 64), "map")(torch.zeros(2, 1, 64, 64)).shape == (2, 64, 64 + 16)


@pytest.mark.parametrize(("positions", "width"), [("learned", 6), ("coord4", 4)])
def test_a_map_is_its_positions_row_by_row_each_with_its_key(positions, width):
    config = SMALL.model_copy(update={"positions": positions, "position_width": 6})
    encoder = Encoder(config, (3, 16, 32), "map")
    assert encoder.features == 4 + width
    film = torch.rand(5, 3, 16, 32, generator=torch.Generator().manual_seed(0))
    slots = encoder(film)
    assert slots.shape == (5, 2 * 4, 4 + width)
    close(slots[:, 5, :4], encoder.layers[:-1](film)[:, :, 1, 1])
    keys = slots[..., 4:]
    close(keys, keys[:1].expand_as(keys))
    assert len(keys[0].unique(dim=0)) == 8, "two positions share a key"
    if positions == "coord4":
        torch.testing.assert_close(keys[0, 5], torch.tensor([1 / 3, 2 / 3, 1, 0]))
        assert not [name for name, _ in encoder.named_parameters() if "keys" in name]


def test_a_position_sees_what_lies_there():
    # Without the norms, which look at the whole frame, only the pixels under and around a position count.
    encoder = Encoder(SMALL.model_copy(update={"channels": (3,)}), (1, 16, 24), "map").double()
    encoder.layers = nn.Sequential(*[layer for layer in encoder.layers if not isinstance(layer, nn.GroupNorm)])
    film = torch.rand(1, 1, 16, 24, dtype=torch.float64).requires_grad_()
    (gradient,) = torch.autograd.grad(encoder(film)[0, 3 * 12 + 7].sum(), film)
    rows, columns = gradient[0, 0].nonzero().unbind(1)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (5, 8, 13, 16)


@pytest.mark.parametrize(
    ("film_shape", "message"),
    [
        ((1, 36, 40), r"frame height must be a multiple of 8 for 3 halvings, got 36; generate frames of such a height"),
        ((1, 40, 36), r"frame width must be a multiple of 8 for 3 halvings, got 36; generate frames of such a width"),
    ],
)
def test_frames_that_do_not_halve_are_refused(film_shape, message):
    with pytest.raises(ValueError, match=message):
        Encoder(SMALL, film_shape)
    with pytest.raises(ValueError, match=message):
        Decoder(SMALL, 14, film_shape)
