"""Losses of one's own: they train like ours, and one that would learn something else is refused before it does."""

import re
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from command_line import run
from tiny_runs import tiny_data, tiny_model, tiny_training
from training_runs import UNDRAWN, assert_same, everything_of, stop_after, weights

from videopred.settings import TrainingConfig
from videopred.training.losses import as_logged, loss_between
from videopred.training.own_loss import own_loss, try_out
from videopred.training.run import resume, train

LOSSES = textwrap.dedent(
    """
    import torch
    from torch.nn import functional

    SEEN = []
    def squared(logits, truth):
        SEEN.append((logits.dtype, truth.dtype, torch.get_default_dtype(), *logits.shape))
        return (logits.sigmoid() - truth) ** 2
    def of_frames(logits, truth):
        return squared(logits, truth).mean((1, 2, 3), keepdim=True).expand_as(truth)
    def pooled(logits, truth):
        return functional.avg_pool2d(squared(logits, truth), 3, 1, 1)
    def mean(logits, truth):
        return squared(logits, truth).mean()
    def number(logits, truth):
        return 0.5
    def of_others(logits, truth):
        return squared(logits, truth) + 0.1 * squared(logits, truth).mean(0)
    def drawn(logits, truth):
        return squared(logits, truth) * torch.rand_like(truth)
    def flat(logits, truth):
        return squared(logits, truth).flatten(1)
    def of_waves(logits, truth):
        return torch.fft.fft2(logits.sigmoid() - truth)
    def bce(logits, truth):
        return functional.binary_cross_entropy(logits.sigmoid(), truth, reduction="none")
    def smooth(logits, truth):
        window = torch.arange(1.0, 4.0)
        kernel = (window / window.sum())[None, None, None].to(logits)
        return functional.conv2d((logits.sigmoid() - truth) ** 2, kernel, padding=(0, 1))
    def of_lit(logits, truth):
        return WEIGHT * ((logits > 0).float() - truth) ** 2
    def in_place(logits, truth):
        truth -= logits.sigmoid()
        return truth**2
    def in_place_too(logits, truth):
        return (logits.sigmoid_() - truth) ** 2
    def with_slope(logits, truth):
        (slope,) = torch.autograd.grad(logits.sigmoid().sum(), logits, create_graph=True)
        return squared(logits, truth) + slope**2
    def root(logits, truth):
        return (logits - logits.detach()).abs().sqrt() + squared(logits, truth)
    def rounded(logits, truth):
        return squared(logits, truth).bfloat16()
    hypot = torch.hypot
    def of_three(logits, truth, gamma):
        return gamma * squared(logits, truth)
    def nowhere(logits, truth):
        return squared(logits, truth) * float("nan")
    WEIGHT = torch.ones(1, requires_grad=True)
    def cut(logits, truth):
        return squared(logits.detach(), truth)
    def unbounded(logits, truth):
        return squared(logits, truth) - torch.log(0.0 * logits)
    def raising(logits, truth):
        return logits / undefined
    class Kind:
        pass
    A_NUMBER = 3
    """
)
SHAPE = (1, 24, 32)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    """A folder with a module of its own name, as modules are imported once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{name_of(tmp_path)}.py").write_text(LOSSES)
    return tmp_path


def name_of(place: Path) -> str:
    return f"losses_of_{place.name}"


def tiny(place: Path, name: str, **changes: object) -> TrainingConfig:
    return tiny_training(loss=f"{name_of(place)}:{name}", **changes)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_one_like_ours_gives_the_same_run(place, reduction):
    data, how = tiny_data(place), {"reduction": reduction, "updates": 3, "free_running": 2}
    for loss in (f"{name_of(place)}:squared", "mse"):
        out = loss.rpartition(":")[2]
        train(data, tiny_model(), tiny_training(loss=loss, **how), watch=UNDRAWN, out=out, device="cpu")
    for name, value in weights(Path("mse")).items():
        assert torch.allclose(weights(Path("squared"))[name], value, atol=1e-6), name
    mine, ours = ([[*row.items()] for row in everything_of(Path(run))["metrics"]] for run in ("squared", "mse"))
    assert len(mine) == len(ours)
    for row, other in zip(mine, ours, strict=True):
        assert [name.replace("squared", "mse") for name, _ in row] == [name for name, _ in other]
        assert [float(value) for _, value in row] == pytest.approx([float(value) for _, value in other], rel=1e-4)


@pytest.mark.parametrize("precision", ["bf16-mixed", "bf16-true", "64-true"])
@pytest.mark.parametrize("name", ["smooth", "bce"])
def test_whatever_the_precision_of_a_training_a_loss_is_computed_in_32_bits_at_least(place, name, precision):
    """What it makes itself, and by operations for which autocast takes fewer."""
    training = tiny(place, name, precision=precision)
    dtype = torch.float64 if precision == "64-true" else torch.float32
    logits, truth = torch.randn(2, 3, *SHAPE, dtype=dtype), torch.rand(2, 3, *SHAPE, dtype=dtype)
    usual, before = loss_between(tiny(place, name), logits, truth, "none"), torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.bfloat16 if precision == "bf16-true" else dtype)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16-mixed"):
            each = loss_between(training, logits, truth, "none")
            assert loss_between(training, logits, truth).item() == each.mean().item()
            try_out(training, SHAPE, torch.device("cpu"))
    finally:
        torch.set_default_dtype(before)
    assert each.dtype == dtype
    assert torch.allclose(each, usual, rtol=1e-6)


@pytest.mark.parametrize(("kind", "least"), [(torch.bfloat16, torch.float32), (torch.float64, torch.float64)])
def test_it_is_given_frames_in_at_least_32_bits(place, kind, least):
    training, frames = tiny(place, "squared"), torch.rand(2, 3, *SHAPE).to(kind)
    seen = own_loss(training.loss).__globals__["SEEN"]
    each = loss_between(training, frames, frames, "none")
    assert each.shape == frames.shape
    assert seen == [(least, least, least, 6, *SHAPE)]
    assert loss_between(training, frames, frames).item() == pytest.approx(each.mean().item())
    assert loss_between(tiny(place, "rounded"), frames, frames).dtype == torch.float32
    try_out(tiny(place, "squared", precision="64-true"), SHAPE, torch.device("cpu"))
    assert seen[-1][0] == torch.float64


def test_losses_of_whole_frames_and_of_neighbours_are_taken(place):
    logits, truth = torch.randn(2, 3, *SHAPE), torch.rand(2, 3, *SHAPE)
    squared = loss_between(tiny(place, "squared"), logits, truth, "none")
    for name in ("of_frames", "pooled", "nowhere", "hypot"):
        try_out(tiny(place, name), SHAPE, torch.device("cpu"))
    found = loss_between(tiny(place, "of_frames"), logits, truth, "none")
    assert torch.allclose(found, squared.mean((2, 3, 4), keepdim=True).expand_as(squared))


def test_logs_have_its_mean_however_it_is_summed(place):
    assert as_logged(tiny(place, "bce"), torch.tensor(0.5), 768) == 0.5
    assert as_logged(tiny(place, "squared", reduction="sum"), torch.tensor(384.0), 768) == 0.5


def test_a_stopped_training_goes_on_bit_for_bit(place, monkeypatch):
    data, training = tiny_data(place), tiny(place, "pooled", updates=4, noise=0.1)
    whole = train(data, tiny_model("rims"), training, watch=UNDRAWN, out="whole", device="cpu")
    stop_after(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        train(data, tiny_model("rims"), training, watch=UNDRAWN, out="parts", device="cpu")
    stop_after(monkeypatch, 0)
    assert_same(everything_of(resume("parts", device="cpu")), everything_of(whole))


def test_commands_name_it_and_judge_without_it(place, capsys, monkeypatch):
    data, name = tiny_data(place), name_of(place)
    assert run(f"train {data} --loss {name}:pooled --updates 1 --batch-size 4 --device cpu --out mine") == 0
    assert run("runs mine") == 0
    assert f"{name}:pooled 0." in capsys.readouterr().out
    (place / f"{name}.py").unlink()
    monkeypatch.delitem(sys.modules, name)
    assert run(f"evaluate mine {data} --context 4 --horizon 3 --metrics mse") == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mean", r"must return a tensor of the shape of its logits, \(3, 1, 24, 32\), got \(\); return losses before"),
        ("number", r"must return a tensor of the shape of its logits, \(3, 1, 24, 32\), got float; return losses bef"),
        ("of_others", "must be the same for each frame alone, got others for 3 frames at once; average over the val"),
        ("drawn", "must be the same for each frame alone, got others for 3 frames at once; .* draw nothing"),
        (
            "flat",
            r"must return a tensor of the shape of its logits, \(3, 1, 24, 32\), got \(3, 768\); return",
        ),
        ("of_waves", r"must return floating point numbers, got torch\.complex64; return what is lower where a pre"),
        ("of_lit", "must depend on the logits, got what has no gradient; compute it by operations of torch"),
        ("in_place", "must leave the truth as it is, got a change; copy it before"),
        ("in_place_too", "must be the same for each frame alone, .* change neither logits nor truth in place"),
        ("with_slope", r"must raise no error, got RuntimeError: element 0 of tensors does not require grad .*losses_"),
        (
            "root",
            r"got a gradient of norm nan at update 1, first in .*; make losses_of_\w+:root finite, and its gradient",
        ),
        ("of_three", r"must take logits and truth, got other arguments; write it as def NAME\(logits, truth\)"),
        ("cut", "must depend on the logits, got what has no gradient; compute it by operations of torch"),
        ("raising", r"must raise no error, got NameError: name 'undefined' is not defined \(losses_of_\w+\.py, line "),
        ("unbounded", r"got inf at update 1, first in the loss itself; make losses_of_\w+:unbounded finite"),
        ("squarred", "must be a function, got nothing of that name; did you mean squared?"),
        ("Kind", r"must be a function, got <class .*Kind.*>; the functions there are squared, of_frames, "),
        ("A_NUMBER", "must be a function, got 3"),
    ],
)
def test_what_is_no_loss_is_one_clear_line(place, name, said, capsys):
    data = tiny_data(place)
    assert run(f"train {data} --loss {name_of(place)}:{name} --updates 1 --batch-size 4 --device cpu --out mine") != 0
    (*_, told) = capsys.readouterr().err.splitlines()
    assert re.search(said, told), told
    assert Path("mine").exists() == (name in ("unbounded", "root"))


def test_a_module_that_is_gone_is_told_before_a_resume_changes_anything(place, monkeypatch, capsys):
    data, name = tiny_data(place), name_of(place)
    stop_after(monkeypatch, 1)
    assert run(f"train {data} --loss {name}:squared --updates 2 --batch-size 4 --device cpu --out mine") == 130
    stop_after(monkeypatch, 0)
    before = Path("mine/run.json").read_bytes()
    (place / f"{name}.py").unlink()
    monkeypatch.delitem(sys.modules, name)
    assert run("train --resume mine") != 0
    assert f"loss {name}:squared must be importable" in capsys.readouterr().err
    assert Path("mine/run.json").read_bytes() == before


def test_a_module_may_be_one_of_a_package():
    assert TrainingConfig(loss="pkg.sub.mod:focal").loss_name == "focal"


@pytest.mark.parametrize("loss", ["l1", "bec", "a:b:c", ":focal", ".losses:focal", "my-losses:focal", "losses.py:"])
def test_other_names_are_refused(loss):
    with pytest.raises(ValueError, match="--loss must be one of bce, mse, gaussian, MODULE:FUNCTION, got"):
        TrainingConfig(loss=loss)


def test_a_deviation_is_of_the_gaussian_alone(place):
    with pytest.raises(ValueError, match="--deviation must come with --loss gaussian"):
        tiny(place, "squared", deviation=0.2)
