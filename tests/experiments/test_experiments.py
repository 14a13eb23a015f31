"""Experiments: what their papers state, names, scales, files; and that each runs."""

import json
import re
from pathlib import Path

import pytest

from videopred.datasets import DATASETS
from videopred.experiments import EXPERIMENTS, PAPERS, experiment_names, find_experiment, read_experiment
from videopred.experiments.asking import ask
from videopred.experiments.rivals import MATCHED, RIVALS
from videopred.experiments.scales import SCALES, at_scale, changes, shortened
from videopred.models.codec_settings import FilesConfig, MilaConfig, SharedConfig
from videopred.models.presets import PRESETS
from videopred.models.rival_settings import GRUConfig
from videopred.models.settings import PredictorConfig, RIMsConfig
from videopred.settings import TrainingConfig

BALLS = {"clips.train": 50_000, "clips.test": 10_000, "model.codec.channels": (16, 32, 64), "recipe.frames": 51}
EXCHANGE = {
    "model.core.comm_heads": 4,
    "model.core.comm_key": 32,
    "model.core.comm_value": 32,
    "model.core.dropout": 0.1,
}
RIMS = BALLS | EXCHANGE | {
    "training.learning_rate": 7e-4, "training.batch_size": 64, "model.core.input_key": 64, "model.core.cell": "lstm",
    "model.decoder.kind": "shared", "training.loss": "bce", "training.free_running": 0,
}  # fmt: skip
SCOFF = EXCHANGE | {"model.core.input_key": 64, "model.core.cell": "gru"}
SCOFF_BALLS = BALLS | SCOFF | {
    "training.learning_rate": 1e-4, "training.batch_size": 64, "model.core.schemata": 4, "model.core.units": 100,
    "model.core.input_heads": 1, "model.core.input_value": 100,
}  # fmt: skip
BRIMS_BALLS = BALLS | {
    "training.learning_rate": 7e-4, "model.core.modules": (5, 5), "model.core.active": (3, 3),
    "model.core.readout": "lower", "recipe.height": 64, "recipe.width": 64,
}  # fmt: skip
STATED = {
    # RIMs: section 4.2, appendices C and D.4, table 3.
    "rims-balls4": RIMS | {"recipe.balls": (4,)},
    "rims-balls678": RIMS | {"recipe.balls": (6, 7, 8)},
    "rims-crops": EXCHANGE | {
        "recipe.balls": (3,), "recipe.frames": 100, "recipe.height": 48, "recipe.width": 48, "clips.train": 20_000,
        "clips.validation": 1000, "clips.test": 1000, "training.schedule": "plateau", "training.decay": 0.5,
        "training.patience": 5, "training.improvement": 1e-4,
    },
    # SCOFF: sections 2, 4 and 5, tables 4, 6 and 7, appendices A, C and F.
    "scoff-balls4": SCOFF_BALLS | {"recipe.balls": (4,), "model.core.files": 4},
    "scoff-balls678": SCOFF_BALLS | {"recipe.balls": (6, 7, 8), "model.core.files": 8},
    "scoff-curtain": SCOFF_BALLS | {"recipe.balls": (3,), "model.core.files": 4, "model.core.reads": "map"},
    "scoff-colored4": SCOFF_BALLS | {"recipe.balls": (4,), "model.core.files": 4, "recipe.channels": 3},
    "scoff-colored678": SCOFF_BALLS | {"recipe.balls": (6, 7, 8), "model.core.files": 8, "recipe.channels": 3},
    "scoff-switching": SCOFF | {
        "training.learning_rate": 1e-4, "training.batch_size": 50, "model.core.files": 6, "model.core.schemata": 2,
        "model.core.input_heads": 4, "model.core.input_value": 64, "recipe.frames": 51, "model.stack": 5,
    },
    "scoff-motion3": {"training.learning_rate": 1e-4, "model.core.files": 1, "model.core.schemata": 3},
    "scoff-intphys": SCOFF | {
        "training.learning_rate": 3e-4, "training.batch_size": 64, "model.core.files": 6, "model.core.schemata": 4,
        "model.core.input_heads": 4, "model.core.input_value": 85, "recipe.frames": 100, "clips.train": 15_000,
    },
    # BRIMs: sections 5.2 and 5.6, table 6, appendices A.5 and A.6.
    "brims-balls4": BRIMS_BALLS | {"recipe.balls": (4,)},
    "brims-curtain": BRIMS_BALLS | {"recipe.balls": (3,)},
    "brims-smmnist": {
        "training.learning_rate": 2e-3, "training.batch_size": 100, "model.core.modules": (6, 6),
        "model.core.active": (4, 4), "clips.train": 60_000, "recipe.test_digits": (8, 9),
        "recipe.train_digits": tuple(range(8)), "training.window": 15,
    },
}  # fmt: skip
EPOCHS = {name: 300 if name == "brims-smmnist" else 100 for name in EXPERIMENTS}
"""Passes over the training clips: RIMs D.4, SCOFF 5, BRIMs A.5 and A.6; for one ball and IntPhys our choice."""


def value(experiment, setting):
    """The value of a dotted name."""
    found = experiment
    for name in setting.split("."):
        found = found[name] if isinstance(found, dict) else getattr(found, name)
    return found


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_numbers_are_those_of_the_paper(name):
    assert name in STATED, f"add what the paper states about {name} to STATED in this file"
    experiment = find_experiment(name)
    assert {setting: value(experiment, setting) for setting in STATED[name]} == STATED[name]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_updates_are_the_papers_epochs(name):
    experiment = find_experiment(name)
    assert experiment.training.updates == round(
        EPOCHS[name] * experiment.clips["train"] / experiment.training.batch_size
    )


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name.startswith("brims")])
def test_layers_of_brims_are_300_wide(name):
    core = find_experiment(name).model.core
    assert [n * units for n, units in zip(core.modules, core.units, strict=True)] == [300, 300]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_note_is_about_a_setting_that_is_there(name):
    experiment = find_experiment(name)
    for setting in experiment.stated | experiment.chosen:
        value(experiment, setting)
    assert not set(experiment.stated) & set(experiment.chosen)
    begins = name.split("-")[0]
    assert begins in PAPERS, f"add a line for {begins} to PAPERS in videopred/experiments/__init__.py"
    assert all(note.startswith((PAPERS[begins], "IntPhys")) for note in experiment.stated.values())


def silent(content, notes, place="") -> list[str]:
    """Values in a file that no note speaks of, neither of them nor of the part that they are in."""
    parts = ("recipe", "clips", "model", "training") if not place else content
    found = []
    for name in parts:
        setting = f"{place}{name}"
        if isinstance(content[name], dict):
            found += silent(content[name], notes, f"{setting}.")
        elif name != "kind" and not any(f"{setting}.".startswith(f"{note}.") for note in notes):
            found.append(setting)
    return found


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_value_in_a_file_is_stated_or_chosen(name):
    content = json.loads((Path(read_experiment.__code__.co_filename).parent / f"published/{name}.json").read_text())
    notes = content["stated"] | content["chosen"]
    assert silent(content, notes) == []
    assert silent(content, {note: text for note, text in notes.items() if note != "training.reduction"}) == [
        "training.reduction"
    ]


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "scoff-motion3"])
def test_cores_are_those_of_the_presets(name):
    """But for that of one file, which no preset has."""
    core = {
        "scoff-curtain": "scoff-balls4",
        "scoff-colored4": "scoff-balls4",
        "scoff-colored678": "scoff-balls678",
    }.get(name, name)
    core = {"rims-balls4": "rims-balls", "rims-balls678": "rims-balls", "rims-crops": "rims-balls"}.get(core, core)
    core = {"brims-balls4": "brims-balls", "brims-curtain": "brims-balls"}.get(core, core)
    assert find_experiment(name).model.core == PRESETS[core].core


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_data_is_a_known_set_but_for_the_law(name):
    experiment = find_experiment(name)
    known = DATASETS[experiment.data.removesuffix("-rnem")].recipe
    law = {"engine": "rnem"} if experiment.data.endswith("-rnem") else {}
    assert experiment.recipe == known.model_copy(update=law)


def test_every_file_is_listed_and_every_name_leads_to_an_experiment():
    published = Path(read_experiment.__code__.co_filename).parent / "published"
    assert {path.stem for path in published.glob("*.json")} == set(EXPERIMENTS) == set(MATCHED)
    names = experiment_names()
    twins = [name for name in EXPERIMENTS if find_experiment(name).data.endswith("-rnem")]
    assert len(names) == len(set(names)) == (1 + 2 * len(RIVALS)) * (len(EXPERIMENTS) + len(twins))
    for name in names:
        assert find_experiment(name).summary.endswith(".")


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_file_goes_round(name, scale, tmp_path):
    experiment = at_scale(find_experiment(name), scale)
    path = tmp_path / "my.json"
    path.write_text(experiment.model_dump_json())
    assert read_experiment(path) == experiment


def test_a_twin_differs_in_the_law_alone():
    ours, twin = find_experiment("scoff-curtain-gru-matched"), find_experiment("scoff-curtain-gru-matched-exact")
    assert set(changes(ours, twin)) == {"recipe.engine"}
    assert (ours.data, twin.data) == ("curtain-rnem", "curtain")
    with pytest.raises(ValueError, match="got scoff-motion3-exact; did you mean scoff-motion3"):
        find_experiment("scoff-motion3-exact")


def test_a_misspelt_name_is_answered_with_the_nearest_and_not_with_all():
    message = r"^the experiment must be one that `videopred list` shows, got rims-ball4; did you mean rims-balls4\?$"
    with pytest.raises(ValueError, match=message):
        find_experiment("rims-ball4")
    with pytest.raises(ValueError, match=r"got q7; see that list$"):
        find_experiment("q7")


def test_a_scale_says_all_that_it_changes():
    asked = ask("scoff-curtain", "small")
    assert asked is not None
    told = asked.told(asked.scaled)
    assert told.startswith("scoff-curtain at scale small, which is not as published:\n")
    assert "  recipe.curtain  28 28 -> 10 10\n" in told
    assert "  clips.train  50,000 -> 2,000\n" in told
    assert ask("scoff-curtain", None).told(find_experiment("scoff-curtain")) == ""
    assert at_scale(find_experiment("scoff-curtain"), "paper") == find_experiment("scoff-curtain")
    assert _settings(told) == set(changes(asked.unscaled, asked.scaled))


def test_frames_that_the_encoder_sees_at_once_are_among_what_changed():
    ours = find_experiment("scoff-switching")
    other = ours.model_copy(update={"model": ours.model.model_copy(update={"stack": 3})})
    assert changes(ours, other) == {"model.stack": (ours.model.stack, 3)}
    assert ours.model.stack != 3


def test_a_scale_says_nothing_that_flags_have_changed_again():
    asked = ask("rims-balls4", "tiny")
    training = asked.scaled.training.model_copy(update={"updates": 7})
    run = asked.with_flags(asked.scaled.model.model_copy(update={"core": GRUConfig(units=7)}), training)
    told = _settings(asked.told(run))
    assert told == {
        name
        for name in changes(asked.unscaled, asked.scaled)
        if name != "training.updates" and not name.startswith("core.")
    }
    elsewhere = _settings(asked.told(run, own_clips=False))
    assert elsewhere == {name for name in told if not name.startswith(("recipe.", "clips."))} < told


def test_a_core_that_brings_another_decoder_is_said_to():
    said = "with core rims it decodes with shared, not files; --decoder files keeps that"
    for scale, core, last in (("tiny", "rims", said), ("tiny", "scoff", None), ("paper", "rims", said)):
        asked = ask("scoff-balls4", scale, core)
        _, usual = asked.with_asked_core
        lines = asked.told(usual).splitlines()
        assert (lines[-1:] == [last]) == (last is not None)
        own = usual.model_copy(update={"model": usual.model.model_copy(update={"decoder": asked.scaled.model.decoder})})
        assert "decodes" not in asked.told(own)


def _settings(told: str) -> set[str]:
    return {line.split()[0] for line in told.splitlines()[1:]}


def test_what_was_changed_is_not_said_to_be_as_the_paper_has_it():
    asked = ask("rims-balls4", "small")
    run = asked.with_flags(PredictorConfig(core=RIMsConfig(active=3)), asked.scaled.training)
    assert run.chosen["model.core.active"] == "Ours; in rims-balls4 it is 4."
    assert run.chosen["training.batch_size"] == "Ours; in rims-balls4 it is 64."
    assert run.chosen["training.grow_over"] == "Ours; in rims-balls4 it is not set."
    assert not {"training.batch_size", "clips.train"} & set(run.stated)
    assert run.stated["training.loss"] == asked.unscaled.stated["training.loss"]
    assert run.chosen["recipe.engine"] == asked.unscaled.chosen["recipe.engine"]


def test_of_another_core_and_its_decoder_nothing_is_said_that_was_said_of_the_papers():
    asked = ask("scoff-balls4", None)
    model = asked.unscaled.model.model_copy(update={"core": RIMsConfig(), "decoder": SharedConfig()})
    run = asked.with_flags(model, asked.unscaled.training)
    notes = {name: note for name, note in (run.stated | run.chosen).items() if name.startswith("model.")}
    assert notes == {
        "model.codec": "SCOFF 5: as van Steenkiste et al. 2018",
        "model.core.kind": "Ours; in scoff-balls4 it is scoff.",
        "model.decoder.kind": "Ours; in scoff-balls4 it is files.",
    }
    assert run.summary == "SCOFF on four balls (SCOFF, section 5), with core rims."
    again = asked._replace(unscaled=run).with_flags(PredictorConfig(core=GRUConfig()), run.training)
    assert again.summary == "SCOFF on four balls (SCOFF, section 5), with core gru."


def test_of_positions_something_is_said_where_the_core_reads_them():
    positions = "model.codec.positions"
    asked = ask("scoff-balls4", None)
    on_map, on_vector = (
        asked.with_flags(PredictorConfig(core=RIMsConfig(reads=read)), asked.unscaled.training)
        for read in ("map", "vector")
    )
    assert on_map.chosen[positions] == asked.unscaled.chosen[positions]
    assert positions not in on_vector.chosen | find_experiment("scoff-balls4-lstm").chosen


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_no_note_on_several_settings_tells_numbers_that_a_scale_changes(name):
    asked = ask(name, "tiny")
    run = asked.with_flags(asked.scaled.model, asked.scaled.training)
    changed = {str(before) for before, _ in changes(asked.unscaled, asked.scaled).values()}
    for part in ("recipe", "clips"):
        note = (run.stated | run.chosen).get(part, "")
        assert changed.isdisjoint(re.findall(r"\d+", note.replace(",", "")))


def test_an_experiment_that_nothing_changed_keeps_its_notes():
    asked = ask("scoff-curtain", None)
    assert asked.with_flags(asked.scaled.model, asked.scaled.training) == asked.unscaled


def test_what_is_measured_in_pixels_shrinks_with_the_frames():
    paper = find_experiment("brims-smmnist").recipe
    assert paper.height == 64
    for scale, height in (("small", 24), ("tiny", 24)):
        recipe = at_scale(find_experiment("brims-smmnist"), scale).recipe
        assert recipe.height == height
        assert recipe.digit_size == round(paper.digit_size * height / 64)
        assert recipe.speed == round(paper.speed * height / 64) >= 1


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_small_keeps_the_model_but_scoffs_messages_first_states_and_decoder_and_tiny_keeps_its_kind(name):
    paper = find_experiment(name)
    small, tiny = at_scale(paper, "small"), at_scale(paper, "tiny")
    kept = paper.model.model_copy(update={"codec": small.model.codec})
    if paper.model.core.kind == "scoff":
        core = paper.model.core.changed(comm_gate=True, start="learned")
        kept = kept.model_copy(update={"core": core, "decoder": SharedConfig()})
    assert small.model == kept
    assert small.training.learning_rate == (1e-3 if paper.model.core.kind == "scoff" else 3e-3)
    own = 45 if paper.recipe.kind in ("motion", "switching") else 20
    assert small.training.free_running == min(own, small.recipe.frames - 2)
    assert tiny.model.core.kind == paper.model.core.kind
    assert tiny.recipe.height != tiny.recipe.width


def test_small_narrows_the_papers_codec_and_leaves_any_other():
    paper = find_experiment("rims-balls4")
    narrow = at_scale(paper, "small").model.codec
    assert (narrow.channels, narrow.embedding) == ((8, 16, 32), 128)
    assert narrow == paper.model.codec.model_copy(update={"channels": (8, 16, 32), "embedding": 128})
    other = paper.model.model_copy(update={"codec": MilaConfig()})
    assert at_scale(paper.model_copy(update={"model": other}), "small").model == other


OWN = {
    "plateau": {"schedule": "plateau", "decay": 0.3, "patience": 4, "improvement": 0.01},
    "stopping": {"schedule": "plateau", "improvement": 0.01, "stop_after": 7},
    "steps": {"schedule": "step", "decay_every": 31250, "decay": 0.3},
    "pieces": {"batch_size": 60, "accumulate": 12},
    "rollouts": {"free_running": 40, "grow_over": 31250, "sampling": "linear", "sampling_over": 15625},
    "keeping": {"save_every": 1000, "keep_every": 31250},
    "window": {"window": 14, "free_running": 12},
}


@pytest.mark.parametrize("scale", ["small", "tiny"])
@pytest.mark.parametrize("name", OWN)
def test_whatever_an_own_file_says_goes_along_with_a_scale(name, scale):
    paper = find_experiment("rims-balls4")
    values = paper.training.model_dump() | OWN[name]
    own = paper.model_copy(update={"training": TrainingConfig(**values)})
    scaled = at_scale(own, scale)
    assert scaled.training.free_running <= scaled.recipe.frames - 2
    small = {
        "plateau": {"decay": None, "patience": None, "improvement": None},
        "stopping": {"improvement": 0.01, "stop_after": 7},
        "steps": {"decay": None, "decay_every": None},
        "pieces": {"accumulate": 4},  # the most that divides both 12 and 16
        "rollouts": {"free_running": 20, "grow_over": 350, "sampling_over": 140},  # 700 / 78125 of them
        "keeping": {"save_every": 9, "keep_every": 280},
        "window": {"window": None, "free_running": 20},
    }
    tiny = {
        "plateau": {"decay": 0.3, "patience": 4, "improvement": 0.01},
        "stopping": {"improvement": 0.01, "stop_after": 7},
        "steps": {"decay": 0.3, "decay_every": 1},
        "pieces": {"accumulate": 4},
        "rollouts": {"free_running": 10, "grow_over": 1, "sampling_over": 1},
        "keeping": {"save_every": 1, "keep_every": 1},
        "window": {"window": 12, "free_running": 10},
    }
    expected = (small if scale == "small" else tiny)[name]
    assert {setting: getattr(scaled.training, setting) for setting in expected} == expected


def test_what_no_paper_says_of_queries_is_as_by_default():
    """So `--decoder files` beside any other core reads as that of SCOFF's experiments does."""
    decoders = (find_experiment(name).model.decoder for name in experiment_names())
    assert {decoder.queries for decoder in decoders if isinstance(decoder, FilesConfig)} == {FilesConfig().queries}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_scales_are_those_of_the_guide(name):
    paper = find_experiment(name)
    small, tiny = (at_scale(paper, scale) for scale in ("small", "tiny"))
    assert small.clips == {part: {"train": 2000, "validation": 200, "test": 200}[part] for part in paper.clips}
    learned = small.training
    assert (learned.updates, learned.batch_size, learned.grow_over, learned.window) == (700, 16, 350, None)
    assert (learned.schedule, learned.clip_norm) == ("cosine", 0.05)
    assert small.model.stack == tiny.model.stack == paper.model.stack


def test_clips_of_two_frames_have_none_to_be_fed_back():
    learned = shortened(TrainingConfig(), {"updates": 7, "batch_size": 4, "free_running": 20, "grow_over": 3}, frames=2)
    assert (learned.free_running, learned.grow_over) == (0, None)


def test_digits_never_stand_still_at_a_scale():
    paper = find_experiment("brims-smmnist")
    slow = paper.model_copy(update={"recipe": paper.recipe.model_copy(update={"speed": 1.0})})
    assert at_scale(slow, "small").recipe.speed == at_scale(slow, "tiny").recipe.speed == 1
