"""The README tells the truth: its commands run, its tables are the tables, its links lead somewhere."""

import shlex
from itertools import groupby
from pathlib import Path

import pytest
from documents import blocks, commands, made_small

from videopred import cli
from videopred.commands.terminal import first_line
from videopred.datasets import DATASETS
from videopred.eval import METRICS
from videopred.models import CORES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_commands_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert {"demo", "generate", "train", "evaluate", "render"} <= {line.split()[1] for line in commands(README)}
    for line in commands(README):
        cli.run(shlex.split(made_small(line))[1:])
    wrote = [line.removeprefix("wrote ") for line in capsys.readouterr().out.splitlines() if line.startswith("wrote ")]
    assert wrote
    assert all(Path(path).exists() for path in wrote)


def test_program_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (program,) = blocks(README, "python")
    exec(made_small(program), {})
    assert "copy last calibrated" in capsys.readouterr().out


def test_it_is_short():
    told = [line for line in README.splitlines() if not line.startswith("|")]
    assert len(told) <= 110, f"{len(told)} lines outside tables; move what few readers need into docs/"


@pytest.mark.parametrize(
    "rows",
    [
        {name: preset.summary for name, preset in DATASETS.items()},
        {name: first_line(settings) for name, (settings, _) in CORES.items()},
        {name: first_line(settings) for name, (settings, _) in METRICS.items()},
    ],
    ids=["datasets", "cores", "metrics"],
)
def test_tables_are_those_of_the_package(rows):
    # Those that follow one another with the same summary share a row.
    families = ((summary, "`, `".join(names)) for summary, names in groupby(rows, key=rows.__getitem__))
    table = "\n".join(f"| `{names}` | {summary} |" for summary, names in families)
    assert table in README
