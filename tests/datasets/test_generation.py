"""Making files: wrong requests, and whatever may stop the writing. Nothing half written stays under the final name."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from small_worlds import small

from videopred.datasets import DATASETS
from videopred.datasets.balls import BouncingBalls
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.generation import generate

SMALL = small("balls4")


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ({"name": "ball4"}, ValueError, f"must be one of {', '.join(DATASETS)}, got ball4; did you mean balls4?"),
        (
            {"name": "a/b", "recipe": SMALL},
            ValueError,
            "PRESET must be a plain name, as of a file, got 'a/b'; give fold",
        ),
        ({"name": "..", "recipe": SMALL}, ValueError, "PRESET must be a plain name, as of a file, got '..'; give fold"),
        ({"name": "", "recipe": SMALL}, ValueError, "PRESET must be a plain name, as of a file, got ''; give folders"),
        ({"name": "a\0", "recipe": SMALL}, ValueError, "PRESET must be a plain name, as of a file, got 'a\\x00'; give"),
        ({"clips": {}}, ValueError, "--clips must ask for at least one clip, got 0; try"),
        ({"clips": {"train": 0}}, ValueError, "--clips must ask for at least one clip, got 0; try"),
        ({"clips": {"training": 3}}, ValueError, "--clips must be one of train, validation, test, got training; did"),
        ({"clips": {"train": 3, "test": -1}}, ValueError, "--clips test must be at least 0, got -1; give"),
        ({"clips": {"train": 2.5}}, TypeError, "--clips train must be a whole number, got 2.5; give"),
        ({"seed": -1}, ValueError, "--seed must be at least 0, got -1; give"),
        ({"workers": 0}, ValueError, "--workers must be at least 1, got 0; give a number of processes, 1 for this one"),
        (
            {"name": "sm-mnist-svg", "workers": 2},
            ValueError,
            "--workers must be 1 for clips that are drawn in order from one stream, got 2; leave it out",
        ),
        ({"mnist": Path("nowhere")}, ValueError, "--mnist must be left out, got nowhere; this data set has no digits"),
        ({"name": "sm-mnist", "mnist": Path("nowhere")}, FileNotFoundError, "--mnist must hold train-images-idx3"),
    ],
)
def test_wrong_requests_leave_no_file(tmp_path, arguments, error, complaint):
    request = {"name": "balls4", "clips": {"train": 1}, "out": tmp_path / "new"} | arguments
    with pytest.raises(error) as caught:
        generate(**request)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_file_lies_in_the_folder_or_where_it_was_asked_for(tmp_path):
    assert generate("balls4", {"test": 1}, out=tmp_path / "a", recipe=SMALL) == tmp_path / "a" / "balls4.h5"
    assert generate("balls4", {"test": 1}, out=tmp_path / "b" / "c.h5", recipe=SMALL) == tmp_path / "b" / "c.h5"
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["balls4.h5", "c.h5"]
    (tmp_path / "v0.5").mkdir()  # an ending only in looks
    assert generate("balls4", {"test": 1}, out=tmp_path / "v0.5", recipe=SMALL) == tmp_path / "v0.5" / "balls4.h5"


@pytest.mark.parametrize("shards", [1, 2])
def test_numbers_may_be_numpys(tmp_path, shards):
    made = []
    for kind in (int, np.int64):
        request = {"seed": kind(5), "shards": kind(shards), "recipe": SMALL, "out": tmp_path / kind.__name__ / "made"}
        path = generate(
            np.str_("balls4") if kind is np.int64 else "balls4",
            {"train": kind(3), "test": kind(2)},
            **request,
            workers=kind(1),
        )
        made.append([file.read_bytes() for file in sorted(path.parent.rglob("*.h5"))])
    assert made[0] == made[1]


def test_a_file_is_replaced_only_on_request(tmp_path):
    path = generate("balls4", {"test": 1}, out=tmp_path, recipe=SMALL)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"--out must be a new path, got .*balls4\.h5 .*--overwrite"):
        generate("balls4", {"test": 2}, out=tmp_path, recipe=SMALL)
    assert path.read_bytes() == before
    generate("balls4", {"test": 2}, out=tmp_path, recipe=SMALL, overwrite=True)
    assert ClipFile(path).parts == {"test": 2}


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError("no room")])
def test_a_stop_on_the_way_leaves_the_old_file(tmp_path, monkeypatch, stop):
    path = generate("balls4", {"test": 1}, out=tmp_path, recipe=SMALL)
    before, clips = path.read_bytes(), BouncingBalls.clips

    def stopping(self, seed, part, indices):
        for index, clip in enumerate(clips(self, seed, part, indices)):
            if index == 20:
                raise stop
            yield clip

    monkeypatch.setattr(BouncingBalls, "clips", stopping)
    with pytest.raises(type(stop) if isinstance(stop, Exception) else stop):
        generate("balls4", {"test": 30}, out=tmp_path, recipe=SMALL, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["balls4.h5"]
    assert path.read_bytes() == before


FULL_DISK = """
import resource, sys
from pathlib import Path
from videopred.datasets import plan
from videopred.datasets.balls import BouncingBalls
from videopred.datasets.generation import generate
plan._BLOCK = 16
limit, out, made = int(sys.argv[1]), Path(sys.argv[2]), []
clips = BouncingBalls.clips
BouncingBalls.clips = lambda *args: (made.append(clip) or clip for clip in clips(*args))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    generate("balls4", {"train": 40}, out=out, overwrite=True)
except OSError as error:
    print(len(made), error)
"""


@pytest.mark.parametrize(("share", "most_clips"), [(0, 16), (0.01, 16), (0.5, 32), (0.97, 40), (1, 40)])
def test_a_full_disk_is_one_clear_line(tmp_path, share, most_clips):
    """At the first byte, in the header, among the clips, near the end, and when only the last byte has no room."""
    size = generate("balls4", {"train": 40}, out=tmp_path / "whole.h5").stat().st_size
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "balls4.h5").write_bytes(b"the old file")
    limit = max(int(share * size) - 1, 0)
    command = [sys.executable, "-c", FULL_DISK, str(limit), str(tmp_path / "full")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    made, _, line = done.stdout.partition(" ")
    assert int(made) <= most_clips
    path, fix = tmp_path / "full" / "balls4.h5", "free some space or choose another disk"
    assert line == f"--out must be a file that can be written, got {path} (File too large); {fix}\n"
    left = [file for file in (tmp_path / "full").iterdir() if not file.name.endswith(".pieces")]
    assert [file.name for file in left] == ["balls4.h5"]
    assert left[0].read_bytes() == b"the old file"


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        OSError,
        match=r"^--out must be a path that can be written, got .*/balls4\.h5, but .*/file is no folder; choose another",
    ):
        generate("balls4", {"test": 1}, out=tmp_path / "file" / "folder", recipe=SMALL)


def test_progress_goes_to_stderr_and_only_on_request(tmp_path, capsys):
    generate("balls4", {"test": 2}, out=tmp_path, recipe=SMALL)
    assert capsys.readouterr() == ("", "")
    generate("balls4", {"test": 2}, out=tmp_path, recipe=SMALL, overwrite=True, progress=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "2/2" in printed.err


@pytest.mark.parametrize("name", ["balls4", "motion3", "occlusion"])
def test_memory_does_not_grow_with_the_number_of_clips(name, tmp_path, monkeypatch):
    monkeypatch.setattr("videopred.datasets.plan._BLOCK", 16)
    monkeypatch.setattr(f"{DATASETS[name].world.partition(':')[0]}._CLIPS_AT_ONCE", 16, raising=False)
    recipe = small(name)

    def peak(clips: int) -> int:
        tracemalloc.start()
        generate(name, {"train": clips}, out=tmp_path / f"{clips}.h5", recipe=recipe)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(16)  # what stays for good, such as imported modules
    few, many = peak(32), peak(192)
    assert many - few < 160 * recipe.frames * recipe.height * recipe.width * recipe.channels / 10, (few, many)
