"""A predictor that learns with compiled steps: the same function, few graphs, the same names."""

import copy
import inspect
import shutil
import sys
from typing import Any

import pytest
import torch
from core_checks import FEATURES, close, make, slots
from slow_proofs import slow
from tiny_runs import HEIGHT, WIDTH, tiny_model
from torch import Tensor, nn

from videopred.models import DECODERS, build, compiling
from videopred.models.compiling import check_compiler, compile_predictor, compile_step
from videopred.models.core import Core, unroll
from videopred.models.merging import MergedProducts
from videopred.rollout import predict_on


class Graphs:
    """A backend that runs what it is given as it is, and counts: graphs, and how often one is called."""

    def __init__(self) -> None:
        self.count = self.calls = 0

    def __call__(self, graph: Any, inputs: Any) -> Any:
        self.count += 1

        def run(*args: Any) -> Any:
            self.calls += 1
            return graph.forward(*args)

        return run


class Averaging(nn.Module):
    """A core of somebody's own, with a step alone."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.units = 1, 3
        self.inward = nn.Linear(FEATURES, 3)

    def initial_state(self, batch: int, *, generator: Any = None) -> Tensor:
        return self.inward.weight.new_zeros(batch, 3)

    def step(self, inputs: Tensor, state: Tensor) -> Any:
        state = (state + self.inward(inputs.mean(1))) / 2
        return state.unsqueeze(1), state, {}


class DerivedAveraging(Averaging, Core):
    """The same, derived from what ours derive from."""


OWN = {"own": Averaging, "own, derived": DerivedAveraging}
"""Cores of somebody's own, which read three slots."""


def learned(core: Any, given: Tensor) -> list[Tensor]:
    """Output over time and the gradient of every weight."""
    core.zero_grad()
    output = unroll(core, given).output
    output.square().sum().backward()
    return [output, *(weight.grad for weight in core.parameters())]


def given_to(name: str, steps: int) -> tuple[Any, Tensor]:
    """A core, ours or one of `OWN`, and slots (B, T, L, D) for it."""
    core = OWN[name]().double() if name in OWN else make(name)
    return core, torch.rand(2, steps, 3 if name in ("scoff", *OWN) else 1, FEATURES, dtype=torch.float64)


@pytest.mark.parametrize("steps", [11, *slow(3, 4)])
@pytest.mark.parametrize("name", ["lstm", "rims", *slow("brims"), "scoff", *OWN])
def test_a_compiled_step_learns_the_same(name, steps):
    core, given = given_to(name, steps)
    expected, graphs = learned(core, given), Graphs()
    names = list(core.state_dict())
    compile_step(core, graphs)  # type: ignore[arg-type]
    for one, other in zip(learned(core, given), expected, strict=True):
        close(one, other)
    assert 0 < graphs.count <= 2  # SCOFF learns its first state, which has a layout of its own
    assert list(core.state_dict()) == names


@pytest.mark.parametrize("name", ["lstm", "rims", *slow("brims", "scoff", *OWN)])
def test_steps_of_a_long_clip_are_called_four_at_a_time(name):
    """Steps before the first four are not compiled."""
    core, given = given_to(name, 15)
    graphs = Graphs()
    compile_step(core, graphs)  # type: ignore[arg-type]
    learned(core, given)
    assert (graphs.count, graphs.calls) == (1, 3)


@pytest.mark.parametrize("name", ["scoff", *slow("rims", "brims", *OWN)])
def test_a_compiled_core_goes_on_from_a_state_it_learned(name):
    core, given = given_to(name, 16)
    expected = learned(core, given)
    compile_step(core, "eager")
    core.zero_grad()
    outputs, state = [], None
    for part in given.split([5, 1, 3, 7], 1):
        output, state, _ = unroll(core, part, state)
        outputs.append(output)
    torch.cat(outputs, 1).square().sum().backward()
    for weight, other in zip(core.parameters(), expected[1:], strict=True):
        close(weight.grad, other)


def test_a_compiled_core_tells_what_happened():
    core, given = given_to("rims", 7)
    expected = unroll(core, given, trace=True)
    compile_step(core, "eager")
    found = unroll(core, given, trace=True)
    close(found.output, expected.output)
    assert found.trace.keys() == expected.trace.keys()
    for name, values in expected.trace.items():
        close(found.trace[name], values)


def test_inductor_takes_one_product_for_a_gradient_over_four_steps(monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "compile", lambda work, **words: asked.append(words) or work)
    compile_step(make("rims"), "inductor")
    alone, together = asked
    assert alone == {"backend": "inductor"}
    assert isinstance(together["options"]["post_grad_custom_pre_pass"], MergedProducts)


def test_a_torch_whose_inductor_is_another_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "videopred.models.merging", None)  # what it takes from torch is gone
    message = r"^--compile inductor must find torch's inductor as in torch 2\.11 to 2\.14, got .*; install one of these"
    with pytest.raises(ValueError, match=message):
        compile_step(make("rims"), "inductor")


def test_inductor_is_told_how_to_lay_out_maps(monkeypatch):
    """It takes the option for one that it knows; with another backend there is none."""
    asked, plain = [], torch.compile
    monkeypatch.setattr(torch, "compile", lambda work, **words: asked.append(words) or plain(work, **words))
    predictor = build(tiny_model("rims"), (1, HEIGHT, WIDTH))
    for backend, words in (("inductor", {"options": {"force_layout_optimization": True}}), ("eager", None)):
        asked.clear()
        compile_predictor(predictor, backend, "cuda")
        assert asked[-2:] == [words or {"backend": backend}] * 2


@pytest.mark.slow
def test_longer_clips_are_not_compiled_anew_nor_is_evaluation():
    """The second length may be: it shows that memory is laid out by it. Short clips are compiled step by step."""
    predictor, graphs = build(tiny_model("rims"), (1, HEIGHT, WIDTH)), Graphs()
    compile_predictor(predictor, graphs)  # type: ignore[arg-type]
    film = torch.rand(2, 13, 1, HEIGHT, WIDTH)
    for most, lengths in ((2, (5, 9, 6, 12, 13)), (4, (3, 4, 2))):
        for steps in lengths:
            predictor(film[:, :steps]).logits.sum().backward()
        assert graphs.count <= most
    calls = graphs.calls
    with torch.no_grad():
        predict_on(predictor.eval(), film[:1, :9], 2, trace=True)
        predictor(film)
    assert graphs.calls == calls


@pytest.mark.slow
@pytest.mark.parametrize("decoder", ["shared", "files", "masks"])
def test_encoder_and_decoder_are_compiled_for_a_gpu(monkeypatch, decoder):
    """Once for the first number of frames, and once for all others; not for validation and rollouts."""
    monkeypatch.setattr(compiling, "compile_step", lambda *asked: None)
    model = tiny_model("scoff").model_copy(update={"decoder": DECODERS[decoder][0]()})
    predictor, film = build(model, (1, HEIGHT, WIDTH)), torch.rand(8, 5, 1, HEIGHT, WIDTH)
    names, lengths, graphs = list(predictor.state_dict()), (5, 4, 3, 2), Graphs()

    def learned_from(steps: int) -> list[Tensor]:
        predictor.zero_grad()
        logits = predictor(film[:, :steps]).logits
        logits.square().mean().backward()
        return [logits, *(weight.grad for weight in predictor.parameters() if weight.grad is not None)]

    torch.manual_seed(0)
    expected = [learned_from(steps) for steps in lengths]
    compile_predictor(predictor, graphs, "cuda")  # type: ignore[arg-type]
    torch.manual_seed(0)
    for steps, values in zip(lengths, expected, strict=True):
        for one, other in zip(learned_from(steps), values, strict=True):
            torch.testing.assert_close(one, other)
    assert (graphs.count, graphs.calls) == (4, 8)
    with torch.no_grad():
        predict_on(predictor.eval(), film[:1, :4], 2, trace=True)
    assert graphs.calls == 8
    assert list(predictor.state_dict()) == names


def test_a_decoder_is_not_compiled_anew_for_another_layout(monkeypatch):
    """The core's last output is a slice of all, whose strides depend on how many there are."""
    monkeypatch.setattr(compiling, "compile_step", lambda *asked: torch.compiler.reset())
    predictor, graphs = build(tiny_model("scoff"), (1, HEIGHT, WIDTH)), Graphs()
    compile_predictor(predictor, graphs, "cuda")  # type: ignore[arg-type]
    core: Any = predictor.core
    for steps in (2, 3, 5):
        predictor.paint(torch.rand(20, steps, core.rows, core.units)[:, -1:])
    assert (graphs.count, graphs.calls) == (1, 3)


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


def test_the_whole_is_compiled_where_there_is_no_loop():
    predictor = build(tiny_model("transformer"), (1, HEIGHT, WIDTH))
    compile_predictor(predictor, "eager")
    assert predictor._compiled_call_impl is not None
    assert not {"advance", "step", "run"} & set(vars(predictor.core))


@pytest.mark.slow
@pytest.mark.parametrize("core", ["transformer", "scoff"])
def test_a_whole_model_is_one_graph_also_where_it_goes_on_from_a_state(core):
    predictor, graphs = build(tiny_model(core), (1, HEIGHT, WIDTH)), Graphs()
    predictor.compile(backend=graphs)
    predict_on(predictor, torch.rand(2, 5, 1, HEIGHT, WIDTH), 3).logits.sum().backward()
    assert graphs.calls == 1 + 3


def test_a_missing_compiler_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    message = r"^--compile must find the C\+\+ compiler g\+\+, got none; apt-get install g\+\+, name another"
    with pytest.raises(ValueError, match=message):
        check_compiler("--compile")
    another = tmp_path / "another"
    another.touch(mode=0o755)
    monkeypatch.setenv("CXX", "another")
    for content in ("", "#!/bin/sh\nexit 1\n"):  # no program at all; one that fails, as `false` does
        another.write_text(content)
        with pytest.raises(ValueError, match=r"C\+\+ compiler another, got one that does not run; apt-get install"):
            check_compiler("--compile")
    another.write_text("#!/bin/sh\n")
    check_compiler("--compile")


def test_a_missing_compiler_of_c_is_named_for_a_gpu(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ValueError, match=r"^--compile must find the C compiler gcc, got none; .* variable CC, or"):
        check_compiler("--compile", "cuda")
    for name in ("clang", "gcc"):  # any will do
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        check_compiler("--compile", "cuda")
        (tmp_path / name).unlink()
    monkeypatch.setenv("CC", "icx")
    with pytest.raises(ValueError, match="C compiler icx, got none"):
        check_compiler("--compile", "cuda")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("name", ["rims", "brims", "scoff"])
def test_inductor_learns_the_same(name):
    core, given = given_to(name, 9)
    expected = learned(core, given)
    compile_step(core, "inductor")
    for one, other in zip(learned(core, given), expected, strict=True):
        close(one, other)
