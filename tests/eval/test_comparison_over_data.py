"""Comparison over data: cells by hand and by independent draws, and tables that cannot be laid side by side."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from videopred.eval import make_metric
from videopred.eval import scores as scoring
from videopred.eval.comparison_over_data import DataComparison, compare_over_data
from videopred.eval.data_names import by_data
from videopred.eval.scores import Scores
from videopred.eval.settings import F1Config, MSEConfig, Protocol

STUDENT = 4.302653
"""The 97.5 % point of Student's t with two degrees of freedom, from a table."""


def table(data: str, model: np.ndarray, blank: np.ndarray | None = None, metric: str = "mse", **changes) -> Scores:
    """Scores of a model of one run, (B, T), or of several, (S, B, T), on a data set."""
    runs = model[None] if model.ndim == 2 else model
    names = tuple(f"seed-{seed}" for seed in range(len(runs)))
    measured = dict(zip(names, runs, strict=True)) | ({} if blank is None else {"blank": blank})
    given = {
        "measurements": {row: {metric: {metric: values}} for row, values in measured.items()},
        "metrics": {metric: make_metric(metric)},
        "file": f"datasets/{data}.h5",
        "fingerprint": f"of-{data}",
        "reference": None,
        "protocol": Protocol(context=2, horizon=runs.shape[2], metrics=(metric,), clips=runs.shape[1]),
        "models": names,
        "seeds": {"model, all seeds": names} if len(names) > 1 else {},
    }
    return Scores(**(given | changes))


def constant(*means: float, clips: int = 5, steps: int = 2) -> np.ndarray:
    """Runs that are as good on every clip: one, (B, T), or several, (S, B, T)."""
    values = np.array(means)[:, None, None] + np.zeros((len(means), clips, steps))
    return values if len(means) > 1 else values[0]


def compared(*tables: tuple[str, Scores], **how) -> DataComparison:
    return compare_over_data(by_data(tables), **how)


def two_by_two(**how) -> DataComparison:
    return compared(
        ("gru", table("easy", constant(2), constant(9))),
        ("rims", table("easy", constant(1), constant(9))),
        ("gru", table("hard", constant(4, clips=7), constant(10, clips=7))),
        ("rims", table("hard", constant(5, clips=7), constant(10, clips=7))),
        **how,
    )


def draws(values: np.ndarray) -> np.ndarray:
    """(1000,): the mean over clips and steps in draws of the clips, as docs/scoring.md says; independent code."""
    chance = np.random.default_rng(0)
    return np.array([values[chance.integers(len(values), size=len(values))].mean() for _ in range(1000)])


def ends(drawn: np.ndarray, clips: int) -> tuple[float, float]:
    """The middle 95 % of draws, widened as docs/scoring.md says."""
    low, high = np.quantile(drawn, (0.025, 0.975))
    wider = np.sqrt(clips / (clips - 1)) * stats.t.ppf(0.975, clips - 1) / stats.norm.ppf(0.975)
    return (low + high) / 2 - wider * (high - low) / 2, (low + high) / 2 + wider * (high - low) / 2


def test_cells_are_means_of_each_model_on_each_data_set():
    found = two_by_two(relative_to="gru")
    assert list(found.data) == ["easy", "hard"]
    assert found.rows == ("gru", "rims", "blank")
    assert found.models == ("gru", "rims")
    means = {(row, data): found.cell(row, data, "mse").mean.value for row in found.rows for data in found.data}
    assert list(means.values()) == [2, 4, 1, 5, 9, 10]
    ratios = [found.cell(row, data, "mse").ratio.value for row in found.rows for data in found.data]
    assert ratios == pytest.approx([1, 1, 1 / 2, 5 / 4, 9 / 2, 10 / 4])


def test_the_interval_of_a_single_run_is_the_bootstraps_over_its_clips():
    chance = np.random.default_rng(3)
    values, others = chance.gamma(2, size=(12, 3)), chance.gamma(2, size=(9, 3))
    found = compared(("rims", table("a", values)), ("rims", table("b", others)))
    for data, of in (("a", values), ("b", others)):
        known = ends(draws(of), len(of))
        mean, ratio, seeds, deviation = found.cell("rims", data, "mse")
        assert mean == pytest.approx((of.mean(), *known))
        assert mean.half == pytest.approx((known[1] - known[0]) / 2)
        assert np.isnan([*ratio, deviation]).all()
        assert seeds == 1
    first = found.cell("rims", "a", "mse", 1).mean
    assert first == pytest.approx((values[:, 0].mean(), *ends(draws(values[:, :1]), 12)))


def test_the_interval_of_a_ratio_is_of_paired_draws():
    """Clips that are twice as hard for one as for the other: the ratio is 2 in every draw."""
    chance = np.random.default_rng(4)
    values, others = chance.gamma(2, size=(12, 3)), chance.gamma(2, size=(12, 3))
    on = {"twice": 2 * values, "other": others}
    tables = [("gru", table(data, values)) for data in on] + [("rims", table(data, of)) for data, of in on.items()]
    found = compared(*tables, relative_to="gru")
    assert found.cell("rims", "twice", "mse").ratio == pytest.approx((2, 2, 2))
    known = ends(draws(others) / draws(values), 12)
    assert found.cell("rims", "other", "mse").ratio == pytest.approx((others.mean() / values.mean(), *known))


def test_of_a_score_whose_best_is_one_the_error_is_what_is_missing():
    """0.9 and 0.6: 0.1 is missing, and 0.4."""
    on = ("a", "b")
    tables = [("gru", table(data, constant(0.6), metric="ssim")) for data in on]
    tables += [("rims", table(data, constant(0.9), metric="ssim")) for data in on]
    found = compared(*tables, relative_to="gru")
    assert found.cell("rims", "a", "ssim").ratio == pytest.approx((0.25, 0.25, 0.25))
    endless = type("Endless", (type(make_metric("mse")),), {"range": (float("-inf"), 0)})
    tables = [("gru", table(data, constant(20), metrics={"mse": endless(MSEConfig())})) for data in on]
    assert np.isnan(compared(*tables, relative_to="gru").cell("gru", "a", "mse").ratio).all(), "nothing is best"
    perfect = [("gru", table(data, constant(0), constant(3))) for data in on]
    assert np.isnan(compared(*perfect, relative_to="gru").cell("blank", "a", "mse").ratio).all()


def test_the_interval_of_a_ratio_rests_on_the_clips_of_the_row_that_has_fewer():
    """Of a reference that has a value in a single clip, there is none."""
    few = constant(2)
    few[1:] = np.nan
    tables = [(row, table(data, values)) for data in "ab" for row, values in (("gru", few), ("rims", constant(1)))]
    cell = compared(*tables, relative_to="gru").cell("rims", "a", "mse")
    assert cell.ratio.value == 0.5
    assert np.isnan(cell.ratio[1:]).all()
    assert np.isfinite(cell.mean).all()


def test_of_several_seeds_the_interval_is_students():
    """2, 4, 6: 4 and t sd / sqrt(3); relative to a sure 8, an eighth of both; to themselves, sure."""
    seeds, half = constant(2, 4, 6), STUDENT * 2 / 3**0.5
    tables = [("rims", table(data, seeds)) for data in ("a", "b")] + [
        ("gru", table(data, constant(8))) for data in ("a", "b")
    ]
    mean, ratio, runs, deviation = compared(*tables, relative_to="gru").cell("rims", "a", "mse")
    assert (runs, deviation) == (3, pytest.approx(2))
    assert mean == pytest.approx((4, 4 - half, 4 + half), abs=1e-5)
    assert ratio == pytest.approx((0.5, (4 - half) / 8, (4 + half) / 8), abs=1e-5)
    against = compared(*tables, relative_to="rims")
    assert against.cell("rims", "a", "mse").ratio == (1, 1, 1)
    assert against.cell("gru", "a", "mse").ratio == pytest.approx((2, 2 - half / 2, 2 + half / 2), abs=1e-5)


@pytest.mark.slow
def test_the_ratio_of_two_models_of_seeds_is_in_its_interval_as_often_as_it_says(monkeypatch):
    """95 %; models of four seeds each, whose true errors are 10 and 8; the standard error of 400 worlds is 1.1 %."""

    def alike(measured, *_):
        return {row: {"mse": np.repeat(of["mse"]["mse"][:1], 3, 0)} for row, of in measured.items()}

    monkeypatch.setattr(scoring, "resample", alike)  # which is slow, and draws clips that are all alike here
    chance, held = np.random.default_rng(6), 0
    for _ in range(400):
        runs = [true + chance.normal(scale=0.5, size=(4, 1, 1)) + np.zeros((4, 2, 1)) for true in (10, 8)]
        tables = [(name, table(data, of)) for name, of in zip(("gru", "rims"), runs, strict=True) for data in "ab"]
        ratio = compared(*tables, relative_to="gru").cell("rims", "a", "mse").ratio
        held += ratio.low <= 0.8 <= ratio.high
    assert 0.92 <= held / 400 <= 0.98


def test_the_table_has_a_row_for_a_model_and_a_column_for_a_data_set():
    text = two_by_two(relative_to="gru").table()
    title, means, ratios, legend = text.split("\n\n")
    asked = "2 data sets: 5 to 7 clips of the test part of each, 2 frames of context, 2 predicted, feedback soft"
    assert title == f"{asked}; relative to gru; * marks the best of a column"
    assert [line.split() for line in means.splitlines()] == [
        ["MSE", "↓,", "mean", "of", "2", "easy", "hard"],
        ["gru", "2.0000", "±0.0000", "4.0000", "±0.0000*"],
        ["rims", "1.0000", "±0.0000*", "5.0000", "±0.0000"],
        ["blank", "9.0000", "±0.0000", "10.0000", "±0.0000"],
    ]
    assert [line.split() for line in ratios.splitlines()] == [
        ["relative", "error,", "mean", "of", "2", "easy", "hard"],
        ["gru", "1.000", "±0.000", "1.000", "±0.000"],
        ["rims", "0.500", "±0.000!", "1.250", "±0.000!"],
        ["blank", "4.500", "±0.000!", "2.500", "±0.000!"],
    ]
    assert legend.splitlines()[1:] == [
        "±: half of the 95 % interval over clips (bootstrap, widened by Student's t)",
        "relative error: distance from the best value, divided by that of gru on the same clips; ! where the interval "
        "excludes 1, not corrected for several comparisons",
    ]
    document = two_by_two().markdown()
    assert "| MSE ↓, mean of 2 | easy | hard |\n| --- | ---: | ---: |\n| gru | 2.0000 ±0.0000 |" in document
    assert "relative" not in document
    paper = two_by_two().latex()
    assert "; bold marks the best of a column" in paper.splitlines()[0]
    assert r"rims & \textbf{1.0000 $\pm$0.0000} & 5.0000 $\pm$0.0000 \\" in paper


def test_means_over_first_steps_have_tables_of_their_own():
    values = np.arange(1.0, 4) + np.zeros((5, 3))
    asked = Protocol(context=2, horizon=3, metrics=("mse",), clips=5, means=(1,))
    found = compared(*(("gru", table(data, values, protocol=asked)) for data in ("a", "b")))
    corners = [block.partition("  ")[0] for block in found.table().split("\n\n")[1:-1]]
    assert corners == ["MSE ↓, mean of 1", "MSE ↓, mean of 3"]
    assert [found.cell("gru", "a", "mse", steps).mean.value for steps in (1, 3)] == [1, 2]


def test_the_best_of_first_steps_is_the_best_of_these():
    """gru begins well and ends badly; rims is as good at all steps."""
    asked = Protocol(context=2, horizon=3, metrics=("mse",), clips=5, means=(1,))
    on = {"gru": np.array([1.0, 3, 8]) + np.zeros((5, 3)), "rims": constant(2, steps=3)}
    tables = [(row, table(data, of, protocol=asked)) for row, of in on.items() for data in "ab"]
    blocks = [block.splitlines() for block in compared(*tables, relative_to="gru").table().split("\n\n")[1:-1]]
    assert [lines[0].partition("  ")[0] for lines in blocks] == [
        "MSE ↓, mean of 1", "relative error, mean of 1", "MSE ↓, mean of 3", "relative error, mean of 3"
    ]  # fmt: skip
    assert [[line.split()[0] for line in lines if "*" in line] for lines in blocks] == [["gru"], [], ["rims"], []]
    assert [lines[2].split()[1] for lines in blocks] == ["2.0000", "2.000", "2.0000", "0.500"]


def test_a_model_that_was_not_scored_on_a_data_set_leaves_its_cell_empty_and_is_named():
    found = compared(
        ("gru", table("a", constant(2))), ("gru", table("b", constant(3))), ("rims", table("b", constant(1)))
    )
    assert found.missing == {"rims": ["a"]}
    assert found.cell("rims", "a", "mse") is None
    text = found.table()
    assert [line.split() for line in text.splitlines() if line.startswith("rims ")] == [
        ["rims", "–", "1.0000", "±0.0000*"]
    ]
    assert "\nempty, as not scored yet (see `videopred evaluate`): rims on datasets/a.h5\n" in text
    assert list(found.to_dict()["rows"]["rims"]) == ["b"]
    assert [line["data"] for line in csv.DictReader(io.StringIO(found.to_csv())) if line["row"] == "rims"] == ["b"]
    assert "not scored" not in two_by_two().table()
    against = compared(
        ("gru", table("a", constant(2))),
        ("gru", table("b", constant(3))),
        ("rims", table("b", constant(1))),
        relative_to="rims",
    )
    assert "–" in against.table().split("\n\n")[2]


def test_files_have_every_number():
    found = two_by_two(relative_to="rims")
    lines = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [(line["row"], line["data"]) for line in lines][:2] == [("gru", "easy"), ("gru", "hard")]
    assert len(lines) == 6
    assert {**lines[1]} == {
        "row": "gru", "data": "hard", "metric": "mse", "steps": "2", "value": "4.0", "low": "4.0", "high": "4.0",
        "relative to": "rims", "relative error": "0.8", "relative low": "0.8", "relative high": "0.8", "seeds": "1",
        "deviation over seeds": "",
    }  # fmt: skip
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["data"]["hard"] == {"file": "datasets/hard.h5", "fingerprint": "of-hard", "clips": 7, "notes": []}
    cell = told["rows"]["gru"]["hard"]["mse"]["2"]
    assert cell["mean"] == {"value": 4, "low": 4, "high": 4}
    assert cell["deviation"] is None
    assert "clips" not in told["protocol"]


def test_rows_of_one_name_on_different_data_are_one_row():
    tables = [("scoff-a", table("a", constant(1))), ("scoff-b", table("b", constant(2)))]
    found = compared(*tables, names={"scoff-a": "SCOFF", "scoff-b": "SCOFF"}, relative_to="SCOFF")
    assert found.rows == ("SCOFF",)
    assert [found.cell("SCOFF", data, "mse").mean.value for data in "ab"] == [1, 2]


def test_seeds_are_told_where_there_are_as_many_and_where_not():
    three, two = table("a", constant(2, 4, 6)), table("b", constant(2, 4))
    text = compared(("rims", three), ("rims", two)).table()
    assert "\nrims: mean of 3 seeds on a, 2 seeds on b\n" in text
    assert "over clips (bootstrap, widened by Student's t) and seeds (Student's t); a single run stands for" in text
    same = compared(("rims", three), ("rims", replace(three, file="b.h5", fingerprint="of-b"))).table()
    assert "\nrims: mean of 3 seeds\n" in same
    single = compared(("rims", three), ("gru", table("a", constant(1))), ("rims", table("b", constant(2)))).table()
    assert "\nrims: mean of 3 seeds on a, 1 seed on b\n" in single
    assert "\ngru: mean of" not in single
    assert single.endswith(" and seeds (Student's t); a single run stands for itself alone")


def test_what_a_reader_must_know_of_scores_is_said_with_their_data():
    """Frames that are capped, and what scores themselves note."""
    of = {"psnr": {"psnr": np.full((5, 2), 100.0), "capped": np.eye(5, 2)}}
    plain = {"psnr": {"psnr": np.full((5, 2), 20.0), "capped": np.zeros((5, 2))}}
    on = {"a": {"measurements": {"seed-0": of}, "notes": ("it is dark",)}, "b": {"measurements": {"seed-0": plain}}}
    found = compared(*(("gru", table(data, constant(1), metric="psnr", **changes)) for data, changes in on.items()))
    assert [line for line in found.table().splitlines() if line.startswith("on ")] == [
        "on a, PSNR of gru: 2 of 10 frames above 100 dB, counted as 100",
        "on a, it is dark",
    ]


def test_of_single_clips_there_is_no_interval():
    found = compared(*(("rims", table(data, constant(2, clips=1))) for data in "ab"), relative_to="rims")
    mean, ratio, *_ = found.cell("rims", "a", "mse")
    assert (mean.value, ratio.value) == (2, 1)
    assert np.isnan([*mean[1:], *ratio[1:]]).all()
    assert "±" not in found.table()
    assert "\nno interval for a single clip or scene\n" in found.table()


def test_what_differs_between_tables_is_left_out_and_named():
    first = table("a", constant(1), constant(5))
    other = table("a", constant(2), constant(6))
    more = table("b", constant(2), constant(7))
    others = {name: make_metric(name) for name in ("mae", "bce")}
    measured = {row: of | {name: {name: of["mse"]["mse"]} for name in others} for row, of in more.measurements.items()}
    more = replace(more, measurements=measured, metrics=more.metrics | others)
    found = compared(("gru", first), ("rims", other), ("gru", more))
    text = found.table()
    assert "\nleft out, as not all tables have them: mae, bce\n" in text
    assert "\nleft out, as they differ between tables (see --reference): blank on a\n" in text
    assert found.cell("blank", "a", "mse") is None
    assert found.missing == {"rims": ["b"]}


@pytest.mark.parametrize(
    ("tables", "how", "message"),
    [
        (
            [("gru", table("a", constant(1))), ("rims", table("b", constant(1)))],
            {},
            "SCORES must be of the same data, or have a model that is on several, got gru on a, and rims on b; score a "
            "model on each, or give rows on different data one name with --names",
        ),
        (
            [("gru", table("a", constant(1))), ("gru", table("b", constant(1, steps=3)))],
            {},
            "^SCORES must be of the same protocol as a, got b with horizon 3, and a with horizon 2; evaluate both in "
            "the same way$",
        ),
        (
            [("gru", table("a", constant(1))), ("gru", table("b", constant(1), metric="mae"))],
            {},
            "SCORES must share a metric, got gru on a with mse; gru on b with mae; evaluate them with the same",
        ),
        (
            [("gru", table("a", constant(1))), ("gru", table("b", constant(1)))],
            {"relative_to": "grue"},
            r"--relative-to must be one of gru, got grue; did you mean gru\?",
        ),
        (
            [("gru", table("a", constant(1))), ("gru", table("b", constant(1)))],
            {"names": {"gre": "GRU"}},
            r"--names must be one of gru, got gre; did you mean gru\?",
        ),
        (
            [("gru", table("a", constant(1))), ("rims", table("a", constant(2))), ("gru", table("b", constant(1)))],
            {"names": {"rims": "gru"}},
            "--names must be another for each row on the same data, got gru for gru and rims; all are on a.h5",
        ),
        (
            [("gru", table("a", constant(1))), ("gru", table("a", constant(2)))],
            {},
            "SCORES must be given once each, got gru on datasets/a.h5; leave one out",
        ),
        (
            [("gru", table("a", constant(1))), ("rims", table("a", constant(2), fingerprint="new"))],
            {},
            r"SCORES must be of one content of datasets/a\.h5, got gru with of-a, and rims with new; evaluate all",
        ),
    ],
)
def test_what_cannot_be_laid_side_by_side_is_said(tables, how, message):
    with pytest.raises(ValueError, match=message):
        compared(*tables, **how)


@pytest.mark.parametrize("names", [0, [], "gru", {"gru": ""}])
def test_names_of_rows_are_a_dict(names):
    with pytest.raises(TypeError, match=r"^names must be a dict of rows and what they are called, got "):
        compared(("gru", table("a", constant(1))), ("gru", table("b", constant(2))), names=names)


def test_metrics_of_other_settings_are_not_laid_side_by_side():
    def f1(data: str, threshold: float) -> Scores:
        counts = {key: np.full((5, 2), 2.0) for key in ("tp", "fp", "fn", "tn")}
        metric = make_metric("f1", F1Config(threshold=threshold))
        return table(data, constant(1), measurements={"seed-0": {"f1": counts}}, metrics={"f1": metric})

    assert compared(("gru", f1("a", 0.5)), ("gru", f1("b", 0.5))).rows
    with pytest.raises(ValueError, match=r"SCORES must be of the same settings of metrics as a, got b with .*0\.4"):
        compared(("gru", f1("a", 0.5)), ("gru", f1("b", 0.4)))
