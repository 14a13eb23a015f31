"""Pictures of surprise: the films are in them pixel by pixel, curves grow, and the trick is where it happens."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor
from user_styles import in_style

from videopred.datasets import open_dataset
from videopred.datasets.generation import generate
from videopred.datasets.intphys_export import export_intphys
from videopred.datasets.quadruplets import Quadruplets, open_quadruplets
from videopred.datasets.settings import OcclusionConfig
from videopred.eval.plausibility_scores import PlausibilityScores
from videopred.eval.plausibility_settings import PlausibilityConfig
from videopred.plots.surprise_curves import (
    CALM,
    IMPOSSIBLE,
    OTHER,
    POSSIBLE,
    _plot,
    draw_scenes,
    pairs_of,
    scene_gif_frames,
    scene_still,
)
from videopred.rendering.lettering import text_width
from videopred.rendering.page import LETTERS, Page
from videopred.surprise import judge_scorer, score_file

HEIGHT, WIDTH, FRAMES = 26, 38, 31


def moving(film: Tensor) -> Tensor:
    """How much changes from frame to frame."""
    return (film[:, 1:] - film[:, :-1]).double().square().sum((2, 3, 4))


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("films")
    recipe = OcclusionConfig(frames=FRAMES, height=HEIGHT, width=WIDTH, blocks=("O1",), objects=(1,))
    data = generate("occlusion", {"test": 8}, recipe=recipe, out=folder / "films.h5", seed=3)
    export_intphys(open_dataset(data), folder / "folder")
    export_intphys(open_dataset(data), folder / "unlabelled", unlabelled=True)
    return folder


def judged(path: Path, **more: int) -> tuple[PlausibilityScores, Quadruplets]:
    films = open_quadruplets(path, height=HEIGHT, width=WIDTH, every=more.pop("every", 1))
    return judge_scorer(moving, films, PlausibilityConfig(resamples=40, **more)), films


def has(image: np.ndarray, color: tuple[int, int, int]) -> bool:
    return bool((image == color).all(-1).any())


def where(image: np.ndarray, picture: np.ndarray, scale: int) -> list[tuple[int, int]]:
    """The places at which an enlarged picture stands in an image."""
    large = picture.repeat(scale, 0).repeat(scale, 1)
    windows = np.lib.stride_tricks.sliding_window_view(image, large.shape)[:, :, 0]
    first = (windows[..., 0, 0, :] == large[0, 0]).all(-1)
    return [(y, x) for y, x in np.argwhere(first).tolist() if np.array_equal(windows[y, x], large)]


def test_pairs_are_a_possible_film_and_its_mate(place):
    scores, films = judged(place / "films.h5", burn_in=3)
    for pair in pairs_of(scores, films, 1):
        first, second = (int(name.removeprefix("film ").partition(",")[0]) - 1 for name in pair.names)
        assert scores.scenes.possible[1, first]
        assert not scores.scenes.possible[1, second]
        np.testing.assert_array_equal(pair.shown, films.read(1)[[first, second]])
        np.testing.assert_array_equal(pair.surprise, scores.surprise[1, [first, second]])
        assert pair.surprise.shape == (2, FRAMES - 3)
        assert list(pair.marks) == [int(films.splices[1, 0]) + 1], "frames are counted from 1"
        assert pair.marked == "trick"
        assert (pair.shown[0, : pair.marks[0] - 1] == pair.shown[1, : pair.marks[0] - 1]).all()


def test_the_possible_film_comes_first_whichever_its_number(place):
    _, films = judged(place / "films.h5")
    order = [3, 0, 2, 1]  # in our files possible films have the lower numbers of their pairs
    assert films.possible is not None
    mixed = replace(films, read=lambda scene: films.read(scene)[order], possible=films.possible[:, order])
    for pair in pairs_of(judge_scorer(moving, mixed, PlausibilityConfig(resamples=40)), mixed, 1):
        first, second = (int(name.removeprefix("film ").partition(",")[0]) - 1 for name in pair.names)
        assert (mixed.possible[1, first], mixed.possible[1, second]) == (True, False)
        np.testing.assert_array_equal(pair.shown, mixed.read(1)[[first, second]])


def test_of_a_folder_the_first_difference_is_marked(place):
    scores, films = judged(place / "folder", every=2)
    for pair in pairs_of(scores, films, 0):
        differs = (pair.shown[0] != pair.shown[1]).any((1, 2, 3))
        assert list(pair.marks) == [1 + 2 * int(differs.argmax())]
        assert pair.marked == "first difference"
        assert pair.numbers.tolist() == list(range(1, FRAMES + 1, 2))


@pytest.mark.parametrize(("place_of_mark", "side"), [(4, "left"), (FRAMES - 2, "right")])
def test_what_is_marked_is_named_on_the_side_where_there_is_room(place, place_of_mark, side):
    scores, films = judged(place / "films.h5")
    pair = pairs_of(scores, films, 0)[0]._replace(marks=(place_of_mark,))
    axes = Figure().subplots()
    _plot(axes, pair, "surprise")
    (name,) = (text for text in axes.texts if pair.marked in text.get_text())
    assert name.get_horizontalalignment() == side


def test_of_two_tricks_the_first_is_named_and_turns_the_border(place):
    pair = pairs_of(*judged(place / "films.h5"), 0)[0]._replace(marks=(7, 20))
    axes = Figure().subplots()
    _plot(axes, pair, "surprise")
    assert [name.xy[0] for name in axes.texts if pair.marked in name.get_text()] == [7]
    turned = [has(image[71:73], IMPOSSIBLE) for image in scene_gif_frames([pair], "O1/0001", "nats")]
    assert turned == [number >= 7 for number in range(1, FRAMES + 1)]


def test_small_surprises_have_short_labels(place):
    scores, films = judged(place / "films.h5")
    pair = pairs_of(scores, films, 0)[0]
    figure = Figure()
    axes = figure.subplots()
    _plot(axes, pair._replace(surprise=1e-6 * pair.surprise / pair.surprise.max()), "surprise")
    figure.draw_without_rendering()
    numbers = [re.findall(r"[\d.]+", label.get_text())[0] for label in axes.get_yticklabels()]
    assert max(map(len, numbers)) <= 4
    assert axes.yaxis.get_offset_text().get_text()
    assert not axes.yaxis.get_offset_text().get_visible()
    assert axes.get_ylabel() == f"surprise {axes.yaxis.get_offset_text().get_text()}"


def test_a_gif_shows_the_films_and_growing_curves(place):
    scores, films = judged(place / "films.h5")
    pairs = pairs_of(scores, films, 1)
    moving_picture = scene_gif_frames(pairs, "O1/0001", "surprise, nats", panel_px=80)
    assert moving_picture.shape[0] == FRAMES
    assert moving_picture.dtype == np.uint8
    splice = int(films.splices[1, 0])
    for t in (0, splice - 1, splice, FRAMES - 1):
        image = moving_picture[t]
        for pair in pairs:
            for film in pair.shown:
                assert where(image, film[t], 2)
        assert has(image, CALM)
        assert has(image[71:73], IMPOSSIBLE) == (t >= splice), "borders turn at the moment of the trick"
    ink = [(image != moving_picture[0]).any(-1)[170:].sum() for image in moving_picture]
    assert all(before <= after for before, after in pairwise(ink))
    assert ink[-1] > ink[FRAMES // 2] > 0


def test_a_still_shows_first_and_last_frames_and_both_curves(place):
    scores, films = judged(place / "films.h5")
    pairs = pairs_of(scores, films, 0)
    image = scene_still(pairs, "O1/0001", "surprise, nats")
    for pair in pairs:
        for film in pair.shown:
            assert where(image, film[0], 2)
            assert where(image, film[-1], 2)
    assert has(image, POSSIBLE)
    assert has(image, IMPOSSIBLE)


def test_a_scene_looks_the_same_whatever_style_a_user_has(place):
    pairs = pairs_of(*judged(place / "films.h5"), 0)

    def drawn() -> list[bytes]:
        return [draw(pairs, "O1/0001", "nats").tobytes() for draw in (scene_still, scene_gif_frames)]

    assert in_style(drawn) == drawn()


def test_names_of_low_films_stand_apart_in_a_still(place, monkeypatch):
    pairs = pairs_of(*judged(place / "films.h5"), 0)
    low = [pair._replace(shown=pair.shown[:, :, 10:14]) for pair in pairs]
    lines = []
    monkeypatch.setattr(Page, "write", lambda self, words, x, y, *_, **__: lines.append((words, y)))
    image = scene_still(low, "O1/0001", "nats")
    heights = sorted(y for words, y in lines if re.match("film|.*possible", words))
    assert len(heights) == 8
    assert min(after - before for before, after in pairwise(heights)) > LETTERS
    for pair in low:
        for name, film in zip(pair.names, pair.shown, strict=True):
            (y,) = (y for words, y in lines if words == name.partition(",")[0])
            assert y + 9 - 4 in {top for top, _ in where(image, film[0], 2)}, "the picture is beside the two lines"


def test_curves_of_every_second_frame_are_whole_at_the_end(place):
    pairs = pairs_of(*judged(place / "folder", every=2), 1)
    picture = scene_gif_frames(pairs, "O1/0001", "surprise, nats")
    grown = np.flatnonzero((picture[-1] != picture[0]).any(-1)[190:].any(0))
    assert grown.max() > 0.93 * picture.shape[2]


def test_surprise_at_a_frame_shows_as_soon_as_the_frame_does(place):
    pair = pairs_of(*judged(place / "folder", every=2), 1)[0]
    surprise, frames = np.zeros_like(pair.surprise), len(pair.numbers)
    surprise[1, -5] = 1
    picture = scene_gif_frames([pair._replace(surprise=surprise)], "O1/0001", "nats")[:, 190:]
    top = np.flatnonzero((picture[-1] == IMPOSSIBLE).all(-1).any(1))[0]
    assert [has(image[top], IMPOSSIBLE) for image in picture] == [t >= frames - 5 for t in range(frames)]


def test_numbers_in_a_still_are_those_of_the_frames_above_them(place, monkeypatch):
    pair = pairs_of(*judged(place / "folder", every=2), 1)[0]
    pair = pair._replace(shown=np.random.default_rng(0).integers(256, size=pair.shown.shape, dtype=np.uint8))
    lines = []
    monkeypatch.setattr(Page, "write", lambda self, words, x, *_, **__: lines.append((words, x)))
    image = scene_still([pair], "O1/0001", "nats")
    centres = {int(words): x for words, x in lines if words.isdecimal()}
    assert len(centres) == 9
    for number, x in centres.items():
        assert [left + WIDTH for _, left in where(image, pair.shown[1, number // 2], 2)] == [x]


def test_all_that_is_drawn_is_named(place, monkeypatch):
    """The scene, the films, and the numbers of the frames as the folder counts them."""
    written = []
    monkeypatch.setattr(Page, "write", lambda self, words, *_, **__: written.append(words))
    pairs = pairs_of(*judged(place / "folder", every=2), 1)
    scene_still(pairs, "O1/0001", "nats")
    words = [word for pair in pairs for label in pair.labels for word in label.split(", ")]
    assert {"O1/0001", *words, "possible – –", "impossible —", "1", str(FRAMES)} <= set(written)
    written.clear()
    scene_gif_frames(pairs, "O1/0001", "nats")
    assert {"O1/0001", *(label for pair in pairs for label in pair.labels)} == set(written)


@pytest.mark.parametrize("draw", [scene_still, scene_gif_frames])
def test_films_are_named_in_the_colors_of_their_curves(place, monkeypatch, draw):
    pairs, colors = pairs_of(*judged(place / "films.h5"), 1), {}
    monkeypatch.setattr(Page, "write", lambda self, words, x, y, color=None, *_, **__: colors.update({words: color}))
    draw(pairs, "O1/0002", "nats")
    for pair in pairs:
        for label, color in zip(pair.labels, (POSSIBLE, IMPOSSIBLE), strict=True):
            assert colors.get(label, colors.get(label.partition(",")[0])) == color


def test_captions_of_narrow_films_stand_apart_over_them_and_within_the_page(place, monkeypatch):
    """As wide as they are when they are written, and a little more."""
    pairs = pairs_of(*judged(place / "films.h5"), 0)
    narrow = [pair._replace(shown=pair.shown[:, :, :, 10:22]) for pair in pairs]
    captions = {}
    monkeypatch.setattr(Page, "write", lambda self, words, x, *_, **__: captions.update({words: x}))
    moving_picture = scene_gif_frames(narrow, "O1/0001", "nats")
    for pair in narrow:
        half = text_width("film 0, impossible —", LETTERS) / 2 + 2
        one, other = (captions[label] for label in pair.labels)
        assert one + half < other - half < moving_picture.shape[2] - 2 * half
        for label, film in zip(pair.labels, pair.shown, strict=True):
            assert captions[label] - 6 * 12 / 2 in {x for _, x in where(moving_picture[-1], film[-1], 6)}


@pytest.mark.parametrize("apart", [0, 1])
def test_flat_curves_of_both_films_are_seen_also_where_they_agree(place, apart):
    pair = pairs_of(*judged(place / "films.h5"), 1)[0]
    surprise = np.zeros_like(pair.surprise) + np.array([[apart], [0]])
    plot = scene_still([pair._replace(surprise=surprise)], "O1", "nats")[190:, 150:]
    dashed, whole = ((plot == color).all(-1).any(0) for color in (POSSIBLE, IMPOSSIBLE))
    assert dashed.any()
    assert whole.any()
    gaps = np.diff(np.flatnonzero(dashed))
    assert (gaps > 1).sum() > 5, "on paper without colours the possible film is told by its dashes"


def test_a_single_value_is_a_dot_at_its_frame(place):
    pair = pairs_of(*judged(place / "films.h5", burn_in=FRAMES - 1), 0)[0]
    assert pair.surprise.shape == (2, 1)
    plot = scene_still([pair._replace(surprise=np.array([[0.0], [1.0]]))], "O1", "nats")[190:, 150:]
    assert has(plot, POSSIBLE)
    assert has(plot, IMPOSSIBLE)
    picture = scene_gif_frames([pair], "O1", "nats")
    assert (picture[-1] != picture[0])[190:].any()
    for color in (POSSIBLE, IMPOSSIBLE):
        across = np.flatnonzero((picture[-1][190:] == color).all(-1).any(0))
        down = np.flatnonzero((picture[-1][190:] == color).all(-1).any(1))
        assert abs(len(across) - len(down)) <= 1, "a whole dot, though it goes beyond the last frame"


def test_a_curve_stands_at_the_frames_that_it_is_of(place):
    """A peak at one frame is drawn at the same place whether or not the first frames count."""
    peaks = []
    for burn_in in (1, 4):
        pair = pairs_of(*judged(place / "films.h5", burn_in=burn_in), 1)[0]
        surprise = np.zeros_like(pair.surprise)
        surprise[1, 11 - burn_in] = 1  # of frame 12, and the first is of frame burn_in + 1
        plot = (scene_still([pair._replace(surprise=surprise)], "O1", "nats")[190:, 150:] == IMPOSSIBLE).all(-1)
        peaks.append(np.flatnonzero(plot[plot.any(1).argmax()]).mean())
    assert peaks[0] == peaks[1] > 0


def test_without_labels_nothing_is_called_impossible(place):
    scores, films = judged(place / "unlabelled")
    pairs = pairs_of(scores, films, 0)
    assert sorted(name for pair in pairs for name in pair.names) == ["film 1", "film 2", "film 3", "film 4"]
    assert all(one < other for one, other in (pair.names for pair in pairs)), "in the order of their numbers"
    image = scene_gif_frames(pairs, "O1/0001", "surprise, nats")[-1]
    assert has(image, OTHER), "the two films differ in color nevertheless"
    assert not has(image, IMPOSSIBLE)
    assert not has(image, POSSIBLE)


def test_files_of_a_scene(place, tmp_path):
    scores, films = judged(place / "films.h5")
    paths = draw_scenes(scores, films, [1], tmp_path / "here")
    assert [path.name for path in paths] == ["scene-1.png", "scene-1.gif"]
    assert iio.imread(paths[0]).ndim == 3
    assert 1 < len(iio.imread(paths[1])) <= FRAMES


@pytest.mark.parametrize(
    ("measure", "unit"),
    [("bce", "surprise, nats"), ("kl", "surprise, nats"), ("mse", "surprise, MSE"), ("of mine", "surprise")],
)
def test_curves_have_the_unit_of_their_measure_and_pages_the_name_of_their_scene(
    place, tmp_path, monkeypatch, measure, unit
):
    scores, films = judged(place / "films.h5")
    units, words = set(), set()
    monkeypatch.setattr(Axes, "set_ylabel", lambda self, label, **_: units.add(label))
    monkeypatch.setattr(Page, "write", lambda self, text, *_, **__: words.add(text))
    draw_scenes(replace(scores, settings=scores.settings | {"surprise": measure}), films, [1], tmp_path)
    assert units == {unit}
    assert films.names[1][0].removesuffix("/1") in words


def test_scores_made_elsewhere_have_no_curves(place, tmp_path):
    scores, films = judged(place / "films.h5")
    scores.save(tmp_path)
    given = score_file(tmp_path / "films.csv", place / "films.h5")
    with pytest.raises(ValueError, match="scores must hold the surprise of frames, got none; give those of a run"):
        pairs_of(given, films, 0)


def test_a_dashed_line_stands_at_the_event(place):
    pair = pairs_of(*judged(place / "films.h5"), 1)[0]
    plot = Figure().subplots()
    _plot(plot, pair, "nats")
    upright = [line for line in plot.lines if len(line.get_xdata()) == 2]
    assert [(line.get_xdata()[0], line.get_linestyle()) for line in upright] == [(at, "--") for at in pair.marks]
