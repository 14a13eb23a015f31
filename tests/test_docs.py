"""The pages in docs tell the truth: their commands and programs run, and their links lead somewhere."""

import re
import shlex
from pathlib import Path

import h5py
import numpy as np
import pytest
from documents import blocks, commands, made_small
from PIL import Image

from videopred import cli
from videopred.commands.terminal import first_line
from videopred.datasets import open_dataset
from videopred.eval import METRICS, OBJECT_METRICS
from videopred.models import CODECS, DECODERS
from videopred.models.presets import PRESETS
from videopred.rendering import FIGURES, ROWS

DOCS = Path(__file__).parents[1] / "docs"
DATA = (DOCS / "data.md").read_text()
METRICS_PAGE = (DOCS / "metrics.md").read_text()
TRAINING = (DOCS / "training.md").read_text()
SEEING = (DOCS / "seeing.md").read_text()


@pytest.mark.slow
def test_the_commands_and_programs_about_data_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chance = np.random.default_rng(0)
    np.save("mnist_test_seq.npy", chance.integers(0, 256, (20, 3, 64, 64), np.uint8))
    with h5py.File("theirs.h5", "w") as theirs, h5py.File("robot.h5", "w") as robot:
        for part in ("train", "test"):
            theirs[f"{part}/frames"] = chance.integers(0, 256, (3, 5, 16, 24, 3), np.uint8)
        for demo in ("demo_1", "demo_2"):
            robot[f"data/{demo}/frames"] = chance.integers(0, 256, (5, 16, 24, 3), np.uint8)
    Path("my-frames").mkdir()
    for t in range(5):
        Image.fromarray(chance.integers(0, 256, (30, 40, 3), np.uint8)).save(f"my-frames/frame_{t:03}.png")
    pictures = [Image.fromarray(picture) for picture in chance.integers(0, 256, (45, 16, 24), np.uint8)]
    pictures[0].save("long.gif", save_all=True, append_images=pictures[1:], duration=100)
    masks = np.zeros((2, 5, 16, 24), np.uint8)
    masks[:, :, 3:8, 10:17] = 1
    np.save("masks.npy", masks)
    np.save("frames.npy", 200 * masks[..., None])
    np.save("positions.npy", np.full((2, 5, 1, 2), (13.5, 5.5)))
    for line in commands(DATA):
        cli.run(shlex.split(made_small(line))[1:])
    for program in blocks(DATA, "python"):
        exec(program, {})
    known = open_dataset("objects.h5")
    assert (known.truth, known.places_known, dict(known.remarks)) == (("groups", "positions"), True, {})


@pytest.mark.slow
def test_the_commands_and_programs_about_plausibility_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "plausibility.md").read_text()
    for line in commands(page):
        cli.run(shlex.split(made_small(line))[1:])
    for program in blocks(page, "python"):
        exec(program, {})


@pytest.mark.slow
def test_the_commands_about_runs_run_one_after_the_other(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for line in commands((DOCS / "runs.md").read_text()):
        cli.run(shlex.split(made_small(line))[1:])
    out = capfd.readouterr().out
    assert "updates take about" in out
    assert "frames/s" in out
    assert "models/two  finished" in out
    assert Path("models/two.safetensors").exists()
    assert "ahead of every trivial baseline" in Path("models/two.md").read_text()


@pytest.mark.slow
def test_the_commands_about_the_page_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "report.md").read_text()
    for line in commands(page):
        cli.run(shlex.split(made_small(line))[1:])
    for program in blocks(page, "python"):
        exec(program, {})
    assert "They have no scores" not in Path("report.html").read_text()
    assert "Worst of 8: F1" in Path("rims.html").read_text()


@pytest.mark.slow
def test_the_commands_about_training_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in commands(TRAINING):
        small = made_small(line).replace("--grow-over 2000", "--grow-over 2")
        if "--resume" not in line and " train " in line:
            small += (
                " --core rims --core.modules 3 --core.active 2 --core.units 4 --codec.channels 2 3 --codec.embedding 8"
            )
        cli.run(shlex.split(small)[1:])


@pytest.mark.slow
def test_commands_about_seeing_run_after_those_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = commands((DOCS.parent / "README.md").read_text())
    made = [line for line in readme if line.split()[1] in ("generate", "train", "evaluate", "render")]
    for line in [*made, *commands(SEEING)]:
        cli.run(shlex.split(made_small(line))[1:])
    for program in blocks(SEEING, "python"):
        exec(program, {})


def test_the_commands_about_experiments_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in commands((DOCS / "experiments.md").read_text()):
        cli.run(shlex.split(line)[1:])


@pytest.mark.parametrize("page", ["results.md", "scoring.md"])
def test_comparisons_that_are_run_one_after_the_other_go_to_places_of_their_own(page):
    for block in blocks((DOCS / page).read_text(), "text"):
        lines = block.replace("\\\n", " ").splitlines()
        places = [line.partition("--out ")[2] for line in lines if line.startswith("videopred compare ")]
        assert len(set(places)) == len(places)


def test_what_is_not_run_is_a_launcher_of_many_machines():
    others = blocks(DATA, "text")[0].splitlines()
    assert others
    assert all(line.split()[0] in ("torchrun", "srun") and "videopred generate" in line for line in others)


def test_the_program_on_conventions_prints_what_the_page_shows(capsys):
    exec(blocks(METRICS_PAGE, "python")[0], {})
    assert capsys.readouterr().out == blocks(METRICS_PAGE, "text")[0]


@pytest.mark.slow
@pytest.mark.parametrize("about", ["judge_rows", "own-miou"])
def test_the_programs_on_objects_print_what_the_page_shows(capsys, about):
    (program,) = (text for text in blocks(METRICS_PAGE, "python") if about in text)
    exec(program, {})
    assert f"```text\n{capsys.readouterr().out}```" in METRICS_PAGE


def test_the_table_of_object_metrics_is_that_of_the_package():
    rows = "".join(f"| `{name}` | {first_line(settings)} |\n" for name, (settings, _) in OBJECT_METRICS.items())
    assert f"| metric | |\n|---|---|\n{rows}\n" in METRICS_PAGE


def test_conventions_that_the_page_names_are_there():
    named = re.findall(r"^\| `([a-z-]+)` \|", METRICS_PAGE, re.MULTILINE)
    assert {"ssim", "ssim-svg", "mse-sum", "bce"} <= set(named) <= {*METRICS, *OBJECT_METRICS}


PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]


def anchors(page):
    """What links within a page can name: its headings, small and with hyphens; every heading stands there once."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE)
    names = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    assert len(set(names)) == len(names)
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name if page.parent == DOCS else "/README.md")
def test_links_lead_somewhere(page):
    assert anchors(page)
    for link, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text()):
        if not link.startswith("http"):
            target = page.parent / link if link else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), (link, anchor)


@pytest.mark.parametrize(
    "rows",
    [
        {name: preset.summary for name, preset in PRESETS.items()},
        {name: first_line(settings) for name, (settings, _) in CODECS.items()},
        {name: first_line(settings) for name, (settings, _) in DECODERS.items()},
    ],
    ids=["presets", "codecs", "decoders"],
)
def test_tables_about_cores_are_those_of_the_package(rows):
    table = "|---|---|\n" + "".join(f"| `{name}` | {summary} |\n" for name, summary in rows.items()) + "\n"
    assert table in (DOCS / "cores.md").read_text() + "\n"


def test_the_tables_of_rows_and_figures_are_those_of_the_package():
    table = "|---|---|\n" + "".join(f"| `{name}` | {row.summary} |\n" for name, row in ROWS.items()) + "\n"
    assert table in SEEING
    table = "|---|---|\n" + "".join(f"| `{name}` | {one.summary} |\n" for name, one in FIGURES.items()) + "\n"
    assert table in SEEING
