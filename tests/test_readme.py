"""The README tells the truth: its commands run, its tables are the tables, its links lead somewhere."""

import re
import shlex
from itertools import groupby
from pathlib import Path

import pytest

from videopred import cli
from videopred.datasets import DATASETS
from videopred.eval import METRICS
from videopred.models import CODECS, CORES, DECODERS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[str]:
    """Every videopred command in the README's shell blocks, in order."""
    lines = "\n".join(blocks("sh")).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("videopred ")]


def made_small(text: str) -> str:
    """The same command or program on a few clips and updates."""
    text = re.sub(r"\b((train|validation|test)(=|\": ))\d+", r"\g<1>9", text)
    text = re.sub(r"updates( |=)\d+", r"updates\g<1>2", text)
    text = re.sub(r"batch(-size |_size=)\d+", r"batch\g<1>4", text)
    return text.replace("demo --out", "demo --tiny --out")


def test_commands_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert {"demo", "generate", "train", "evaluate", "render"} <= {line.split()[1] for line in commands()}
    for line in commands():
        cli.run(shlex.split(made_small(line))[1:])
    wrote = [line.removeprefix("wrote ") for line in capsys.readouterr().out.splitlines() if line.startswith("wrote ")]
    assert wrote
    assert all(Path(path).exists() for path in wrote)


def test_program_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (program,) = blocks("python")
    exec(made_small(program), {})
    assert "copy last calibrated" in capsys.readouterr().out


def test_it_is_short_but_for_its_tables():
    assert len([line for line in README.splitlines() if not line.startswith("|")]) < 120


@pytest.mark.parametrize(
    "rows",
    [
        {name: preset.summary for name, preset in DATASETS.items()},
        {name: cli.first_line(settings) for name, (settings, _) in CORES.items()},
        {name: cli.first_line(settings) for name, (settings, _) in CODECS.items()},
        {name: cli.first_line(settings) for name, (settings, _) in DECODERS.items()},
        {name: cli.first_line(settings) for name, (settings, _) in METRICS.items()},
    ],
    ids=["datasets", "cores", "codecs", "decoders", "metrics"],
)
def test_tables_are_those_of_the_package(rows):
    # Those that follow one another with the same summary share a row.
    families = ((summary, "`, `".join(names)) for summary, names in groupby(rows, key=rows.__getitem__))
    table = "\n".join(f"| `{names}` | {summary} |" for summary, names in families)
    assert table in README


def test_links_and_pictures_are_there():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    missing = [link for link in links if not link.startswith("http") and not (ROOT / link).exists()]
    assert not missing
