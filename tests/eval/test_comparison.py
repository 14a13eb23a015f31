"""Comparison: paired differences by hand and by theory, and tables that cannot be compared."""

import csv
import io
import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch

from videopred.eval import make_metric
from videopred.eval.comparison import compare
from videopred.eval.comparison_over_data import compare_over_data
from videopred.eval.comparison_rows import relative_error, repeated
from videopred.eval.intervals import over_clips
from videopred.eval.scores import Scores
from videopred.eval.settings import F1Config, Protocol

EASY_OR_HARD = np.random.default_rng(0).normal(10, 4, (60, 1)) + np.zeros((60, 3))
"""Clips differ far more than models do."""


def scored(offset: float, spread: float = 0.05, **changes: object) -> Scores:
    values = EASY_OR_HARD + offset + spread * torch.randn(EASY_OR_HARD.shape).double().numpy()
    given = {
        "measurements": {"model": {"mse": {"mse": values}}, "blank": {"mse": {"mse": EASY_OR_HARD + 9}}},
        "metrics": {"mse": make_metric("mse")},
        "file": "a.h5",
        "fingerprint": "123",
        "reference": "a.h5",
        "protocol": Protocol(context=2, horizon=3, metrics=("mse",), clips=60, means=(1,)),
    }
    return Scores(**(given | changes))  # type: ignore[arg-type]


def test_differences_are_paired():
    """Models 0.1 apart on clips that spread by 4: unpaired, the interval would be 4 sqrt(2) / sqrt(60) * 4 = 3 wide."""
    compared = compare({"gru": scored(0), "rims": scored(-0.1)})
    assert compared.relative_to == "gru"
    assert list(compared.rows) == ["gru", "rims", "blank"]
    found = compared.difference("rims", "mse")
    assert found.difference == pytest.approx(-0.1, abs=0.02)
    assert -0.12 < found.low < found.difference < found.high < -0.08
    assert found.told_apart
    assert found.ratio == pytest.approx(found.value / compared.difference("gru", "mse").value)
    itself = compared.difference("gru", "mse")
    assert (itself.difference, itself.low, itself.high, itself.ratio) == (0, 0, 0, 1)
    assert not itself.told_apart


def test_intervals_of_the_first_steps_are_of_these_alone():
    """Two models are one at the first step, and 6 apart at the two that follow: 4 on average."""
    ours = scored(0)
    values = ours.measurements["model"]["mse"]["mse"] - np.array([0, 6, 6])
    measurements = {**ours.measurements, "model": {"mse": {"mse": values}}}
    theirs = replace(ours, measurements=measurements)
    compared = compare({"gru": ours, "rims": theirs})
    first, whole = compared.difference("rims", "mse", 1), compared.difference("rims", "mse")
    assert (first.difference, first.low, first.high, first.told_apart) == (0, 0, 0, False)
    assert (whole.difference, whole.low, whole.high) == pytest.approx((-4, -4, -4))
    each = theirs.intervals("model", "mse")
    assert theirs.interval("model", "mse", 1) == pytest.approx((each.low[0], each.high[0]))


def test_the_row_held_against_may_be_any():
    compared = compare({"gru": scored(0), "rims": scored(-0.1)}, "blank")
    assert compared.difference("gru", "mse").difference == pytest.approx(-9, abs=0.02)
    with pytest.raises(ValueError, match="--relative-to must be one of gru, rims, blank, got grru; did you mean gru"):
        compare({"gru": scored(0), "rims": scored(0)}, "grru")
    with pytest.raises(ValueError, match="--relative-to must be one of gru, rims, blank, got ''; choose"):
        compare({"gru": scored(0), "rims": scored(0)}, "")
    with pytest.raises(ValueError, match=r"^row must be one of gru, rims, blank, got grru; did you mean gru\?"):
        compared.difference("grru", "mse")


@pytest.mark.parametrize("names", [{"gru": ""}, {"gru": 3}, ()])
def test_what_calls_no_row_otherwise_is_refused(names):
    with pytest.raises(TypeError, match=r"^names must be a dict of rows and what they are called, got "):
        compare({"gru": scored(0), "rims": scored(0)}, names=names)


def test_means_over_unlike_steps_are_not_held_against_each_other():
    """Of the last step nothing can be said of one model, as where it shows no objects; at the first both are told."""
    tables = {"gru": scored(0), "rims": scored(-0.1)}
    tables["rims"].measurements["model"]["mse"]["mse"][:, 2] = np.nan
    compared = compare(tables)
    found = compared.difference("rims", "mse")
    assert found.value == pytest.approx(tables["rims"].mean("model", "mse"))
    assert np.isnan([found.difference, found.low, found.high, found.ratio]).all()
    assert compared.difference("rims", "mse", 1).told_apart
    told = "MSE of rims: the mean is over 2 of 3 steps; it has no value at the others"
    assert compared.remarks == [told]
    assert compared.table().splitlines()[-1] == told
    over = compare_over_data({"a": tables, "b": {"gru": scored(0), "rims": scored(-0.1)}}, relative_to="gru")
    assert np.isnan(over.cell("rims", "a", "mse").ratio.value)
    assert over.cell("rims", "b", "mse").ratio.value < 1
    assert over.table().splitlines()[-1] == f"on a, {told}"


def test_nothing_is_relative_to_a_perfect_row():
    perfect = {row: {"mse": {"mse": np.zeros((60, 3))}} for row in ("model", "blank")}
    compared = compare({"gru": replace(scored(0), measurements=perfect), "rims": scored(0)})
    assert np.isnan(compared.difference("rims", "mse").ratio)
    assert np.isnan(compared.difference("gru", "mse").ratio)
    assert compared.to_dict()["rows"]["rims"]["mse"]["3"]["ratio"] is None


def test_no_relative_error_has_no_sign():
    assert not np.signbit(relative_error(1.0, 0.5, 1.0))


@pytest.mark.parametrize(("name", "ours", "theirs", "ratio"), [("ssim", 0.9, 0.8, 0.5), ("psnr", 30.0, 20.0, 70 / 80)])
def test_relative_errors_are_distances_from_the_best_value(name, ours, theirs, ratio):
    """Half as far from 1, and seven eighths as far from 100 dB."""
    tables = {}
    for model, value in (("gru", theirs), ("rims", ours)):
        measured = {row: {name: {name: np.full((60, 3), value)}} for row in ("model", "blank")}
        protocol = scored(0).protocol.model_copy(update={"metrics": (name,)})
        tables[model] = scored(0, measurements=measured, metrics={name: make_metric(name)}, protocol=protocol)
    assert compare(tables).difference("rims", name).ratio == pytest.approx(ratio)


def test_several_models_of_one_table_are_rows():
    one = scored(0)
    both = replace(
        one, measurements={"a": one.measurements["model"], "b": one.measurements["blank"]}, models=("a", "b")
    )
    assert list(compare({"both": both}).rows) == ["a", "b"]
    assert compare({"both": both}).relative_to == "a"


def test_models_of_one_name_in_several_tables_are_all_there():
    """As seed-0 and seed-1 of two experiments: none may stand in another's place."""

    def pair(*offsets: float) -> Scores:
        ours = {f"seed-{i}": scored(offset).measurements["model"] for i, offset in enumerate(offsets)}
        return replace(scored(0), measurements=ours, models=tuple(ours))

    compared = compare({"gru": pair(0, 1), "rims": pair(2, 3)})
    assert list(compared.rows) == ["gru/seed-0", "gru/seed-1", "rims/seed-0", "rims/seed-1"]
    assert compared.relative_to == "gru/seed-0"
    for row, offset in zip(compared.rows, range(4), strict=True):
        assert compared.difference(row, "mse").difference == pytest.approx(offset, abs=0.05)
    model = scored(0).measurements["model"]
    beside = replace(scored(0), measurements={"seed-1": model, "seed-2": model}, models=("seed-1", "seed-2"))
    rows = list(compare({"gru": pair(0, 1), "rims": beside}).rows)
    assert rows == ["seed-0", "gru/seed-1", "rims/seed-1", "seed-2"], "a name that stands alone stays as it is"


def test_the_same_runs_with_the_same_scores_are_one_row():
    """As of a run that was scored by itself, and together with another."""
    first, other = scored(0, stamps={"model": "at ten"}), scored(1).measurements["model"]
    ours = first.measurements["model"]

    def beside(stamp: str, measured=ours) -> Scores:
        rows = {"gru": measured, "rims": other, "blank": first.measurements["blank"]}
        return replace(first, measurements=rows, models=("gru", "rims"), stamps={"gru": stamp, "rims": "at one"})

    assert list(compare({"gru": first, "both": beside("at ten")}).rows) == ["gru", "rims", "blank"]
    for unlike in (beside("at two"), beside("at ten", other)):
        assert list(compare({"gru": first, "both": unlike}).rows) == ["gru", "both/gru", "rims", "blank"]
    later = replace(beside("at ten"), stamps={"gru": "at ten", "rims": "at two"})
    rows = compare({"gru": first, "a": beside("at ten"), "b": later}).rows
    assert list(rows) == ["gru", "a/rims", "b/rims", "blank"], "what is left of a table keeps its name in it"
    unknown = scored(0)
    assert list(compare({"gru": unknown, "again": unknown}).rows) == ["gru", "again", "blank"]
    tables = {Path("a"): first, Path("b"): beside("at ten"), Path("c"): first, Path("d"): unknown, Path("e"): unknown}
    tables[Path("f")] = replace(first, fingerprint="of others")
    assert repeated(tables) == [Path("c")]
    assert repeated({Path("b"): beside("at ten"), Path("a"): first}) == [Path("a")]
    seeds = replace(beside("at ten"), seeds={"two": ("gru", "rims")})
    assert repeated({Path("a"): seeds, Path("b"): seeds}) == [Path("b")]
    partly = replace(seeds, stamps={"gru": "at ten"})
    assert repeated({Path("a"): partly, Path("b"): partly}) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"fingerprint": "456"},
            "SCORES must be of the same data as gru, got rims with fingerprint 456, and gru with fingerprint 123;",
        ),
        (
            {"protocol": Protocol(context=1, horizon=3, clips=60)},
            "SCORES must be of the same protocol as gru, got rims",
        ),
        (
            {"measurements": {"model": {"mae": {"mae": EASY_OR_HARD}}}, "metrics": {"mae": make_metric("mae")}},
            "SCORES must share a metric, got gru with mse; rims with mae; evaluate them with the same --metrics",
        ),
    ],
)
def test_what_cannot_be_compared_is_said(changes, message):
    with pytest.raises(ValueError, match=message):
        compare({"gru": scored(0), "rims": scored(0, **changes)})
    with pytest.raises(ValueError, match="SCORES must be given, got nothing"):
        compare({})


def test_tables_of_one_film_and_of_several_need_as_many_samples():
    drawn = {"mse best of 3": make_metric("mse")}
    measurements = {"model": {"mse best of 3": scored(0).measurements["model"]["mse"]}}
    asked = scored(0).protocol.model_copy(update={"samples": 3})
    with pytest.raises(ValueError, match=r"SCORES must share a metric, .*; evaluate them with the same --samples"):
        compare({"gru": scored(0), "rims": scored(0, measurements=measurements, metrics=drawn, protocol=asked)})


def test_metrics_that_not_all_tables_have_are_left_out_and_named():
    one = scored(0)
    more = {row: of | {"mae": {"mae": of["mse"]["mse"]}} for row, of in one.measurements.items()}
    both = replace(one, measurements=more, metrics=one.metrics | {"mae": make_metric("mae")})
    for tables in ({"gru": one, "rims": both}, {"rims": both, "gru": one}):
        compared = compare(tables)
        assert list(compared.first.metrics) == ["mse"]
        assert "\nleft out, as not all tables have them: mae\n" in compared.table()
        assert "mae" not in compared.to_csv()
    assert "left out" not in compare({"gru": one}).table()


def test_metrics_of_other_settings_are_not_compared():
    def f1(threshold: float) -> Scores:
        counts = {key: np.full((60, 3), 2.0) for key in ("tp", "fp", "fn", "tn")}
        metric = make_metric("f1", F1Config(threshold=threshold))
        return scored(0, measurements={"model": {"f1": counts}}, metrics={"f1": metric})

    assert compare({"gru": f1(0.5), "rims": f1(0.5)}).rows
    with pytest.raises(ValueError, match=r"SCORES must be of the same settings of metrics as gru, got rims with .*0.4"):
        compare({"gru": f1(0.5), "rims": f1(0.4)})


def test_trivial_rows_are_shown_if_they_are_the_same_in_all_tables():
    """Those that learn from another training part (--reference) are others. Rows may say nothing of a step."""
    other = scored(-0.1)
    changed = {**other.measurements, "blank": {"mse": {"mse": EASY_OR_HARD + 8}}}
    compared = compare({"gru": scored(0), "rims": replace(other, measurements=changed)})
    assert list(compared.rows) == ["gru", "rims"]
    assert "left out, as they differ between tables (see --reference): blank" in compared.table()
    assert "left out" not in compare({"gru": scored(0), "rims": other}).table()
    nearly = {**other.measurements, "blank": {"mse": {"mse": (EASY_OR_HARD + 9) * 1.001}}}
    assert list(compare({"gru": scored(0), "rims": replace(other, measurements=nearly)}).rows) == ["gru", "rims"]
    silent = scored(0)
    silent.measurements["blank"]["mse"]["mse"][:, 1] = np.nan
    assert list(compare({"gru": silent, "rims": silent}).rows) == ["gru", "rims", "blank"]


def test_a_model_does_not_take_the_place_of_a_trivial_row():
    with pytest.raises(
        ValueError, match="SCORES must have other names than the trivial baselines, got blank; rename the fol"
    ):
        compare({"blank": scored(0), "rims": scored(0)})
    with pytest.raises(
        ValueError, match=r"^--names must have other names than the trivial baselines, got blank; choose"
    ):
        compare({"gru": scored(0), "rims": scored(0)}, names={"gru": "blank"})


@pytest.mark.parametrize(
    "said",
    [
        {"feedback": "elsewhere"},
        {"name": "rnem-balls", "changed": ("clips",)},
        {"metrics": ("mse", "f1"), "metric_settings": ("f1.threshold=0.4",)},
    ],
    ids=["made elsewhere", "by a name", "of more metrics"],
)
@pytest.mark.parametrize("order", [1, -1])
def test_what_changes_no_number_may_be_asked_otherwise(said, order):
    tables = {"gru": scored(0), "theirs": scored(0, protocol=scored(0).protocol.model_copy(update=said))}
    assert len(compare(dict(list(tables.items())[::order])).rows) == 3
    fed = scored(0).protocol.model_copy(update={"feedback": "threshold:0.5"})
    with pytest.raises(ValueError, match="SCORES must be of the same protocol as gru, got theirs"):
        compare({"gru": scored(0), "theirs": scored(0, protocol=fed)})


@pytest.mark.parametrize("order", [1, -1])
def test_rollouts_made_elsewhere_are_not_held_against_predictions_one_step_ahead(order):
    asked = {name: scored(0).protocol.model_copy(update={"feedback": name}) for name in ("elsewhere", "true")}
    tables = {name: scored(0, protocol=protocol) for name, protocol in list(asked.items())[::order]}
    with pytest.raises(ValueError, match="SCORES must be of the same protocol as"):
        compare(tables)


@pytest.mark.parametrize("order", list(permutations(["elsewhere", "soft", "threshold:0.5"])))
def test_films_made_elsewhere_do_not_bring_models_of_several_feedbacks_together(order):
    tables = {fed: scored(0, protocol=scored(0).protocol.model_copy(update={"feedback": fed})) for fed in order}
    with pytest.raises(ValueError, match=r"^SCORES must be of the same protocol as [st]\S+, got [st]\S+ with feedback"):
        compare(tables)
    on_several = {fed: {"gru": replace(of, file=f"{fed}.h5", fingerprint=fed)} for fed, of in tables.items()}
    with pytest.raises(ValueError, match=r"^SCORES must be of the same protocol as [st]\S+, got [st]\S+ with feedback"):
        compare_over_data(on_several)


@pytest.mark.parametrize("order", [1, -1])
def test_a_title_gives_the_feedback_of_models_and_says_that_of_films_made_elsewhere_it_is_not_theirs(order):
    asked = scored(0).protocol
    tables = {"gru": scored(0), "theirs": scored(0, protocol=asked.model_copy(update={"feedback": "elsewhere"}))}
    mixed = dict(list(tables.items())[::order])
    said = "3 predicted, feedback soft; films made elsewhere have their own feedback"
    assert compare(mixed).asked.endswith(said)
    assert compare(mixed).to_dict()["protocol"]["feedback"] == "soft"
    other = {name: replace(of, file="b.h5", fingerprint="456") for name, of in tables.items()}
    assert compare_over_data({"a": mixed, "b": other}).asked.endswith(said)
    assert compare({"gru": tables["gru"]}).asked.endswith("3 predicted, feedback soft")
    assert compare({"theirs": tables["theirs"]}).asked.endswith("3 predicted, films made elsewhere")


def test_tables_hold_every_row_and_span():
    compared = compare({"gru": scored(0), "rims": scored(-0.1)})
    text, document = compared.table(), compared.markdown()
    assert re.findall("mean of .", text) == ["mean of 1", "mean of 3"]
    assert "relative to gru" in text
    assert text.count("rims") == 2
    assert [line.split()[0] for line in text.splitlines() if "!" in line and "±" not in line][:2] == ["rims", "blank"]
    assert document.count("| rims |") == 2
    assert [line.split(" & ")[0] for line in compared.latex().splitlines() if "&" in line] == [
        r"MSE $\downarrow$", "gru", "rims", "blank"
    ] * 2  # fmt: skip
    lines = list(csv.DictReader(io.StringIO(compared.to_csv())))
    assert [(line["row"], line["steps"]) for line in lines] == [
        (row, steps) for row in ("gru", "rims", "blank") for steps in ("1", "3")
    ]
    for line in lines:
        own = compared.rows[line["row"]].mean("mse", int(line["steps"]))
        assert [float(line[name]) for name in ("value", "low", "high")] == list(own)
    found = compared.difference("rims", "mse", 1)
    ends = ("difference", "difference low", "difference high")  # low and high alone are ends of a value's interval
    assert [float(lines[2][end]) for end in ends] == [found.difference, found.low, found.high]
    assert compared.to_dict()["rows"]["rims"]["mse"]["1"]["low"] == found.low


def test_notes_of_the_tables_are_told_and_of_which_model_they_are():
    """A model that stands alone in its table is called `model` there."""
    half, part = "model is not finished: 2 of 3 updates", "model learned from clips of this part"
    first = scored(0.2, notes=(half, part))
    others = {"rims": scored(0.3, notes=(part,)), "rival": scored(0.4, notes=("films are of models/gru", part))}
    compared = compare({"gru": first} | others, names={"gru": "GRU"})
    told = ["GRU is not finished: 2 of 3 updates", part, "rival: films are of models/gru"]
    assert compared.notes == told
    assert compared.table().splitlines()[-3:] == told
    assert compared.to_dict()["notes"] == told
    measured = first.measurements["model"]
    both = replace(first, measurements={"x": measured, "y": measured}, models=("x", "y"), notes=(f"x{half[5:]}",))
    assert compare({"both": both, **others}).notes[0] == "both: x is not finished: 2 of 3 updates"
    again = replace(both, stamps={"x": "at ten", "y": "at one"})
    alone = replace(first, notes=(), stamps={"model": "at ten"})
    assert compare({"x": alone, "both": again}).notes == ["both: x is not finished: 2 of 3 updates"], "and not y"
    assert repeated({Path("a"): replace(first, models=())}) == []
    twice = compare_over_data({"a": {"gru": first, **others}, "b": {"gru": scored(0.2)}}, names={"gru": "GRU"})
    assert twice.table().splitlines()[-3:] == [f"on a, {note}" for note in told]
    assert {name: of["notes"] for name, of in twice.to_dict()["data"].items()} == {"a": told, "b": []}


def test_a_bar_in_a_name_begins_no_cell_of_a_document():
    document = compare({"gru": scored(0), "rims": scored(-0.1)}, names={"gru": "P(a|b)"}).markdown()
    cells = {len(re.split(r"(?<!\\)\|", line)) for line in document.splitlines() if line.startswith("|")}
    assert len(cells) == 1
    assert r"| P(a\|b) |" in document


def test_one_clip_gives_no_interval():
    one = scored(0)
    asked = one.protocol.model_copy(update={"clips": 1})
    cut = {row: {"mse": {"mse": of["mse"]["mse"][:1]}} for row, of in one.measurements.items()}
    compared = compare({"gru": replace(one, measurements=cut, protocol=asked)})
    assert "no interval for a single clip" in compared.table()
    assert "– to" not in compared.table()
    assert not compared.difference("blank", "mse").told_apart
    assert compared.to_dict()["rows"]["blank"]["mse"]["3"]["low"] is None
    assert "nan" not in compared.to_csv()


@pytest.mark.parametrize(("ours", "theirs"), list(permutations(("gru", "rims"))))
def test_an_interval_rests_on_the_clips_of_the_row_that_has_a_value_in_the_fewest(ours, theirs):
    tables = {"gru": scored(0), "rims": scored(1)}
    tables["rims"].measurements["model"]["mse"]["mse"][4:] = np.nan
    compared = compare(tables, relative_to=theirs)
    found, row, other = compared.difference(ours, "mse"), compared.rows[ours], compared.rows[theirs]
    drawn, others = row.drawn("mse"), other.drawn("mse")
    assert (found.low, found.high) == pytest.approx(tuple(over_clips(drawn - others, 4)))
    assert row.relative_to(other, "mse")[1:] == pytest.approx(tuple(over_clips(drawn / others, 4)))


def test_trivial_rows_that_differ_by_rounding_alone_are_the_same():
    tables = {"gru": scored(0), "rims": scored(1)}
    tables["rims"].measurements["blank"]["mse"]["mse"] *= 1 + 1e-9
    assert "blank" in compare(tables).rows
