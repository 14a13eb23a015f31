"""Models side by side by plausibility: errors counted by hand, paired scenes, and what is told apart."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from videopred.eval.intervals import of_shares
from videopred.eval.plausibility import Plausible, Scenes, errors
from videopred.eval.plausibility_comparison import PlausibilityComparison
from videopred.eval.plausibility_scores import PlausibilityScores
from videopred.eval.plausibility_seeds import over_seeds, save_over_seeds, seeds_table

BLOCKS = ["O1"] * 12 + ["O2"] * 8
POSSIBLE = np.tile([[True, False, False, True]], (20, 1))


def scored(run: str, mean: list[float], *, labelled: bool = True, **others: list[float]) -> PlausibilityScores:
    """Scores of a run whose possible films lead by these margins, of the mean and of other aggregates."""
    names = [[f"{scene}/{film}" for film in range(4)] for scene in range(20)]
    scenes = Scenes(names, POSSIBLE if labelled else None, {"block": BLOCKS})
    plausible = {
        name: Plausible(np.outer(margins, [0.5, 0, 0, 0.5]), np.array(margins) if labelled else None)
        for name, margins in {"mean": mean, **others}.items()
    }
    found = {name: errors(of, scenes, resamples=3) for name, of in plausible.items()}
    return PlausibilityScores(scenes, plausible, found, {"data": "d/films.h5", "run": run, "surprise": "kl"})


RIGHT, WRONG, TIED = 1.0, -1.0, 0.0
GOOD = scored("models/good", [RIGHT] * 18 + [TIED] * 2)
BAD = scored("models/bad", [WRONG] * 12 + [RIGHT] * 4 + [WRONG] * 2 + [TIED] * 2)
BAD_AGAIN = scored("models/bad/seed-1", [WRONG] * 12 + [RIGHT] * 7 + [TIED])


def test_errors_and_differences_by_hand():
    of = PlausibilityComparison({"good": [GOOD], "bad": [BAD]}).kinds["mean"]
    assert [(dict(kind.where), kind.scenes) for kind in of] == [({}, 20), ({"block": "O1"}, 12), ({"block": "O2"}, 8)]
    assert [kind.models["good"].relative for kind in of] == [1 / 20, 0, 1 / 8]
    assert [kind.models["bad"].relative for kind in of] == [15 / 20, 1, 3 / 8]
    assert [kind.models["bad"].difference for kind in of] == pytest.approx([14 / 20, 1, 2 / 8])
    first = of[0].models["good"]
    assert (first.difference, first.told_apart) == (0, False)
    assert np.isnan([first.low, first.high, first.deviation]).all()
    kept = PlausibilityComparison({"good": [GOOD], "bad": [BAD]}).to_dict()["compared"]["mean"][0]["models"]["good"]
    assert kept == {"relative": 1 / 20, "deviation": None, "difference": 0, "low": None, "high": None}
    assert [kind.models["bad"].told_apart for kind in of] == [True, True, False]
    turned = PlausibilityComparison({"bad": [BAD], "good": [GOOD]}).kinds["mean"]
    for kind, other in zip(turned, of, strict=True):
        good, bad = kind.models["good"], other.models["bad"]
        assert (good.difference, good.low, good.high) == pytest.approx((-bad.difference, -bad.high, -bad.low))
        assert good.told_apart == bad.told_apart


def in_error(mean: int, matched: int) -> PlausibilityScores:
    """Scores that are wrong in so many of the scenes by each aggregate."""
    first, second = ([WRONG] * wrong + [RIGHT] * (20 - wrong) for wrong in (mean, matched))
    return scored(f"models/{mean}", first, matched=second)


def test_each_aggregate_is_compared_by_its_own_errors():
    of = PlausibilityComparison({"a": [in_error(2, 5)], "b": [in_error(7, 11)]}).kinds
    for name, ours, theirs in (("mean", 2, 7), ("matched", 5, 11)):
        models = of[name][0].models
        assert (models["a"].relative, models["b"].relative) == (ours / 20, theirs / 20)


def test_each_aggregate_has_its_own_mean_over_seeds():
    of = over_seeds([in_error(2, 5), in_error(4, 9)])
    assert [of[name][0]["relative"]["mean"] for name in ("mean", "matched")] == pytest.approx([3 / 20, 7 / 20])


def test_scenes_are_paired():
    """Two models that err in the same half of the scenes are not the same as two that err in different halves."""
    half, other = [RIGHT] * 10 + [WRONG] * 10, [WRONG] * 10 + [RIGHT] * 10
    ends = {}
    for name, margins in {"same": half, "other": other}.items():
        pair = PlausibilityComparison({"a": [scored("a", half)], "b": [scored("b", margins)]})
        found = pair.kinds["mean"][0].models["b"]
        assert (found.relative, found.difference) == (0.5, 0)
        ends[name] = found.high - found.low
    assert 0 < 3 * ends["same"] < ends["other"]


def test_seeds_widen_the_interval_and_are_averaged():
    alone = PlausibilityComparison({"good": [GOOD], "bad": [BAD]}).kinds["mean"][0].models["bad"]
    of = PlausibilityComparison({"good": [GOOD], "bad": [BAD, BAD_AGAIN]}).kinds["mean"][0].models["bad"]
    assert of.relative == pytest.approx((15 / 20 + 12.5 / 20) / 2)
    assert of.deviation == pytest.approx((15 / 20 - 12.5 / 20) / 2**0.5)
    differences = np.array([1] * 12 + [0] * 4 + [0.5] * 2 + [0, -0.25])
    assert of.difference == pytest.approx(differences.mean())
    assert (of.low, of.high) == pytest.approx(of_shares(differences, np.array([15 / 20, 12.5 / 20]), np.zeros(1)))
    assert of.high - of.low > alone.high - alone.low


def test_seeds_of_the_reference_widen_it_as_much():
    good, bad = [GOOD], [BAD, BAD_AGAIN]
    of = PlausibilityComparison({"good": good, "bad": bad}).kinds["mean"][0].models["bad"]
    turned = PlausibilityComparison({"bad": bad, "good": good}).kinds["mean"][0].models["good"]
    assert (turned.low, turned.high) == pytest.approx((-of.high, -of.low))


def test_the_table_stars_what_differs_from_the_first():
    title, mean, legend = PlausibilityComparison({"good": [GOOD], "bad": [BAD]}).table().split("\n\n")
    assert title == "good, bad on films.h5: 20 scenes of four films; surprise kl"
    head, every, o1, o2 = mean.splitlines()
    assert head.split() == ["mean", "scenes", "good", "bad"]
    assert (every.split(), o1.split()) == (["all", "20", "0.050", "0.750!"], ["O1", "12", "0.000", "1.000!"])
    assert o2.split() == ["O2", "8", "0.125", "0.375"]
    assert "of the difference from good excludes 0: over scenes (paired" in legend
    assert "seeds" not in legend
    told = PlausibilityComparison({"good": [GOOD], "bad": [BAD, BAD_AGAIN]}).table()
    assert told.splitlines()[2].split() == ["mean", "scenes", "good", "sd", "bad", "sd"]
    assert told.splitlines()[3].split() == ["all", "20", "0.050", "–", "0.688!", "0.088"]
    assert "and seeds" in told


def test_files_hold_what_the_table_does(tmp_path):
    comparison = PlausibilityComparison({"good": [GOOD], "bad": [BAD, BAD_AGAIN]})
    paths = comparison.save(tmp_path / "new")
    assert [path.name for path in paths] == [f"plausibility-compared.{kind}" for kind in ("json", "csv", "md", "tex")]
    kept = json.loads(paths[0].read_text())
    assert kept["models"] == {"good": ["models/good"], "bad": ["models/bad", "models/bad/seed-1"]}
    assert kept["relative_to"] == "good"
    assert kept["settings"]["surprise"] == "kl"
    lines = list(csv.DictReader(io.StringIO(paths[1].read_text())))
    assert len(lines) == 6
    for line, kind in zip(lines[1::2], comparison.kinds["mean"], strict=True):
        one = kind.models["bad"]
        assert (line["model"], line["block"], line["scenes"]) == ("bad", kind.where.get("block", ""), str(kind.scenes))
        assert [float(line[name]) for name in one._fields] == list(one)
    pasted = paths[2].read_text()
    assert "\n\n| mean | scenes | good | sd | bad | sd |\n| --- | ---: |" in pasted
    assert "\n| O1 | 12 | 0.000 | – | 1.000! | 0.000 |\n" in pasted
    assert "O1 & 12 & 0.000 & -- & 1.000! & 0.000 \\\\\n" in paths[3].read_text()
    assert pasted.startswith("good, bad on films.h5: 20 scenes of four films; surprise kl\n\n|")
    assert (lines[0]["low"], lines[0]["deviation"]) == ("", "")
    assert kept["compared"]["mean"][1]["models"]["bad"] == comparison.kinds["mean"][1].models["bad"]._asdict()
    with pytest.raises(FileExistsError, match="--out must be a new path"):
        comparison.save(tmp_path / "new")
    comparison.save(tmp_path / "new", overwrite=True)


def test_notes_name_the_model_or_the_seed_that_they_are_of(tmp_path):
    half = tuple(replace(BAD_AGAIN, notes=(f"the run is not finished: {done} of 7 updates",)) for done in (3, 4))
    told = "the run is not finished: 3 of 7 updates"
    alone = PlausibilityComparison({"good": [GOOD], "mine": [half[0]]})
    assert alone.to_dict()["notes"] == alone.notes == [f"mine: {told}"]
    assert alone.table().splitlines()[-1] == alone.markdown().splitlines()[-1] == f"mine: {told}"
    assert f"% mine: {told}" in alone.latex()
    several = PlausibilityComparison({"good": [GOOD], "mine": [BAD, half[0]]})
    assert several.notes == [f"bad/seed-1: {told}"]
    assert seeds_table([BAD, *half]).splitlines()[-2:] == [f"bad/seed-1: {half[n].notes[0]}" for n in (0, 1)]
    kept, _ = save_over_seeds([BAD, half[1]], tmp_path)
    assert json.loads(kept.read_text())["notes"] == [f"bad/seed-1: {half[1].notes[0]}"]
    blind = replace(scored("models/blind", [RIGHT] * 20, labelled=False), notes=("a note",))
    assert blind.table().splitlines()[2:] == ["a note"]
    unlabelled = PlausibilityComparison({"mine": [blind]})
    assert unlabelled.table().splitlines()[2:] == unlabelled.markdown().splitlines()[4:] == ["mine: a note"]
    assert "% mine: a note" in unlabelled.latex()


ASKED = {"part": "test", "burn_in": 3, "every": 2, "resamples": 40, "seed": 5}


@pytest.mark.parametrize("change", ["films", {"surprise": "mse"}, {"part": "train"}, {"burn_in": 4}, {"every": 1}])
def test_models_that_were_asked_otherwise_are_refused(change):
    good = replace(GOOD, settings={**GOOD.settings, **ASKED})
    bad = replace(BAD, settings={**BAD.settings, **ASKED, "resamples": 50, "seed": 6})
    other = replace(bad, settings={**bad.settings, **(change if change != "films" else {})})
    if change == "films":
        other = replace(bad, scenes=replace(bad.scenes, names=[["a", "b", "c", "d"], *bad.scenes.names[1:]]))
    assert PlausibilityComparison({"good": [good], "bad": [bad]}).labelled
    message = "^models must be asked about the same films in the same way, got bad with others than good; judge them"
    with pytest.raises(ValueError, match=message):
        PlausibilityComparison({"good": [good], "bad": [bad, other]})


def test_films_without_labels_have_no_errors_to_compare():
    bare = PlausibilityComparison({name: [scored(name, [RIGHT] * 20, labelled=False)] for name in "ab"})
    assert not bare.labelled
    assert bare.kinds == {"mean": []}
    no_labels = "no labels say which films are possible, so there are no errors"
    assert bare.table().splitlines()[1] == no_labels
    assert bare.markdown().splitlines() == [bare.table().splitlines()[0], "", no_labels]
    assert bare.latex().splitlines()[1:2] == [f"% {no_labels}"]
    assert "tabular" not in bare.latex()
