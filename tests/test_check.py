"""Complaints: what a user reads when something was wrong."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from videopred import check


def test_a_complaint_says_what_it_must_be_what_it_was_and_what_to_do():
    assert (
        check.complaint("--context", "be at least 1", 0, "raise it") == "--context must be at least 1, got 0; raise it"
    )


def test_a_value_is_told_in_one_line():
    assert check.complaint("x", "be one", "a\n   b\n\n c", "choose") == "x must be one, got a b c; choose"


def test_a_long_value_is_cut():
    said = check.complaint("x", "be short", "a" * 300, "cut it")
    assert said == f"x must be short, got {'a' * 300}; cut it"
    said = check.complaint("x", "be short", "a" * 301, "cut it")
    assert said == f"x must be short, got {'a' * 297}...; cut it"


def test_require():
    check.require(True, "x", "be", 1, "do")
    with pytest.raises(ValueError, match=r"^x must be, got 1; do$"):
        check.require(False, "x", "be", 1, "do")


def test_what_is_there_twice_is_named():
    check.each_once("--draw", (3, 1, 2))
    with pytest.raises(ValueError, match=r"^--draw must name each once, got 1, 3 twice; leave one out$"):
        check.each_once("--draw", (1, 3, 1, 2, 3, 3))


@pytest.mark.parametrize(
    ("value", "fix"),
    [("rimz", "did you mean rims[?]"), ("lsmt", "did you mean lstm[?]"), ("transformer", "choose one of these")],
)
def test_a_wrong_choice_lists_all_and_offers_the_nearest(value, fix):
    choices = iter(["gru", "lstm", "rims"])  # may be read once only
    with pytest.raises(ValueError, match=f"^--core must be one of gru, lstm, rims, got {value}; {fix}$"):
        check.one_of("--core", value, choices)
    assert check.one_of("--core", "lstm", ["gru", "lstm"]) == "lstm"


def test_where_there_is_no_choice_it_is_said():
    with pytest.raises(ValueError, match=r"^truth must be one that is there, got positions; there is none$"):
        check.one_of("truth", "positions", [])


@pytest.mark.parametrize(
    ("value", "error", "must"),
    [
        (2, ValueError, "be at least 3, got 2"),
        (-7, ValueError, "be at least 3, got -7"),
        (4.0, TypeError, r"be a whole number, got 4\.0"),
        (np.float32(4), TypeError, r"be a whole number, got np\.float32\(4\.0\)"),
        (True, TypeError, "be a whole number, got True"),
        ("5", TypeError, "be a whole number, got '5'"),
    ],
)
def test_a_number_that_is_not_whole_or_too_small(value, error, must):
    with pytest.raises(error, match=f"^--clips must {must}; give more$"):
        check.whole_number("--clips", value, 3, "give more")
    for value in (3, np.int64(3), np.uint8(3)):
        taken = check.whole_number("--clips", value, 3, "give more")
        assert taken == 3
        assert type(taken) is int  # what JSON can hold


def test_a_file_must_be_there_and_be_a_file(tmp_path):
    (tmp_path / "there").write_text("")
    assert check.existing_file("--data", tmp_path / "there", "make it") == tmp_path / "there"
    with pytest.raises(
        FileNotFoundError, match=r"^--data must be an existing file, got .*gone \(nothing there\); make"
    ):
        check.existing_file("--data", tmp_path / "gone", "make it")
    with pytest.raises(FileNotFoundError, match=r"^--data must be an existing file, got .* \(a folder\); make it$"):
        check.existing_file("--data", tmp_path, "make it")
    with pytest.raises(FileNotFoundError, match=rf"got {re.escape(os.devnull)} \(a device or a pipe\); make it$"):
        check.existing_file("--data", Path(os.devnull), "make it")


def test_what_is_new_is_in_a_folder_that_takes_it(tmp_path, monkeypatch):
    assert check.absent("--out", tmp_path / "new" / "a.h5", False) == tmp_path / "new" / "a.h5"
    (tmp_path / "file").touch()
    refused = r"^--out must be a path that can be written, got .*a\.h5, but "
    with pytest.raises(OSError, match=refused + ".*file is no folder; choose another place"):
        check.absent("--out", tmp_path / "file" / "b" / "a.h5", True)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OSError, match=refused + ".* is write-protected; choose another place"):
        check.absent("--out", tmp_path / "a.h5", False)
    monkeypatch.setattr(os.path, "exists", lambda _: False)
    with pytest.raises(OSError, match=refused + "it has no drive; choose another place"):
        check.absent("--out", tmp_path / "a.h5", False)


def test_a_file_or_folder_must_be_there(tmp_path):
    assert check.existing("--data", tmp_path) == tmp_path
    with pytest.raises(
        FileNotFoundError, match=r"^--data must be an existing file or folder, got .*gone \(nothing there\); look at"
    ):
        check.existing("--data", tmp_path / "gone")


def test_what_is_gone_on_with_must_be_there(tmp_path):
    (tmp_path / "settings.json").touch()
    export = tmp_path / "run.safetensors"  # said to be one by who reads it
    for path in (tmp_path, export):
        check.run_or_runs(path)
    for path in (tmp_path / "gone", tmp_path / "settings.json"):
        with pytest.raises(
            FileNotFoundError, match=f"^--resume must be a folder that `videopred train` wrote, got {path}[; ]"
        ):
            check.run_or_runs(path)
    (tmp_path / "settings.json").rename(tmp_path / "seeds.json")
    check.run_or_runs(tmp_path)


def test_of_runs_from_several_seeds_one_must_be_named(tmp_path):
    (tmp_path / "seeds.json").touch()
    for made, named in ((None, "seed-0"), ("seed-5", "seed-5"), ("seed-10", f"seed-5, {tmp_path}/seed-10")):
        if made:
            (tmp_path / made).mkdir()
        with pytest.raises(FileNotFoundError, match=f"several seeds; give one of them: {tmp_path}/{named}$"):
            check.run_folder(tmp_path)


def test_a_checkpoint_is_made_one_file_by_a_command_that_can_be_pasted(tmp_path):
    checkpoint = tmp_path / "my run" / "checkpoints" / "best.ckpt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    with pytest.raises(FileNotFoundError, match=f"with `videopred export '{tmp_path}/my run' --checkpoint best`, and"):
        check.run_folder(checkpoint)


def test_what_is_there_stays_unless_overwriting_is_asked_for(tmp_path):
    assert check.absent("--out", tmp_path / "new", False) == tmp_path / "new"
    assert check.absent("--out", tmp_path, True, folder=True) == tmp_path
    message = rf"^--out must be a new path, got {tmp_path} \(already there\); choose another name, or give --overwrite"
    with pytest.raises(FileExistsError, match=message):
        check.absent("--out", tmp_path, False, folder=True)
    with pytest.raises(TypeError, match=r"^overwrite must be True or False, got 'no'; choose one of these$"):
        check.absent("--out", tmp_path, "no")


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_never_comes_in_the_place_of_a_folder_or_a_device(tmp_path, overwrite):
    for path, kind in ((tmp_path, "a folder"), (Path(os.devnull), "a device or a pipe")):
        said = rf"^--out must be a file, got {re.escape(str(path))} \({kind}\); choose another name$"
        with pytest.raises(FileExistsError, match=said):
            check.absent("--out", path, overwrite)


def test_windows_counts_letters_of_names(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "pathconf")
    assert check.absent("--out", tmp_path / ("ж" * 120), False)  # 240 bytes
    for name in ("ж" * 223, "𝄞" * 112):
        with pytest.raises(ValueError, match=r"^--out must have names of at most 222 bytes, got "):
            check.absent("--out", tmp_path / name, False)


@pytest.mark.parametrize("name", ["a" * 220 + ".h5", "é" * 223, "ж" * 112, f"{'b' * 256}/a.h5"])
def test_names_that_no_disk_takes_are_one_clear_line(tmp_path, name):
    with pytest.raises(ValueError, match=r"^--out must have names of at most 222 bytes, got "):
        check.absent("--out", tmp_path / name, False)
    with pytest.raises(ValueError, match=r"^--out must have names of at most 255 bytes, got "):
        check.folder_for(tmp_path / (name + "b" * 33) / "c", ["scores.json"])
    assert check.folder_for(tmp_path / ("b" * 255), ["scores.json"])
    for name in ("a" * 219, "ж" * 109 + "a"):
        assert check.absent("--out", tmp_path / ("b" * 255) / f"{name}.h5", False)


def test_a_folder_for_files_is_not_called_like_one(tmp_path):
    names, free = ["scores.json", "scores.csv"], tmp_path / "results.v2"
    assert check.folder_for(free, names) == free
    there = tmp_path / "old.csv"
    there.mkdir()
    assert check.folder_for(there, names) == there
    (tmp_path / "file").touch()
    for name in ("mine.csv", "file"):
        said = f"--out must be a folder, got {tmp_path / name}; leave the ending out: the folder gets scores.json, "
        with pytest.raises(ValueError, match=re.escape(said)):
            check.folder_for(tmp_path / name, names)


def test_an_empty_folder_is_free(tmp_path):
    for name in ("new", "empty"):
        assert check.free_folder(tmp_path / name, False) == tmp_path / name
        (tmp_path / "empty").mkdir(exist_ok=True)
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file"):
        assert check.free_folder(path, True) == path
        with pytest.raises(FileExistsError, match=r"^--out must be a new path"):
            check.free_folder(path, False)


@pytest.mark.parametrize(("context", "horizon"), [(1, 1), (3, 4), (6, 1), (1, 6)])
def test_a_rollout_that_fits(context, horizon):
    check.context_and_horizon(context, horizon, 7)


@pytest.mark.parametrize(
    ("context", "horizon", "message"),
    [
        (0, 3, "^--context must be at least 1, got 0"),
        (3, 0, "^--horizon must be at least 1, got 0"),
        (
            3,
            5,
            r"^--context plus --horizon must be at most 7, .* got 3 \+ 5 = 8; lower --horizon to 4, or generate long",
        ),
        (9, 1, r"got 9 \+ 1 = 10; lower --context to 6, or"),
    ],
)
def test_a_rollout_that_does_not_fit(context, horizon, message):
    with pytest.raises(ValueError, match=message):
        check.context_and_horizon(context, horizon, 7)


def test_a_kind_is_required():
    check.require_kind(True, "film", "be a tensor", "list", "make one")
    with pytest.raises(TypeError, match=r"^film must be a tensor, got list; make one$"):
        check.require_kind(False, "film", "be a tensor", "list", "make one")


def test_paths_are_shown_as_they_were_typed():
    assert "got models/x;" in check.complaint("RUN", "be there", Path("models/x"), "go")


@pytest.mark.parametrize("kind", [ValueError, check.FaultyFileError, FileNotFoundError])
def test_a_complaint_is_about_what_the_command_calls_it(kind):
    with pytest.raises(kind, match=r"^--pred must be DATA, got SOURCE; see DATA$"), check.named({"SOURCE": "--pred"}):
        raise kind(check.complaint("SOURCE", "be DATA", "SOURCE", "see DATA"))


@pytest.mark.parametrize("error", [ValueError("DATA must be there, got none; make it"), OSError("SOURCE is full")])
def test_other_complaints_stay_as_they_are(error):
    with pytest.raises(type(error)) as caught, check.named({"SOURCE": "--pred"}):
        raise error
    assert caught.value is error


@pytest.mark.parametrize("path", ["~/run", "~"])
def test_a_path_begins_with_no_tilde(path):
    with pytest.raises(
        ValueError, match=r"^--out must begin with no ~, which nothing has replaced, got ~.*; write the"
    ):
        check.as_path("--out", path)
    for name in ("a/~b", "./~b", Path("~b")):
        assert check.as_path("--out", name) == Path(name)
