"""Probes of the file that a rollout leaves."""

import numpy as np
import pytest
import torch

from videopred.check import FaultyFileError
from videopred.commands.probes import _fits_noise, probe
from videopred.datasets.one_ball_settings import SwitchingConfig
from videopred.datasets.recipe_clips import open_recipe
from videopred.eval.probe import LabelProbe, halves
from videopred.judging import probing
from videopred.judging.probing import known_of, probe_trace
from videopred.rollout import Rollout, save_trace

B, CONTEXT, HORIZON, K, D = 8, 3, 6, 3, 4
STEPS = CONTEXT + HORIZON - 1
SHAPE = (B, CONTEXT, 1, 5, 7)


@pytest.fixture
def known() -> dict[str, np.ndarray]:
    file = open_recipe(SwitchingConfig(frames=12, height=24, width=32, switch=(3, 8)), {"test": B}, seed=2)
    return known_of(file, "test", range(B), CONTEXT + HORIZON)


def kept(path, known, states, made=(), **trace):
    film = torch.zeros(SHAPE)
    tensors = {name: torch.from_numpy(values) for name, values in {"states": states, **trace}.items()}
    save_trace(path, Rollout(film, film[:, 1:], film.repeat(1, 2, 1, 1, 1), tensors), known, dict(made))
    return path


def test_what_the_file_knows_is_cut_to_the_rollout(known):
    assert known["positions"].shape == (B, CONTEXT + HORIZON, 1, 2)
    assert known["series/indicator"].shape == (B, CONTEXT + HORIZON)
    assert known["labels/switch"].shape == (B,)
    assert known["velocities"].shape == (B, CONTEXT + HORIZON, 1, 2)
    assert known["visibility/fraction"].shape[:3] == (B, CONTEXT + HORIZON, 1)
    assert not any(name.startswith("visibility/") for name in known.keys() - {"visibility/fraction"})


def test_states_that_hold_the_next_place_and_the_mode_show_it(tmp_path, known):
    """Module 1 holds the place that comes next, module 2 the mode of the frame, and module 0 nothing."""
    chance = np.random.default_rng(0)
    states = chance.standard_normal((B, STEPS, K, D))
    states[:, :, 1, :2] = known["positions"][:, 1:, 0]
    mode = known["series/indicator"][:, :STEPS]
    states[:, :, 2, 3] = mode
    schema = np.zeros((B, STEPS, K), int)
    schema[..., 1] = 1 - mode
    made = {"run": "models/mine", "part": "train", "feedback": "soft", "intervention": ["--without", "1"]}
    trace = {"schema": schema, "attention": states, "pairs": np.stack([schema, schema], -1)}
    report = probe_trace(kept(tmp_path / "t.npz", known, states, made, **trace))
    assert report["of"] == "models/mine --part train --without 1"
    assert {name: report[name] for name in ("clips", "steps", "modules")} == {
        "clips": B,
        "steps": HORIZON,
        "modules": K,
    }
    assert report["positions"]["r2"] > 0.99
    assert report["positions"]["modules"][1] > 0.99
    assert max(report["positions"]["modules"][0], report["positions"]["modules"][2]) < 0.7
    assert report["series/indicator"]["accuracy"] == 1
    assert report["series/indicator"]["modules"][2] == 1
    told = report["schema"]["series/indicator"]
    assert (told["nmi"], told["purity"], told["modules"]) == (1, 1, [0, 1, 0])
    assert told["nmi_by_chance"] < 0.7
    assert {"attention", "pairs"}.isdisjoint(report)


def test_films_of_a_scene_are_in_one_half_and_its_number_is_no_label(tmp_path):
    """The mode is one of each scene, which a state tells apart: it can be told of no scene that was not fitted."""
    scenes = np.repeat(np.arange(3), 4)
    known = {"labels/scene": scenes, "labels/possible": np.tile([0, 0, 1, 1], 3), "labels/mode": scenes % 2}
    states = np.repeat(np.eye(12)[scenes][:, None, None], STEPS, axis=1)
    report = probe_trace(kept(tmp_path / "t.npz", known, states))
    assert "labels/scene" not in report
    assert report["labels/mode"]["commonest"] in (0, 0.5), "of one scene, or of two"
    assert report["labels/possible"]["accuracy"] == report["labels/possible"]["commonest"] == 0.5
    one = {name: values[:4] for name, values in known.items()}
    with pytest.raises(ValueError, match="TRACE must hold clips of two scenes at least, got 1; roll out more clips"):
        probe_trace(kept(tmp_path / "one.npz", one, states[:4]))


def test_the_condition_that_scenes_are_ordered_by_is_read(tmp_path):
    """Twelve scenes of three clips, of which only the last four have the label 2."""
    scenes = np.repeat(np.arange(12), 3)
    known = {"labels/scene": scenes, "labels/objects": scenes // 4}
    states = np.repeat(np.eye(3)[scenes // 4][:, None, None], STEPS, axis=1)
    assert probe_trace(kept(tmp_path / "t.npz", known, states))["labels/objects"]["accuracy"] == 1


def test_clips_are_known_in_the_order_that_is_asked():
    file = open_recipe(
        SwitchingConfig(frames=12, height=24, width=32, switch=(3, 8)), {"validation": B, "test": B}, seed=2
    )
    some = known_of(file, "validation", [5, 1], 7)
    np.testing.assert_array_equal(some["positions"], file.read("validation", "positions", 0, B)[[5, 1], :7])


def test_places_are_of_objects_from_left_to_right_whatever_their_numbers(tmp_path):
    """Of two objects, whose numbers are swapped in odd clips, the first module holds the left one and its velocity."""
    chance = np.random.default_rng(0)
    places = chance.random((B, CONTEXT + HORIZON, 2, 2)) * (6, 20) + [[2, 2], [20, 2]]
    velocities = chance.standard_normal(places.shape)
    numbered = {"positions": places, "velocities": velocities}
    for name, values in numbered.items():
        numbered[name] = values.copy()
        numbered[name][1::2] = values[1::2, :, ::-1]
    states = np.concatenate([places[:, 1:], velocities[:, 1:]], -1)
    report = probe_trace(kept(tmp_path / "t.npz", numbered, states, schema=np.ones((B, STEPS, 2), int)))
    assert report["positions"]["r2"] > 0.999
    assert report["velocities"]["r2"] > 0.99
    assert set(report["velocities"]) == {"error_px_per_frame", "mean_error_px_per_frame", "r2", "modules"}
    assert "schema" not in report, "there is nothing to hold it against"


def test_what_all_modules_choose_together_may_tell_what_none_tells_alone(tmp_path, monkeypatch):
    """One chooses by the clip, one by the step, and the label is whether the two agree.

    What has one value, too many, or no whole ones is no label.
    """
    monkeypatch.setattr(probing, "_MOST_KINDS", B * HORIZON - 1)
    clip, step = np.indices((B, STEPS)) % 2
    known = {
        "series/agree": np.pad(clip == step, ((0, 0), (0, 1))),
        "series/half": np.pad(clip / 2, ((0, 0), (0, 1))),
        "series/many": np.arange(B * (STEPS + 1)).reshape(B, -1),
        "labels/one": np.ones(B, int),
    }
    states = np.random.default_rng(0).standard_normal((B, STEPS, 2, D))
    report = probe_trace(kept(tmp_path / "t.npz", known, states, schema=np.stack([clip, step], -1)))
    assert list(report["schema"]) == ["series/agree"]
    told = report["schema"]["series/agree"]
    assert (told["nmi"], told["purity"], told["modules"]) == (pytest.approx(2 / 3, abs=1e-3), 1, [0, 0])


@pytest.mark.parametrize("layer", ["", "layer1."])
def test_how_often_modules_are_active_and_schemata_in_use_is_told_of_the_rollout(tmp_path, known, layer):
    """Of five schemata, of which the context alone uses number 3."""
    schema, active = np.full((B, STEPS, K), 3), np.zeros((B, STEPS, K), bool)
    schema[:, CONTEXT - 1 :] = [0, 1, -1]
    schema[0, CONTEXT - 1 :, 0] = 1
    active[:, CONTEXT - 1 :, 1], active[:2, CONTEXT - 1 :, 2] = True, True
    trace = {"schema": schema, "active": active, "schema_weights": np.zeros((B, STEPS, K, 5))}
    trace = {f"{layer}{name}": values for name, values in trace.items()}
    path = kept(tmp_path / "t.npz", known, np.zeros((B, STEPS, K, D)), **trace)
    shares = [7 / 16, 9 / 16, 0, 0, 0]
    assert probe_trace(path)["usage"] == {f"{layer}schema": shares, f"{layer}active": [0, 1, 2 / B]}
    del trace[f"{layer}schema_weights"]
    path = kept(tmp_path / "u.npz", known, np.zeros((B, STEPS, K, D)), **trace)
    assert probe_trace(path)["usage"][f"{layer}schema"] == shares[:2], "whether there are others is not known"


def test_each_layer_of_a_stack_is_read_by_itself(tmp_path, known):
    chance = np.random.default_rng(0)
    layers = {f"layer{layer}.states": chance.standard_normal((B, STEPS, 2 + layer, D)) for layer in range(2)}
    layers["layer1.states"][:, :, 2, :2] = known["positions"][:, 1:, 0]
    report = probe_trace(kept(tmp_path / "t.npz", known, layers["layer0.states"], **layers))
    assert report["layer0"] == {name: report[name] for name in report["layer0"]}
    assert {"positions", "velocities", "series/indicator"} <= report["layer0"].keys()
    assert report["layer1"]["positions"]["r2"] > 0.99
    assert [r2 > 0.9 for r2 in report["layer1"]["positions"]["modules"]] == [False, False, True]


def test_of_films_without_truth_usage_and_attention_are_told_alone(tmp_path, capsys):
    chance = np.random.default_rng(0)
    above = chance.random((B, STEPS, 2))
    trace = {"layer0.top_down": above, "null_attention": np.ones((B, STEPS, K)), "comm_attention": above}
    trace |= {"layer1.null_attention": np.zeros((B, STEPS, 4)), "layer0.states": np.zeros((B, STEPS, 2, D))}
    report = probe_trace(kept(tmp_path / "t.npz", {}, np.zeros((B, STEPS, K, D)), **trace))
    assert list(report) == ["clips", "steps", "modules", "attention"]
    np.testing.assert_allclose(
        report["attention"].pop("layer0.top_down"), above[:, CONTEXT - 1 :].mean((0, 1)), atol=1e-4
    )
    assert report["attention"] == {"null_attention": [1, 1, 1], "layer1.null_attention": [0, 0, 0, 0]}
    probe(tmp_path / "t.npz")
    out = capsys.readouterr().out
    assert "attention.layer0.top_down  " in out
    assert "\n  top_down        mean share of each module's attention on the layer above\n" in out
    assert "r2" not in out
    active = np.ones((B, STEPS, K), bool)
    report = probe_trace(kept(tmp_path / "u.npz", {}, np.zeros((B, STEPS, K, D)), active=active))
    assert report["usage"] == {"active": [1, 1, 1]}
    with pytest.raises(ValueError, match="TRACE must hold positions, or labels that differ, got none in "):
        probe_trace(kept(tmp_path / "v.npz", {}, np.zeros((B, STEPS, K, D)), comm_attention=above))


def test_what_has_more_than_50_values_is_a_number(tmp_path):
    clip = np.arange(102)
    known = {"labels/kind": clip // 2 % 50, "labels/number": clip // 2}
    report = probe_trace(kept(tmp_path / "t.npz", known, np.zeros((102, STEPS, 2, D))))
    assert [name for name in report if name.startswith("labels/")] == ["labels/kind"]


def test_choices_at_random_tell_as_much_as_by_chance(tmp_path):
    """Six modules with four choices each: most combinations come only once or twice, so that they look pure."""
    chance = np.random.default_rng(0)
    known = {"series/mode": chance.integers(0, 3, (60, STEPS + 1)), "labels/kind": chance.integers(0, 3, 60)}
    states, schema = chance.standard_normal((60, STEPS, 6, D)), chance.integers(0, 4, (60, STEPS, 6))
    for told in probe_trace(kept(tmp_path / "t.npz", known, states, schema=schema))["schema"].values():
        assert told["purity"] > 0.9
        assert told["purity_by_chance"] == pytest.approx(told["purity"], abs=0.02)
        assert told["nmi_by_chance"] == pytest.approx(told["nmi"], abs=0.02)


def test_choices_that_only_tell_clips_apart_tell_as_much_as_by_chance(tmp_path):
    """A combination for each clip, and a label for each clip: the label follows, of any clip."""
    chance = np.random.default_rng(0)
    clip = np.arange(16)
    states, schema = chance.standard_normal((16, STEPS, 4, D)), np.stack([clip >> bit & 1 for bit in range(4)], -1)
    schema = np.repeat(schema[:, None], STEPS, axis=1)
    path = kept(tmp_path / "t.npz", {"labels/kind": chance.integers(0, 2, 16)}, states, schema=schema)
    told = probe_trace(path)["schema"]["labels/kind"]
    assert (told["purity"], told["purity_by_chance"]) == (1, 1)
    assert told["nmi_by_chance"] == told["nmi"]


def test_purity_by_chance_is_a_mean_over_orders(tmp_path):
    """Of three clips, one order in three is the true one, and two clips of three are pure in the others."""
    label = np.array([0, 0, 1])
    schema = np.repeat(label[:, None, None], STEPS, axis=1)
    states = np.zeros((3, STEPS, 1, D))
    told = probe_trace(kept(tmp_path / "t.npz", {"labels/kind": label}, states, schema=schema))["schema"]["labels/kind"]
    assert told["purity_by_chance"] == pytest.approx((1 + 2 * 2 / 3) / 3, abs=0.1)


@pytest.mark.parametrize("films", [1, 3])
def test_what_a_label_of_scenes_in_an_order_tells_by_chance_is_a_matter_of_how_many_they_are(tmp_path, films):
    """Choices are the label, of which the first third of 24 scenes has one value, and so on.

    By chance, Wilks' theorem says about 4 degrees of freedom / (2 · 24 scenes), over an entropy of ln 3. Shuffled clips
    would tell a third of it where scenes have three. The order of the clips is of no matter.
    """
    clips = 24 * films
    label = np.repeat(np.arange(3), clips // 3)
    known, chance = {"labels/kind": label}, np.random.default_rng(2)
    if films > 1:
        known["labels/scene"] = np.arange(clips) // films
    states, schema = chance.standard_normal((clips, STEPS, 2, D)), np.stack([label, label * 0], -1)
    schema = np.repeat(schema[:, None], STEPS, axis=1)
    told = probe_trace(kept(tmp_path / "t.npz", known, states, schema=schema))["schema"]["labels/kind"]
    assert (told["nmi"], told["purity"]) == (1, 1)
    assert told["nmi_by_chance"] == pytest.approx(4 / (2 * 24) / np.log(3), abs=0.03)
    assert told["purity_by_chance"] < 0.6
    if films > 1:
        mixed = chance.permutation(clips)
        known = {name: values[mixed] for name, values in known.items()}
        again = probe_trace(kept(tmp_path / "mixed.npz", known, states, schema=schema[mixed]))
        assert again["schema"]["labels/kind"] == told


def test_what_cannot_be_read_of_places_that_stay_is_null(tmp_path):
    states = np.random.default_rng(0).standard_normal((B, STEPS, K, D))
    report = probe_trace(kept(tmp_path / "t.npz", {"positions": np.zeros((B, CONTEXT + HORIZON, 1, 2))}, states))
    assert report["positions"]["r2"] is None


def test_the_screen_says_what_its_numbers_mean(tmp_path, known, capsys):
    states, schema = np.random.default_rng(0).random((B, STEPS, K, D)), np.zeros((B, STEPS, K), int)
    probe(kept(tmp_path / "some.npz", known, states))
    some = capsys.readouterr().out.split("\n\n")[1]
    probe(kept(tmp_path / "all.npz", known, states, schema=schema))
    told = [line.split()[0] for line in capsys.readouterr().out.split("\n\n")[1].splitlines()]
    assert told == ["r2", "error_px", "error_px_per_frame", "accuracy", "nmi", "purity", "modules", "schema"]
    assert "nmi  " not in some  # nothing was chosen


def test_what_there_is_not_is_a_dash_on_the_screen_with_the_reason_below(tmp_path, capsys):
    states = np.random.default_rng(0).standard_normal((B, STEPS, K, D))
    places = np.random.default_rng(1).random((B, CONTEXT + HORIZON, 1, 2))
    probe(kept(tmp_path / "whole.npz", {"positions": places}, states))
    assert "–" not in capsys.readouterr().out
    places[halves(np.arange(B))[0]] = np.nan
    probe(kept(tmp_path / "t.npz", {"positions": places}, states))
    said = capsys.readouterr().out
    assert "None" not in said
    assert "positions.modules        – – –\n" in said
    assert "\n\n–: no object is in the clips fitted or scored, or what" in said


def test_a_share_that_rounds_to_zero_has_no_sign(tmp_path, monkeypatch):
    monkeypatch.setattr(probing, "probe_labels", lambda *_, **__: LabelProbe(-1e-9, 0.0))
    report = probe_trace(kept(tmp_path / "t.npz", {"labels/kind": np.arange(B) % 2}, np.zeros((B, STEPS, 1, D))))
    assert str(report["labels/kind"]["accuracy"]) == "0.0"


def test_too_few_clips_are_said_to_be(tmp_path, known, capsys):
    """Of modules that know nothing, and of one that knows the place roughly beside them; not where all know it."""
    chance = np.random.default_rng(0)
    few = "comes from too few clips; roll out more"
    states = chance.standard_normal((B, STEPS, K, 40))
    probe(kept(tmp_path / "one.npz", known, states[:, :, :1]))
    assert few in capsys.readouterr().out
    places = known["positions"][:, 1:]
    states[..., :2] = places + 5 * chance.standard_normal((B, STEPS, K, 2))
    probe(kept(tmp_path / "roughly.npz", known, states))
    assert few in capsys.readouterr().out
    states[..., :2] = places
    probe(kept(tmp_path / "exactly.npz", {"positions": known["positions"]}, states[..., :2]))
    assert few not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("together", "alone", "noise"),
    [
        (0.5, [0.4, -0.5], True),
        (0.2, [0.1, 0.6], True),
        (-0.3, [-0.01], True),
        (-0.06, [-0.04], True),
        (0.5, [0.6], True),
        (0.5, [-0.01, 0.53], False),
        (-0.04, [None, -0.01], False),
        (-0.3, [None], False),
    ],
)
def test_a_map_that_is_worse_than_one_of_less_was_fitted_to_noise(together, alone, noise):
    assert _fits_noise({"r2": together, "modules": alone}) == noise


def test_the_steps_before_the_last_observed_frame_do_not_count(tmp_path, known):
    states = np.random.default_rng(0).standard_normal((B, STEPS, K, D))
    other = states.copy()
    other[:, : CONTEXT - 1] = 99
    schema = np.ones((B, STEPS, K), bool)
    files = [tmp_path / "one.npz", tmp_path / "other.npz"]
    reports = [
        probe_trace(kept(path, known, one, active=schema)) for path, one in zip(files, (states, other), strict=True)
    ]
    assert reports[0] == reports[1]


def test_what_cannot_be_probed(tmp_path, known):
    with pytest.raises(FileNotFoundError, match=r"TRACE must be an existing file.*; make it with"):
        probe_trace(tmp_path / "gone.npz")
    np.savez(tmp_path / "other.npz", prediction=np.zeros(3))
    with pytest.raises(
        ValueError,
        match=r"must hold states \(B, T, K, D\) and the number of their context, got prediction in .*other.npz;",
    ):
        probe_trace(tmp_path / "other.npz")
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "text.npz").write_text("no arrays")
    (tmp_path / "half.npz").write_bytes((tmp_path / "other.npz").read_bytes()[:99])
    (tmp_path / "spoilt.npz").write_bytes((tmp_path / "other.npz").read_bytes().replace(b"NUMPY", b"NUMBY"))
    other = r"\(damaged, or of another kind\)"
    for name, why in {"array.npy": other, "text.npz": other, "half.npz": other, "spoilt.npz": r"\(.*\)"}.items():
        with pytest.raises(FaultyFileError, match=f"TRACE must be a whole .npz file, got .*{name} {why}; make it with"):
            probe_trace(tmp_path / name)
    for odd in ({"states": np.zeros((2, 3, 4))}, {"states": np.full((2, 3, 4, 5), "x")}, {"context": "x"}):
        np.savez(tmp_path / "odd.npz", **({"states": np.zeros((B, 6, K, D)), "context": CONTEXT} | odd))
        with pytest.raises(
            FaultyFileError, match=r"TRACE must hold states .*, got states .* and context .* in .*odd.npz"
        ):
            probe_trace(tmp_path / "odd.npz")
    np.savez(tmp_path / "long.npz", states=np.zeros((B, CONTEXT - 1, K, D)), context=CONTEXT)
    with pytest.raises(ValueError, match="must hold steps after the context, got 2 steps of which 3 are context in"):
        probe_trace(tmp_path / "long.npz")
    with pytest.raises(ValueError, match=r"TRACE must hold finite states, got others in .*nan.npz; train again"):
        probe_trace(kept(tmp_path / "nan.npz", known, np.full((B, STEPS, K, D), np.nan)))
    one = {name: values[:1] for name, values in known.items()}
    with pytest.raises(ValueError, match="TRACE must hold two clips at least, got 1; roll out more, by a higher"):
        probe_trace(kept(tmp_path / "one.npz", one, np.zeros((1, STEPS, K, D))))
    for name, truth in {"films.npz": {}, "alike.npz": {"labels/kind": np.ones(B, int)}}.items():
        with pytest.raises(ValueError, match=f"TRACE must hold positions, or labels that differ, got .*{name};"):
            probe_trace(kept(tmp_path / name, truth, np.zeros((B, STEPS, K, D)), attention=np.ones((B, STEPS, K))))
