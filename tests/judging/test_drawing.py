"""Views to draw: of which clips, over which frames, with what is known of them, and under an intervention."""

import h5py
import numpy as np
import pytest
import torch
from slow_proofs import slow
from tiny_runs import CLIPS, RECIPE, tiny_data, tiny_model

from videopred import models
from videopred.datasets import DATASETS, open_dataset
from videopred.datasets.generation import generate
from videopred.datasets.motion import MODES
from videopred.datasets.switching import AXES
from videopred.experiments.figures import PAPER_FIGURES
from videopred.judging import drawing, imagine
from videopred.judging.choosing import clip_scores, extreme_clips
from videopred.judging.drawing import render
from videopred.judging.predicting import function_predictor
from videopred.judging.views import views_of
from videopred.models.intervention_settings import Intervention
from videopred.models.interventions import intervene, without_each
from videopred.rendering.clip_view import view_of_rollout
from videopred.rendering.planning import new_paths
from videopred.rendering.settings import ClipChoice, PictureConfig


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model, and a file of as many clips for validation as for tests."""
    clips = CLIPS | {"validation": CLIPS["test"]}
    file = open_dataset(tiny_data(tmp_path_factory.mktemp("drawing"), clips))
    torch.manual_seed(0)
    return models.build(tiny_model("rims"), (1, file.height, file.width)), file


@pytest.fixture
def written(monkeypatch) -> list:
    """The views that are drawn, each with its paths, rows and other words; what is written of them is empty."""
    asked: list = []

    def draw(view, paths, rows, **more):
        asked.append((view, paths, rows, more))
        return dict.fromkeys(paths, b"")

    monkeypatch.setattr(drawing, "draw_view", draw)
    return asked


@pytest.mark.parametrize("part", ["test", "validation"])
def test_a_view_is_of_its_own_clip(place, part):
    predictor, file = place
    for view, clip in zip(views_of(predictor, file, part, [4, 1], 3, 5), [4, 1], strict=True):
        assert view.context == 3
        np.testing.assert_array_equal(view.truth, file.read_frames(part, clip, clip + 1)[0, :8])
        np.testing.assert_array_equal(view.masks, file.read(part, "groups", clip, clip + 1)[0, :8])
        assert set(view.truths) == {"positions", "visibility/fraction"}
        for name, known in view.truths.items():
            np.testing.assert_array_equal(known, file.read(part, name, clip, clip + 1)[0, :8])
        assert view.map_shape == predictor.encoder.map_shape
        assert (view.changed, dict(view.changed_trace)) == (None, {})
        (alone,) = views_of(predictor, file, part, [clip], 3, 5, Intervention())
        np.testing.assert_array_equal(alone.prediction, view.prediction)


def views_of_one_ball(folder, preset: str, clips: list[int]) -> list:
    """Of a small film of one ball, in the clips that figures of SCOFF draw."""
    recipe = DATASETS[preset].recipe.model_copy(update={"frames": 9, "height": 24, "width": 32})
    file = open_dataset(generate(preset, {"test": 5}, recipe=recipe, out=folder))
    return views_of(models.build(tiny_model("gru"), (1, 24, 32)), file, "test", clips, 3, 6)


def test_what_others_call_a_mode_is_no_motion(tmp_path):
    clips, height, width = 2, 16, 24
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["test/features"] = np.zeros((9, clips, height, width, 1), bool)
        file["test/labels/mode"], file["test/series/indicator"] = np.full(clips, 70), np.full((9, clips), 0.5)
    model = models.build(tiny_model(), (1, height, width))
    [view] = views_of(model, open_dataset(tmp_path / "x.h5"), "test", [1], 3, 4)
    assert "motion" not in view.truths


def test_a_motion_is_the_one_that_its_positions_show(tmp_path):
    clips = [0, 2, 4]
    for panel in PAPER_FIGURES["scoff-figure-3"].panels:
        assert panel.drawn == ("--clips", *map(str, clips))
    shown = []
    for view in views_of_one_ball(tmp_path, "motion3", clips):
        (word,) = set(view.truths["motion"])
        changes = np.diff(view.truths["positions"][:, 0], n=2, axis=0)
        even = np.allclose(changes, changes[0], atol=1e-4)
        assert word == ("walk" if not even else "constant" if np.allclose(changes, 0, atol=1e-4) else "accelerate")
        shown.append(word)
    assert sorted(shown) == sorted(MODES)


def test_a_switch_stands_at_the_frame_to_which_the_ball_first_moved_otherwise(tmp_path):
    clips = [0, 2]
    for panel in PAPER_FIGURES["scoff-figure-15"].panels:
        assert panel.drawn == ("--clips", *map(str, clips))
    firsts = []
    for view in views_of_one_ball(tmp_path, "switching", clips):
        steps = np.abs(np.diff(view.truths["positions"][:, 0], axis=0))
        np.testing.assert_array_equal(view.truths["motion"][1:], np.array(AXES)[steps.argmax(1)])
        firsts.append(view.truths["motion"][0])
    assert sorted(firsts) == sorted(AXES)


def test_a_ball_that_switches_at_once_came_to_its_first_frame_as_it_goes_on_from_there(tmp_path):
    """There is no frame before it; what the ball does from the second on is told at the third."""
    recipe = DATASETS["switching"].recipe.model_copy(update={"frames": 9, "height": 24, "width": 32, "switch": (1, 1)})
    file = open_dataset(generate("switching", {"test": 2}, recipe=recipe, out=tmp_path))
    for view in views_of(models.build(tiny_model("gru"), (1, 24, 32)), file, "test", [0, 1], 3, 6):
        first, second, *later = view.truths["motion"]
        assert first == second
        assert {*later} == {*AXES} - {first}


def test_a_view_knows_what_the_model_says_of_schemata_and_strips(place):
    _, file = place
    striped = models.build(tiny_model("rims", reads="strips"), (1, file.height, file.width))
    striped.core.schema_count = 7  # as a core of one's own may say that traces no weights
    ((view,), (usual,)) = (views_of(one, file, "test", [1], 3, 5) for one in (striped, place[0]))
    assert (view.strips, usual.strips) == ([(0, 6), (6, 12), (12, 18), (18, 24)], None)
    assert (view.schema_count, usual.schema_count) == (7, 0)


def test_what_a_function_draws_by_chance_is_of_the_clip_alone(place):
    _, file = place

    def draw(film, horizon):
        assert not torch.is_grad_enabled(), "which takes memory"
        return torch.rand(len(film), horizon, *film.shape[2:])

    noise, before = function_predictor("noise", draw), torch.get_rng_state()
    both = [view.prediction for view in views_of(noise, file, "test", [4, 1], 3, 5)]
    assert torch.equal(torch.get_rng_state(), before)
    for clip, drawn in zip([4, 1], both, strict=True):
        torch.rand(3)
        (alone,) = views_of(noise, file, "test", [clip], 3, 5)
        np.testing.assert_array_equal(alone.prediction, drawn)
    assert not np.array_equal(both[0][3:], both[1][3:])
    assert np.isfinite(clip_scores(noise, file, "test", "mse", 3, 5)).all()


def test_under_an_intervention_the_other_rollout_stands_beside(place):
    predictor, file = place
    clips = [2, 0]
    usual = views_of(predictor, file, "test", clips, 3, 5)
    happened = np.min([view.trace["active"][3:].sum(0) for view in usual], 0)
    without = Intervention(without=(int(happened.argmax()),))  # one that is missed in both
    rollout, truth = imagine(intervene(predictor, without, 3), file, "test", clips, 3, 5)
    for i, view in enumerate(views_of(predictor, file, "test", clips, 3, 5, without)):
        expected = view_of_rollout(rollout, truth, i)
        np.testing.assert_array_equal(view.changed, expected.prediction)
        assert view.intervention == (f"without {without.without[0]}",)
        np.testing.assert_array_equal(view.changed_trace["active"], expected.trace["active"])
        np.testing.assert_array_equal(view.prediction, usual[i].prediction)
        np.testing.assert_array_equal(view.trace["active"], usual[i].trace["active"])
        assert not np.array_equal(view.changed_trace["active"], view.trace["active"], equal_nan=True)


def test_a_view_of_a_rollout_is_of_its_own_clip_in_what_the_model_did_too(place):
    predictor, file = place
    rollout, truth = imagine(predictor, file, "test", [2, 0, 1], 3, 5)
    attention = rollout.trace["input_attention"].numpy()
    assert not np.array_equal(attention[0], attention[1])
    for i in range(3):
        found = view_of_rollout(rollout, truth, i).trace["input_attention"]
        assert np.isnan(found[0]).all()
        np.testing.assert_array_equal(found[1:], attention[i])


@pytest.mark.parametrize("metric", ["mae", "psnr"])
@pytest.mark.parametrize("which", ["worst", "best"])
def test_the_worst_and_the_best_are_drawn_first_to_last(place, written, tmp_path, which, metric):
    predictor, file = place
    scores = clip_scores(predictor, file, "test", metric, 3, 5, first=4)
    expected = extreme_clips(scores, metric, which, 2)
    choice = ClipChoice(by=metric, first=4, **{which: 2})
    render(predictor, file, clips=choice, context=3, horizon=5, out=tmp_path / "seen")
    assert [paths[0].stem for _, paths, *_ in written] == [f"test-{clip}" for clip in expected]
    for (view, *_), clip in zip(written, expected, strict=True):
        np.testing.assert_array_equal(view.truth, file.read_frames("test", clip, clip + 1)[0, :8])


def test_several_models_stand_beside_one_another_and_the_first_chooses(place, written, monkeypatch, tmp_path):
    predictor, file = place
    torch.manual_seed(1)
    other = models.build(tiny_model("gru"), (1, file.height, file.width))
    how = {"context": 3, "horizon": 5}
    expected = extreme_clips(clip_scores(other, file, "test", "mse", 3, 5), "mse", "worst", 1)
    render({"B": other, "A": predictor}, file, clips=ClipChoice(worst=1), **how, out=tmp_path / "seen")
    ((view, paths, rows, _),) = written
    assert [paths[0].stem, rows] == [f"test-{expected[0]}", ("truth", "pred")]
    assert [one.model for one in view.of_each] == ["B", "A"]
    for one, alone in zip(view.of_each, (other, predictor), strict=True):
        (usual,) = views_of(alone, file, "test", expected, 3, 5)
        np.testing.assert_array_equal(one.prediction, usual.prediction)
        assert one.trace.keys() == usual.trace.keys()
    render({"A": predictor}, file, clips=[0], **how, out=tmp_path / "alone")
    view, _, rows, _ = written[1]
    assert (view.model, view.beside, rows) == ("", (), ("truth", "pred", "diff"))
    asked = []
    monkeypatch.setattr(drawing, "draw_figure", lambda *words: asked.append(words) or {})
    strip = PictureConfig(figure="strip")
    render({"A": predictor, "B": other}, file, clips=[0, 2], picture=strip, **how, out=tmp_path / "strips")
    assert [[one.model for one in views[0].of_each] for _, views, _ in asked] == [["A", "B"]] * 2


_OF_ONE = {
    "--without": {"without": (1,)},
    "--freeze": {"freeze": (1,)},
    "--swap": {"swap": ("0,1",)},
    "--schema": {"force_schema": 0},
}


def test_a_model_that_was_built_for_other_frames_is_named(place, tmp_path):
    predictor, file = place
    other = models.build(tiny_model("gru"), (3, file.height, file.width))
    with pytest.raises(ValueError, match=r"must hold frames of 3 x .*, which theirs was built for, got 1 x "):
        render({"ours": predictor, "theirs": other}, file, out=tmp_path / "x")


def test_what_is_of_one_model_is_refused_for_several(place, tmp_path):
    predictor, file = place
    both = {"A": predictor, "B": predictor}
    with pytest.raises(ValueError, match="--figure must be strip with several runs or films, got activation"):
        render(both, file, picture=PictureConfig(figure="activation"), out=tmp_path / "x")
    for flag, silenced in _OF_ONE.items():
        with pytest.raises(ValueError, match=f"^{flag} must be left out with several runs or films, got both"):
            render(both, file, intervention=Intervention(**silenced), out=tmp_path / "x")
    with pytest.raises(ValueError, match=r"^predictor must hold at least one model, got none"):
        render({}, file, out=tmp_path / "x")
    with pytest.raises(ValueError, match=r"^predictor must have names, got \['']; say what to call each"):
        render({"": predictor}, file, out=tmp_path / "x")


def test_without_words_the_first_three_clips_are_drawn_over_the_datas_own_frames(place, written, tmp_path):
    predictor, file = place
    made = render(predictor, file, out=tmp_path / "seen", part="train", picture=PictureConfig(frame_ms=70))
    assert [paths[0].stem for _, paths, *_ in written] == ["train-0", "train-1", "train-2"]
    assert made == [path for _, paths, *_ in written for path in paths]
    for view, _, rows, more in written:
        assert (view.context, len(view.truth)) == (file.context, file.context + file.horizon)
        assert (rows, more) == (PictureConfig().row_names(changed=False), {"frame_ms": 70})


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"intervention": Intervention(without=(1,), from_step=6)}, "^--from-step must be at most 5, the steps of"),
        (
            {"picture": PictureConfig(figure="strip"), "intervention": Intervention(without=(1,))},
            "^--figure must be left out with an intervention, got strip; a figure",
        ),
    ],
)
def test_an_intervention_that_would_not_be_seen_is_refused_from_python_too(place, tmp_path, how, message):
    with pytest.raises(ValueError, match=message):
        render(*place, clips=[0], context=3, horizon=5, out=tmp_path / "x", **how)


def test_frames_may_be_counted_in_small_numbers_of_numpy(place, written, tmp_path):
    """Whose sum would be negative."""
    recipe = RECIPE.model_copy(update={"frames": 131})
    file = open_dataset(generate("balls4", {"test": 1}, recipe=recipe, out=tmp_path / "long.h5"))
    how = {"context": np.int8(70), "horizon": np.int8(60), "out": tmp_path / "x"}
    render(lambda film, horizon: film[:, :horizon], file, clips=[0], **how)
    ((view, *_),) = written
    np.testing.assert_array_equal(view.truth, file.read_frames("test", 0, 1)[0, :130])
    np.testing.assert_array_equal(view.prediction[70:], view.truth[:60])
    _, truth = imagine(place[0], file, "test", [0], how["context"], how["horizon"])
    assert truth.shape[1] == 60


@pytest.mark.parametrize("name", ["balls-0.5", "v2.gif"])
def test_a_folder_may_have_an_ending(place, written, tmp_path, name):
    """As that of results on balls-0.5.h5, or one that is there."""
    folder = tmp_path / name
    if name == "v2.gif":
        folder.mkdir()
    assert render(*place, clips=[1, 3], out=folder)[::2] == [folder / "test-1.gif", folder / "test-3.gif"]


@pytest.mark.parametrize("clips", [np.array([3, 1]), [np.int64(3), np.int16(1)]])
def test_clips_may_be_numbers_of_numpy(place, written, tmp_path, clips):
    """As np.argsort gives them."""
    made = render(*place, clips=clips, out=tmp_path / "x")
    assert made[::2] == [tmp_path / "x" / "test-3.gif", tmp_path / "x" / "test-1.gif"]


def test_an_intervention_has_its_rows(place, written, tmp_path):
    predictor, file = place
    render(predictor, file, clips=[0], intervention=Intervention(without=(1,)), out=tmp_path / "seen")
    ((view, _, rows, _),) = written
    assert view.changed is not None
    assert rows == PictureConfig().row_names(changed=True) != PictureConfig().row_names(changed=False)


def test_one_figure_of_several_clips_may_go_to_one_file(tmp_path):
    out, of_all = tmp_path / "x.svg", PictureConfig(figure="mask-out")
    assert new_paths(out, "test", [1, 3], of_all, False) == [[out]]
    assert [len(paths) for paths in new_paths(tmp_path, "test", [1, 3], of_all, False)] == [3]
    with pytest.raises(ValueError, match=r"^--out must be a folder for several clips, got .*x\.svg; give a folder"):
        new_paths(out, "test", [1, 3], PictureConfig(figure="strip"), False)


def test_masking_out_draws_the_model_and_it_without_each_module(place, monkeypatch, tmp_path):
    predictor, file = place
    asked, part = [], "validation"
    monkeypatch.setattr(drawing, "draw_figure", lambda *words: asked.append(words) or {})
    figure = PictureConfig(figure="mask-out")
    render(predictor, file, part=part, clips=[3], context=3, horizon=5, picture=figure, out=tmp_path / "x")
    ((name, views, _),) = asked
    assert (name, len(views)) == ("mask-out", 1 + 4)
    (usual,) = views_of(predictor, file, part, [3], 3, 5)
    np.testing.assert_array_equal(views[0].prediction, usual.prediction)
    for made, of in zip(views, (predictor, *without_each(predictor, 3)), strict=True):
        rollout, truth = imagine(of, file, part, [3], 3, 5)
        exact = ((rollout.prediction.double() - truth.double()) ** 2).mean().item()
        assert made.error == pytest.approx(exact, rel=1e-6), "not of the prediction rounded to pixels"
    assert all(np.array_equal(view.truth, usual.truth) for view in views)
    asked.clear()
    render(
        predictor,
        file,
        clips=[3, 0],
        context=3,
        horizon=5,
        picture=PictureConfig(figure="activation"),
        out=tmp_path / "y",
    )
    assert [len(views) for _, views, _ in asked] == [1, 1]


@pytest.mark.parametrize("old", [("test-0.gif", "test-4.gif"), *slow(((),))], ids=["replaced", "new"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, *slow(OSError("no space left"))], ids=["stopped", "failed"])
def test_pictures_come_together_or_not_at_all(place, monkeypatch, tmp_path, old, stop):
    out, kept = tmp_path / "seen", drawing.draw_view

    def draw(view, paths, *others, **more):
        if paths[0].stem == "test-4":
            assert len(list(out.glob(".test-*.partial"))) == 4, "those before are kept in memory"
            raise stop
        return kept(view, paths, *others, **more)

    if old:
        out.mkdir()
    for name in old:
        (out / name).write_text("old")
    how = {"clips": [0, 1, 4], "context": 3, "horizon": 5, "out": out, "overwrite": bool(old)}
    with monkeypatch.context() as patch:
        patch.setattr(drawing, "draw_view", draw)
        with pytest.raises((KeyboardInterrupt, OSError), match=r"^(no space left)?$"):
            render(*place, **how)
    assert out.exists() == bool(old)
    assert {path.name: path.read_text() for path in out.glob("*")} == dict.fromkeys(old, "old")
    made = render(*place, **how)
    assert made == [out / f"test-{clip}.{kind}" for clip in (0, 1, 4) for kind in ("gif", "png")]
    assert [path.read_bytes()[:4] for path in sorted(out.iterdir())] == 3 * [b"GIF8", b"\x89PNG"]


def test_of_two_renders_at_once_only_one_comes_to_its_end(place, monkeypatch, tmp_path):
    """Both found the folder empty."""
    kept, how = drawing.draw_view, {"context": 3, "horizon": 5, "out": tmp_path}

    def draw(view, paths, *others, **more):
        if paths[0].stem == "test-1":
            monkeypatch.setattr(drawing, "draw_view", kept)
            other.extend(path.read_bytes() for path in render(*place, clips=[0], **how))
        return kept(view, paths, *others, **more)

    other: list[bytes] = []
    monkeypatch.setattr(drawing, "draw_view", draw)
    with pytest.raises(FileExistsError, match=r"^--out must be a new path, got .*test-0\.gif \(already there\);"):
        render(*place, clips=[0, 1], **how)
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == other


def test_no_clip_at_all_is_refused(place, tmp_path):
    with pytest.raises(ValueError, match="--clips must name at least one, got none; leave it out"):
        render(*place, clips=[], out=tmp_path / "seen")
    for none in (set(), (number for number in ()), np.array([], int), torch.tensor([], dtype=torch.int64)):
        with pytest.raises(ValueError, match="--clips must name at least one, got none; leave it out"):
            render(*place, clips=none, out=tmp_path / "seen")  # type: ignore[arg-type]
    for wrong in ({}, {0: "a"}, "01"):
        with pytest.raises(TypeError, match=r"^--clips must be numbers of clips, got .*; write e\.g\. \(0, 1\)"):
            render(*place, clips=wrong, out=tmp_path / "seen")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"--clips must be numbers of clips, got 0; write \(0,\)"):
        render(*place, clips=0, out=tmp_path / "seen")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^--clips must be numbers of clips, got 0; write \(0,\)"):
        render(*place, clips=np.int64(0), out=tmp_path / "seen")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="--part must be one of"):
        render(*place, part="tset", out=tmp_path / "seen")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"horizon": 0}, "^--horizon must be at least 1, got 0"),
        ({"context": 0}, "^--context must be at least 1, got 0"),
    ],
)
def test_frames_to_give_and_predict_are_checked_first(place, tmp_path, how, message):
    predictor, file = place
    with pytest.raises(ValueError, match=message):
        render(predictor, file, **({"context": 3, "horizon": 5} | how), out=tmp_path)
