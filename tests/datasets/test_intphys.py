"""The folders of IntPhys: what is written is read again, and what is wrong is one clear line."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from intphys_clips import FRAMES, HEIGHT, PARTS, WIDTH, clips_of_ours, crowded_clips
from PIL import Image

from videopred.datasets.clip import Clip
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.importing import import_films
from videopred.datasets.intphys import read_intphys, scored_films
from videopred.datasets.intphys_layout import films_in, holds_intphys
from videopred.datasets.recipe_clips import RecipeClips

NO_GROUPS = "left out; not every film has masks, and a status.json that says which grey is whose"
"""What is said of films some of which have no objects that are known."""


def in_their_order(source: RecipeClips) -> list[Clip]:
    """Our test clips as the folders have them: block by block."""
    clips = [source.clip("test", index) for index in range(source.parts["test"])]
    return sorted(clips, key=lambda clip: int(clip.labels["block"]))


def test_films_and_scenes_come_in_the_order_of_their_numbers(tmp_path):
    """However many digits these have."""
    for number in (100, 9, 10):
        (tmp_path / "train" / str(number)).mkdir(parents=True)
        for film in range(1, 5):
            (tmp_path / "dev" / "O2" / str(number) / str(film)).mkdir(parents=True)
    assert [film.path.name for film in films_in(tmp_path / "train")] == ["9", "10", "100"]
    scenes = [film.path.parent.name for film in films_in(tmp_path / "dev")]
    assert scenes == [*["9"] * 4, *["10"] * 4, *["100"] * 4]


@pytest.mark.parametrize("kind", ["labelled", "random"])
def test_films_come_back_as_they_were(intphys_films, kind):
    source = clips_of_ours()
    found = read_intphys(intphys_films[kind])
    assert found.parts == (PARTS if kind == "labelled" else {"test": PARTS["test"]})
    expected = {part: [source.clip(part, index) for index in range(count)] for part, count in found.parts.items()}
    expected["test"] = in_their_order(source)
    for part, clips in expected.items():
        for index, clip in enumerate(clips):
            record = found.record(part, index)
            np.testing.assert_array_equal(record["features"], clip.frames)
            np.testing.assert_array_equal(record["groups"], clip.masks[..., None])
            assert record["labels/possible"] == clip.labels["possible"]
            assert record["labels/possible"].dtype == bool
            assert record["labels/block"] == (clip.labels["block"] if part == "test" else 0)
            assert record["labels/scene"] == (index // 4 if part == "test" else index)
    possible = [bool(found.record("test", index)["labels/possible"]) for index in range(16)]
    assert all(sum(possible[scene : scene + 4]) == 2 for scene in range(0, 16, 4))
    assert len({tuple(possible[scene : scene + 4]) for scene in range(0, 16, 4)}) > 2


def test_what_was_found_is_said(intphys_films):
    assert read_intphys(intphys_films["labelled"]).found == {
        "format": "folder of IntPhys",
        "clips": "3 train, 2 validation, 16 test",
        "frames": FRAMES,
        "every": 1,
        "height": HEIGHT,
        "width": WIDTH,
        "channels": 3,
        "labels": "possible, scene, block",
        "groups": "objects, but not occluders",
        "depth": "there, but not read",
        "resized": "no",
    }


def test_the_pictures_are_those_of_the_layout(intphys_films):
    film = intphys_films["labelled"] / "dev" / "O1" / "0002" / "3"
    assert sorted(path.name for path in film.iterdir()) == ["depth", "masks", "scene", "status.json"]
    for kind, mode in {"scene": "RGB", "depth": "I;16", "masks": "L"}.items():
        names = sorted(path.name for path in (film / kind).iterdir())
        assert names == [f"{kind}_{number:02}.png" for number in range(1, FRAMES + 1)]
        with Image.open(film / kind / f"{kind}_01.png") as image:
            assert (image.mode, image.size) == (mode, (WIDTH, HEIGHT))
    train = [path.name for path in sorted((intphys_films["labelled"] / "train").iterdir())]
    assert train == ["00001", "00002", "00003"]


def test_depth_is_nearer_for_what_hides(intphys_films):
    """Near is bright, ten levels per cm: occluders before objects before the floor before the wall."""
    films = [film for kind in ("labelled", "crowded") for film in (intphys_films[kind] / "dev").glob("O?/*/1")]
    seen: set[int] = set()
    for film in films:
        for t in (1, 12, FRAMES):
            depth = np.asarray(Image.open(film / "depth" / f"depth_{t:02}.png")).astype(int)
            masks = np.asarray(Image.open(film / "masks" / f"masks_{t:02}.png"))
            centimetres = (65535 - depth) / 10
            layers = {0: {2000}, 1: {1500}, 11: {500}, 12: {500}, 101: {900}, 102: {800}, 103: {700}}
            for level in np.unique(masks):
                assert set(centimetres[masks == level]) == layers[level]
            seen |= {*np.unique(masks).tolist()}
    assert seen == layers.keys()


def test_masks_part_what_is_seen_by_its_color_and_the_floor_begins_where_it_is_said_to(intphys_films):
    """Edges are hard, and wall, floor, occluders and each object have one color."""
    film, colors = intphys_films["crowded"] / "dev/O1/0001/2", dict[int, set[bytes]]()
    for t in range(1, FRAMES + 1):
        picture = np.asarray(Image.open(film / f"scene/scene_{t:02}.png"))
        masks = np.asarray(Image.open(film / f"masks/masks_{t:02}.png"))
        for level in np.unique(masks).tolist():
            colors.setdefault(level, set()).update(color.tobytes() for color in picture[masks == level])
        header = json.loads((film / "status.json").read_text())["header"]
        assert header["floor"] == {"row": np.flatnonzero((masks == 1).any(1))[0]}
    assert colors.pop(12) == colors[11], "both occluders have the same"
    assert [len(of_level) for of_level in colors.values()] == [1] * len(colors)
    assert len(set().union(*colors.values())) == len(colors) > 4


def test_status_says_what_is_known(intphys_films):
    source = clips_of_ours()
    clip = source.clip("test", 6)
    status = json.loads((intphys_films["labelled"] / "dev/O2/0001/3/status.json").read_text())
    header, frame = status["header"], status["frames"][20]
    assert header["block_name"] == "O2_occluded_static_nobj1"
    assert header["block_type"] == "test"
    assert header["is_possible"] == clip.labels["possible"]
    assert header["labels"]["splices"] == clip.labels["splices"].tolist()
    assert len(status["frames"]) == FRAMES
    assert frame["object_1"]["location"] == clip.positions[20, 0].tolist()
    assert frame["object_1"]["shape"] == ("disc", "square", "triangle")[clip.series["shapes"][20, 0]]
    top, left, height, width = clip.series["occluders"][20, 0].tolist()
    assert frame["occluder_1"] == {"location": [left, top], "scale": [width, height]}
    assert frame["masks"] == {"walls": 0, "floor": 1, "occluder_1": 11}
    train = json.loads((intphys_films["labelled"] / "train/00001/status.json").read_text())
    assert (train["header"]["block_type"], train["header"]["is_possible"]) == ("train", True)


def test_status_says_of_each_object_and_occluder_where_it_is_while_it_is_there(intphys_films):
    """One of three objects is not always there, nor are the two occluders always up."""
    source, counts = crowded_clips(), set[int]()
    for index in range(4):
        clip = source.clip("test", index)
        path = intphys_films["crowded"] / f"dev/O1/0001/{index + 1}/status.json"
        for t, told in enumerate(json.loads(path.read_text())["frames"]):
            expected = {
                f"object_{k + 1}": {
                    "shape": ("disc", "square", "triangle")[shape],
                    "location": clip.positions[t, k].tolist(),
                    "velocity": clip.velocities[t, k].tolist(),
                    "scale": float(clip.objects["size"][k]),
                    "material": clip.objects["color"][k].tolist(),
                }
                for k, shape in enumerate(clip.series["shapes"][t].tolist())
                if shape != -1
            }
            for k, (top, left, height, width) in enumerate(clip.series["occluders"][t].tolist(), 1):
                if height:
                    expected[f"occluder_{k}"] = {"location": [left, top], "scale": [width, height]}
            masks = told.pop("masks")
            assert told == expected
            assert masks.keys() <= {"walls", "floor", *expected}
            counts.add(len(expected))
    assert counts == {2, 3, 4, 5}


def test_random_levels_differ_from_frame_to_frame(intphys_films):
    status = json.loads((intphys_films["random"] / "dev/O2/0001/3/status.json").read_text())
    levels = [frame["masks"]["floor"] for frame in status["frames"]]
    assert len(set(levels)) > FRAMES / 2
    for frame in status["frames"]:
        assert len(set(frame["masks"].values())) == len(frame["masks"])
    other = json.loads((intphys_films["random"] / "dev/O2/0001/4/status.json").read_text())
    assert [frame["masks"]["floor"] for frame in other["frames"]] != levels  # nor are those of films alike


def test_names_for_answers_give_path_and_conditions(intphys_films):
    for kind, part in {"labelled": "dev", "unlabelled": "test"}.items():
        names = (intphys_films[kind] / f"{part}_ids.txt").read_text().splitlines()
        assert len(names) == len(set(names)) == 16
        assert names[4 * 3 + 2] == "O1/0002_occluded_dynamic_1_nobj1/3"
        for name in names:
            assert (intphys_films[kind] / part / (name[:7] + name[-2:]) / "scene").is_dir()
            assert re.search("O1|O2|O3", name)
            assert ("occluded" in name) != ("visible" in name)


def test_unlabelled_films_are_read(intphys_films):
    folder = intphys_films["unlabelled"]
    assert [path.name for path in folder.rglob("status.json")] == []
    found = read_intphys(folder)
    assert found.found["labels"] == "scene, block; no status.json says what is possible"
    assert found.found["groups"] == NO_GROUPS

    record, ours = found.record("test", 9), in_their_order(clips_of_ours())[9]
    assert sorted(record) == ["features", "labels/block", "labels/scene"]
    np.testing.assert_array_equal(record["features"], ours.frames)


def test_missing_depth_is_said(intphys_copy):
    places = sorted(intphys_copy.rglob("depth"))
    assert read_intphys(intphys_copy).found["depth"] == "there, but not read"
    shutil.rmtree(places[3])
    some = f"in {len(places) - 1} of {len(places)} films, but not read"
    assert read_intphys(intphys_copy).found["depth"] == some
    for place in places:
        shutil.rmtree(place, ignore_errors=True)
    assert read_intphys(intphys_copy).found["depth"] == "none"


def test_part_of_a_benchmark_may_be_given(intphys_films):
    for name, part in {"train": "train", "validation": "validation", "dev": "test"}.items():
        assert holds_intphys(intphys_films["labelled"] / name)
        found = read_intphys(intphys_films["labelled"] / name)
        assert found.parts == {part: PARTS[part]}
        whole = read_intphys(intphys_films["labelled"])
        assert (found.record(part, 1)["features"] == whole.record(part, 1)["features"]).all()
    assert not holds_intphys(intphys_films["labelled"] / "train" / "00001" / "scene")
    assert not holds_intphys(intphys_films["labelled"] / "dev_ids.txt")


def test_a_scene_alone_is_no_part(intphys_films, monkeypatch):
    """Its films, half of them impossible, would else be taken for four of train."""
    for name in ("labelled/dev", "unlabelled/test"):
        kind, part = name.split("/")
        scene = intphys_films[kind] / part / "O1" / "0001"
        assert not holds_intphys(scene)
        monkeypatch.chdir(scene)
        assert not holds_intphys(Path("."))


def test_dev_goes_before_test(intphys_films, intphys_copy):
    shutil.copytree(intphys_films["unlabelled"] / "test", intphys_copy / "test")
    found = read_intphys(intphys_copy)
    assert found.parts == {"train": 2, "test": 4}
    left_out = f"{intphys_copy / 'test'}, because dev becomes the part test; import it separately"
    assert found.found["left_out"] == left_out


def test_scenes_that_get_other_numbers_are_told(intphys_copy):
    assert "scenes" not in read_intphys(intphys_copy).found
    (intphys_copy / "dev" / "O1" / "0001").rename(intphys_copy / "dev" / "O1" / "0003")
    told = "counted anew in each block, as numbers are missing among their folders"
    assert read_intphys(intphys_copy).found["scenes"] == told


def test_pictures_are_brought_to_another_size(intphys_films):
    record = read_intphys(intphys_films["labelled"], ImportConfig(height=13, width=57)).record("test", 2)
    ours = in_their_order(clips_of_ours())[2]
    assert record["features"].shape == (FRAMES, 13, 57, 3)
    assert record["groups"].shape == (FRAMES, 13, 57, 1)
    rows, columns = (((np.arange(to) + 0.5) * of / to).astype(int) for to, of in ((13, HEIGHT), (57, WIDTH)))
    np.testing.assert_array_equal(record["groups"][..., 0], ours.masks[:, rows][:, :, columns])
    smooth = Image.fromarray(ours.frames[7]).resize((57, 13), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(record["features"][7], np.asarray(smooth))
    found = read_intphys(intphys_films["labelled"], ImportConfig(height=13, width=57)).found
    assert (found["height"], found["width"]) == (13, 57)
    assert found["resized"].startswith("from 26 x 38 (height x width), by Pillow's bilinear filter")


@pytest.mark.parametrize("kind", ["labelled", "random"])
def test_every_third_frame_can_be_kept(intphys_films, kind, tmp_path):
    ours = in_their_order(clips_of_ours())[5]
    record = read_intphys(intphys_films[kind], ImportConfig(every=3)).record("test", 5)
    np.testing.assert_array_equal(record["features"], ours.frames[::3])
    np.testing.assert_array_equal(record["groups"][..., 0], ours.masks[::3])
    _, found = import_films(intphys_films[kind], tmp_path / "x.h5", ImportConfig(every=3))
    assert (found["frames"], found["every"]) == (11, 3)
    assert ClipFile(tmp_path / "x.h5").frames == 11
    with pytest.raises(
        ValueError, match=r"^--every must leave two frames or more of 31, got 31, which leaves 1; lower"
    ):
        read_intphys(intphys_films[kind], ImportConfig(every=31))


def test_levels_of_2017_stand_in_the_header(intphys_copy):
    for film in [*(intphys_copy / "dev").glob("O1/*/*"), *(intphys_copy / "train").glob("*")]:
        status = json.loads((film / "status.json").read_text())
        header = {"is_possible": status["header"]["is_possible"], "masks": {"floor": 1, "object_1": 101}}
        (film / "status.json").write_text(json.dumps({"header": header}))
    ours = in_their_order(clips_of_ours())[0]
    np.testing.assert_array_equal(read_intphys(intphys_copy).record("test", 0)["groups"][..., 0], ours.masks)


def test_labels_alone_are_enough(intphys_copy):
    """The released dev set says no more than what is possible, beside a train set that says all."""
    for film in (intphys_copy / "dev").glob("O1/*/*"):
        possible = json.loads((film / "status.json").read_text())["header"]["is_possible"]
        (film / "status.json").write_text(json.dumps({"header": {"is_possible": possible}}))
    for folder, parts in {intphys_copy / "dev": ("test",), intphys_copy: ("train", "test")}.items():
        found = read_intphys(folder)
        assert found.found["groups"] == NO_GROUPS
        for part in parts:
            assert sorted(found.record(part, 1)) == ["features", "labels/block", "labels/possible", "labels/scene"]


def test_they_are_imported_into_a_data_file(intphys_films, tmp_path):
    path, found = import_films(intphys_films["labelled"], tmp_path / "films.h5")
    assert found["format"] == "folder of IntPhys"
    expected = read_intphys(intphys_films["labelled"])
    with ClipFile(path) as file:
        assert file.parts == PARTS
        for part, count in PARTS.items():
            records = [expected.record(part, index) for index in range(count)]
            np.testing.assert_array_equal(file.read_frames(part, 0, count), [record["features"] for record in records])
            groups = [record["groups"][..., 0] for record in records]
            np.testing.assert_array_equal(file.read(part, "groups", 0, count), groups)
            for name in ("labels/possible", "labels/scene", "labels/block"):
                np.testing.assert_array_equal(file.read(part, name, 0, count), [record[name] for record in records])


def test_import_says_when_nothing_is_labelled_and_takes_no_part(intphys_films, tmp_path):
    path, found = import_films(intphys_films["unlabelled"], tmp_path / "films.h5", ImportConfig(height=12, width=20))
    assert found["labels"] == "scene, block; no status.json says what is possible"
    with ClipFile(path) as file:
        assert (file.height, file.width) == (12, 20)
        assert file.truth == ("labels/block", "labels/scene")
    with pytest.raises(ValueError, match=r"^--part must be left out, got train for .*; it means nothing here$"):
        import_films(intphys_films["unlabelled"], tmp_path / "more.h5", ImportConfig(part="train"))


def test_films_of_dev_are_scored_and_those_of_test_where_there_is_no_dev(intphys_films, tmp_path):
    (tmp_path / "dev").symlink_to(intphys_films["labelled"] / "dev")
    (tmp_path / "test").symlink_to(intphys_films["unlabelled"] / "test")
    found = scored_films(tmp_path, height=HEIGHT, width=WIDTH, every=1)
    assert found.place.name == "dev"
    assert found.headers is not None
    alone = scored_films(intphys_films["unlabelled"], height=HEIGHT, width=WIDTH, every=1)
    assert (alone.place.name, alone.headers) == ("test", None)


def test_films_of_one_frame_are_refused(intphys_copy):
    for film in [*(intphys_copy / "dev").glob("O1/*/*"), *(intphys_copy / "train").glob("*")]:
        for path in sorted((film / "scene").iterdir())[1:]:
            path.unlink()
    with pytest.raises(ValueError, match=r"SOURCE must hold films of two frames or more, got 1"):
        read_intphys(intphys_copy)
