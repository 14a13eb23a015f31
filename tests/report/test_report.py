"""One page about runs: whole in itself, true to their files, and plain about what is missing."""

import base64
import io
import json
import re
import shlex
import shutil
from html import escape
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from page_checks import Page
from PIL import Image
from tiny_runs import tiny_data, tiny_model, tiny_training

from videopred import cli
from videopred.checkpoint import load_run
from videopred.datasets import open_dataset
from videopred.eval import comparison
from videopred.eval.plausibility_text import ABSOLUTE, RELATIVE, UNSOUND
from videopred.eval.saved_scores import load_scores
from videopred.eval.settings import Protocol
from videopred.eval.tables import written
from videopred.export import export_run
from videopred.judging import evaluate, imagine
from videopred.judging.runs import evaluate_runs
from videopred.rendering import ROWS
from videopred.report.clips import choose_clips
from videopred.report.page import write_report
from videopred.run_files import export_of
from videopred.training.run import train

CONTEXT, HORIZON = 4, 5
METRICS = ("mse", "f1")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, two runs and the scores of one of them."""
    folder = tmp_path_factory.mktemp("report")
    data = tiny_data(folder / "two.h5")
    for core in ("rims", "gru"):
        train(data, tiny_model(core), tiny_training(), out=folder / "models" / core, device="cpu")
    with open_dataset(data) as file:
        model = load_run(folder / "models" / "rims")
        found = evaluate(model, file, context=CONTEXT, horizon=HORIZON, metrics=METRICS)
    found.save(folder / "eval" / "rims" / "two")
    return folder


def report(made: Path, out: Path, *runs: str, **options) -> Page:
    paths = [made / "models" / run for run in runs]
    (made / "eval").mkdir(exist_ok=True)
    text = write_report(paths, out / "page.html", results=made / "eval", **options).read_text()
    page = Page(text)
    assert page.faults == []
    assert len(text.encode()) < 5_000_000
    return page


@pytest.fixture(scope="module")
def page(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return report(made, tmp_path_factory.mktemp("page"), "rims")


def content(image: dict[str, str | None]) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode((image["src"] or "").partition(",")[2])))


def plays(film: Image.Image) -> int:
    """Tenths of a second that a film plays, if no picture is like the one before."""
    shown, took = [], 0
    for frame in range(film.n_frames):
        film.seek(frame)
        shown.append(film.convert("RGB").tobytes())
        took += film.info["duration"]
    assert len(shown) > 1
    assert all(one != other for one, other in pairwise(shown))
    return took // 100


def test_films_move_and_stand_still_beside(page):
    films = [content(image) for image in page.images if (image["src"] or "").startswith("data:image/gif;")]
    stills = [content(image) for image in page.images if (image["src"] or "").startswith("data:image/png;")]
    assert len(films) == len(stills) == 3
    for film in films:
        assert plays(film) == CONTEXT + HORIZON
        assert film.info["loop"] == 0  # for ever
    assert all(image["alt"] == "Film of the frames below." for image in page.images[::2])
    assert all("One below the other: The true frames. What the" in (image["alt"] or "") for image in page.images[1::2])


def test_worst_median_and_best_are_those_of_the_films_themselves(made, page):
    with open_dataset(made / "two.h5") as file:
        model = load_run(made / "models" / "rims")
        rollout, truth = imagine(model, file, "test", range(5), CONTEXT, HORIZON)
    errors = ((rollout.prediction - truth) ** 2).mean(dim=(1, 2, 3, 4))
    order = torch.argsort(errors, descending=True).tolist()
    stills = page.images[1::2]
    for image, name, place in zip(stills, ("Worst", "Median", "Best"), (0, 2, 4), strict=True):
        assert f"Clip {order[place]} of the test part" in (image["alt"] or "")
        assert f"{name} of 5: MSE {errors[order[place]]:.4f}" in page.text


def test_scores_are_those_of_the_file_beside_every_baseline(made, page):
    scores = load_scores(made / "eval" / "rims" / "two")
    kept = json.loads((made / "eval" / "rims" / "two" / "scores.json").read_text())["rows"]
    for row, cells in kept.items():
        for column, cell in cells.items():
            half = (cell["interval"][1] - cell["interval"][0]) / 2
            metric = scores.metrics[column]
            assert f"{written(cell['mean'], metric)} ±{written(half, metric)}" in page.text, (row, column)
        assert any(f"{row} from {cells['mse']['steps'][0]:.4g} to" in chart for chart in page.charts)
    for metric in scores.metrics.values():
        assert metric.convention in page.text


def test_it_says_how_the_run_learned_and_where_it_came_from(made, page):
    settings = json.loads((made / "models" / "rims" / "settings.json").read_text())
    record = json.loads((made / "models" / "rims" / "run.json").read_text())
    for name, value in settings["model"]["core"].items():
        shown = {"True": "yes", "False": "no", "None": "–"}.get(str(value), value)
        assert f"{name.replace('_', ' ')} {shown}" in page.text
    assert record["versions"]["torch"] in page.text
    assert settings["data"]["sha256"] in page.text
    assert "the data it was trained on" in page.text
    assert any(chart.startswith("loss over the updates: train bce") for chart in page.charts)


def test_modules_are_drawn_at_every_step_and_a_plain_core_has_none(made, page, tmp_path):
    drawn = [chart for chart in page.charts if chart.startswith("active")]
    span = f"active over frames 2 to {CONTEXT + HORIZON}, where the rollout begins after frame {CONTEXT}. "
    of_each = "; ".join(rf"module {number}: mean [01]\.\d\d" for number in range(4))
    assert len(drawn) == 3
    assert all(re.fullmatch(re.escape(span) + of_each, chart) for chart in drawn)
    assert not any("active" in chart for chart in report(made, tmp_path, "gru").charts)


def test_its_commands_make_data_and_scores_again(made, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = [line for line in page.words if line.startswith("videopred ")]
    (generate,) = [shlex.split(line)[1:] for line in commands if " generate " in line]
    (score,) = [shlex.split(line)[1:] for line in commands if " evaluate " in line]
    cli.run([*generate[:-1], "again.h5"])
    with open_dataset("again.h5") as again, open_dataset(made / "two.h5") as first:
        assert again.fingerprint() == first.fingerprint()
    cli.run(score)
    ours, theirs = (Path(place) / "rims" / "two" / "scores.csv" for place in ("eval", made / "eval"))
    assert ours.read_text() == theirs.read_text()


def test_what_is_missing_is_named_with_its_command(made, tmp_path):
    page = report(made, tmp_path, "gru")
    said = f"videopred evaluate {made}/models/gru {made}/two.h5"
    assert f"{said} --context 4 --horizon 5" in page.text  # the data's own
    assert f"videopred plausibility {made}/models/gru DATA" in page.text
    assert "Clip 0" in page.text  # nothing says which is the worst
    untested = tiny_data(tmp_path / "untested.h5", {"train": 3})
    page = report(made, tmp_path, "gru", data=untested, overwrite=True)
    assert f"videopred evaluate {made}/models/gru {untested} --context 4 --horizon 5 --part train" in page.text


def test_a_run_without_data_or_checkpoint_has_its_page(made, tmp_path):
    run = tmp_path / "models" / "gone"
    shutil.copytree(made / "models" / "gru", run)
    shutil.rmtree(run / "checkpoints")
    data, at_once = made / "two.h5", {"data": made / "two.h5", "overwrite": True}
    told = "the run has no checkpoint; an export of it shows them videopred report"
    page = report(tmp_path, tmp_path, "gone", data=data)
    assert f"{told} EXPORT.safetensors --data {data} --out OTHER.html" in page.text
    assert "videopred evaluate" not in page.text
    export_of(run).touch()
    assert f"{told} {run}.safetensors --data {data} " in report(tmp_path, tmp_path, "gone", **at_once).text
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"state": "interrupted", "updates": 1}))
    assert f"{told} {run}.safetensors --data {data} " in report(tmp_path, tmp_path, "gone", **at_once).text
    (run / "run.json").write_text(json.dumps(record | {"state": "interrupted", "updates": 0}))
    page = report(tmp_path, tmp_path, "gone", **at_once)
    assert f"the run has no checkpoint videopred train --resume {run}" in page.text
    settings = json.loads((run / "settings.json").read_text())
    recipe = tmp_path / "recipe.json"
    recipe.touch()
    for path in ("nowhere.h5", str(recipe)):
        settings["data"]["path"] = path
        (run / "settings.json").write_text(json.dumps(settings))
        page = report(tmp_path, tmp_path, "gone", overwrite=True)
        assert f"videopred report {run} --data DATA" in page.text
        assert page.images == []


def test_an_export_stands_for_its_run(made, tmp_path):
    path = export_run(made / "models" / "rims", tmp_path / "rims.safetensors")
    text = write_report([path], tmp_path / "page.html", data=made / "two.h5", results=made / "eval").read_text()
    page = Page(text)
    assert page.faults == []
    assert "Worst of 5" in page.text


def test_the_command_of_an_export_reads_the_data_that_the_command_before_it_makes(made, tmp_path):
    """Its record has the name of the file only."""
    run = shutil.copytree(made / "models" / "gru", tmp_path / "gru")
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"command": "videopred train old/two.h5 --core gru"}))
    path = export_run(run, tmp_path / "gru.safetensors")
    page = Page(write_report([path], tmp_path / "page.html", data=made / "two.h5").read_text())
    assert f"videopred train {made / 'two.h5'} --core gru" in page.text


def test_the_command_of_an_export_does_not_read_other_data_of_the_same_name(made, tmp_path):
    run = shutil.copytree(made / "models" / "gru", tmp_path / "gru")
    record = json.loads((run / "run.json").read_text()) | {"command": "videopred train old/two.h5 --core gru"}
    (run / "run.json").write_text(json.dumps(record))
    path, other = export_run(run, tmp_path / "gru.safetensors"), tiny_data(tmp_path / "two.h5", seed=7)
    page = Page(write_report([path], tmp_path / "page.html", data=other).read_text())
    assert "videopred train two.h5 --core gru" in page.text


def test_of_several_runs_each_shows_the_rows_that_it_can_have(made, tmp_path):
    page = report(made, tmp_path, "rims", "gru", rows=("truth", "modules"))
    told = [image["alt"] or "" for image in page.images if "One below the other" in (image["alt"] or "")]
    of_modules = [ROWS["modules"].summary in alt for alt in told]
    assert 0 < sum(of_modules) < len(of_modules)
    with pytest.raises(
        ValueError, match=r"^--rows must be among truth, .* for this model and data, got schemata; leave it"
    ):
        report(made, tmp_path, "rims", "gru", rows=("truth", "schemata"), overwrite=True)


def test_other_rows_are_drawn_and_one_that_the_model_lacks_is_refused(made, tmp_path):
    page = report(made, tmp_path, "rims", rows=("truth", "modules", "boxes"))
    assert content(page.images[0]).n_frames > HORIZON
    assert "Which modules were active. Boxes of the true objects" in (page.images[1]["alt"] or "")
    with pytest.raises(ValueError, match="--rows must be among truth, pred, diff, overlay, boxes for this"):
        report(made, tmp_path, "gru", rows=("modules",), overwrite=True)


@pytest.mark.slow
def test_runs_without_scores_are_told_how_the_others_were_scored(made, tmp_path):
    shutil.copytree(made / "eval", tmp_path / "eval")
    shutil.copytree(made / "models", tmp_path / "models")
    page = report(tmp_path, tmp_path, "rims", "gru")
    (command,) = [line for line in page.words if "evaluate" in line and "models/gru" in line]
    theirs = load_scores(tmp_path / "eval" / "rims" / "two").protocol
    assert f"--context {CONTEXT} --horizon {HORIZON} --metrics {' '.join(theirs.metrics)}" in command
    cli.run([*shlex.split(command)[1:], "--out", str(tmp_path / "eval" / "gru" / "two")])
    again = report(tmp_path, tmp_path, "rims", "gru", overwrite=True)
    assert "no scores on the same data" not in again.text


def test_runs_stand_side_by_side(made, tmp_path):
    shutil.copytree(made / "eval", tmp_path / "eval")
    shutil.copytree(made / "models", tmp_path / "models")
    with open_dataset(made / "two.h5") as file:
        model = load_run(made / "models" / "gru")
        evaluate(model, file, context=CONTEXT, horizon=HORIZON, metrics=METRICS).save(tmp_path / "eval" / "gru" / "two")
    page = report(tmp_path, tmp_path, "rims", "gru")
    tables = {name: load_scores(tmp_path / "eval" / name / "two") for name in ("rims", "gru")}
    found = comparison.compare(tables).difference("gru", "mse")
    assert f"{found.difference:z.4f} {found.low:z.4f} to {found.high:z.4f}" in page.text
    assert any("validation loss" in chart and "rims" in chart and "gru" in chart for chart in page.charts)
    assert "rims and gru" in page.text


@pytest.mark.slow
def test_scores_of_runs_judged_together_are_found(made, tmp_path):
    shutil.copytree(made / "models", tmp_path / "models")
    runs = [tmp_path / "models" / name for name in ("rims", "gru")]
    with open_dataset(made / "two.h5") as file:
        asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=METRICS)
        scores = evaluate_runs(runs, file, asked)
    scores.save(tmp_path / "eval" / "rims-and-1-more" / "two")
    page = report(tmp_path, tmp_path, "rims", "gru")
    assert f"{scores.mean('gru', 'mse'):.4f}" in page.text
    assert "no scores on the same data" not in page.text
    for name in ("rims", "gru"):  # each is shown on the clips that it predicts worst, as if it had been judged alone
        for one in choose_clips(scores.of_models([name]), "mse"):
            assert one.why in page.text
    assert page.text.count("Worst of 5: MSE") >= 2
    assert report(tmp_path, tmp_path / "f1", "rims", "gru", by="f1").text.count("Worst of 5: F1") >= 2


def test_scores_of_other_clips_do_not_choose(made, tmp_path):
    other = tiny_data(tmp_path / "two.h5", seed=1)
    page = report(made, tmp_path, "rims", data=other)
    assert f"The scores on two are of other clips than {other} holds" in page.text
    assert "Worst" not in page.text
    assert "not the data it was trained on" in page.text


def test_runs_that_cannot_be_compared_say_why(made, tmp_path):
    assert "They have no scores on the same data" in report(made, tmp_path, "rims", "gru").text


@pytest.mark.slow
def test_plausibility_is_shown_if_it_was_judged(made, tmp_path, monkeypatch):
    estimate = {"value": 0.25, "low": 0.125, "high": None}
    error = {"where": {}, "scenes": 7, "relative": estimate | {"high": 0.5}, "strict": 0.5, "ties": 0}
    errors = {"max": [error | {"absolute": estimate}, error | {"where": {"block": "O1"}, "absolute": estimate}]}
    folder = tmp_path / "eval" / "rims" / "films"
    folder.mkdir(parents=True)
    settings = {"data": "films.h5", "run": "models/rims", "part": "test", "burn_in": 3}
    for name in ("mean", "max"):
        told = json.dumps({"settings": settings, "errors": {name: errors["max"]}})
        (folder / "plausibility.json").write_text(told)
        place = tmp_path / f"{name}.html"
        text = write_report([made / "models" / "rims"], place, results=tmp_path / "eval").read_text()
        assert (UNSOUND.capitalize() in Page(text).text) == (name == "max")
    page = Page(text)
    assert page.faults == []
    assert "max, all scenes 7 0.250 (0.125 to 0.500) 0.250" in page.text
    for told in (f"Relative errors: {RELATIVE}.", f"Absolute errors: {ABSOLUTE}.", f"{UNSOUND.capitalize()}."):
        assert told in page.text
    assert "max, block O1" in page.text
    assert "--burn-in 3 --aggregates max --draw 0 --overwrite" in page.text
    for kind in ("gif", "png"):
        Image.effect_noise((800, 700), 50).save(folder / f"scene-3.{kind}")
    text = write_report([made / "models" / "rims"], tmp_path / "q.html", results=tmp_path / "eval").read_text()
    assert Page(text).faults == []
    assert "--draw 0" not in text
    (film, still) = [content(image) for image in Page(text).images[-2:]]
    assert film.size == still.size == (800, 700)
    said = "Scene 3: films that are possible and impossible, above the curves of the surprise at their frames."
    assert [image["alt"] for image in Page(text).images[-2:]] == ["Film of the frames below.", said]
    monkeypatch.setattr("videopred.report.page.LARGEST", len(text))
    text = write_report([made / "models" / "rims"], tmp_path / "r.html", results=tmp_path / "eval").read_text()
    assert Page(text).faults == []
    still = Page(text).images[-1]
    assert content(still).size == (800, 700)
    assert still["alt"] == said
    assert "Scene 3" in Page(text).text
    assert "--burn-in 3 --aggregates max" in page.text


def test_names_are_text_and_never_markup(made, tmp_path):
    name = "<script>alert(1)<&'\">"
    run = tmp_path / "models" / name.replace("/", "")
    shutil.copytree(made / "models" / "gru", run)
    text = write_report([run], tmp_path / "page.html", results=tmp_path).read_text()
    assert Page(text).faults == []
    assert "<script" not in text
    assert escape("<script>") in text


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--out", "page.pdf"], r"--out must end in \.html, got page\.pdf; rename it"),
        (["--out", "there.html"], r"--out must be a new path, got there\.html \(already there\)"),
        (["nowhere"], r"RUN must be a run folder with a settings\.json, got nowhere"),
        (["--data", "nowhere.h5"], r"--data must be an existing file or folder, got nowhere\.h5"),
        (["RIMS"], r"RUN must be runs of different names, got rims twice; leave one out"),
        (["--rows", "truth,prd"], r"--rows must be one of truth, pred, .*, got prd; did you mean pred"),
        (["--by", "msa"], r"--by must be one of mse, f1, got msa; did you mean mse\?"),
        (["--device", "tpu"], r"--device must be one of"),
    ],
)
def test_bad_words_are_answered_with_what_to_do(words, complaint, made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("there.html").touch()
    words = [str(made / "models" / "rims") if word == "RIMS" else word for word in words]
    with pytest.raises((ValueError, OSError), match=complaint):
        cli.run(["report", str(made / "models" / "rims"), *words, "--scores", str(made / "eval")])
    assert not Path("report.html").exists()


@pytest.mark.slow
def test_films_shrink_until_the_page_is_small_enough(made, page, tmp_path, monkeypatch):
    usual = write_report([made / "models" / "rims"], tmp_path / "usual.html", results=made / "eval").stat().st_size
    monkeypatch.setattr("videopred.report.page.LARGEST", usual - 1)
    small = report(made, tmp_path, "rims")
    assert (tmp_path / "page.html").stat().st_size < usual
    assert content(small.images[0]).height < content(page.images[0]).height
    monkeypatch.setattr("videopred.report.clips.SIZES", ((224, 1), (64, 4)))
    fewer, still = report(made, tmp_path, "rims", overwrite=True).images[:2]
    assert content(fewer).n_frames == 3  # of 9, the first, fifth and ninth
    assert plays(content(fewer)) == 12  # each as long as four
    assert "4 frames are given and 5 predicted; the film shows one in 4." in (still["alt"] or "")
    monkeypatch.setattr("videopred.report.page.LARGEST", 10_000)
    with pytest.raises(ValueError, match=r"RUN must make a page of at most 10 kB, got \d\d+ kB; report on fewer runs"):
        report(made, tmp_path, "rims", overwrite=True)


def test_a_metric_says_nothing_without_scores(made, tmp_path):
    with pytest.raises(ValueError, match=r"--by must come with scores of gru, got mse; score it with"):
        report(made, tmp_path, "gru", by="mse")


def test_a_metric_says_nothing_without_clips(made, tmp_path):
    """Its scores are there, but not the file that it learned from."""
    shutil.copytree(made / "models" / "rims", tmp_path / "models" / "rims")
    shutil.copytree(made / "eval" / "rims", tmp_path / "eval" / "rims")
    file = tmp_path / "models" / "rims" / "settings.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps(settings | {"data": settings["data"] | {"path": "gone.h5"}}))
    message = (
        r"^--by must come with clips to show, got mse, but no clips of rims were found; name their file with --data$"
    )
    with pytest.raises(ValueError, match=message):
        report(tmp_path, tmp_path, "rims", by="mse")
