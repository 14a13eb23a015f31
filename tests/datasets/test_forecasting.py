"""What a generation will take: told before it begins, and an error if there is no room."""

import errno
import os
import re
import shutil
import tempfile
from typing import NamedTuple

import pytest
from slow_proofs import slow
from small_worlds import small
from tiny_runs import no_file_longer_than

from videopred.datasets import forecasting
from videopred.datasets.balls import BouncingBalls
from videopred.datasets.forecasting import Forecast
from videopred.datasets.generation import foresee, generate
from videopred.datasets.making import make_file

CLIPS = {"train": 300, "test": 40}
SMALL = small("balls4")


class Usage(NamedTuple):
    free: int
    total: int = 1


def costs(seconds: float, size: float) -> tuple[forecasting._Cost, forecasting._Cost]:
    """Of a file by itself, nothing; and of each clip."""
    return forecasting._Cost(0, 0), forecasting._Cost(seconds, size)


def test_a_forecast_tells_clips_files_and_bytes_and_makes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr("videopred.datasets.forecasting._MANY", 340)  # else too few are made to tell sizes well
    (tmp_path / "temporary").mkdir()
    told = foresee("balls4", CLIPS, out=tmp_path / "new", recipe=SMALL, shards=2, workers=3)
    folder = tmp_path / "new" / "balls4"
    assert told.files == [str(folder / f"balls4-0000{shard}-of-00002.h5") for shard in range(2)]
    assert (told.clips, told.workers) == (340, 3)
    assert told.seconds > 0
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]
    generate("balls4", CLIPS, out=tmp_path / "new", recipe=SMALL, shards=2)
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert told.bytes == pytest.approx(size, rel=0.3)


@pytest.mark.parametrize(("clips", "few", "made"), [(1280, 0.4, [16, 128]), (1280, 0.6, [16]), (1279, 0.4, [16])])
def test_more_are_made_of_many_clips_whose_time_says_too_little(tmp_path, monkeypatch, clips, few, made):
    asked = []

    def make(target, local, part, number):
        asked.append(number)
        return forecasting._Cost(few * number / 16, 50)

    monkeypatch.setattr(forecasting, "_make", make)
    told = foresee("balls4", {"train": clips}, out=tmp_path, recipe=SMALL)
    assert told.seconds == pytest.approx(clips * few / 16)
    assert asked == [1, 1, *made]


@pytest.mark.parametrize("shards", [1, *slow(90)])
def test_what_a_file_takes_by_itself_is_counted_once_a_file(tmp_path, shards):
    tiny = small("balls4", height=8, width=10, frames=4, balls=(1,), radii=(1.0,), masses=(1.0,))
    told = foresee("tiny", {"train": 700, "test": 90}, out=tmp_path, recipe=tiny, shards=shards)
    made = generate("tiny", {"train": 700, "test": 90}, out=tmp_path, recipe=tiny, shards=shards)
    size = sum(path.stat().st_size for path in made.parent.rglob("*.h5"))
    assert told.bytes == pytest.approx(size, rel=0.25)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [((3.0, 2.0, 4.1), 4 * 1.72 + 340 * 0.14), ((3.0, 2.0, 1.5), 4 * 2.0), ((3.0, 0.1, 3.1), 340 * 0.2)],
)
def test_the_time_and_room_of_a_file_by_itself_are_counted_once_a_file(tmp_path, monkeypatch, seconds, told):
    """The first of two files of a clip of each part loads what all need; and nothing takes less than no time."""
    asked, ahead = [], iter(seconds)

    def make(target, local, part, number):
        asked.append(number)
        return forecasting._Cost(next(ahead), 50)

    monkeypatch.setattr(forecasting, "_make", make)
    forecast = foresee("balls4", CLIPS, out=tmp_path, recipe=SMALL, shards=4)
    assert (forecast.seconds, forecast.bytes) == (pytest.approx(told), 4 * 50)
    assert asked == [1, 1, 16]


@pytest.mark.parametrize(("numbers", "made"), [(10**9, 1 + 1 + 16), (3, 1 + 1 + 3), (0, 1)])
def test_of_large_clips_fewer_are_made(tmp_path, monkeypatch, numbers, made):
    asked = []
    clips = BouncingBalls.clips
    monkeypatch.setattr(BouncingBalls, "clips", lambda *args: asked.extend(found := list(clips(*args))) or iter(found))
    size = SMALL.frames * SMALL.height * SMALL.width
    monkeypatch.setattr("videopred.datasets.forecasting._NUMBERS", numbers * size)
    assert foresee("balls4", {"train": 400}, out=tmp_path, recipe=SMALL).bytes > 0
    assert len(asked) == made


@pytest.mark.parametrize(("numbers", "made"), [(1, [4]), (7, [4]), (9, [4, 4, 8])])
def test_of_scenes_whole_ones_are_made(tmp_path, monkeypatch, numbers, made):
    recipe, asked = small("occlusion"), []
    size = recipe.frames * recipe.height * recipe.width * recipe.channels
    monkeypatch.setattr(forecasting, "_NUMBERS", numbers * size)
    monkeypatch.setattr(
        forecasting, "make_file", lambda target, *others: asked.append(target.clips) or make_file(target, *others)
    )
    assert foresee("occlusion", {"test": 400}, out=tmp_path, recipe=recipe).bytes > 0
    assert asked == made


@pytest.mark.parametrize(("workers", "at_once"), [(1, 1), (2, 2), (3, 3), (8, 3)])
def test_no_more_workers_help_than_this_process_has_cores(tmp_path, monkeypatch, workers, at_once):
    """It may have fewer than the machine, as in a job of Slurm's."""
    monkeypatch.setattr(forecasting, "_measure", lambda *args: costs(1.5, 1.0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {4, 5, 7}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    told = foresee("balls4", CLIPS, out=tmp_path, recipe=SMALL, workers=workers)
    assert (told.seconds, told.workers) == (340 * 1.5 / at_once, workers)


def test_what_is_there_is_not_made_again(tmp_path, monkeypatch):
    def break_off(self, part, pieces, count):
        next(pieces)
        raise KeyboardInterrupt

    monkeypatch.setattr("videopred.datasets.plan._BLOCK", 16)
    with monkeypatch.context() as patched:
        patched.setattr("videopred.datasets.writer.FileWriter.write_pieces", break_off)
        with pytest.raises(KeyboardInterrupt):
            generate("balls4", {"train": 40}, out=tmp_path, recipe=SMALL)
    told = foresee("balls4", {"train": 40}, out=tmp_path, recipe=SMALL)
    assert told.clips == 24
    [piece] = tmp_path.glob(".*/*.piece")
    needed = 2 * told.bytes - piece.stat().st_size
    monkeypatch.setattr("videopred.datasets.forecasting._measure", lambda *args: costs(1.0, told.bytes / 40))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(needed))
    there = foresee("balls4", {"train": 40}, out=tmp_path, recipe=SMALL)
    assert (there.seconds, there.lacking) == (24 * 1.0, "")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(needed - 1))
    assert foresee("balls4", {"train": 40}, out=tmp_path, recipe=SMALL).lacking.startswith("--out must be on a disk")


def test_a_disk_without_room_is_an_error_at_once(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("videopred.datasets.generation._SMALL", 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: asked.append(folder) or Usage(1000))
    message = (
        r"^--out must be on a disk with [\d.]+ MB free, for files and the pieces that they are made of, "
        rf"got 1 kB at {re.escape(str(tmp_path))}; free some space, or choose another --out$"
    )
    with pytest.raises(OSError, match=message):
        generate("balls4", CLIPS, out=tmp_path / "new", recipe=SMALL)
    assert re.match(message, foresee("balls4", CLIPS, out=tmp_path / "new", recipe=SMALL).lacking)
    assert list(tmp_path.iterdir()) == []
    assert asked == [tmp_path, tmp_path]


def test_a_full_folder_for_temporary_files_is_named(tmp_path):
    """Whatever room there is where the clips go."""
    with (
        no_file_longer_than(1200),
        pytest.raises(OSError, match=r"^TMPDIR must be a folder with room .*\(File too lar"),
    ):
        foresee("balls4", CLIPS, out=tmp_path / "new", recipe=SMALL)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_folder_for_temporary_files_that_cannot_be_written_to_is_named(tmp_path, monkeypatch, number):
    def refuse(*what: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("videopred.datasets.forecasting.make_file", refuse)
    with pytest.raises(OSError, match=rf"^TMPDIR must be a folder with room .*\({os.strerror(number)}\); free some"):
        foresee("balls4", CLIPS, out=tmp_path / "new", recipe=SMALL)


@pytest.mark.parametrize(("shards", "times"), [(1, 2), (3, 1.35)])  # the largest of three has 14 of 40 clips
def test_pieces_need_room_beside_the_file_they_go_into(tmp_path, monkeypatch, shards, times):
    clips = {"train": 40}
    told = foresee("balls4", clips, out=tmp_path, recipe=SMALL, shards=shards)
    monkeypatch.setattr("videopred.datasets.forecasting._measure", lambda *args: costs(1.0, told.bytes / 40))
    for spare, lacks in ((1, False), (-2, True)):
        monkeypatch.setattr(shutil, "disk_usage", lambda folder, spare=spare: Usage(int(told.bytes * times) + spare))
        assert bool(foresee("balls4", clips, out=tmp_path, recipe=SMALL, shards=shards).lacking) == lacks


@pytest.mark.parametrize(("long", "told"), [(0.0, True), (1e9, False)])
def test_a_long_generation_says_how_long(tmp_path, monkeypatch, capfd, long, told):
    monkeypatch.setattr("videopred.datasets.generation._LONG", long)
    monkeypatch.setattr("videopred.datasets.generation._SMALL", 250 * SMALL.frames * SMALL.height * SMALL.width)
    generate("balls4", {"train": 300}, out=tmp_path / "a.h5", recipe=SMALL)
    line = r"making 300 clips in 1 file of [\d.]+ kB takes about [\d.]+ s with 1 worker\n"
    assert re.fullmatch(line if told else "", capfd.readouterr().err)
    generate("balls4", {"train": 200}, out=tmp_path / "b.h5", recipe=SMALL)
    assert capfd.readouterr().err == ""


def test_a_forecast_is_told_in_a_line():
    forecast = Forecast(50_000, ["a", "b"], 740_000_000, 125, 2)
    assert (
        str(forecast) == "making 50,000 clips in 2 files that take 740 MB together takes about 2 min 5 s with 2 workers"
    )


def test_nothing_to_make_takes_nothing(tmp_path, monkeypatch):
    """As for a process whose shards are there; what replaces a whole set makes all of it again."""
    made = {"out": tmp_path, "recipe": SMALL, "shards": 2}
    folder = generate("balls4", CLIPS, **made)
    assert foresee("balls4", CLIPS, **made, overwrite=True)[:2] == (340, sorted(map(str, folder.iterdir())))
    monkeypatch.setattr("videopred.datasets.generation.my_place", lambda: (1, 2))
    assert foresee("balls4", CLIPS, **made)[:4] == (0, [], 0, 0)
