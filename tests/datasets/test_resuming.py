"""Stopped generation goes on: with the same bytes, with what is there and undamaged, and with nobody else's."""

import errno
import fcntl
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from small_worlds import small
from tiny_runs import no_file_longer_than

from videopred.datasets import generation
from videopred.datasets.balls import BouncingBalls
from videopred.datasets.generation import foresee, generate
from videopred.datasets.moving_mnist import MovingMNIST
from videopred.datasets.piece import Piece

CLIPS = {"train": 37, "test": 20}
SMALL = small("balls4")


REFUSED = r"^--out must hold no clips of another command that was stopped, got .*/"


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr("videopred.datasets.plan._BLOCK", 16)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """What a file is to be in the end."""
    return generate("balls4", CLIPS, seed=3, out=tmp_path_factory.mktemp("whole"), recipe=SMALL).read_bytes()


def make(out: Path, **others) -> bytes:
    return generate("balls4", CLIPS, **{"seed": 3, "out": out, "recipe": SMALL} | others).read_bytes()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def stopped(out: Path, monkeypatch, error: BaseException | None = None) -> Path:
    """The pieces of a generation that was stopped at a clip of its test part."""
    error, clips = error or KeyboardInterrupt(), BouncingBalls.clips

    def stopping(self, seed, part, indices):
        for index, made in enumerate(clips(self, seed, part, indices)):
            if part == "test" and index == 17:
                raise error
            yield made

    with monkeypatch.context() as patched:
        patched.setattr(BouncingBalls, "clips", stopping)
        with pytest.raises(type(error)):
            make(out)
    [folder] = out.iterdir()
    return folder


def asked_of(world: type, monkeypatch) -> list[tuple[str, int]]:
    """A list that the addresses of all clips that are made from now on go into."""
    clips, asked = world.clips, []

    def watched(self, seed, part, indices):
        indices = list(indices)
        asked.extend((part, index) for index in indices)
        return clips(self, seed, part, indices)

    monkeypatch.setattr(world, "clips", watched)
    return asked


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("stop"), MemoryError()])
def test_a_stopped_generation_makes_only_what_is_missing(tmp_path, monkeypatch, capfd, whole, error):
    folder = stopped(tmp_path, monkeypatch, error)
    assert folder.name.startswith(".balls4.h5.")
    assert folder.name.endswith(".pieces")
    assert names(folder) == [
        "lock", "test-00000000-00000016.piece", "train-00000000-00000016.piece", "train-00000016-00000032.piece",
        "train-00000032-00000037.piece",
    ]  # fmt: skip
    assert capfd.readouterr() == ("", "")
    asked = asked_of(BouncingBalls, monkeypatch)
    assert make(tmp_path) == whole
    assert asked == [("test", index) for index in range(16, 20)]
    assert capfd.readouterr() == ("", "resuming: 53 of 57 clips are there\n")
    assert names(tmp_path) == ["balls4.h5"]


def test_clips_in_order_go_on_where_they_were(tmp_path, monkeypatch):
    clips, recipe = {"train": 50}, small("sm-mnist-svg", digit_size=14)
    expected = generate("svg", clips, out=tmp_path / "whole", recipe=recipe).read_bytes()
    save, saved = Piece.save, []

    def failing(self, path):
        if len(saved) == 2:
            raise KeyboardInterrupt
        saved.append(path)
        save(self, path)

    with monkeypatch.context() as patched:
        patched.setattr(Piece, "save", failing)
        with pytest.raises(KeyboardInterrupt, match=r"^the same command continues where this one stopped$"):
            generate("svg", clips, out=tmp_path / "stopped", recipe=recipe)
    asked = asked_of(MovingMNIST, monkeypatch)
    assert generate("svg", clips, out=tmp_path / "stopped", recipe=recipe).read_bytes() == expected
    assert asked == [("train", index) for index in range(32, 50)]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_damaged_piece_is_made_again(tmp_path, monkeypatch, whole, workers):
    folder = stopped(tmp_path, monkeypatch)
    piece = folder / "train-00000016-00000032.piece"
    content = bytearray(piece.read_bytes())
    content[len(content) // 2] ^= 1
    piece.write_bytes(content)
    (folder / "train-00000000-00000016.piece").write_bytes(b"")
    (folder / "train-00000032-00000037.piece.123.partial").write_bytes(b"half")
    asked = asked_of(BouncingBalls, monkeypatch)
    assert make(tmp_path, workers=workers) == whole
    here = [*(("test", i) for i in range(16, 20)), *(("train", i) for i in range(32))]
    assert sorted(asked) == (here if workers == 1 else [])
    assert names(tmp_path) == ["balls4.h5"]


@pytest.mark.parametrize(
    "change", [{"seed": 4}, {"recipe": small("balls4", speed=0.5)}, {"clips": CLIPS | {"train": 36}}]
)
def test_pieces_of_another_set_are_no_help_and_go_only_on_request(tmp_path, monkeypatch, capfd, change):
    folder = stopped(tmp_path, monkeypatch)
    request = {"name": "balls4", "clips": CLIPS, "seed": 3, "recipe": SMALL} | change
    expected = generate(**request, out=tmp_path / "elsewhere.h5").read_bytes()
    assert folder.is_dir(), "only a generation of the same file may remove it"
    for act in (generate, foresee):
        with pytest.raises(FileExistsError, match=rf"{REFUSED}\.balls4\.h5\..*\.pieces, made with .*; run that"):
            act(**request, out=tmp_path)
    assert len(names(folder)) == 5
    assert generate(**request, out=tmp_path, overwrite=True).read_bytes() == expected
    assert names(tmp_path) == ["balls4.h5", "elsewhere.h5"]
    assert capfd.readouterr() == ("", "")


def test_a_folder_of_pieces_that_cannot_be_removed_is_no_failure(tmp_path, monkeypatch, whole):
    """As on NFS, where a file that is open stays in its folder under another name."""

    def refused(*anything, **how):
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))

    monkeypatch.setattr(os, "rmdir", refused)
    assert make(tmp_path / "a.h5") == whole


def test_a_shard_of_another_set_that_cannot_be_removed_is_one_line(tmp_path, monkeypatch):
    generate("balls4", CLIPS, seed=3, out=tmp_path, recipe=SMALL, shards=3)
    plain = Path.unlink

    def refused(self, *anything, **how):
        if self.name.endswith("of-00003.h5"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))
        plain(self, *anything, **how)

    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(
        PermissionError, match=r"of-00003\.h5 must be a file that can be written, got Permission denied"
    ):
        generate("balls4", CLIPS, seed=3, out=tmp_path, recipe=SMALL, shards=2, overwrite=True)


def test_a_new_folder_for_which_nothing_was_made_goes_away(tmp_path, monkeypatch):
    with pytest.raises(OSError, match="--out must be a file that can be written"), no_file_longer_than(10):
        make(tmp_path / "new" / "folder" / "a.h5")
    assert not names(tmp_path)


def test_pieces_by_other_code_are_no_help(tmp_path, monkeypatch, capfd):
    stopped(tmp_path, monkeypatch)
    monkeypatch.setattr("videopred.datasets.resuming._code", lambda: "another")
    with pytest.raises(FileExistsError, match=REFUSED):
        make(tmp_path)
    make(tmp_path, overwrite=True)
    assert capfd.readouterr() == ("", "")


def test_nobody_makes_a_file_that_another_process_makes(tmp_path, monkeypatch, whole):
    folder = stopped(tmp_path, monkeypatch)
    with (folder / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for request in ({}, {"seed": 4}, {"seed": 4, "overwrite": True}):
            with pytest.raises(
                OSError, match=r"^--out must be a file that no other process is making, got .*/balls4\.h5, which is"
            ):
                make(tmp_path, **request)
            assert names(tmp_path) == [folder.name], "pieces of the living stay, and nothing else"
    make(tmp_path, seed=4, overwrite=True)
    assert make(tmp_path, overwrite=True) == whole
    assert names(tmp_path) == ["balls4.h5"]


def test_a_file_that_came_meanwhile_is_not_replaced(tmp_path, monkeypatch, whole):
    made = generation.make_file

    def late(*args, **others) -> None:
        monkeypatch.setattr(generation, "make_file", made)
        assert make(tmp_path) == whole, "by another command, after this one had looked"
        made(*args, **others)

    monkeypatch.setattr(generation, "make_file", late)
    with pytest.raises(FileExistsError, match=r"^--out must be a new path, got .*/balls4\.h5 \(already there\)"):
        make(tmp_path, seed=4)
    assert (tmp_path / "balls4.h5").read_bytes() == whole
    assert names(tmp_path) == ["balls4.h5"]


def test_a_file_system_without_locks_will_do(tmp_path, monkeypatch, whole):
    def refuse(*args: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    assert make(tmp_path) == whole


def test_a_generation_that_makes_no_piece_leaves_nothing(tmp_path, monkeypatch):
    def broken(*args: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(BouncingBalls, "clips", broken)
    with pytest.raises(RuntimeError):
        make(tmp_path)
    assert names(tmp_path) == []


KILLED = """
import sys
from pathlib import Path
from videopred.datasets.generation import generate
from videopred.datasets.settings import BallsConfig
recipe, out, workers = BallsConfig(frames=7, height=40, width=56), Path(sys.argv[1]), int(sys.argv[2])
generate("balls4", {"train": 6000}, out=out, recipe=recipe, workers=workers, progress=True)
"""


def killed_at(clips: int, out: Path, workers: int, sign: signal.Signals) -> tuple[int, list[int], str]:
    """Stop a generation of 6000 clips when the bar is beyond that many.

    Returns its exit status, the processes it had started, and the end of what it said.
    """
    command = [sys.executable, "-c", KILLED, str(out), str(workers)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, process_group=0) as process:
        seen, stderr = b"", process.stderr
        assert stderr is not None
        while not any(int(done) >= clips for done in re.findall(rb"(\d+)/6000 \[", seen)):
            byte = stderr.read(1)
            assert byte, f"it ended before: {seen.decode()}"
            seen = seen[-40:] + byte
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        told = {child: Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
        children = [
            child for child in children if b"resource_tracker" not in told[child]
        ]  # of Python's own, from 3.14 on
        if sign == signal.SIGINT:  # as a terminal does: to all that run in it
            os.killpg(process.pid, sign)
        else:
            process.send_signal(sign)
        rest = stderr.read()
    return process.returncode, list(map(int, children)), rest.decode()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_process_goes_on_and_leaves_no_other(tmp_path, workers, sign):
    expected = generate("balls4", {"train": 6000}, out=tmp_path / "whole", recipe=SMALL).read_bytes()
    status, children, said = killed_at(1000, tmp_path / "killed", workers, sign)
    assert status == -sign
    assert len(children) == (0 if workers == 1 else 2)
    for child in children:  # those of a killed process finish what they are at
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(child)
            select.select([handle], [], [])  # until it ends
            os.close(handle)
    assert "KeyboardInterrupt: the same command continues" in said or sign == signal.SIGKILL
    assert "workers.py" not in said, "a worker complains as well"
    assert not (tmp_path / "killed" / "balls4.h5").exists()
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "killed"), "1"], capture_output=True, text=True)
    assert re.search(r"resuming: (\d,)?\d\d\d of 6,000 clips are there", done.stderr)
    assert (tmp_path / "killed" / "balls4.h5").read_bytes() == expected
    assert names(tmp_path / "killed") == ["balls4.h5"]


@pytest.mark.parametrize(("shards", "told"), [(1, r"{}/balls4\.h5 is made"), (2, "the same command .*")])
def test_who_stops_it_while_it_cleans_up_is_told_if_all_is_made(tmp_path, monkeypatch, whole, shards, told):
    plain = shutil.rmtree

    def interrupted(*asked, **how):
        signal.raise_signal(signal.SIGINT)
        plain(*asked, **how)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt, match=f"^{told.format(re.escape(str(tmp_path)))}$"):
            generate("balls4", CLIPS, seed=3, out=tmp_path, recipe=SMALL, shards=shards)
    assert [path for path in tmp_path.rglob("*") if path.name.startswith(".")] == []
    if shards == 1:
        assert (tmp_path / "balls4.h5").read_bytes() == whole
    else:
        folder = generate("balls4", CLIPS, seed=3, out=tmp_path, recipe=SMALL, shards=shards)
        assert len(names(folder)) == shards
