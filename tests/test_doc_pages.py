"""The pages on formats, on many machines and on adding one's own tell the truth, and the index knows all pages."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from documents import blocks, commands, made_small
from tiny_runs import tiny_data, tiny_model, tiny_training

from videopred import cli
from videopred.datasets.generation import generate
from videopred.files import write_json
from videopred.training.run import train

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
PAGES = sorted(DOCS.glob("*.md"))
FORMATS = (DOCS / "formats.md").read_text()
SCALE = (DOCS / "scale.md").read_text()
TRAINING = (DOCS / "training.md").read_text()
ADDING = (DOCS / "adding.md").read_text()


def named(head: str) -> set[str]:
    """The names in code in the first column of the table with this head."""
    rows = FORMATS.partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def test_the_index_lists_every_page():
    index = re.findall(r"^\| \[(\S+)\]\((\S+)\) \|", (DOCS / "README.md").read_text(), re.MULTILINE)
    assert all(label == link for label, link in index)
    assert sorted(link for _, link in index) == [page.name for page in PAGES if page.name != "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_with_programs_is_run_by_a_test(page):
    """Or at least named by one; what is in no language that runs is output, a layout or a launcher."""
    languages = set(re.findall(r"^```(\w*)$", page.read_text(), re.MULTILINE)) - {""}
    assert languages <= {"sh", "bash", "python", "text", "json"}
    if languages & {"sh", "bash", "python"}:
        assert any(f'"{page.name}"' in test.read_text() for test in TESTS.rglob("test_*.py"))


def test_files_hold_what_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    core = "--core.modules 3 --core.active 2 --core.units 4 --codec.channels 2 3 --codec.embedding 8"
    for line in commands(FORMATS):
        cli.run(shlex.split(made_small(line) + (f" {core}" if " train " in line else ""))[1:])
    for program in blocks(FORMATS, "python"):
        exec(program, {})
    shown = capsys.readouterr().out
    scores = json.loads(Path("eval/two/two/scores.json").read_text())
    assert "(20, 24, 32, 1) (20, 8, 2, 2) balls" in shown
    assert "F1 over all steps: 0." in shown
    header = Path("eval/two/two/scores.csv").read_text().splitlines()[0]
    assert ", ".join(f"`{name}`" for name in header.split(",")) in FORMATS
    assert {"protocol", "metrics", "fingerprint"} < set(scores)
    with np.load("eval/two/two/rollout.npz") as kept:
        assert set(kept) == named("name in `rollout.npz`")
    with np.load("states.npz") as kept:
        names = {re.sub("/.*", "/<name>", name) for name in kept}
        assert names == named("name in a trace")
        assert kept["trace/active"].shape[:2] == kept["states"].shape[:2] == (4, 19)
    with h5py.File("two.h5") as file:
        names = {"labels/<name>", "series/<name>"}  # which balls without a curtain lack
        file["test"].visititems(lambda name, item: names.add(name) if isinstance(item, h5py.Dataset) else None)
        names = {re.sub("^objects/.*", "objects/<name>", name) for name in names}
        assert names == named("name in `training`, `validation` or `test`")
        assert all(f"`{name}`" in FORMATS for name in file.attrs)


@pytest.mark.parametrize(
    ("shown", "names"),
    [
        (blocks(SCALE, "text")[0] + blocks(SCALE, "bash")[0], ["generate", "evaluate", "train"]),
        (blocks(TRAINING, "text")[0], ["train", "train"]),
    ],
    ids=["scale", "training"],
)
def test_launchers_use_flags_that_their_commands_have(shown, names, capsys):
    lines = [line for line in shown.splitlines() if " videopred " in line]
    assert [line.partition(" videopred ")[2].split()[0] for line in lines] == names
    for line in lines:
        launcher, _, words = line.partition("videopred ")
        assert launcher.split()[0] in ("srun", "torchrun")
        with pytest.raises(SystemExit):
            cli.run([words.split()[0], *(["balls678"] if words.startswith("generate") else []), "--help"])
        told = capsys.readouterr().out
        for flag in re.findall(r"--\w[\w-]*", words):
            assert flag in told, flag


@pytest.mark.parametrize(("state", "again"), [("interrupted", True), ("running", False), ("finished", False)])
def test_the_batch_script_queues_itself_again_after_an_interruption_alone(tmp_path, state, again):
    """It looks for words in the text of run.json."""
    write_json(tmp_path / "run.json", {"state": state, "updates": 3})
    (look,) = [line for line in blocks(SCALE, "bash")[0].splitlines() if line.startswith("grep ")]
    words = shlex.split(look.partition(" && ")[0].replace("$run", str(tmp_path)))
    assert (subprocess.run(words).returncode == 0) == again


def test_what_the_page_on_many_machines_runs(capsys):
    for line in commands(SCALE):
        cli.run(shlex.split(line)[1:])
    assert "threads  " in capsys.readouterr().out


def test_ones_own_loss_and_loop_give_models_for_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mylosses", raising=False)
    _, loss, loop, *_ = blocks(ADDING, "python")
    Path("mylosses.py").write_text(loss)
    generate("balls4", {"train": 2, "validation": 1, "test": 3})
    _, learn, evaluate, render, _ = commands(ADDING)
    small = "--core.units 3 --updates 1 --batch-size 2 --window 3 --device cpu"
    cli.run([*shlex.split(learn)[1:], *small.split()])
    assert "train_focal" in Path("models/focal/logs/metrics.csv").read_text()
    exec(loop, {})
    for line in (evaluate, render):
        cli.run(shlex.split(line)[1:])
    assert "wrote eval/mine/balls4/test-2.gif" in capsys.readouterr().out


@pytest.mark.slow
def test_ones_own_model_and_metric_are_judged(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mymetrics", raising=False)
    *_, judged, several, metric, known = blocks(made_small(ADDING), "python")
    Path("mymetrics.py").write_text(metric)
    exec(judged + several + known, {})
    shown = capsys.readouterr().out
    assert "mean over runs" in shown
    assert "\npaler, 3 seeds " in shown
    assert "area   difference of the shares of pixels that are 0.5 or more" in shown
    cli.run(["compare", "eval/paler", "--out", "eval/of-mine"])
    assert "\npale " in capsys.readouterr().out
    data = tiny_data(Path("datasets/balls4.h5"))
    train(data, tiny_model(), tiny_training(updates=1), out="models/balls4-rims", device="cpu")
    *_, line = commands(ADDING)
    cli.run(shlex.split(line)[1:])
    assert "area   difference of the shares of pixels that are 0.4 or more" in capsys.readouterr().out
    cli.run(["compare", "eval/balls4-rims/balls4"])
    assert "area: difference of the shares of pixels that are 0.4 or more" in capsys.readouterr().out
