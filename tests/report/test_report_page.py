"""What a page says of several runs, made up by hand: which scores are held against one another, and why not."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from page_checks import Page
from report_samples import LOG, ONE, made_up_run, scored
from tiny_runs import tiny_data

from videopred.eval.settings import Protocol
from videopred.report.page import write_report


def page_of(place: Path, *names: str, **options) -> Page:
    """The page of runs; scores lie in eval beside them."""
    (place / "eval").mkdir(exist_ok=True)
    out = place / "page.html"
    page = Page(write_report([place / name for name in names], out, results=place / "eval", **options).read_text())
    assert page.faults == []
    return page


@pytest.fixture
def two(tmp_path) -> Path:
    """Two runs whose validation losses are known."""
    for name in ("one", "other"):
        made_up_run(tmp_path / name, LOG)
    return tmp_path


def test_names_that_cannot_be_printed_are_escapes(tmp_path):
    made_up_run(tmp_path / "eno\u202e", LOG, {"state": "done\x1b"})
    page_of(tmp_path, "eno\u202e")
    text = (tmp_path / "page.html").read_text()
    assert "<title>eno\\u202e – videopred</title>" in text
    assert "done\\x1b" in text
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("command", "shown"),
    [("videopred train 'a b.h5' & touch c", "videopred train 'a b.h5' '&' touch c"), ("videopred train 'a b.h5", None)],
)
def test_the_command_in_a_record_is_one_command(tmp_path, command, shown):
    """Whoever pastes it runs nothing else that somebody has written there."""
    made_up_run(tmp_path / "one", LOG, {"command": command})
    said = page_of(tmp_path, "one").words
    assert [line for line in said if line.startswith("videopred train")] == ([shown] if shown else [])


def test_validation_losses_stand_side_by_side(two):
    (chart,) = [chart for chart in page_of(two, "one", "other").charts if chart.startswith("validation loss")]
    assert chart == "validation loss (bce) over the updates: one from 7.25 to 7.75; other from 7.25 to 7.75"


def test_losses_of_different_kinds_have_charts_of_their_own(two):
    log = [{name.replace("bce", "mse"): value for name, value in row.items()} for row in LOG]
    made_up_run(two / "third", log)
    charts = [chart for chart in page_of(two, "one", "third").charts if chart.startswith("validation loss")]
    assert charts == [
        f"validation loss ({kind}) over the updates: {run} from 7.25 to 7.75"
        for run, kind in (("one", "bce"), ("third", "mse"))
    ]


def test_runs_are_compared_on_the_first_data_that_all_were_scored_on(two):
    for name, data, mse in (("one", "a", 0.9), ("one", "b", 0.2), ("other", "b", 0.7), ("other", "c", 0.4)):
        scored(**ONE | {"model": ([mse] * 3, [10.0] * 3)}).save(two / "eval" / name / data)
    page = page_of(two, "one", "other")
    assert "0.5000 0.5000 to 0.5000" in page.text
    assert "They have no scores" not in page.text
    assert "Side by side a.h5: 5 clips of the test part, 2 frames of context, 3 predicted, feedback soft" in page.text
    assert "shaded 95 % interval over clips (bootstrap, widened by Student's t)" in page.text


def test_settings_by_which_runs_differ_stand_side_by_side(two):
    assert "Settings by which they differ" not in page_of(two, "one", "other").text
    made_up_run(two / "third", LOG, model={"core": {"kind": "gru", "units": 7}, "own": True})
    text = page_of(two, "one", "third", overwrite=True).text
    assert "Settings by which they differ core.units one 5 third 7" in text


def test_scores_that_are_filed_elsewhere_are_told_once(two):
    scored(**ONE).save(two / "eval" / "one" / "short")
    page = page_of(two, "one")
    assert page.text.count("5 clips of the test part") == 1


def test_data_on_which_runs_cannot_be_compared_are_passed_over(two):
    longer = Protocol(context=3, horizon=3, metrics=("mse", "psnr"), clips=5)
    for name, mse in (("one", 0.2), ("other", 0.7)):
        scores = scored(**ONE | {"model": ([mse] * 3, [10.0] * 3)})
        scores.save(two / "eval" / name / "b")
        replace(scores, protocol=longer if name == "one" else scores.protocol).save(two / "eval" / name / "a")
    page = page_of(two, "one", "other")
    assert "0.5000 0.5000 to 0.5000" in page.text
    assert "cannot be compared" not in page.text


def test_the_data_that_are_shown_come_before_others(two):
    for data, mse in (("a", 0.9), ("b", 0.7)):
        scored(**ONE | {"model": ([0.2] * 3, [10.0] * 3)}).save(two / "eval" / "one" / data)
        scored(**ONE | {"model": ([mse] * 3, [10.0] * 3)}).save(two / "eval" / "other" / data)
    tiny_data(two / "b.h5")
    made_up_run(two / "learned" / "one", LOG, data={"path": str(two / "b.h5")})
    text = page_of(two, "learned/one", "other").text
    assert "Side by side" in text
    assert "0.5000 0.5000 to 0.5000" in text


def test_runs_are_in_one_order_and_of_one_color_wherever_they_stand(two):
    """Two of three were judged together, by the names of their folders."""
    made_up_run(two / "another", LOG)
    pair = {"another": ([0.7] * 3, [10.0] * 3), "one": ([0.2] * 3, [10.0] * 3)}
    replace(scored(**pair), models=tuple(pair)).save(two / "eval" / "another-and-1-more" / "a")
    scored(**ONE).save(two / "eval" / "other" / "a")
    page_of(two, "one", "other", "another")
    text = (two / "page.html").read_text()
    keys = re.findall(r'<svg class="key ([\w-]+)"[^>]*><path[^>]*/></svg>(\w+)<', text)
    for place, run in enumerate(("one", "other", "another")):
        assert {color for color, name in keys if name == run} == {f"line-{place}"}


def test_of_a_single_step_there_are_no_curves(two):
    for name in ("one", "other"):
        scored(model=([0.1], [10.0]), blank=([0.5], [1.0])).save(two / "eval" / name / "a")
    assert not [chart for chart in page_of(two, "one", "other").charts if "MSE" in chart or "PSNR" in chart]


@pytest.mark.parametrize("names", [("one", "other"), ("one", "third")])
def test_scores_of_runs_judged_together_are_theirs_alone(two, names):
    """Of a folder's name that many pairs have, those of other runs are passed over."""
    scores = scored(**dict(zip(names, ONE.values(), strict=True)))
    replace(scores, models=names).save(two / "eval" / "one-and-1-more" / "a")
    assert ("They have no scores" in page_of(two, "one", "other").text) == (names != ("one", "other"))


def test_scores_of_runs_judged_among_others_are_found(two):
    """In another order, beside a third and a folder that is damaged; the third is not shown."""
    rows = {"third": ([0.9] * 3, [10.0] * 3), "other": ([0.7] * 3, [10.0] * 3), "one": ([0.2] * 3, [10.0] * 3)}
    replace(scored(**rows), models=tuple(rows)).save(two / "eval" / "third-and-2-more" / "a")
    damaged = two / "eval" / "another-and-1-more" / "a" / "scores.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("{")
    page = page_of(two, "one", "other")
    assert "0.5000 0.5000 to 0.5000" in page.text
    assert "third" not in page.text


@pytest.mark.parametrize("at_once", [True, False])
def test_scores_of_runs_judged_together_stand_beside_those_of_another_alone(two, at_once):
    """Also where the other is a folder of seeds; errors 0.7 and 0.9 less 0.2."""
    runs = ["one", "third/seed-0", "third/seed-1"]
    for run in runs[1:]:
        made_up_run(two / run)
    rows = {run: ([mse] * 3, [10.0] * 3) for run, mse in zip(("other", *runs), (0.4, 0.2, 0.7, 0.9), strict=True)}
    if at_once:
        replace(scored(**rows), models=tuple(rows)).save(two / "eval" / "other-and-2-more" / "a")
    else:
        together = {run: rows[run] for run in ("other", "one")}
        replace(scored(**together), models=tuple(together)).save(two / "eval" / "other-and-1-more" / "a")
        seeds = {run.removeprefix("third/"): rows[run] for run in runs[1:]}
        replace(scored(**seeds), models=tuple(seeds)).save(two / "eval" / "third" / "a")
    text = page_of(two, *runs).text
    assert "Differences from one," in text
    assert "seed-0 0.5000 0.5000 to 0.5000" in text
    assert "seed-1 0.7000 0.7000 to 0.7000" in text
    assert "other" not in text


@pytest.mark.parametrize("seeds", [1, 2])
def test_scores_of_a_folder_of_one_seed_are_of_that_seed(two, seeds):
    runs = [f"third/seed-{seed}" for seed in range(seeds)]
    for run in runs:
        made_up_run(two / run)
    for name in ("one", "third"):
        scored(**ONE).save(two / "eval" / name / "a")
    assert ("They have no scores" in page_of(two, "one", *runs).text) == (seeds == 2)


def test_a_run_alone_has_its_scores_where_it_was_judged_with_others(two):
    """Its own on other data beside them; those of the others are not shown."""
    rows = {"other": ([0.7] * 3, [10.0] * 3), "one": ([0.2] * 3, [10.0] * 3)}
    scores = replace(scored(**rows), models=tuple(rows))
    for data in ("a", "b"):
        replace(scores, file=f"{data}.h5").save(two / "eval" / "a-figure" / f"together-{data}")  # where --out had them
    own = scored(**ONE | {"model": ([0.4] * 3, [10.0] * 3)})
    replace(own, file="b.h5").save(two / "eval" / "one" / "b")
    told = page_of(two, "one").text
    assert told.index("a: ") < told.index("one 0.2000") < told.index("b: ") < told.index("model 0.4000")
    assert "0.7000" not in told
    assert "videopred evaluate ONE DATA" not in told.replace(str(two / "one"), "ONE")


def test_of_scores_with_others_a_run_alone_has_those_with_the_fewest(two):
    for mse, others in ((0.2, ["other"]), (0.3, ["other", "third"])):
        rows = {name: ([mse] * 3, [10.0] * 3) for name in ("one", *others)}
        replace(scored(**rows), models=tuple(rows), file="a.h5").save(two / "eval" / f"{len(rows)}-runs" / "a")
    told = page_of(two, "one").text
    assert "one 0.2000" in told
    assert "one 0.3000" not in told


def test_scores_of_other_seeds_are_not_taken_for_those_of_these(tmp_path):
    for name in ("mine", "theirs"):
        for seed in (0, 1):
            made_up_run(tmp_path / name / f"seed-{seed}")
    rows = ("seed-0", "seed-1")
    scores = replace(scored(**dict(zip(rows, ONE.values(), strict=True))), models=rows)
    scores.save(tmp_path / "eval" / "theirs" / "seed-0-and-1-more" / "a")
    assert "They have no scores" in page_of(tmp_path, "mine/seed-0", "mine/seed-1").text


def test_scores_that_cannot_be_compared_say_why(two):
    scored(**ONE).save(two / "eval" / "one" / "a")
    scored(**ONE).save(two / "eval" / "other" / "a")
    path = two / "eval" / "other" / "a" / "scores.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"fingerprint": "2"}))
    assert "Their scores cannot be compared: SCORES must" in page_of(two, "one", "other").text


@pytest.mark.parametrize("at_once", [True, False])
def test_models_of_several_seeds_judged_by_their_folders_are_held_against_each_other(tmp_path, at_once):
    """Errors 0.4 and 0.6 less 0.1 and 0.3; Welch's t of two degrees of freedom, 4.303 * 0.1 * sqrt(2) = 0.6085."""
    runs = [f"{model}/seed-{seed}" for model in ("rims", "gru") for seed in (0, 1)]
    for run in runs:
        made_up_run(tmp_path / run)
        (tmp_path / run).with_name("seeds.json").write_text('{"seeds": [0, 1]}')
    errors = dict(zip(runs, (0.1, 0.3, 0.4, 0.6), strict=True))
    if at_once:
        scores = scored(**{run: ([error] * 3, [10.0] * 3) for run, error in errors.items()})
        seeds = {"rims, 2 seeds": tuple(runs[:2]), "gru, 2 seeds": tuple(runs[2:])}
        replace(scores, models=tuple(runs), seeds=seeds).save(tmp_path / "eval" / "rims-and-1-more" / "a")
    else:
        rows = ("seed-0", "seed-1")
        for model in ("rims", "gru"):
            scores = scored(**{row: ([errors[f"{model}/{row}"]] * 3, [10.0] * 3) for row in rows})
            scores = replace(scores, models=rows, seeds={f"{model}, 2 seeds": rows})
            scores.save(tmp_path / "eval" / model / "a")
    text = page_of(tmp_path, *runs).text
    assert "gru, 2 seeds 0.5000 ±" in text
    assert "Differences from rims, with paired 95 % intervals over clips and seeds" in text
    assert "bold where the interval excludes 0, not corrected for several comparisons" in text
    assert "gru 0.3000 -0.3085 to 0.9085" in text
    assert "gru/seed-1 0.5000 0.5000 to 0.5000" in text, "each run beside, over clips"
    assert '<th scope="row">gru</th>' in (tmp_path / "page.html").read_text(), "no curve is of all its seeds"


@pytest.mark.parametrize(
    ("runs", "rows"),
    [
        (("mine/seed-0", "mine/seed-1"), ("seed-0", "seed-1")),
        (("mine/seed-0", "theirs/seed-0"), ("mine/seed-0", "theirs/seed-0")),
    ],
    ids=["of one experiment", "of two"],
)
def test_seeds_judged_together_are_known_by_their_rows(tmp_path, runs, rows):
    for run in runs:
        made_up_run(tmp_path / run)
    scores = scored(**dict(zip(rows, ONE.values(), strict=True)))
    seeds = {"gru, 2 seeds": rows}
    replace(scores, models=rows, seeds=seeds).save(tmp_path / "eval" / f"{runs[0]}-and-1-more" / "a")
    page = page_of(tmp_path, *runs)
    assert "They have no scores" not in page.text
    assert "gru, 2 seeds 0.3500 ±" in page.text
    lack = "scores of this run alone; those side by side are of several runs together"
    assert page.text.count(lack) == 2
    data = tiny_data(tmp_path / "a.h5")
    shown = page_of(tmp_path, *runs, data=data, overwrite=True).text
    assert shown.count(f"scores on a.h5{lack.removeprefix('scores')}") == 2
    assert shown.count(f"{data} --context 2 --horizon 3 --metrics mse psnr") == 2, "asked for as all were"


def test_seeds_judged_by_their_folders_lack_scores_of_each_alone_asked_for_alike(tmp_path):
    """Not if the folders were asked differently, as then nothing stands side by side."""
    runs = [f"{model}/seed-{seed}" for model in ("rims", "gru") for seed in (0, 1)]
    for run in runs:
        made_up_run(tmp_path / run)
    data = tiny_data(tmp_path / "a.h5")
    scores = replace(scored(**{"seed-0": ONE["model"], "seed-1": ONE["blank"]}), models=("seed-0", "seed-1"))
    longer = replace(scores, protocol=scores.protocol.model_copy(update={"context": 7}))
    lack = "scores on a.h5 of this run alone; those side by side are of several runs together"
    for theirs, count in ((scores, 4), (longer, 0)):
        scores.save(tmp_path / "eval" / "rims" / "a", overwrite=True)
        theirs.save(tmp_path / "eval" / "gru" / "a", overwrite=True)
        text = page_of(tmp_path, *runs, data=data, overwrite=True).text
        assert text.count(lack) == count
        assert text.count("scores on a.h5") == 4
        assert text.count(f"{data} --context 2 --horizon 3 --metrics mse psnr") == 4
        assert ("Their scores cannot be compared" in text) == (count == 0)


@pytest.mark.parametrize("at_once", [True, False])
def test_scores_on_other_data_do_not_say_how_these_are_scored(two, at_once):
    data = tiny_data(two / "b.h5")
    made_up_run(two / "learned" / "one", data={"path": str(data)})
    if at_once:
        scores = replace(scored(**dict(zip(("one", "other"), ONE.values(), strict=True))), models=("one", "other"))
        scores.save(two / "eval" / "one-and-1-more" / "a")
    else:
        for name in ("one", "other"):
            scored(**ONE).save(two / "eval" / name / "a")
    words = page_of(two, "learned/one", "other").words
    assert "Side by side" in words
    (lack,) = [line for line in words if line.startswith("scores on b.h5")]
    assert lack == "scores on b.h5"
    assert f"videopred evaluate {two / 'learned' / 'one'} {data} --context 4 --horizon 5" in words


def test_scores_on_the_data_shown_are_compared_and_those_who_lack_them_told(two):
    """Not those on data whose name comes first."""
    data = tiny_data(two / "b.h5")
    for name, of_data, mse in (("one", "a", 0.9), ("other", "a", 0.2), ("one", "b", 0.4)):
        scored(**ONE | {"model": ([mse] * 3, [10.0] * 3)}).save(two / "eval" / name / of_data)
    lacking = page_of(two, "one", "other", data=data)
    assert "They have no scores on the same data" in lacking.text
    assert f"videopred evaluate {two / 'other'} {data} --context 2 --horizon 3 --metrics mse psnr" in lacking.text
    scored(**ONE | {"model": ([0.7] * 3, [10.0] * 3)}).save(two / "eval" / "other" / "b")
    assert "0.3000 0.3000 to 0.3000" in page_of(two, "one", "other", data=data, overwrite=True).text


def test_scores_together_are_those_on_the_data_shown(two):
    scores = replace(scored(**dict(zip(("one", "other"), ONE.values(), strict=True))), models=("one", "other"))
    scores.save(two / "eval" / "one-and-1-more" / "a")
    assert "They have no scores" in page_of(two, "one", "other", data=tiny_data(two / "b.h5")).text


def test_plausibility_of_several_runs_stands_side_by_side(tmp_path):
    def judge(run: str, relative: float, notes: Sequence[str] = (), **settings: object) -> None:
        estimate = {"value": relative, "low": 0.0, "high": 1.0}
        error = {"scenes": 7, "relative": estimate, "strict": 0.5, "ties": 0, "absolute": estimate}
        errors = {
            "mean": [error | {"where": where} for where in ({}, {"block": "O1"}, {"block": "O1", "objects": "1"})]
        }
        folder = tmp_path / "eval" / run / "films"
        folder.mkdir(parents=True, exist_ok=True)
        asked = {"data": "films.h5", "run": f"models/{run}", "part": "test", "burn_in": 3, "seed": len(run)} | settings
        (folder / "plausibility.json").write_text(json.dumps({"settings": asked, "errors": errors, "notes": notes}))

    def beside(name: str) -> Page:
        return Page(write_report(runs, tmp_path / f"{name}.html", results=tmp_path / "eval").read_text())

    runs = [made_up_run(tmp_path / "models" / run) for run in ("rims", "gru")]
    judge("rims", 0.25)
    assert "Plausibility on films" not in beside("one").text
    judge("gru", 0.375)
    both = beside("both")
    assert both.faults == []
    words = "Plausibility on films Relative errors: 0 is best, 0.5 is chance scenes rims gru"
    assert f"{words} mean, all scenes 7 0.250 0.375 mean, block O1 7 0.250 0.375" in both.text
    judge("gru", 0.375, ["the run is not finished: 3 of 7 updates"])
    noted = beside("noted").text
    assert "0 is best, 0.5 is chance; gru: the run is not finished: 3 of 7 updates scenes rims gru" in noted
    assert noted.count("the run is not finished") == 2, "here and in its own section"
    judge("gru", 0.375, burn_in=4)
    assert "Plausibility on films" not in beside("otherwise").text


def test_of_films_without_labels_it_is_said_that_there_are_no_errors(tmp_path):
    runs = [made_up_run(tmp_path / "models" / run) for run in ("rims", "gru")]
    for run in runs:
        folder = tmp_path / "eval" / run.name / "films"
        folder.mkdir(parents=True)
        asked = {"data": "films.h5", "run": f"models/{run.name}", "part": "test", "burn_in": 3}
        (folder / "plausibility.json").write_text(json.dumps({"settings": asked, "errors": {"mean": []}}))
    page = Page(write_report(runs, tmp_path / "page.html", results=tmp_path / "eval").read_text())
    assert page.faults == []
    assert page.text.count("films No labels say which films are possible, so there are no errors.") == 2
    assert "0.5 is chance" not in page.text
    assert "Plausibility on films" not in page.text
