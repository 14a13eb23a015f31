"""The predictor: what each prediction may depend on, blocks, and what it refuses."""

import pytest
import torch
from core_checks import SMALL, close

from videopred.models import CORES, build, predictor
from videopred.models.settings import CodecConfig, PredictorConfig

FILM_SHAPE = (1, 8, 12)


def make(name: str = "rims") -> predictor.Predictor:
    torch.manual_seed(0)
    config = PredictorConfig(core=SMALL[name], codec=CodecConfig(channels=(3, 5), embedding=7))
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
        config = PredictorConfig(core=core, codec=CodecConfig(channels=(3, 5), embedding=7))
        with pytest.raises(ZeroDivisionError):
            build(config, FILM_SHAPE)(film().float())
        assert seen.pop() == expected


def test_blocks_change_nothing(monkeypatch):
    model = make()
    whole = model(film()).logits
    monkeypatch.setattr(predictor, "_BLOCK", 3)
    close(model(film()).logits, whole)


def test_trace_is_kept_when_asked_for():
    assert make()(film()).trace == {}
    assert make()(film(), trace=True).trace["active"].shape == (2, 5, SMALL["rims"].modules)


@pytest.mark.parametrize("shape", [(2, 5, 1, 12, 8), (2, 5, 3, 8, 12), (5, 1, 8, 12)])
def test_other_films_are_refused(shape):
    with pytest.raises(ValueError, match=r"film must be \(B, T, 1, 8, 12\), got "):
        make()(torch.zeros(shape, dtype=torch.float64))


def test_films_of_whole_numbers_are_refused():
    with pytest.raises(TypeError, match=r"film must hold floating point numbers in \[0, 1\], got torch.uint8; make"):
        make()(torch.zeros(2, 5, *FILM_SHAPE, dtype=torch.uint8))


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
        config = PredictorConfig(core=SMALL[name], codec=CodecConfig(channels=(3, 5)))
        assert PredictorConfig.model_validate_json(config.model_dump_json()) == config
