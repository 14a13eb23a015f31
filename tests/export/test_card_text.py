"""What a card says of a run: which experiment it was of, what it learned from, and where it is ahead."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from report_samples import scored
from tiny_runs import tiny_model

from videopred.amounts import size
from videopred.checkpoint import DataRecord, ExperimentRecord, RunConfig
from videopred.commands.experiments import record_of
from videopred.experiments import find_experiment
from videopred.experiments.asking import ask
from videopred.export.card_text import (
    Described,
    _ahead,
    _evaluate,
    _experiment,
    _limits,
    _reached,
    _summary,
    _training,
    ranges,
)
from videopred.models import DECODERS, build
from videopred.settings import TrainingConfig
from videopred.weights import Export


@pytest.mark.parametrize(
    ("name", "scale", "changed", "said"),
    [
        ("rims-balls4", "paper", {}, "`rims-balls4` at scale paper"),
        ("rims-balls4", "paper", {"core.active": 3}, "`rims-balls4` at scale paper, with its own core.active"),
        ("rims-balls4", "small", {}, "`rims-balls4` at scale small, which is not as published"),
        (
            "rims-balls4",
            "paper",
            {"core.units": 7, "core.kind": "gru"},
            "`rims-balls4` at scale paper, with its own core",
        ),
        ("mine", "paper", {}, "`mine`, from an own file"),
        ("mine", "tiny", {"core.cell": "gru"}, "`mine`, from an own file, at scale tiny, with its own core.cell"),
    ],
)
def test_only_what_a_paper_has_is_said_to_be_as_published(name, scale, changed, said):
    assert _experiment(ExperimentRecord(name=name, scale=scale, changed=changed)) == said


def test_an_own_file_may_be_named_like_a_published_experiment(tmp_path):
    own = tmp_path / "rims-balls4.json"
    own.write_text(find_experiment("rims-balls4").model_dump_json())
    for data, said in (("rims-balls4", "`rims-balls4` at scale paper"), (str(own), "`rims-balls4`, from an own file")):
        asked = ask(data, None)
        assert _experiment(record_of(asked, asked.scaled)) == said


@pytest.mark.parametrize(
    ("training", "config", "told"),
    [
        ({"free_running": 3}, {}, "only on clips like these, of 9 frames, the last 3 from its own predictions"),
        (
            {"window": 7},
            {},
            "only on clips like these, of 9 frames, 7 frames at a time, each from the true ones",
        ),
        (
            {"free_running": 10, "grow_over": 40, "updates": 21},
            {},
            "of 9 frames, the last 5 from its own predictions",
        ),
        ({"noise": 0.004}, {}, "the true ones before it, with 0.4% of the values of true frames flipped. Another seed"),
        ({"noise": 0.2}, {}, "the true ones before it, with 20% of the values of true frames flipped. Another seed"),
        ({"sampling": "linear"}, {}, "of 9 frames, from true frames and, as scheduled sampling has it, from its own"),
        ({}, {"init_from": "first"}, "starting from the weights of `first`, on clips like these, of 9 frames, each"),
        ({}, {"data": DataRecord(path="more.h5", name="balls4", sha256="f00")}, "only on clips of more, each from the"),
    ],
)
def test_a_card_says_what_the_model_learned_from_and_how(training, config, told):
    known = {"data": DataRecord(path="balls4.h5", name="balls4", sha256="bee")} | config
    settings = RunConfig(model=tiny_model("rims"), film_shape=(1, 24, 32), training=TrainingConfig(**training), **known)
    export = Export(settings.model_dump(mode="json"), {}, {})
    of: Any = Described("mine", export, None, SimpleNamespace(frames=9), "bee", [])
    [said] = _limits(of)
    assert said.startswith("It was trained once, ")
    assert told in said


def test_a_card_claims_the_steps_at_which_every_row_but_the_oracle_is_behind():
    scores = scored(
        model=([0.1, 0.2, 0.4], [10, 11, 12]),
        blank=([0.2, 0.3, 0.3], [9, 12, 12]),
        copy_last=([0.3, 0.3, 0.5], [np.nan] * 3),
        mean_frame=([0.9] * 3, [np.nan, 9, 9]),
        physics_oracle=([0.0] * 3, [99] * 3),
    )
    assert list(_ahead(scores)) == [
        "MSE: ahead of every trivial baseline at steps 1 to 2 of 3.",
        "PSNR: ahead of every trivial baseline at step 1 of 3.",
    ]


def test_a_step_of_which_no_baseline_has_a_value_is_claimed_by_nobody():
    bare = [0.3, np.nan, 0.3, 0.1]
    scores = scored(model=([0.1, 0.2, 0.2, 0.4], [9] * 4), blank=(bare, [8] * 4), copy_last=(bare, [7] * 4))
    assert next(_ahead(scores)) == "MSE: ahead of every trivial baseline at steps 1, 3 of 4."


@pytest.mark.parametrize(
    ("held", "told"), [([1, 1, 0, 1], "1 to 2, 4"), ([0, 1, 1, 1], "2 to 4"), ([1, 0, 0, 1], "1, 4"), ([0, 1, 0], "2")]
)
def test_steps_are_counted_from_1(held, told):
    assert ranges(np.array(held, bool)) == told


def test_a_card_shows_as_many_frames_as_its_scores_were_asked_for():
    asked: Any = SimpleNamespace(protocol=SimpleNamespace(context=3, horizon=6))
    usual: Any = SimpleNamespace(context=4, horizon=5)
    nothing: Any = None
    described = Described("mine", nothing, nothing, usual, "f00", [asked])
    assert described.given == (3, 6)
    assert described.given_words == ("--context", "3", "--horizon", "6")
    assert described._replace(scores=[]).given == (4, 5)


@pytest.mark.parametrize(("stack", "told"), [(1, ""), (3, ", of 3 frames at once")])
def test_a_card_says_how_many_frames_are_seen_at_once_if_several(stack, told):
    model = tiny_model("gru").model_copy(update={"stack": stack})
    settings = RunConfig(model=model, film_shape=(1, 24, 32), training=TrainingConfig())
    export = Export(settings.model_dump(mode="json"), {}, {})
    of: Any = Described("mine", export, build(model, (1, 24, 32)), None, "f00", [])
    assert f"\n| codec | `rnem`, channels 2 3, embedding 11{told} |\n" in _summary(of)


@pytest.mark.parametrize(("kind", "width"), [(torch.float32, 4), (torch.float16, 2)])
def test_a_card_counts_the_parameters_and_the_bytes_of_the_export(kind, width):
    model = tiny_model("gru")
    predictor = build(model, (1, 24, 32))
    settings = RunConfig(model=model, film_shape=(1, 24, 32), training=TrainingConfig())
    weights = {name: weight.detach().to(kind) for name, weight in predictor.named_parameters()}
    of: Any = Described("mine", Export(settings.model_dump(mode="json"), {}, weights), predictor, None, "f00", [])
    count = sum(weight.numel() for weight in weights.values())
    inside = sum(weight.numel() for name, weight in weights.items() if name.startswith("core."))
    assert 0 < inside < count
    assert f"\n| parameters | {count:,}, of which {inside:,} are the core's |\n" in _summary(of)
    assert f"\n| weights | {str(kind).removeprefix('torch.')}; {size(width * count)} |\n" in _summary(of)


def test_a_card_names_the_decoder_and_the_precision_of_the_weights_alone():
    model = tiny_model("scoff").model_copy(update={"decoder": DECODERS["files"][0](queries=3)})
    settings = RunConfig(model=model, film_shape=(1, 24, 32), training=TrainingConfig())
    weights = {"decoder.weight": torch.zeros(3, dtype=torch.float16), "seen": torch.zeros(2, dtype=torch.int64)}
    export = Export(settings.model_dump(mode="json"), {}, weights)
    of: Any = Described("mine", export, build(model, (1, 24, 32)), None, "f00", [])
    assert "\n| decoder | `files`, queries 3 |\n" in _summary(of)
    assert f"\n| weights | float16; {size(22)} |\n" in _summary(of)


@pytest.mark.parametrize(("loss", "by"), [("mse", ""), ("mylosses:focal", ", by the loss `mylosses:focal`")])
def test_a_card_says_how_long_the_model_learned_by_and_on_what(loss, by):
    training = TrainingConfig(updates=2, batch_size=4, loss=loss)
    settings = RunConfig(model=tiny_model("gru"), film_shape=(1, 24, 32), training=training)
    record = {"seconds": 70, "cpu_seconds": 125, "device": "cpu", "threads": 3}
    clips: Any = SimpleNamespace(files=lambda: ["balls4.h5"], path="balls4.h5")
    of: Any = Described("mine", Export(settings.model_dump(mode="json"), record, {}), None, clips, "f00", [])
    took = "1 min 10 s by the clock, 2 min 5 s of CPU time, on cpu, 3 threads"
    assert next(_training(of)).startswith(f"2 updates of 4 clips from seed 0{by}, {took}. The")


@pytest.mark.parametrize(
    ("reference", "words"), [(None, ()), ("a.h5", ()), ("runs/more.h5", ("--reference", "datasets/more.h5"))]
)
def test_the_command_for_scores_names_the_clips_that_calibrated_them(reference, words):
    scores = replace(scored(model=([0.1], [10]), blank=([0.2], [9])), reference=reference)
    clips: Any = SimpleNamespace(files=lambda: ["a.h5"], path="a.h5", parts={"test": 5})
    of: Any = Described("mine", None, None, clips, scores.fingerprint, [scores])
    told = _evaluate(of, scores)
    assert told[:3] == ("evaluate", "models/mine.safetensors", "datasets/a.h5")
    assert told[3:].count("--reference") == len(words) / 2
    assert not words or told[-2:] == words


def test_scores_on_other_clips_are_told_as_such():
    scores = scored(model=([0.1], [10]), blank=([0.2], [9]))
    clips: Any = SimpleNamespace(files=lambda: ["a.h5"], path="a.h5", parts={"test": 5})
    for fingerprint, told in ((scores.fingerprint, False), ("f00", True)):
        of: Any = Described("mine", None, None, clips, fingerprint, [scores])
        first = next(_reached(of))
        assert (first == f"On other clips, with the fingerprint `{scores.fingerprint}`:") == told


def test_of_a_metric_by_which_no_trivial_row_has_a_value_nothing_is_claimed():
    scores = scored(model=([0.1, 0.2], [9, 9]), blank=([0.3, 0.3], [np.nan] * 2), physics_oracle=([0.0] * 2, [99] * 2))
    assert list(_ahead(scores)) == ["MSE: ahead of every trivial baseline at steps 1 to 2 of 2."]


@pytest.mark.parametrize(("scenes", "unit"), [(None, "clips"), (np.array([0, 0, 1, 1, 2]), "scenes")])
def test_a_card_says_whether_intervals_are_over_clips_or_scenes(scenes, unit):
    settings = RunConfig(model=tiny_model("gru"), film_shape=(1, 24, 32), training=TrainingConfig())
    scores = replace(scored(model=([0.1], [10]), blank=([0.2], [9])), scenes=scenes)
    export = Export(settings.model_dump(mode="json"), {}, {})
    of: Any = Described("mine", export, None, SimpleNamespace(frames=9), "bee", [scores])
    assert f" Intervals are over {unit}. " in next(_limits(of))
