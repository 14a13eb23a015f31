"""`videopred check-core`: what it says of a core that fails, raises or cannot be built."""

import re
import sys

import known_bad_cores
import pytest
import torch
from command_line import run
from own_cores import PLAIN
from tiny_runs import tiny_data

from videopred.models.conformance import CHECKS, run_checks
from videopred.models.conformance_ground import FEATURES, mixed, prepared, same


def test_a_core_that_fails_is_told_why_one_line_per_check(place, capsys):
    mixes = PLAIN.replace("self.inward(inputs.mean(1))", "self.inward(inputs.mean(1)) - state.mean(0)")
    (place / "mixing.py").write_text(mixes)
    assert run("check-core mixing:Plain") == 1
    out, err = capsys.readouterr()
    lines = dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in out.splitlines())
    assert list(lines) == [check.__name__.replace("_", " ") for check in CHECKS]
    assert re.match(
        "a clip must give the same alone as in a batch, in evaluation; they differ by ", lines.pop("clips do not mix")
    )
    assert set(lines.values()) == {"passes"}
    assert err == (
        f"videopred: core mixing:Plain must pass every check, got 1 of {len(CHECKS)} failed; "
        "fix them from the top down; videopred/models/core.py says what a core must do\n"
    )


def test_a_core_of_ours_with_a_setting_that_takes_away_what_is_looked_for_says_where_that_is_told(capsys):
    assert run("check-core scoff --core.files 1") == 1
    told = capsys.readouterr()
    assert "a gradient must reach every parameter, got none for input_query.weight" in told.out
    assert "give other settings; docs/cores.md says which take away what a check looks for" in told.err


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (torch.ones(2, 1), r"it holds; shapes \[\(2, 3\)\] and \[\(2, 1\)\]"),
        (torch.full((2, 3), torch.nan), "it holds; they differ by nan"),
        (torch.ones(2, 3).double() + 2e-9, "it holds; they differ by 2e-09"),
    ],
    ids=["shape", "nan", "rounding"],
)
def test_the_same_is_of_one_shape_and_equal_numbers(other, told):
    same(torch.ones(2, 3), torch.ones(2, 3).double() + 2e-11, "it holds")
    with pytest.raises(AssertionError, match=f"^{told}$"):
        same(torch.ones(2, 3), other, "it holds")


def test_no_two_values_cancel_where_all_are_mixed():
    values = torch.eye(3, 5).double()
    assert mixed(values) != mixed(values.roll(1, 0))


def test_a_core_is_looked_at_as_it_predicts():
    assert not any(module.training for module in prepared(torch.nn.Sequential(torch.nn.Dropout())).modules())


def test_precision_is_looked_at_before_all_is_made_double():
    found = run_checks(known_bad_cores.OfTwoPrecisions)["is_of_one_precision"]
    assert found.endswith("must be of one precision, torch.float64; there is decay of torch.float32")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("inputs.mean(1) @ inputs", r"it raised RuntimeError: .+ \(raising.py, line \d+\)$"),
        ("{}[3]", r"it raised KeyError: 3 \(raising.py, line \d+\)$"),
    ],
)
def test_a_core_that_raises_is_a_core_that_fails(place, wrong, reason):
    (place / "raising.py").write_text(PLAIN.replace("inputs.mean(1)", wrong))
    import raising

    found = run_checks(lambda: raising.Plain(FEATURES))
    assert re.match(reason, found["shapes"])
    assert found["initial_state_repeats"] == ""
    assert re.match(reason, found["step_compiles_whole"])
    number = int(re.search(r"line (\d+)", found["shapes"])[1])
    assert wrong in (place / "raising.py").read_text().splitlines()[number - 1]


@pytest.mark.parametrize(
    ("change", "said", "status"),
    [
        (
            ("__init__(self, features", "__init__(self, features, width"),
            "core unbuilt:Plain must be built, got TypeErr",
            1,
        ),
        (
            ("super().__init__()", "super().__init__(); {}[3]"),
            r"core unbuilt:Plain must be built, got KeyError: 3 \(un.*, lin",
            1,
        ),
        (("rows, units, reads = 2,", "rows, units, reads = 0,"), "core unbuilt:Plain must have a whole number rows", 2),
    ],
)
def test_a_core_that_cannot_be_built_is_told_so_once(place, capsys, monkeypatch, change, said, status):
    assert change[0] in PLAIN
    (place / "unbuilt.py").write_text(PLAIN.replace(*change))
    monkeypatch.delitem(sys.modules, "unbuilt", raising=False)
    data = tiny_data(place)
    capsys.readouterr()
    for words in ("check-core unbuilt:Plain", f"train {data} --batch-size 4 --core unbuilt:Plain --codec.channels 2 3"):
        assert run(words) == status
        out, err = capsys.readouterr()
        assert not out
        assert re.match(rf"videopred: {said}.*\n$", err)
