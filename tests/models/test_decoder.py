"""Decoders: slow statements, what may and what may not depend on the order of the modules, and masks."""

from types import SimpleNamespace
from typing import Any

import known_bad
import pytest
import torch
from core_checks import close
from torch import Tensor, nn
from torch.nn import functional

from videopred.models import DECODERS, build_decoder
from videopred.models.codec_settings import FilesConfig, MasksConfig, MilaConfig, RNEMConfig, SharedConfig

FILM_SHAPE, UNITS = (3, 24, 40), 7
CODECS = {
    "rnem": RNEMConfig(channels=(3, 5), embedding=13),
    "mila": MilaConfig(channels=(3, 5, 4), embedding=13),
}
EACH = {"shared": SharedConfig(), "files": FilesConfig(queries=2), "masks": MasksConfig()}


def make(name: str, codec: str = "rnem", rows: int = 6) -> Any:
    torch.manual_seed(0)
    decoder = build_decoder(EACH[name], CODECS[codec], SimpleNamespace(rows=rows, units=UNITS), FILM_SHAPE)
    return decoder.double()


def outputs(rows: int = 6) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(4, rows, UNITS, dtype=torch.float64, generator=generator)


def test_every_decoder_is_tested():
    assert EACH.keys() == DECODERS.keys()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", EACH)
def test_a_frame_of_logits_and_the_trace_that_was_declared(name, codec):
    decoder = make(name, codec)
    logits, trace = decoder(outputs())
    assert logits.shape == (4, *FILM_SHAPE)
    assert trace == {}
    again, trace = decoder(outputs(), trace=True)
    close(again, logits)
    sizes = {"K": 6, "H": 24, "W": 40, "queries": 2}
    shapes = {key: (4, *(sizes[axis] for axis in axes.split())) for key, axes in decoder.trace_axes.items()}
    assert {key: tuple(value.shape) for key, value in trace.items()} == shapes


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", EACH)
def test_every_parameter_learns(name, codec):
    decoder = make(name, codec)
    logits, _ = decoder(outputs())
    (logits * torch.randn_like(logits)).sum().backward()
    assert [key for key, weight in decoder.named_parameters() if not weight.grad.any()] == []


@pytest.mark.parametrize("name", EACH)
def test_half_precision(name):
    decoder = make(name).float()
    expected, _ = decoder(outputs().float())
    with torch.autocast("cpu", torch.bfloat16):
        logits, _ = decoder(outputs().float())
    torch.testing.assert_close(logits.float(), expected, rtol=0.1, atol=0.1)
    assert make(name).bfloat16()(outputs().bfloat16())[0].dtype == torch.bfloat16


ORDER = torch.tensor([3, 0, 5, 1, 2, 4])


def the_frame_does_not_depend_on_the_order_of_the_modules(decoder: Any) -> None:
    logits, trace = decoder(outputs(), trace=True)
    permuted, permuted_trace = decoder(outputs()[:, ORDER], trace=True)
    close(permuted, logits)
    for name, axes in decoder.trace_axes.items():
        close(permuted_trace[name], trace[name].index_select(1 + axes.split().index("K"), ORDER))


@pytest.mark.parametrize("name", ["files", "masks"])
def test_the_frame_does_not_depend_on_the_order_of_the_modules(name):
    the_frame_does_not_depend_on_the_order_of_the_modules(make(name))


@pytest.mark.parametrize(("name", "broken"), [("files", known_bad.FilesByPlace), ("masks", known_bad.MasksByPlace)])
def test_check_fails_on_a_broken_decoder(name, broken):
    decoder = make(name)
    decoder.__class__ = broken
    with pytest.raises(AssertionError):
        the_frame_does_not_depend_on_the_order_of_the_modules(decoder)


def test_the_order_of_the_modules_shows_in_the_frame_of_the_shared_decoder():
    decoder = make("shared")
    assert (decoder(outputs()[:, ORDER])[0] - decoder(outputs())[0]).abs().max() > 0.01


@pytest.mark.parametrize("name", ["files", "masks"])
def test_weights_do_not_depend_on_the_number_of_modules(name):
    fewer, more = make(name, rows=4), make(name, rows=8)
    more.load_state_dict(fewer.state_dict())
    assert more(outputs(8))[0].shape == (4, *FILM_SHAPE)
    close(more(outputs(8)[:, :4])[0], fewer(outputs(8)[:, :4])[0])


def test_files_equals_a_slow_statement():
    decoder = make("files")
    nn.init.normal_(decoder.keys_values.weight)
    first, _, second = decoder.each
    key, value = decoder.keys_values.weight.split(UNITS)
    given = outputs()
    for n in range(4):
        heard, attention = [], []
        for query in decoder.queries:
            files = [second(first(h).clamp(min=0)) for h in given[n]]
            weights = torch.stack([query @ (key @ f) / UNITS**0.5 for f in files]).exp()
            attention.append(weights / weights.sum())
            heard.append(sum(a * (value @ f) for a, f in zip(attention[-1], files, strict=True)))
        logits, trace = decoder(given, trace=True)
        close(logits[n], decoder.layers(torch.stack(heard)[None])[0])
        close(trace["readout_attention"][n], torch.stack(attention))


@pytest.mark.parametrize("codec", CODECS)
def test_masks_equals_a_slow_statement(codec):
    decoder = make("masks", codec)
    given = outputs()
    rows, columns = (6, 10) if codec == "rnem" else (3, 5)
    painted = []
    for h in given[2]:
        start = torch.empty(1, decoder.inward.out_features, rows, columns, dtype=torch.float64)
        for i in range(rows):
            for j in range(columns):
                x, y = j / (columns - 1), i / (rows - 1)
                place = torch.tensor([x, 1 - x, y, 1 - y], dtype=torch.float64)
                start[0, :, i, j] = decoder.inward(h) + decoder.place.weight @ place
        painted.append(decoder.layers(start)[0])
    colors, masks = torch.stack(painted).split([3, 1], 1)
    masks = torch.softmax(masks, 0)
    logits, trace = decoder(given, trace=True)
    torch.testing.assert_close(trace["masks"][2], masks.squeeze(1), rtol=1e-5, atol=1e-6)  # coordinates are float32
    frame = (masks * torch.sigmoid(colors)).sum(0)
    torch.testing.assert_close(torch.sigmoid(logits[2]), frame, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", EACH)
def test_the_number_of_pictures_is_what_is_painted_for_a_frame(name):
    assert make(name, rows=6).pictures == (6 if name == "masks" else 1)


def test_masks_grow_from_a_normalised_map_without_negative_values_and_keep_no_coordinates():
    decoder, seen = make("masks"), []
    decoder.layers[2].register_forward_pre_hook(lambda layer, given: seen.append(given[0]))
    decoder(outputs())
    start = decoder.inward(outputs().flatten(0, 1))[:, :, None, None] + decoder.place(decoder.coordinates).permute(
        2, 0, 1
    )
    close(seen[0], functional.layer_norm(start, start.shape[1:]).clamp(min=0))
    assert "coordinates" not in decoder.state_dict()
    assert decoder.inward.bias is not None


def test_queries_of_files_differ_from_the_start():
    assert len(make("files").queries.unique(dim=0)) == 2


def test_maps_of_files_start_glorot_uniform_and_biases_at_zero():
    decoder = make("files")
    for layer in (decoder.each[0], decoder.each[2], decoder.keys_values):
        bound = (6 / sum(layer.weight.shape)) ** 0.5
        assert 0.9 * bound < layer.weight.abs().max() <= bound
        assert layer.bias is None or not layer.bias.any()


def test_masks_share_every_pixel_out_and_one_module_has_it_all():
    masks = make("masks")(outputs(), trace=True)[1]["masks"]
    close(masks.sum(1), torch.ones(4, 24, 40, dtype=torch.float64))
    assert masks.min() >= 0
    assert (masks.std(1) > 0).all()
    alone = make("masks", rows=1)
    logits, trace = alone(outputs(1), trace=True)
    close(trace["masks"], torch.ones(4, 1, 24, 40, dtype=torch.float64))
    start = alone.inward(outputs(1)[:, 0])[:, :, None, None] + alone.place(alone.coordinates).permute(2, 0, 1)
    close(logits, alone.layers(start)[:, :-1])


def test_logits_of_masks_stay_finite_where_probabilities_are_0_or_1():
    decoder = make("masks").float()
    nn.init.constant_(decoder.layers[-1].bias, 0)
    with torch.no_grad():
        decoder.layers[-1].bias[:3] = torch.tensor([500.0, -500.0, 0])
    given = outputs().float().requires_grad_()
    logits, _ = decoder(given)
    assert logits.isfinite().all()
    assert (logits[:, 0] > 400).all()
    assert (logits[:, 1] < -400).all()
    logits.sum().backward()
    assert given.grad.isfinite().all()
