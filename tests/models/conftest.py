"""Where cores of a user's own are."""

import sys
from pathlib import Path

import pytest
from own_codecs import PARTS


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """An empty current folder, in which modules are found and from which they are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def parts(place) -> Path:
    """A folder with the parts of docs/adding.md."""
    (place / "myparts.py").write_text(PARTS)
    return place
