"""What another command made while this one was at work is not replaced unasked."""

from importlib import import_module
from pathlib import Path

import pytest
from command_line import run

from videopred.datasets.generation import generate
from videopred.datasets.settings import OcclusionConfig

LATE = {
    "import {films} --out out.h5": ("videopred.datasets.importing:read_films", "out.h5"),
    "export intphys {occlusion} --out out": ("videopred.datasets.intphys_export:_write_film", "out"),
    "export {gru} --out out.safetensors": ("videopred.export:gather", "out.safetensors"),
    "export {gru} --card --out out.safetensors": ("videopred.export.with_card:card_text", "out.gif"),
    "inspect {data} --preview out.gif": ("videopred.datasets.description:describe", "out.gif"),
    "evaluate {gru} {data} --out .": ("videopred.judging.runs:evaluate_runs", "measurements.npz"),
    "compare {scores} --out .": ("videopred.eval.comparison:compare", "comparison.csv"),
    "render {gru} {data} --clips 0 2 --out .": ("videopred.judging.drawing:views_of", "test-2.png"),
    "render {gru} {data} --worst 1 --out out.gif": ("videopred.judging.drawing:views_of", "out.gif"),
    "report {gru} --out out.html": ("videopred.report.page:set_page", "out.html"),
    "rollout {gru} {data} --out out.npz --trace trace.npz": ("videopred.judging:imagine", "trace.npz"),
}
"""Words -> what takes long in that command, as module:function, and a file or folder that appears meanwhile."""


@pytest.fixture(scope="module")
def occlusion(tmp_path_factory) -> Path:
    """Films that `export intphys` takes."""
    recipe = OcclusionConfig(frames=30, height=24, width=32)
    return generate("occlusion", {"test": 4}, recipe=recipe, out=tmp_path_factory.mktemp("films") / "occlusion.h5")


@pytest.fixture(scope="module")
def scores(place, tmp_path_factory) -> Path:
    """Scores that `compare` takes."""
    folder = tmp_path_factory.mktemp("scores")
    assert run(f"evaluate {place / 'gru'} {place / 'balls4.h5'} --metrics mse --out {folder} --device cpu") == 0
    return folder


@pytest.mark.parametrize("words", LATE)
def test_what_appeared_meanwhile_stays(place, occlusion, scores, tmp_path, monkeypatch, capfd, words):
    address, name = LATE[words]
    module, function = address.split(":")
    slow = getattr(import_module(module), function)

    def meanwhile(*args, **others):
        made = slow(*args, **others)
        Path(name).write_text("another command's")
        return made

    monkeypatch.setattr(address.replace(":", "."), meanwhile)
    monkeypatch.chdir(tmp_path)
    given = {"films": place / "films.npy", "data": place / "balls4.h5", "gru": place / "gru"}
    given |= {"occlusion": occlusion, "scores": scores}
    assert run(words.format(**given)) == 1
    out, err = capfd.readouterr()
    flag = next(flag for flag in ("--preview", "--trace", "--out") if f"{flag} {name}" in words or flag == "--out")
    fix = "choose another name, or give --overwrite to replace it"
    assert f"videopred: {flag} must be a new path, got " in err
    assert err.endswith(f"{name} (already there); {fix}\n")
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert Path(name).read_text() == "another command's"
