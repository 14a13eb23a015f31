"""Arrays whose values lie in other files are refused, in data files and in files of films."""

import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from film_samples import GREY, B, read
from tiny_runs import tiny_data

from videopred.check import FaultyFileError
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.linked_arrays import every_array

FRAMES = GREY.swapaxes(0, 1)
"""(T, B, H, W, C), as data files keep them."""


def virtual(file: h5py.File, name: str, values: np.ndarray, *, source: str = "there.h5") -> None:
    """An array that is made of one in a file beside it."""
    layout = h5py.VirtualLayout(values.shape, values.dtype)
    layout[...] = h5py.VirtualSource(source, "x", values.shape)
    file.create_virtual_dataset(name, layout)


def left_behind(file: h5py.File, name: str, values: np.ndarray) -> None:
    """The same, without that file."""
    virtual(file, name, values, source="gone.h5")


def linked(file: h5py.File, name: str, values: np.ndarray) -> None:
    """A link to an array in a file beside it."""
    file.require_group(name.rpartition("/")[0])
    file[name] = h5py.ExternalLink("there.h5", "x")


def linked_group(file: h5py.File, name: str, values: np.ndarray) -> None:
    """A link to the group around an array in a file beside it."""
    file[name.rpartition("/")[0]] = h5py.ExternalLink("there.h5", "group")


def outside(file: h5py.File, name: str, values: np.ndarray) -> None:
    """An array whose bytes are those of a file beside it."""
    there = Path(file.filename).with_name("there.bin")
    file.create_dataset(name, values.shape, values.dtype, external=[(there, 0, values.nbytes)])


@pytest.fixture
def place(tmp_path):
    """A folder with files that hold the values of arrays."""
    with h5py.File(tmp_path / "there.h5", "w") as file:
        file["x"] = file["group/features"] = FRAMES
    (tmp_path / "there.bin").write_bytes(FRAMES.tobytes())
    return tmp_path


def refused(argument: str, name: str, path: Path) -> str:
    """A pattern for the complaint."""
    got = f"{argument} must hold its own values, got values of {name} in other files than {path}; copy them into one"
    return f"^{re.escape(got)}"


@pytest.mark.parametrize("link", [virtual, left_behind, linked, linked_group, outside])
def test_a_data_file_holds_its_own_frames(place, link):
    with h5py.File(place / "x.h5", "w") as file:
        link(file, "test/features", FRAMES)
    with pytest.raises(ValueError, match=refused("DATA", "test/features", place / "x.h5")):
        ClipFile(place / "x.h5")


@pytest.mark.parametrize("link", [virtual, left_behind, outside])
@pytest.mark.parametrize("name", ["groups", "seed"])
def test_and_all_else_of_its_parts(place, link, name):
    with h5py.File(place / "x.h5", "w") as file:
        file["test/features"] = FRAMES
        link(file, f"test/{name}", FRAMES)
    with pytest.raises(ValueError, match=refused("DATA", f"test/{name}", place / "x.h5")):
        ClipFile(place / "x.h5")


def test_a_file_of_ours_does_as_well(place):
    path = tiny_data(place / "ours.h5")
    with h5py.File(path, "r+") as file:
        frames = file["test/features"][:]
        del file["test/features"]
        left_behind(file, "test/features", frames)
    with pytest.raises(ValueError, match=refused("DATA", "test/features", path)):
        ClipFile(path)


def test_a_link_in_the_place_of_contacts_is_refused(place):
    path = tiny_data(place / "ours.h5")
    with h5py.File(path, "r+") as file:
        del file["test/contacts"]
        linked(file, "test/contacts", FRAMES)
    with pytest.raises(ValueError, match=refused("DATA", "test/contacts", path)):
        ClipFile(path)


class Damaged(dict):
    """A group in which nothing can be opened, though no link is in the way."""

    def get(self, name, getlink):
        return h5py.HardLink()

    def __getitem__(self, name):
        raise KeyError("unable to open object")


def test_what_cannot_be_opened_is_not_passed_over():
    with pytest.raises(KeyError, match="unable to open object"):
        list(every_array(Damaged(a=1)))


def test_groups_that_lead_to_those_far_above_and_to_one_another_have_an_end(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a/b/films"] = FRAMES
        file["a/b/up"] = file["/"]
        assert [name for name, _ in every_array(file)] == ["a/b/films"]
        groups = [file.create_group(f"g{number}") for number in range(9)]
        for group in groups:
            for other in groups:
                group[f"to_{other.name[1:]}"] = h5py.SoftLink(other.name)
        groups[0]["to_films"] = h5py.SoftLink("/a/b/films")
        ways = {f"{group.name[1:]}/to_g0/to_films" for group in groups[1:]}
        assert {name for name, _ in every_array(file)} == {"a/b/films", "g0/to_films"} | ways


def test_below_a_link_to_a_group_none_to_another_is_followed_however_deep_it_lies(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["c/films"] = FRAMES
        file["a/b/to_c"], file["to_a"] = h5py.SoftLink("/c"), h5py.SoftLink("/a")
        assert {name for name, _ in every_array(file)} == {"c/films", "a/b/to_c/films"}


def test_links_to_other_files_under_names_that_nobody_knows_are_passed_over(place):
    """Beside what is known, or what is its own."""
    with h5py.File(place / "x.h5", "w") as file:
        file["test/features"], file["test/source"] = FRAMES, h5py.ExternalLink("there.h5", "x")
        file["test/raw"] = h5py.ExternalLink("there.h5", "group")
    assert ClipFile(place / "x.h5").truth == ()
    with h5py.File(place / "y.h5", "w") as file:
        file["mine"], file["theirs"] = FRAMES, h5py.ExternalLink("there.h5", "x")
    assert read(place / "y.h5", axes="TBHWC")[1]["format"] == "HDF5 array mine of 1"


@pytest.mark.parametrize("link", [virtual, left_behind, outside])
def test_so_do_films_of_others(place, link):
    with h5py.File(place / "x.h5", "w") as file:
        link(file, "films", FRAMES)
    with pytest.raises(ValueError, match=refused("SOURCE", "films", place / "x.h5")):
        read(place / "x.h5", axes="TBHWC")


def test_what_is_said_to_do_helps(place):
    with h5py.File(place / "x.h5", "w") as file:
        virtual(file, "films", FRAMES)
    with h5py.File(place / "x.h5") as old, h5py.File(place / "y.h5", "w") as new:
        new["films"] = old["films"][:]
    clips, _ = read(place / "y.h5", axes="TBHWC")
    assert len(clips) == B
    assert np.array_equal(clips, GREY)


@pytest.mark.parametrize("name", ["contacts", "contact_offsets", "visibility/fraction"])
def test_a_group_or_a_number_in_the_place_of_an_array_is_refused(tmp_path, name):
    path = tiny_data(tmp_path / "x.h5")
    for odd, message in ((None, f"hold arrays, got test/{name} in .*x.h5, which is a group; make"), (0.5, "0 instead")):
        with h5py.File(path, "r+") as file:
            del file[f"test/{name}"]
            if odd is None:
                file.create_group(f"test/{name}")["more"] = [1]
            else:
                file[f"test/{name}"] = odd
        with pytest.raises(FaultyFileError, match=f"^DATA must .*{message}"):
            ClipFile(path).arrays.read("test", name, 0, 1)
