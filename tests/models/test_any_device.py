"""Cores, codecs and decoders on a device, a pretended one: their tensors are there, and their numbers the CPU's."""

from typing import Any

import known_bad
import pytest
import torch
from core_checks import BATCH, FEATURES, SMALL, make, prepared, slots
from pretended_device import assert_same_there, pretended_device, waits
from slow_proofs import slow
from torch import Tensor

from videopred.models import CODECS, CORES, DECODERS, build, build_core
from videopred.models.codec_settings import RNEMConfig
from videopred.models.conformance import moves_to_another_device
from videopred.models.core import unroll
from videopred.models.intervention_settings import Intervention
from videopred.models.interventions import intervene
from videopred.models.layer import Layer
from videopred.models.predictor import Predictor
from videopred.models.settings import PredictorConfig
from videopred.rollout import roll_out
from videopred.settings import TrainingConfig
from videopred.training.feeding import loss_of_next
from videopred.training.losses import loss_between

CHANNELS, HEIGHT, WIDTH = 3, 48, 64
"""What every codec can take."""


def trained(core: Any, device: torch.device) -> Any:
    """All that an unroll in training gives, and its gradients; then a step more, from where it ended."""
    core, inputs = core.to(device).train(), slots(core).to(device).requires_grad_()
    torch.manual_seed(3)
    start = core.initial_state(BATCH, generator=torch.Generator(device).manual_seed(4))
    done = unroll(core, inputs, start, trace=True)
    done.output.square().sum().backward()
    gradients = [inputs.grad, *(weight.grad for weight in core.parameters())]
    return [*done, gradients, core.eval().step(inputs[:, 0], done.state), core.initial_state(BATCH)]


@pytest.mark.parametrize("name", CORES)
def test_a_core(name):
    assert_same_there(lambda device: trained(make(name), device))


SCOFFS: list[dict[str, Any]] = [
    {"frozen_schema": True, "start": "learned"},
    {"cell": "lstm", "eval_sample": True, "active": 2},
    {"competition": "random", "active": 2, "query_from": "new"},
    {"input_attention": False, "comm_gate": True, "schema_comm": True},
]
"""Options of `scoff`, each of which makes tensors of its own; those of the other cores pass all checks elsewhere."""


@pytest.mark.parametrize("options", SCOFFS, ids=str)
def test_an_option(options):
    moves_to_another_device(prepared(build_core(SMALL["scoff"].model_copy(update=options), FEATURES)))


@pytest.mark.parametrize("broken", [known_bad.CountsFromTheStart, known_bad.StateOfOneDtype])
def test_a_core_that_forgets_the_device_is_noticed(broken):
    """One makes a range, the other a state on the CPU."""
    with pytest.raises(RuntimeError, match="must have all tensors on one device"):
        assert_same_there(lambda device: unroll(broken().to(device), slots().to(device)))


def test_a_core_that_comes_back_is_noticed():
    class ComesBack(known_bad.SoundCore):
        def advance(self, projected, state):
            output, state, trace = super().advance(projected, state)
            return output.cpu(), state, trace

    with pytest.raises(AssertionError, match=r"left on the CPU: \[\(3, 7, 1, 4\)\]"):
        assert_same_there(lambda device: unroll(ComesBack().to(device), slots().to(device)))


def waits_of_an_unroll(core: Any) -> list[str]:
    """In which operations an unroll in training waits, forward or backward."""
    with pretended_device() as device:
        core, inputs = core.to(device).train(), slots(core).to(device).requires_grad_()
        waits.clear()
        unroll(core, inputs).output.square().sum().backward()
        return list(waits)


@pytest.mark.parametrize("name", CORES)
def test_a_core_that_learns_waits_for_nothing(name):
    """The device is never asked for a value nor sent a table, so that its work runs on and can be captured."""
    assert waits_of_an_unroll(make(name)) == []


class SendsATable(known_bad.SoundCore):
    def advance(self, projected, state):
        return super().advance(projected * torch.ones(4).to(projected), state)


@pytest.mark.parametrize(
    ("broken", "operation"), [(known_bad.AsksTheDevice, "aten._local_scalar_dense"), (SendsATable, "aten._to_copy")]
)
def test_a_core_that_waits_is_noticed(broken, operation):
    assert waits_of_an_unroll(broken()) == [f"{operation}.default"] * 7


def film(frames: int, clips: int = 2) -> Tensor:
    source = torch.Generator().manual_seed(1)
    return torch.rand(clips, frames, CHANNELS, HEIGHT, WIDTH, generator=source, dtype=torch.float64)


def small(core: str, codec: str = "rnem", **parts: Any) -> PredictorConfig:
    return PredictorConfig(core=SMALL[core], codec=CODECS[codec][0](channels=(3, 5, 4), embedding=7), **parts)


def fresh(config: PredictorConfig, device: torch.device) -> Predictor:
    torch.manual_seed(0)
    return build(config, (CHANNELS, HEIGHT, WIDTH)).double().to(device)


def updated(config: PredictorConfig, device: torch.device) -> list[Tensor]:
    """Loss and weights of an update with everything that training knows: painted in blocks, and free-running."""
    predictor, clips = fresh(config, device), film(5).to(device)
    adam = torch.optim.Adam(predictor.parameters())
    training = TrainingConfig(reduction="sum")
    lost = loss_of_next(predictor, clips, lambda said, true: loss_between(training, said, true), 2, noise=0.1)
    lost = lost + loss_of_next(predictor, clips, lambda said, true: loss_between(training, said, true), sampling=0.5)
    lost.backward()
    torch.nn.utils.clip_grad_norm_(predictor.parameters(), 0.5)
    adam.step()
    return [lost, *predictor.state_dict().values()]


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("codec", ["rnem", *slow(*(one for one in CODECS if one != "rnem"))])
@pytest.mark.parametrize("core", ["rims", "scoff"])
def test_an_update(core, codec, decoder):
    """Of a core that reads vectors, and of one that reads maps."""
    config = small(core, codec, decoder=DECODERS[decoder][0]())
    assert_same_there(lambda device: updated(config, device))


def test_an_update_of_stacked_frames_with_coordinates():
    codec = RNEMConfig(channels=(3, 5, 4), embedding=7, positions="coord4")
    assert_same_there(lambda device: updated(small("scoff", stack=2).model_copy(update={"codec": codec}), device))


@pytest.mark.parametrize("feedback", ["soft", *slow("threshold:0.5", "sample")])
def test_a_rollout_of_35_frames(feedback):
    def rolled(device: torch.device) -> Any:
        return roll_out(fresh(small("scoff"), device), film(4).to(device), 35, feedback=feedback, trace=True)

    assert_same_there(rolled)


def test_a_rollout_of_a_core_that_is_interfered_with():
    def rolled(device: torch.device) -> Tensor:
        config = small("brims").model_copy(
            update={"core": SMALL["brims"].model_copy(update={"per_module_slots": True})}
        )
        changed = intervene(fresh(config, device), Intervention(without=(1,), from_step=2), 3)
        return roll_out(changed, film(3).to(device), 4).prediction

    assert_same_there(rolled)


def test_a_layer_in_the_place_of_an_lstm():
    def passed(device: torch.device) -> Any:
        torch.manual_seed(0)
        return Layer(SMALL["rims"], 11).to(device)(torch.ones(3, 7, 11, device=device))

    assert_same_there(passed)


def test_a_gpu_is_given_larger_blocks_of_frames():
    """Each block starts as many kernels as the next, and a small one is computed before the next is started."""
    codec = RNEMConfig(channels=(2, 3, 4), embedding=5)
    predictor = build(PredictorConfig(core=SMALL["gru"], codec=codec), (CHANNELS, HEIGHT, WIDTH))
    values = torch.zeros(2, 2800, 3)
    assert [len(block) for block in predictor.blocks(values)] == [*[128] * 43, 96]
    with pretended_device() as device:
        assert [len(block) for block in predictor.blocks(values.to(device))] == [5461, 139]
        predictor = build(PredictorConfig(core=SMALL["gru"], codec=codec), (1, 8192, 8192))
        assert {len(block) for block in predictor.blocks(values.to(device))} == {1}
