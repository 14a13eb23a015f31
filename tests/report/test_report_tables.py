"""Tables and curves of the page, from scores made up by hand."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from report_samples import ONE, scored

from videopred.eval.comparison import compare
from videopred.eval.scores import Scores
from videopred.report.tables import (
    comparison_block,
    comparison_tables,
    plausibility_beside,
    plausibility_table,
    score_block,
    score_table,
    seed_table,
    seed_tables,
)


@pytest.fixture
def scores() -> Scores:
    """The model wins by MSE, copy last by PSNR; of blank no MSE is known; the oracle is best or as good."""
    return scored(
        model=([0.1, 0.2, 0.3], [10, 11, 12]),
        blank=([np.nan] * 3, [1, 2, 3]),
        copy_last=([0.2, 0.3, 0.4], [20, 21, 22]),
        physics_oracle=([0.0, 0.0, 0.0], [20, 21, 22]),
    )


def test_the_best_of_a_column_is_strong_but_for_the_oracle(scores):
    table = score_table(scores)
    assert table.heads == ["MSE ↓", "PSNR ↑"]
    assert {row.name: [cell.strong for cell in row.cells] for row in table.rows} == {
        "model": [True, False],
        "blank": [False, False],
        "copy last": [False, True],
        "physics oracle": [False, False],
    }
    assert [row.faint for row in table.rows] == [False, True, True, True]
    assert table.rows[0].cells[0].text.startswith("0.2000 ±0.00")
    assert table.rows[1].cells[0].text == "–"
    assert table.caption == "Mean of 3 steps; the best of a column is bold"


@pytest.mark.parametrize("known", [[], [0.1]], ids=["nothing", "an easy step"])
def test_a_row_of_which_less_is_known_than_of_others_neither_is_the_best_nor_hides_it(known):
    """As in the table that `videopred evaluate` prints."""
    short = known + [np.nan] * (3 - len(known))
    psnr = [10, 11, 12]
    table = score_table(scored(model=(short, psnr), blank=([0.5] * 3, psnr), copy_last=([0.6] * 3, psnr)))
    assert [row.cells[0].strong for row in table.rows] == [False, True, False]


def charts_of(scores: Scores) -> Sequence[str]:
    return score_block("balls4", scores).charts


def test_every_row_has_a_curve_over_the_steps_and_its_band(scores):
    mse, psnr = charts_of(scores)
    title = "MSE ↓, mean over channels and pixels"
    assert f"{title} over the rollout step: model from 0.1 to 0.3; copy last from 0.2 to 0.4" in mse
    assert ">PSNR ↑, dB</text>" in psnr
    assert re.findall(r'text-anchor="middle">(\d)<', mse) == ["1", "2", "3"]
    assert (mse.count('class="band"'), psnr.count('class="band"')) == (3, 4)
    assert 'class="line-0"><title>model' in mse
    assert 'class="faint-1"><title>copy last' in mse


def test_curves_of_frames_predicted_from_true_ones_are_of_no_rollout():
    ahead = replace(scored(**ONE), protocol=scored(**ONE).protocol.model_copy(update={"feedback": "true"}))
    assert [chart.count(">frame predicted<") for chart in charts_of(ahead)] == [1, 1]


def test_curves_of_a_metric_that_is_not_over_steps_say_over_what():
    one = scored(**ONE)
    hidden = type("Hidden", (type(one.metrics["mse"]),), {"along": "hidden frames"})(one.metrics["mse"].config)
    mse, psnr = charts_of(replace(one, metrics=one.metrics | {"mse": hidden}))
    assert (mse.count(">hidden frames<"), psnr.count(">hidden frames<"), mse.count(">rollout step<")) == (1, 0, 0)


def test_bands_end_where_a_metric_does():
    """A PSNR of 0.01 dB with ±0.2: the axis went down to -0.2."""
    _, psnr = charts_of(scored(model=([0.1] * 3, [0.01, 0.01, 0.2])))
    assert re.findall(r'text-anchor="end">([^<]+)<', psnr)[0] == "0"


def test_the_best_of_samples_is_said_to_be_chosen_with_the_truth():
    asked = scored(**ONE).protocol.model_copy(update={"samples": 2})
    assert "chosen with the truth at hand" in score_block("a", replace(scored(**ONE), protocol=asked)).legend["best"]


def test_a_metric_by_which_nothing_can_be_said_has_no_chart():
    assert len(charts_of(scored(model=([np.nan] * 3, [10, 11, 12])))) == 1


def test_trivial_rows_that_are_far_off_leave_the_curves():
    model, far = ([0.1, 0.2, 0.3], [10, 11, 12]), ([0.2, 3, 5], [11, -9, -90])
    for trivial, named in ((far, ["↑ copy last", "↓ copy last"]), (model, [])):
        charts = charts_of(scored(model=model, copy_last=trivial))
        assert re.findall(r'class="leaving"[^>]*>([^<]+)<', "".join(charts)) == named
    both = charts_of(scored(model=far, blank=model))
    assert "leaving" not in "".join(both)


def test_means_over_seeds_have_their_halves(scores):
    assert seed_table(scores) is None
    model, _, last, _ = scores.measurements.values()
    runs = replace(scores, measurements={"a": model, "b": last}, models=("a", "b"), seeds={"gru": ("a", "b")})
    (row,) = seed_table(runs).rows
    mean, half = runs.over_seeds("gru", "mse")
    assert row.name == "gru"
    assert row.cells[0].text == f"{mean:.4f} ±{half:.4f}"
    assert mean == pytest.approx(0.25)
    assert seed_tables({"gru": runs}) == [seed_table(runs)], "one model alone differs from none"
    (table,) = (one for one in seed_tables({"small": runs, "large": runs}) if one.caption.startswith("Mean over runs"))
    assert [row.name for row in table.rows] == ["small: gru", "large: gru"]
    *_, apart = seed_tables({"small": runs, "large": runs})
    assert all(bool(row.style) == row.faint for row in apart.rows), "the curves are of single runs and trivial rows"
    alone = {row: {"mse": of["mse"]} for row, of in runs.measurements.items()}
    other = replace(runs, metrics={"mse": runs.metrics["mse"]}, measurements=alone)
    apart = [one for one in seed_tables({"small": runs, "other": other}) if one.caption.startswith("Mean over runs")]
    assert [[row.name for row in one.rows] for one in apart] == [["small: gru"], ["other: gru"]]


def test_runs_are_held_against_the_first_and_strong_where_they_are_told_apart():
    rims = scored(model=([0.3, 0.4, 0.5], [10, 11, 12]), blank=([0.5] * 3, [1, 1, 1]))
    gru = scored(model=([0.1, 0.2, 0.3], [10, 11, 12]), blank=([0.5] * 3, [1, 1, 1]))
    comparison = compare({"gru": gru, "rims": rims})
    means, differences = comparison_tables(comparison)
    assert [(row.name, row.cells[0].text, row.faint) for row in means.rows] == [
        ("gru", f"0.2000 ±{gru.interval('model', 'mse').half:.4f}", False),
        ("rims", f"0.4000 ±{rims.interval('model', 'mse').half:.4f}", False),
        ("blank", f"0.5000 ±{gru.interval('blank', 'mse').half:.4f}", True),
    ]
    assert means.caption == "Mean of 3 steps, ± half of its 95 % interval over clips"
    assert [row.name for row in differences.rows] == ["rims", "blank"]
    mse, psnr = differences.rows[0].cells
    assert (mse.text, mse.strong, mse.below) == ("0.2000", True, "0.2000 to 0.2000")
    assert (psnr.text, psnr.strong) == ("0.00", False)
    assert "from gru" in differences.caption
    nothing = scored(model=([np.nan] * 3, [10, 11, 12]))
    _, unknown = comparison_tables(compare({"gru": gru, "rims": nothing}))
    assert (unknown.rows[0].cells[0].text, unknown.rows[0].cells[0].below) == ("–", "–")
    first, _ = comparison_block({"gru": gru, "rims": rims}, {"gru": gru, "rims": rims}).charts
    assert [name for name in ("gru", "rims", "blank") if f"<title>{name}" in first] == ["gru", "rims", "blank"]
    assert (first.count('class="line-'), first.count('class="faint-')) == (2, 1)


def test_what_a_reader_must_know_of_one_run_is_told_beside_the_others():
    alone = scored(model=([0.1, 0.2], [10, 11]))
    stopped = replace(scored(model=([0.3, 0.4], [10, 11])), notes=("model is not finished: 3 of 7 updates",))
    each = {"gru": alone, "rims": stopped}
    assert comparison_block(each, each).notes == ["rims is not finished: 3 of 7 updates"]


def test_a_single_run_beside_seeds_is_held_against_them_over_clips_and_seeds(scores):
    model, blank, last, _ = scores.measurements.values()
    rims = replace(scores, measurements={"a": model, "b": last}, models=("a", "b"), seeds={"rims": ("a", "b")})
    gru = replace(scores, measurements={"gru": model, "blank": blank}, models=("gru",))
    for several in ({"gru": gru, "rims": rims}, {"rims": rims, "gru": gru}):
        means, differences = comparison_tables(compare(several))
        assert means.caption.endswith("half of its 95 % interval over clips and seeds")
        assert "95 % intervals over clips and seeds; bold" in differences.caption


def test_of_a_single_clip_runs_have_no_halves():
    one = scored(**ONE)
    measured = {
        row: {name: {key: values[:1] for key, values in of.items()} for name, of in columns.items()}
        for row, columns in one.measurements.items()
    }
    alone = replace(one, measurements=measured, protocol=one.protocol.model_copy(update={"clips": 1}))
    means, _ = comparison_tables(compare({"gru": alone, "rims": alone}))
    assert means.caption == "Mean of 3 steps"


def test_capped_frames_are_told_of_a_run_and_of_several():
    one = scored(**ONE)
    capped = one.measurements["model"]["psnr"] | {"capped": np.eye(5, 3)}
    rims = replace(one, measurements=one.measurements | {"model": one.measurements["model"] | {"psnr": capped}})
    told = "3 of 15 frames above 100 dB, counted as 100"
    assert score_block("balls4", rims).notes == [f"PSNR of model: {told}"]
    assert comparison_block({"rims": rims, "gru": one}, {}).notes == [f"PSNR of rims: {told}"]


def test_of_a_single_step_nothing_is_said_to_be_shaded(scores):
    one = scored(model=([0.1], [10]), blank=([0.5], [1]))
    told = {
        name: [
            " ".join([*block.legend, *block.legend.values()])
            for block in (score_block("d", of), comparison_block({"a": of, "b": of}, {"a": of, "b": of}))
        ]
        for name, of in (("several", scores), ("one", one))
    }
    assert all("shaded" in text for text in told["several"])
    assert not any("shaded" in text for text in told["one"])


def test_errors_of_plausibility_are_told_of_all_scenes_and_of_one_kind():
    def error(scenes: int, **where: str) -> dict[str, Any]:
        relative = {"value": 0.25, "low": 0.125, "high": 0.5}
        absolute = {"value": None, "low": 0.375, "high": None}
        return {"where": where, "scenes": scenes, "relative": relative, "absolute": absolute}

    judged = {
        "errors": {
            "max": [
                error(9),
                error(4, block="O1"),
                error(2, block="O1", objects="1 object"),
                error(3, block="O1", occlusion="occluded"),
            ]
        }
    }
    table = plausibility_table(judged)
    assert table is not None
    assert table.heads == ["scenes", "relative ↓", "absolute ↓"]
    assert [(row.name, [cell.text for cell in row.cells], row.faint) for row in table.rows] == [
        ("max, all scenes", ["9", "0.250 (0.125 to 0.500)", "–"], False),
        ("max, block O1", ["4", "0.250 (0.125 to 0.500)", "–"], True),
        ("max, block O1, occlusion occluded", ["3", "0.250 (0.125 to 0.500)", "–"], True),
    ]
    fewer = {"errors": {"max": [error(8), *judged["errors"]["max"][1:]]}, "settings": {"burn_in": 3}}
    assert plausibility_beside({"rims": judged | {"settings": {"burn_in": 3}}, "gru": fewer}) is None, "of other scenes"
    beside = plausibility_beside({run: judged | {"settings": {"burn_in": 3}} for run in ("rims", "gru")})
    assert beside is not None
    assert [(row.name, row.faint) for row in beside.rows] == [
        ("max, all scenes", False), ("max, block O1", True), ("max, block O1, occlusion occluded", True),
    ]  # fmt: skip
