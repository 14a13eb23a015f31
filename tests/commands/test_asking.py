"""What `videopred evaluate` is asked: protocols and what is changed of them, settings of metrics, parts, samples."""

import json

import numpy as np
import pytest
from command_line import core_flags, run
from slow_proofs import slow

from videopred.datasets import open_dataset

ASKED = "--context 4 --horizon 3"


@pytest.fixture(scope="module")
def balls(tmp_path_factory):
    """Frames as `crops1` asks for, of a single ball, and a run that learned from them."""
    folder = tmp_path_factory.mktemp("balls")
    assert run(f"generate crops1 --clips train=4 validation=1 test=2 --out {folder}/crops1.h5") == 0
    words = f"{core_flags('gru')} --updates 1 --batch-size 2 --device cpu"
    assert run(f"train {folder}/crops1.h5 {words} --out {folder}/run") == 0
    return folder


def told(words: str, capfd) -> dict:
    capfd.readouterr()
    assert run(f"evaluate {words} --json") == 0
    return json.loads(capfd.readouterr().out)


@pytest.mark.parametrize(
    ("words", "changed", "called"),
    [
        ("", [], "crops"),
        ("--metrics mse --first 1", ["metrics", "first"], "crops changed (metrics, first)"),
        *slow(
            ("--feedback true --metrics f1 balanced-accuracy bce", [], "crops"),
            ("--metric-settings f1.threshold=0.25", ["metric-settings"], "crops changed (metric-settings)"),
            ("--feedback true --samples 2", ["samples"], "crops changed (samples)"),
        ),
    ],
)
def test_a_protocol_of_which_something_was_changed_says_so(balls, tmp_path, capfd, words, changed, called):
    found = told(f"{balls}/run {balls}/crops1.h5 --protocol crops --out {tmp_path}/a {words}", capfd)
    assert (found["protocol"]["name"], found["protocol"]["changed"]) == ("crops", changed)
    assert run(f"evaluate {balls}/run {balls}/crops1.h5 --protocol crops --out {tmp_path}/b {words}") == 0
    clips = "1 clip" if "first" in changed else "2 clips"
    assert capfd.readouterr().out.startswith(f"crops1.h5: {called}, {clips} of the test part, 1 frame of context, 99 ")


def test_a_run_that_learned_from_other_data_than_the_protocol_asks_for_is_named(balls, tmp_path, capfd):
    """`crops` is of models that learned from three balls."""
    found = told(f"{balls}/run {balls}/crops1.h5 --protocol crops --out {tmp_path}/a", capfd)
    note = f"{balls}/run was trained on crops1, where crops asks for crops"
    assert found["notes"] == [note]
    assert run(f"evaluate {balls}/run {balls}/crops1.h5 --protocol crops --out {tmp_path}/b") == 0
    assert f"\n{note}\n" in capfd.readouterr().out
    assert told(f"{balls}/run {balls}/crops1.h5 --context 1 --horizon 9 --out {tmp_path}/c", capfd)["notes"] == []


def test_settings_of_metrics_change_their_numbers_and_are_said(place, tmp_path, capfd):
    words = f"{place / 'gru'} {place / 'balls4.h5'} {ASKED} --metrics f1 ssim"
    usual = told(f"{words} --out {tmp_path}/a", capfd)
    other = told(f"{words} --metric-settings f1.threshold=0.01 ssim.window=5 --out {tmp_path}/b", capfd)
    assert other["metrics"]["f1"]["settings"] == {"threshold": 0.01}
    assert "window 5" in other["metrics"]["ssim"]["convention"]
    for name in ("f1", "ssim"):
        assert usual["rows"]["model"][name]["mean"] != other["rows"]["model"][name]["mean"]
    assert other["protocol"]["metric_settings"] == ["f1.threshold=0.01", "ssim.window=5"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "f1=0.4",
            "--metric-settings must be METRIC.SETTING=VALUE, got f1=0.4; write e.g. --metric-settings",
        ),
        ("f1.threshold", "--metric-settings must be METRIC.SETTING=VALUE, got f1.threshold; write"),
        ("psnr.x=1", "must be of a metric that is asked for, mse, f1, got psnr.x=1; add it to --metrics"),
        ("mse.x=1", "--metric-settings must be of a metric that has any, got mse.x=1; mse has none"),
        ("f1.treshold=1", "--metric-settings f1 must be one of threshold, got treshold; did you mean threshold?"),
        (
            "f1.threshold=2",
            "--metric-settings f1.threshold must be less than or equal to 1, got 2; by default it is 0.5",
        ),
        (
            "f1.threshold=high",
            "--metric-settings f1.threshold must be a valid number, got 'high'; by default it is 0.5",
        ),
        (
            "f1.threshold=1 f1.threshold=0.2",
            "--metric-settings must say each once, got f1.threshold=0.2; leave",
        ),
    ],
)
def test_settings_that_a_metric_has_not_are_one_clear_line(place, tmp_path, monkeypatch, capfd, words, message):
    monkeypatch.chdir(tmp_path)
    capfd.readouterr()
    runs = f"{place / 'gru'} {place / 'balls4.h5'}"
    assert run(f"evaluate {runs} {ASKED} --metrics mse f1 --metric-settings {words}") == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert not any(tmp_path.iterdir())


def test_where_lpips_looks_for_its_weights_can_be_said(place, tmp_path, capfd):
    runs = f"{place / 'gru'} {place / 'balls4.h5'}"
    words = f"{ASKED} --metrics lpips --metric-settings lpips.net=vgg lpips.weights={tmp_path}/vgg.pth"
    assert run(f"evaluate {runs} {words} --out {tmp_path}/a") == 1
    message = "lpips must have the weights of its trunk, vgg16-397923af.pth as torchvision publishes it, got nothing at"
    assert f"{message} {tmp_path}/vgg.pth; run, where" in capfd.readouterr().err


def test_any_part_of_a_data_file_may_be_the_truth(place, tmp_path, capfd):
    data = place / "balls4.h5"
    frames = open_dataset(data).read_frames("train", 0, 12).transpose(0, 1, 4, 2, 3) / 255
    np.save(tmp_path / "p.npy", 0.9 * frames[:, 4:7])
    words = f"--pred {tmp_path}/p.npy --true {data} --range 0 1 --axes BTCHW {ASKED} --metrics mse"
    found = told(f"{words} --part train --out {tmp_path}/a", capfd)
    assert (found["protocol"]["part"], found["protocol"]["clips"]) == ("train", 12)
    expected = 0.01 * (frames[:, 4:7] ** 2).mean(axis=(0, 2, 3, 4))
    np.testing.assert_allclose(found["rows"]["prediction"]["mse"]["steps"], expected, rtol=1e-6)


def test_several_films_of_a_clip_are_told_by_the_best_and_the_mean(place, tmp_path, capfd):
    data = place / "balls4.h5"
    true = open_dataset(data).read_frames("test", 0, 5).transpose(0, 1, 4, 2, 3)[:, 4:7] / 255
    np.save(tmp_path / "p.npy", np.stack([0.9 * true, 0.7 * true, true]))
    words = f"{data} --pred {tmp_path}/p.npy --range 0 1 --axes NBTCHW {ASKED} --metrics mse"
    found = told(f"{words} --out {tmp_path}/a", capfd)
    assert found["protocol"]["samples"] == 3
    assert found["rows"]["prediction"]["mse best of 3"]["mean"] == 0
    lit = (true**2).mean()
    assert found["best_of"]["prediction"]["mse"] == pytest.approx({"1": 0.01 * lit, "2": 0.01 * lit, "3": 0}, rel=1e-5)
    assert found["rows"]["prediction"]["mse mean of 3"]["mean"] == pytest.approx(0.1 / 3 * lit, rel=1e-5)


def test_how_long_objects_are_kept_is_told_beside_what_can_be_predicted(place, tmp_path, capfd):
    found = told(f"{place / 'gru'} {place / 'balls4.h5'} {ASKED} --metrics kept mse --out {tmp_path}/a", capfd)
    assert run(f"inspect {place / 'balls4.h5'} --json") == 0
    predictable = json.loads(capfd.readouterr().out)["parts"]["test"]["frames_predictable"]
    assert found["predictable"] == predictable
    assert predictable > 3, "no model could reach more than a share of it"
    frames = 3 * found["rows"]["model"]["kept"]["mean"]
    assert found["remarks"] == [f"kept of model: {frames:.1f} frames on average until a clip is lost, at most 3"]
