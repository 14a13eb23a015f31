"""Masks that a model itself gives: taken from the right step, of the right frame, and never mixed up with pixels'."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import CODEC, CORE_SIZES, RECIPE
from torch import Tensor
from torchmetrics.functional.clustering import adjusted_rand_score

from videopred.datasets.recipe_clips import RecipeClips, open_recipe
from videopred.eval.baselines import blocks
from videopred.eval.settings import DEFAULT_METRICS, Protocol
from videopred.frames import to_film
from videopred.judging import evaluate, judge
from videopred.judging.evaluating import evaluate_protocol
from videopred.judging.own_masks import masks_of, source_of, usual_metrics
from videopred.models import CORES, build
from videopred.models.codec_settings import MasksConfig, MilaConfig
from videopred.models.predictor import Predictor
from videopred.models.settings import PredictorConfig
from videopred.rollout import roll_out

CONTEXT, HORIZON, CLIPS = 3, 4, 3
NAMES = ("own-fg-ari", "own-fg-ari-clip", "own-miou", "fg-ari")
SHAPE = (1, RECIPE.height, RECIPE.width)


@pytest.fixture(scope="module")
def file() -> RecipeClips:
    return open_recipe(RECIPE, {"train": 2, "test": CLIPS}, seed=1)


def painting() -> Predictor:
    torch.manual_seed(0)
    core = CORES["rims"][0](**CORE_SIZES["rims"])
    return build(PredictorConfig(core=core, codec=CODEC, decoder=MasksConfig()), SHAPE).eval()


def attending() -> Predictor:
    torch.manual_seed(0)
    core = CORES["scoff"][0](**CORE_SIZES["scoff"], input_heads=3)
    return build(PredictorConfig(core=core, codec=CODEC), SHAPE).eval()


def without() -> Predictor:
    return build(PredictorConfig(core=CORES["gru"][0](units=5), codec=CODEC), SHAPE).eval()


def film_of(file: RecipeClips) -> Tensor:
    return to_film(file.read_frames("test", 0, CLIPS))[:, : CONTEXT + HORIZON]


@torch.no_grad()
def expected_masks(model: Predictor, seen: Tensor) -> Tensor:
    """By a plain pass over the frames that the model reads, (B, T, ...): the masks of the last HORIZON frames."""
    trace = model(seen, trace=True).trace
    if "masks" in trace:
        return trace["masks"][:, CONTEXT - 1 : CONTEXT + HORIZON - 1].argmax(2)
    rows, columns = model.encoder.map_shape
    best = trace["input_attention"][:, CONTEXT:].mean(2).argmax(2).unflatten(-1, (rows, columns))
    # Each position is a square of whole pixels here.
    return best.repeat_interleave(SHAPE[1] // rows, 2).repeat_interleave(SHAPE[2] // columns, 3)


def test_positions_of_a_map_that_does_not_divide_the_frame_are_spread_evenly():
    """As that of --codec mila: here three rows in 40 px."""
    torch.manual_seed(0)
    core = CORES["scoff"][0](**CORE_SIZES["scoff"])
    model = build(PredictorConfig(core=core, codec=MilaConfig()), (1, 40, 32)).eval()
    rows, columns = model.encoder.map_shape
    assert (rows, columns) == (3, 2)
    first = torch.tensor([1, 0, 0, 1, 1, 0]) > 0  # where the first module looks; elsewhere it is the second
    attention = torch.zeros(1, 2, 1, 4, rows * columns)
    attention[..., 0, :], attention[..., 1, :] = first, ~first
    [last] = masks_of(model, {"input_attention": attention}, 1)[0]
    down = torch.tensor([0] * 14 + [1] * 13 + [2] * 13)
    across = torch.tensor([0] * 16 + [1] * 16)
    assert torch.equal(last, torch.where(first.view(rows, columns)[down][:, across], 1, 2).to(torch.int16))


def expected_scores(masks: Tensor, true: Tensor) -> np.ndarray:
    """FG-ARI of each step by torchmetrics: the mean over clips that show two objects."""
    steps = []
    for step in range(HORIZON):
        pairs = [(masks[clip, step], true[clip, step]) for clip in range(CLIPS)]
        pairs = [(ours[theirs > 0], theirs[theirs > 0]) for ours, theirs in pairs if len(theirs.unique()) > 2]
        steps.append(np.mean([adjusted_rand_score(*pair).item() for pair in pairs]))
    return np.array(steps)


@pytest.mark.parametrize("feedback", ["soft", "true", "threshold:0.5"])
@pytest.mark.parametrize("make", [painting, attending])
def test_each_frame_is_scored_by_the_masks_that_are_of_it(file, make, feedback):
    model, film = make(), film_of(file)
    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=("mse", *NAMES), feedback=feedback)
    scores = evaluate_protocol({"model": model}, file, asked, batch_size=2, notes=("by hand",))
    assert [note.partition(":")[0] for note in scores.notes] == ["by hand", "own masks of model"]
    seen = film
    if feedback != "true":
        given = film[:, :CONTEXT]
        said = roll_out(model, given, HORIZON, feedback=feedback).prediction
        seen = torch.cat([given, said if feedback == "soft" else (said >= 0.5).float()], 1)
    true = torch.from_numpy(file.read("test", "groups", 0, CLIPS))[:, CONTEXT : CONTEXT + HORIZON].long()
    expected = expected_scores(expected_masks(model, seen), true)
    np.testing.assert_allclose(scores.values["model"]["own-fg-ari"], expected, atol=1e-6)
    assert len(set(expected.tolist())) > 1
    plain = evaluate_protocol({"model": model}, file, asked.model_copy(update={"metrics": ("mse", "fg-ari")}))
    for name in ("mse", "fg-ari"):  # asking for masks changes no picture
        np.testing.assert_allclose(scores.values["model"][name], plain.values["model"][name], rtol=1e-5, atol=1e-7)


def test_masks_that_are_all_equal_say_nothing():
    """The first of equal shares takes every pixel: one heap, and so no better than chance."""
    model = painting()
    trace = {"masks": torch.full((1, 6, 4, *SHAPE[1:]), 0.25)}
    assert masks_of(model, trace, 2).unique().tolist() == [1]


def test_a_pixel_belongs_to_the_largest_share():
    model, shares = painting(), torch.zeros(1, 5, 4, *SHAPE[1:])
    for step in range(5):
        shares[0, step, step % 4, :7] = 1
        shares[0, step, 3, 7:] = 1
    masks = masks_of(model, {"masks": shares}, 3)
    assert masks.shape == (1, 3, *SHAPE[1:])
    assert [masks[0, step, :7].unique().tolist() for step in range(3)] == [[2], [3], [4]]  # steps 1, 2, 3 of 0 to 4
    assert masks[0, 0, 7:].unique().tolist() == [4]


def test_modules_may_be_more_than_a_byte_tells():
    shares = torch.zeros(1, 3, 300, *SHAPE[1:])
    shares[:, :, 299] = 1
    assert masks_of(painting(), {"masks": shares}, 2).unique().tolist() == [300]


def test_rows_without_masks_of_their_own_have_a_dash(file):
    models = {"painter": painting(), "plain": without()}
    scores = evaluate(models, file, context=CONTEXT, horizon=HORIZON, metrics=NAMES)
    assert np.isfinite(scores.mean("painter", "own-miou"))
    assert all(np.isnan(scores.mean(row, name)) for row in ("plain", "copy last") for name in NAMES[:3])
    assert scores.notes == ("own masks of painter: its decoder's", "own masks of plain: it has none")
    line = next(line for line in scores.table().splitlines() if line.startswith("plain"))
    assert line.split()[1:4] == ["–"] * 3
    told = (
        "own FG-ARI       of the model's own masks (each pixel is of the module with the largest share; of blank, a g"
    )
    assert told in scores.table()


def test_attention_says_how_coarse_its_map_is(file):
    scores = evaluate(attending(), file, context=CONTEXT, horizon=HORIZON, metrics=("own-miou",))
    rows, columns = attending().encoder.map_shape
    assert scores.notes == (
        f"own masks of model: where its modules attend on a map of {rows} x {columns} positions, enlarged",
    )


def test_who_has_masks():
    assert [source_of(one) for one in (painting(), attending(), without(), torch.nn.Linear(2, 3))] == [
        "decoder", "attention", None, None
    ]  # fmt: skip


def test_a_decoder_of_masks_has_its_segmentation_among_the_usual_scores(file):
    asked = {"context": CONTEXT, "horizon": HORIZON}
    assert list(evaluate(painting(), file, **asked).metrics) == ["bce", "mse", "ssim", "f1", "own-fg-ari", "own-miou"]
    assert list(evaluate(without(), file, **asked).metrics) == ["bce", "mse", "ssim", "f1"]


def test_segmentation_is_usual_if_one_of_several_paints_and_the_file_knows_objects(file, monkeypatch):
    models = [without().config, painting().config]
    assert usual_metrics(models, file)[-2:] == ("own-fg-ari", "own-miou")
    bare = open_recipe(RECIPE, {"test": CLIPS}, seed=1)
    monkeypatch.setattr(type(bare), "places_known", False)
    assert usual_metrics(models, bare)[-2:] == ("own-fg-ari", "own-miou")
    bare.truth = tuple(truth for truth in file.truth if truth != "groups")
    assert usual_metrics(models, bare) == DEFAULT_METRICS


def test_own_masks_are_held_against_true_masks_alone(file, monkeypatch):
    """A file of others may know no positions, or have them in other units."""
    asked: dict[str, Any] = {"context": CONTEXT, "horizon": HORIZON}
    told = evaluate(painting(), file, **asked, metrics=NAMES)
    bare = open_recipe(RECIPE, {"train": 2, "test": CLIPS}, seed=1)
    bare.truth = tuple(truth for truth in file.truth if truth == "groups")
    monkeypatch.setattr(type(bare), "places_known", False)
    alone = evaluate(painting(), bare, **asked, metrics=NAMES[:3])
    for row in ("model", "blank"):
        for name in NAMES[:3]:
            np.testing.assert_array_equal(alone.values[row][name], told.values[row][name])
    with pytest.raises(ValueError, match="got fg-ari, which needs positions"):
        evaluate(painting(), bare, **asked, metrics=NAMES)


def test_the_own_masks_of_a_blank_film_are_blocks(file):
    """Of clips with two balls, three; see below for others."""
    scores = evaluate(painting(), file, context=CONTEXT, horizon=HORIZON, metrics=NAMES)
    true = torch.from_numpy(file.read("test", "groups", 0, CLIPS)).long()
    thirds = torch.arange(SHAPE[2]) * 3 // SHAPE[2]
    expected = expected_scores(thirds.expand(CLIPS, HORIZON, *SHAPE[1:]), true[:, CONTEXT : CONTEXT + HORIZON])
    np.testing.assert_allclose(scores.values["blank"]["own-fg-ari"], expected, atol=1e-6)
    plain = evaluate(painting(), file, context=CONTEXT, horizon=HORIZON, metrics=("mse", "fg-ari"))
    np.testing.assert_array_equal(plain.values["blank"]["fg-ari"], scores.values["blank"]["fg-ari"])


@pytest.mark.parametrize(
    ("count", "grid"),
    [
        (1, [[1] * 6] * 4),
        (2, [[1] * 3 + [2] * 3] * 4),
        (5, [[1] * 3 + [2] * 3] * 2 + [[3, 3, 4, 4, 5, 5]] * 2),
        (6, [[1, 1, 2, 2, 3, 3]] * 2 + [[4, 4, 5, 5, 6, 6]] * 2),
    ],
)
def test_blocks_are_one_more_than_objects(count, grid):
    masks = torch.zeros(2, 3, 4, 6, dtype=torch.int16)
    masks[1, 2].view(-1)[: count - 1] = 3 * torch.arange(1, count)  # as numbers in files of others may have gaps
    found = blocks(masks)
    assert found.shape == masks.shape
    assert found[0].unique().tolist() == [1], "a clip without objects is one block"
    assert found[1].tolist() == [grid] * 3


@pytest.mark.parametrize("feedback", ["soft", "true"])
def test_a_function_gives_its_masks_beside_its_films(file, feedback):
    true = torch.from_numpy(file.read("test", "groups", 0, CLIPS)).long()

    def knows(context: Tensor, horizon: int) -> tuple[Tensor, Tensor]:
        start = context.shape[1]
        return context[:, -1:].expand(-1, horizon, -1, -1, -1), true[:, start : start + horizon] + 1

    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=NAMES, feedback=feedback)
    scores = judge({"knows": knows, "shows": lambda *given: knows(*given)[0]}, file, asked, batch_size=CLIPS)
    assert {scores.mean("knows", name) for name in NAMES[:3]} == {1.0}
    assert all(np.isnan(scores.mean("shows", name)) for name in NAMES[:3])
    assert [note for note in scores.notes if "masks" in note] == ["own masks of shows: it has none"]
    plain = judge({"shows": lambda *given: knows(*given)[0]}, file, asked.model_copy(update={"metrics": ("mse",)}))
    assert not [note for note in plain.notes if "masks" in note]


@pytest.mark.parametrize("feedback", ["soft", "true"])
@pytest.mark.parametrize("first", [True, False])
def test_a_function_that_gives_masks_only_at_times_is_told(file, feedback, first):
    calls = []

    def wavers(context: Tensor, horizon: int) -> Any:
        calls.append(horizon)
        film = context[:, -1:].expand(-1, horizon, -1, -1, -1)
        return (film, film[:, :, 0].long()) if (len(calls) == 1) == first else film

    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=("own-miou",), feedback=feedback)
    assert "own masks of model: it has none of some frames" in judge(wavers, file, asked, batch_size=2).notes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            lambda film: (film, film),
            "masks of model must be a tensor of whole numbers, got torch.float32; give the num",
        ),
        (lambda film: (film, None), "masks of model must be a tensor of whole numbers, got NoneType; give the number"),
        (
            lambda film: (film, film[:, :, 0] > 0),
            "masks of model must be a tensor of whole numbers, got torch.bool; give",
        ),
        (
            lambda film: (film,),
            "prediction of model must be a film, or a film and masks, got 1 things in a tuple; give the film",
        ),
        (
            lambda film: (film, film[:, :, 0].long(), film),
            "prediction of model must be a film, or a film and masks, got 3 things in a tuple; give the film",
        ),
        (
            lambda film: (film, film[:, :, 0] * 1j),
            "masks of model must be a tensor of whole numbers, got torch.complex",
        ),
        (lambda film: (1, film[:, :, 0].long()), "prediction of model must be a tensor, got int"),
    ],
)
def test_what_is_no_film_with_masks_is_refused(file, given, message):
    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=("own-miou",))
    with pytest.raises(TypeError, match=message):
        judge(lambda context, horizon: given(context[:, -1:].expand(-1, horizon, -1, -1, -1)), file, asked)


@pytest.mark.parametrize(
    "cut",
    [
        lambda masks: masks[:, 0],
        lambda masks: masks[:, 1:],
        lambda masks: masks[1:],
        lambda masks: masks[..., 1:],
        lambda masks: masks.unsqueeze(2),
    ],
)
def test_masks_of_other_frames_than_the_films_are_refused(file, cut):
    def predict(context: Tensor, horizon: int) -> tuple[Tensor, Tensor]:
        film = context[:, -1:].expand(-1, horizon, -1, -1, -1)
        return film, cut(film[:, :, 0].long())

    got = tuple(cut(torch.empty(CLIPS, HORIZON, *SHAPE[1:])).shape)
    message = f"^masks of model must be {(CLIPS, HORIZON, *SHAPE[1:])}, as its films, got {got}; give one number for"
    with pytest.raises(ValueError, match=re.escape(message[1:])):
        judge(predict, file, Protocol(context=CONTEXT, horizon=HORIZON, metrics=("own-miou",)))


def test_masks_of_pixels_that_are_drawn_are_of_the_clip_s_own_chance(file):
    asked = {"context": CONTEXT, "horizon": HORIZON, "metrics": ("mse", "own-miou"), "feedback": "sample"}
    whole, parts = (evaluate(painting(), file, batch_size=size, **asked).values["model"] for size in (3, 2))
    for name in ("mse", "own-miou"):
        np.testing.assert_allclose(parts[name], whole[name], rtol=1e-5)


def test_asking_for_masks_changes_no_film_that_is_drawn(file):
    """Of each of several samples the pixels are those that are drawn without."""
    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=("mse",), feedback="sample", samples=2)
    plain = evaluate_protocol({"model": painting()}, file, asked)
    masks = evaluate_protocol({"model": painting()}, file, asked.model_copy(update={"metrics": ("mse", "own-miou")}))
    assert len(plain.metrics) > 1
    for column in plain.metrics:
        np.testing.assert_allclose(masks.values["model"][column], plain.values["model"][column], rtol=1e-5)


def test_masks_that_nobody_gives_are_refused(file):
    message = "--metrics must be of masks that a model gives, got own-miou, and model has none; leave it out, or train"
    with pytest.raises(ValueError, match=message):
        evaluate(without(), file, context=CONTEXT, horizon=HORIZON, metrics=("mse", "own-miou"))
