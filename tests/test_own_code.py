"""A user's own code that has changed since a model learned by it is told of wherever the model is used."""

import json
import sys
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from textwrap import indent

import pytest
from command_line import run
from tiny_runs import tiny_data

from videopred.checkpoint import load_run
from videopred.export.own_training import save_model
from videopred.models import build
from videopred.models.settings import OwnConfig, PredictorConfig
from videopred.own_code import code_record
from videopred.weights import read_header

CORE = """
from torch import nn


class Sum(nn.Module):
    rows, units = 1, 5

    def __init__(self, features):
        super().__init__()
        self.inward = nn.Linear(features, 5)

    def initial_state(self, batch, *, generator=None):
        return self.inward.weight.new_zeros(batch, 5)

    def step(self, inputs, state):
        state = 0.5 * state + self.inward(inputs.mean(1))
        return state.unsqueeze(1), state, {}


def far(logits, truth):
    return (logits - truth) ** 2
"""
LEARNING = "--codec.channels 2 3 --updates 2 --batch-size 4 --validate-every 1 --device cpu"


def rewrite(name: str, text: str) -> None:
    """Write a module, which is imported anew."""
    Path(f"{name}.py").write_text(text)
    sys.modules.pop(name, None)


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    """Clips in an empty current folder with a module `sums`, in which modules are found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    rewrite("sums", CORE)
    yield tiny_data(tmp_path)
    for name in ("sums", "renamed"):
        sys.modules.pop(name, None)


def told(words: str, capsys) -> str:
    """What a command says of code."""
    capsys.readouterr()
    assert run(words) == 0
    return "".join(line for line in capsys.readouterr().err.splitlines(keepends=True) if "has changed" in line)


def test_changed_code_is_told_wherever_a_run_or_an_export_is_used(data, capsys):
    assert not told(f"train {data} --core sums:Sum {LEARNING} --out run", capsys)
    assert not told("export run", capsys)
    evaluate = f"evaluate run {data} --metrics mse --overwrite"
    assert not told(evaluate, capsys)
    rewrite("sums", CORE.replace("0.5", "0.75"))
    for words, path in ((evaluate, "run"), (evaluate.replace("run", "run.safetensors"), "run.safetensors")):
        line = f"{Path.cwd() / 'sums.py'}, with sums:Sum, has changed since {path} learned; results may be others"
        assert told(words, capsys) == f"videopred: {line}\n"
    begun = f"train {data} --core sums:Sum {LEARNING} --init-from run --out next"
    assert f"with sums:Sum, has changed since {Path.cwd() / 'run'} learned" in told(begun, capsys)
    assert not told(evaluate.replace("run", "next"), capsys), "it learned by the code as it is now"


def test_a_resume_tells_of_a_changed_loss_too_and_notes_by_what_it_goes_on(data, capsys):
    words = f"train {data} --core gru --core.units 3 --loss sums:far {LEARNING} --time-limit 0s --out run"
    assert run(words) == 130
    rewrite("sums", CORE.replace("** 2", "** 4"))
    assert "with sums:far, has changed since run learned" in told(
        "train --resume run --time-limit 1h --device cpu", capsys
    )
    rewrite("sums", CORE.replace("** 2", "** 6"))
    assert not told(f"evaluate run {data} --metrics mse", capsys), "which needs no loss"


def test_ends_of_lines_are_no_change(data):
    import_module("sums")
    before = code_record(["sums:Sum"])
    sys.modules.pop("sums")
    Path("sums.py").write_bytes(CORE.replace("\n", "\r\n").encode())
    import_module("sums")
    assert code_record(["sums:Sum"]) == before


def test_a_file_is_told_once_whatever_is_in_it(data, capsys):
    words = f"train {data} --core sums:Sum --loss sums:far {LEARNING} --time-limit 0s --out run"
    assert run(words) == 130
    rewrite("sums", CORE.replace("0.5", "0.75"))
    resumed = told("train --resume run --time-limit 1h --device cpu", capsys)
    assert resumed.count("\n") == 1
    assert "with sums:Sum and sums:far, has changed since run learned" in resumed


def test_a_run_that_had_learned_nothing_is_resumed_by_the_code_as_it_is(data, capsys):
    words = f"train {data} --core sums:Sum {LEARNING} --time-limit 0s --out run"
    assert run(words) == 130
    for path in Path("run/checkpoints").iterdir():
        path.unlink()
    record = json.loads(Path("run/run.json").read_text())
    kept = {name: value for name, value in record.items() if name not in ("saved", "updates")}
    Path("run/run.json").write_text(json.dumps(kept | {"state": "running"}))
    rewrite("sums", CORE.replace("0.5", "0.75"))
    assert not told("train --resume run --time-limit 1h --device cpu", capsys)
    assert not told(f"evaluate run {data} --metrics mse", capsys)


def test_code_that_moved_is_not_told_as_changed(data, capsys):
    assert run(f"train {data} --core sums:Sum {LEARNING} --out run") == 0
    rewrite("renamed", CORE)
    rewrite("sums", "from renamed import Sum")
    assert not told(f"evaluate run {data} --metrics mse", capsys)


MADE = """
from functools import partial

from renamed import grown


def _power(logits, truth, exponent):
    return (logits - truth).abs() ** exponent


far = partial(_power, exponent=2)
Sum = grown(5)
"""


def test_what_another_module_helped_to_make_is_of_the_module_that_is_named(data):
    rewrite("renamed", f"def grown(units):\n{indent(CORE, '    ')}\n    return Sum\n")
    rewrite("sums", MADE)
    import_module("sums")
    assert code_record(["sums:far", "sums:Sum"])["code"] == dict.fromkeys(
        ("sums:far", "sums:Sum"), sha256(MADE.encode()).hexdigest()
    )


def test_a_file_that_is_edited_while_a_program_runs_does_not_change_what_it_has_imported(data, capsys):
    import_module("sums")
    before = code_record(["sums:Sum"])
    Path("sums.py").write_text(CORE.replace("0.5", "0.75"))
    assert code_record(["sums:Sum"]) == before
    rewrite("sums", CORE.replace("0.5", "0.75"))
    import_module("sums")
    assert code_record(["sums:Sum"]) != before


@pytest.mark.parametrize("record", [{}, {"code": {}}, {"code": {"others:Sum": "ab12"}}, None])
def test_a_record_that_does_not_tell_is_no_reason(data, capsys, record):
    assert run(f"train {data} --core sums:Sum {LEARNING} --out run") == 0
    assert json.loads(Path("run/run.json").read_text())["code"].keys() == {"sums:Sum"}
    Path("run/run.json").write_text("{" if record is None else json.dumps(record))
    load_run("run")
    assert capsys.readouterr().err.count("has changed") == 0


def test_a_model_that_a_program_saved_tells_too(data, capsys):
    saved = save_model(build(PredictorConfig(core=OwnConfig(source="sums:Sum")), (1, 16, 24)), "mine.safetensors")
    load_run(saved)
    assert not capsys.readouterr().err
    rewrite("sums", CORE.replace("0.5", "0.75"))
    load_run(saved)
    assert "with sums:Sum, has changed since mine.safetensors learned" in capsys.readouterr().err


def test_what_a_program_itself_defines_is_not_told_of(data, monkeypatch, capsys):
    """It changes with the rest of the program, and a notebook has no such file."""
    monkeypatch.setattr(sys.modules["__main__"], "Sum", __import__("sums").Sum, raising=False)
    monkeypatch.setattr(__import__("sums").Sum, "__module__", "__main__")
    saved = save_model(build(PredictorConfig(core=OwnConfig(source="__main__:Sum")), (1, 16, 24)), "mine.safetensors")
    assert "code" not in read_header(saved)[1]
