"""The table of scores: means, steps, stars and skills."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from made_up_scores import SPREAD, made_up

from videopred.eval import make_metric
from videopred.eval.comparison import compare
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.report.tables import comparison_tables, seed_table


@pytest.fixture
def scores() -> Scores:
    return made_up()


def test_table_shows_means_steps_and_the_best_of_each_column(scores):
    lines = scores.table(steps=[1, 3]).splitlines()
    assert lines[0].startswith("balls4.h5: 7 clips of the test part, 4 frames of context, 3 predicted, feedback soft")
    head, model, blank, _ = lines[2:6]
    assert head == "mean of 3 steps            BCE ↓           F1 ↑"
    assert re.fullmatch(r"model                 107.0 ±0.2\*  0.361 ±0\.\d{3}", model)
    assert re.fullmatch(r"blank                 140.7 ±0.0   0.500 ±0\.\d{3}\*", blank)
    assert lines[7:10] == [
        "skill                     BCE        F1",
        "model                   0.164     0.148",
        "blank                  -0.099     0.333",
    ]
    assert lines[11:15] == [
        "BCE ↓ at step               1         3",
        "model                     1.0*    300.0*",
        "blank                     2.0     400.0",
        "copy last                 4.0     320.0",
    ]
    assert lines[16:19] == [
        "F1 ↑ at step                1         3",
        "model                   0.333     0.250",
        "blank                   0.500*    0.500*",
    ]
    assert "nats per frame" in lines[21]
    assert lines[23:] == [
        "±      half of the 95 % interval over clips (bootstrap, widened by Student's t)",
        "skill  of the mean: 0 is copy last, 1 the metric's best value",
    ]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "7 clips of the test part, 4 frames of context, 3 predicted, feedback soft"),
        ({"clips": 1200}, "1,200 clips of the test part, 4 frames of context, 3 predicted, feedback soft"),
        (
            {"clips": 1, "context": 1, "part": "train", "feedback": "threshold:0.5"},
            "1 clip of the train part, 1 frame of context, 3 predicted, feedback threshold:0.5",
        ),
        (
            {"feedback": "true"},
            "7 clips of the test part, 4 frames of context, 3 predicted, every frame from the true ones before it",
        ),
        (
            {"feedback": "elsewhere", "samples": 5},
            "7 clips of the test part, 4 frames of context, 3 predicted, films made elsewhere, 5 samples of a clip",
        ),
        (
            {"name": "rnem-balls", "changed": ("horizon", "first")},
            "rnem-balls changed (horizon, first), 7 clips of the test part, 4 frames of context, 3 predicted, "
            "feedback soft",
        ),
    ],
)
def test_the_title_says_what_was_asked(asked, said):
    usual = made_up()
    scores = replace(usual, protocol=usual.protocol.model_copy(update=asked))
    assert scores.table().splitlines()[0] == f"balls4.h5: {said}; * marks the best of a column"


def test_a_protocol_can_ask_for_means_over_fewer_steps():
    asked = Protocol(context=4, horizon=3, metrics=("bce", "f1"), clips=7, means=(2,), name="short")
    lines = made_up(protocol=asked).table().splitlines()
    assert lines[0].startswith("balls4.h5: short, 7 clips")
    assert lines[2].startswith("mean of 2 steps")
    assert lines[3].startswith("model                 10.5 ±0.2*")
    assert lines[7].startswith("mean of 3 steps")
    assert made_up(protocol=asked).to_dict()["rows"]["model"]["bce"]["means"] == {"2": 10.5, "3": 107.0}


def test_metrics_are_named_once():
    with pytest.raises(ValueError, match=r"^--metrics must name each once, got mse twice; leave one out"):
        Protocol(context=3, horizon=5, metrics=("mse", "f1", "mse"))


def test_spans_are_in_their_order_and_each_once():
    assert Protocol(context=4, horizon=5, means=(5, 3, 1)).spans == (1, 3, 5)


def test_stars_and_intervals_of_the_first_steps_are_of_these_alone(scores):
    """At the third step the model is worst, and its clips differ. The oracle, best of all, has no star."""
    late = np.array([1.0, 20.0, 900.0]) + SPREAD * np.array([0, 0, 1])
    measured = {"model": {"bce": {"bce": late}}, "blank": {"bce": scores.measurements["blank"]["bce"]}}
    measured["physics oracle"] = {"bce": {"bce": np.zeros((7, 3))}}
    asked = Protocol(context=4, horizon=3, metrics=("bce",), clips=7, means=(2,))
    bce = {"bce": make_metric("bce")}
    lines = made_up(measurements=measured, metrics=bce, protocol=asked).table().splitlines()
    short, whole = (next(n for n, line in enumerate(lines) if line.startswith(f"mean of {k} steps")) for k in (2, 3))
    assert [line.split()[-2:] for line in lines[short + 1 : short + 4]] == [
        ["10.5", "±0.0*"],
        ["11.0", "±0.0"],
        ["0.0", "±0.0"],
    ]
    assert re.fullmatch(r"model +307\.0 ±0\.[2-9]", lines[whole + 1].rstrip())
    assert [line.rstrip().endswith("*") for line in lines[whole + 1 : whole + 4]] == [False, True, False]


def test_the_values_that_a_table_is_of_cannot_be_changed(scores):
    with pytest.raises(ValueError, match="read-only"):
        scores.values["model"]["bce"] *= 100


def test_one_clip_has_no_interval():
    one = made_up(clips=1)
    assert one.interval("blank", "bce") is None
    for interval in (one.interval, one.intervals):
        with pytest.raises(ValueError, match=r"^row must be one of "):
            interval("nobody", "bce")
    assert "±      not given for a single clip" in one.table().splitlines()
    assert re.search(r"^blank +140\.7 ", one.table(), re.MULTILINE)
    stored = one.to_dict()["rows"]["blank"]["bce"]
    assert (stored["interval"], stored["intervals"]) == (None, None)
    assert one.to_csv().splitlines()[1].endswith(",,")


def test_runs_that_differ_in_their_seed_have_a_mean_over_runs():
    """Means 107 and 111: their mean lies within 12.706 * sqrt(8) / sqrt(2) = 25.4 by Student's t, one degree."""
    base = made_up().measurements
    other = {"bce": {"bce": base["model"]["bce"]["bce"] + 4}, "f1": base["model"]["f1"]}
    two = made_up(measurements={"a": base["model"], "b": other}, models=("a", "b"), seeds={"gru": ("a", "b")})
    assert re.search(r"^gru +109\.0 ±25\.4 +0\.361 ±0\.000$", two.table(), re.MULTILINE)
    assert "over runs that differ in their seed (Student's t)" in two.table()
    told = two.to_dict()["over_seeds"]["gru"]["bce"]
    assert told["mean"] == pytest.approx(109)
    np.testing.assert_allclose(told["interval"], [109 - 25.412, 109 + 25.412], atol=1e-3)


def test_of_how_many_steps_a_mean_over_runs_is_stands_where_there_are_several():
    """Means of the first two steps: 10.5 and 14.5, half of their interval as above."""
    base = made_up().measurements
    rows = {"a": base["model"], "b": {"bce": {"bce": base["model"]["bce"]["bce"] + 4}, "f1": base["model"]["f1"]}}
    asked = Protocol(context=4, horizon=3, metrics=("bce", "f1"), clips=7, means=(2,))
    two = made_up(measurements=rows | {"copy last": base["blank"]}, models=("a", "b"), seeds={"gru": ("a", "b")})
    two = replace(two, protocol=asked)
    corners = [re.split("  +", line)[0] for line in two.table().splitlines()]
    heads = ["mean of 2 steps", "mean of 3 steps", "mean over runs, 2 steps", "mean over runs, 3 steps"]
    assert [corner for corner in corners if corner.startswith("mean o")] == heads
    assert "skill, 3 steps" in corners
    assert re.search(r"^gru +12\.5 ±25\.4 ", two.table(), re.MULTILINE)
    assert two.to_dict()["over_seeds"]["gru"]["bce"]["means"] == pytest.approx({"2": 12.5, "3": 109})


def test_a_mean_over_runs_that_there_is_not_is_a_dash_and_is_explained():
    base = made_up().measurements["model"]
    nothing = {"bce": {"bce": np.full_like(base["bce"]["bce"], np.nan)}, "f1": base["f1"]}
    two = made_up(measurements={"a": base, "b": nothing}, models=("a", "b"), seeds={"gru": ("a", "b")})
    assert re.search(r"^gru +– +0\.361 ±0\.000$", two.table(), re.MULTILINE)
    assert "BCE of gru: no mean, as b has no value" in two.table()
    assert "BCE of gru: no mean, as b has no value" in " ".join(two.to_dict()["remarks"])


def test_runs_that_have_values_at_different_steps_have_no_mean():
    base = made_up().measurements["model"]
    short = base["bce"]["bce"].copy()
    short[:, 1:] = np.nan
    other = {"bce": {"bce": short}, "f1": base["f1"]}
    two = made_up(measurements={"a": base, "b": other}, models=("a", "b"), seeds={"gru": ("a", "b")})
    assert re.search(r"^gru +– +0\.361 ±0\.000$", two.table(), re.MULTILINE)
    assert "BCE of gru: no mean, as its runs have values at different steps" in two.table()
    row = compare({"gru": two}).rows["gru"]
    assert np.isnan(row.means("bce")).all()
    assert row.means("bce", 1) == pytest.approx([row.scores.mean(run, "bce", 1) for run in "ab"])
    assert not row.of_like_steps(row, "bce")


def test_what_rests_on_a_single_clip_has_no_interval():
    """The model has values of one clip alone at the steps that are shown; a line of it says so much by its lack."""
    base = made_up().measurements
    lone = base["model"]["bce"]["bce"].copy()
    lone[1:] = np.nan
    rows = {"model": {"bce": {"bce": lone}}, "blank": {"bce": base["model"]["bce"]}}
    scores = made_up(measurements=rows, metrics={"bce": make_metric("bce")})
    assert scores.clips_with_values("model", "bce") == 1
    assert re.search(r"^model +[\d.]+\*?$", scores.table(), re.MULTILINE)
    assert "±" in scores.table().splitlines()[4]
    assert "\nBCE of model: a single clip has a value, so there is no interval\n" in f"{scores.table()}\n"
    assert "of blank" not in scores.table()
    assert np.isnan(compare({"a": scores}, "blank").difference("a", "bce").low)


def test_a_step_about_which_nothing_can_be_said_is_a_gap():
    class Silent(type(make_metric("bce"))):
        def reduce(self, measured, clip_weights=None):
            values = super().reduce(measured, clip_weights)
            values[1] = torch.nan
            return values

    gap = made_up(metrics={"bce": Silent(make_metric("bce").config)}, measurements={
        "model": {"bce": {"bce": [1.0, 20.0, 300.0] + 0.1 * SPREAD}}
    })  # fmt: skip
    assert gap.mean("model", "bce") == pytest.approx(150.5)
    assert re.search(r"^model +1\.0 +– +300\.0$", gap.table(steps=[1, 2, 3]), re.MULTILINE)
    stored = json.loads(json.dumps(gap.to_dict(), allow_nan=False))["rows"]["model"]["bce"]
    assert stored["steps"][1] is None
    assert stored["intervals"][1] == [None, None]
    assert gap.to_csv().splitlines()[2] == "model,bce,2,,,"


def test_equally_good_rows_are_both_marked(scores):
    assert scores.table(steps=[2]).count("20.0*") == 2


def test_no_row_is_marked_where_all_are_equal():
    same = {row: {"bce": {"bce": np.full((7, 3), 5.0)}} for row in ("model", "blank")}
    scores = made_up(measurements=same, metrics={"bce": make_metric("bce")})
    assert "5.0*" not in scores.table()
    assert "0.0*" not in scores.table()


def test_where_copy_last_is_perfect_there_is_no_skill(tmp_path):
    """Nothing moved: who is worse would be infinitely so, which JSON does not know, and who is as good has 0 of 0."""
    measurements = {
        row: {"bce": {"bce": np.full((7, 3), value)}} for row, value in (("model", 5.0), ("copy last", 0.0))
    }
    still = made_up(measurements=measurements, metrics={"bce": make_metric("bce")})
    assert [still.skill(row, "bce") for row in still.values] == [None, None]
    assert "skill" not in still.table()
    assert json.loads(still.save(tmp_path)[0].read_text())["rows"]["model"]["bce"]["skill"] is None


def test_a_metric_without_a_best_value_has_no_skill():
    class Endless(type(make_metric("bce"))):
        range, higher_is_better = (0.0, float("inf")), True

    endless = made_up(metrics={"bce": Endless(make_metric("bce").config)})
    endless = endless.only(["bce"])
    assert endless.skill("model", "bce") is None
    assert "skill" not in endless.table()


@pytest.mark.parametrize(("frames", "share"), [(2, "; 0.75 of the 2 for which this world can be predicted"), (3, "")])
def test_a_share_of_what_can_be_predicted_is_told_only_where_all_of_it_could_be_reached(frames, share):
    """Kept by all clips at the first step, by half of them at the second: 1.5 frames of at most 3."""
    kept = {"total": np.tile([[1.0, 1, 0], [1, 0, 0]], (3, 1)), "count": np.ones((6, 3))}
    found = made_up(measurements={"model": {"kept": kept}}, metrics={"kept": make_metric("kept")})
    told = f"kept of model: 1.5 frames on average until a clip is lost, at most 3{share}"
    assert replace(found, predictable=frames).remarks == (told,)


def test_a_row_of_which_less_can_be_said_takes_no_part_and_is_told():
    """As an error in px of objects that are soon lost: what is left are the easy first steps."""
    some = {row: {"bce": {"bce": np.tile(values, (7, 1))}} for row, values in {
        "model": [1.0, np.nan, np.nan], "blank": [2.0, 3.0, 4.0], "copy last": [3.0, 4.0, 5.0]
    }.items()}  # fmt: skip
    scores = made_up(measurements=some, metrics={"bce": make_metric("bce")})
    table = scores.table(steps=[1, 2])
    assert re.search(r"^model +1\.0 ±0\.0$", table, re.MULTILINE)
    assert re.search(r"^blank +3\.0 ±0\.0\*$", table, re.MULTILINE)
    assert [scores.skill(row, "bce") for row in scores.values] == [None, pytest.approx(1 / 4), 0]
    assert scores.remarks == ("BCE of model: the mean is over 1 of 3 steps; it has no value at the others",)
    assert "BCE of model: the mean is over 1 of 3 steps" in table
    easy = replace(scores, models=("blank",)).remarks
    assert easy == scores.remarks, "also of a trivial baseline, whose good mean would mislead as much"
    (at_step,) = (block for block in table.split("\n\n") if "at step" in block)
    assert [line.split()[-2:] for line in at_step.splitlines()[1:3]] == [["1.0*", "–"], ["2.0", "3.0*"]]


@pytest.mark.parametrize(
    ("known", "shown"),
    [
        ({3: [4, 9], 4: [9, 17]}, [4, 9, 17]),
        ({3: range(1, 18)}, [1, 3, 6, 8, 10, 12, 15, 17]),
        ({}, [1, 2, 5, 10, 18]),
    ],
)
def test_a_curve_along_something_else_is_told_where_it_has_values(monkeypatch, known, shown):
    """As survival by hidden frames, which has values at lengths that occurred; `known`: at which of which row."""
    metric, values = make_metric("bce"), np.full((2, 18), np.nan)
    monkeypatch.setattr(type(metric), "along", "hidden frames")
    for row, (level, lengths) in enumerate(known.items()):
        values[row, np.array(lengths) - 1] = level
    rows = {
        row: {"bce": {"bce": np.tile(of_row, (7, 1))}} for row, of_row in zip(("model", "blank"), values, strict=True)
    }
    asked = Protocol(context=4, horizon=18, metrics=("bce",), clips=7)
    table = made_up(measurements=rows, metrics={"bce": metric}, protocol=asked).table()
    (head,) = (line for line in table.splitlines() if " by hidden frames " in line)
    assert head.startswith("BCE ↓ by hidden frames ")
    assert [int(length) for length in head.split()[5:]] == shown


def test_skills_are_left_out_where_none_can_be_said(scores):
    """As where rows have values at different steps."""
    assert "\nskill " in scores.table()
    apart = {row: {"bce": {"bce": np.tile(values, (7, 1))}} for row, values in {
        "model": [1.0, np.nan, np.nan], "blank": [np.nan, 3.0, 4.0], "copy last": [np.nan, 4.0, np.nan]
    }.items()}  # fmt: skip
    assert "skill" not in made_up(measurements=apart, metrics={"bce": make_metric("bce")}).table()


def test_a_row_of_which_nothing_can_be_said_has_its_dash_and_no_remark():
    """As masks of a model that gives none: that is told in a note, once."""
    silent = {row: {"bce": {"bce": np.full((7, 3), value)}} for row, value in (("model", np.nan), ("blank", 2.0))}
    scores = made_up(measurements=silent, metrics={"bce": make_metric("bce")})
    assert scores.remarks == ()
    assert re.search(r"^model +–$", scores.table(), re.MULTILINE)


def test_steps_outside_the_rollout_are_refused(scores):
    with pytest.raises(ValueError, match="steps must lie in 1 to 3, got 0; step 1 is the first predicted frame"):
        scores.table(steps=[0])
    with pytest.raises(ValueError, match="steps must lie in 1 to 3, got 4"):
        scores.table(steps=[1, 4])
    for steps in (-1, 0, 4):
        for told in (scores.mean, scores.interval, scores.clips_with_values):
            with pytest.raises(ValueError, match=f"steps must lie in 1 to 3, got {steps}; step 1 is"):
                told("model", "bce", steps)
        with pytest.raises(ValueError, match=f"steps must lie in 1 to 3, got {steps}; step 1 is"):
            scores.of_like_steps(["model", "blank"], "bce", steps)
    for wrong in (1.5, True, "2"):
        with pytest.raises(TypeError, match=f"^steps must be whole numbers, got {wrong!r}; step 1 is the first"):
            scores.mean("model", "bce", wrong)
    for wrong in (2, {2: 1}, "2"):
        with pytest.raises(TypeError, match=r"^steps must be numbers of steps, got .*; write e.g. steps="):
            scores.table(wrong)


def test_steps_of_a_table_may_be_an_array_or_what_is_read_once(scores):
    for steps in (np.array([1, 3]), iter((1, 3))):
        assert scores.table(steps) == scores.table([1, 3])


def test_a_metric_by_which_nothing_can_be_said_of_any_row_is_told():
    """As of the objects that stay tracked while they are hidden, where none is ever hidden."""
    some = {row: {"bce": {"bce": np.full((7, 3), np.nan)}} for row in ("model", "blank")}
    scores = made_up(measurements=some, metrics={"bce": make_metric("bce")})
    (told,) = scores.remarks
    assert told.startswith("BCE of model: no value at any step, nor has another row one")
    assert told in scores.table()


def test_small_errors_keep_two_digits_in_every_table():
    small = {name: {"mse": {"mse": np.full((7, 3), value)}} for name, value in {"a": 0.0002, "b": 0.0004}.items()}
    asked = Protocol(context=4, horizon=3, metrics=("mse",), clips=7)
    metrics = {"mse": make_metric("mse")}
    two = made_up(measurements=small, metrics=metrics, protocol=asked, models=("a", "b"), seeds={"gru": ("a", "b")})
    lines = [line.split() for line in two.table().splitlines() if line]
    assert ["a", "0.00020", "±0.00000*"] in lines
    assert ["gru", "0.00030", "±0.00127"] in lines
    assert seed_table(two).rows[0].cells[0].text == "0.00030 ±0.00127"
    alone = replace(two, seeds={})
    means, apart = comparison_tables(compare({"all": alone}, relative_to="a"))
    assert [row.cells[0].text for row in means.rows] == ["0.00020 ±0.00000", "0.00040 ±0.00000"]
    assert apart.rows[0].cells[0].text == "0.00020"
