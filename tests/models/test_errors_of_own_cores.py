"""Errors of a user's own core in a command: one line that names the place, unless its author raised it for the user."""

import pytest
import torch
from command_line import run
from tiny_runs import tiny_data

from videopred.checkpoint import load_run
from videopred.export import export_run

CORE = """\
import torch
from torch import nn

from videopred import check
from videopred.models.settings import CoreSettings


class Settings(CoreSettings):
    units: int = 3


class Mine(nn.Module):
    settings = Settings

    def __init__(self, settings, features):
        super().__init__()
        {built}
        self.rows, self.units = 1, settings.units
        self.inward = nn.Linear(features, settings.units)

    def initial_state(self, batch, *, generator=None):
        return self.inward.weight.new_zeros(batch, self.units)

    def step(self, inputs, state):
        {stepped}
        state = torch.tanh(state + self.inward(inputs.mean(1)))
        return state.unsqueeze(1), state, {{}}
"""


@pytest.fixture
def train(place, capfd):
    """Train the core with these lines in it; gives the status and what was said last."""

    def trained(built: str = "pass", stepped: str = "pass") -> tuple[int, str]:
        (place / "mine.py").write_text(CORE.format(built=built, stepped=stepped))
        data = tiny_data(place)
        capfd.readouterr()
        status = run(f"train {data} --core mine:Mine --codec.channels 2 3 --updates 1 --batch-size 4 --device cpu")
        return status, capfd.readouterr().err.splitlines()[-1]

    return trained


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("batch, width = inputs.shape", "ValueError: too many values to unpack (expected 2)"),
        ("open('nowhere')", "FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'"),
        ("{}['gate']", "KeyError: 'gate'"),
        ("inputs + inputs.new_ones(7, 8)", "RuntimeError: The size of tensor a ("),
    ],
)
def test_an_error_in_a_step_is_told_with_its_place(line, told, train):
    status, said = train(stepped=line)
    assert status == 1
    assert said.startswith(f"videopred: mine.py must raise no error, got {told}")
    assert said.endswith(" (mine.py, line 25); mend it there; VIDEOPRED_TRACEBACK=1 shows every call")


def test_an_error_in_a_folder_of_modules_is_told_too(place, capfd):
    """It has no __init__.py, and so Python says of no file that it is."""
    (place / "mycode").mkdir()
    (place / "mycode" / "inner.py").write_text(CORE.format(built="pass", stepped="{}['gate']"))
    data = tiny_data(place)
    capfd.readouterr()
    words = "--core mycode.inner:Mine --codec.channels 2 3 --updates 1 --batch-size 4 --device cpu"
    assert run(f"train {data} {words}") == 1
    assert capfd.readouterr().err.splitlines()[-1].startswith("videopred: inner.py must raise no error, got KeyError")


def test_an_output_of_another_precision_is_told_before_anything_is_written(train):
    status, said = train(built="self.register_buffer('decay', torch.linspace(0, 1, settings.units).double())",
                         stepped="state = self.decay * state")  # fmt: skip
    told = (
        "videopred: core Mine must return an output of torch.float32, as its parameters are, got torch.float64; convert"
    )
    assert (status, said[: len(told)]) == (2, told)


@pytest.mark.parametrize(
    ("built", "stepped", "told"),
    [
        ("pass", "state.mul_(0.5).add_(self.inward(inputs.mean(1))); return state[:, None], state, {}",
         "know nothing of later frames, got another output for a film that goes on; write into no tensor in place in "
         "its step; `videopred check-core mine:Mine` tells more"),
        ("self.more = [nn.Linear(3, 3)]", "state = self.more[0](state)",
         "give the same once its saved weights are loaded, got another result, as of weights that are not saved"),
        ("self.scale = torch.rand(3)", "inputs = inputs * self.scale.sum()", "give the same once its saved weights"),
        ("pass", "self.late = getattr(self, 'late', None) or nn.Linear(3, 3); state = self.late(state)",
         "have all its weights from __init__ on, got core.late.bias, core.late.weight later; make its layers there"),
        ("pass", "state = state + state.mean(0)", "take each clip by itself, got another output for a clip alone"),
        ("self.register_buffer('last', torch.zeros(1, 3))", "self.last = state.detach()",
         "keep the shapes that its weights have from __init__ on, got another of core.last; what a core"),
        ("pass", "state = state + __import__('random').random()",
         "give the same for the same film, got another result the second time; keep nothing on self"),
        ("self.seen = 0", "self.seen += 1; state = state + self.seen",
         "give the same for the same film, got another result the second time; keep nothing on self"),
    ],
)  # fmt: skip
def test_what_would_be_wrong_in_silence_is_told_before_anything_is_written(built, stepped, told, train, place):
    status, said = train(built=built, stepped=stepped)
    whole = f"videopred: core mine:Mine must {told}"
    assert (status, said[: len(whole)]) == (2, whole)
    assert not (place / "models").exists()


@pytest.mark.parametrize("stepped", ["state = state + torch.rand(3)", "state = state + 0.1 * torch.randn_like(state)"])
def test_a_core_that_draws_in_evaluation_trains(stepped, train):
    """As SCOFF may: nothing of it can be compared."""
    assert train(stepped=stepped)[0] == 0


def test_a_trace_that_is_no_tensor_is_told(train, place):
    status, said = train(stepped="return state[:, None], state, {'active': 1.0, 'gate': state}")
    told = "videopred: trace must be of tensors alone, got active of float; trace torch.as_tensor(…)"
    assert (status, said[: len(told)]) == (2, told)
    assert not (place / "models").exists()


@pytest.mark.parametrize(
    ("traced", "told"),
    [
        ("{'active': state[:, None]}", "trace active as (B, K) with K = 1, got (2, 1, 3); see docs/cores.md"),
        ("{'active': state}", "trace active as (B, K) with K = 1, got (2, 3)"),
        (
            "{'comm_attention': state[:, None, None]}",
            "trace comm_attention as (B, heads, K, K) with K = 1, got (2, 1, 1, 3)",
        ),
        ("{'layer0.active': state[:, None]}", "trace layer0.active as (B, K), got (2, 1, 3)"),
    ],
)
def test_a_trace_that_pictures_would_misread_is_told(traced, told, train, place):
    status, said = train(stepped=f"return state[:, None], state, {traced}")
    whole = f"videopred: core mine:Mine must {told}"
    assert (status, said[: len(whole)]) == (2, whole)
    assert not (place / "models").exists()


@pytest.mark.parametrize(
    "traced", ["{'layer0.active': state, 'gate': state}", "{'input_attention': state[:, None, None]}"]
)
def test_a_trace_that_fits_trains(traced, train):
    """A layer has modules of its own, the slots are as many as they are, and other names may be anything."""
    assert train(stepped=f"return state[:, None], state, {traced}")[0] == 0


MASK = "self.register_buffer('causal', torch.full((4, 4), -torch.inf).triu(1){})"


def test_a_mask_that_is_not_saved_hinders_nobody(train):
    assert train(built=MASK.format(", persistent=False"))[0] == 0


def test_what_no_command_would_take_is_not_saved(train, place):
    """Weights that are not finite are refused, as those of a training that failed."""
    status, said = train(built=MASK.format(""))
    told = (
        "videopred: model must save tensors of finite numbers alone, got core.causal; draw finite parameters, register"
    )
    assert (status, said[: len(told)]) == (2, told)
    assert not (place / "models").exists()


def test_complex_numbers_stay_what_they_are(train, place):
    """Such as those that turn, as in rotary embeddings."""
    turn = "self.register_buffer('turn', torch.polar(torch.ones(3), torch.tensor([0.2, 0.3, 0.5])))"
    assert train(built=turn, stepped="state = (self.turn * state).real")[0] == 0
    run = place / "models" / "balls4-mine"
    for core in (load_run(run).core, load_run(export_run(run)).core):
        torch.testing.assert_close(core.turn, torch.polar(torch.ones(3), torch.tensor([0.2, 0.3, 0.5])))
        assert core.inward.weight.dtype == torch.float32


def test_whole_numbers_and_bools_come_home_from_an_export(train, place):
    """Such as those that a normalization counts."""
    built = "self.norm = nn.BatchNorm1d(3); self.register_buffer('known', torch.tensor([True, False]))"
    assert train(built=built, stepped="self.norm(inputs.mean((1, 2))[:, None].expand(-1, 3))")[0] == 0
    core = load_run(export_run(place / "models" / "balls4-mine")).core
    assert (core.norm.num_batches_tracked.dtype, core.known.tolist()) == (torch.int64, [True, False])


def test_what_a_library_says_is_not_taken_for_the_authors_words(train):
    status, said = train(built="raise ValueError(__import__('json').loads('x'))")
    assert status == 1
    assert said.startswith("videopred: mine.py must raise no error, got JSONDecodeError: Expecting value")


@pytest.mark.parametrize("line", ["raise ValueError", "if settings.units % 2: raise ValueError"])
def test_what_a_core_says_itself_of_its_settings_stays_and_has_its_place(line, train):
    status, said = train(built=f"{line}(f'units must be even, got {{settings.units}}')")
    assert (status, said) == (2, "videopred: units must be even, got 3 (mine.py, line 17)")


def test_a_complaint_of_ours_that_a_core_asks_for_stays_as_it_is(train):
    status, said = train(built="check.require(settings.units % 2 == 0, 'units', 'be even', settings.units, 'take 4')")
    assert (status, said) == (2, "videopred: units must be even, got 3; take 4")


def test_lack_of_memory_is_not_a_fault_of_a_core(train):
    status, said = train(stepped="torch.empty(2**50)")
    assert status == 1
    assert said.startswith("videopred: memory must be enough for the model")
