"""What makes the figures of the papers: which models, clips and commands, at each scale and over seeds."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from videopred.datasets import DATASETS
from videopred.experiments import EXPERIMENTS, PAPERS, experiment_names
from videopred.experiments.asking import fitting
from videopred.experiments.figures import PAPER_FIGURES, find_figure
from videopred.experiments.planning import make_plan
from videopred.models.presets import PRESETS
from videopred.models.rival_settings import LSTMConfig
from videopred.rendering import FIGURES

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"


@pytest.mark.parametrize("name", PAPER_FIGURES)
def test_a_figure_names_what_there_is(name):
    figure = PAPER_FIGURES[name]
    assert figure.summary.endswith(".")
    assert figure.place.split(",")[0] == PAPERS[name.split("-")[0]]
    for panel in figure.panels:
        names = [model.name for model in panel.models]
        assert len(set(names)) == len(names)
        assert figure.together != "means" or names == [model.name for model in figure.panels[0].models]
        assert not panel.metrics or len(names) > 1  # else its row is called after the folder of scores
        assert panel.clips in EXPERIMENTS
        assert not panel.preset or panel.preset in DATASETS
        assert bool(panel.metrics or panel.figure) != panel.plausibility
        assert not panel.figure or panel.figure in FIGURES
        assert (panel.context > 0) == (panel.horizon > 0) == (not panel.plausibility)
        for model in panel.models:
            assert model.experiment in experiment_names()
            assert bool(model.flags) == bool(model.suffix)


@pytest.mark.parametrize("seeds", [(), (3, 1)])
@pytest.mark.parametrize("scale", ["paper", "small", "tiny"])
@pytest.mark.parametrize("name", PAPER_FIGURES)
def test_every_command_finds_what_an_earlier_one_makes(name, scale, seeds):
    plan = make_plan(PAPER_FIGURES[name], scale, Path("here"), seeds=seeds)
    runs = {str(one.run) for one in plan.trainings}
    assert len(runs) == len(plan.trainings)  # two that differ have two names
    assert len(set(plan.judging)) == len(plan.judging)
    for words in plan.judging:
        named = {word for word in words if word.startswith(("models/", "datasets/"))}
        assert len(named) >= 2 or words[0] == "compare"
        drawn = "/seed-3" if seeds and words[0] == "render" else ""
        assert {word for word in named if word.startswith("models/")} <= {f"{run}{drawn}" for run in runs}
        assert {word for word in named if word.startswith("datasets/")} <= set(map(str, plan.clips))
    for one in plan.trainings:
        assert str(one.run) in one.words
        assert (("--seeds", "3,1") in pairwise(one.words)) == bool(seeds)
        assert one.asked.scaled.data_file in plan.clips


@pytest.mark.parametrize(
    ("name", "kind"),
    [("rims-figure-3", "evaluate"), ("rims-figure-8", "render"), ("scoff-table-1", "plausibility")],
)
def test_all_that_computes_does_so_where_it_is_asked_to(name, kind):
    plan = make_plan(PAPER_FIGURES[name], "tiny", Path("here"), "cuda")
    judging = [words for words in plan.judging if words[0] != "compare"]
    assert {words[0] for words in judging} == {kind}
    for words in (*judging, *(words for one in plan.trainings for words in (one.words, one.go_on))):
        assert words[words.index("--device") + 1] == "cuda"


def test_a_figure_is_found_by_the_number_of_each_that_is_made_with_it():
    for name, figure in PAPER_FIGURES.items():
        assert find_figure(name) == (name, figure)
        paper, _, first = name.rpartition("-")
        for number in figure.also:
            assert find_figure(f"{paper}-{number}") == (name, figure)
        numbers = [int(number) for number in re.findall(r"\d+", figure.place.partition("figures ")[2])]
        if " to " in figure.place:
            numbers = list(range(numbers[0], numbers[1] + 1))
        assert sorted([*figure.also, int(first)]) == (numbers or [int(first)])
    assert find_figure("rims-figure-9")[0] == "rims-figure-8"
    assert find_figure("scoff-figure-14")[0] == "scoff-figure-15"


def test_a_figure_of_the_papers_that_is_not_here_is_told_from_a_slip(monkeypatch):
    monkeypatch.setitem(PAPERS, "ours", "OURS")
    for name in ("rims-figure-14", "scoff-table-2", "brims-figure-99", "rmc-figure-3", "ours-table-1"):
        with pytest.raises(
            ValueError, match=f"FIGURE must be one of `videopred list figures`, got {name}; it is of no video"
        ):
            find_figure(name)
    with pytest.raises(
        ValueError, match=r"FIGURE must be one of rims-figure-3, .*, got rim-figure-3; did you mean rims-fig"
    ):
        find_figure("rim-figure-3")


def test_at_the_papers_scale_as_much_is_asked_as_in_the_paper():
    judging = make_plan(PAPER_FIGURES["scoff-figure-5"], "paper", Path("here")).judging
    asked = [
        words[words.index("--context") : words.index("--context") + 4] for words in judging if "--context" in words
    ]
    assert asked == [("--context", "15", "--horizon", "10"), ("--context", "15", "--horizon", "30")] * 4
    against = {words[words.index("--relative-to") + 1] for words in judging if "--relative-to" in words}
    assert against == {"GRU"}


def test_of_clips_that_are_too_short_at_most_half_are_given():
    assert fitting(46, 5, 51) == (46, 5)
    assert fitting(46, 5, 12) == (7, 5), "all but those to imagine"
    assert fitting(15, 35, 45) == (15, 30)
    assert fitting(15, 35, 20) == (10, 10)


def test_models_of_a_strip_stand_in_one_picture_under_their_names():
    judging = make_plan(PAPER_FIGURES["rims-figure-8"], "paper", Path("here")).judging
    assert len(judging) == 4
    for words, balls in zip(judging, ("balls4", "balls4", "balls678", "balls4"), strict=True):
        runs = [f"rims-{balls}", f"rims-{balls}-lstm", f"rims-{balls}-narrow-lstm"]
        assert list(words[1:4]) == [f"models/{run}" for run in runs]
        at, of = words.index("--names"), " trained on 6-8" if balls == "balls678" else ""
        names = [f"{run}={name}{of}" for run, name in zip(runs, ("RIMs", "LSTM", "narrow LSTM"), strict=True)]
        assert list(words[at + 1 : at + 4]) == names
        assert words[-2].endswith(f"{runs[0]}-on-{Path(words[4]).stem}")


def test_the_narrow_lstm_is_the_papers():
    plan = make_plan(PAPER_FIGURES["rims-figure-8"], "paper", Path("here"))
    narrow = [training for training in plan.trainings if training.run.name.endswith("-narrow-lstm")]
    assert [training.flags for training in narrow] == 2 * [("--core", "lstm-balls")]
    assert all("--core lstm-balls" in " ".join(training.words) for training in narrow)
    assert PRESETS["lstm-balls"].core == LSTMConfig(units=250)


@pytest.mark.parametrize("number", range(21, 26))
def test_modules_are_silenced_on_digits_that_they_learned(number):
    """The test part has others."""
    judging = make_plan(PAPER_FIGURES[f"rims-figure-{number}"], "paper", Path("here")).judging
    assert judging[0][judging[0].index("--part") + 1] == "validation"


def test_clips_of_a_preset_are_predicted_one_step_ahead_and_calibrated_on_those_that_were_trained_on():
    plan = make_plan(PAPER_FIGURES["rims-figure-13"], "tiny", Path("here"))
    scoring = [words for words in plan.judging if words[0] == "evaluate"]
    for balls, words in enumerate(scoring, 1):
        assert words[4] == f"datasets/crops{balls}-tiny.h5"
        asked = ("--feedback", "true", "--reference", "datasets/crops-tiny.h5", "--metrics", "f1", "balanced-accuracy")
        assert words[9:-3] == asked
    assert [list(clips.clips) for clips in plan.clips.values()] == [["train", "validation", "test"], *[["test"]] * 6]
    assert plan.shown == [Path("here/all-11")]


def test_table_1_is_of_the_mean_over_frames():
    (words,) = make_plan(PAPER_FIGURES["scoff-table-1"], "small", Path("here")).judging
    assert words[words.index("--aggregates") + 1] == "mean"


def test_panels_stand_side_by_side_for_each_horizon_under_the_names_of_the_figure():
    judging = make_plan(PAPER_FIGURES["scoff-figure-5"], "paper", Path("here")).judging
    across = [words for words in judging if "here/all-" in " ".join(words)]
    assert [words[words.index("--out") + 1] for words in across] == ["here/all-10", "here/all-30"]
    for words, horizon in zip(across, (10, 30), strict=True):
        folders = words[1 : words.index("--names")]
        data = ("balls4", "curtain", "balls678", "colored678")
        assert folders == tuple(f"here/scoff-{of}-on-{of}-rnem-{horizon}" for of in data)
        assert words[words.index("--relative-to") + 1] == "GRU"
        for name in ("scoff-balls4=SCOFF", "scoff-curtain-gru=GRU", "scoff-colored678-rims=RIMs"):
            assert name in words
    judging = make_plan(PAPER_FIGURES["scoff-figure-7"], "paper", Path("here")).judging
    assert "scoff-curtain-rmc=RMC" in next(words for words in judging if "here/all-10" in words)
    judging = make_plan(PAPER_FIGURES["rims-figure-13"], "paper", Path("here")).judging
    (words,) = (words for words in judging if "here/all-99" in words)
    assert words[7:11] == ("--names", "rims-crops=RIMs", "rims-crops-lstm=LSTM", "rims-crops-rmc=RMC")


def test_panels_of_curves_stand_in_one_figure_where_a_model_has_one_name():
    judging = make_plan(PAPER_FIGURES["rims-figure-3"], "paper", Path("here")).judging
    *parts, whole = (words for words in judging if words[0] == "compare")
    assert not any("--curves" in words for words in parts)
    assert whole[1:5] == tuple(words[1] for words in parts)
    assert whole[5:] == (
        "--names", "rims-balls4=RIMs", "rims-balls4-lstm=LSTM", "rims-balls4-narrow-lstm=narrow LSTM",
        "rims-balls678=RIMs trained on 6-8", "rims-balls678-lstm=LSTM trained on 6-8",
        "rims-balls678-narrow-lstm=narrow LSTM trained on 6-8", "--curves", "--out", "here/all-35", "--overwrite",
    )  # fmt: skip


def test_the_page_lists_every_figure():
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)
    assert rows == [
        (name, figure.place, " ".join(filter(None, (figure.summary, figure.differs))))
        for name, figure in PAPER_FIGURES.items()
    ]
