"""`render --pred`: films made elsewhere, alone and beside runs."""

from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest
from command_line import run, written

from videopred import open_dataset

CONTEXT, HORIZON = 3, 4
ASKED = f"--context {CONTEXT} --horizon {HORIZON}"
ARRAYS = "--range 0 1 --axes BTCHW"


@pytest.fixture
def film(place, tmp_path, monkeypatch) -> np.ndarray:
    """The true frames that follow the context, as soft.npy has them at half their brightness; (B, T, H, W) in [0, 1].

    The first four clips of the five, in the working folder.
    """
    monkeypatch.chdir(tmp_path)
    frames = open_dataset(place / "balls4.h5").read_frames("test", 0, 4)[:, CONTEXT : CONTEXT + HORIZON]
    true = frames[..., 0] / np.float32(255)
    np.save("soft.npy", true[:, :, None] / 2)
    return true


def test_films_stand_beside_runs_and_are_blank_where_nobody_predicted(place, film, capfd):
    words = f"render {place / 'gru'} {place / 'balls4.h5'} --pred soft.npy {ARRAYS} {ASKED} --clips 3"
    assert run(f"{words} --names soft=SVG --rows truth,pred,diff") == 0
    out, err = capfd.readouterr()
    folder = Path("eval/gru-and-1-more/balls4")
    assert (written(out), err) == ([folder / "test-3.gif", folder / "test-3.png"], "")
    assert run(f"render {place / 'balls4.h5'} --pred soft.npy {ARRAYS} {ASKED} --clips 3 --rows pred,diff --out a") == 0
    strip = iio.imread("a/test-3.png")
    _, high, wide = film.shape[1:]
    scale = max(1, 128 // max(high, wide))
    soft = (film[3] / 2 * 255).round().astype(np.uint8).repeat(scale, 1).repeat(scale, 2)
    for frame in range(CONTEXT + HORIZON):  # every frame has a column, the rollout's behind a wider gap
        left = 128 + frame * (wide * scale + 6) + 24 * (frame >= CONTEXT)
        shown = strip[134 : 134 + high * scale, left : left + wide * scale]
        expected = np.full_like(soft[0], 255) if frame < CONTEXT else soft[frame - CONTEXT]
        np.testing.assert_array_equal(shown, np.repeat(expected[..., None], 3, -1))
        below = strip[140 + high * scale : 140 + 2 * high * scale, left : left + wide * scale]
        assert (below == 255).all() == (frame < CONTEXT), "a difference would look as if all were right"


def test_the_first_of_several_films_of_a_clip_is_drawn_and_the_films_choose_the_worst(place, film, capfd):
    words = f"render {place / 'balls4.h5'} {ASKED} --range 0 1 --format png --rows pred"
    np.save("many.npy", np.stack([film, film[::-1]])[:, :, :, None])
    assert run(f"{words} --pred many.npy --axes NBTCHW --clips 1 --out many") == 0
    assert capfd.readouterr().err == "of the 2 films of each clip in many.npy, the first is drawn\n"
    np.save("sure.npy", film[:, :, None])
    assert run(f"{words} --pred sure.npy --axes BTCHW --clips 1 --out sure") == 0
    np.testing.assert_array_equal(iio.imread("many/test-1.png"), iio.imread("sure/test-1.png"))
    film[2] = 1 - film[2]
    np.save("wrong.npy", film[:, :, None])
    capfd.readouterr()
    assert run(f"{words} --pred wrong.npy --axes BTCHW --worst 1") == 0
    assert written(capfd.readouterr().out) == [Path("eval/wrong/balls4/test-2.png")]


def test_of_longer_films_the_first_frames_are_drawn_and_that_is_said(place, film, capfd):
    words = f"render {place / 'balls4.h5'} --context {CONTEXT} --horizon 3 {ARRAYS} --format png --rows pred --clips 1"
    assert run(f"{words} --pred soft.npy --out long") == 0
    assert capfd.readouterr().err == "of the 4 frames in soft.npy, the first 3 count\n"
    np.save("short.npy", np.load("soft.npy")[:, :3])
    assert run(f"{words} --pred short.npy --out short") == 0
    assert capfd.readouterr().err == ""
    np.testing.assert_array_equal(iio.imread("long/test-1.png"), iio.imread("short/test-1.png"))


def test_true_films_may_be_given_in_the_place_of_data(film, capfd):
    np.save("true.npy", (film * 255).round().astype(np.uint8))
    words = "render --pred soft.npy --range 0 1 --axes BTCHW --true true.npy --true-range 0 255 --true-axes BTHW"
    assert run(f"{words} --clips 0 --format png") == 0
    assert written(capfd.readouterr().out) == [Path("eval/soft/true/test-0.png")]
    assert run(f"{words} --figure strip --clips 3") == 0
    assert run(f"{words} --horizon 5") == 2
    assert "--horizon must be at most 4, the frames of --true, got 5" in capfd.readouterr().err


def test_a_film_that_is_called_as_a_run_keeps_its_ending(place, film, capfd):
    Path("soft.npy").rename("gru.npy")
    words = f"render {place / 'gru'} {place / 'balls4.h5'} --pred gru.npy {ARRAYS} {ASKED} --clips 0 --figure strip"
    assert run(f"{words} --out here") == 0
    shown = Path("here/test-0-strip.svg").read_text()
    assert "<!-- gru -->" in shown
    assert "<!-- gru.npy -->" in shown
    assert run(f"{words} --out there --names gru.npy=SVG") == 0
    assert "<!-- SVG -->" in Path("there/test-0-strip.svg").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"{{data}} --without 1 --pred soft.npy {ARRAYS}", "--without must come with a model, got films of another"),
        (f"{{gru}} {{data}} --without 1 --pred soft.npy {ARRAYS}", "--without must be left out with several runs"),
        (f"{{data}} --figure mask-out --pred soft.npy {ARRAYS}", "--figure must be among strip for this model"),
        (f"{{gru}} {{data}} --figure activation --pred soft.npy {ARRAYS}", "--figure must be strip with several runs"),
        (f"{{data}} --rows modules --pred soft.npy {ARRAYS}", "--rows must be among truth, pred, diff, overlay, boxes"),
        (f"{{data}} --clips 4 --pred soft.npy {ARRAYS}", "--clips must lie in 0 to 3, the clips of the films, got 4"),
        (f"{{data}} --worst 1 --first 5 --pred soft.npy {ARRAYS}", "--first must be at most 4, the clips of the films"),
        (f"{{data}} --pred soft.npy soft.npy {ARRAYS}", "--pred must be given once each, got "),
        (
            f"{{data}} --names soft=SVG --pred soft.npy {ARRAYS}",
            "--names must be given with several runs, got soft",
        ),
        (f"{{data}} --horizon 5 --pred soft.npy {ARRAYS}", "--pred must hold the 5 frames of the horizon, got 4 in "),
        ("{data} --pred soft.npy --axes BTCHW", "--range must say which numbers are black and white"),
        (f"{{gru}} {{data}} --pred soft.npy --true soft.npy {ARRAYS}", "RUN and DATA must be left out with --pred and"),
        (f"{{gru}} {{gru}} --pred soft.npy {ARRAYS}", "DATA must be the last path, got "),
        ("{gru} {data} --pred {gru}", "--pred must be films, got "),
        (f"{{data}} --device cuda:99 --pred soft.npy {ARRAYS}", "--device must be "),
        (f"--pred soft.npy {ARRAYS}", "DATA or --true must be given with --pred, got neither"),
        ("{gru} {data} --true soft.npy", "--pred must be given for films made elsewhere, got --true"),
        ("", "RUN and DATA must be given, got nothing; put both before the options, or give --pred for films made"),
    ],
)
def test_what_cannot_be_drawn_of_films_is_refused(place, film, capfd, words, message):
    words = words.format(gru=place / "gru", data=place / "balls4.h5")
    assert run(f"render {words} {'' if '--horizon' in words else ASKED}") == 2
    assert message in capfd.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["soft.npy"]


def test_rollouts_behind_other_contexts_are_not_drawn_beside_one_another(place, film, capfd):
    for context in (2, 3):
        words = f"rollout {place / 'gru'} {place / 'balls4.h5'} --context {context} --horizon 4 --first 4"
        assert run(f"{words} --out of{context}.npz") == 0
    np.save("true.npy", film[:, :, None])
    capfd.readouterr()
    words = "render --pred of2.npz of3.npz --true true.npy --true-range 0 1 --true-axes BTCHW --out here"
    assert run(words) == 2
    said = capfd.readouterr().err
    assert "--pred must be of the clips and the context of of2.npz, got of3.npz, of the context 3 in" in said
    assert not Path("here").exists()


def test_films_of_fewer_clips_than_others_say_of_which_there_are_pictures(place, film, capfd):
    np.save("three.npy", film[:3, :, None])
    words = f"render {place / 'balls4.h5'} --pred soft.npy three.npy {ARRAYS} {ASKED} --format png"
    assert run(f"{words} --clips 2 --out a") == 0
    assert run(f"{words} --worst 3 --out b") == 0
    assert {path.name for path in Path("b").iterdir()} == {"test-0.png", "test-1.png", "test-2.png"}
    assert run(f"{words} --clips 3 --out c") == 2
    assert "--clips must lie in 0 to 2, the clips of the films, got 3" in capfd.readouterr().err


def test_a_folder_of_films_that_is_called_as_a_run_is_told_apart(place, film, capfd):
    for clip, frames in enumerate(film):
        (Path("films/gru") / str(clip)).mkdir(parents=True)
        for number, frame in enumerate(frames):
            iio.imwrite(f"films/gru/{clip}/{number}.png", (frame * 255).astype(np.uint8))
    words = f"render {place / 'gru'} {place / 'balls4.h5'} --pred films/gru {ASKED} --clips 0 --figure strip --out here"
    assert run(words) == 0
    assert "<!-- films/gru -->" in Path("here/test-0-strip.svg").read_text()


def test_films_in_color_are_blank_in_the_context(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    color = np.random.default_rng(0).integers(0, 255, (2, 6, 24, 32, 3), np.uint8)
    np.save("color.npy", color)
    assert run("import color.npy --out c.h5 --axes BTHWC --part test") == 0
    np.save("p.npy", color[:, 2:])
    words = "render c.h5 --pred p.npy --range 0 255 --axes BTHWC --context 2 --horizon 4 --clips 1 --out a"
    assert run(f"{words} --rows pred --format png") == 0
    assert (iio.imread("a/test-1.png")[134 : 134 + 96, 128 : 128 + 128] == 255).all()
    assert run(f"{words} --figure strip") == 0


def test_what_is_to_be_known_of_the_truth_is_said_once(film, capfd):
    np.save("true.npy", film / 1000)
    np.save("other.npy", film[:, :, None] / 2000)
    words = "render --pred soft.npy other.npy --range 0 1 --axes BTCHW --true true.npy --true-axes BTHW --clips 0"
    assert run(f"{words} --format png --out a") == 0
    said = capfd.readouterr().err.splitlines()
    assert len([line for line in said if "the first clip of true.npy goes from 0 to 0.001" in line]) == 1
