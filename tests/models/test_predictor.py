"""The predictor: what each prediction may depend on, blocks, and what it refuses."""

import pickle
import re
from typing import Any

import numpy as np
import pytest
import torch
from core_checks import SMALL, close

from videopred.models import CODECS, CORES, DECODERS, build, predictor
from videopred.models.codec_settings import MasksConfig, RNEMConfig
from videopred.models.settings import PredictorConfig
from videopred.rollout import roll_out

FILM_SHAPE = (1, 8, 12)


def make(name: str = "rims", **parts: Any) -> predictor.Predictor:
    torch.manual_seed(0)
    config = PredictorConfig(core=SMALL[name], codec=RNEMConfig(channels=(3, 5), embedding=7), **parts)
    return build(config, FILM_SHAPE).double().eval()


def film(batch: int = 2, frames: int = 5) -> torch.Tensor:
    return torch.rand(batch, frames, *FILM_SHAPE, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", CORES)
def test_a_prediction_depends_on_the_frames_up_to_it_and_no_others(name):
    seen = film().requires_grad_()
    logits = make(name)(seen).logits
    assert logits.shape == seen.shape
    (gradient,) = torch.autograd.grad(logits[0, 2].sum(), seen)
    assert gradient[0, :3].flatten(1).any(1).all()
    assert not gradient[0, 3:].any()
    assert not gradient[1].any()


@pytest.mark.parametrize("name", CORES)
def test_going_on_from_a_state_is_one_run(name):
    model, seen = make(name), film()
    first = model(seen[:, :2])
    second = model(seen[:, 2:], first.state)
    whole = model(seen)
    close(torch.cat([first.logits, second.logits], 1), whole.logits)
    close(second.state, whole.state)


def test_a_core_that_reads_maps_gets_the_positions(monkeypatch):
    seen = []
    monkeypatch.setattr(predictor, "unroll", lambda core, slots, *_, **__: seen.append(slots.shape) or 1 / 0)
    for reads, expected in (("vector", (2, 5, 1, 7)), ("map", (2, 5, 2 * 3, 5 + 16))):
        core = SMALL["rims"].model_copy(update={"reads": reads})
        config = PredictorConfig(core=core, codec=RNEMConfig(channels=(3, 5), embedding=7))
        with pytest.raises(ZeroDivisionError):
            build(config, FILM_SHAPE)(film().float())
        assert seen.pop() == expected


@pytest.mark.parametrize("decoder", DECODERS)
def test_blocks_change_nothing(monkeypatch, decoder):
    model = make(decoder=DECODERS[decoder][0]())
    whole = model(film(), trace=True)
    monkeypatch.setattr(predictor, "_BLOCK", 3)
    in_blocks = model(film(), trace=True)
    close(in_blocks.logits, whole.logits)
    close(in_blocks.trace, whole.trace)


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("reads", ["vector", "map", "strips"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_what_is_built_on_the_meta_device_is_filled_by_a_state_dict_alone(decoder, reads, assign):
    core = SMALL["rims"].model_copy(update={"reads": reads})
    keys = {"positions": "coord4", "position_op": "add"} if reads == "map" else {}
    codec = RNEMConfig(channels=(3, 5), embedding=7, **keys)
    config = PredictorConfig(core=core, codec=codec, decoder=DECODERS[decoder][0]())
    model = build(config, FILM_SHAPE).eval()
    with torch.device("meta"):
        other = build(config, FILM_SHAPE).eval()
    if not assign:
        other.to_empty(device="cpu")
        for buffer in other.buffers():
            buffer.fill_(7)  # memory that nothing was written into may happen to be right
    other.load_state_dict(pickle.loads(pickle.dumps(model)).state_dict(), assign=assign)
    close(other(film().float()).logits, model(film().float()).logits)


@pytest.mark.parametrize("decoder", DECODERS)
def test_constants_are_filled_where_they_are(decoder):
    """So that a recorded graph reads them, and one that was loaded where nothing is learned learns afterwards."""
    model = make(decoder=DECODERS[decoder][0]()).train()
    places = [buffer.data_ptr() for buffer in model.buffers()]
    with torch.inference_mode():
        model.load_state_dict(model.state_dict())
    assert [buffer.data_ptr() for buffer in model.buffers()] == places
    model(film()).logits.sum().backward()
    with torch.device("meta"):
        other = make(decoder=DECODERS[decoder][0]())
        other.load_state_dict(model.state_dict(), assign=True)
    close(other.eval()(film()).logits, model.eval()(film()).logits)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", CORES)
def test_a_rollout_runs_with_any_core_codec_and_decoder(name, codec, decoder):
    sizes = {"rnem": {"channels": (3, 5)}, "mila": {"channels": (2, 3, 4)}}[codec]
    parts = CODECS[codec][0](embedding=7, **sizes), DECODERS[decoder][0]()
    config = PredictorConfig(core=SMALL[name], codec=parts[0], decoder=parts[1])
    model = build(config, (3, 24, 32))
    done = roll_out(model, torch.rand(2, 3, 3, 24, 32), 2, trace=True)
    assert done.prediction.shape == (2, 2, 3, 24, 32)
    assert done.prediction.isfinite().all()
    assert done.trace.keys() == {"states", *model.core.trace_axes, *model.decoder.trace_axes}
    assert all(value.shape[:2] == (2, 4) for value in done.trace.values())
    if decoder == "masks":
        assert done.trace["masks"].shape == (2, 4, model.core.rows, 24, 32)


@pytest.mark.parametrize("name", CORES)
def test_the_decoder_is_the_cores_own_unless_chosen(name):
    own = PredictorConfig(core=SMALL[name])
    assert type(own.decoder) is CORES[name][0].own_decoder
    assert PredictorConfig(core=SMALL[name], decoder=MasksConfig()).decoder == MasksConfig()


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_trace_keeps_no_graph(decoder):
    done = make(decoder=DECODERS[decoder][0]())(film(), trace=True)
    assert done.logits.requires_grad
    assert not [name for name, value in done.trace.items() if value.requires_grad]


def test_a_decoder_gets_as_many_frames_at_once_as_make_a_block_of_its_pictures(monkeypatch):
    model, seen = make(decoder=MasksConfig()), []
    model.decoder.register_forward_pre_hook(lambda _, outputs: seen.append(len(outputs[0])))
    monkeypatch.setattr(predictor, "_BLOCK", 3 * model.core.rows + 1)
    model(film())
    assert seen == [3, 3, 3, 1]


def test_on_a_gpu_the_larger_frames_are_the_fewer_make_a_block():
    """As many pixels as 4096 frames of 64 x 64 have."""
    config, gpu = make().config, torch.device("cuda")
    assert build(config, (1, 32, 64)).block_on(gpu) == 2 * 4096
    assert build(config, (1, 64, 128)).block_on(gpu, 3) == 4096 // 2 // 3


@pytest.mark.parametrize("name", [name for name in CORES if make(name).core.trace_axes])
def test_a_penalty_on_what_modules_did_reaches_the_weights_that_led_to_it(name):
    """As a loop of one's own may want it; the numbers are those of any trace."""
    model = make(name).train()
    torch.manual_seed(2)
    cut = model.observe(film(), trace=True).trace
    torch.manual_seed(2)
    trace = model.observe(film(), trace=True, detach=False).trace
    close(trace, cut)
    assert not [key for key, value in cut.items() if value.requires_grad]
    for key, value in trace.items():
        if value.is_floating_point():
            (gradient,) = torch.autograd.grad((value**2).sum(), [model.encoder.layers[0].weight], retain_graph=True)
            assert gradient.any(), key


def test_trace_is_kept_when_asked_for():
    assert make()(film()).trace == {}
    assert make()(film(), trace=True).trace["active"].shape == (2, 5, SMALL["rims"].modules)


@pytest.mark.parametrize("shape", [(2, 5, 1, 12, 8), (2, 5, 3, 8, 12), (5, 1, 8, 12)])
def test_other_films_are_refused(shape):
    with pytest.raises(ValueError, match=r"film must be \(B, T, 1, 8, 12\), got "):
        make()(torch.zeros(shape, dtype=torch.float64))


def test_the_shape_of_films_is_of_three_numbers():
    for wrong in ((24, 32), (1, 64.0, 64), (0, 64, 64), "164", None):
        must = r"^film_shape must be \(channels, height, width\), whole numbers of at least 1, got"
        with pytest.raises(ValueError, match=rf"{must} {re.escape(str(wrong))}; give e\.g\."):
            build(PredictorConfig(), wrong)  # type: ignore[arg-type]


def test_films_of_whole_numbers_are_refused():
    channels_last = (2, 5, *FILM_SHAPE[1:], FILM_SHAPE[0])  # as frames are stored
    for shape in ((2, 5, *FILM_SHAPE), channels_last):
        with pytest.raises(
            TypeError, match=r"film must hold floating point numbers in \[0, 1\], got torch.uint8; make"
        ):
            make()(torch.zeros(shape, dtype=torch.uint8))


def test_a_state_of_other_clips_is_refused():
    model = make()
    with pytest.raises(ValueError, match="state must be of 3 clips, as the slots are, got 2"):
        model(film(3), model(film(2)).state)


def test_nan_in_a_film_is_found_when_debugging(monkeypatch):
    monkeypatch.setenv("VIDEOPRED_DEBUG", "1")
    broken = film()
    broken[1, 3, 0, 7, 11] = float("nan")
    with pytest.raises(ValueError, match="slots must be finite, got nan in clip 1 at step 3"):
        make()(broken)


def test_settings_survive_json():
    for name in CORES:
        config = PredictorConfig(core=SMALL[name], codec=RNEMConfig(channels=(3, 5)))
        assert PredictorConfig.model_validate_json(config.model_dump_json()) == config


def test_a_shape_may_be_any_sequence_of_whole_numbers():
    config = PredictorConfig(core=SMALL["gru"], codec=RNEMConfig(channels=(3, 5), embedding=7))
    for shape in (list(FILM_SHAPE), tuple(np.array(FILM_SHAPE))):
        assert build(config, shape)(film().float()).logits.shape == film().shape


def test_films_that_are_empty_or_of_another_precision_are_refused():
    model = make(stack=3)
    for empty in (film()[:, :0], film()[:0]):
        message = re.escape(f"film must hold a frame, got {tuple(empty.shape)}; give B and T of at least 1")
        with pytest.raises(ValueError, match=message):
            model(empty)
    for kind, fix in ((torch.float32, "convert the model with .float(), or"), (torch.half, "convert it with .to()")):
        message = re.escape(f"film must be torch.float64, as the model's weights are, got {kind}; {fix}")
        with pytest.raises(TypeError, match=message):
            model(film().to(kind))


def test_under_autocast_films_may_be_of_its_precision():
    model, given = make().float(), film().bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(model(given).logits, model(given.float()).logits)
