"""A predictor that learns with a compiled step: the same function, few graphs, the same names."""

import copy
import inspect
import shutil
from typing import Any

import pytest
import torch
from core_checks import close, make, slots
from tiny_runs import HEIGHT, WIDTH, tiny_model
from torch import Tensor, nn

from videopred.models import build
from videopred.models.compiling import check_compiler, compile_predictor, compile_step
from videopred.models.core import unroll
from videopred.rollout import predict_on


class Graphs:
    """A backend that runs what it is given as it is, and counts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, graph: Any, inputs: Any) -> Any:
        self.count += 1
        return graph.forward


class Averaging(nn.Module):
    """A core of somebody's own, with a step alone."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.units = 1, 3
        self.inward = nn.Linear(5, 3)

    def initial_state(self, batch: int, *, generator: Any = None) -> Tensor:
        return self.inward.weight.new_zeros(batch, 3)

    def step(self, inputs: Tensor, state: Tensor) -> Any:
        state = (state + self.inward(inputs.mean(1))) / 2
        return state.unsqueeze(1), state, {}


def learned(core: Any, given: Tensor) -> list[Tensor]:
    """Output over time and the gradient of every weight."""
    core.zero_grad()
    output = unroll(core, given).output
    output.square().sum().backward()
    return [output, *(weight.grad for weight in core.parameters())]


@pytest.mark.parametrize("name", ["lstm", "rims", "brims", "scoff", "own"])
def test_a_compiled_step_learns_the_same(name):
    core = Averaging() if name == "own" else make(name)
    given = torch.rand(2, 6, 3, 5) if name == "own" else slots(core)
    expected, graphs = learned(core, given), Graphs()
    names = list(core.state_dict())
    compile_step(core, graphs)  # type: ignore[arg-type]
    for one, other in zip(learned(core, given), expected, strict=True):
        close(one, other)
    assert 0 < graphs.count <= 2  # SCOFF learns its first state, which has a layout of its own
    assert list(core.state_dict()) == names


def test_longer_clips_are_not_compiled_anew_nor_is_evaluation():
    """The second length may be: it shows that memory is laid out by it."""
    torch.manual_seed(0)
    predictor, graphs = build(tiny_model("rims"), (1, HEIGHT, WIDTH)), Graphs()
    compile_predictor(predictor, graphs)  # type: ignore[arg-type]
    film = torch.rand(2, 7, 1, HEIGHT, WIDTH)
    for steps in (3, 5, 6, 7):
        predictor(film[:, :steps]).logits.sum().backward()
    assert graphs.count <= 2
    with torch.no_grad():
        predict_on(predictor.eval(), film[:1, :4], 2, trace=True)
    assert graphs.count <= 2


def test_a_copy_computes_with_its_own_weights():
    core = make("rims")
    signature = inspect.signature(core.advance)
    compile_step(core, "eager")
    assert inspect.signature(core.advance) == signature
    other = copy.deepcopy(core)
    with torch.no_grad():
        for weight in other.parameters():
            weight.zero_()
    assert learned(other, slots(core))[0].abs().max() == 0
    assert all(weight.grad is None for weight in core.parameters())


@pytest.mark.parametrize(("core", "backend"), [("transformer", "eager"), ("gru", "cudagraphs")])
def test_the_whole_is_compiled_where_there_is_no_loop_or_all_is_to_be_recorded(core, backend):
    predictor = build(tiny_model(core), (1, HEIGHT, WIDTH))
    compile_predictor(predictor, backend)
    assert predictor._compiled_call_impl is not None
    assert not {"advance", "step", "run"} & set(vars(predictor.core))


def test_a_missing_compiler_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    message = r"^--compile must find the C\+\+ compiler g\+\+, got none; apt-get install g\+\+, name another"
    with pytest.raises(ValueError, match=message):
        check_compiler("--compile")
    (tmp_path / "another").touch(mode=0o755)
    monkeypatch.setenv("CXX", "another")
    check_compiler("--compile")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("name", ["rims", "brims", "scoff"])
def test_inductor_learns_the_same(name):
    core = make(name)
    expected = learned(core, slots(core))
    compile_step(core, "inductor")
    for one, other in zip(learned(core, slots(core)), expected, strict=True):
        close(one, other)
