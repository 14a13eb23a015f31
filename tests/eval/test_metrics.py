"""Every entry of METRICS, and the table itself."""

import functools
import subprocess
import sys

import pytest
import torch
from known_bad_metrics import BAD_METRICS
from metric_checks import CHECKS, REFERENCES

from videopred.eval import METRICS, find_metric, make_metric, metric_settings, read_metric_settings
from videopred.eval.settings import DEFAULT_METRICS, F1Config, SSIMConfig

made = functools.cache(make_metric)
"""Each metric once: lpips comes with a network."""


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", METRICS)
def test_metric(name, check):
    check(made(name))


@pytest.mark.parametrize("case", BAD_METRICS)
def test_each_check_catches_a_broken_metric(case):
    (check,) = (check for check in CHECKS if check.__name__ == case.split(":")[0])
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(BAD_METRICS[case])


def test_every_check_has_a_broken_metric_that_it_catches():
    assert {case.split(":")[0] for case in BAD_METRICS} == {check.__name__ for check in CHECKS}


@pytest.mark.parametrize("name", METRICS)
def test_metric_describes_itself(name):
    metric = make_metric(name)
    assert metric.name == name
    assert metric.label
    assert len(metric.convention) > 20
    assert metric.convention.startswith(metric.unit)
    assert metric.range[0] < metric.range[1]
    assert name in REFERENCES


def test_a_metric_is_asked_for_by_name():
    with pytest.raises(TypeError, match=r"^--metrics must be a name, got 3; give one, such as mse$"):
        make_metric(3)


def test_clips_are_not_ranked_by_objects_and_it_is_said_where_they_are():
    message = "^--by must be a metric of films, got position; clips are ranked by metrics of films here; a report ranks"
    with pytest.raises(ValueError, match=message):
        find_metric("--by", "position", METRICS)


def test_convention_tells_the_settings():
    assert "p >= 0.3" in make_metric("f1", F1Config(threshold=0.3)).convention
    assert "window 7" in make_metric("ssim", SSIMConfig(window=7)).convention


@pytest.mark.parametrize("setting", [one for one in metric_settings() if not one.startswith("lpips")])
def test_another_setting_is_another_convention(setting):
    """By which tables that cannot be compared are told apart."""
    name, field = setting.split(".")
    usual = make_metric(name)
    value = getattr(usual.config, field)
    other = type(usual.config)(**{field: value + 2 if isinstance(value, int) else value / 2 + 0.1})
    assert make_metric(name, other).convention != usual.convention


def test_unknown_metric_names_the_right_ones():
    with pytest.raises(ValueError, match=r"--metrics must be one of bce, .*, got sim; did you mean ssim\?"):
        make_metric("sim")


def test_metrics_are_named_as_users_type_them_and_the_usual_ones_are_among_them():
    assert all(name == name.lower() and "_" not in name for name in METRICS)
    assert set(DEFAULT_METRICS) < set(METRICS)
    assert "lpips" not in DEFAULT_METRICS  # which needs a file


def test_settings_of_another_metric_are_refused():
    with pytest.raises(TypeError, match="config must be a BCEConfig for bce, got F1Config"):
        make_metric("bce", F1Config())


def test_even_window_is_refused():
    with pytest.raises(ValueError, match=r"^--window must be odd, got 10; take an odd number$"):
        SSIMConfig(window=10)
    with pytest.raises(ValueError, match=r"^--metric-settings ssim\.window must be odd, got 30; take an odd number$"):
        read_metric_settings(["ssim"], ["ssim.window=30"])
    message = r"^--metric-settings overlaps\.tolerance_px must be .*, got -1; by default it is 1\.0$"
    with pytest.raises(ValueError, match=message):  # as it is typed, with an underscore
        read_metric_settings(["overlaps"], ["overlaps.tolerance_px=-1"])


def test_the_table_loads_no_torch():
    code = "import videopred.eval, sys; print([m for m in ('torch', 'numpy', 'kornia') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_mean_is_over_the_clips_that_have_a_value():
    """By hand: of three clips the second says nothing of the second step, and none anything of the third."""
    metric = make_metric("mse")
    values = torch.tensor([[1.0, 4, torch.nan], [2, torch.nan, torch.nan], [6, 8, torch.nan]], dtype=torch.float64)
    draws = torch.tensor([[1, 1, 1], [2, 1, 0], [0, 3, 0]], dtype=torch.float64)
    expected = torch.tensor([[3, 6, torch.nan], [4 / 3, 4, torch.nan], [2, torch.nan, torch.nan]], dtype=torch.float64)
    measured = {"mse": values}
    torch.testing.assert_close(metric.reduce(measured), expected[0], equal_nan=True)
    torch.testing.assert_close(metric.reduce_each(measured, draws), expected, equal_nan=True)
    for weights, by_hand in zip(draws, expected, strict=True):
        torch.testing.assert_close(metric.reduce(measured, weights), by_hand, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64, torch.bool])
@pytest.mark.parametrize("weight", [None, torch.tensor([0.5, 0.25, 0.25])], ids=["each once", "weighted"])
def test_a_score_is_in_double_precision_whatever_was_measured(dtype, weight):
    metric, measured = make_metric("mse"), {"mse": torch.tensor([[1, 0], [1, 1], [0, 1]]).to(dtype)}
    expected = torch.tensor([2 / 3, 2 / 3] if weight is None else [0.75, 0.5], dtype=torch.float64)
    torch.testing.assert_close(metric.reduce(measured, weight), expected)
    torch.testing.assert_close(metric.of_each_clip(measured), measured["mse"].double())


def test_what_is_unsaid_in_one_measurement_is_left_out_of_all():
    """A clip that counts in a divisor alone would change what the others say; PSNR has a second tensor, of its caps."""
    measured = {"psnr": torch.tensor([[10.0], [30]]), "capped": torch.tensor([[0.0], [torch.nan]])}
    assert make_metric("psnr").reduce({key: of.double() for key, of in measured.items()}).tolist() == [10]


def test_of_no_counts_at_all_no_score_is_made():
    """F1 of two dark films is 1; where no clip has a value, or those that have one do not count, it is not."""
    counts = torch.tensor([[2.0, torch.nan, torch.nan], [2, 2, torch.nan]], dtype=torch.float64)
    metric, measured = make_metric("f1"), dict.fromkeys(("tp", "fp", "fn", "tn"), counts)
    expected = torch.tensor([[0.5, torch.nan, torch.nan], [0.5, 0.5, torch.nan]], dtype=torch.float64)
    torch.testing.assert_close(metric.reduce(measured), expected[1], equal_nan=True)
    torch.testing.assert_close(metric.of_each_clip(measured), expected, equal_nan=True)
    draws = torch.tensor([[3, 0], [0, 1]], dtype=torch.float64)
    torch.testing.assert_close(metric.reduce_each(measured, draws), expected, equal_nan=True)


@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16])
def test_a_models_autocast_rounds_no_measurement(precision):
    films = torch.rand(2, 2, 3, 1, 24, 32, generator=torch.Generator().manual_seed(4))
    for metric in map(made, (name for name in METRICS if name != "lpips")):
        usual = metric.measure(*films)
        with torch.autocast("cpu", precision):
            rounded = metric.measure(*films)
        assert all(torch.equal(rounded[key], usual[key]) for key in usual), metric.name
