"""Folders of IntPhys, which two test files read."""

import shutil
from pathlib import Path

import pytest
from intphys_clips import clips_of_ours, crowded_clips

from videopred.datasets.intphys_export import export_intphys


@pytest.fixture(scope="session")
def intphys_films(tmp_path_factory) -> dict[str, Path]:
    """Folders of the same films; tests only read them."""
    folder, source = tmp_path_factory.mktemp("intphys"), clips_of_ours()
    return {
        "labelled": export_intphys(source, folder / "labelled"),
        "random": export_intphys(source, folder / "random", random_levels=True, part="test"),
        "crowded": export_intphys(crowded_clips(), folder / "crowded"),
        "unlabelled": export_intphys(source, folder / "unlabelled", unlabelled=True, part="test"),
    }


@pytest.fixture
def intphys_copy(intphys_films, tmp_path) -> Path:
    """One scene and two films of train, to be changed."""
    shutil.copytree(intphys_films["labelled"] / "dev" / "O1" / "0001", tmp_path / "dev" / "O1" / "0001")
    for name in ("00001", "00002"):
        shutil.copytree(intphys_films["labelled"] / "train" / name, tmp_path / "train" / name)
    return tmp_path
