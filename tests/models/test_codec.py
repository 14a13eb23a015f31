"""Codecs: their sizes layer by layer, slow statements, parameter counts, positions, and what they refuse."""

import copy
from contextlib import suppress
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from core_checks import close
from torch import Tensor, nn
from torch.nn import functional

from videopred.models import CODECS, build_codec
from videopred.models.codec_settings import MilaConfig, RNEMConfig, SharedConfig
from videopred.models.columns import by_columns
from videopred.models.core_settings import CoreSettings
from videopred.models.decoder import SharedDecoder
from videopred.models.elu import ELU
from videopred.models.encoder import Encoder, build_encoder
from videopred.models.modular_settings import RIMsConfig
from videopred.models.rnem import UpsampleConv, folded_once

SMALL = RNEMConfig(channels=(3, 5, 4), embedding=13)
SMALL_MILA = MilaConfig(channels=(3, 5, 4), embedding=13)
EACH = {"rnem": SMALL, "mila": SMALL_MILA}


def decoding(config: Any, features: int, film_shape: tuple[int, int, int]) -> SharedDecoder:
    return SharedDecoder(
        SharedConfig(), build_codec(config, film_shape), SimpleNamespace(rows=2, units=features // 2), film_shape
    )


def encoding(config: Any, film_shape: tuple[int, int, int], reads: str = "vector") -> Encoder:
    return Encoder(build_codec(config, film_shape), config if reads == "map" else None)


def sizes(layers: nn.Module, inputs: Tensor) -> list[tuple[int, ...]]:
    """The shape behind each layer, without the first axis."""
    shapes = []
    for layer in layers:
        inputs = layer(inputs)
        shapes.append(tuple(inputs.shape[1:]))
    return shapes


def count(module: nn.Module) -> int:
    return sum(weight.numel() for weight in module.parameters())


def test_every_codec_is_tested():
    assert EACH.keys() == CODECS.keys()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("config", EACH.values(), ids=EACH)
def test_any_frame_that_fits_is_taken(config, channels):
    film_shape = (channels, 24, 40)
    encoder, decoder = encoding(config, film_shape), decoding(config, 14, film_shape)
    assert encoder(torch.zeros(6, *film_shape)).shape == (6, 1, 13)
    logits, trace = decoder(torch.zeros(6, 2, 7))
    assert logits.shape == (6, *film_shape)
    assert trace == {}


@pytest.mark.parametrize("config", EACH.values(), ids=EACH)
def test_parts_have_the_shapes_that_they_say(config):
    codec = build_codec(config, (3, 24, 40))
    maps = nn.Sequential(*codec.shrink())(torch.zeros(2, 3, 24, 40))
    assert maps.shape[1:] == codec.shrunk_shape
    assert nn.Sequential(*codec.embed())(maps).shape == (2, 13)
    start = nn.Sequential(*codec.expand(7))(torch.zeros(2, 7))
    assert start.shape[1:] == codec.start_shape
    assert nn.Sequential(*codec.grow(6))(start).shape == (2, 6, 24, 40)


# --- R-NEM -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("height", "width"), [(1, 2), (3, 4), (6, 5)])
def test_folded_upsampling_is_doubling_then_convolution_borders_included(height, width):
    # TensorFlow's SAME for a 4×4 kernel: one pixel of padding before, two behind.
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


def test_kernels_stay_folded_within_a_context_alone_even_if_it_fails():
    layer, x = UpsampleConv(3, 2), torch.randn(2, 3, 5, 4)
    with torch.no_grad(), suppress(KeyError), folded_once(nn.Sequential(nn.ReLU(), layer)):
        first = layer(x)
        layer.weight += 1
        assert torch.equal(layer(x), first)
        raise KeyError
    assert not torch.allclose(layer(x), first)
    layer(x).sum().backward()
    assert layer.weight.grad is not None


def test_r_nem_has_its_sizes():
    # R-NEM: convolutions of 16, 32 and 64 channels, 8×8 of them flattened to 4096, 512 units; and back.
    encoder, decoder = encoding(RNEMConfig(), (1, 64, 64)), decoding(RNEMConfig(), 250, (1, 64, 64))
    maps = [shape for shape in sizes(encoder.layers, torch.zeros(1, 1, 64, 64)) if len(shape) == 3]
    assert list(dict.fromkeys(maps)) == [(16, 32, 32), (32, 16, 16), (64, 8, 8)]
    linear = [(m.in_features, m.out_features) for m in encoder.modules() if isinstance(m, nn.Linear)]
    assert linear == [(4096, 512)]
    linear = [(m.in_features, m.out_features) for m in decoder.modules() if isinstance(m, nn.Linear)]
    assert linear == [(250, 512), (512, 4096)]
    maps = [shape for shape in sizes(decoder.layers, torch.zeros(1, 250)) if len(shape) == 3]
    assert list(dict.fromkeys(maps)) == [(64, 8, 8), (32, 16, 16), (16, 32, 32), (1, 64, 64)]


def test_r_nem_has_as_many_parameters_as_its_formula():
    film_shape, features, embedding = (3, 16, 24), 14, 13
    positions = 2 * 3
    encoder = sum(16 * i * o + o + 2 * o for i, o in ((3, 3), (3, 5), (5, 4)))
    encoder += 4 * positions * embedding + embedding + 2 * embedding
    decoder = features * embedding + 3 * embedding + embedding * 4 * positions + 3 * 4 * positions
    decoder += sum(16 * i * o + o + 2 * o for i, o in ((4, 5), (5, 3))) + 16 * 3 * 3 + 3
    assert count(encoding(SMALL, film_shape)) == encoder
    assert count(decoding(SMALL, features, film_shape)) == decoder
    assert count(encoding(SMALL, film_shape, "map")) == encoder - (4 * positions + 3) * embedding + positions * 16


def test_r_nem_normalises_before_the_activation_and_its_last_layer_is_bare():
    # Over all of channels, rows and columns: one group.
    encoder, decoder = encoding(SMALL, (1, 16, 24)), decoding(SMALL, 14, (1, 16, 24))
    halving, linear = [nn.Conv2d, nn.GroupNorm, ELU], [nn.Linear, nn.LayerNorm]
    assert [type(layer) for layer in encoder.layers] == [*halving * 3, nn.Flatten, *linear, ELU, nn.Unflatten]
    doubling = [UpsampleConv, nn.GroupNorm, nn.ReLU]
    expected = [nn.Flatten, *[*linear, nn.ReLU] * 2, nn.Unflatten, *doubling * 2, UpsampleConv]
    assert [type(layer) for layer in decoder.layers] == expected
    norms = [layer for layer in (*encoder.layers, *decoder.layers) if isinstance(layer, nn.GroupNorm)]
    assert all(norm.num_groups == 1 for norm in norms)


@pytest.mark.parametrize("config", EACH.values(), ids=EACH)
def test_linear_weights_lie_by_columns_also_when_copied_and_loaded(config):
    codec = nn.ModuleList([encoding(config, (1, 24, 40)), decoding(config, 14, (1, 24, 40))])
    loaded = copy.deepcopy(codec)
    loaded.load_state_dict({name: weight.contiguous() for name, weight in codec.state_dict().items()})
    linear = [layer for one in (codec, loaded) for layer in one.modules() if isinstance(layer, nn.Linear)]
    assert len(linear) == 2 * (3 if config is SMALL else 2)
    assert all(layer.weight.T.is_contiguous() and not layer.weight.is_contiguous() for layer in linear)


def test_maps_lie_channels_last_also_where_a_codec_was_copied_and_loaded():
    codec = nn.ModuleList([encoding(SMALL, (1, 24, 40)), decoding(SMALL, 14, (1, 24, 40))])
    loaded = copy.deepcopy(codec)
    loaded.load_state_dict({name: weight.contiguous() for name, weight in codec.state_dict().items()})
    for encoder, decoder in (codec, loaded):
        for maps in (encoder.layers[:9](torch.rand(2, 1, 24, 40)), decoder.layers[:-1](torch.rand(2, 2, 7))):
            assert maps.is_contiguous(memory_format=torch.channels_last)
            assert not maps.is_contiguous()


def test_laying_weights_by_columns_changes_no_number():
    layer = nn.Linear(3, 5, dtype=torch.float64)
    before, vectors = layer.weight.detach().clone(), torch.randn(2, 3, dtype=torch.float64)
    said = layer(vectors)
    assert by_columns(layer) is layer
    assert torch.equal(layer.weight, before)
    close(layer(vectors), said)


def test_r_nems_weights_start_glorot_uniform_and_biases_at_zero():
    encoder, decoder = encoding(RNEMConfig(), (1, 64, 64)), decoding(RNEMConfig(), 250, (1, 64, 64))
    layers = [layer for layer in (*encoder.layers, *decoder.layers) if isinstance(layer, nn.Conv2d | nn.Linear)]
    assert len(layers) == 9
    for layer in layers:
        fan_in, fan_out = nn.init._calculate_fan_in_and_fan_out(layer.weight)
        bound = (6 / (fan_in + fan_out)) ** 0.5
        assert 0.97 * bound < layer.weight.abs().max().item() <= bound
        assert not layer.bias.any()


# --- mila --------------------------------------------------------------------------------------------------


def test_mila_has_its_sizes():
    # The authors' code: 64 -> 31 -> 14 -> 6 pixels, 2304 numbers, and back by 8-16-20-17-34-36-33-66-64.
    encoder, decoder = encoding(MilaConfig(), (1, 64, 64)), decoding(MilaConfig(), 600, (1, 64, 64))
    shapes = sizes(encoder.layers, torch.zeros(1, 1, 64, 64))
    assert list(dict.fromkeys(shapes)) == [(16, 31, 31), (32, 14, 14), (64, 6, 6), (2304,), (600,), (1, 600)]
    shapes = sizes(decoder.layers, torch.zeros(1, 600))
    assert list(dict.fromkeys(shapes))[:2] == [(600,), (4096,)]
    maps = list(dict.fromkeys(shape for shape in shapes if len(shape) == 3))
    assert [rows for _, rows, columns in maps if rows == columns] == [8, 16, 20, 17, 34, 36, 33, 66, 64]
    assert [shape for shape in maps if shape[1] in (17, 33, 64)] == [(32, 17, 17), (16, 33, 33), (1, 64, 64)]


def norm(values: Tensor) -> Tensor:
    """Each entry of the first axis with mean 0 and variance 1."""
    axes = tuple(range(1, values.dim()))
    centred = values - values.mean(axes, keepdim=True)
    return centred / (centred.square().mean(axes, keepdim=True) + 1e-5).sqrt()


def test_mila_equals_a_slow_statement():
    film_shape = (3, 24, 40)
    encoder = encoding(SMALL_MILA, film_shape).double()
    decoder = decoding(SMALL_MILA, 14, film_shape).double()
    film = torch.rand(2, *film_shape, dtype=torch.float64)
    vector = torch.randn(2, 2, 7, dtype=torch.float64)

    *convolutions, linear = [layer for layer in encoder.layers if isinstance(layer, nn.Conv2d | nn.Linear)]
    x = film
    for layer in convolutions:
        x = norm(functional.elu(functional.conv2d(x, layer.weight, layer.bias, stride=2)))
    x = norm(functional.elu(x.flatten(1) @ linear.weight.T + linear.bias))
    close(encoder(film), x[:, None])

    linear, *convolutions = [layer for layer in decoder.layers if isinstance(layer, nn.Conv2d | nn.Linear)]
    x = norm(1 / (1 + (-vector.flatten(1)).exp()))
    x = norm((x @ linear.weight.T + linear.bias).clamp(min=0)).view(2, 4, 3, 5)
    for layer, border in zip(convolutions, (2, 1, 0), strict=True):
        x = functional.interpolate(x, scale_factor=2, mode="bilinear")
        x = functional.pad(x, (border,) * 4, mode="replicate")
        x = functional.conv2d(x, layer.weight, layer.bias)
        x = norm(x.clamp(min=0)) if border else x
    close(decoder(vector)[0], x)


def test_mila_has_as_many_parameters_as_its_formula():
    film_shape, features, embedding = (3, 24, 40), 14, 13
    encoder = sum(16 * i * o + o for i, o in ((3, 3), (3, 5), (5, 4))) + 4 * 1 * 3 * embedding + embedding
    start = 4 * 3 * 5
    decoder = features * start + start + 16 * 4 * 5 + 5 + 16 * 5 * 3 + 3 + 9 * 3 * 3 + 3
    assert count(encoding(SMALL_MILA, film_shape)) == encoder
    assert count(decoding(SMALL_MILA, features, film_shape)) == decoder


# --- positions ---------------------------------------------------------------------------------------------


def test_a_map_has_8_by_8_positions_of_64_pixels():
    assert encoding(RNEMConfig(), (1, 64, 64), "map")(torch.zeros(2, 1, 64, 64)).shape == (2, 64, 64 + 16)


@pytest.mark.parametrize(
    ("positions", "width"), [({"positions": "learned", "position_width": 6}, 6), ({"positions": "coord4"}, 4)], ids=str
)
def test_a_map_is_its_positions_row_by_row_each_with_its_key(positions, width):
    config = SMALL.model_copy(update=positions)
    encoder = encoding(config, (3, 16, 32), "map")
    assert encoder.features == 4 + width
    assert encoder.map_shape == (2, 4)
    assert encoding(config, (3, 16, 32)).map_shape is None
    film = torch.rand(5, 3, 16, 32, generator=torch.Generator().manual_seed(0))
    slots = encoder(film)
    assert slots.shape == (5, 2 * 4, 4 + width)
    close(slots[:, 5, :4], encoder.layers[:-1](film)[:, :, 1, 1])
    keys = slots[..., 4:]
    close(keys, keys[:1].expand_as(keys))
    assert len(keys[0].unique(dim=0)) == 8, "two positions share a key"
    if positions == {"positions": "coord4"}:
        torch.testing.assert_close(keys[0, 5], torch.tensor([1 / 3, 2 / 3, 1, 0]))
        torch.testing.assert_close(keys[0, 0], torch.tensor([0.0, 1, 0, 1]))
        assert not [name for name in encoder.state_dict() if "keys" in name], "what has nothing to learn is kept"
        assert not [name for name, _ in encoder.named_parameters() if "keys" in name]


@pytest.mark.parametrize("positions", ["learned", "coord4"])
def test_an_added_key_is_one_of_each_position_and_of_nothing_else(positions):
    config = SMALL.model_copy(update={"channels": (3, 5, 6), "positions": positions, "position_op": "add"})
    encoder = encoding(config, (3, 16, 32), "map")
    film = torch.rand(5, 3, 16, 32, generator=torch.Generator().manual_seed(0))
    slots, channels = encoder(film), encoder.layers[:-1](film).flatten(2).transpose(1, 2)
    assert slots.shape == (5, 2 * 4, encoder.features) == (5, 2 * 4, 6)
    keys = slots - channels
    torch.testing.assert_close(keys, keys[:1].expand_as(keys))
    assert torch.pdist(keys[0]).min() > 1e-3, "two positions share a key"
    if positions == "coord4":  # a linear map of the coordinates: even steps along rows and columns
        steps = keys[0].view(2, 4, 6).diff(dim=1)
        torch.testing.assert_close(steps, steps[:1, :1].expand_as(steps))


@pytest.mark.parametrize("change", [{"positions": "coord4"}, {"position_op": "add"}])
def test_a_width_that_nothing_has_is_refused(change):
    assert RNEMConfig(position_width=3).position_width == 3
    with pytest.raises(ValueError, match=r"position-width must come with --codec\.positions learned and"):
        RNEMConfig(position_width=3, **change)


@pytest.mark.parametrize("op", ["cat", "add"])
@pytest.mark.parametrize("positions", ["learned", "coord4"])
def test_keys_take_the_precision_of_the_map(positions, op):
    encoder = encoding(SMALL.model_copy(update={"positions": positions, "position_op": op}), (3, 16, 32), "map")
    with torch.autocast("cpu", torch.bfloat16):
        film = torch.rand(2, 3, 16, 32)
        assert encoder(film).dtype == encoder.layers[:-1](film).dtype


def test_a_folded_convolution_keeps_the_weights_of_the_plain_one_alone():
    assert list(UpsampleConv(2, 3).state_dict()) == ["weight", "bias"]


def test_a_position_sees_what_lies_there():
    # Without the norms, which look at the whole frame, only the pixels under and around a position count.
    encoder = encoding(SMALL.model_copy(update={"channels": (3,)}), (1, 16, 24), "map").double()
    encoder.layers = nn.Sequential(*[layer for layer in encoder.layers if not isinstance(layer, nn.GroupNorm)])
    film = torch.rand(1, 1, 16, 24, dtype=torch.float64).requires_grad_()
    (gradient,) = torch.autograd.grad(encoder(film)[0, 3 * 12 + 7].sum(), film)
    rows, columns = gradient[0, 0].nonzero().unbind(1)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (5, 8, 13, 16)


@pytest.mark.parametrize(
    ("config", "film_shape", "message"),
    [
        (
            SMALL,
            (1, 36, 40),
            "frame height must be a multiple of 8 for 3 halvings, got 36; generate frames of such a",
        ),
        (
            SMALL,
            (1, 40, 36),
            "frame width must be a multiple of 8 for 3 halvings, got 36; generate frames of such a",
        ),
        (
            SMALL_MILA,
            (1, 36, 40),
            "frame height must be a multiple of 8 from 24 on for --codec mila, got 36; generat",
        ),
        (
            SMALL_MILA,
            (1, 40, 16),
            "frame width must be a multiple of 8 from 24 on for --codec mila, got 16; generate",
        ),
    ],
)
def test_frames_that_do_not_fit_are_refused(config, film_shape, message):
    with pytest.raises(ValueError, match=message):
        encoding(config, film_shape)
    with pytest.raises(ValueError, match=message):
        decoding(config, 14, film_shape)


# --- strips ------------------------------------------------------------------------------------------------


def test_strips_share_out_the_rows_and_each_is_seen_through_an_encoder_of_its_own():
    film = torch.rand(2, 3, 16, 24, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    encoder = build_encoder(SMALL, (3, 16, 24), RIMsConfig(modules=5, active=2, reads="strips")).double()
    assert encoder.strips == [(0, 3), (3, 6), (6, 10), (10, 13), (13, 16)]
    slots = encoder(film)
    assert slots.shape == (2, 5, encoder.features) == (2, 5, 13)
    for strip, (first, end) in enumerate(encoder.strips):
        (gradient,) = torch.autograd.grad(slots[:, strip].sum(), film, retain_graph=True)
        seen = gradient.abs().amax((0, 1, 3)).nonzero().flatten()  # rows
        assert (seen.min(), seen.max() + 1) == (first, end)
        alone = torch.zeros_like(film)
        alone[:, :, first:end] = film[:, :, first:end]
        close(slots[:, strip], encoder.encoders[strip](alone)[:, 0])
    weights = [one.state_dict() for one in encoder.encoders]
    assert all(not torch.equal(a["layers.0.weight"], b["layers.0.weight"]) for a, b in pairwise(weights))


def test_any_core_may_read_strips():
    class Striped(CoreSettings):
        reads: str = "strips"
        modules: int = 3

    assert build_encoder(SMALL, (1, 16, 24), Striped()).strips == [(0, 5), (5, 11), (11, 16)]


def test_strips_without_a_row_are_refused():
    with pytest.raises(ValueError, match=r"--core\.modules must be at most 8, the rows of a frame, .* got 9; lower it"):
        build_encoder(SMALL, (1, 8, 24), RIMsConfig(modules=9, active=2, reads="strips"))


@pytest.mark.parametrize("how", [{}, {"position_op": "add"}])
def test_learned_keys_start_from_a_unit_normal_distribution(how):
    keys = encoding(RNEMConfig(**how), (1, 96, 128), "map").layers[-1].keys.detach()
    assert keys.mean().abs() < 0.06
    assert (keys.std() - 1).abs() < 0.06
