"""What runs and clips are called by their paths."""

from pathlib import Path

from videopred.run_files import data_name, run_name


def test_the_name_that_results_are_filed_under(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"models/a": "a", "models/sweep/seed-12": "sweep/seed-12", "x/a.b.safetensors": "a.b", ".": tmp_path.name}
    assert {run: run_name(Path(run)) for run in names} == names


def test_the_name_of_clips_is_that_of_their_folder_or_of_their_file_without_its_ending(tmp_path, monkeypatch):
    (tmp_path / "balls.v1" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "balls.v1")
    names = {"x/balls4.h5": "balls4", "x/balls4.v2.h5": "balls4.v2", "../balls.v1": "balls.v1", ".": "balls.v1"}
    names |= {"below/..": "balls.v1", "..": tmp_path.name}
    names |= {f"x/two.v3{ending}": "two.v3" for ending in (".HDF5", ".npy", ".npz", ".gif", ".mp4", ".json")}
    assert {data: data_name(Path(data)) for data in names} == names


def test_the_name_of_clips_is_that_of_a_link_and_not_of_what_it_leads_to(tmp_path):
    (tmp_path / "8f3a21c").touch()
    (tmp_path / "two.h5").symlink_to(tmp_path / "8f3a21c")
    assert data_name(tmp_path / "two.h5") == "two"
