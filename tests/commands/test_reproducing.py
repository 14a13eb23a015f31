"""Figures of the papers: each can be made from nothing by one command, and goes on where it stopped."""

import json
import shlex
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from documents import commands
from tiny_runs import HEIGHT, RECIPE, WIDTH

from videopred import cli
from videopred.check import FailedError, FaultyFileError
from videopred.checkpoint import RunConfig
from videopred.commands.reproducing import _check_runs, _do
from videopred.datasets import find_recipe
from videopred.datasets.generation import generate
from videopred.experiments.clips import find_or_make_clips
from videopred.experiments.figures import PAPER_FIGURES
from videopred.experiments.planning import make_plan
from videopred.interrupt import as_ctrl_c

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_page_makes_a_figure_from_nothing_and_again_without_training(workplace, capsys):
    for line in commands(PAGE.read_text()):
        cli.run(shlex.split(line)[1:])
    told = capsys.readouterr().out
    assert told.startswith("RIMs, figure 12: ")
    assert "\n$ videopred train rims-balls678 --scale tiny --out models/rims-balls678-tiny\n" in told
    assert "next: " not in told  # what comes next, it does itself
    assert "\n\nin eval/rims-figure-12-tiny: RIMs, figure 12\n" in told
    pictures = sorted(str(path) for path in Path("eval").rglob("*.png"))
    places = ("rims-balls678-tiny-on-balls4-rnem-tiny", "rims-balls678-tiny-on-balls678-rnem-tiny")
    assert pictures == [f"eval/rims-figure-12-tiny/{place}/test-{n}-strip.png" for place in places for n in (0, 1)]
    weights = Path("models/rims-balls678-tiny/checkpoints/last.ckpt").read_bytes()
    cli.run(["reproduce", "rims-figure-12", "--scale", "tiny", "--device", "cpu"])
    again = capsys.readouterr()
    assert "\n$ videopred train datasets/balls678-rnem-tiny.h5 --resume models/rims-balls678-tiny " in again.out
    assert "datasets/balls678-rnem-tiny.h5 exists and is used as it is\n" in again.err
    assert Path("models/rims-balls678-tiny/checkpoints/last.ckpt").read_bytes() == weights


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(PAPER_FIGURES) - {"rims-figure-12"}))
def test_each_figure_is_made_from_nothing(name, workplace, capsys):
    cli.run(["reproduce", name, "--scale", "tiny", "--device", "cpu"])
    said = capsys.readouterr().out.splitlines()[-1].removeprefix("in ").removesuffix(f": {PAPER_FIGURES[name].place}")
    for place in map(Path, said.split(" and ")):
        assert [*place.glob("comparison.png" if PAPER_FIGURES[name].together else "**/*.*")]
    panels = PAPER_FIGURES[name].panels
    made = {path.name for path in Path("eval").rglob("*.*")}
    assert ("comparison.png" in made) == any(panel.metrics for panel in panels)
    assert ("plausibility-compared.csv" in made) == any(panel.plausibility for panel in panels)
    for panel in panels:
        for ending in ("png", "svg", "pdf") if panel.figure else ():
            assert any(path.endswith(f"-{panel.figure}.{ending}") for path in made)
    (table,) = Path("eval").rglob("all-*/comparison.csv") if PAPER_FIGURES[name].together else (None,)
    if table is not None:
        rows = [line.split(",")[0] for line in table.read_text().splitlines()]
        assert rows[1] == panels[0].models[0].name


@pytest.mark.slow
def test_a_figure_over_seeds_has_means_over_them_and_pictures_of_the_first(workplace, capsys):
    words = ["reproduce", "rims-figure-15", "--scale", "tiny", "--seeds", "2,0", "--device", "cpu"]
    cli.run(words)
    assert "\nRIMs: mean of 2 seeds (rims-balls4-tiny-seeds/seed-2, rims-balls4-tiny-seeds/seed-0)\n" in (
        capsys.readouterr().out
    )
    place = Path("eval/rims-figure-15-tiny-seeds/rims-balls4-tiny-on-balls4-rnem-tiny")
    pictures = {path: path.read_bytes() for path in place.glob("*.svg")}
    assert pictures
    with pytest.raises(FaultyFileError, match=r"seeds must be of .* from the seeds 0, 1, got runs from the seeds 2, 0"):
        cli.run([*words[:4], "--seeds", "0,1", "--device", "cpu"])
    shutil.rmtree("models/rims-balls4-tiny-seeds/seed-0")
    cli.run(words)
    assert "train datasets/balls4-rnem-tiny.h5 --resume models/rims-balls4-tiny-seeds " in capsys.readouterr().out
    assert {path: path.read_bytes() for path in place.glob("*.svg")} == pictures


def replace_train(monkeypatch: pytest.MonkeyPatch, other: Callable) -> None:
    """Also in the module that takes it from there, which would keep the other one if it were loaded meanwhile."""
    for module in ("seeds", "run"):
        monkeypatch.setattr(f"videopred.training.{module}.train", other)


@pytest.mark.parametrize(
    ("said", "told"), [("continue with …", "continue with …; give"), ("", "what is saved is whole; give")]
)
def test_who_interrupts_a_figure_is_told_how_to_continue_it(workplace, monkeypatch, said, told):
    def interrupted(*_, **__):
        raise KeyboardInterrupt(said)

    replace_train(monkeypatch, interrupted)
    Path("models/rims-balls678-tiny").mkdir(parents=True)
    with pytest.raises(KeyboardInterrupt, match=f"^{told} this command again to continue the figure$"):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny", "--device", "cpu"])


def test_a_run_that_another_command_begins_meanwhile_is_told(workplace, monkeypatch):
    run = Path("models/rims-balls678-tiny")

    def beaten(*_, **__):
        run.mkdir(parents=True)
        (run / "settings.json").write_text("{}")
        raise FileExistsError("--out must be a new path")

    replace_train(monkeypatch, beaten)
    told = f"^{run} must be trained by one command at a time, got a run that another began meanwhile; wait for it, and"
    with pytest.raises(FailedError, match=told):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny", "--device", "cpu"])


def test_who_interrupts_a_training_of_a_figure_that_was_over_has_no_other_begun(capsys):
    with as_ctrl_c() as around:
        _do(("list", "cores"))
        around.asked = True
        with pytest.raises(KeyboardInterrupt, match=r"^what is saved is whole; give this command again to"):
            _do(("list", "cores"))
    assert capsys.readouterr().out.count("Recurrent independent mechanisms") == 2


def test_a_dry_run_prints_a_script_and_makes_nothing(workplace, capsys):
    cli.run(["reproduce", "brims-figure-4", "--dry-run"])
    first, title, differing, *lines = capsys.readouterr().out.splitlines()
    assert first == "set -e"  # else a script would go on after a command that failed
    assert title.startswith("# BRIMs, figure 4: ")
    assert differing.startswith("# differs: Models of the curtain are also trained behind it, ")
    assert all(line.startswith("videopred ") for line in lines)
    clips = "--clips train=50000 validation=1000 test=10000 --out datasets/balls4-rnem.h5"
    assert f"videopred generate balls4 --engine rnem {clips}" in lines
    assert "videopred train brims-balls4 --scale paper --core rims --out models/brims-balls4-rims" in lines
    assert list(workplace.iterdir()) == []


def test_a_dry_run_leaves_out_clips_that_are_there_and_goes_on_with_runs(workplace, capsys):
    cli.run(["train", "rims-balls678", "--scale", "tiny", "--device", "cpu"])
    capsys.readouterr()
    cli.run(["reproduce", "rims-figure-12", "--scale", "tiny", "--device", "cpu", "--dry-run"])
    made, trained = capsys.readouterr().out.splitlines()[2:4]
    assert made.startswith("videopred generate balls4 --frames 12 ")
    data = "datasets/balls678-rnem-tiny.h5"  # where the run says that they were, all may have been moved since
    assert trained == f"videopred train {data} --resume models/rims-balls678-tiny --device cpu"


def test_the_clips_of_a_dry_run_are_those_of_the_experiment(workplace, capsys):
    cli.run(["reproduce", "rims-figure-3", "--scale", "tiny", "--dry-run"])
    lines = [line for line in capsys.readouterr().out.splitlines() if " generate " in line]
    assert len(lines) == 3
    for line in lines:
        cli.run(shlex.split(line)[1:])
    for path, experiment in make_plan(PAPER_FIGURES["rims-figure-3"], "tiny", Path("eval")).clips.items():
        assert find_or_make_clips(experiment) == path


def test_a_run_of_something_else_is_refused_before_anything_is_made(workplace):
    cli.run(["train", "rims-balls4", "--scale", "tiny", "--out", "models/rims-balls678-tiny", "--device", "cpu"])
    before = sorted(workplace.rglob("*"))
    told = "models/rims-balls678-tiny must be of rims-balls678 at scale tiny, got a run of rims-balls4 at scale tiny"
    with pytest.raises(ValueError, match=told):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny"])
    settings = Path("models/rims-balls678-tiny/settings.json")
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"experiment": None}))
    with pytest.raises(ValueError, match="got a run of no experiment; move it away"):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny"])
    assert sorted(workplace.rglob("*")) == before


def test_a_run_that_cannot_be_read_is_not_taken_for_damaged(workplace, monkeypatch):
    settings, read = workplace / "models" / "rims-balls678-tiny" / "settings.json", Path.read_bytes

    def refused(path: Path) -> bytes:
        if path.name == settings.name:
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    settings.parent.mkdir(parents=True)
    settings.touch()
    with monkeypatch.context() as system:
        system.setattr(Path, "read_bytes", refused)
        with pytest.raises(PermissionError, match=r"settings\.json"):
            cli.run(["reproduce", "rims-figure-12", "--scale", "tiny"])


def test_a_damaged_run_and_a_file_for_the_results_are_refused_before_anything_is_made(workplace, capsys):
    run = Path("models/rims-balls678-tiny")
    run.mkdir(parents=True)
    (run / "settings.json").write_text("{")
    told = f"^{run} must be of rims-balls678 at scale tiny, got what holds no settings of a run; move it away"
    with pytest.raises(FaultyFileError, match=told):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny"])
    (run / "seeds.json").write_text('{"seeds": [0, 1]}')
    with pytest.raises(FaultyFileError, match=f"^{run} must be of .*, got runs from the seeds 0, 1; move it away"):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny"])
    (run / "seeds.json").unlink()
    (run / "settings.json").unlink()
    cli.run(["reproduce", "rims-figure-12", "--scale", "tiny", "--dry-run"])  # an empty folder holds nothing
    assert "videopred train rims-balls678 --scale tiny --out models/rims-balls678-tiny\n" in capsys.readouterr().out
    Path("seen").touch()
    with pytest.raises(ValueError, match=r"^--out must be a folder, got seen, a file; choose another name"):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny", "--out", "seen"])
    with pytest.raises(
        OSError, match=r"^--out must be a path that can be written, got seen/.*seen is no folder; choose"
    ):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny", "--out", "seen/too"])
    assert sorted(path.name for path in workplace.rglob("*")) == ["models", run.name, "seen"]


def test_runs_from_other_seeds_or_from_none_are_refused_before_anything_is_made(workplace):
    run = Path("models/rims-balls678-tiny-seeds")
    run.mkdir(parents=True)
    (run / "settings.json").write_text("{}")
    words = ["reproduce", "rims-figure-12", "--scale", "tiny", "--seeds", "0,1"]
    told = f"^{run} must be of rims-balls678 at scale tiny from the seeds 0, 1, got "
    with pytest.raises(FaultyFileError, match=f"{told}no runs from several seeds; move it away"):
        cli.run(words)
    (run / "settings.json").unlink()
    (run / "seeds.json").write_text('{"seeds": [0, 1, 4]}')
    with pytest.raises(FaultyFileError, match=f"{told}runs from the seeds 0, 1, 4; give --seeds 0,1,4, or move"):
        cli.run(words)
    (run / "seeds.json").write_text('{"seeds": [4]}')
    with pytest.raises(
        FaultyFileError, match=f"{told}runs from the seeds 4; move it away"
    ):  # a figure takes two or more
        cli.run(words)
    (run / "seeds.json").write_text('{"seeds": [0, 1]}')
    (run / "seed-1").mkdir()
    (run / "seed-1" / "settings.json").write_text("{")
    (run / "seeds.json").write_text('{"seeds": [1, 0]}')
    with pytest.raises(FaultyFileError, match=f"^{run}/seed-1 must be of .*, got what holds no settings of a run;"):
        cli.run(words)


def test_a_folder_of_seeds_in_which_none_has_begun_is_begun_anew(workplace, capsys):
    """As where a process was killed early, or all runs were moved away."""
    words = ["reproduce", "rims-figure-12", "--scale", "tiny", "--seeds", "0,1", "--dry-run"]
    run = Path("models/rims-balls678-tiny-seeds")
    for left in ("seed-0/.lock", "seeds.json"):
        (run / left).parent.mkdir(parents=True, exist_ok=True)
        (run / left).write_text('{"seeds": [0, 1]}')
    cli.run(words)
    training = f"videopred train rims-balls678 --scale tiny --seeds 0,1 --out {run}"
    assert f"{training}\n" in capsys.readouterr().out
    cli.run([*training.split()[1:], "--device", "cpu"])
    capsys.readouterr()
    cli.run(words)
    assert f"--resume {run}\n" in capsys.readouterr().out
    settings = json.loads((run / "seed-1/settings.json").read_text())
    (run / "seed-1/settings.json").write_text(json.dumps(settings | {"experiment": None}))
    with pytest.raises(
        ValueError, match=f"^{run}/seed-1 must be of .* from the seeds 0, 1, got a run of no experiment"
    ):
        cli.run(words)
    settings["data"]["sha256"] = "0" * 64
    (run / "seed-1/settings.json").write_text(json.dumps(settings))
    with pytest.raises(ValueError, match=f"^{run}/seed-1 must have learned from the clips in "):
        cli.run(words[:-1])


def test_a_run_of_a_file_called_as_the_experiment_is_none_of_the_figure(workplace):
    cli.run(["train", "rims-balls678", "--write", "rims-balls678.json"])
    cli.run(["train", "rims-balls678.json", "--scale", "tiny", "--out", "models/rims-balls678-tiny", "--device", "cpu"])
    with pytest.raises(ValueError, match=r"got a run of rims-balls678 from a file of its own; move it away"):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny"])


def test_a_run_with_flags_of_its_own_is_none_of_the_figure(workplace):
    words = "train rims-balls678 --scale tiny --core.active 3 --out models/rims-balls678-tiny --device cpu"
    cli.run(words.split())
    with pytest.raises(ValueError, match=r"got a run of rims-balls678 at scale tiny, with its own core\.active"):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny"])


@pytest.mark.parametrize(
    ("flags", "suffix", "fits"),
    [
        ("--core.active 5 5", "-dense", True),
        ("--core.active 3 5", "-dense", False),
        ("--core.active 5 5 --seed 7", "-dense", False),
        ("", "-dense", False),
        ("", "", True),
        ("--seed 7", "", False),
    ],
)
def test_a_run_is_of_a_figure_if_its_flags_are(workplace, flags, suffix, fits):
    """As the settings of a model are, not as they were typed."""
    cli.run(f"train brims-balls4 --scale tiny {flags} --out run --device cpu".split())
    (training,) = (
        one
        for one in make_plan(PAPER_FIGURES["brims-figure-5"], "tiny", Path("eval")).trainings
        if one.run.name == f"brims-balls4-tiny{suffix}"
    )
    refused = (
        nullcontext() if fits else pytest.raises(ValueError, match=r"^run must be of brims-balls4 .*; move it away")
    )
    with refused:
        _check_runs(training._replace(run=Path("run")))


@pytest.mark.slow
def test_every_figure_finds_the_runs_that_it_has_begun(workplace, monkeypatch):
    """Also those whose flags change more than they name, as another core brings its own decoder."""
    data = generate("balls4", {"train": 9}, recipe=RECIPE.model_copy(update={"frames": 30}), out=Path("clips.h5"))

    def begin(data, model, training, *, out, experiment, **_):
        config = RunConfig(model=model, film_shape=(1, HEIGHT, WIDTH), training=training, experiment=experiment)
        out.mkdir(parents=True)
        (out / "settings.json").write_text(config.model_dump_json())
        return out

    replace_train(monkeypatch, begin)
    for figure in PAPER_FIGURES.values():
        for one in make_plan(figure, "tiny", Path("eval")).trainings:
            if not one.run.exists():
                cli.run([*one.words, "--data", str(data)])
            _check_runs(one)


def test_a_run_that_began_with_other_weights_is_none_of_a_figure(workplace):
    words = "train rims-balls4 --scale tiny --device cpu --out"
    cli.run([*words.split(), "first"])
    cli.run([*words.split(), "second", "--init-from", "first"])
    (training, *_) = make_plan(PAPER_FIGURES["rims-figure-3"], "tiny", Path("eval")).trainings
    message = (
        "^second must be of rims-balls4 at scale tiny, got a run that began with the weights of .*first; move it away"
    )
    with pytest.raises(ValueError, match=message):
        _check_runs(training._replace(run=Path("second")))


def test_clips_by_another_recipe_are_to_be_moved_away_as_nothing_else_is_possible(workplace, capsys):
    recipe = find_recipe("balls678", frames=12, height=24, width=24)
    generate("balls678", {"train": 2}, recipe=recipe, out=Path("datasets/balls678-rnem-tiny.h5"))
    capsys.readouterr()
    message = r"must be made by the experiment's recipe, got one made by another; move it away$"
    with pytest.raises(ValueError, match=message):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny", "--device", "cpu"])
    assert "is used as it is" not in capsys.readouterr().err


def test_a_device_that_is_not_there_is_refused_before_clips_are_made(workplace, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(ValueError, match=r"^--device must be a device of this machine, which has 0 of kind cuda"):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny", "--device", "cuda"])
    assert list(workplace.rglob("*")) == []


def test_a_run_that_learned_from_other_clips_of_that_name_is_refused_before_anything_is_made(workplace):
    experiment = make_plan(PAPER_FIGURES["rims-figure-12"], "tiny", Path("eval")).trainings[0].asked.scaled
    recipe, clips, out = experiment.recipe, experiment.clips, experiment.data_file
    generate(experiment.data, clips, recipe=recipe, seed=1, out=out)
    cli.run(["train", "rims-balls678", "--scale", "tiny", "--data", str(out), "--device", "cpu"])
    generate(experiment.data, clips, recipe=recipe, seed=0, out=out, overwrite=True)
    told = f"^models/rims-balls678-tiny must have learned from the clips in {out}, got a run that learned from others"
    with pytest.raises(ValueError, match=told):
        cli.run(["reproduce", "rims-figure-12", "--scale", "tiny", "--device", "cpu"])
    assert list(Path("datasets").iterdir()) == [out]
    assert not Path("eval").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["rims-figur-3"], "FIGURE must be one of .*, got rims-figur-3; did you mean rims-figure-3"),
        (["rims-figure-3", "--device", "gpu"], "--device must be .*, got gpu"),
        (
            ["rims-figure-3", "--seeds", "3"],
            "--seeds must be two at least, got 3; leave it out to train each model once",
        ),
        (["rims-figure-3", "--seeds", "3,3"], "--seeds must give each seed once, got 3 twice"),
        (["rims-figure-3", "--seeds", "a"], "--seeds must be whole numbers with commas between them, got a; write"),
    ],
)
def test_bad_words(words, complaint, workplace):
    with pytest.raises(ValueError, match=complaint):
        cli.run(["reproduce", *words])
    assert list(workplace.iterdir()) == []
