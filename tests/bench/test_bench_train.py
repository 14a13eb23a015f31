"""The benchmark of training counts right and runs; how fast anything is, no test says."""

import pytest
import torch

from videopred.bench import train
from videopred.bench.memory import peak_bytes
from videopred.bench.timing import PairedTimes
from videopred.bench.train import _device_lines as device_lines
from videopred.bench.train import bench_train, step_times
from videopred.bench.train import table as train_table
from videopred.bench.training_step import pair_of, training_step
from videopred.training import float32_products


@pytest.mark.slow
def test_the_benchmark_of_training_runs_and_can_be_read():
    rows = bench_train(batch=3, frames=4, repeats=2, cores=["scoff"], updates=2, device="cpu")
    assert set(rows["steps"]) == {"scoff"}
    assert rows["steps"]["scoff"]["images_per_second"] == pytest.approx(9000 / rows["steps"]["scoff"]["ms"])
    assert rows["trainer_ms"] == pytest.approx(sum(rows["trainer_ms_spread"]) / 2)  # a median of two
    assert rows["trainer_ms_spread"][0] < rows["trainer_ms"] < rows["trainer_ms_spread"][1]
    assert 0 < rows["loader"]["memory_share"] < 1
    assert rows["device"] == {}
    shown = train_table(rows)
    assert all(word in shown for word in ("scoff", "the Trainer adds", "a batch from file", "bfloat16"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"batch": 0}, "--batch must be at least 1, got 0"),
        ({"frames": 1}, "--frames must be at least 2, got 1"),
        ({"updates": 0}, "--updates must be at least 1, got 0"),
        ({"cores": ["brims"]}, "--cores must be one of rims, scoff, got brims"),
    ],
)
def test_wrong_numbers_of_training_are_refused(wrong, message):
    with pytest.raises(ValueError, match=f"^{message}; "):
        bench_train(**wrong)


def test_a_step_in_float32_multiplies_matrices_as_runs_do_and_one_in_bfloat16_as_torch_does(monkeypatch):
    seen = []

    def noting(*_: object) -> PairedTimes:
        seen.append(torch.get_float32_matmul_precision())
        return PairedTimes([1.0], [2.0])

    monkeypatch.setattr(train, "compare", noting)
    monkeypatch.setattr(float32_products, "processor_name", lambda: "AMD EPYC")
    monkeypatch.setattr(float32_products, "keeps_float32", lambda: True)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    step_times("rims", 16, 2, 1)
    assert seen == ["medium", "highest"]


def test_what_a_gpu_took_says_how_long_the_papers_training_is():
    row = {"eager_ms": 31.0, "compiled_ms": 12.5, "recorded_ms": 18.0, "both_ms": 12.75}
    row |= {"batch": 64, "frames": 50, "eager_busy": 0.4}
    lines = device_lines({"rims": row | {"best_frames_per_second": 64 * 50 / 0.0125, "best_hours": 0.27}})
    assert lines == [
        "rims on CUDA, 64 clips of 50 frames, bfloat16",
        "  ms a step: eager 31.0, compiled 12.5, recorded 18.0, both 12.8",
        "  device busy: eager 40%",
        "  best: 256000 frames/s, 0.27 hours for 100 epochs of 50,000 clips",
    ]


def test_a_training_step_is_one_update_of_all_weights():
    pair = pair_of("rims", (1, 16, 24))
    before = [weight.clone() for weight in pair.ours.parameters()]
    training_step(pair.ours, torch.rand(2, 3, 1, 16, 24))()
    assert all((old != new).any() for old, new in zip(before, pair.ours.parameters(), strict=True))


def test_a_plain_scoff_in_a_plain_predictor_is_the_same_function():
    ours, plain = pair_of("scoff", (1, 16, 24))
    ours.eval(), plain.eval()
    film, state = torch.rand(2, 3, 1, 16, 24), ours.core.initial_state(2)
    with torch.no_grad():
        expected = ours(film, state).logits
        torch.testing.assert_close(plain(film, state=state[0][0]), expected, rtol=1e-3, atol=1e-4)


def test_what_the_trainer_adds_is_measured_again_in_each_repeat(monkeypatch, tmp_path):
    """Beyond a shorter run, for what is done once, and beyond a bare loop of as many updates."""
    seconds = iter([9.0, 5.0, 3.0, 1.0, 4.0, 3.0, 1.25, 7.0, 3.0, 1.0])  # a run that does not count; long, short, bare
    monkeypatch.setattr(train, "cpu_seconds", lambda work: next(seconds))
    assert train._trainer_milliseconds(tmp_path, 4, 3) == [250.0, -62.5, 750.0]
    assert not list(seconds)


def test_what_a_batch_takes_is_the_least_of_three_times_for_two_and_its_share_is_of_itself_and_a_step(
    monkeypatch, tmp_path
):
    seconds = iter([0.004, 0.002, 0.006, 0.008, 0.007, 0.006])  # from memory, then from the file
    monkeypatch.setattr(train, "cpu_seconds", lambda work: next(seconds))
    rows = train._loader_rows(tmp_path, 3, 4, 9.0)
    assert rows == {"memory_ms": 1.0, "memory_share": 0.1, "file_ms": 3.0, "file_share": 0.25}


def test_the_table_of_training_has_a_column_for_each_number():
    step = {"ms": 9.0, "images_per_second": 809.0, "plain_images_per_second": 280.0}
    step |= {"times_faster_float32": 2.9, "times_faster_bfloat16": 4.8, "plain_peak_bytes": 764e6, "peak_bytes": 284e6}
    step |= {"peak_bytes_twice_the_clips": 527e6, "peak_bytes_twice_the_steps": 518e6}
    loader = {"memory_ms": 0.38, "memory_share": 0.001, "file_ms": 1.87, "file_share": 0.002}
    rates = {"float32": 100e9, "bfloat16": 479e9}
    trainer = {"trainer_ms": 2.41, "trainer_ms_spread": (-1.93, 3.04)}
    rows = {"rates": rates, "steps": {"rims": step}, "loader": loader, "device": {}} | trainer
    above, heads, row, _, added, *others = train_table(rows).splitlines()
    assert added == "the Trainer adds to an update        2.41 ms (-1.9 to 3.0)"
    assert [line.index(" ms") for line in others[:2]] == [added.index(" ms")] * 2
    assert "peak memory in MB" in above
    assert heads.split() == ["ours", "plain", "float32", "bfloat16", "plain", "ours", "2", "B", "2", "T"]
    assert row.split() == ["rims", "809", "280", "2.9", "4.8", "764", "284", "527", "518"]
    assert [heads.index(head) + len(head) for head in ("2 B", "2 T")] == [row.index(n) + 3 for n in ("527", "518")]
    assert len(above) == len(heads) == len(row)


@pytest.mark.slow
def test_peak_memory_is_that_of_the_work():
    """Of twice the clips and of twice the steps about twice as much, and at most half of what a plain one takes."""
    once, clips, steps = (peak_bytes("rims", "ours", *size) for size in ((8, 21), (16, 21), (8, 41)))
    assert 0.4 * clips < once < 0.7 * clips
    assert steps == pytest.approx(clips, rel=0.1)
    assert clips < 0.5 * peak_bytes("rims", "plain", 16, 21)


def test_what_a_step_takes_is_told_of_ours_and_of_the_plain_one(monkeypatch):
    """In float32 first, then with bfloat16; of three frames two are predicted."""
    times = iter([PairedTimes([0.5], [2.0]), PairedTimes([0.25], [1.5])])
    monkeypatch.setattr(train, "compare", lambda *_: next(times))
    assert step_times("rims", 5, 3, 1) == {
        "ms": 500,
        "images_per_second": 20,
        "plain_images_per_second": 5,
        "times_faster_float32": 4,
        "times_faster_bfloat16": 6,
    }
