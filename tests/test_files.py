"""Files and folders written whole or not at all."""

import errno
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from stat import S_IMODE

import numpy as np
import pytest
from tiny_runs import no_file_longer_than

from videopred import check_path
from videopred.check import FaultyFileError
from videopred.files import (
    read_json,
    whole_file,
    whole_folder,
    write_all,
    write_arrays,
    write_bytes,
    write_each,
    write_json,
    write_text,
)
from videopred.interrupt import as_ctrl_c
from videopred.systems import home_of_processes


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_file_appears_at_the_end_in_a_folder_that_is_made(tmp_path):
    path = tmp_path / "a" / "b" / "file.txt"
    with whole_file(path) as partial:
        partial.write_text("new")
        assert partial.parent == path.parent, "renaming must not cross disks"
        assert re.fullmatch(rf"\.file\.txt\.{home_of_processes()}-{os.getpid()}-[0-9a-f]+\.partial", partial.name)
        assert not path.exists()
    assert path.read_text() == "new"
    assert names(path.parent) == ["file.txt"]


def test_what_was_there_is_replaced_at_the_end(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with whole_file(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_what_others_may_not_read_stays_so_when_it_is_replaced(tmp_path):
    path = tmp_path / "file.txt"
    for rights, kept in ((0o600, 0o600), (0o664, 0o664), (0o440, 0o640)):
        path.write_text("old")
        path.chmod(rights)
        write_text(path, "new")
        assert S_IMODE(path.stat().st_mode) == kept
        path.unlink()
    path.mkdir(0o700)
    with whole_folder(path):
        pass
    assert S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path, there):
    (tmp_path / "large disk").mkdir()
    target, path = tmp_path / "large disk" / "real.txt", tmp_path / "link.txt"
    path.symlink_to(target)
    if there:
        target.write_text("old")
    write_text(path, "new")
    assert path.is_symlink()
    assert target.read_text() == "new"
    assert names(tmp_path) == ["large disk", "link.txt"]


def test_a_link_above_leads_to_a_folder_that_is_made(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "runs")
    write_text(tmp_path / "link" / "a" / "new.txt", "new")
    assert (tmp_path / "disk" / "runs" / "a" / "new.txt").read_text() == "new"
    assert names(tmp_path) == ["disk", "link"]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_to_a_folder_stays_too(tmp_path, there):
    (tmp_path / "large disk").mkdir()
    target, path = tmp_path / "large disk" / "real", tmp_path / "link"
    path.symlink_to(target)
    if there:
        target.mkdir()
        (target / "old.txt").write_text("old")
    with whole_folder(path) as partial:
        assert partial.parent == target.parent, "renaming must not cross disks"
        (partial / "new.txt").write_text("new")
    assert path.is_symlink()
    assert names(target) == ["new.txt"]
    assert (names(tmp_path), names(target.parent)) == (["large disk", "link"], ["real"])


def test_texts_bytes_and_arrays_are_written_as_they_are_and_whole(tmp_path):
    path = tmp_path / "new" / "file"
    assert write_text(path, "π\n").read_bytes() == "π\n".encode()
    assert write_bytes(path, b"\x00\xff\r\n").read_bytes() == b"\x00\xff\r\n"
    with np.load(write_arrays(path, {"a/b": np.arange(3)})) as arrays:
        np.testing.assert_array_equal(arrays["a/b"], [0, 1, 2])
    with no_file_longer_than(100), pytest.raises(OSError, match=f"^{path} must be a file that can be written, got "):
        write_bytes(path, bytes(1000))
    with np.load(path) as arrays:
        assert arrays.files == ["a/b"]


def test_json_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "run.json"
    write_json(path, {"state": "running"})
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_json(path, {"state": np.zeros(2)})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"loss": float("nan")})
    with pytest.raises(OSError, match=r"run\.json must be a file that can be written"), no_file_longer_than(20):
        write_json(path, {"state": "finished", "updates": 5000})
    assert read_json(path) == {"state": "running"}
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe{", b"[1]", b'{"a":' * 100_000], ids=range(5))
def test_a_file_without_a_json_object_is_refused(tmp_path, content):
    path = write_bytes(tmp_path / "run.json", content)
    with pytest.raises(FaultyFileError, match=r"run\.json must hold JSON, got something else; make it again$"):
        read_json(path)
    with pytest.raises(FaultyFileError, match=r"got something else; restore it$"):
        read_json(path, "restore it")


@pytest.mark.parametrize("stop", [RuntimeError("stop"), KeyboardInterrupt(), SystemExit(3)])
def test_a_stop_leaves_what_was_there_and_nothing_else(tmp_path, stop):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def write() -> None:
        with whole_file(path) as partial:
            partial.write_text("half")
            raise stop

    with pytest.raises(type(stop)) as caught:
        write()
    assert caught.value is stop
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file.txt"]


def test_a_full_disk_is_one_line_and_leaves_what_was_there(tmp_path):
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    message = (
        r"file\.bin must be a file that can be written, got File too large; free some space or choose another disk"
    )
    with pytest.raises(OSError, match=message), no_file_longer_than(100), whole_file(path) as partial:
        partial.write_bytes(b"x" * 101)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file.bin"]


def test_a_file_in_the_place_of_a_folder_stays(tmp_path):
    (tmp_path / "taken").write_text("precious")
    with pytest.raises(OSError, match=r"film.gif must be a file that can be written, got .*; choose another place"):
        write_bytes(tmp_path / "taken" / "film.gif", b"new")
    assert (tmp_path / "taken").read_text() == "precious"


@pytest.mark.parametrize("whole", [whole_file, whole_folder])
def test_folders_that_were_made_for_nothing_go_away(tmp_path, whole):
    """Else `evaluate` would leave an empty folder on a full disk."""
    (tmp_path / "there").mkdir()
    path = tmp_path / "there/eval/gru/new"
    with pytest.raises(OSError, match="disk is full"), whole(path):
        raise OSError("disk is full")
    assert list(tmp_path.rglob("*")) == [tmp_path / "there"]


def test_a_folder_in_which_others_have_put_something_stays(tmp_path):
    other = tmp_path / "eval/others"
    with suppress(ZeroDivisionError), whole_file(tmp_path / "eval/gru/new"):
        other.touch()
        _ = 1 / 0
    assert list(tmp_path.rglob("*")) == [other.parent, other]


def test_of_several_files_all_are_written_or_none(tmp_path):
    old, new, last = tmp_path / "old", tmp_path / "eval/gru/new", tmp_path / "last"
    old.write_text("old")
    contents = {old: b"o", new: b"n", last: 101 * b"l"}
    must = f"^{last} must be a file that can be written, got File too large; free some space"
    with no_file_longer_than(100), pytest.raises(OSError, match=must):
        write_all(contents, overwrite=True)
    assert (old.read_text(), list(tmp_path.rglob("*"))) == ("old", [old])
    with pytest.raises(FileExistsError, match=f"^--out must be a new path, got {old} "):
        write_all(contents, overwrite=False)
    assert write_all(contents, overwrite=True) == [old, new, last]
    assert {path: path.read_bytes() for path in contents} == contents


def test_several_files_may_be_made_one_after_the_other(tmp_path):
    """Each is on the disk before the next is made, and what appears meanwhile stays."""
    first, second = tmp_path / "made" / "first", tmp_path / "second"

    def made(late: Path | None) -> Iterator[tuple[Path, str]]:
        yield first, "1"
        assert [path.read_text() for path in first.parent.iterdir()] == ["1"]
        assert not first.exists()
        if late:
            late.write_text("late")
        yield second, "22"

    for late in (first, second):
        with pytest.raises(FileExistsError, match=f"^--out must be a new path, got {late} "):
            write_each(made(late), overwrite=False)
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == [late]
        late.unlink()
    first.parent.rmdir()
    assert write_each(made(None), overwrite=False) == [first, second]
    assert [path.read_text() for path in (first, second)] == ["1", "22"]


@pytest.mark.parametrize("fails", range(5))
def test_if_one_of_several_files_cannot_take_its_name_all_are_as_before(tmp_path, monkeypatch, fails):
    """One of them behind a link, one in a new folder; and at no time is a name without a file that had one.

    What is obsolete, here a link to nothing, is gone before the first new file is there, and comes back with the old
    ones.
    """
    linked, real, other, past = (tmp_path / name for name in ("linked", "real", "other", "past"))
    past.symlink_to(tmp_path / "gone")
    real.write_text("real")
    real.chmod(0o600)
    linked.symlink_to(real)
    other.write_text("other")
    (tmp_path / left_by(1, "other", "replaced")).write_text("of another process")
    there, replace = names(tmp_path), os.replace
    done: list[Path] = []

    def fail(source: Path, target: Path) -> None:
        done.append(target)
        assert real.exists()
        assert other.exists()
        gone = len(done) == 1 or len(done) > fails + 1
        assert gone or not past.is_symlink(), "only itself, and what comes back, may move while it is there"
        if len(done) == fails + 1:
            raise PermissionError(13, "Access is denied")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    contents = {linked: b"l", tmp_path / "made" / "new": b"n", other: b"o"}
    message = "(past|linked|other|new) must be a file that can be written, got Access is denied"
    with pytest.raises(OSError, match=message) if fails < 4 else nullcontext():
        write_all(contents, overwrite=True, obsolete=[past])
    if fails < 4:
        assert names(tmp_path) == there
        assert (linked.is_symlink(), real.read_text(), other.read_text()) == (True, "real", "other")
        assert past.readlink() == tmp_path / "gone"
    else:
        assert {path: path.read_bytes() for path in contents} == contents
        assert names(tmp_path) == sorted({*there, "made"} - {"past"})
    assert S_IMODE(real.stat().st_mode) == 0o600


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    message = r"x\.txt must be a file that can be written, got Not a directory; choose"
    with pytest.raises(OSError, match=message), whole_file(tmp_path / "file" / "folder" / "x.txt"):
        pytest.fail("there is nowhere to write to")


def test_a_folder_of_several_files_that_cannot_be_made_is_one_line(tmp_path, monkeypatch):
    def full(self: Path, *anything: object, **how: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(Path, "mkdir", full)
    message = r"^.*new/x\.txt must be a file that can be written, got No space left on device; free some space"
    with pytest.raises(OSError, match=message):
        write_each([(tmp_path / "new" / "x.txt", "much")], overwrite=False)


def test_a_folder_in_the_place_of_the_file_is_one_line(tmp_path):
    (tmp_path / "taken" / "inside").mkdir(parents=True)
    message = "taken must be a file that can be written, got Is a directory"
    with pytest.raises(OSError, match=message), whole_file(tmp_path / "taken") as partial:
        partial.write_text("new")
    assert names(tmp_path) == ["taken"]


def _as_files(folder: Path) -> None:
    write_all({folder / name: "new" for name in ("a", "b")}, overwrite=True)


def _as_folder(folder: Path) -> None:
    with whole_folder(folder) as partial:
        for name in ("a", "b"):
            (partial / name).write_text("new")


@pytest.mark.parametrize("write", [_as_files, _as_folder])
def test_a_signal_amid_renaming_waits_until_all_is_in_place(tmp_path, monkeypatch, write):
    """And so does a second one: a handler that raised would leave some under their names, or none."""
    replace = os.replace

    def interrupted(source: Path, target: Path) -> None:
        replace(source, target)
        signal.raise_signal(signal.SIGTERM)

    for name in ("a", "b"):
        write_text(tmp_path / "films" / name, "old")
    monkeypatch.setattr(os, "replace", interrupted)
    with as_ctrl_c(), pytest.raises(KeyboardInterrupt):
        write(tmp_path / "films")
    assert [path.read_text() for path in (tmp_path / "films").iterdir()] == ["new", "new"]
    assert names(tmp_path) == ["films"]


def test_two_files_at_once_do_not_meet(tmp_path):
    with whole_file(tmp_path / "a.txt") as a, whole_file(tmp_path / "b.txt") as b:
        a.write_text("a")
        b.write_text("b")
    assert [(tmp_path / name).read_text() for name in names(tmp_path)] == ["a", "b"]


def left_by(process: int | str, name: str, ending: str = "partial", home: str | None = None) -> str:
    """The hidden name under which a process writes to a file."""
    return f".{name}.{home or home_of_processes()}-{process}-a1.{ending}"


def test_what_dead_processes_left_of_the_same_file_is_cleared_away(tmp_path, dead):
    mine = {left_by(1, "f[1].txt"), left_by("x", "f[1].txt")}  # process 1 always lives; the second is no process
    others = {left_by(dead, "g.txt"), left_by(dead, "f[1].txt")[1:]}
    for name in (left_by(dead, "f[1].txt"), *mine, *others):
        (tmp_path / name).write_text("half")
    with whole_file(tmp_path / "f[1].txt") as partial:
        partial.write_text("new")
    assert set(names(tmp_path)) == {"f[1].txt", *mine, *others}


def test_copies_that_dead_processes_kept_are_cleared_away(tmp_path, dead):
    path = tmp_path / "f.txt"
    for name in (path.name, left_by(dead, path.name, "replaced")):
        (tmp_path / name).write_text("old")
    write_all({path: "new"}, overwrite=True)
    assert names(tmp_path) == ["f.txt"]


def test_what_a_process_elsewhere_writes_to_the_same_file_stays_for_a_day(tmp_path, dead):
    """Its number says nothing here, also in a container with the name of this machine."""
    other = tmp_path / left_by(dead, "f.txt", home="12ab34cd")
    other.write_text("half")
    write_text(tmp_path / "f.txt", "new")
    assert other.read_text() == "half"
    a_day_ago = time.time() - 86500
    os.utime(other, (a_day_ago, a_day_ago))
    write_text(tmp_path / "f.txt", "new")
    assert names(tmp_path) == ["f.txt"]


def test_a_process_of_the_same_number_writes_beside_not_into_the_same_file(tmp_path):
    with whole_file(tmp_path / "f.txt") as first, whole_file(tmp_path / "f.txt") as second:
        first.write_text("first")
        second.write_text("second")
        assert first.read_text() == "first"
    assert (tmp_path / "f.txt").read_text() == "first"  # which ends last


def test_no_name_beside_is_too_long_for_a_disk(tmp_path, monkeypatch):
    """Also of a file that is set aside, by a process of as large a number as Linux gives."""
    monkeypatch.setattr(os, "getpid", lambda: 4_194_303)
    path = tmp_path / ("a" * 221)
    for content in ("old", "new"):
        write_all({check_path.absent("--out", path, True): content}, overwrite=True)
    assert path.read_text() == "new"


def test_a_folder_appears_at_the_end_in_place_of_the_old(tmp_path):
    path = tmp_path / "a" / "films"
    for content in ("old", "new"):
        with whole_folder(path) as partial:
            assert partial.parent == path.parent, "renaming must not cross disks"
            (partial / content).write_text(content)
            assert not (path / content).exists()
        assert names(path) == [content]
        assert names(path.parent) == ["films"]


@pytest.mark.parametrize("stop", [RuntimeError("stop"), KeyboardInterrupt()])
def test_a_stop_leaves_the_old_folder_and_nothing_else(tmp_path, stop):
    path = tmp_path / "films"
    path.mkdir()
    (path / "old").write_text("old")

    def write() -> None:
        with whole_folder(path) as partial:
            (partial / "half").write_text("half")
            raise stop

    with pytest.raises(type(stop)):
        write()
    assert names(path) == ["old"]
    assert names(tmp_path) == ["films"]


def test_a_folder_that_cannot_take_its_name_gives_the_old_one_back(tmp_path, monkeypatch):
    path = tmp_path / "films"
    path.mkdir()
    (path / "old").write_text("old")
    replace = os.replace

    def fail(source: Path, target: Path) -> None:
        if source.name.endswith(".partial"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    message = r"films must be a folder that can be written, got No space left on device; free some space"
    with pytest.raises(OSError, match=message), whole_folder(path):
        pass
    assert names(path) == ["old"]
    assert names(tmp_path) == ["films"]


def test_a_folder_may_be_replaced_by_a_path_through_it(tmp_path, monkeypatch):
    (tmp_path / "films").mkdir()
    (tmp_path / "films/old").touch()
    monkeypatch.chdir(tmp_path)
    with whole_folder(Path("films/../films")) as partial:
        (partial / "new").touch()
    assert names(tmp_path) == ["films"]
    assert names(tmp_path / "films") == ["new"]


def test_what_dead_processes_left_of_a_longer_name_stays(tmp_path, dead):
    """For a folder, it may be the only copy."""
    left = tmp_path / left_by(dead, "films.v2", "replaced")
    left.mkdir()
    with whole_folder(tmp_path / "films"):
        pass
    assert left.is_dir()


def test_folders_that_dead_processes_left_are_cleared_away(tmp_path, dead):
    left, replaced = (tmp_path / left_by(dead, "films", ending) for ending in ("partial", "replaced"))
    for folder in (left, replaced):
        folder.mkdir()
        (folder / "half").write_text("half")
    with whole_folder(tmp_path / "films") as partial:
        assert names(tmp_path) == sorted([partial.name, replaced.name]), "the second may hold all that there was"
    assert names(tmp_path) == ["films"]
