"""The curves as a file: rows as they come, and those of a resumed run behind those that it keeps."""

from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch.utilities import rank_zero_only
from tiny_runs import no_file_longer_than

from videopred.check import FaultyFileError
from videopred.training import metrics_file
from videopred.training.metrics_file import MetricsFile, read_metrics


def written(path: Path, steps: range, done: int = 0, **metrics: float) -> list[str]:
    file = MetricsFile(path, done)
    for step in steps:
        file.log_metrics(metrics | {"epoch": 0.0}, step)
    return [row["update"] for row in read_metrics(path)]


def test_rows_beyond_the_checkpoint_come_again(tmp_path):
    """Lightning counts from 0: a checkpoint after two updates holds its steps 0 and 1."""
    path = tmp_path / "metrics.csv"
    assert written(path, range(4), loss=1.5) == ["1", "2", "3", "4"]
    assert written(path, range(2, 3), 2, loss=2.5) == ["1", "2", "3"]
    assert read_metrics(path)[-2:] == [{"update": "2", "loss": "1.5"}, {"update": "3", "loss": "2.5"}]


def test_rows_that_a_spreadsheet_has_saved_come_in_their_order(tmp_path):
    """With the mark at the beginning by which it knows UTF-8, and sorted from the last."""
    path = tmp_path / "metrics.csv"
    written(path, range(3), loss=1.5)
    head, *rows = path.read_text().splitlines()
    path.write_text("\r\n".join([head, *rows[::-1], ""]), encoding="utf-8-sig")
    assert [row["update"] for row in read_metrics(path)] == ["1", "2", "3"]


def test_a_new_name_gets_a_column_and_half_a_line_is_passed_over(tmp_path):
    path = tmp_path / "metrics.csv"
    written(path, range(2), loss=1.5)
    path.open("a").write("7,0.")
    assert [row["update"] for row in read_metrics(path)] == ["1", "2"]
    written(path, range(2, 3), 2, other=3.0)
    assert read_metrics(path) == [
        {"update": "1", "loss": "1.5"},
        {"update": "2", "loss": "1.5"},
        {"update": "3", "other": "3.0"},
    ]
    assert path.read_bytes().startswith(b"update,loss,other\n"), "lines end as those of all our tables"


@pytest.mark.parametrize("name", ["loss", "other"])
def test_a_disk_that_is_full_leaves_the_rows_that_are_there(tmp_path, name):
    """Also where the file is written anew, for a name that it has no column for."""
    path = tmp_path / "metrics.csv"
    file = MetricsFile(path, 0)
    file.log_metrics({"loss": 1.5}, 0)
    before = path.read_text()
    message = r"metrics\.csv must be a file that can be written, got File too large; free some space"
    with pytest.raises(OSError, match=message), no_file_longer_than(len(before)):
        file.log_metrics({name: 2.5}, 1)
    assert read_metrics(path) == [{"update": "1", "loss": "1.5"}]


def refused_from(path: Path, system: pytest.MonkeyPatch) -> None:
    """Have the file held by somebody who lets nobody else write to it."""
    opened = Path.open

    def refuse(self: Path, mode: str = "r", *how: Any, **more: Any) -> Any:
        if self == path and mode != "r":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(self, mode, *how, **more)

    system.setattr(Path, "open", refuse)
    system.setattr(metrics_file, "open_files_move", lambda: False)


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("ended", [False, True])
def test_rows_wait_while_somebody_holds_the_file(tmp_path, monkeypatch, caplog, begun, ended):
    """From the first row of a resumed run on, or later, and with a new name; each is told of and added once."""
    path = tmp_path / "metrics.csv"
    written(path, range(4), loss=1.5)
    file = MetricsFile(path, 2)
    if begun:
        file.log_metrics({"loss": 2.5}, 2)
    before = path.read_text()
    with caplog.at_level("INFO", "videopred"), monkeypatch.context() as system:
        refused_from(path, system)
        file.log_metrics({"loss": 3.5}, 3)
        file.log_metrics({"other": 4.5}, 3)
        assert path.read_text() == before
    (told,) = caplog.messages
    assert told == f"{path} cannot be written to; its rows wait"
    if not ended:
        file.log_metrics({"loss": 5.5}, 4)
    file.finalize("success")
    assert read_metrics(path) == [
        {"update": "1", "loss": "1.5"},
        {"update": "2", "loss": "1.5"},
        *([{"update": "3", "loss": "2.5"}] if begun else []),
        {"update": "4", "loss": "3.5"},
        {"update": "4", "other": "4.5"},
        *([] if ended else [{"update": "5", "loss": "5.5"}]),
    ]


def test_rows_that_waited_are_written_behind_a_full_disk(tmp_path, monkeypatch):
    path = tmp_path / "metrics.csv"
    written(path, range(1), loss=1.5)
    file = MetricsFile(path, 1)
    file.log_metrics({"loss": 2.5}, 1)
    with monkeypatch.context() as system:
        refused_from(path, system)
        file.log_metrics({"loss": 3.5}, 2)
    with monkeypatch.context() as system:
        system.setattr(Path, "open", full)
        with pytest.raises(OSError, match="No space left"):
            file.log_metrics({"loss": 4.5}, 3)
    file.finalize("failed")
    assert [row["update"] for row in read_metrics(path)] == ["1", "2", "3", "4"]


def full(*anything: Any, **more: Any) -> Any:
    raise OSError(28, "No space left on device")


def test_a_write_protected_file_is_replaced_where_systems_do_that(tmp_path):
    path = tmp_path / "metrics.csv"
    written(path, range(1), loss=1.5)
    path.chmod(0o444)
    assert written(path, range(1, 3), 1, loss=2.5) == ["1", "2", "3"]


def test_rows_that_are_lost_in_the_end_are_told_of(tmp_path, monkeypatch, caplog):
    path = tmp_path / "metrics.csv"
    written(path, range(1), loss=1.5)
    file = MetricsFile(path, 1)
    refused_from(path, monkeypatch)
    with caplog.at_level("INFO", "videopred"):
        for step in (1, 2):
            file.log_metrics({"loss": 2.5}, step)
        file.finalize("success")
    assert caplog.messages[-1].endswith("its rows since update 2 are lost")
    assert [row["update"] for row in read_metrics(path)] == ["1"]


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\n",
        b"update,loss\n0,1\nx,2\n",
        b"update,loss\n0,1,2\n",
        b"loss\n2\n",
        b"update\n" + b"0" * 2**18 + b"\n",
    ],
    ids=["no text", "no update", "a cell more", "no column", "a cell too long"],
)
def test_a_damaged_file_is_one_clear_line_before_anything_is_learned(tmp_path, content):
    path = tmp_path / "metrics.csv"
    path.write_bytes(content)
    message = r"metrics\.csv must hold rows that begin with an update, got others; restore it, or delete it"
    for opened in (read_metrics, lambda path: MetricsFile(path, 0)):
        with pytest.raises(FaultyFileError, match=message):
            opened(path)
    assert path.read_bytes() == content


def test_a_folder_in_its_place_is_one_clear_line_as_well(tmp_path):
    with pytest.raises(FaultyFileError, match=rf"^{tmp_path} must be a file, got something else; move it away$"):
        read_metrics(tmp_path)


def test_no_file_has_no_rows(tmp_path):
    assert read_metrics(tmp_path / "metrics.csv") == []


def test_other_processes_than_the_first_add_no_rows(tmp_path, monkeypatch):
    """Else each row would stand there once for each process."""
    monkeypatch.setattr(rank_zero_only, "rank", 1, raising=False)
    assert written(tmp_path / "metrics.csv", range(2), loss=1.5) == []
    assert not (tmp_path / "metrics.csv").exists()
