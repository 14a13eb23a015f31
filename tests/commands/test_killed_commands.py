"""Commands that are killed on the way leave what was there whole: slow proofs."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import LEARNING, SIZES, core_flags, run
from tiny_runs import tiny_data

BAR_SHOWN = """
import sys
from videopred import cli
from videopred.commands import terminal
terminal.watched = lambda: True
cli.main(sys.argv[1:])
"""


def kill_at(count: int, words: str, folder: Path, sign: signal.Signals = signal.SIGKILL) -> int:
    """Run a command that says how far it is, and kill it as soon as that is a count of 90000.

    Making shows a bar, learning says a line at each look at the validation clips.

    Returns its exit status.
    """
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", BAR_SHOWN, *words.split()]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=folder, env=environment) as process:
        seen, stderr = b"", process.stderr
        assert stderr is not None
        while not any(int(done) >= count for done in re.findall(rb"(\d+)(?=/90000 \[|: validation)", seen)):
            byte = stderr.read(1)
            assert byte, f"it ended before: {seen.decode()}"
            seen = seen[-40:] + byte
        process.send_signal(sign)
        stderr.read()
    return process.returncode


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 40, 500, 3000])
def test_generate_interrupted_ends_with_130_and_leaves_no_file(tmp_path, count):
    # An interrupt in the middle of one of HDF5's calls can hang a writer, so several moments are tried.
    words = f"generate balls4 {SIZES} --balls 2 --clips train=90000 --out balls4.h5"
    assert kill_at(count, words, tmp_path, signal.SIGINT) == 130
    assert [path.name.endswith(".pieces") for path in tmp_path.iterdir()] == [True]


@pytest.mark.slow
def test_generate_killed_leaves_the_old_file_whole(tmp_path):
    path = tiny_data(tmp_path / "balls4.h5")
    before = path.read_bytes()
    words = f"generate balls4 {SIZES} --balls 2 --clips train=90000 --out balls4.h5 --overwrite"
    assert kill_at(40, words, tmp_path) == -signal.SIGKILL
    assert path.read_bytes() == before
    left = {file.name for file in tmp_path.iterdir()} - {"balls4.h5"}
    assert all(name.startswith(".balls4.h5.") and name.endswith((".partial", ".pieces")) for name in left)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 25])
def test_training_killed_leaves_checkpoints_that_work(tmp_path, count):
    data = tiny_data(tmp_path)
    learning = LEARNING.replace("--updates 2", "--updates 90000")
    assert kill_at(count, f"train {data} {core_flags('gru')} {learning} --out run", tmp_path) == -signal.SIGKILL
    for name in ("best.ckpt", "last.ckpt"):
        assert (tmp_path / "run" / "checkpoints" / name).is_file()
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "running"
    assert run(f"evaluate {tmp_path / 'run'} {data} --metrics mse --out {tmp_path / 'scores'}") == 0
