"""Films of others in our files: the same frames, read like any other file, whole or not there."""

import json
import re

import h5py
import numpy as np
import pytest
import torch
from PIL import Image

from videopred.datasets import open_dataset
from videopred.datasets.description import describe
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.importing import import_films
from videopred.datasets.loader import FilmDataset

B, T, H, W = 19, 7, 8, 10
FILMS = np.random.default_rng(0).integers(0, 256, (B, T, H, W, 3), np.uint8)


@pytest.mark.parametrize(("films", "binary"), [(FILMS, False), (FILMS[..., :1] > 127, True)])
def test_a_file_holds_what_was_brought_in(tmp_path, films, binary):
    np.save(tmp_path / "theirs.npy", films)
    path, found = import_films(tmp_path / "theirs.npy", tmp_path / "ours.h5", ImportConfig(part="train", axes="BTHWC"))
    file = open_dataset(path)
    assert (file.path, file.name, file.recipe, file.seed) == (tmp_path / "ours.h5", "ours", None, None)
    assert (file.frames, file.height, file.width, file.channels) == (T, H, W, films.shape[-1])
    assert (file.parts, file.binary, file.truth) == ({"train": B}, binary, ())
    assert (file.context, file.horizon) == (3, 4)
    assert (file.read_frames("train", 0, B) == films * np.uint8(255 if binary else 1)).all()
    assert torch.equal(FilmDataset(path, "train")[18], torch.from_numpy(file.read_frames("train", 18, 19)[0]))
    assert json.loads(json.dumps(found)) == found
    assert (found["source"], found["format"], found["clips"]) == ("theirs.npy", "NumPy array", B)
    facts = describe(file)
    assert (facts["truth"], facts["imported"]) == ([], found)


def test_the_folder_one_is_in_is_called_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "films").mkdir()
    Image.fromarray(FILMS[0, 0]).save(
        tmp_path / "films" / "one.gif", save_all=True, append_images=[Image.fromarray(FILMS[0, 1])]
    )
    monkeypatch.chdir(tmp_path / "films")
    assert import_films(".", tmp_path / "f.h5").found["source"] == "films"


def test_progress_is_shown_from_the_first_frame_on_and_only_on_request(tmp_path, capsys):
    np.save(tmp_path / "f.npy", FILMS)
    for progress in (False, True):
        import_films(
            tmp_path / "f.npy", tmp_path / "f.h5", ImportConfig(axes="BTHWC"), overwrite=True, progress=progress
        )
        out, bars = capsys.readouterr()
        assert out == ""
        assert bool(bars) == progress
    assert f"{B * T}/{B * T}" in bars.partition("f: ")[0]
    assert f"{B}/{B}" in bars.partition("f: ")[2]


def test_the_usual_protocol_is_that_of_rnem(tmp_path):
    for frames, usual in ((20, (10, 10)), (60, (15, 35))):
        np.save(tmp_path / "f.npy", np.full((frames, H, W), 9, np.uint8))
        file = open_dataset(import_films(tmp_path / "f.npy", tmp_path / f"{frames}.h5").path)
        assert (file.context, file.horizon) == usual


def test_equal_films_give_equal_bytes(tmp_path):
    contents = []
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        np.save(tmp_path / place / "f.npy", FILMS)
        config = ImportConfig(axes="BTHWC")
        contents.append(import_films(tmp_path / place / "f.npy", tmp_path / place / "f.h5", config).path.read_bytes())
    assert contents[0] == contents[1]


def test_a_file_that_is_there_stays_unless_overwriting_is_asked_for(tmp_path):
    np.save(tmp_path / "f.npy", FILMS)
    (tmp_path / "f.h5").write_text("mine")
    config = ImportConfig(axes="BTHWC")
    with pytest.raises(FileExistsError, match=r"^--out must be a new path, got .*f\.h5 \(already there\)"):
        import_films(tmp_path / "f.npy", tmp_path / "f.h5", config)
    assert (tmp_path / "f.h5").read_text() == "mine"
    import_films(tmp_path / "f.npy", tmp_path / "f.h5", config, overwrite=True)
    assert open_dataset(tmp_path / "f.h5").parts == {"test": B}


def test_a_source_is_not_replaced_by_what_is_made_of_it(tmp_path, monkeypatch):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["mine"] = FILMS
    before = (tmp_path / "f.h5").read_bytes()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"^--out must be another file than SOURCE, got .*f\.h5; rename it"):
        import_films("f.h5", tmp_path / "f.h5", ImportConfig(axes="BTHWC", array=("mine",)), overwrite=True)
    assert (tmp_path / "f.h5").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("f.hdf5", "--out must end in .h5, got "), ("f.h5", "--axes must be given for 5 axes")],
)
def test_what_cannot_be_brought_in_leaves_nothing(tmp_path, name, complaint):
    np.save(tmp_path / "f.npy", FILMS)
    with pytest.raises(ValueError, match="^" + re.escape(complaint)):
        import_films(tmp_path / "f.npy", tmp_path / "out" / name)
    assert [path.name for path in tmp_path.iterdir()] == ["f.npy"]


def test_statistics_are_over_100_clips_from_all_over_a_part(tmp_path):
    """Which may be in an order: of every third, as is looked at here, the last tenth is lit; so are others."""
    films = np.zeros((300, 5, 8, 10), np.uint8)
    films[270::3] = films[1:270:3] = 255
    np.save(tmp_path / "x.npy", films)
    data = import_films(tmp_path / "x.npy", tmp_path / "x.h5", ImportConfig(axes="BTHW")).path
    assert describe(open_dataset(data))["parts"]["test"] == {"clips": 300, "looked_at": 100, "mean_intensity": 0.1}
