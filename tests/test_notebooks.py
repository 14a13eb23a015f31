"""The notebooks run, on public names alone, and are kept without outputs."""

import ast
import json
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from documents import made_small

import videopred

FOLDER = Path(__file__).parents[1] / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
NOTEBOOKS = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
MAY_IMPORT = {"videopred", "matplotlib.pyplot", "numpy", "torch"}


def cells(path: Path, kind: str) -> list[str]:
    """Sources of the cells of a kind, in order."""
    book = json.loads(path.read_text())
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == kind]


def program(path: Path) -> str:
    return "\n".join(cells(path, "code"))


def unstripped(book: dict[str, Any]) -> list[str]:
    """What a notebook holds that running it has left."""
    left = [f"metadata {name}" for name in book["metadata"] if name not in ("kernelspec", "language_info")]
    for number, cell in enumerate(book["cells"]):
        if cell.get("outputs") or cell.get("execution_count") is not None or cell["metadata"]:
            left.append(f"cell {number}")
    return left


def test_there_are_the_four_and_their_page_leads_to_them():
    assert [path.stem for path in PATHS] == [
        "01_make_data",
        "02_train_and_roll_out",
        "03_judge_plausibility",
        "04_look_inside",
    ]
    page = (FOLDER / "README.md").read_text()
    assert re.findall(r"\]\((\w+\.ipynb)\)", page) == [path.name for path in PATHS]


@NOTEBOOKS
def test_it_is_an_essay_without_outputs(path):
    book = json.loads(path.read_text())
    assert unstripped(book) == []
    assert book["cells"][0]["source"][0].startswith("# ")
    kinds = [cell["cell_type"] for cell in book["cells"]]
    assert all("markdown" in pair for pair in pairwise(kinds)), "text before every program"
    assert len(program(path).splitlines()) < 80


def test_outputs_are_found():
    book = json.loads(PATHS[0].read_text())
    book["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["hello"]}]
    book["metadata"]["widgets"] = {}
    assert unstripped(book) == ["metadata widgets", "cell 1"]


@NOTEBOOKS
def test_it_uses_public_names_alone(path):
    tree = ast.parse(program(path))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert all(isinstance(node, ast.Import) for node in imported)
    assert {alias.name for node in imported for alias in node.names} <= MAY_IMPORT
    assert set(re.findall(r"\bvideopred\.(\w+)", program(path))) <= set(videopred.__all__)


@NOTEBOOKS
def test_its_links_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#]+)\)", "\n".join(cells(path, "markdown")))
    assert links
    assert [link for link in links if not (FOLDER / link).exists()] == []


@NOTEBOOKS
def test_its_program_runs_small(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    import matplotlib

    matplotlib.use("Agg")
    small = re.sub(r"range\(400\)|, 0, 400\)", lambda found: found[0].replace("400", "8"), made_small(program(path)))
    try:
        exec(small, {})
    finally:
        matplotlib.pyplot.close("all")


def test_they_run_beside_one_another_and_again():
    """Each makes data of its own, and replaces what it made before."""
    calls = [call for path in PATHS for call in re.findall(r"videopred\.(?:generate|train|render)\(.*", program(path))]
    assert len(calls) > len(PATHS)
    assert [call for call in calls if "overwrite=True" not in call] == []
    for named in (r'generate\("(.*?)"', r'train\(.*out="(.*?)"'):
        made = [name for path in PATHS for name in re.findall(named, program(path))]
        assert len(set(made)) == len(made) > 1


@pytest.mark.slow
@NOTEBOOKS
def test_it_runs_as_a_notebook(path, tmp_path, monkeypatch):
    import nbclient
    import nbformat

    monkeypatch.setenv("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert not [output for output in shown if output.get("name") == "stderr"]
