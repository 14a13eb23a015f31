"""What tables of scores are called: after their runs or folders, as shortly as tells them apart."""

from pathlib import Path

import pytest
from made_up_scores import made_up

from videopred.eval.data_names import names_of, table_names


def test_tables_are_called_after_runs_whatever_these_are_called_and_wherever_one_stands(tmp_path, monkeypatch):
    folders = [tmp_path / "eval" / run / "two" for run in ("seed-test", "m", "sweep/seed-0", "scoff/seed-0-and-2-more")]
    folders[0].mkdir(parents=True)
    monkeypatch.chdir(folders[0])
    one = made_up()
    tables = {Path("."): one, **dict.fromkeys(folders[1:], one)}
    assert list(table_names(tables).values()) == ["seed-test", "m", "seed-0", "seed-0-and-2-more"]


def test_short_names_tell_paths_apart():
    assert names_of(["eval/gru/two", "eval/rims/two"]) == ["gru/two", "rims/two"]
    assert names_of(["eval/gru", "eval/rims"]) == ["gru", "rims"]
    assert names_of(["/eval/gru/two", r"eval\rims\two"]) == ["gru/two", "rims/two"]
    assert names_of([r"C:\gru", r"C:\rims"]) == ["gru", "rims"]
    assert names_of(["/gru", "gru"]) == ["/gru", "gru"]
    with pytest.raises(ValueError, match="SCORES must be given once each, got a/b twice; leave one out"):
        names_of(["a/b", "a/b"])


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["mine/gru/two", "mine/rims/three"], ["two", "three"]),  # elsewhere
        (["eval/mine/gru", "eval/mine/rims", "eval/lstm/two"], ["gru", "rims", "lstm"]),  # a folder of several
    ],
)
def test_tables_that_are_in_no_folder_of_a_run_are_called_after_their_own(tmp_path, folders, names):
    assert list(table_names(dict.fromkeys((tmp_path / folder for folder in folders), made_up())).values()) == names
