"""Benchmarks count right and run; how fast anything is, no test says."""

import subprocess
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from core_checks import SMALL
from torch import nn

from videopred.bench import cores as bench
from videopred.bench import generate as making
from videopred.bench import scores as scoring
from videopred.bench import timing
from videopred.bench.cores import SUBJECTS, bench_cores
from videopred.bench.cores import table as cores_table
from videopred.bench.generate import bench_generate, table
from videopred.bench.on_device import with_compiled_step
from videopred.bench.plain_cores import plain_rims
from videopred.bench.plain_predictor import PlainPredictor, PlainUpsampleConv
from videopred.bench.plain_scores import plain_pixel_scores
from videopred.bench.plain_worlds import plain_balls, plain_digits
from videopred.bench.scores import bench_scores
from videopred.bench.scores import table as scores_table
from videopred.bench.timing import PairedTimes, shares
from videopred.bench.train import bench_train
from videopred.command_lines import evaluate_words
from videopred.datasets.painting import paint_soft
from videopred.datasets.physics import Box, State
from videopred.datasets.stepping import step_sutskever
from videopred.eval.settings import Protocol
from videopred.models import build, build_core
from videopred.models.elu import ELU
from videopred.models.modular_settings import RIMsConfig
from videopred.models.settings import PredictorConfig
from videopred.rollout import predict_on


def test_a_ratio_is_the_median_over_turns_and_not_of_sums():
    compared = PairedTimes(ours=[1.0, 2.0, 4.0], baseline=[8.0, 6.0, 100.0])
    assert compared.ratio == 8.0
    assert compared.spread == (3.0, 25.0)


def test_shares_name_what_takes_the_time():
    found = shares(lambda: plain_balls(4, 30, [1.0, 0.8], [1.0, 2.0], 0.5, np.random.default_rng(0)))
    assert sum(found.values()) == pytest.approx(1)
    assert {"plain_balls", "_small_step", "_free_places", "_length"} <= set(found)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    less = shares(lambda: plain_balls(4, 30, [1.0], [1.0], 0.5, np.random.default_rng(0)), ("<lambda>", "plain_balls"))
    assert not {"<lambda>", "plain_balls"} & set(less)
    assert sum(less.values()) == pytest.approx(1)


def test_the_time_of_a_function_that_calls_itself_is_its_own(monkeypatch):
    monkeypatch.setattr(timing, "_PACKAGE", __file__)

    def falls(depth: int) -> None:
        sum(range(50_000))
        if depth > 1:
            falls(depth - 1)

    def twice() -> None:
        for _ in range(2):
            sum(range(50_000))

    found = shares(lambda: (falls(60), twice()))
    assert found["falls"] > found["twice"]


def test_an_expression_is_told_by_its_file():
    found = shares(lambda: evaluate_words("run", "x.h5", Protocol(context=4, horizon=3)))
    assert not any(name.startswith("<gen") for name in found)
    assert "an expression in command_lines.py" in found


def test_plain_balls_are_discs_in_a_box_that_move():
    radii, masses = [0.8, 1.0, 1.2], [1.0, 6.0, 2.0]
    film = plain_balls(40, 50, radii, masses, 0.5, np.random.default_rng(1))
    assert film.shape == (40, 50, 50)
    assert film.min() >= 0
    assert film.max() == 1
    lit = (film > np.exp(-1)).sum((1, 2))  # the light of a disc at its radius
    area = sum(np.pi * (5 * r) ** 2 for r in radii)
    assert np.median(lit) == pytest.approx(area, rel=0.05)
    assert (np.abs(np.diff(film, axis=0)).sum((1, 2)) > 1).all()


def test_plain_balls_move_as_ours_by_the_same_law():
    radii, masses = np.array([0.8, 1.0, 1.2]), np.array([1.0, 6.0, 2.0])
    place = np.array([[2.5, 3.0], [5.0, 7.5], [8.0, 2.0]])
    velocity = 1.5 * np.array([[2, 4], [-1, -2], [-6, 6]]) / np.sqrt(97)
    chance: Any = SimpleNamespace(standard_normal=lambda size: 3 * velocity, random=lambda size: (place - 2) / 8)
    film = plain_balls(43, 50, radii.tolist(), masses.tolist(), 1.5, chance)
    state = State(*(values[None] for values in (5 * place, 5 * velocity, 5 * radii, masses)))  # 5 px per unit
    motion = step_sutskever(state, Box(50, 50), 43)
    assert set(np.sign(motion.contacts[0]["second"])) >= {-1, 1}, "with walls and with balls"
    ours = paint_soft(motion.positions[0], 5 * radii, np.full((3, 1), 255, np.uint8), "sutskever", 50, 50)
    np.testing.assert_allclose(film, ours[..., 0] / 255, rtol=0, atol=0.501 / 255)


def test_plain_digits_are_inside_and_named_by_their_masks():
    images = np.zeros((2, 28, 28), np.uint8)
    images[0, 10:18, 10:18], images[1, 5:9, 5:23] = 100, 200
    film, masks = plain_digits(25, 60, images, 28, 3, np.random.default_rng(2))
    assert film.shape == masks.shape == (25, 60, 60)
    assert ((masks > 0) == (film > 0)).all()
    assert ((masks == 2).sum((1, 2)) == 4 * 18).all()  # the brighter is never hidden
    assert set(np.unique(film)) <= {0, 100, 200, 255}
    assert (film[masks == 1] == 100).all()


def test_ours_and_the_plain_generator_are_compared_by_the_clip(monkeypatch):
    """Of 4 s each, ours makes 20 clips and the plain one its eight."""
    monkeypatch.setattr(making, "compare", lambda ours, plain, repeats: PairedTimes([4.0], [4.0]))
    monkeypatch.setattr(making, "shares", lambda _, apart_from: dict.fromkeys({"make", "simulate"} - {*apart_from}, 1))
    row = making._making("balls4", clips=20, repeats=1)
    assert (row["ms_per_clip"], row["plain_ms_per_clip"], row["ratio"]) == (200, 500, 2.5)
    assert set(row["bound_by"]) == {"simulate"}, "says what makes clips, not who asks"


def test_the_benchmark_runs_and_can_be_read():
    rows = bench_generate(clips=2, repeats=1, growth=[1, 3], whole=2, workers=1)
    for kind in ("making", "writing"):
        assert set(rows[kind]) == {"balls4", "balls678", "sm-mnist"}
    for row in rows["making"].values():
        assert len(row["bound_by"]) == 5
        assert 0 < sum(row["bound_by"].values()) <= 1
    assert set(rows["growth"]) == {"1", "3"}
    assert rows["whole"]["clips"] == 2
    shown = table(rows)
    assert all(word in shown for word in ("balls678", "times faster", "2 clips, 1 worker:"))
    rows["making"]["balls4"] |= {"ratio": 63.6, "ratio_lowest": 52.5, "ratio_highest": 110.0}
    head, row, *_ = table(rows).splitlines()
    assert row[head.index("bound by") :].startswith(next(iter(rows["making"]["balls4"]["bound_by"])))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"clips": 0}, "--clips must be at least 1, got 0"),
        ({"repeats": 0}, "--repeats must be at least 1, got 0"),
        ({"growth": [10, 0]}, "--growth must be at least 1, got 0"),
        ({"workers": 3}, "--workers must come with --whole, got 3"),
        ({"growth": ()}, "--growth must be given, got nothing"),
        ({"whole": -1}, "--whole must be at least 0, got -1"),
    ],
)
def test_wrong_numbers_are_refused(wrong, message):
    with pytest.raises(ValueError, match=f"^{message}; "):
        bench_generate(**wrong)


def test_the_whole_model_is_measured_only_with_its_core():
    rows = bench_cores(steps=2, batches=[1], repeats=1, cores=["scoff"], clips=1, horizon=2, device="cpu")
    assert rows["model"] == {}
    assert "whole model" not in cores_table(rows)


def test_the_benchmark_of_cores_runs_and_can_be_read():
    rows = bench_cores(steps=3, batches=[2], repeats=1, cores=["rims", "scoff"], clips=2, horizon=3, device="cpu")
    assert [(row["core"], row["batch"]) for row in rows["cores"]] == [("rims", 2), ("scoff", 2)]
    assert rows["operations"]["rims"]["forward"] <= 40
    assert rows["operations"]["scoff"]["host_waits"] == 0
    model = ["training_step_float32", "training_step_bfloat16", "rollout_3_frames_batch_1", "rollout_3_frames_batch_2"]
    assert list(rows["model"]) == model
    assert min(rows["model"].values()) > 0
    shown = cores_table(rows)
    words = (
        "rims, batch 2",
        "host waits",
        "training step bfloat16",
        "its products",
        f"{sum(row['limit'] for row in rows['cores']) / 2 / 1e9:.0f} GF",
    )
    assert all(word in shown for word in words)
    assert all(min(row["times_own_products"], row["times_the_limit"]) > 0 for row in rows["cores"])
    assert "with compiled steps" not in shown
    assert rows["device"] == []
    assert "on a CUDA device: not measured" in shown


def test_a_compiled_step_is_timed_beside_ours(monkeypatch):
    monkeypatch.setattr(bench, "with_compiled_step", partial(with_compiled_step, backend="eager"))
    subject = SUBJECTS["rims"]._replace(config=SMALL["rims"])
    row = bench._core_row(subject, steps=3, batch=2, repeats=1, compiled=True)
    assert row["times_faster_compiled"] > 0
    told = {"core": "rims", "batch": 2, "times_the_limit": 6.0, "times_faster_compiled": 1.25}
    _, header, line = bench._compiled_lines([told])
    assert header.split() == ["with", "compiled", "steps", "times", "faster", "times", "the", "limit"]
    assert line.split() == ["rims,", "batch", "2", "1.25", "4.8"]
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ValueError, match=r"^--compile must find the C\+\+ compiler no-such-compiler, got none"):
        bench_cores(compiled=True)


def test_a_core_has_the_time_of_a_step_beside_that_of_each_rival(monkeypatch):
    asked = []
    times = iter([PairedTimes([6.0], [12.0]), PairedTimes([8.0], [3.0]), PairedTimes([2.0], [5.0])])
    monkeypatch.setattr(bench, "compare", lambda ours, rival, _: asked.append((ours, rival)) or next(times))
    monkeypatch.setattr(bench, "times_the_limit", lambda *_: (7.0, 5e9))
    monkeypatch.setattr(bench, "product_seconds", lambda *_: 1.5)
    monkeypatch.setattr(bench, "with_compiled_step", lambda core: core)
    subject = SUBJECTS["rims"]._replace(config=SMALL["rims"])
    row = bench._core_row(subject, steps=4, batch=2, repeats=1, compiled=True)
    (ours, plain), (_, lstm), (faster, of_faster) = asked
    assert len({ours, plain, lstm, faster}) == 4
    assert of_faster is ours
    assert row == {
        "ms_per_step": 1500,
        "plain_ms_per_step": 3000,
        "lstm_ms_per_step": 750,
        "times_faster_than_plain": 2,
        "times_faster_than_lstm": 0.375,
        "times_the_limit": 7,
        "limit": 5e9,
        "times_own_products": 4,
        "times_faster_compiled": 2.5,
    }
    shown = bench.table({"cores": [{"core": "rims", "batch": 2} | row], "operations": {}, "device": [], "model": {}})
    assert "rims, batch 2          1500.00 3000.00  750.00          2.0   0.38          7.0           4.0" in shown


def test_operations_of_a_step_are_those_that_one_more_step_takes():
    subject = SUBJECTS["rims"]._replace(config=SMALL["rims"])
    core = build_core(subject.config, subject.features)
    four, five = (bench._operations(core, torch.randn(2, steps, 1, subject.features)) for steps in (4, 5))
    assert bench._operations_per_step(subject) == {name: five[name] - four[name] for name in five}


def test_the_plain_predictor_is_the_same_function():
    predictor = build(PredictorConfig(core=RIMsConfig(modules=6, active=5, units=7)), (1, 16, 24)).eval()
    film = torch.rand(2, 4, 1, 16, 24)
    plain = PlainPredictor(predictor, plain_rims(predictor.core)).eval()
    with torch.no_grad():
        torch.testing.assert_close(plain(film, own=3), predict_on(predictor, film, 3).logits, rtol=1e-4, atol=1e-5)
    layers = [layer for part in (plain.encoder, plain.decoder) for layer in part.modules()]
    assert not any(isinstance(layer, ELU) for layer in layers)
    kinds = nn.Linear | nn.Conv2d | PlainUpsampleConv
    assert all(layer.weight.is_contiguous() for layer in layers if isinstance(layer, kinds))
    assert not any(layer.inplace for layer in layers if isinstance(layer, nn.ReLU))


def test_an_unknown_core_is_refused():
    with pytest.raises(ValueError, match=r"^--cores must be one of rims, brims, scoff, got rim; did you mean rims\?$"):
        bench_cores(cores=["rim"])


def test_nothing_to_measure_is_refused():
    for measure in (bench_cores, bench_train):
        with pytest.raises(ValueError, match="--cores must name at least one, got nothing; give some of rims, "):
            measure(cores=())
    with pytest.raises(ValueError, match="--batches must be given, got nothing; give numbers such as 64 8"):
        bench_cores(batches=())


@pytest.mark.parametrize("wrong", [{"batches": (4, 0)}, {"steps": 0}, {"clips": 0}, {"horizon": 0}])
def test_wrong_numbers_for_cores_are_refused(wrong):
    with pytest.raises(ValueError, match=f"^(--)?{next(iter(wrong))} must be at least 1, got 0; give at least 1$"):
        bench_cores(**wrong)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_the_benchmark_of_scores_compares_the_same_numbers():
    rows = bench_scores(clips=70, frames=3, size=35, repeats=1)  # where predicted masks are a pixel off
    assert list(rows["scoring"]) == ["MSE, PSNR, BCE, F1", "SSIM", "FG-ARI, by frame", "FG-ARI, by clip"]
    assert all(row["largest_difference"] < 2e-6 for row in rows["scoring"].values())
    whole = rows["whole"]
    assert set(whole["scores"]) == {"mse", "psnr", "bce", "f1", "ssim"}
    assert whole["kept_MB"] == pytest.approx(70 * 3 * 9 * 8 / 1e6)  # nine numbers a frame, of clips that are all there
    assert 0 < whole["peak_MB_after_a_tenth"] <= whole["peak_MB"]  # that it hardly grows is the next test's
    shown = scores_table(rows)
    assert all(word in shown for word in ("FG-ARI, by clip", "70 clips of 3 frames", "peak memory"))


def test_times_of_scoring_are_per_frame_and_stand_beside_the_spread_of_their_ratio(monkeypatch):
    """Of 32 clips of 3 frames each, in 96 and 480 µs, with ratios of 5, 2.5 and 10."""
    times = PairedTimes(ours=[96e-6, 48e-6, 192e-6], baseline=[480e-6, 120e-6, 1920e-6])
    monkeypatch.setattr(scoring, "compare", lambda ours, plain, repeats: times)
    monkeypatch.setattr(scoring, "peak_memory_bytes", lambda: 7_000_000)
    rows = bench_scores(clips=40, frames=3, size=35, repeats=1)
    for row in rows["scoring"].values():
        assert (row["us_per_frame"], row["plain_us_per_frame"]) == (pytest.approx(1), pytest.approx(5))
        assert (row["ratio"], row["ratio_lowest"], row["ratio_highest"]) == pytest.approx((5, 2.5, 10))
    whole = rows["whole"]
    assert whole["us_per_frame"] == pytest.approx(1e6 * whole["seconds"] / 120)
    shown = scores_table(rows)
    assert "1.0 us      5 us    5.0 (2.5 to 10.0)" in shown
    assert "peak memory 7 MB after a tenth of the clips, 7 MB after all;" in shown


def test_plain_counts_of_lit_pixels_by_hand():
    """Half lit is lit: of the first frame two are hit and one is invented; then one is invented, two missed."""
    predicted = np.array([[[0.5, 0.9, 0.5], [0.1, 0.2, 0.4]], [[0.0, 0.1, 0.6], [0.2, 0.3, 0.4]]], np.float32)
    truth = np.array([[[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [1, 0, 0]]], np.float32)
    counts = plain_pixel_scores(predicted, truth)
    assert [counts[name].tolist() for name in ("tp", "fp", "fn", "tn")] == [[2, 0], [1, 1], [0, 2], [3, 3]]


_GROWTH = """
import videopred.bench.scores as bench
measure_all, films = bench.measure_all, []
def growth():
    found = bench._whole(1280, 5, 48)
    print(found["peak_MB"] - found["peak_MB_after_a_tenth"] - 2 * found["kept_MB"])
def keeping(metrics, prediction, truth):
    films.append((prediction, truth))
    return measure_all(metrics, prediction, truth)
growth()
bench.measure_all = keeping
growth()
"""


@pytest.mark.slow
def test_memory_of_scoring_does_not_grow_with_the_clips():
    """In a process of its own: the films that pass are 118 MB, and show when they are kept."""
    told = subprocess.run([sys.executable, "-c", _GROWTH], capture_output=True, text=True, check=True)
    usual, keeping = map(float, told.stdout.split())
    assert usual < 20 < keeping


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"clips": 0}, "--clips must be at least 1, got 0"),
        ({"frames": 0}, "--frames must be at least 1, got 0"),
        ({"repeats": 0}, "--repeats must be at least 1, got 0"),
        ({"size": 10}, "--size must be at least 11, got 10; SSIM's window needs 11 px"),
    ],
)
def test_a_benchmark_of_no_scores_is_refused(wrong, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        bench_scores(**wrong)
