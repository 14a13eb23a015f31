"""Judging: scores by hand, the rows of the trivial baselines, and what is refused."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from made_up_clips import HEIGHT, WIDTH, Clips, grey, noise
from tiny_runs import tiny_model
from torch import Tensor, nn

from videopred.datasets import find_recipe
from videopred.datasets.recipe_clips import open_recipe
from videopred.eval.settings import Protocol
from videopred.judging import evaluate, imagine, judge
from videopred.judging.baselines import BASELINES
from videopred.judging.evaluating import evaluate_protocol
from videopred.models import build
from videopred.models.predictor import Prediction

ALL_ROWS = ("model", *(name for name, row in BASELINES.items() if not row.needs_physics))


class Fading(nn.Module):
    """A predictor that repeats what it sees, less and less sure of it, and keeps in which mode it was asked."""

    film_shape = (1, HEIGHT, WIDTH)

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(4.0))
        self.modes: list[bool] = []

    def forward(self, film: Tensor, state: Any = None, *, trace: bool = False) -> Prediction:
        self.modes.append(self.training)
        return Prediction((film - 0.5) * self.gain, state, {})


def test_every_row_by_hand():
    """Frames of 2 x 3 pixels, one of context and two to come; BCE of 0.5 is ln 2 a pixel, of a sure mistake 13.8."""
    train = np.array([[[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 1]]], bool)
    test = np.array([[[1, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 1]], [[0, 0, 0], [0, 0, 0]]], bool)
    small = Clips({p: f[None, ..., None].astype(np.uint8) * 255 for p, f in (("train", train), ("test", test))})
    scores = judge(grey, small, Protocol(context=1, horizon=2, metrics=("bce", "mse", "f1")))
    assert tuple(scores.values) == ALL_ROWS
    wrong, right, ln = -np.log(1e-6), -np.log1p(-1e-6), np.log
    # Of the training pixels lit at first, 1 of 2 is lit at step 1, 0 of 2 at step 2; of the dark, 0 of 4, then 2 of 4.
    expected = {
        "model": ([6 * ln(2), 6 * ln(2)], [0.25, 0.25], [2 * 2 / 8, 0]),
        "blank": ([2 * wrong + 4 * right, 6 * right], [2 / 6, 0], [0, 1]),
        "copy last": ([wrong + 5 * right, wrong + 5 * right], [1 / 6, 1 / 6], [2 / 3, 0]),
        "copy last calibrated": (
            [ln(2) + wrong + 4 * right, right + 5 * ln(2)],
            [(0.25 + 1) / 6, 5 * 0.25 / 6],
            [2 / 3, 0],
        ),
    }
    for row, (bce, mse, f1) in expected.items():
        for name, values in (("bce", bce), ("mse", mse), ("f1", f1)):
            np.testing.assert_allclose(scores.values[row][name], values, rtol=1e-5, atol=1e-7, err_msg=f"{row} {name}")
    mean = np.array([2, 1, 0, 0, 1, 1]) / 3  # over the three training frames
    truth = test[1:].reshape(2, 6)
    clipped = mean.clip(1e-6, 1 - 1e-6)
    by_hand = -(truth * ln(clipped) + ~truth * ln(1 - clipped)).sum(axis=1)
    np.testing.assert_allclose(scores.values["mean frame"]["bce"], by_hand, rtol=1e-5)
    np.testing.assert_allclose(scores.values["mean frame"]["mse"], ((mean - truth) ** 2).mean(axis=1), rtol=1e-5)


def test_a_perfect_model_is_perfect(file):
    truth = iter(torch.from_numpy(file.read_frames("test", 0, 7)).movedim(-1, 2).float().div(255).split(3))
    scores = judge(
        lambda _, horizon: next(truth)[:, 2 : 2 + horizon], file, Protocol(context=2, horizon=7), batch_size=3
    )
    model = scores.values["model"]
    np.testing.assert_allclose(model["f1"], 1)
    np.testing.assert_allclose(model["ssim"], 1, atol=1e-6)
    np.testing.assert_allclose(model["mse"], 0)
    np.testing.assert_allclose(model["bce"], 0, atol=1e-6 * HEIGHT * WIDTH * 1.01)


class Films(Clips):
    """Seven films of each of two parts, some of them of one scene."""

    def __init__(self, scenes: list[Any]):
        super().__init__({"train": noise(4, 1), "validation": noise(7, 3), "test": noise(7, 2)})
        self.truth, self.scenes = ("labels/scene",), {"validation": np.array(scenes[::-1]), "test": np.array(scenes)}

    def read(self, part: str, name: str, start: int, stop: int) -> np.ndarray:
        assert name == "labels/scene"
        return self.scenes[part][start:stop]


def test_sums_of_small_numbers_do_not_wrap_around():
    """200 and 60 frames are 260, also where NumPy keeps both in 8 bits."""
    recipe = find_recipe("balls4", frames=260, height=16, width=24)
    file, model = open_recipe(recipe, {"test": 2}, seed=0), build(tiny_model(), (1, 16, 24))
    rollout, truth = imagine(model, file, "test", np.array([1], np.uint8), np.uint8(200), np.uint8(60))
    assert rollout.prediction.shape == truth.shape == (1, 60, 1, 16, 24)


def test_which_clips_are_of_one_scene_is_known_to_scores(file):
    def scenes(of: Any, clips: int | None = None, part: str = "test") -> np.ndarray | None:
        return judge(grey, of, Protocol(context=3, horizon=2, metrics=("mse",), clips=clips, part=part)).scenes

    films = Films([4, 4, 6, 6, 6, 9, 9])
    assert scenes(films).tolist() == [4, 4, 6, 6, 6, 9, 9]
    assert scenes(films, 3).tolist() == [4, 4, 6]
    assert scenes(Films([4.0, 4, 6, 6, 6, 9, 9])).tolist() == [4, 4, 6, 6, 6, 9, 9], "as MATLAB writes numbers"
    assert scenes(films, part="validation").tolist() == [9, 9, 6, 6, 6, 4, 4]
    assert scenes(Films([5, 3, 0, 1, 2, 6, 4])) is None
    assert scenes(Films([[1, 2]] * 7)) is None, "somebody's own label"
    assert scenes(Films([0.2] * 4 + [1.5] * 3)) is None
    for odd in (np.nan, np.inf):
        assert scenes(Films([0.2] * 6 + [odd])) is None
        assert scenes(Films([2.0] * 6 + [odd])) is None
    assert scenes(Films([True] * 3 + [False] * 4)) is None
    assert scenes(file) is None


def test_several_predictions_have_a_row_each_and_those_of_several_seeds_a_mean(file):
    asked = Protocol(context=3, horizon=2, metrics=("mse",))
    shades = {f"shade-{seed}": lambda film, n, by=seed: grey(film, n) * (1 - by / 4) for seed in range(3)}
    scores = judge(shades | {"grey": grey}, file, asked, seeds={"shades": ["shade-2", "shade-0"]})
    assert scores.models == ("shade-0", "shade-1", "shade-2", "grey")
    means = [scores.mean(f"shade-{seed}", "mse") for seed in (0, 2)]
    assert scores.seeds == {"shades": ("shade-2", "shade-0")}
    assert scores.over_seeds("shades", "mse")[0] == pytest.approx(sum(means) / 2)
    alone = judge(grey, file, asked)
    assert (alone.models, alone.seeds) == (("model",), {})
    once = judge(shades, file, asked, seeds={"shades": (name for name in ("shade-2", "shade-0"))})
    assert once.seeds == scores.seeds
    np.testing.assert_array_equal(alone.values["model"]["mse"], scores.values["grey"]["mse"])


@pytest.mark.parametrize(
    ("models", "seeds", "message"),
    [
        (
            {"blank": grey, "b": grey},
            {},
            "models must have other names than the trivial baselines, got blank; choose another",
        ),
        ({"a": grey, "b": grey}, {"both": ["a", "c"]}, "seeds both must be one of a, b, got c; choose one of these"),
        ({"a": grey, "b": grey}, {"both": ["a"]}, "seeds both must name two rows or more, got a; leave it out"),
        ({"a": grey, "b": grey}, {"both": ["a", "a"]}, "seeds both must name each once, got a twice; leave one out"),
        ({"a": grey, "b": grey}, {"a": ["a", "b"]}, "seeds a must be another name than the rows have, got a; rename"),
        ({"a": grey, "b": grey}, {"copy last": ["a", "b"]}, "seeds copy last must be another name than the rows have"),
        (
            {"a": grey, "b": grey, "c": grey},
            {"both": ["a", "b"], "others": ["c", "b"]},
            "seeds others must name rows of no other group, got b, which is in both; leave it out of one",
        ),
    ],
)
def test_rows_that_there_cannot_be_are_refused(file, models, seeds, message):
    """One of a trivial baseline's name would be joined with that."""
    with pytest.raises(ValueError, match=f"^{message}"):
        judge(models, file, Protocol(context=3, horizon=2, metrics=("mse",)), seeds=seeds)


def test_batch_size_changes_nothing(file):
    whole = evaluate(Fading(), file, context=3, horizon=5, batch_size=100)
    for batch_size in (1, 3, 7):
        batched = evaluate(Fading(), file, context=3, horizon=5, batch_size=batch_size)
        for row in ALL_ROWS:
            for name, values in whole.values[row].items():
                np.testing.assert_allclose(batched.values[row][name], values, rtol=1e-12, atol=1e-12)


def test_films_pass_in_batches(file):
    seen = []

    def predict(context: Tensor, horizon: int) -> Tensor:
        seen.append(context.shape)
        return grey(context, horizon)

    scores = judge(predict, file, Protocol(context=3, horizon=5, clips=5), batch_size=2)
    assert seen == [(2, 3, 1, HEIGHT, WIDTH), (2, 3, 1, HEIGHT, WIDTH), (1, 3, 1, HEIGHT, WIDTH)]
    assert scores.protocol.clips == 5


def test_a_model_is_scored_in_evaluation_mode_and_left_as_it_was(file):
    predictor = Fading().train()
    scores = evaluate(predictor, file, context=3, horizon=5, metrics=("mse",))
    assert not any(predictor.modes)
    assert predictor.training
    last = file.read_frames("test", 0, 7)[:, 2:3] / 255
    first = 1 / (1 + np.exp(-(last - 0.5) * 4))
    truth = file.read_frames("test", 0, 7)[:, 3:4] / 255
    np.testing.assert_allclose(scores.values["model"]["mse"][0], ((first - truth) ** 2).mean(), rtol=1e-6)
    assert scores.protocol == Protocol(context=3, horizon=5, metrics=("mse",), clips=7)


def test_a_module_is_asked_in_evaluation_mode_and_left_as_it_was(file):
    class Learning(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.modes = torch.nn.BatchNorm2d(1), []

        def forward(self, context, horizon):
            self.modes.append((self.training, self.norm.training))
            return self.norm(context[:, -1]).sigmoid().unsqueeze(1).expand(-1, horizon, -1, -1, -1)

    model = Learning()
    judge(model, file, Protocol(context=3, horizon=2, metrics=("mse",)))
    assert set(model.modes) == {(False, False)}
    assert (model.training, model.norm.training, model.norm.num_batches_tracked.item()) == (True, True, 0)


def test_a_model_is_scored_where_it_is_and_nowhere_else(file):
    """To name a device would be in vain, so that nobody can."""
    with pytest.raises(TypeError, match="device"):
        evaluate_protocol({"model": Fading()}, file, Protocol(context=3, horizon=5), device="cpu")


def test_the_global_random_stream_is_left_alone_and_cannot_change_scores(file):
    def dice(context: Tensor, horizon: int) -> Tensor:
        return torch.rand(len(context), horizon, 1, HEIGHT, WIDTH)

    results = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        results.append(judge(dice, file, Protocol(context=3, horizon=5)).values["model"]["mse"])
        assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(*results)


def test_scoring_on_the_cpu_leaves_the_streams_of_all_devices_alone(file, monkeypatch):
    """Of two pretended devices, each of which has been used."""
    streams = {0: torch.tensor([7]), 1: torch.tensor([8])}
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: streams[device])
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: streams.update({device: state}))
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda seed: streams.update(dict.fromkeys(streams, seed)))
    judge(grey, file, Protocol(context=3, horizon=5, metrics=("mse",)))
    assert streams == {0: torch.tensor([7]), 1: torch.tensor([8])}


def test_every_batch_and_sample_has_a_stream_of_its_own(file):
    drawn = []

    def dice(context: Tensor, horizon: int) -> Tensor:
        film = torch.rand(len(context), horizon, 1, HEIGHT, WIDTH)
        drawn.append(film[0, 0, 0, 0, 0].item())
        return film

    judge(dice, file, Protocol(context=3, horizon=5, metrics=("mse",), samples=3), batch_size=2)
    assert len(drawn) == len(set(drawn)) == 4 * 3


def test_reference_gives_the_trained_rows(file):
    """Another training part moves the two rows that learn from it, and no other."""
    sparse = Clips({"train": noise(4, 5) * np.uint8(0), "test": noise(2, 6)}, name="sparse.h5")
    own, other = (judge(grey, file, Protocol(context=3, horizon=5), reference=r) for r in (None, sparse))
    assert own.reference == "data/made-up.h5"
    assert other.reference == "data/sparse.h5"
    for row in ALL_ROWS:
        same = np.array_equal(own.values[row]["bce"], other.values[row]["bce"])
        assert same == (row not in ("mean frame", "copy last calibrated"))
    np.testing.assert_array_equal(other.values["mean frame"]["bce"], other.values["blank"]["bce"])


def test_a_metrics_own_settings_are_heeded(file):
    """Of films that are grey everywhere, all is lit or nothing, by where the line is drawn."""
    f1 = {}
    for threshold in (0.25, 0.75):
        asked = Protocol(context=3, horizon=5, metrics=("f1",), metric_settings=(f"f1.threshold={threshold}",))
        f1[threshold] = judge(grey, file, asked).mean("model", "f1")
    assert f1[0.25] > f1[0.75] == 0
    of_model = evaluate(Fading(), file, context=3, horizon=5, metrics=["f1"], metric_settings=["f1.threshold=0.25"])
    assert of_model.protocol.metric_settings == ("f1.threshold=0.25",)


def test_scores_are_of_the_judged_file_and_say_what_a_reader_should_know(file, monkeypatch):
    other = Clips({"train": noise(4, 5)})
    monkeypatch.setattr(other, "fingerprint", lambda: "0f07he2")
    scores = judge(grey, file, Protocol(context=3, horizon=5), reference=other, notes=("made by hand",))
    assert scores.fingerprint == "f1n9e7"
    assert scores.notes == ("made by hand", f"mean frame and copy last calibrated learned from {other.path}")
    assert "made by hand" in scores.table()
    assert judge(grey, file, Protocol(context=3, horizon=5), reference=file).notes == ()
    few = judge(grey, file, Protocol(context=3, horizon=5, clips=2))
    assert (few.protocol.clips, few.clips_in_part) == (2, file.parts["test"])


def test_imagine_rolls_out_the_chosen_clips(file):
    rollout, truth = imagine(Fading(), file, "test", [4, 1], context=3, horizon=5)
    chosen = file.read_frames("test", 0, 7)[[4, 1]] / 255
    np.testing.assert_allclose(truth.movedim(2, -1), chosen[:, 3:8], rtol=1e-6)
    np.testing.assert_allclose(rollout.context.movedim(2, -1), chosen[:, :3], rtol=1e-6)
    assert rollout.prediction.shape == (2, 5, 1, HEIGHT, WIDTH)


def test_what_is_drawn_for_an_imagined_clip_is_of_its_number_and_not_of_its_place(file):
    chosen, every = (
        imagine(Fading(), file, "test", clips, context=3, horizon=5, feedback="sample")[0].prediction
        for clips in ([2, 0], [0, 1, 2])
    )
    torch.testing.assert_close(chosen, every[[2, 0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context": 5}, r"--context plus --horizon must be at most 9, the frames of a clip, got 5 \+ 5 = 10"),
        ({"context": 0}, "--context must be at least 1, got 0"),
        ({"horizon": 0}, "--horizon must be at least 1, got 0"),
        ({"part": "validation"}, "--part must be one of train, test, got validation"),
        ({"metrics": ("bce", "msse")}, r"--metrics must be one of bce, .*, got msse; did you mean mse\?"),
        ({"metrics": ()}, "--metrics must name at least one, got none"),
        ({"first": 8}, "--first must be at most 7, the clips of the test part, got 8; lower it"),
        ({"first": 0}, "first must be at least 1, got 0; leave it out for all"),
        ({"batch_size": 0}, "--batch-size must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_asked(file, change, message):
    with pytest.raises(ValueError, match=message):
        evaluate(Fading(), file, **{"context": 3, "horizon": 5} | change)


def test_what_is_no_model_or_no_list_of_metrics_is_named(file):
    none = "must hold at least one model, got none; give one, or name several"
    with pytest.raises(ValueError, match=f"^predictor {none}"):
        evaluate({}, file, context=3, horizon=5)
    with pytest.raises(ValueError, match=f"^predict {none}"):
        judge({}, file, Protocol(context=3, horizon=5))
    for name in ("", 3):
        with pytest.raises(TypeError, match=f"^seeds must be called by text, got {name!r}; rename the group"):
            evaluate({"a": Fading(), "b": Fading()}, file, context=3, horizon=5, seeds={name: ("a", "b")})
    with pytest.raises(ValueError, match=r"^predictor must have names, got \['', 'b'\]; say what to call each"):
        evaluate({"": Fading(), "b": Fading()}, file, context=3, horizon=5)
    with pytest.raises(TypeError, match=r"^means must be numbers of steps, got \{2: 3\}; write e.g. means="):
        evaluate(Fading(), file, context=3, horizon=5, means={2: 3})
    with pytest.raises(TypeError, match=r"^metrics must be names in a list or tuple, got 'bce'; write \('bce',\)"):
        evaluate(Fading(), file, context=3, horizon=5, metrics="bce")
    with pytest.raises(TypeError, match=r"^metric_settings must be texts in a list or tuple, got 'f1.threshold=.4'"):
        evaluate(Fading(), file, context=3, horizon=5, metric_settings="f1.threshold=.4")
    with pytest.raises(TypeError, match=r"^metrics must be names in a list or tuple, got \{'f1': \{'threshold': 0.1"):
        evaluate(Fading(), file, context=3, horizon=5, metrics={"f1": {"threshold": 0.1}})
    with pytest.raises(TypeError, match=r"^metrics must be names in a list or tuple, got b'ab'; give their names"):
        evaluate(Fading(), file, context=3, horizon=5, metrics=b"ab")
    with pytest.raises(TypeError, match=r"^first must be a whole number, got 2\.5; leave it out for all"):
        evaluate(Fading(), file, context=3, horizon=5, first=2.5)


def test_frames_of_another_shape_name_both(file):
    wide = Clips({"train": noise(2, 0, width=19), "test": noise(2, 1, width=19)})
    message = r"made-up.h5 must hold frames of 1 x 13 x 17 .*, which the model was built for, got 1 x 13 x 19"
    with pytest.raises(ValueError, match=message):
        evaluate(Fading(), wide, context=3, horizon=5)
    with pytest.raises(ValueError, match=message):
        imagine(Fading(), wide, "test", [0], 3, 5)
    colored = Clips({"test": noise(2, 1).repeat(3, axis=-1)})
    with pytest.raises(ValueError, match=r"which the model was built for, got 3 x 13 x 17"):
        evaluate(Fading(), colored, context=3, horizon=5, reference=file)
    with pytest.raises(ValueError, match=r"--reference must hold frames of 1 x 13 x 17 .*, as data/made-up.h5 does"):
        judge(grey, file, Protocol(context=3, horizon=5), reference=wide)


def test_a_reference_needs_a_train_part(file):
    bare = Clips({"test": noise(2, 1)}, name="bare.h5")
    message = r"--reference must have a train part, got data/bare.h5 \(which has test\); trivial baselines learn"
    with pytest.raises(ValueError, match=message):
        evaluate(Fading(), file, context=3, horizon=5, reference=bare)
    alone = evaluate(Fading(), bare, context=3, horizon=5)
    assert list(alone.values) == ["model", "blank", "copy last"]
    (told,) = alone.notes
    assert told == "mean frame and copy last calibrated are left out, as data/bare.h5 has no train part to learn from"
    assert evaluate(Fading(), bare, context=3, horizon=5, reference=file).reference == "data/made-up.h5"
    with pytest.raises(ValueError, match="models must have other names than the trivial baselines, got mean frame"):
        evaluate({"mean frame": Fading()}, bare, context=3, horizon=5)  # other scores of this data may have such a row


def test_a_reference_with_short_clips_is_refused(file):
    short = Clips({"train": noise(2, 1, frames=7)})
    with pytest.raises(ValueError, match="training clips must have 8 frames, got 7; lower --horizon"):
        judge(grey, file, Protocol(context=3, horizon=5), reference=short)


def test_rows_and_columns_that_are_not_there_are_named(file):
    scores = judge({"mine": grey}, file, Protocol(context=3, horizon=5, metrics=("mse",)))
    with pytest.raises(ValueError, match=r"row must be one of mine, blank, .*, got model"):
        scores.mean("model", "mse")
    for ask in (scores.skill, scores.clips_at_steps):
        with pytest.raises(ValueError, match=r"row must be one of mine, blank, .*, got model"):
            ask("model", "mse")
    with pytest.raises(ValueError, match="column must be one of mse, got mes; did you mean mse"):
        scores.label("mes")
    with pytest.raises(ValueError, match="name must be one that is there, got mine; there is none"):
        scores.over_seeds("mine", "mse")
    for ask in (scores.mean, scores.interval, scores.intervals, scores.skill):
        with pytest.raises(ValueError, match="column must be one of mse, got mes; did you mean mse"):
            ask("mine", "mes")


@pytest.mark.parametrize(
    ("clips", "message"),
    [
        ([7], "--clips must lie in 0 to 6, .* got 7"),
        ([3, -1], "--clips must lie in 0 to 6, .* got -1"),
        ([], "got none"),
    ],
)
def test_clips_that_are_not_there_cannot_be_imagined(file, clips, message):
    with pytest.raises(ValueError, match=message):
        imagine(Fading(), file, "test", clips, 3, 5)
    with pytest.raises(TypeError, match=r"^--clips must be numbers of clips, got True; count from 0"):
        imagine(Fading(), file, "test", [2, True], 3, 5)
    with pytest.raises(ValueError, match=r"--context plus --horizon must be at most 9, .* got 4 \+ 6 = 10"):
        imagine(Fading(), file, "test", [0], 4, 6)


@pytest.mark.slow
def test_scoring_loads_no_library_that_other_metrics_need():
    """SciPy takes a fifth of the start of `evaluate`, and is for metrics of objects and for several seeds."""
    code = (
        "import sys, videopred.judging, videopred.judging.drawing; print({'scipy', 'kornia', 'lpips'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_progress_goes_to_stderr(file, capsys):
    judge(grey, file, Protocol(context=3, horizon=5), progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "made-up.h5 test: 100%" in err
