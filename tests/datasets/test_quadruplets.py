"""Scenes of four films: the same from a data file and from the folder that it was exported to."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from videopred.check import FaultyFileError
from videopred.datasets import open_dataset
from videopred.datasets.generation import generate
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.importing import import_films
from videopred.datasets.intphys_export import export_intphys
from videopred.datasets.quadruplets import open_quadruplets
from videopred.datasets.scene_names import condition, conditions_in, folder_of, names_in, number_scenes
from videopred.datasets.settings import OcclusionConfig

FRAMES, HEIGHT, WIDTH, SCENES = 31, 26, 38, 7
SIZE = {"height": HEIGHT, "width": WIDTH}


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """The same scenes as a file, a folder, one without labels, and a file brought in from the folder; only read."""
    folder = tmp_path_factory.mktemp("scenes")
    recipe = OcclusionConfig(frames=FRAMES, height=HEIGHT, width=WIDTH)
    data = generate("occlusion", {"train": 3, "test": 4 * SCENES}, recipe=recipe, out=folder / "films.h5", seed=5)
    export_intphys(open_dataset(data), folder / "labelled")
    export_intphys(open_dataset(data), folder / "unlabelled", unlabelled=True, part="test")
    import_films(folder / "labelled", folder / "imported.h5", ImportConfig())
    return folder


@pytest.fixture
def copy(place, tmp_path) -> Path:
    """A folder to be spoiled."""
    return Path(shutil.copytree(place / "labelled" / "dev", tmp_path / "dev")).parent


def test_a_file_tells_names_labels_conditions_and_splices(place):
    scenes, clips = open_quadruplets(place / "films.h5"), open_dataset(place / "films.h5")
    assert (scenes.every, scenes.frames, len(scenes.names)) == (1, FRAMES, SCENES)
    assert scenes.names[4] == [f"O2/0002_occluded_dynamic_1_nobj1/{k}" for k in range(1, 5)]
    assert scenes.folders[4] == [f"O2/0002/{k}" for k in range(1, 5)]
    assert scenes.conditions["block"] == ["O1", "O2", "O3", "O1", "O2", "O3", "O1"]
    assert {name: values[4] for name, values in scenes.conditions.items()} == {
        "block": "O2", "occlusion": "occluded", "movement": "dynamic-1", "objects": "1"
    }  # fmt: skip
    for scene in range(SCENES):
        four = [clips.clip("test", 4 * scene + k) for k in range(4)]
        np.testing.assert_array_equal(scenes.read(scene), [clip.frames for clip in four])
        assert scenes.possible[scene].tolist() == [clip.labels["possible"] for clip in four]
        np.testing.assert_array_equal(scenes.splices[scene], four[0].labels["splices"])


def test_films_of_a_scene_need_not_stand_together(place, tmp_path):
    """Its clips are those with its number, in their order, and so are its labels."""
    path = Path(shutil.copy(place / "films.h5", tmp_path))
    with h5py.File(path, "r+") as file:
        file["test/labels/scene"][:8] = [1, 0] * 4
    scenes, clips = open_quadruplets(path), open_dataset(path)
    frames, possible = clips.read_frames("test", 0, 8), clips.read("test", "labels/possible", 0, 8)
    for scene in (0, 1):
        np.testing.assert_array_equal(scenes.read(scene), frames[1 - scene :: 2])
        np.testing.assert_array_equal(scenes.possible[scene], possible[1 - scene :: 2])


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float32])
def test_labels_of_others_may_be_of_any_kind(place, tmp_path, kind):
    ours, path = open_quadruplets(place / "imported.h5"), tmp_path / "theirs.h5"
    shutil.copy(place / "imported.h5", path)
    with h5py.File(path, "r+") as file:
        labels = file["test/labels"]
        for name in ("scene", "block", "possible"):
            values = labels.pop(name)[:]
            labels[name] = values.astype(kind)
    theirs = open_quadruplets(path)
    np.testing.assert_array_equal(theirs.possible, ours.possible)
    assert (theirs.possible.dtype, theirs.names) == (bool, ours.names)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("block", lambda values: 0 * values + 9, r"one number as labels/block, from 1 to 3, got .* with 9 to 9"),
        ("movement", lambda values: values + 1, r"one number as labels/movement, from 0 to 2, got .* with 1 to 3"),
        ("movement", lambda values: values - 1.0, r"one number as labels/movement, from 0 to 2, got .* with -1.0 to"),
        ("possible", lambda values: values[:, None], r"one number as labels/possible, got an array \(28, 1\) with"),
    ],
)
def test_labels_that_make_no_sense_are_refused(place, tmp_path, name, change, told):
    path = tmp_path / "theirs.h5"
    shutil.copy(place / "films.h5", path)
    with h5py.File(path, "r+") as file:
        labels = file["test/labels"]
        values = change(labels.pop(name)[:])
        labels[name] = values
    with pytest.raises(
        FaultyFileError, match=rf"^DATA must hold for each clip {told} .*; mend labels/{name}, or remove it"
    ):
        open_quadruplets(path)


def test_every_nth_frame_is_shown_and_splices_move_to_the_next_one(place):
    whole, some = (open_quadruplets(place / "films.h5", every=every) for every in (1, 4))
    assert some.frames == 8
    np.testing.assert_array_equal(some.read(2), whole.read(2)[:, ::4])
    shown = range(0, FRAMES, 4)
    for before, after in zip(whole.splices.ravel(), some.splices.ravel(), strict=True):
        assert after == (-1 if before < 0 else next(k for k, t in enumerate(shown) if t >= before))


@pytest.mark.parametrize("kind", ["labelled", "labelled/dev", "unlabelled", "unlabelled/test"])
def test_a_folder_tells_the_same(place, kind):
    """Its scenes stand block by block."""
    ours, theirs = open_quadruplets(place / "films.h5"), open_quadruplets(place / kind, every=1, **SIZE)
    order = np.argsort(ours.conditions["block"], kind="stable")
    assert theirs.names == [ours.names[scene] for scene in order]
    assert theirs.folders == [ours.folders[scene] for scene in order]
    assert theirs.conditions == {name: [values[s] for s in order] for name, values in ours.conditions.items()}
    assert theirs.splices is None
    if kind.startswith("un"):
        assert theirs.possible is None
    else:
        np.testing.assert_array_equal(theirs.possible, ours.possible[order])
    for scene in (0, SCENES - 1):
        np.testing.assert_array_equal(theirs.read(scene), ours.read(order[scene]))


def test_a_folder_shows_every_second_frame_at_the_size_asked_for(place):
    scenes = open_quadruplets(place / "labelled", height=13, width=20)
    assert (scenes.every, scenes.frames) == (2, 16)
    film = place / "labelled/dev" / scenes.folders[3][2] / "scene"
    expected = [
        np.asarray(Image.open(film / f"scene_{number:02}.png").resize((20, 13), Image.Resampling.BILINEAR))
        for number in range(1, FRAMES + 1, 2)
    ]
    np.testing.assert_array_equal(scenes.read(3)[2], expected)


def test_pictures_that_are_not_shown_are_not_opened(copy):
    (copy / "dev/O1/0001/1/scene/scene_02.png").write_bytes(b"no picture")
    assert open_quadruplets(copy, **SIZE).read(0).shape == (4, 16, HEIGHT, WIDTH, 3)
    with pytest.raises(ValueError, match=r"DATA must hold whole PNG files, got .*scene_02.png"):
        open_quadruplets(copy, every=1, **SIZE).read(0)


def test_status_files_name_conditions_where_no_list_does(copy, place):
    assert open_quadruplets(copy, **SIZE).names == open_quadruplets(place / "labelled", **SIZE).names


def test_without_any_names_only_blocks_are_known(place, tmp_path):
    bare = Path(shutil.copytree(place / "unlabelled" / "test", tmp_path / "test"))
    scenes = open_quadruplets(bare, **SIZE)
    assert scenes.names == scenes.folders
    assert list(scenes.conditions) == ["block"]
    names = tmp_path / "mine.txt"
    names.write_text((place / "unlabelled/test_ids.txt").read_text())
    assert (
        open_quadruplets(bare, film_names=names, **SIZE).names == open_quadruplets(place / "unlabelled", **SIZE).names
    )


def test_an_imported_file_knows_blocks(place):
    scenes = open_quadruplets(place / "imported.h5")
    assert list(scenes.conditions) == ["block"]
    assert scenes.names[0] == [f"O1/0001/{k}" for k in range(1, 5)]
    np.testing.assert_array_equal(scenes.possible, open_quadruplets(place / "labelled", **SIZE).possible)


def test_what_holds_no_scenes_is_refused(place, tmp_path):
    balls = generate("balls4", {"test": 4}, out=tmp_path / "balls.h5")
    films, folder = place / "films.h5", place / "labelled"
    for path, change, message in (
        (balls, {}, r"DATA must say which clips are of one scene, got .*balls.h5, which does not; make some with"),
        (films, {"part": "train"}, "DATA must hold four films of each scene, got 1 of scene 0 in train"),
        (films, {"part": "validation"}, "--part must be one of train, test, got validation"),
        (films, {"every": 31}, "--every must leave two frames or more of 31, got 31, which leaves 1; lower it"),
        (folder, {"every": 31}, "--every must leave two frames or more of 31, got 31, which leaves 1; lower it"),
        (films, {"every": 0}, "--every must be at least 1, got 0; 1 shows every frame"),
        (
            films,
            {"film_names": balls},
            r"--film-names must be left out, except for folders of IntPhys, got .*balls.h5 for",
        ),
        (folder / "dev/O1", {}, r"DATA must be a whole folder of IntPhys, or its dev or test, got .*O1; give .*dev$"),
        (folder / "dev/O1/0001", {}, r"DATA must be a whole folder of IntPhys, .*, got .*0001; give .*dev$"),
        (folder / "train", {}, r"DATA must hold films to be scored, such as dev/O1/01/1/scene, got none in "),
    ):
        with pytest.raises(ValueError, match=message):
            open_quadruplets(path, **change)
    with pytest.raises(FileNotFoundError, match=r"DATA must be an existing file or folder, got gone"):
        open_quadruplets("gone")


def test_a_spoiled_folder_is_refused_before_anything_is_scored(copy):
    film = copy / "dev/O2/0001/3"
    (film / "scene/scene_07.png").rename(film / "spare.png")
    with pytest.raises(ValueError, match=r"DATA must .*, counted from 1, got none of number 7 in .*0001/3/scene; comp"):
        open_quadruplets(copy)
    (film / "spare.png").rename(film / "scene/scene_07.png")
    (film / "status.json").write_text('{"header": {"is_possible": "yes"}}')
    with pytest.raises(ValueError, match=r"must say in status.json whether it is possible, got is_possible = yes"):
        open_quadruplets(copy)
    (film / "status.json").unlink()
    with pytest.raises(ValueError, match=r"DATA must have status.json in all films or in none, got none in .*0001/3"):
        open_quadruplets(copy)


def test_lists_of_names_that_are_refused(place, tmp_path):
    names = tmp_path / "names.txt"
    lines = (place / "unlabelled/test_ids.txt").read_text().splitlines()
    for text, message in (
        (lines[:-1], r"names.txt must name every film of DATA, got 1 without a name, such as O1/0003/4; add a line"),
        ([*lines, "O4/1/1"], "names.txt, line 29 must begin with a film's name, got 'O4/1/1'; write e.g. O1/0001_occl"),
        ([*lines, lines[0]], "line 29 must name each film once, got O1/0001_occluded_static_nobj1/1; leave one out"),
    ):
        names.write_text("\n".join(text))
        with pytest.raises(ValueError, match=message):
            open_quadruplets(place / "unlabelled", film_names=names)
    names.write_bytes("ü".encode("latin-1"))
    with pytest.raises(FaultyFileError, match=r"names.txt must be text in UTF-8, got .* can't decode byte 0xfc"):
        open_quadruplets(place / "unlabelled", film_names=names)
    with pytest.raises(FileNotFoundError, match=r"--film-names must be an existing file, got gone"):
        open_quadruplets(place / "unlabelled", film_names=Path("gone.txt"))


def test_a_list_of_names_may_begin_with_the_mark_of_an_editor(place, tmp_path):
    """As Windows' Notepad puts it before UTF-8."""
    names = tmp_path / "names.txt"
    names.write_text((place / "unlabelled/test_ids.txt").read_text(), encoding="utf-8-sig")
    found = open_quadruplets(place / "unlabelled", film_names=names, **SIZE)
    assert found.names == open_quadruplets(place / "unlabelled", **SIZE).names


def test_the_list_beside_dev_names_its_films(copy, place):
    """And conditions are told only where the names of all scenes say them: here the last one's do not."""
    whole, names = open_quadruplets(place / "unlabelled", **SIZE), copy / "dev_ids.txt"
    listed = [*(name for films in whole.names[:-1] for name in films), *whole.folders[-1]]
    names.write_text("\n".join(listed))
    scenes = open_quadruplets(copy, **SIZE)
    assert [name for films in scenes.names for name in films] == listed
    assert list(scenes.conditions) == ["block"]


def test_the_folder_one_is_in_is_called_by_its_name(copy, place, monkeypatch):
    shutil.copy(place / "unlabelled/test_ids.txt", copy / "dev_ids.txt")
    monkeypatch.chdir(copy / "dev")
    scenes = open_quadruplets(Path("."), **SIZE)
    assert scenes.path.name == "dev"
    assert list(scenes.conditions) == ["block", "occlusion", "movement", "objects"]  # from the list beside it


def test_names_of_scenes_and_films():
    assert condition(False, 2, 3) == "visible_dynamic_2_nobj3"
    assert conditions_in("O1/0001_visible_dynamic_2_nobj3/4") == {
        "block": "O1", "occlusion": "visible", "movement": "dynamic-2", "objects": "3"
    }  # fmt: skip
    assert conditions_in("O1/0001/4") == {"block": "O1"}
    assert conditions_in("scene-3") == {}
    assert number_scenes([1, 3, 1, 2]) == ["O1/0001", "O3/0001", "O1/0002", "O2/0001"]
    assert number_scenes([2] * 10_001)[::10_000] == ["O2/00001", "O2/10001"], "equally long, so that they can be sorted"
    assert folder_of("O1/0001_visible_dynamic_2_nobj3/4") == folder_of("O1/0001/4") == "O1/0001/4"
    assert [folder_of(name) for name in ("O4/0001/4", "O1/0001/2/3", "O1/0001/3x/4")] == [None] * 3
    answers = "O1/0001_visible/4 0.5\n\nO2/12/1\n"
    assert names_in(answers, "x") == {"O1/0001/4": "O1/0001_visible/4", "O2/12/1": "O2/12/1"}
