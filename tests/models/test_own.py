"""Cores from elsewhere, by MODULE:CLASS: what a class must be, and may say; and docs/cores.md, which shows one."""

import json
import re

import numpy as np
import pytest
import torch
from command_line import run
from own_cores import GUIDE, MINE, PLAIN, PROGRAMS
from tiny_runs import tiny_data
from torch import nn

from videopred.checkpoint import load_run
from videopred.models import Layer, build, core_config, reads
from videopred.models.codec_settings import RNEMConfig
from videopred.models.conformance import CHECKS, run_checks
from videopred.models.conformance_ground import FEATURES
from videopred.models.core import READ_TRACES
from videopred.models.own import in_evaluation, own_class
from videopred.models.presets import PRESETS
from videopred.models.settings import OwnConfig, PredictorConfig
from videopred.rendering import FIGURES, ROWS

# --- the guide ---------------------------------------------------------------------------------------------


def test_the_guide_puts_a_core_in_the_place_of_an_lstm(capsys):
    example, trace, _ = PROGRAMS
    assert len(example.splitlines()) <= 30
    names: dict = {}
    exec(example.replace("range(150)", "range(3)"), names)
    assert re.match(r"loss \d\.\d{3}, by chance 1\.099\n", capsys.readouterr().out)
    exec(trace, names)
    assert "active" in capsys.readouterr().out


def test_the_guide_lists_the_presets():
    assert "".join(f"| `{name}` | {preset.summary} |\n" for name, preset in PRESETS.items()) in GUIDE


def test_the_guide_lists_the_traces_that_are_read():
    assert dict(re.findall(r"^\| `(\w+)` \| `(.*)` \| .+ \|$", GUIDE, re.MULTILINE)) == READ_TRACES
    needed = {need for one in (*ROWS.values(), *FIGURES.values()) for need in one.needs}
    of_data = {"positions", "visibility/fraction", "masks of objects"}
    others = {"strips of frames", "an intervention", "active or input_attention"}
    assert needed <= READ_TRACES.keys() | of_data | others


def test_the_guides_own_core_is_checked_and_trained_as_it_says(place, capsys):
    (place / "mycores.py").write_text(MINE)
    tiny_data(place / "datasets" / "balls4.h5")
    check, train = (line.removeprefix("videopred ") for line in re.findall("^videopred .*", GUIDE, re.MULTILINE))
    assert run(check) == 0
    out = capsys.readouterr().out
    assert out.count("passes") == len(CHECKS)
    assert run(f"{train} --codec.channels 2 3 --updates 1 --batch-size 4 --device cpu") == 0
    assert capsys.readouterr().out.startswith(
        "wrote models/balls4-leaky\nnext: videopred evaluate models/balls4-leaky "
    )
    assert load_run(place / "models" / "balls4-leaky").core.units == 100


# --- own cores ---------------------------------------------------------------------------------------------


def test_one_that_only_another_program_defines_is_told_as_that(place):
    message = "core __main__:Leaky must be defined in the program or notebook that uses it, got nothing of that name"
    with pytest.raises(ValueError, match=f"^{message}"):
        own_class(OwnConfig(source="__main__:Leaky"))


ODD = (
    MINE
    + """

class Wide(Leaky):
    def step(self, inputs, state):
        output, state, trace = super().step(inputs, state)
        return torch.cat([output, output], -1), state, trace


class Rowless(Leaky):
    def step(self, inputs, state):
        output, state, trace = super().step(inputs, state)
        return output[:, 0], state, trace


class Untraced(Leaky):
    def step(self, inputs, state):
        return super().step(inputs, state)[:2]


class Silent(Leaky):
    def step(self, inputs, state):
        return *super().step(inputs, state)[:2], None


class Counting(Leaky):
    def initial_state(self, batch, *, generator=None):
        return super().initial_state(batch, generator=generator), 0

    def step(self, inputs, state):
        output, after, trace = super().step(inputs, state[0])
        return output, (after, state[1] + 1), trace
"""
)


@pytest.mark.parametrize(
    ("name", "complaint"),
    {
        "Wide": r"core Wide must return an output \(B, rows, units\), here \(2, 1, 7\), got \(2, 1, 14\); see vid",
        "Rowless": r"core Rowless must return an output \(B, rows, units\), here \(2, 1, 7\), got \(2, 7\); see videop",
        "Untraced": r"core Untraced must return output, state, trace, got 2 values; see videopred/models/core.py and",
        "Silent": r"core Silent must return a dict of tensors as its trace, got NoneType; return {} for none",
        "Counting": r"core Counting must return a state of tensors alone, got int; see videopred/models/core.py and",
    }.items(),
)
def test_a_step_that_gives_something_else_is_one_clear_line_before_anything_is_written(place, capsys, name, complaint):
    (place / "odd.py").write_text(ODD)
    data = tiny_data(place)
    words = (
        f"train {data} --core odd:{name} --core.units 7 --codec.channels 2 3 --updates 2 --batch-size 4 --out odd-run"
    )
    assert run(f"{words} --device cpu") == 2
    assert re.search(complaint, capsys.readouterr().err)
    assert not (place / "odd-run").exists()


def test_a_first_state_without_a_generator_is_named_before_anything_is_written(place):
    (place / "plain.py").write_text(
        "from torch import nn\nclass Core(nn.Module):\n    step = print\n    def initial_state(self, batch): ...\n"
    )
    fix = r"write def initial_state\(self, batch, \*, generator=None\)"
    with pytest.raises(ValueError, match=rf"must take generator in initial_state, got no such argument; {fix}"):
        own_class(OwnConfig(source="plain:Core"))


def test_what_is_built_into_python_is_no_core():
    with pytest.raises(
        ValueError, match=r"^core sys:exit must be a class in sys, got <built-in function exit>; it has "
    ):
        own_class(OwnConfig(source="sys:exit"))


@pytest.mark.parametrize("base", ["nn.Module", "Core"])
def test_a_core_without_settings_that_reads_a_map(place, base):
    (place / "plain.py").write_text("from videopred.models.core import Core\n" + PLAIN.replace("nn.Module", base))
    config = core_config("plain:Plain")
    assert reads(config) == "map"
    model = build(PredictorConfig(core=config, codec=RNEMConfig(channels=(2, 5))), (1, 16, 24))
    assert model.core.inward.in_features == 5 + 16
    assert model(torch.rand(2, 3, 1, 16, 24)).logits.shape == (2, 3, 1, 16, 24)
    again = PredictorConfig.model_validate_json(model.config.model_dump_json())
    assert again == model.config
    assert Layer("plain:Plain", 4)(torch.rand(2, 3, 4))[0].shape == (2, 3, 6)
    assert run("check-core plain:Plain") == 0


def test_what_own_modules_print_does_not_get_between_json(place, capsys):
    talking = PLAIN.replace("super()", 'print("when built"); super()') + 'print("once loaded")\n'
    (place / "plain.py").write_text(talking)
    assert run("check-core plain:Plain --json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)
    assert re.search(r"^when built$", err, re.MULTILINE)
    assert err.count("once loaded") == 1
    assert run("check-core plain:Plain") == 0
    out, err = capsys.readouterr()
    assert "when built" in out
    assert err == ""
    assert run("check-core plain:Plain --json --help") == 0
    assert capsys.readouterr().out.startswith("usage: ")


def test_names_of_traces_without_axes_are_refused(place):
    (place / "plain.py").write_text(PLAIN)
    own_class(OwnConfig(source="plain:Plain")).trace_axes = ["active"]
    with pytest.raises(
        ValueError, match=r"^core plain:Plain must have a dict of axes by name as its trace_axes, got \['"
    ):
        build(PredictorConfig(core=core_config("plain:Plain")), (1, 16, 24))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("state_rows", True, "have a tuple of whole numbers as its state_rows, got True; see videopred/models/core.py"),
        ("state_rows", (2, 1.5), r"have a tuple of whole numbers as its state_rows, got \(2, 1.5\); see"),
        ("schema_count", None, "have a whole number as its schema_count, got None; see"),
        ("schema_count", False, "have a whole number as its schema_count, got False; see"),
    ],
)
def test_modules_and_schemata_that_are_no_numbers_are_refused(place, name, value, message):
    (place / "plain.py").write_text(PLAIN)
    setattr(own_class(OwnConfig(source="plain:Plain")), name, value)
    with pytest.raises(ValueError, match=f"^core plain:Plain must {message}"):
        build(PredictorConfig(core=core_config("plain:Plain")), (1, 16, 24))


def test_a_core_that_says_nothing_of_traces_and_modules_has_none(place, capsys):
    """Of the pictures during training, of own masks and of interventions."""
    (place / "plain.py").write_text(PLAIN)
    data = tiny_data(place)
    learning = "--updates 1 --batch-size 4 --validate-every 1 --pictures-every 1 --device cpu --out run"
    assert run(f"train {data} --core plain:Plain --codec.channels 2 3 {learning}") == 0
    refusals = {
        "evaluate --metrics own-fg-ari": "--metrics must be of masks that a model gives, got own-fg-ari, and model has",
        "render --without 0": "RUN must have modules to silence, freeze or swap, got Plain; take a model with modules",
        "render --figure mask-out": "RUN must have modules to silence, freeze or swap, got Plain; take a model with mo",
        "render --schema 0": "--schema must be left out without schemata, got 0 for Plain; take a model with schemata",
    }
    for command, message in refusals.items():
        name, *flags = command.split()
        capsys.readouterr()
        assert run(f"{name} run {data} {' '.join(flags)} --context 3 --horizon 4 --out {place / 'out'}") == 2
        assert capsys.readouterr().err.startswith(f"videopred: {message}")


def test_flags_of_own_settings_are_shown(place, capsys):
    (place / "mycores.py").write_text(MINE)
    assert run("train --core mycores:Leaky --help") == 0
    out = capsys.readouterr().out
    assert "Width of the state." in out
    assert "--core.units " in out
    assert "--core.active" not in out
    assert Layer("mycores:Leaky", 3, units=5).output_size == 5


@pytest.mark.parametrize(
    ("source", "change", "message"),
    [
        ("broken", ("class Plain", "class Stepping:\n    step = 1\nclass Other"), r"its cores are Other$"),
        ("broken", (PLAIN, ""), r"got nothing of that name; it has no class with initial_state and step$"),
        (
            "broken",
            ("from torch", "1 / 0\nfrom torch"),
            r"must be importable, got ZeroDivisionError: division by zero \(broken.py, line 2\); mend it there$",
        ),
        (
            "broken",
            ("from torch", "raise SystemExit(3)\nfrom torch"),
            r"must be importable, got SystemExit: 3 \(broken.py, line 2\); mend it there$",
        ),
        (
            "broken",
            ("import nn", "import nnn"),
            r"must be importable, got ImportError: cannot import name 'nnn' .* \(broken.py, line 2\); mend it there$",
        ),
        (
            "broken",
            ("class Plain", "import eniops\nclass Plain"),
            r"got ModuleNotFoundError: No module named 'eniops' \(broken.py, line 5\); mend it there$",
        ),
        (
            "broken",
            ("def step(", "def step"),
            r"importable, got SyntaxError: .* \(broken.py, line 15\); mend it there$",
        ),
        (
            "broken.part",
            ("", ""),
            r"importable, got ModuleNotFoundError: No module named 'broken'; run where it lies, or put its folder on",
        ),
        ("broken", ("class Plain", "class Other"), r"must be a class in .*broken.py, got nothing .*; its cores are O"),
        (
            "broken",
            ("class Plain", "from torch import ops\nfrom videopred.models.core import Core\nclass Other"),
            r"got nothing of that name; its cores are Other$",
        ),
        ("broken", ("class Plain", "class Plane"), r"of that name; did you mean Plane\?$"),
        ("broken", ("class Plain", "Plain = 3\nclass Other"), "must be a class in .*, got 3; its cores are Other"),
        (
            "broken",
            ("class Plain(nn.Module)", "Plain = nn.Linear\nclass _(nn.Module)"),
            "must have a method initi",
        ),
        ("broken", ("(nn.Module)", ""), "core broken:Plain must be a torch module, got object; derive it from"),
        ("broken", ("def step", "def move"), "core broken:Plain must have a method step, got none; give it one"),
        ("broken", ("rows, units, reads = 2, 3,", "rows, reads = 2,"), "must have a whole number units, got None; set"),
        ("broken", ("rows, units, reads = 2,", "rows, units, reads = 0,"), "must have a whole number rows, got 0; set"),
        (
            "broken",
            ("rows, units", "settings = 3\n    rows, units"),
            "broken:Plain: settings must be a class of setti",
        ),
        ("broken", ('"map"', '"maps"'), "broken:Plain: reads must be one of vector, map, got maps; did you mean map"),
        ("broken", ('"map"', '"strips"'), "broken:Plain: reads must be one of vector, map, got strips; choose one of"),
    ],
)
def test_what_is_no_core_is_named(place, source, change, message):
    (place / f"{source}.py").write_text(PLAIN.replace(*change))
    with pytest.raises(ValueError, match=message):
        Layer(f"{source}:Plain", 5)


@pytest.mark.parametrize("source", [":Plain", "a.b:", "a b:C", "a:b:c", "/x/y.py:C"])
def test_what_is_no_module_and_class_is_named(source):
    with pytest.raises(ValueError, match=r"--core must be MODULE:CLASS, got .*; write e\.g\. mycores:MyCore for a cla"):
        Layer(source, 5)


@pytest.mark.parametrize("read", ["vector", "map"])
def test_a_setting_may_say_what_it_reads(place, capsys, read):
    printing = MINE.replace("= 0.9 *", "= print(inputs.shape[1]) or 0.9 *")
    (place / "choosing.py").write_text(printing.replace("units: int", 'reads: str = "vector"\n    units: int'))
    assert reads(core_config("choosing:Leaky", reads=read)) == read
    run(f"check-core choosing:Leaky --core.reads {read}")
    assert capsys.readouterr().out.startswith("5\n" if read == "map" else "1\n")


def test_a_setting_without_a_default_is_named_though_its_flag_is_given(place, capsys):
    (place / "requiring.py").write_text(MINE.replace("units: int = 64", "units: int"))
    assert run("check-core requiring:Leaky --core.units 8") == 2
    message = "core requiring:Leaky: settings must have a default for every field, got none for units; give it one"
    assert capsys.readouterr().err.startswith(f"videopred: {message}")
    with pytest.raises(ValueError, match=f"^{message}"):
        Layer("requiring:Leaky", 5, units=8)


def test_a_setting_may_be_a_tuple(place):
    (place / "mycores.py").write_text(
        MINE.replace("units: int = 64", "sizes: tuple[int, ...] = (4, 5)\n    units: int = 64")
    )
    for sizes in ((3, 6), (np.int64(3), 6), np.array([3, 6])):
        config = core_config("mycores:Leaky", sizes=sizes).changed(units=np.int32(8))
        assert config.settings == {"sizes": [3, 6], "units": 8}
        assert [type(size) for size in config.settings["sizes"]] == [int, int]
        assert Layer(config, 5).output_size == 8


@pytest.mark.parametrize("sizes", [{3}, ({3}, 6), {"first": {3}}])
def test_what_json_does_not_have_is_refused_under_the_name_of_its_setting(place, sizes):
    with pytest.raises(ValueError, match=r"^--core.sizes must be numbers, texts, .* got \{3\}; convert it"):
        core_config("mycores:Leaky", sizes=sizes)


@pytest.mark.parametrize(("state", "kind"), [("(zeros, 0)", "int"), ("None", "NoneType")])
def test_a_first_state_that_is_not_of_tensors_is_named(place, state, kind):
    changed = MINE.replace(
        "return self.inward.weight.new_zeros(batch, self.units)",
        f"zeros = self.inward.weight.new_zeros(batch, self.units)\n        return {state}",
    )
    (place / "stateful.py").write_text(changed)
    layer = Layer("stateful:Leaky", 5)
    with pytest.raises(TypeError, match=f"core Leaky must have a first state of tensors alone, got {kind}; see"):
        layer.step(torch.rand(3, 5), layer.initial_state(3))
    found = run_checks(lambda: Layer("stateful:Leaky", FEATURES).core)
    assert found["shapes"] == f"the first state must be of tensors alone, got {kind}"


def test_the_generator_may_be_among_keywords_of_any_name(place):
    (place / "unnamed.py").write_text(MINE.replace("*, generator=None", "**chance"))
    assert "**chance" in (place / "unnamed.py").read_text()
    assert Layer("unnamed:Leaky", 5, units=6).initial_state(3).shape == (3, 6)


def test_what_is_in_evaluation_before_a_trial_is_so_afterwards():
    model = nn.Sequential(nn.Dropout(), nn.BatchNorm1d(3).eval())
    with in_evaluation(model):
        assert not any(part.training for part in model.modules())
    assert [part.training for part in model.modules()] == [True, True, False]


def test_a_step_of_a_layer_that_gives_two_values_is_named(place):
    (place / "twofold.py").write_text(
        MINE.replace("return state.unsqueeze(1), state, {}", "return state.unsqueeze(1), state")
    )
    layer = Layer("twofold:Leaky", 5)
    with pytest.raises(TypeError, match="core Leaky must return output, state, trace, got 2 values; see"):
        layer.step(torch.rand(3, 5), layer.initial_state(3))


def test_a_setting_that_it_does_not_have_is_named(place):
    (place / "mycores.py").write_text(MINE)
    message = (
        "core mycores:Leaky must be given settings that it has, units, got colour; leave it out; a run that has it"
    )
    with pytest.raises(ValueError, match=message):
        Layer("mycores:Leaky", 5, colour="red")
    with pytest.raises(
        ValueError, match=r"^core mycores:Leaky must be given settings that it has, units, got unit; did"
    ):
        core_config("mycores:Leaky", unit=3)
    with pytest.raises(ValueError, match="got unit; did you mean units"):
        Layer("mycores:Leaky", 5, unit=3)
