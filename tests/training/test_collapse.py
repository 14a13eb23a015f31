"""Numbers that show collapse, on traces made by hand and on those of every core."""

import math

import pytest
import torch
from tiny_runs import FRAMES, HEIGHT, WIDTH, tiny_model

from videopred.models import CORES, build
from videopred.training.collapse import collapse


def active(*counts: int, steps: int = 12) -> torch.Tensor:
    """(1, steps, K) bool: module k is active at the first counts[k] steps."""
    return torch.stack([torch.arange(steps) < count for count in counts], 1).unsqueeze(0)


@pytest.mark.parametrize(
    ("counts", "entropy", "dead"),
    [
        ((4, 4, 4), 1.0, 0),
        ((12, 12, 12), 1.0, 0),
        ((0, 12, 0), 0.0, 2),
        ((6, 6, 0, 0), 0.5, 2),  # two equal of four: log 2 / log 4
        ((9, 3), (0.75 * math.log(4 / 3) + 0.25 * math.log(4)) / math.log(2), 0),
        ((0, 0, 0), 0.0, 3),
        ((5,), 1.0, 0),
    ],
)
def test_usage_of_modules(counts, entropy, dead):
    found = collapse({"active": active(*counts)})
    assert found == {"modules/usage_entropy": pytest.approx(entropy, abs=1e-12), "modules/dead": dead}


def test_where_no_file_has_a_schema_none_is_used():
    found = collapse({"schema": torch.full((2, 3, 4), -1)}, schemata=2)
    assert (found["schemata/dead"], found["schemata/usage_0"], found["schemata/usage_1"]) == (2, 0, 0)


def test_usage_is_over_clips_and_steps():
    """Each of two modules is active in one clip only."""
    trace = torch.cat([active(12, 0), active(0, 12)])
    assert collapse({"active": trace}) == {"modules/usage_entropy": pytest.approx(1), "modules/dead": 0}


def test_usage_of_schemata():
    schema = torch.tensor([[[0, 2], [0, 0], [2, 0], [-1, -1]]])  # four times 0, twice 2; at the last step none
    found = collapse({"schema": schema}, schemata=4)
    shares = {"schemata/usage_0": 4 / 6, "schemata/usage_1": 0, "schemata/usage_2": 2 / 6, "schemata/usage_3": 0}
    entropy = (4 / 6 * math.log(6 / 4) + 2 / 6 * math.log(3)) / math.log(4)
    expected = {"schemata/usage_entropy": entropy, "schemata/dead": 2} | shares
    assert found == {name: pytest.approx(value) for name, value in expected.items()}


def test_where_nobody_knows_how_many_schemata_there_are_only_shares_are_told():
    """As of a core of one's own; also where none was used."""
    assert collapse({"schema": torch.tensor([[[0, 0, 2]]])}) == {
        "schemata/usage_0": pytest.approx(2 / 3), "schemata/usage_1": 0, "schemata/usage_2": pytest.approx(1 / 3)
    }  # fmt: skip
    assert collapse({"schema": torch.full((1, 2, 3), -1)}) == {}


def test_attention_is_averaged_and_layers_keep_their_names():
    trace = {
        "layer0.null_attention": torch.tensor([[[0.25, 0.5], [0.75, 0.5]]]),
        "layer1.top_down": torch.tensor([[[0.5, 0.25, 0.0]]]),
        "layer1.active": active(3, 0),
        "input_attention": torch.rand(1, 2, 3, 4, 5),
    }
    assert collapse(trace) == {
        "layer0.modules/null_attention": 0.5,
        "layer1.modules/top_down": 0.25,
        "layer1.modules/usage_entropy": 0.0,
        "layer1.modules/dead": 1.0,
    }


def test_half_precision_is_averaged_exactly():
    assert collapse({"top_down": torch.full((9, 50, 30), 0.1, dtype=torch.bfloat16)})["modules/top_down"] == (
        pytest.approx(torch.tensor(0.1, dtype=torch.bfloat16).item(), abs=1e-12)
    )


class OnApplesGPU(torch.Tensor):
    """A tensor that has no float64 where it is."""

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        if function is torch.Tensor.cpu:
            return arguments[0].as_subclass(torch.Tensor)
        assert function is not torch.Tensor.double
        return super().__torch_function__(function, types, arguments, keywords)


def test_nothing_is_asked_of_a_device_that_it_may_lack():
    trace = {"active": active(3, 0), "top_down": torch.rand(1, 2, 3), "schema": torch.tensor([[[0, 2]]])}
    there = {name: values.as_subclass(OnApplesGPU) for name, values in trace.items()}
    assert collapse(there, schemata=4) == collapse(trace, schemata=4)


SHOWN = {
    "rims": {"modules/usage_entropy", "modules/dead", "modules/null_attention"},
    "scoff": {"schemata/usage_entropy", "schemata/dead", "schemata/usage_0", "schemata/usage_1"},
    "brims": {
        f"layer{level}.modules/{name}" for level in (0, 1) for name in ("usage_entropy", "dead", "null_attention")
    }
    | {"layer0.modules/top_down"},
    "gru": set(),
    "lstm": set(),
}


@pytest.mark.parametrize("core", CORES)
def test_what_each_core_shows(core):
    predictor = build(tiny_model(core), (1, HEIGHT, WIDTH)).eval()
    with torch.no_grad():
        trace = predictor(torch.rand(2, FRAMES, 1, HEIGHT, WIDTH), trace=True).trace
    found = collapse(trace, getattr(tiny_model(core).core, "schemata", 0))
    assert core not in SHOWN or set(found) == SHOWN[core]
    for name, value in found.items():
        assert 0 <= value <= (10 if name.endswith("dead") else 1), name
