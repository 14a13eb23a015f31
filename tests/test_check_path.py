"""Paths that a user gives: what is refused, and in which words."""

import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from videopred import check_path


def test_a_file_must_be_there_and_be_a_file(tmp_path):
    (tmp_path / "there").write_text("")
    assert check_path.existing_file("--data", tmp_path / "there", "make it") == tmp_path / "there"
    with pytest.raises(
        FileNotFoundError, match=r"^--data must be an existing file, got .*gone \(nothing there\); make"
    ):
        check_path.existing_file("--data", tmp_path / "gone", "make it")
    with pytest.raises(FileNotFoundError, match=r"^--data must be an existing file, got .* \(a folder\); make it$"):
        check_path.existing_file("--data", tmp_path, "make it")
    with pytest.raises(FileNotFoundError, match=rf"got {re.escape(os.devnull)} \(a device or a pipe\); make it$"):
        check_path.existing_file("--data", Path(os.devnull), "make it")


def test_what_is_new_is_in_a_folder_that_takes_it(tmp_path, monkeypatch):
    assert check_path.absent("--out", tmp_path / "new" / "a.h5", False) == tmp_path / "new" / "a.h5"
    (tmp_path / "file").touch()
    refused = r"^--out must be a path that can be written, got .*a\.h5, but "
    with pytest.raises(OSError, match=refused + ".*file is no folder; choose another place"):
        check_path.absent("--out", tmp_path / "file" / "b" / "a.h5", True)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/link").symlink_to(tmp_path / "elsewhere.h5")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, _: Path(path) != tmp_path / "kept")
        assert check_path.absent("--out", tmp_path / "kept/link", False) == tmp_path / "kept/link"
        with pytest.raises(OSError, match=r"^--out must be a path that can be written, got .*kept is write-protected"):
            check_path.absent("--out", tmp_path / "kept/a.h5", False)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OSError, match=refused + ".* is write-protected; choose another place"):
        check_path.absent("--out", tmp_path / "a.h5", False)
    monkeypatch.setattr(os.path, "exists", lambda _: False)
    with pytest.raises(OSError, match=refused + "it has no drive; choose another place"):
        check_path.absent("--out", tmp_path / "a.h5", False)


def test_a_link_to_itself_leads_to_no_traceback(tmp_path):
    """As `resolve` of Python 3.11 has it."""
    (tmp_path / "a.h5").symlink_to("a.h5")
    assert check_path.absent("--out", tmp_path / "a.h5", False) == tmp_path / "a.h5"


def test_room_is_looked_for_where_a_path_leads(tmp_path, monkeypatch):
    """And told by a place that can be found again, in whatever folder one is."""
    (tmp_path / "disk").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        shutil, "disk_usage", lambda at: SimpleNamespace(total=9000, free=3000 if at.name == "disk" else 2000)
    )
    message = f"--out must be on a disk with 3 kB free, for clips, got 2 kB at {tmp_path}; free some space, or choose"
    assert check_path.lacking_room("--out", Path("new/run"), 3000, "clips").startswith(message)
    assert check_path.lacking_room("--out", Path("disk/new/run"), 3000, "clips") == ""


def test_a_checkpoint_is_told_by_where_it_is(tmp_path, monkeypatch):
    (tmp_path / "gru/checkpoints").mkdir(parents=True)
    (tmp_path / "gru/checkpoints/last.ckpt").touch()
    (tmp_path / "links").mkdir()
    (tmp_path / "links/mine.ckpt").symlink_to("../gru/checkpoints/last.ckpt")
    monkeypatch.chdir(tmp_path)
    for path, run in (("gru/checkpoints/last.ckpt", "gru"), ("links/mine.ckpt", tmp_path / "gru")):
        with pytest.raises(FileNotFoundError, match=f"`videopred export {run} --checkpoint last`, and give that"):
            check_path.run_folder(Path(path))
    monkeypatch.chdir("gru/checkpoints")
    with pytest.raises(FileNotFoundError, match=f"`videopred export {tmp_path / 'gru'} --checkpoint last`, and give"):
        check_path.run_folder(Path("last.ckpt"))


def test_a_file_or_folder_must_be_there(tmp_path):
    assert check_path.existing("--data", tmp_path) == tmp_path
    with pytest.raises(
        FileNotFoundError, match=r"^--data must be an existing file or folder, got .*gone \(nothing there\); look at"
    ):
        check_path.existing("--data", tmp_path / "gone")


def test_what_is_gone_on_with_must_be_there(tmp_path):
    (tmp_path / "settings.json").touch()
    export = tmp_path / "run.safetensors"  # said to be one by who reads it
    for path in (tmp_path, export):
        check_path.run_or_runs(path)
    for path in (tmp_path / "gone", tmp_path / "settings.json"):
        with pytest.raises(
            FileNotFoundError, match=f"^--resume must be a folder that `videopred train` wrote, got {path}[; ]"
        ):
            check_path.run_or_runs(path)
    (tmp_path / "settings.json").rename(tmp_path / "seeds.json")
    check_path.run_or_runs(tmp_path)


def test_of_runs_from_several_seeds_one_must_be_named(tmp_path):
    for name in ("seeds.json", "seed-5.md", "seed-5.safetensors"):
        (tmp_path / name).touch()
    for made, named in ((None, "seed-0"), ("seed-5", "seed-5"), ("seed-10", f"seed-5, {tmp_path}/seed-10")):
        if made:
            (tmp_path / made).mkdir()
        with pytest.raises(FileNotFoundError, match=f"several seeds; give one of them: {tmp_path}/{named}$"):
            check_path.run_folder(tmp_path)


def test_a_folder_of_runs_is_told_which_there_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for count, held in enumerate(("m/a", "m/a, m/b", "m/a, m/b, m/c", "m/a, m/b, m/c, …")):
        run = Path("m") / "abcd"[count]
        run.mkdir(parents=True)
        (run / "settings.json").touch()
        message = f"^RUN must be a run folder with .*, got m, which holds runs; give one of them: {held}$"
        with pytest.raises(FileNotFoundError, match=message):
            check_path.run_folder(Path("m"))


def test_room_is_asked_for_where_a_link_leads(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: asked.append(folder) or SimpleNamespace(total=9, free=6))
    (tmp_path / "far").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "far" / "run")
    assert check_path.lacking_room("--out", link, 6, "it") == ""
    told = f"--out must be on a disk with 7 bytes free, for it, got 6 bytes at {tmp_path / 'far'}; free some space, or"
    assert check_path.lacking_room("--out", link, 7, "it") == f"{told} choose another --out"
    assert check_path.lacking_room("--out", tmp_path / "new" / "run", 6, "it") == ""
    assert asked == [tmp_path / "far", tmp_path / "far", tmp_path]


def test_a_folder_of_exports_is_told_which_there_are(tmp_path, monkeypatch):
    """As `export` makes of several seeds."""
    monkeypatch.chdir(tmp_path)
    held = ""
    for name in ("seed-0", "seed-1", "seed-2", "seed-3"):
        Path(f"{name}.safetensors").touch()
        held += f", {name}.safetensors" if name != "seed-3" else ", …"
        several = "" if name == "seed-0" else "; `evaluate` and `report` take several"
        told = f"which holds exports; give one of them: {held.removeprefix(', ')}{several}$"
        with pytest.raises(FileNotFoundError, match=rf"^RUN must be a run folder with .*, got \., {told}"):
            check_path.run_folder(Path("."))


def test_a_link_to_a_place_that_is_not_there_is_refused(tmp_path):
    """As to a disk that is not mounted: else the files would go elsewhere, and vanish behind it."""
    link, place = tmp_path / "link", tmp_path / "disk" / "run"
    link.symlink_to(place)
    message = (
        rf"^--out must lead into a folder that is there, got {link}, a link to {place}; make {place.parent}, or cho"
    )
    with pytest.raises(FileNotFoundError, match=message):
        check_path.absent("--out", link, overwrite=False)
    message = rf"^--out must .*, got {link}/seed-0/x, where {link} is a link to {place}; make {place.parent}, or cho"
    with pytest.raises(FileNotFoundError, match=message):
        check_path.absent("--out", link / "seed-0" / "x", overwrite=False)
    place.parent.mkdir()
    assert check_path.absent("--out", link / "seed-0" / "x", overwrite=False) == link / "seed-0" / "x"
    assert check_path.absent("--out", link, overwrite=False) == link


def test_a_checkpoint_is_made_one_file_by_a_command_that_can_be_pasted(tmp_path):
    checkpoint = tmp_path / "my run" / "checkpoints" / "best.ckpt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    with pytest.raises(FileNotFoundError, match=f"with `videopred export '{tmp_path}/my run' --checkpoint best`, and"):
        check_path.run_folder(checkpoint)


def test_what_is_there_stays_unless_overwriting_is_asked_for(tmp_path):
    assert check_path.absent("--out", tmp_path / "new", False) == tmp_path / "new"
    assert check_path.absent("--out", tmp_path, True, folder=True) == tmp_path
    message = rf"^--out must be a new path, got {tmp_path} \(already there\); choose another name, or give --overwrite"
    with pytest.raises(FileExistsError, match=message):
        check_path.absent("--out", tmp_path, False, folder=True)
    with pytest.raises(TypeError, match=r"^overwrite must be True or False, got 'no'; choose one of these$"):
        check_path.absent("--out", tmp_path, "no")


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_never_comes_in_the_place_of_a_folder_or_a_device(tmp_path, overwrite):
    for path, kind in ((tmp_path, "a folder"), (Path(os.devnull), "a device or a pipe")):
        said = rf"^--out must be a file, got {re.escape(str(path))} \({kind}\); choose another name$"
        with pytest.raises(FileExistsError, match=said):
            check_path.absent("--out", path, overwrite)


def test_windows_counts_letters_of_names(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "pathconf")
    assert check_path.absent("--out", tmp_path / ("ж" * 120), False)  # 240 bytes
    for name in ("ж" * 223, "𝄞" * 112):
        with pytest.raises(ValueError, match=r"^--out must have names of at most 221 bytes, got "):
            check_path.absent("--out", tmp_path / name, False)


@pytest.mark.parametrize("name", ["a" * 220 + ".h5", "é" * 223, "ж" * 112, f"{'b' * 256}/a.h5"])
def test_names_that_no_disk_takes_are_one_clear_line(tmp_path, name):
    with pytest.raises(ValueError, match=r"^--out must have names of at most 221 bytes, got "):
        check_path.absent("--out", tmp_path / name, False)
    with pytest.raises(ValueError, match=r"^--out must have names of at most 255 bytes, got "):
        check_path.folder_for(tmp_path / (name + "b" * 34) / "c", ["scores.json"])
    assert check_path.folder_for(tmp_path / ("b" * 255), ["scores.json"])
    for name in ("a" * 218, "ж" * 109):
        assert check_path.absent("--out", tmp_path / ("b" * 255) / f"{name}.h5", False)


def test_a_folder_for_files_is_not_called_like_one(tmp_path):
    names, free = ["scores.json", "scores.csv"], tmp_path / "results.v2"
    assert check_path.folder_for(free, names) == free
    there = tmp_path / "old.csv"
    there.mkdir()
    assert check_path.folder_for(there, names) == there
    (tmp_path / "file").touch()
    for name in ("mine.csv", "mine.tex", "mine.pdf", "file"):
        said = f"--out must be a folder, got {tmp_path / name}; leave the ending out: the folder gets scores.json, "
        with pytest.raises(ValueError, match=re.escape(said)):
            check_path.folder_for(tmp_path / name, names)


def test_an_empty_folder_is_free(tmp_path):
    for name in ("new", "empty"):
        assert check_path.free_folder(tmp_path / name, False) == tmp_path / name
        (tmp_path / "empty").mkdir(exist_ok=True)
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file"):
        assert check_path.free_folder(path, True) == path
        with pytest.raises(FileExistsError, match=r"^--out must be a new path"):
            check_path.free_folder(path, False)


@pytest.mark.parametrize("path", ["~/run", "~"])
def test_a_path_begins_with_no_tilde(path):
    with pytest.raises(
        ValueError, match=r"^--out must begin with no ~, which nothing has replaced, got ~.*; write the"
    ):
        check_path.as_path("--out", path)
    for name in ("a/~b", "./~b", Path("~b")):
        assert check_path.as_path("--out", name) == Path(name)
