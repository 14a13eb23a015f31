"""Exports with cards: every command of a card runs and gives its numbers; what cannot be told is said or refused."""

import json
import os
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest
import torch
from tiny_runs import CLIPS, no_file_longer_than, tiny_data, tiny_model, tiny_training

from videopred import cli
from videopred.check import FaultyFileError
from videopred.checkpoint import LOOKS_KEY, load_run
from videopred.datasets import open_dataset
from videopred.datasets.generation import generate
from videopred.eval.saved_scores import load_scores
from videopred.export import export_run
from videopred.export.with_card import export_with_card
from videopred.judging import evaluate
from videopred.judging.views import views_of
from videopred.rendering.film import film_frames
from videopred.runs import list_runs
from videopred.training.run import train

ASKED = ["--context", "4", "--horizon", "5"]


def commands_of(card: Path) -> list[list[str]]:
    """Every command in a card, as words after `videopred`."""
    blocks = re.findall(r"```sh\n(.*?)```", card.read_text(), re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]


def rows_of(text: str) -> dict[str, str]:
    """The rows of the first table of scores: name -> numbers."""
    table = text.partition("mean of")[2].partition("\n\n")[0]
    return {line[:20].strip(): line[20:].replace("*", "") for line in table.splitlines()[1:]}


def test_somebody_else_gets_the_numbers_of_the_card(place, tmp_path_factory, monkeypatch, capsys):
    """With the export and nothing else: the clips are made by the card's command, to the byte."""
    export, card, film = (path.resolve() for path in export_with_card(Path("models/mine")))
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "models").mkdir()
    shutil.copy(export, elsewhere / "models")
    monkeypatch.chdir(elsewhere)
    make, render_it, evaluate_it = commands_of(card)
    assert make[-5:-2] == [f"{part}={count}" for part, count in CLIPS.items()]
    for words in (make, render_it, evaluate_it):
        cli.run(words)
    told, printed = rows_of(card.read_text()), rows_of(capsys.readouterr().out)
    assert printed == told
    fewer = ["train=1" if word.startswith("train=") else word for word in make]
    for words in (fewer, evaluate_it):
        cli.run([*words, "--overwrite"])
    assert rows_of(capsys.readouterr().out)["model"] == told["model"]
    cli.run([*make, "--overwrite"])
    assert open_dataset("datasets/balls4.h5").fingerprint() in card.read_text()
    assert len(iio.imread(film, index=None)) == 9


@pytest.mark.parametrize("name", ["balls4", "mine"])
def test_clips_in_shards_are_made_in_shards(place, tmp_path_factory, monkeypatch, name):
    data = generate(name, CLIPS, recipe=open_dataset("datasets/balls4.h5").recipe, shards=2, out="shards")
    run = train(data, tiny_model(), tiny_training(), out="models/of-shards", device="cpu")
    evaluate(load_run(run), open_dataset(data), context=4, horizon=5).save(f"eval/of-shards/{name}")
    export, card, _ = (path.resolve() for path in export_with_card(run))
    fingerprint = open_dataset(data).fingerprint()
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    Path("models").mkdir()
    shutil.copy(export, "models")
    make, render_it, evaluate_it = commands_of(card)
    for words in (make, evaluate_it):
        cli.run(words)
    assert render_it[2] == evaluate_it[2]
    assert open_dataset(evaluate_it[2]).fingerprint() == fingerprint


def test_a_card_says_what_the_model_is_and_where_it_is_from(place):
    text = export_with_card(Path("models/mine"))[1].read_text()
    model = load_run(place / "models" / "mine")
    count = sum(weight.numel() for weight in model.parameters())
    for line in (
        "# mine\n",
        "![Truth and prediction](mine.gif)",
        "4 frames are given (blue-grey border), then 5 are the model's own",
        "| core | `rims`, modules 4, active 2, units 5, input heads 1, input key 7, comm heads 3, comm key 8, comm",
        f"| parameters | {count:,}, of which",
        "| weights | float32; ",
        "| frames | 24 × 32 px, 1 channel |",
        "12 train, 3 validation, 5 test; each of 9 frames. Fingerprint",
        "2 updates of 4 clips from seed 0, ",
        " s by the clock, ",
        " s of CPU time, on ",
        f"torch {torch.__version__.partition('+')[0]}",
        "of 9 frames, the last 3 from its own predictions",
    ):
        assert line in text, line
    assert str(place) not in text


def test_a_card_is_text_whatever_names_are(place):
    path = Path("models/mine/run.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"command": "videopred train \udcff.h5"}))
    card = export_with_card(Path("models/mine"), Path("models/my\u202emodel&co.safetensors"))[1].read_text()
    assert "\u202e" not in card
    assert card.startswith(r"# my\u202emodel&amp;co")
    assert r"videopred train '\udcff.h5'" in card


def test_the_claims_of_a_card_are_those_of_the_scores(place):
    text = export_with_card(Path("models/mine"))[1].read_text()
    rows = json.loads(Path("eval/mine/balls4/scores.json").read_text())["rows"]
    trivial = [row for row in rows if row not in ("model", "physics oracle")]
    for column, label, sign in (("bce", "BCE", -1), ("f1", "F1", 1)):
        steps = [
            step + 1
            for step, value in enumerate(rows["model"][column]["steps"])
            if all(sign * value > sign * rows[row][column]["steps"][step] for row in trivial)
        ]
        (line,) = [line for line in text.splitlines() if line.startswith(f"- {label}: ahead")]
        said = [tuple(map(int, span.split(" to "))) for span in re.findall(r"\d+(?: to \d+)?", line)][
            : -1 if steps else None
        ]
        told = [step for span in said for step in range(span[0], span[-1] + 1)] if "no step" not in line else []
        assert told == steps


def test_without_scores_a_card_says_how_to_make_them(place):
    shutil.rmtree("eval")
    text = export_with_card(Path("models/mine"))[1].read_text()
    assert "No scores were found. To score it:\n\n```sh\nvideopred evaluate models/mine.safetensors" in text


def test_scores_of_a_part_of_the_clips_are_told_with_their_words(place):
    shutil.rmtree("eval")
    asked = ["--first", "2", "--feedback", "threshold:0.5", "--metrics", "mse", "f1", "--part", "validation"]
    cli.run(["evaluate", "models/mine", "datasets/balls4.h5", *ASKED, *asked])
    told = commands_of(export_with_card(Path("models/mine"))[1])[-1]
    assert told[:3] == ["evaluate", "models/mine.safetensors", "datasets/balls4.h5"]
    words = [*ASKED, "--part", "validation", "--metrics", "mse", "f1", "--first", "2", "--feedback", "threshold:0.5"]
    assert told[3:] == words


def test_scores_under_a_protocol_are_told_by_its_name(place):
    scores = load_scores("eval/mine/balls4")
    asked = scores.protocol.model_copy(update={"name": "rnem-balls", "changed": ("first",), "clips": 2})
    of_two = {
        row: {column: {name: array[:2] for name, array in arrays.items()} for column, arrays in columns.items()}
        for row, columns in scores.measurements.items()
    }
    replace(scores, protocol=asked, measurements=of_two).save(Path("eval/mine/balls4"), overwrite=True)
    told = commands_of(export_with_card(Path("models/mine"))[1])[-1]
    assert told[3:] == ["--protocol", "rnem-balls", "--first", "2"]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("videopred train datasets/balls4.h5 --seed 3", [["train", "datasets/balls4.h5", "--seed", "3"]]),
        (
            "videopred train balls4.h5 --out=/home/me/mine --init-from 'models/the first'",
            [["train", "datasets/balls4.h5", "--out=models/mine", "--init-from", "models/the first"]],
        ),
        ("videopred train datasets/balls4.h5 -o x/mine", [["train", "datasets/balls4.h5", "-o", "models/mine"]]),
        ("loop.py --fast", []),
    ],
)
def test_how_it_was_trained_is_told_where_a_command_of_ours_did(place, command, told):
    """A run of `videopred.train` keeps what its own program was called with."""
    path = Path("models/mine/run.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"command": command}))
    card = export_with_card(Path("models/mine"))[1]
    assert [words for words in commands_of(card) if words[0] not in ("generate", "evaluate", "render")] == told


def test_how_it_was_trained_is_told_of_clips_that_are_called_otherwise_now(place):
    path = Path("models/mine/run.json")
    learned = Path(json.loads(path.with_name("settings.json").read_text())["data"]["path"])
    path.write_text(json.dumps(json.loads(path.read_text()) | {"command": f"videopred train {learned.name}"}))
    card = export_with_card(path.parent, data=shutil.copy(learned, "renamed.h5"))[1]
    assert ["train", "datasets/renamed.h5"] in commands_of(card)


def test_clips_that_it_did_not_learn_from_are_told_apart(place):
    """Also where they are called alike: the training command does not name what the card's first command makes."""
    path = Path("models/mine/run.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"command": "videopred train balls4.h5"}))
    card = export_with_card(Path("models/mine"), data=tiny_data(Path("other/balls4.h5"), seed=5))[1]
    assert ["train", "balls4.h5"] in commands_of(card)
    text = card.read_text()
    learned = json.loads(Path("models/mine/run.json").read_text())["data"]["sha256"]
    assert f"It was trained on other clips, balls4, with the fingerprint `{learned}`." in text
    assert "--seed 5 --out datasets/balls4.h5" in text


def test_halved_weights_are_half_the_size_and_nearly_the_same(place):
    whole = export_with_card(Path("models/mine"))[0]
    half = export_run(Path("models/mine"), Path("models/half.safetensors"), half=True)
    ours, theirs = load_run(whole).state_dict(), load_run(half).state_dict()
    for name, value in ours.items():
        assert theirs[name].dtype == value.dtype
        torch.testing.assert_close(theirs[name], value, rtol=2**-10, atol=1e-7)
    weights = sum(4 * value.numel() for value in ours.values())
    assert weights * 0.4 < whole.stat().st_size - half.stat().st_size < weights * 0.5 + 100  # and the head


def test_a_card_tells_scores_of_its_own_weights_alone(place, capsys):
    """Not those in 32 bits of halved ones, nor of the last checkpoint in the place of the best."""
    run, export = Path("models/mine"), Path("models/mine.safetensors")
    words = ["datasets/balls4.h5", *ASKED, "--metrics", "mse", "--overwrite", "--device", "cpu"]
    cli.run(["evaluate", str(run), *words])
    with pytest.raises(
        ValueError, match=r"--scores must be of the weights to export, .*; these are .*, 16 bits; export wi"
    ):
        export_with_card(run, half=True)
    for half in (True, False):
        export_run(run, export, half=half, checkpoint=None if half else "last", overwrite=True)
        cli.run(["evaluate", str(export), *words])
        if half:
            export_with_card(run, half=True, overwrite=True)
        else:
            with pytest.raises(
                ValueError, match=r"--scores must be of the weights to export, .* updates, last; .*; score"
            ):
                export_with_card(run, overwrite=True)


@pytest.mark.parametrize("named", ["results", "results/mine", "results/mine/balls4"])
def test_scores_may_be_named_by_any_folder_above_them(place, named):
    asked = ["datasets/balls4.h5", *ASKED, "--metrics", "mse", "--overwrite", "--device", "cpu"]
    cli.run(["evaluate", "models/mine", *asked, "--out", "results/mine/balls4"])
    text = export_with_card(Path("models/mine"), results=Path(named), overwrite=True)[1].read_text()
    assert "mean of" in text
    assert "No scores were found" not in text


def test_a_folder_without_scores_of_the_run_alone_is_refused(place):
    export_run(Path("models/mine"), Path("models/twin.safetensors"))
    asked = ["datasets/balls4.h5", *ASKED, "--metrics", "mse", "--overwrite", "--device", "cpu"]
    cli.run(["evaluate", "models/mine", "models/twin.safetensors", *asked, "--out", "results/both"])
    with pytest.raises(
        ValueError, match=r"^--scores must hold scores of the run alone, got results/both; leave it out"
    ):
        export_with_card(Path("models/mine"), Path("models/a.safetensors"), results=Path("results/both"))
    assert not Path("models/a.safetensors").exists()
    scores = next(Path("eval/mine").rglob("scores.json")).parent
    shutil.copytree(scores, "results/anybody")
    kept = json.loads(Path("results/anybody/scores.json").read_text())
    Path("results/anybody/scores.json").write_text(json.dumps(kept | {"stamps": {}}))
    with pytest.raises(ValueError, match=r"^--scores must hold scores of the run alone, got results; leave it out"):
        export_with_card(Path("models/mine"), Path("models/a.safetensors"), results=Path("results"))


def test_a_card_tells_scores_under_the_name_of_the_export_before_those_of_the_run(place):
    run, export, half = Path("models/mine"), Path("models/h.safetensors"), {"half": True, "overwrite": True}
    words = ["datasets/balls4.h5", "--metrics", "mse", "--device", "cpu", "--context"]
    cli.run(["evaluate", str(run), *words, "4", "--horizon", "5", "--overwrite"])
    alike = export_with_card(run, export)[1].read_text()
    assert "--context 4 --horizon 5" in alike  # of the same weights, under the name of the run
    export_run(run, export, **half)
    with pytest.raises(ValueError, match=r"^--scores must be of the weights to export, got eval/mine/"):
        export_with_card(run, export, **half)
    cli.run(["evaluate", str(export), *words, "3", "--horizon", "6"])
    text = export_with_card(run, export, **half)[1].read_text()
    assert "--context 3 --horizon 6" in text
    assert "| weights | float16; " in text
    shutil.rmtree("eval/mine")
    shutil.copytree("eval/h", "eval/mine")
    scores = Path("eval/h/balls4/scores.json")
    of_another_run = json.loads(scores.read_text()) | {"stamps": {"h": "2001-02-03T04:05:06+00:00 after 2 updates"}}
    scores.write_text(json.dumps(of_another_run))
    assert "--context 3 --horizon 6" in export_with_card(run, export, **half)[1].read_text()


def test_the_card_of_a_run_that_was_killed_says_what_its_weights_have_learned(place):
    run = Path("models/mine")
    record = json.loads((run / "run.json").read_text())
    left = {name: value for name, value in record.items() if name not in ("updates", "finished")}
    (run / "run.json").write_text(json.dumps(left | {"state": "running"}))
    best = run / "checkpoints/best.ckpt"
    content = torch.load(best, weights_only=True)
    torch.save(content | {"global_step": 1}, best)
    with pytest.raises(ValueError, match=r"--scores must be of the weights to export, got .*, older than these; score"):
        export_with_card(run)  # the best has changed since
    shutil.rmtree("eval")
    export, card, _ = export_with_card(run)
    assert "1 update of 4 clips from seed 0, where 2 were asked for" in card.read_text()
    (listed,) = (one for one in list_runs() if one.path == str(export))
    assert listed.updates == 1


def test_a_record_that_says_no_time_is_named(place):
    run = Path("models/mine")
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"finished": "yesterday"}))
    message = r"^models.mine.run\.json must say when it finished, got yesterday; put back what `train` wrote there$"
    with pytest.raises(FaultyFileError, match=message):
        export_with_card(run)


def test_weights_that_are_too_large_for_16_bits_are_refused(place):
    path = Path("models/mine/checkpoints/best.ckpt")
    content = torch.load(path, weights_only=True)
    name = next(iter(content["state_dict"]))
    content["state_dict"][name].view(-1)[0] = 1e5
    torch.save(content, path)
    message = rf"^RUN must have weights below 65,504 for --half, got larger ones in {name.partition('.')[2]}; leave"
    with pytest.raises(ValueError, match=message):
        export_with_card(Path("models/mine"), half=True)
    assert not list(Path("models").glob("mine.*"))


def test_the_card_of_a_run_that_was_stopped_says_so(place):
    run = Path("models/mine")
    record = json.loads((run / "run.json").read_text())
    command = "videopred train balls4.h5 --time-limit 3s --updates 2 --time-limit=4h"
    (run / "run.json").write_text(json.dumps(record | {"updates": 1, "command": command}))
    best = export_with_card(run)[1].read_text()
    assert "1 update of 4 clips from seed 0, where 2 were asked for, " in best
    assert "The weights are those of the lowest validation loss." in best
    assert ".h5 --updates 2\n" in best
    (run / "checkpoints/best.ckpt").unlink()  # and so before its first look at the validation clips
    content = torch.load(run / "checkpoints/last.ckpt", weights_only=True)
    content[LOOKS_KEY]["lowest"] = float("inf")
    torch.save(content, run / "checkpoints/last.ckpt")
    last = export_with_card(run, overwrite=True)[1].read_text()
    assert "The weights are those of the last update." in last


@pytest.mark.parametrize("stamp", [None, " after 1 updates"])
def test_scores_of_the_run_as_it_was_earlier_are_refused(place, stamp):
    scores = Path("eval/mine/balls4/scores.json")
    if stamp is None:
        os.utime(scores, (1e9, 1e9))
    else:
        started = json.loads(Path("models/mine/run.json").read_text())["started"]
        said = json.loads(scores.read_text()) | {"stamps": {"model": started + stamp}}
        scores.write_text(json.dumps(said))
    weights = "older than these" if stamp is None else r"of \S+ after 1 updates; these are \S+ after 2 updates; sc"
    message = r"^--scores must be of the weights to export, got eval/mine/balls4/scores\.json, " + weights
    with pytest.raises(ValueError, match=message):
        export_with_card(Path("models/mine"))


def test_scores_of_several_models_are_no_scores_of_this_one(place):
    """As `evaluate --out eval/mine/compared` leaves them."""
    card = export_with_card(Path("models/mine"))[1]
    alone = card.read_text()
    replace(load_scores(Path("eval/mine/balls4")), models=("model", "blank")).save(Path("eval/mine/compared"))
    export_with_card(Path("models/mine"), overwrite=True)
    assert card.read_text() == alone


def test_what_is_there_stays_there(place):
    Path("models/mine.gif").write_text("mine")
    with pytest.raises(FileExistsError, match=r"^--out must be a new path, got .*mine\.gif \(already there\)"):
        export_with_card(Path("models/mine"))
    assert [path.name for path in Path("models").glob("mine.*")] == ["mine.gif"]
    export_with_card(Path("models/mine"), overwrite=True)
    assert Path("models/mine.gif").read_bytes()[:3] == b"GIF"


def test_a_full_disk_leaves_no_half_file(place):
    with no_file_longer_than(2_000), pytest.raises(OSError, match=r"mine\.safetensors"):
        export_with_card(Path("models/mine"))
    assert not list(Path("models").glob("*mine.*"))


def test_clips_that_cannot_be_told_of_are_refused(place, trained, tmp_path):
    settings = json.loads(Path("models/mine/settings.json").read_text())
    recipe = Path("recipe.json").resolve()
    recipe.touch()
    for path in ("/gone/balls4.h5", str(recipe)):
        settings["data"]["path"] = path
        Path("models/mine/settings.json").write_text(json.dumps(settings))
        message = f"RUN must have its clips where they were, got {path} (no clips there); name clips with --data FILE"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            export_with_card(Path("models/mine"))
    bare = tiny_data(Path("bare.h5"), {"train": 3})
    with pytest.raises(ValueError, match=r"^--data must hold a test part, got bare\.h5 without one; name others"):
        export_with_card(Path("models/mine"), data=bare)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--data datasets/balls4.h5", "--data must come with --card, got datasets/balls4.h5; leave it out"),
        ("--scores elsewhere", "--scores must come with --card, got elsewhere; leave it out"),
        ("--card --scores elsewhere", "--scores must be an existing file or folder, got elsewhere (nothing there)"),
        ("--card --data x.h5", "--data must be an existing file or folder, got x.h5 (nothing there)"),
    ],
)
def test_words_that_do_not_fit(place, words, message):
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(message)):
        cli.run(["export", "models/mine", *words.split()])


def test_the_command_says_what_it_wrote(place, capsys):
    cli.run(["export", "models/mine", "--card", "--out", "shared/a.safetensors", "--json"])
    assert json.loads(capsys.readouterr().out) == {
        "files": [f"shared/a{end}" for end in (".safetensors", ".md", ".gif")]
    }


def test_the_film_of_a_card_is_the_first_test_clip_beside_its_prediction(place):
    film = iio.imread(export_with_card(Path("models/mine"))[2], index=None)
    clips, model = open_dataset("datasets/balls4.h5"), load_run("models/mine")
    (view,) = views_of(model, clips, "test", [0], 4, 5)
    drawn = film_frames(view, ("truth", "pred"), panel_px=144)
    assert film.shape == drawn.shape
    assert np.abs(film.astype(int) - drawn).mean() < 0.1, "but for the 256 colors of a GIF"
