"""What the benchmarks do on a CUDA device: in which order, by stand-ins; with one, for true."""

import shutil
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from core_checks import SMALL, make, slots
from pretended_device import pretended_device, waits
from stand_in_cuda import StandIn
from torch.autograd import DeviceType

from videopred.bench import cores, on_device, train
from videopred.bench.cores import SUBJECTS, bench_cores
from videopred.bench.on_device import (
    WAYS,
    computing_milliseconds,
    device_milliseconds,
    device_rows,
    in_all_ways,
    measured,
    with_compiled_step,
)
from videopred.bench.train import bench_train
from videopred.bench.training_step import MODELS, pair_of, training_step
from videopred.models.core import unroll
from videopred.training import recording


@pytest.fixture
def cuda(monkeypatch):
    stand_in = StandIn()
    monkeypatch.setattr(on_device, "cuda", stand_in)
    monkeypatch.setattr(recording, "cuda", stand_in)
    return stand_in


def test_a_device_is_timed_by_its_own_clock_after_three_goes(cuda):
    took = iter([50.0, 50.0, 50.0, 4.0, 9.0, 2.0])

    def work() -> None:
        cuda.clock += next(took)

    assert device_milliseconds(work, 3) == 4.0
    assert cuda.done == ["wait for the end"] * 3


def test_only_what_runs_on_the_device_counts_as_computing(cuda, monkeypatch):
    """Of three goes: two kernels; beside them the host's operation that started one, and a name for both."""

    def row(kind: DeviceType, microseconds: float, *, named: bool = False) -> Any:
        return SimpleNamespace(device_type=kind, self_device_time_total=microseconds, is_user_annotation=named)

    rows = [
        row(DeviceType.CUDA, 4500),
        row(DeviceType.CUDA, 1500),
        row(DeviceType.CPU, 4500),
        row(DeviceType.CUDA, 6000, named=True),
    ]
    profile = nullcontext(SimpleNamespace(key_averages=lambda: rows))
    monkeypatch.setattr(torch.profiler, "profile", lambda activities: profile)
    assert computing_milliseconds(lambda: cuda.done.append("work")) == 2.0
    assert cuda.done == [*["work"] * 3, "wait for all"]


@pytest.mark.parametrize("name", MODELS)
def test_an_update_waits_for_nothing_so_that_it_can_be_captured(name):
    """Neither a value nor a table crosses between host and device; on a pretended one."""
    with pretended_device() as device:
        work = training_step(pair_of(name, (1, 16, 24)).ours.to(device), torch.rand(2, 4, 1, 16, 24, device=device))
        work()  # the first makes Adam's numbers
        waits.clear()
        work()
        assert waits == []


def test_each_way_does_the_same_work_on_a_core_of_its_own(cuda, monkeypatch):
    monkeypatch.setattr(on_device, "with_compiled_step", partial(with_compiled_step, backend="eager"))
    core, used = make("scoff"), []

    def work_of(one: Any) -> Any:
        used.append(one)

        def work() -> None:
            one.zero_grad(set_to_none=True)
            unroll(one, slots(one)).output.sum().backward()

        return work

    assert set(device_rows(core, work_of, 2, device="cpu")) == set(WAYS)
    assert core not in used
    assert all(weight.grad is None for weight in core.parameters())
    assert ["advance" in vars(one) for one in used] == [False, True]
    assert cuda.done.count("replay") == 2 * (3 + 2)  # goes that do not count, and those that do


def test_each_way_is_timed_at_its_own_work(monkeypatch):
    monkeypatch.setattr(on_device, "captured", lambda work: lambda: work() / 10)
    monkeypatch.setattr(on_device, "device_milliseconds", lambda work, repeats: repeats * work())
    found = in_all_ways(lambda: 50.0, lambda: 20.0, 3)
    assert found == {"eager": 150.0, "compiled": 60.0, "recorded": 15.0, "both": 6.0}


def test_a_core_is_timed_by_the_step(monkeypatch):
    monkeypatch.setattr(cores, "device_rows", lambda core, work_of, repeats: {"eager": 30.0, "recorded": 6.0})
    subject = SUBJECTS["rims"]._replace(config=SMALL["rims"])
    assert cores._device_row(subject, steps=6, batch=2, repeats=1) == {"eager": 5.0, "recorded": 1.0}


@pytest.mark.parametrize(
    ("asked", "there", "expected"),
    [
        (None, False, (True, False)),
        (None, True, (True, True)),
        ("cpu", True, (True, False)),
        ("cuda", True, (False, True)),
    ],
)
def test_what_is_measured(cuda, asked, there, expected):
    cuda.there = there
    assert measured(asked) == expected


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("cuda", "be cpu, as torch finds no CUDA device here, got cuda; leave it out"),
        ("mps", "be one of cpu, cuda, got mps"),
    ],
)
@pytest.mark.parametrize("bench", [bench_cores, bench_train])
def test_a_device_that_cannot_be_measured_is_refused(cuda, bench, asked, message):
    cuda.there = False
    with pytest.raises(ValueError, match=f"^--device must {message}"):
        bench(device=asked)


@pytest.mark.parametrize(("module", "bench"), [(cores, bench_cores), (train, bench_train)])
def test_a_device_alone_has_its_table_alone(cuda, monkeypatch, module, bench):
    row = {f"{way}{unit}": 2.0 for way in WAYS for unit in ("", "_ms")}
    row |= {"batch": 3, "frames": 4, "eager_busy": 0.5, "best_frames_per_second": 1.0, "best_hours": 3.0}
    monkeypatch.setattr(module, "_device_row", lambda *anything: row)
    monkeypatch.setattr(module, "check_compiler", lambda *anything: None)
    rows = bench(device="cuda", cores=["rims"])
    assert not any(value for name, value in rows.items() if name != "device")
    first = module.table(rows).splitlines()[0]
    assert "CUDA" in first


def test_compiled_steps_are_always_measured_on_a_device(cuda):
    with pytest.raises(ValueError, match=r"^--compile must come without --device cuda, .*, got both; leave it out"):
        bench_cores(device="cuda", compiled=True)


def test_what_a_device_took_is_a_table_of_its_own():
    row = {"core": "brims", "batch": 7, "eager": 1.25, "compiled": 0.5, "recorded": 0.125, "both": 0.0625}
    header, line = cores._device_lines([row])
    assert header.split() == ["CUDA,", "ms", "per", "step", *WAYS]
    assert line.split() == ["brims,", "batch", "7", "1.250", "0.500", "0.125", "0.062"]


@pytest.mark.parametrize("name", ["rims", "scoff"])
def test_a_core_with_a_compiled_step_is_the_same_function(name):
    """On the path that a CUDA device takes, but with the backend that needs no compiler."""
    core = make(name)
    compiled = with_compiled_step(core, backend="eager")
    assert "advance" in vars(compiled)
    assert "advance" not in vars(core)
    gradients = []
    for one in (core, compiled):
        core.zero_grad()
        output = unroll(one, slots(core)).output
        output.square().sum().backward()
        gradients.append([output, *(weight.grad for weight in core.parameters())])
    torch.testing.assert_close(gradients[0], gradients[1])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.skipif(not (shutil.which("gcc") or shutil.which("clang")), reason="needs a C compiler")
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_core_is_captured_on_a_cuda_device(name):
    row = cores._device_row(SUBJECTS[name], steps=3, batch=2, repeats=2)
    assert set(row) == set(WAYS)
    assert min(row.values()) > 0


@pytest.mark.parametrize(("asked", "expected"), [({}, (64, 51)), ({"batch": 2, "frames": 5}, (2, 5))])
def test_a_training_step_there_has_the_papers_size_or_that_asked_for(cuda, monkeypatch, asked, expected):
    seen = []
    monkeypatch.setattr(train, "_device_row", lambda name, batch, frames, repeats: seen.append((batch, frames)) or {})
    monkeypatch.setattr(train, "check_compiler", lambda *anything: None)
    bench_train(device="cuda", cores=["scoff"], **asked)
    assert seen == [expected]


@pytest.mark.parametrize("bench", [bench_cores, bench_train])
def test_without_a_compiler_the_cpu_can_be_measured_alone(cuda, monkeypatch, bench):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(
        ValueError, match=r"must find the C compiler no-such-compiler, got none; .*, or give --device cpu$"
    ):
        bench(device=None)


def test_what_the_trainer_adds_is_not_measured_there(cuda, monkeypatch):
    monkeypatch.setattr(train, "check_compiler", lambda *anything: None)
    with pytest.raises(ValueError, match=r"^--updates must come without --device cuda, got 5; leave one of them out"):
        bench_train(device="cuda", updates=5)
