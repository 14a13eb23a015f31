"""One file of tiny clips for all tests of training."""

from pathlib import Path

import pytest
from tiny_runs import tiny_data


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    return tiny_data(tmp_path_factory.mktemp("data"))
