"""Comparison of models that were trained from several seeds: by hand, and how often the truth is in the interval."""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

from videopred.eval import comparison, make_metric
from videopred.eval import scores as scoring
from videopred.eval.comparison import compare
from videopred.eval.comparison_rows import model_rows
from videopred.eval.intervals import RESAMPLES, over_clips, resample
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol

METRICS = {"mse": make_metric("mse")}


def table(runs: np.ndarray, **more: np.ndarray) -> Scores:
    """Scores of the runs of a model, (S, B, T), and of trivial baselines, (B, T)."""
    models = [f"seed-{seed}" for seed in range(len(runs))]
    return Scores(
        measurements={
            row: {"mse": {"mse": of}} for row, of in {**dict(zip(models, runs, strict=True)), **more}.items()
        },
        metrics=METRICS,
        file="a.h5",
        fingerprint="123",
        reference=None,
        protocol=Protocol(context=2, horizon=runs.shape[2], metrics=("mse",), clips=runs.shape[1]),
        models=tuple(models),
        seeds={"gru, all seeds": tuple(models)} if len(models) > 1 else {},
    )


def constant(*means: float, clips: int = 5, steps: int = 2) -> Scores:
    """Runs that are as good on every clip, so that nothing is by chance of the clips."""
    return table(np.array(means)[:, None, None] + np.zeros((len(means), clips, steps)))


def test_scores_of_some_runs_keep_the_groups_of_which_all_are_left():
    groups = {"gru, all seeds": ("seed-0", "seed-1"), "rims, all seeds": ("seed-2", "seed-3")}
    whole = replace(constant(1, 2, 3, 4), seeds=groups)
    for rows, kept in ((("seed-1", "seed-0", "seed-2"), ["gru, all seeds"]), (("seed-1", "seed-2"), [])):
        some = whole.of_models(rows)
        assert (some.models, list(some.seeds), some.remarks) == (rows, kept, ())


def test_of_seeds_alone_the_interval_is_welchs():
    """2, 4, 6 less 1, 2, 6: 4 - 3, variances 4 and 7; scipy knows Welch's interval."""
    found = compare({"rims": constant(1, 2, 6), "gru": constant(2, 4, 6)}).difference("gru", "mse")
    assert (found.value, found.difference, found.ratio) == pytest.approx((4, 1, 4 / 3))
    assert (found.seeds, found.deviation) == (3, pytest.approx(2))
    known = stats.ttest_ind([2, 4, 6], [1, 2, 6], equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    error = (4 / 3 + 7 / 3) ** 0.5
    degrees = (11 / 3) ** 2 / ((4 / 3) ** 2 / 2 + (7 / 3) ** 2 / 2)
    assert found.high == pytest.approx(1 + stats.t.ppf(0.975, degrees) * error)
    assert not found.told_apart


def test_rows_come_in_the_order_of_the_table_of_seeds_at_their_first():
    scores = constant(1, 2, 3, 4)
    one, *rest = scores.models
    for seeds, rows in (
        ({"pair": tuple(rest[:2])}, [one, "pair", rest[2]]),
        ({"late": (rest[2], rest[1]), "early": (one, rest[0])}, ["early", "late"]),
    ):
        assert list(model_rows({"a": replace(scores, seeds=seeds), "b": constant(5)})) == [*rows, "b"]


def test_draws_of_clips_on_which_the_other_is_perfect_have_no_ratio():
    """Of two clips, a quarter of the draws; of the others two thirds say 1 / 1, one third 1 / 2.

    Half of 1 - 0.5 is widened by sqrt(2) and 12.706 / 1.960, of Student's t with one degree of freedom: to 2.2920.
    """
    rows = model_rows({"a": table(np.ones((1, 2, 3))), "b": table(np.array([0.0, 2.0])[None, :, None] * np.ones(3))})
    assert rows["a"].relative_to(rows["b"], "mse") == pytest.approx((1.0, 0.75 - 2.2920, 0.75 + 2.2920), abs=1e-3)


def test_a_row_of_one_run_adds_no_chance_of_its_own():
    """2, 4, 6 against a single 1: Student's t with two degrees of freedom, 4.303 * 2 / sqrt(3) = 4.97."""
    compared = compare({"rims": constant(1), "gru": constant(2, 4, 6)})
    found = compared.difference("gru", "mse")
    assert (found.low, found.high) == pytest.approx((3 - 4.9683, 3 + 4.9683), abs=1e-3)
    itself = compared.difference("rims", "mse")
    assert (itself.low, itself.high, itself.seeds) == (0, 0, 1)
    assert np.isnan(itself.deviation)
    against_itself = compare({"gru": constant(2, 4, 6)}).difference("gru", "mse")
    assert (against_itself.difference, against_itself.low, against_itself.high) == (0, 0, 0)


def test_without_chance_of_seeds_the_numbers_are_those_of_the_clips_to_the_bit():
    """Runs that are all the same say what one of them says."""
    clips = np.random.default_rng(0).normal(9, 4, (6, 3))
    ours, theirs = clips + np.random.default_rng(1).normal(size=(6, 3)), clips
    one = compare({"rims": table(theirs[None]), "gru": table(ours[None])}).difference("gru", "mse")
    drawn = resample({"gru": {"mse": {"mse": ours}}, "rims": {"mse": {"mse": theirs}}}, METRICS)
    by_hand = drawn["gru"]["mse"].mean(1) - drawn["rims"]["mse"].mean(1)
    low, high = np.quantile(by_hand, (0.025, 0.975))
    centre, half = (low + high) / 2, (high - low) / 2 * (6 / 5) ** 0.5 * stats.t.ppf(0.975, 5) / stats.norm.ppf(0.975)
    assert (one.low, one.high) == pytest.approx((centre - half, centre + half), rel=1e-12)
    four = compare({"rims": table(np.stack([theirs] * 4)), "gru": table(np.stack([ours] * 4))}).difference("gru", "mse")
    assert four[:5] == one[:5]
    assert (four.seeds, four.deviation) == (4, 0)


def test_tables_say_what_a_row_is_the_mean_of():
    blank = np.zeros((5, 2))
    rims, gru = constant(1, 2, 6), constant(2, 4, 6)
    tables = {name: replace(of, measurements={**of.measurements, "blank": {"mse": {"mse": blank}}})
              for name, of in {"rims": rims, "gru": gru}.items()}  # fmt: skip
    compared = compare(tables)
    assert list(compared.rows) == ["rims", "gru", "blank"]
    text = compared.table()
    (heads,) = (line for line in text.splitlines() if line.startswith("MSE ↓"))
    assert re.split(r"  +", heads)[1:] == ["mean of 2", "sd over seeds", "difference", "interval", "relative error"]
    (line,) = (line for line in text.splitlines() if line.startswith("gru "))
    assert line.split() == ["gru", "4.0000", "2.0000", "1.0000", "-4.4761", "to", "6.4761", "1.333"]
    assert "\ngru: mean of 3 seeds (seed-0, seed-1, seed-2)\n" in text
    assert "95 % over clips (paired bootstrap, widened by Student's t) and seeds (Welch's t); a single run" in text
    assert "| sd over seeds |" in compared.markdown()
    lines = {line["row"]: line for line in csv.DictReader(io.StringIO(compared.to_csv()))}
    assert [lines[row]["seeds"] for row in lines] == ["3", "3", "1"]
    assert (lines["gru"]["deviation over seeds"], lines["blank"]["deviation over seeds"]) == ("2.0", "")
    for row, made in compared.rows.items():
        value, low, high = made.mean("mse")
        assert [float(lines[row][name]) for name in ("value", "low", "high")] == [value, low, high]
    assert compared.to_dict()["rows"]["blank"]["mse"]["2"]["deviation"] is None
    alone = compare({"rims": constant(1), "gru": constant(2)}).table()
    assert "seed" not in alone
    assert "over clips (paired bootstrap, widened by Student's t); !" in alone


def test_clips_are_those_of_the_run_that_has_a_value_in_the_fewest():
    runs = np.ones((3, 9, 2))
    runs[1, 4:] = runs[2, 6:] = np.nan
    assert model_rows({"gru": table(runs)})["gru"].clips("mse") == 4


def test_curves_are_of_the_mean_over_seeds():
    """2, 4, 6 at either step: Student's t, 4.303 * 2 / sqrt(3)."""
    row = compare({"gru": constant(2, 4, 6)}).rows["gru"]
    np.testing.assert_allclose(row.values("mse"), 4)
    np.testing.assert_allclose(row.intervals("mse").high, 4 + 4.9683, atol=1e-3)
    assert row.is_model


def test_several_models_of_one_table_are_called_after_their_folders():
    """As those of `videopred evaluate models/gru models/rims`; by the table's words where folders do not say it."""
    both = constant(1, 2, 5, 6, 9)
    names = ("gru/seed-0", "gru/seed-1", "rims/seed-0", "rims/seed-1", "alone")
    measured = dict(zip(names, both.measurements.values(), strict=True))
    groups = {"gru, 2 seeds": names[:2], "rims, 2 seeds": names[2:4]}
    given = replace(both, measurements=measured, models=names, seeds=groups)
    compared = compare({"all": given})
    assert {name: row.runs for name, row in compared.rows.items()} == {
        "gru": names[:2], "rims": names[2:4], "alone": ("alone",)
    }  # fmt: skip
    assert compared.difference("rims", "mse").difference == pytest.approx(5.5 - 1.5)
    assert list(compare({"all": given, "gru": constant(3)}).rows) == ["all/gru", "rims", "alone", "gru"]
    mixed = replace(given, seeds={"one way": (names[0], names[1]), "another": (names[2], names[4])})
    assert list(compare({"all": mixed}).rows) == ["gru", "another", "rims/seed-1"]
    one_folder = tuple(f"gru/seed-{seed}" for seed in range(5))
    twice = {"fast": one_folder[:2], "slow": one_folder[2:4]}
    measured = dict(zip(one_folder, measured.values(), strict=True))
    tuned = replace(given, measurements=measured, models=one_folder, seeds=twice)
    assert list(compare({"all": tuned}).rows) == ["fast", "slow", "gru/seed-4"]


@cache
def weights(clips: int) -> np.ndarray:
    """How often each clip is drawn in each draw, over how many there are."""
    chance = np.random.default_rng(0)
    drawn = [np.bincount(chance.integers(clips, size=clips), minlength=clips) for _ in range(RESAMPLES)]
    return np.stack(drawn) / clips


def fast(measurements: Mapping, metrics: Mapping, _: None = None) -> dict:
    """What `resample` gives, for means over clips, at once."""
    return {row: {"mse": weights(len(of["mse"]["mse"])) @ of["mse"]["mse"]} for row, of in measurements.items()}


def test_fast_draws_are_the_draws():
    measured = {"a": {"mse": {"mse": np.random.default_rng(3).normal(size=(7, 2))}}}
    np.testing.assert_allclose(fast(measured, METRICS)["a"]["mse"], resample(measured, METRICS)["a"]["mse"])


def covered(clips: float, seeds: float, monkeypatch: pytest.MonkeyPatch, worlds: int = 250) -> float:
    """How often the interval holds the true difference of two models, with three seeds each on the same 40 clips.

    Args:
        clips: standard deviation of how much better suited a clip is to one model than to the other.
        seeds: standard deviation of a model over its seeds; of the other it is half as large.
    """
    monkeypatch.setattr(scoring, "resample", fast)
    chance, held = np.random.default_rng(5), 0
    for _ in range(worlds):
        hard = 4 * chance.normal(size=40)  # for both
        runs = [
            true + hard + of_seed * chance.normal(size=(3, 1)) + clips / 2**0.5 * chance.normal(size=40)
            + 0.3 * chance.normal(size=(3, 40))
            for true, of_seed in ((10, seeds), (10.5, seeds / 2))
        ]  # fmt: skip
        found = compare({name: table(of[..., None]) for name, of in zip("ab", runs, strict=True)}).difference(
            "b", "mse"
        )
        held += found.low <= 0.5 <= found.high
    return held / worlds


WORLDS = {"mostly clips": (2.0, 0.05), "mostly seeds": (0.1, 1.0), "both": (2.0, 0.45)}


@pytest.mark.parametrize("world", WORLDS)
def test_the_truth_is_in_the_interval_as_often_as_it_says(world, monkeypatch):
    """95 %; the standard error of 250 worlds is 1.4 %."""
    assert 0.93 <= covered(*WORLDS[world], monkeypatch) <= 0.985


def test_an_interval_over_clips_alone_says_nothing_of_other_seeds(monkeypatch):
    """What the one above would not see if seeds were left out."""
    monkeypatch.setattr(comparison, "over_clips", lambda drawn, clips, *_: over_clips(drawn, clips))
    assert covered(*WORLDS["mostly seeds"], monkeypatch) < 0.3
    assert covered(*WORLDS["both"], monkeypatch) < 0.9


def test_an_interval_over_seeds_alone_says_nothing_of_other_clips(monkeypatch):
    """Nor if clips were."""
    monkeypatch.setattr(comparison, "over_clips", lambda drawn, *rest: over_clips(drawn.mean(keepdims=True), *rest))
    assert covered(*WORLDS["mostly clips"], monkeypatch) < 0.5
    assert covered(*WORLDS["both"], monkeypatch) < 0.9


def test_what_must_be_known_of_one_seed_is_said_of_that_seed():
    runs = np.ones((3, 9, 2))
    runs[1, 1:] = np.nan
    told = "MSE of gru (seed-1): a single clip has a value, so there is no interval"
    assert compare({"gru": table(runs)}).remarks == [told]
