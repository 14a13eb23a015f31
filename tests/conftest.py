"""What all tests share: one thread, because two spinning threads crawl when anything else runs; chance; no clocks."""

import gc
import os
import signal
import subprocess
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import settings

from videopred.device import seed_streams
from videopred.user_errors import OWN_FOLDERS

for _name in list(os.environ):  # of a job of Slurm's, of torchrun, or of somebody who looks for a mistake
    if _name.startswith(("SLURM_", "TORCHELASTIC_", "VIDEOPRED_")) or _name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        del os.environ[_name]
torch.set_num_threads(1)
settings.register_profile("same-examples", deadline=None, derandomize=True)
settings.register_profile("new-examples", deadline=None)
settings.load_profile("same-examples")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells let what runs in the background ignore Ctrl-C, and processes hand that on; tests of Ctrl-C need it heard.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _keep() -> None:
    """What is loaded by now stays: Python's collector need not look through it again in every test."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    _keep()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    yield
    if nextitem is None or nextitem.path != item.path:  # libraries that the tests of this file were the first to load
        _keep()


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # else libraries complain at the end of objects that nobody took away


@pytest.fixture
def dead() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        pass
    return process.pid


def _seed(name: str) -> None:
    seed_streams(zlib.crc32(name.encode()))


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> None:
    """What a fixture draws depends on its name alone, not on which test asks for it first."""
    _seed(fixturedef.argname)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """What a test draws depends on its name alone, not on what ran before it; and it is not what its fixtures drew.

    What is put into the environment meanwhile goes: Lightning leaves MASTER_ADDR there, for instance. So does what was
    noted of own code: an error of a later test may come through the same folder.
    """
    _seed(item.name)
    before = dict(os.environ)
    try:
        return (yield)
    finally:
        OWN_FOLDERS.clear()
        for name in os.environ.keys() | before.keys():
            if os.environ.get(name) != before.get(name):
                os.environ.pop(name, None)
                os.environ.update({name: before[name]} if name in before else {})
