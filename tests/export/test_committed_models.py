"""The models in the repository: small, told of, loadable by this version, and as good as their cards say."""

import re
import shutil
from pathlib import Path

import pytest
from PIL import Image
from test_with_card import commands_of, rows_of

from videopred import cli
from videopred.checkpoint import load_run
from videopred.experiments import read_experiment
from videopred.weights import read_export

MODELS = Path(__file__).parents[2] / "models"
COMMITTED = re.findall(r"^!/models/(.*)\.\*$", (MODELS.parent / ".gitignore").read_text(), re.MULTILINE)
MOST = 5_000_000


def test_they_are_few_and_in_the_table():
    told = re.findall(r"^\| \[`(.*?)`\]\((.*?)\.md\) \|", (MODELS / "README.md").read_text(), re.MULTILINE)
    assert told == [(name, name) for name in COMMITTED]
    assert sum((MODELS / f"{name}.safetensors").stat().st_size for name in COMMITTED) < 35_000_000


@pytest.mark.parametrize("name", COMMITTED)
def test_each_is_small_and_has_a_card_and_a_film(name):
    export, card, film = (MODELS / f"{name}.{suffix}" for suffix in ("safetensors", "md", "gif"))
    assert export.stat().st_size < MOST
    assert film.stat().st_size < MOST / 10
    text = card.read_text()
    assert text.startswith(f"# {name}\n")
    count = sum(weight.numel() for weight in load_run(export).parameters())
    assert f"| parameters | {count:,}, of which" in text
    context, horizon = map(int, re.search(r"(\d+) frames are given .*, then (\d+) are", text).groups())
    assert Image.open(film).n_frames == context + horizon


@pytest.mark.parametrize("name", COMMITTED)
def test_the_summary_in_the_table_is_that_of_the_card(name):
    (line,) = [line for line in (MODELS / "README.md").read_text().splitlines() if line.startswith(f"| [`{name}`]")]
    rows = rows_of((MODELS / f"{name}.md").read_text())
    assert line.split("|")[-3:-1] == [f" {rows[row].split()[0]} " for row in ("model", "copy last calibrated")]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMITTED if name.startswith("two-balls")])
def test_who_follows_the_card_gets_its_scores(name, tmp_path, monkeypatch, capsys):
    """To a fiftieth: sums are rounded otherwise on other machines. Of training clips a few do, see the card."""
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    shutil.copy(MODELS / f"{name}.safetensors", "models")
    make, *_, evaluate = commands_of(MODELS / f"{name}.md")
    for words in ([re.sub(r"^train=\d+", "train=20", word) for word in make], evaluate):
        cli.run(words)
    printed, told = (
        [float(number) for number in re.findall(r"(?<![±\d.])\d+\.\d+", rows_of(text)["model"])]
        for text in (capsys.readouterr().out, (MODELS / f"{name}.md").read_text())
    )
    assert len(told) == 4
    assert printed == pytest.approx(told, rel=0.02)


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.json")), ids=lambda path: path.stem)
def test_the_experiment_beside_a_model_is_what_it_learned_by(path):
    assert path.stem in COMMITTED
    experiment, run = read_experiment(path), read_export(path.with_suffix(".safetensors")).settings
    for name in ("model", "training"):  # settings that came later are as they are by default
        settings = getattr(experiment, name)
        assert type(settings).model_validate(run[name]) == settings
    told = path.with_suffix(".md").read_text()
    assert re.search(rf"^videopred train {re.escape(path.name)}( --device cpu| --cuda-graphs .*)?$", told, re.MULTILINE)
