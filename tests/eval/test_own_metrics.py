"""Metrics from elsewhere: named by MODULE:CLASS, refused where they are none, kept with their scores."""

import json
import pickle
import re
import sys
from pathlib import Path

import pytest
import torch
from own_metrics import SOURCE
from tiny_runs import tiny_data, tiny_model

from videopred.check import FailedError
from videopred.datasets import open_dataset
from videopred.eval import make_metric, read_metric_settings
from videopred.eval.saved_scores import load_scores
from videopred.eval.settings import Protocol
from videopred.judging import judge
from videopred.judging.choosing import clip_scores
from videopred.models import build


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    """The current folder, in which `mine.py` is found as the command line finds it: there alone, and last."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    (tmp_path / "mine.py").write_text(SOURCE)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    yield tmp_path
    sys.modules.pop("mine", None)


def half(context: torch.Tensor, horizon: int) -> torch.Tensor:
    """Says one half of every pixel, which is as wrong everywhere where films are black and white."""
    return torch.full_like(context[:, :1], 0.5).expand(-1, horizon, -1, -1, -1)


def judged(place: Path, *metrics: str, settings: tuple[str, ...] = ()):
    """Scores on five clips, in batches of three and two."""
    asked = Protocol(context=3, horizon=4, metrics=metrics, metric_settings=settings)
    return judge(half, open_dataset(tiny_data(place / "balls.h5")), asked, batch_size=3)


def test_it_is_scored_by_its_address_with_its_settings_and_is_there_again_from_a_file(place):
    scores = judged(place, "mae", "mine:Power", settings=("mine:Power.power=3",))
    assert list(scores.metrics) == ["mae", "mine:Power"]
    assert scores.mean("model", "mae") == pytest.approx(0.5)
    assert scores.mean("model", "mine:Power") == pytest.approx(0.125)
    assert scores.label("mine:Power") == "power"
    scores.save(place / "kept")
    again = load_scores(place / "kept")
    assert again.table() == scores.table()
    assert "power  to the power of 3.0" in again.table()
    assert pickle.loads(pickle.dumps(scores)).table() == scores.table()  # as they come from another process


def test_two_of_them_measure_under_names_of_their_own(place):
    scores = judged(place, "mine:Writing", "mine:Power", settings=("mine:Power.power=3",))
    assert [scores.mean("model", name) for name in scores.metrics] == pytest.approx([0.5, 0.125])


def test_a_range_may_have_no_ends_and_what_is_rounded_may_leave_it(place):
    assert judged(place, "mine:Rounded").mean("model", "mine:Rounded") == pytest.approx(-2e-5)
    file = open_dataset(place / "balls.h5")
    asked = Protocol(context=3, horizon=4, metrics=("mine:Bias",))
    dark = file.read_frames("test", 0, 5)[:, 3:7].mean() / 255
    assert judge(half, file, asked).mean("model", "mine:Bias") == pytest.approx(0.5 - dark)


def test_scores_of_a_metric_that_now_is_better_the_other_way_are_not_read(place, monkeypatch):
    judged(place, "mine:Power").save(place / "kept")
    monkeypatch.setattr(sys.modules["mine"].Power, "higher_is_better", True)
    with pytest.raises(ValueError, match="mine:Power of which lower is better; here higher is"):
        load_scores(place / "kept")


def test_scores_tell_that_the_code_of_a_metric_has_changed(place, capsys):
    judged(place, "mae", "mine:Power").save(place / "kept")
    load_scores(place / "kept")
    assert not capsys.readouterr().err
    (place / "mine.py").write_text(SOURCE.replace(".abs().pow(", ".pow("))
    sys.modules.pop("mine")
    again = load_scores(place / "kept")
    told = f"{place / 'mine.py'}, with mine:Power, has changed since {place / 'kept'} was scored; results may be others"
    assert capsys.readouterr().err == f"videopred: {told}\n"
    again.only(["mine:Power"]).save(place / "again")
    load_scores(place / "again")
    assert "mine:Power, has changed since" in capsys.readouterr().err, "by whose code as it is now nothing was scored"
    (place / "balls.h5").unlink()
    judged(place, "mae").save(place / "ours")
    assert "code" not in json.loads((place / "ours" / "scores.json").read_text())


def test_two_metrics_that_tables_would_show_as_one_are_refused(place, monkeypatch):
    make_metric("mine:Power")
    monkeypatch.setattr(sys.modules["mine"].Power, "label", "MAE")
    told = "metric mine:Power: label must be another than that of mae, as tables show it, got 'MAE'; rename it there"
    assert judged(place, "mine:Power").label("mine:Power") == "MAE"
    asked = Protocol(context=3, horizon=4, metrics=("mae", "mine:Power"))
    with pytest.raises(ValueError, match=told):
        judge(half, open_dataset(place / "balls.h5"), asked)


def test_settings_are_read_only_of_what_has_them():
    assert make_metric("mine:Power").config.power == 1
    assert read_metric_settings(["mine:Power"], ["mine:Power.power=2"])["mine:Power"].power == 2
    words = [f"mine:Power.{word}" for word in ("even=true", "called=2", "known=3", "sure=true", "side=1")]
    read = read_metric_settings(["mine:Power"], words)["mine:Power"].model_dump()
    assert read == {"power": 1, "even": True, "called": "2", "known": "3", "sure": True, "side": "1"}
    assert not read_metric_settings(["mine:Power"], ["mine:Power.even=False"])["mine:Power"].even
    with pytest.raises(ValueError, match=r"Power\.even must be a valid boolean, got 'yes'; by default it is False$"):
        read_metric_settings(["mine:Power"], ["mine:Power.even=yes"])
    with pytest.raises(
        ValueError,
        match=r"mine:Power must be one of power, even, called, known, sure, side, got str",
    ):
        read_metric_settings(["mine:Power"], ["mine:Power.strength=2"])
    with pytest.raises(ValueError, match=r"got mine:Plain\.power=2; mine:Plain has none"):
        read_metric_settings(["mine:Plain"], ["mine:Plain.power=2"])


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (
            "meine.masse:Power",
            "be importable, got ModuleNotFoundError: No module named 'meine'; run where it lies, or put",
        ),
        ("mein:Power", "be importable, got ModuleNotFoundError: No module named 'mein'; run where it lies, or put"),
        ("mine:Powre", "derive from videopred.eval.metric.Metric, got nothing of that name; did you mean Power?"),
        (
            "mine:FrameMetrics",
            "derive from videopred.eval.metric.Metric, got nothing of that name; did you mean Framed?",
        ),
        ("mine:Other", "derive from videopred.eval.metric.Metric, got nothing of that name; the metrics there are Po"),
        ("mine:NoMetric", "derive from videopred.eval.metric.Metric, got <class 'mine.NoMetric'>; the metrics there "),
        ("mine:Metric", "derive from videopred.eval.metric.Metric, got <class 'videopred.eval.metric.Metric'>; the "),
        ("math:inf", "derive from videopred.eval.metric.Metric, got inf; there is none in that module"),
        ("mine:Poor", "say all that a metric must, got none of convention, measure, decimals, higher_is_better; give "),
    ],
)
def test_what_is_no_metric_is_refused(address, message):
    with pytest.raises(ValueError, match=f"^{re.escape(f'metric {address} must {message}')}"):
        make_metric(address)


def test_settings_of_another_kind_are_refused():
    message = "^metric mine:Wrong: settings must be a class of settings, got .*dict.*; derive it from .*Settings$"
    with pytest.raises(ValueError, match=message):
        make_metric("mine:Wrong")


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("Wide", ValueError, "measure one number of each of (3, 4) frames, got (3, 4, 1) as wide; take means over"),
        ("Two", ValueError, "have a reduce of its own for several measurements, got power, more; write one, or measur"),
        ("Array", TypeError, "measure tensors, got ndarray as array; return tensors of torch by their names"),
        ("Bare", TypeError, "measure a dict, got Tensor; return tensors of torch by their names"),
        ("Empty", ValueError, "measure something, got an empty dict; return tensors of torch by their names"),
        ("Endless", ValueError, "measure finite numbers or NaN, got infinity as endless; give NaN where nothing can"),
        ("Parted", ValueError, "measure under names without /, got hits/all; rename it"),
        ("Dividing", ValueError, "reduce to finite numbers or NaN, got infinity; give NaN where nothing can be said,"),
        ("Pooled", ValueError, "reduce to a tensor of shape (4,), one value per step, got (); pool over clips, and"),
        ("Number", ValueError, "reduce to a tensor of shape (4,), one value per step, got float; pool over clips"),
        ("Beyond", ValueError, "reduce to numbers in its range, 0 to 1, got 3; widen it: skill is told by its ends"),
        ("Below", ValueError, "reduce to numbers in its range, 0 to 1, got -1; widen it: skill is told by its ends"),
        ("Varied", ValueError, "measure under the same names each time, here many, got few; measure NaN for nothing"),
    ],
)
def test_a_metric_that_gives_something_else_than_it_should_is_refused(place, name, kind, message):
    with pytest.raises(kind, match=f"^{re.escape(f'metric mine:{name} must {message}')}"):
        judged(place, f"mine:{name}").table()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Array", "must measure tensors, got ndarray as array"),
        ("Empty", "must measure something, got an empty dict"),
        ("Number", "must reduce to a tensor of shape (4,), one value per step, got float"),
        ("Spread", "must reduce to finite numbers or NaN, got infinity"),
    ],
)
def test_so_it_is_where_clips_are_chosen_by_it(place, name, message):
    file = open_dataset(tiny_data(place / "balls.h5"))
    model = build(tiny_model("gru"), (1, file.height, file.width))
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(f'metric mine:{name} {message}')}"):
        clip_scores(model, file, "test", f"mine:{name}", 3, 4)


RAISED = [
    ("Unpacking", "ValueError: too many values to unpack (expected 2)", "clips, frames = truth.shape"),
    ("Opening", "FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.npy'", 'open("nowhere.npy")'),
    ("Asking", "StatisticsError: mean requires at least one data point", "statistics.mean([])"),
    ("Unfit", "RuntimeError: ", "prediction @ truth"),
    ("Framed", "ValueError: only one element", "float(frames.prediction)"),
]


@pytest.mark.parametrize("way", ["evaluate", "render"])
@pytest.mark.parametrize(("name", "error", "line"), RAISED)
def test_an_error_that_it_raises_is_told_by_its_name_its_kind_and_the_line_of_its_file(place, name, error, line, way):
    """Also where the error is from Python's own files, as that of `statistics.mean` is."""
    number = 1 + next(at for at, text in enumerate(SOURCE.splitlines()) if line in text)
    said = f"^metric mine:{name} must raise no error, got {re.escape(error)}.*"
    said += rf" \(mine\.py, line {number}\); mend it there; VIDEOPRED_TRACEBACK=1 shows every call$"
    file = open_dataset(tiny_data(place / "balls.h5"))
    model = build(tiny_model("gru"), (1, file.height, file.width))
    asked = Protocol(context=3, horizon=4, metrics=(f"mine:{name}",))
    ways = {
        "evaluate": lambda: judge(half, file, asked),
        "render": lambda: clip_scores(model, file, "test", f"mine:{name}", 3, 4),
    }
    with pytest.raises(FailedError, match=said) as told:
        ways[way]()
    assert told.value.__cause__ is not None


def test_so_is_one_of_its_reduce(place):
    said = r"^metric mine:Unweighted must raise no error, got TypeError: .* takes 2 .* but 3 were given; mend it there"
    scores = judged(place, "mine:Unweighted")
    assert scores.values
    with pytest.raises(FailedError, match=said):
        scores.table()


def test_so_is_one_of_its_remark(place):
    scores = judged(place, "mine:Remarking")
    with pytest.raises(
        FailedError, match=r"^metric mine:Remarking must raise no error, got KeyError: 'strength' \(mine"
    ):
        scores.table()


@pytest.mark.parametrize(("name", "error"), [("Built", "strength"), ("Silent", "unsaid")])
def test_so_is_one_that_it_raises_as_it_is_made_before_any_film_is(name, error):
    with pytest.raises(FailedError, match=rf"^metric mine:{name} must raise no error, got AttributeError: .*'{error}'"):
        make_metric(f"mine:{name}")


def test_its_convention_is_a_sentence():
    with pytest.raises(TypeError, match=r"^metric mine:Mute: convention must be a sentence, got None; return one that"):
        make_metric("mine:Mute")


@pytest.mark.parametrize(
    ("name", "value", "must"),
    [
        ("label", 3, "be a text"),
        ("decimals", 2.5, "be a whole number of at least 0"),
        ("range", (1, 0), "be two numbers, the lowest first"),
        ("range", "ab", "be two numbers, the lowest first"),
        ("higher_is_better", "yes", "be True or False"),
    ],
)
def test_what_it_says_of_itself_is_looked_at_before_any_film_is(place, monkeypatch, name, value, must):
    make_metric("mine:Power")
    monkeypatch.setattr(sys.modules["mine"].Power, name, value)
    told = re.escape(f"metric mine:Power: {name} must {must}, got {value!r}; mend it there")
    with pytest.raises(ValueError, match=told):
        make_metric("mine:Power")


def test_it_need_not_be_hashable(place):
    assert judged(place, "mine:Unhashable").mean("model", "mine:Unhashable") == pytest.approx(0.5)


def test_one_of_frames_that_writes_into_them_changes_no_other_score(place):
    file = open_dataset(tiny_data(place / "balls.h5"))
    scores, alone = (
        judge(half, file, Protocol(context=3, horizon=4, metrics=metrics))
        for metrics in (("mine:Writing", "mae", "bce"), ("mae", "bce"))
    )
    assert scores.mean("model", "mine:Writing") == pytest.approx(0.5)
    assert all(scores.mean(row, name) == alone.mean(row, name) for row in scores.values for name in ("mae", "bce"))


def test_a_complaint_of_ours_within_it_stays_as_it_is(place):
    with pytest.raises(
        ValueError, match=r"^prediction of model must lie in \[0, 1\], got values from 1.5 to 1.5; divide"
    ):
        judged(place, "mine:Complaining")
