"""Every command that takes --device, on a pretended one: it does its work there, and ends well."""

import inspect

import numpy as np
import pytest
from command_line import LEARNING, SIZES, core_flags, run, written
from pretended_device import pretended_device, waits
from slow_proofs import slow
from tiny_runs import HEIGHT, WIDTH

from videopred.cli import COMMANDS

WORDS = {
    "train": f"train {{data}} {core_flags('rims')} {LEARNING.replace('cpu', 'cuda')} --profile --out run",
    "train, dry": f"train {{data}} {core_flags('gru')} {LEARNING.replace('cpu', 'cuda')} --dry-run",
    "evaluate": "evaluate {place}/rims {place}/gru {data} --metrics mse --first 2 --device cuda --out scores",
    "evaluate, arrays": "evaluate --pred p.npy --true t.npy --range 0 1 --axes BTCHW --metrics mse --device cuda",
    "rollout": "rollout {place}/rims {data} --first 2 --trace trace.npz --device cuda --out rollout.npz",
    "render": "render {place}/rims {data} --clips 1 --device cuda --out pictures",
    "report": "report {place}/rims {place}/gru -o report.html --data {data} --device cuda",
    "plausibility": "plausibility films-run films.h5 --device cuda --out surprise",
    "doctor": "doctor --device cuda",
}
"""What is tried -> the words."""
FIRST = ("train", "evaluate", "render")
MADE_OF_OTHERS = {"demo", "reproduce"}
BENCHMARKS = {"bench cores", "bench train"}
"""tests/bench/test_on_device.py"""


def test_every_command_with_a_device_is_here():
    taking = {name for name, command in COMMANDS.items() if "device" in inspect.signature(command).parameters}
    assert taking == {words.split()[0] for words in WORDS.values()} | MADE_OF_OTHERS | BENCHMARKS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where films are, and a run that can tell what is surprising in them."""
    folder = tmp_path_factory.mktemp("films")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        random = np.random.default_rng(0)
        np.save("p.npy", random.random((3, 4, 1, HEIGHT, WIDTH), np.float32))
        np.save("t.npy", random.random((3, 4, 1, HEIGHT, WIDTH), np.float32).round())
        films = SIZES.replace("--frames 9", "--frames 30")
        assert run(f"generate occlusion {films} --clips train=9 test=8 --out films.h5") == 0
        assert run(f"train films.h5 {core_flags('gru')} {LEARNING} --out films-run") == 0
    return folder


@pytest.mark.parametrize("what", [*FIRST, *slow(*(what for what in WORDS if what not in FIRST))])
def test_a_command(place, folder, what, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    with pretended_device():
        assert run(WORDS[what].format(place=place, data=place / "balls4.h5")) == 0
    written(capfd.readouterr().out)
    assert waits, "nothing was on the device"
