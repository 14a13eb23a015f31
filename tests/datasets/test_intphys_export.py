"""Writing the folders of IntPhys: whole or not at all, and over nothing that is not theirs."""

import re
from pathlib import Path

import h5py
import pytest
from intphys_clips import clips_of_ours

from videopred.check import FaultyFileError
from videopred.datasets.clip import Clip
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.generation import generate
from videopred.datasets.intphys import read_intphys
from videopred.datasets.intphys_export import export_intphys
from videopred.datasets.recipe_clips import RecipeClips, open_recipe
from videopred.datasets.settings import BallsConfig


def test_a_part_is_written_alone(tmp_path):
    folder = export_intphys(clips_of_ours(), tmp_path / "films", part="validation")
    assert [path.name for path in folder.iterdir()] == ["validation"]
    assert read_intphys(folder).parts == {"validation": 2}


def test_films_of_a_scene_lie_together_whatever_their_order_in_the_file(tmp_path, monkeypatch):
    ours = clips_of_ours(test=20)  # any sort keeps up to 16 in order
    plain = export_intphys(ours, tmp_path / "plain", part="test")
    read, clip, last = ours.read, ours.clip, ours.count("test") - 1
    monkeypatch.setattr(ours, "read", lambda *what: read(*what)[::-1], raising=False)  # labels are asked for as a whole
    monkeypatch.setattr(ours, "clip", lambda part, index: clip(part, last - index), raising=False)
    turned = export_intphys(ours, tmp_path / "turned", part="test")
    for film in range(1, 5):
        place = "dev/O1/0001/{}/scene/scene_01.png"
        assert (turned / place.format(film)).read_bytes() == (plain / place.format(5 - film)).read_bytes()


def test_an_empty_folder_is_taken(tmp_path):
    export_intphys(clips_of_ours(), tmp_path, part="validation")
    assert [path.name for path in tmp_path.iterdir()] == ["validation"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"part": "testing"}, "--part must be one of train, validation, test, got testing; did you mean test?"),
        (
            {"folder": "there"},
            "--out must be a new path, got there (already there); choose another name, or give --over",
        ),
        (
            {"part": "train", "unlabelled": True},
            "--unlabelled must be left out where no part test is written, got it beside train; leave it out",
        ),
        ({"folder": "there", "overwrite": True}, "there with thesis.tex; choose another name"),
        ({"folder": "file", "overwrite": True}, "file with a file; choose another name"),
        (
            {"folder": "films.zip"},
            "--out must be a folder, got films.zip; name it without that ending, and pack it aft",
        ),
    ],
)
def test_what_cannot_be_written(tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("there/thesis.tex").write_text("mine")
    Path("file").write_text("mine")
    with pytest.raises((ValueError, FileExistsError), match=re.escape(complaint)):
        export_intphys(clips_of_ours(), **({"folder": "new"} | arguments))
    assert sorted(str(path) for path in Path().rglob("*")) == ["file", "there", "there/thesis.tex"]


def test_clips_of_other_worlds_are_refused(tmp_path):
    balls = open_recipe(BallsConfig(frames=5, height=26, width=38), {"test": 1})
    with pytest.raises(
        ValueError, match=r"^DATA must hold clips of the occlusion world, got those of balls; make some"
    ):
        export_intphys(balls, tmp_path / "films")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["series/occluders", "objects/size", "labels/scene", "labels/block"])
def test_a_file_that_lacks_what_films_tell_is_refused(tmp_path, name):
    ours = clips_of_ours()
    path = generate("occlusion", {"test": 4}, recipe=ours.recipe, out=tmp_path / "films.h5")
    with h5py.File(path, "r+") as file:
        del file[f"test/{name}"]
    with pytest.raises(FaultyFileError, match=rf"^DATA must hold the whole truth, got .*films.h5 without {name}; make"):
        export_intphys(ClipFile(path), tmp_path / "new")
    assert list(tmp_path.iterdir()) == [path]


def test_folders_of_others_are_not_replaced(tmp_path):
    """Many call theirs train and test."""
    for name in ("train/cats", "test/dogs"):
        (tmp_path / "mine" / name).mkdir(parents=True)
    with pytest.raises(
        ValueError, match=r"^--out must be a folder of such films, .* with test/dogs, train/cats; choose"
    ):
        export_intphys(clips_of_ours(), tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine/train/cats").is_dir()


@pytest.mark.parametrize("name", ["train/0/a.png", "validation/1234/scene/a.png", "dev", "test"])
def test_what_only_looks_like_our_films_is_not_replaced_either(tmp_path, name):
    """Digits as classes, for example, or a file."""
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(ValueError, match=r"^--out must be a folder of such films, or a new one, got"):
        export_intphys(clips_of_ours(), tmp_path, overwrite=True)
    assert (tmp_path / name).read_bytes() == b"mine"


def test_what_macos_leaves_in_our_folders_does_not_matter(tmp_path):
    folder = export_intphys(clips_of_ours(), tmp_path / "films", part="train")
    for place in (folder, folder / "train"):
        (place / ".DS_Store").touch()
    export_intphys(clips_of_ours(), folder, part="train", overwrite=True)


def test_films_are_replaced_as_a_whole(tmp_path):
    folder = export_intphys(clips_of_ours(), tmp_path / "films", part="train")
    export_intphys(clips_of_ours(), folder, part="validation", overwrite=True)
    assert [path.name for path in folder.iterdir()] == ["validation"]
    assert [path.name for path in tmp_path.iterdir()] == ["films"]


def test_a_stop_leaves_nothing(tmp_path, monkeypatch):
    source = clips_of_ours()
    clip = RecipeClips.clip

    def stop(self: RecipeClips, part: str, index: int) -> Clip:
        if index == 2:
            raise KeyboardInterrupt
        return clip(self, part, index)

    monkeypatch.setattr(RecipeClips, "clip", stop)
    with pytest.raises(KeyboardInterrupt):
        export_intphys(source, tmp_path / "films")
    assert list(tmp_path.iterdir()) == []
