"""The device that a process computes on."""

import traceback
from contextlib import suppress

import pytest
import torch
from tiny_runs import tiny_data, tiny_model, tiny_training

from videopred import doctor
from videopred.datasets import open_dataset
from videopred.device import measuring_device, my_device, one_thread, pick_device, seed_streams, usual_numbers
from videopred.run_record import read_record
from videopred.settings import TrainingConfig
from videopred.training.clips import TrainingClips
from videopred.training.run import train


@pytest.mark.parametrize(
    ("name", "place", "gpus", "device"),
    [
        ("auto", "5", 3, "cuda:2"),
        ("cuda", "1", 3, "cuda:1"),
        ("cpu", "1", 3, "cpu"),
        ("cuda:0", "1", 3, "cuda:0"),
        ("auto", None, 3, "auto"),
        ("auto", "1", 0, "auto"),
    ],
)
def test_each_process_takes_a_gpu_of_its_own(monkeypatch, name, place, gpus, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if place is not None:
        monkeypatch.setenv("LOCAL_RANK", place)
    assert my_device(name) == device


def test_a_task_of_srun_takes_the_gpu_of_its_place_on_its_machine(monkeypatch):
    told = {"JOB_ID": "7", "STEP_ID": "0", "STEP_NUM_TASKS": "4", "STEP_TASKS_PER_NODE": "2(x2)", "PROCID": "3"}
    for name, value in (told | {"NODEID": "1", "LOCALID": "1", "STEP_NODELIST": "first,second"}).items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert my_device("auto") == "cuda:1"


@pytest.fixture
def old_driver(monkeypatch) -> None:
    """A GPU that its driver counts and this torch cannot use, as where the driver is too old for its CUDA."""
    monkeypatch.setattr(torch.cuda, "_device_count_nvml", lambda: 1)
    monkeypatch.setattr(torch._C, "_cuda_getDeviceCount", lambda: 0, raising=False)
    assert torch.cuda.device_count() == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a CUDA device")
def test_a_gpu_that_torch_cannot_use_is_none(old_driver, tmp_path):
    """Also once Lightning has been loaded, which has torch ask the driver alone."""
    assert pick_device("auto") == torch.device("cpu")
    with pytest.raises(ValueError, match="device of this machine, which has 0 of kind cuda, got cuda; use --device"):
        pick_device("cuda")
    assert {"cpu", "cuda"} <= set(doctor._devices())
    assert "none" in doctor._devices()["cuda"]
    run = train(tiny_data(tmp_path), tiny_model("gru"), tiny_training(updates=1), out=tmp_path / "run")
    assert read_record(run)["device"] == "cpu"


@pytest.mark.parametrize("place", ["0", "1"])
def test_each_process_asks_its_own_gpu_whether_clips_fit(tmp_path, monkeypatch, place):
    """Lightning makes it the current one only later."""
    file, free = open_dataset(tiny_data(tmp_path)), {"cuda:0": 0, "cuda:1": 10**12}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free[str(device)], 10**12))
    monkeypatch.setenv("LOCAL_RANK", place)
    clips = TrainingClips(file, TrainingConfig(batch_size=2), device="cuda")
    assert clips.held_on_device == (place == "1")


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")),
        pytest.param("mps", marks=pytest.mark.skipif(not torch.backends.mps.is_available(), reason="needs MPS")),
    ],
)
def test_streams_are_seeded_as_torch_seeds_them(device):
    drawn = []
    for seed in (torch.manual_seed, seed_streams):
        torch.rand(2, device=device)  # which is in use from here on
        seed(2**63 + 5)
        drawn.append((torch.rand(3), torch.rand(3, device=device)))
    for one, other in zip(*drawn, strict=True):
        assert torch.equal(one, other)


def test_devices_that_are_not_in_use_are_not_asked_for_their_streams(monkeypatch):
    """Which takes torch some milliseconds an update."""
    monkeypatch.setattr(traceback, "format_stack", lambda: pytest.fail("noted who asks"))
    seed_streams(3)


def test_what_torch_does_by_default_comes_back_even_after_an_error():
    """The kind of its numbers, and on how many threads."""
    before = torch.get_default_dtype(), torch.get_num_threads()
    mine = torch.float64, before[1] + 2
    try:
        torch.set_default_dtype(mine[0])
        torch.set_num_threads(mine[1])
        for within, expected in ((usual_numbers, (torch.float32, mine[1])), (one_thread, (mine[0], 1))):
            with suppress(KeyError), within():
                found = torch.zeros(2).dtype, torch.get_num_threads()
                raise KeyError
            assert found == expected
            assert (torch.get_default_dtype(), torch.get_num_threads()) == mine
    finally:
        torch.set_default_dtype(before[0])
        torch.set_num_threads(before[1])


@pytest.mark.parametrize(("model", "scores"), [("cpu", "cpu"), ("cuda:1", "cuda:1"), ("mps:0", "cpu")])
def test_scores_are_computed_where_there_is_float64(model, scores):
    assert measuring_device(torch.device(model)) == torch.device(scores)
