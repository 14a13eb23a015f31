"""What tables of scores are called: after their runs or folders, as shortly as tells them apart."""

from pathlib import Path

import pytest
from made_up_scores import made_up

from videopred.eval.data_names import by_data, names_of, series_of, table_names
from videopred.eval.scores import Scores


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


@pytest.mark.parametrize(
    ("names", "series"),
    [
        (["balls1", "balls10", "balls2"], ("balls*", (1, 10, 2))),
        (["crops2-48px", "crops3-48px"], ("crops*-48px", (2, 3))),
        (["4", "678"], ("*", (4, 678))),
        (["speed-0.5", "speed-0.25", "speed-1"], ("speed-*", (0.5, 0.25, 1))),
        (["v1.10", "v1.9", "v1.1"], ("v1.*", (10, 9, 1))),
        (["v2.0-s0.5", "v2.0-s1.5"], ("v2.0-s*", (0.5, 1.5))),
        (["balls4", "curtain"], None),
        (["balls4", "colored4"], None),
        (["balls4-24px", "balls6-48px"], None),
        (["balls01", "balls1"], None),
        (["balls", "balls2"], None),
        (["balls4"], None),
    ],
)
def test_names_that_differ_in_one_number_are_a_series(names, series):
    assert series_of(names) == series


def of_data(name: str) -> Scores:
    return made_up(file=f"datasets/{name}.h5", fingerprint=f"of-{name}")


def test_a_series_comes_in_its_order_and_other_data_as_it_was_given():
    def order(*names: str) -> list[str]:
        return list(by_data([("gru", of_data(name)) for name in names]))

    assert order("balls10", "balls2", "balls1") == ["balls1", "balls2", "balls10"]
    assert order("curtain", "balls4") == ["curtain", "balls4"]
    elsewhere = made_up(file="mine/balls4.h5", fingerprint="mine")
    assert list(by_data([("gru", of_data("balls4")), ("gru", elsewhere)])) == ["datasets/balls4", "mine/balls4"]
    for names in (["a.v1", "a.v2"], ["a.v1", "b.v2"]):  # of folders
        tables = [made_up(file=f"datasets/{name}", fingerprint=name) for name in names]
        assert list(by_data([("gru", one) for one in tables])) == names


def test_data_that_differ_in_their_ending_alone_are_called_with_it():
    """A file of ours and one that it was made from."""
    tables = [made_up(file=f"datasets/{name}", fingerprint=name) for name in ("two.h5", "two.npz")]
    assert list(by_data([("gru", one) for one in tables])) == ["two.h5", "two.npz"]
