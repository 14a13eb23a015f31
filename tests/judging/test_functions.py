"""Functions of a user's own that are judged, and a metric that judges: what they are given, and what is refused."""

import numpy as np
import pytest
from made_up_clips import grey
from tiny_runs import tiny_model
from torch import Tensor

from videopred.eval.settings import Protocol
from videopred.judging import judge
from videopred.models import build


def test_a_function_is_asked_one_step_ahead_as_the_trivial_baselines_are(file):
    asked, lengths = Protocol(context=3, horizon=4, feedback="true", metrics=("mse", "f1")), []

    def copy_last(context: Tensor, horizon: int) -> Tensor:
        lengths.append((context.shape[1], horizon))
        return context[:, -1:].expand(-1, horizon, -1, -1, -1)

    scores = judge(copy_last, file, asked, batch_size=8)
    assert lengths[:4] == [(3, 1), (4, 1), (5, 1), (6, 1)]
    for metric in asked.metrics:
        np.testing.assert_array_equal(scores.values["model"][metric], scores.values["copy last"][metric])


def test_a_function_says_for_itself_what_it_feeds_back(file):
    asked = Protocol(context=3, horizon=5, metrics=("mse",))
    assert judge(grey, file, asked).protocol.feedback == "elsewhere"
    with pytest.raises(ValueError, match="feedback must be left out or true for functions, got sample; leave it out"):
        judge(grey, file, asked.model_copy(update={"feedback": "sample"}))


def test_where_films_are_judged_is_named_as_everywhere(file):
    asked = Protocol(context=3, horizon=5, metrics=("mse",))
    assert judge(grey, file, asked, device="auto").mean("model", "mse") > 0
    with pytest.raises(ValueError, match=r"^--device must be a device of this machine, which has .* of kind cuda"):
        judge(grey, file, asked, device="cuda:99")


@pytest.mark.parametrize("feedback", ["soft", "true"])
@pytest.mark.parametrize(("made", "kind"), [(None, "NoneType"), (np.zeros((7, 5, 1, 13, 17)), "ndarray")])
def test_a_prediction_that_is_no_tensor_is_refused(file, made, kind, feedback):
    asked = Protocol(context=3, horizon=5, metrics=("mse",), feedback=feedback)
    with pytest.raises(TypeError, match=rf"prediction of model must be a tensor, got {kind}; make it one, e\.g\. with"):
        judge(lambda *_: made, file, asked)


def test_a_prediction_of_another_length_is_refused(file):
    message = r"prediction of short must have the truth's shape \(7, 5, 1, 13, 17\), got \(7, 4"
    with pytest.raises(ValueError, match=message):
        judge(
            {"mine": grey, "short": lambda context, horizon: grey(context, horizon - 1)},
            file,
            Protocol(context=3, horizon=5),
        )


def test_a_prediction_of_whole_numbers_is_refused(file):
    message = r"prediction of whole must be floating point .*, got torch.int64"
    with pytest.raises(TypeError, match=message):
        judge(
            {"mine": grey, "whole": lambda context, horizon: grey(context, horizon).long()},
            file,
            Protocol(context=3, horizon=5),
        )


@pytest.mark.parametrize("feedback", ["soft", "true"])
def test_a_function_that_writes_into_its_context_changes_no_other_row(file, feedback):
    def writes(context: Tensor, horizon: int) -> Tensor:
        last = context[:, -1:].repeat(1, horizon, 1, 1, 1)
        context.zero_()
        return last

    def reads(context: Tensor, horizon: int) -> Tensor:
        return context[:, -1:].repeat(1, horizon, 1, 1, 1)

    asked = Protocol(context=3, horizon=5, metrics=("mse",), feedback=feedback)
    rows = [judge({"first": one, "second": reads}, file, asked) for one in (reads, writes)]
    assert rows[0].values.keys() == rows[1].values.keys()
    for row in rows[0].values:
        assert rows[0].mean(row, "mse") == rows[1].mean(row, "mse")


def test_a_metric_that_writes_into_films_changes_no_other(file, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "writing_metric.py").write_text(
        "from videopred.eval.metric import Metric\n\n\n"
        "class Halved(Metric):\n"
        "    label, decimals, convention = 'halved', 3, 'half of the error'\n"
        "    range, higher_is_better = (0.0, 1.0), False\n\n"
        "    def measure(self, prediction, truth):\n"
        "        return {'halved': (prediction.mul_(0.5) - truth.mul_(0.5)).abs().mean((2, 3, 4))}\n"
    )
    alone, beside = (
        judge(grey, file, Protocol(context=3, horizon=5, metrics=metrics))
        for metrics in (("mse",), ("writing_metric:Halved", "mse"))
    )
    for row in alone.values:
        assert alone.mean(row, "mse") == beside.mean(row, "mse")


@pytest.mark.parametrize(
    ("predict", "protocol", "message"),
    [
        (
            3,
            Protocol(context=3, horizon=5),
            r"predict of model must be a function of \(context, horizon\), got 3; give",
        ),
        (
            {"gru": build(tiny_model("gru"), (1, 16, 24))},
            Protocol(context=3, horizon=5),
            r"predict of gru must be a function of \(context, horizon\), got a model; score it with videopred.evalu",
        ),
        (
            lambda context, horizon: context,
            {"context": 3},
            r"protocol must be a Protocol, got \{'context': 3\}; make one",
        ),
    ],
)
def test_what_is_no_function_or_no_protocol_is_named(file, predict, protocol, message):
    with pytest.raises(TypeError, match=message):
        judge(predict, file, protocol)


@pytest.mark.parametrize("more", [{"samples": 5}, {"bathc_size": 3}, {"metrics": ("f1",)}])
def test_what_only_a_protocol_can_ask_for_is_not_passed_over(file, more):
    message = rf"^how must be of batch_size, device, notes, progress, reference, share, got {next(iter(more))}; say in"
    with pytest.raises(TypeError, match=message):
        judge(grey, file, Protocol(context=3, horizon=5), **more)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"notes": "by hand"}, r"^notes must be texts in a list or tuple, got 'by hand'; write \('by hand',\)"),
        ({"share": 1}, "^share must be True or False, got 1; choose one of these"),
    ],
)
def test_notes_and_a_share_of_another_kind_are_refused(file, more, message):
    with pytest.raises(TypeError, match=message):
        judge(grey, file, Protocol(context=3, horizon=5), **more)
