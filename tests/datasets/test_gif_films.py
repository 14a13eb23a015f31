"""Films in GIFs give back what was kept in them: how often each frame is shown, and at which rate."""

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate, chain, pairwise
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest
from film_samples import COLOR, GREY, noise, read
from PIL import Image

from videopred.datasets.gif_times import read_times


def save_gif(path: Path, frames: np.ndarray, **options) -> Path:
    path.write_bytes(iio.imwrite("<bytes>", frames, plugin="pillow", extension=".gif", loop=0, **options))
    return path


@pytest.mark.parametrize("color", [False, True])
def test_a_gif_gives_equal_frames_again(tmp_path, color):
    films = COLOR[0] if color else GREY[0].repeat(3, axis=-1)
    frames = films[[0, 1, 1, 1, 2, 3, 3]]
    path = save_gif(tmp_path / "f.GIF", frames, duration=40)
    with Image.open(path) as image:
        assert image.n_frames == 4
    clips, found = read(path)
    assert np.array_equal(clips[0], frames if color else frames[..., :1])
    assert (found["format"], found["frame_ms"]) == ("GIF", 40)
    assert found["repeated"] == "3 frames shown for longer than others"


def test_a_gif_that_begins_grey_keeps_its_channels(tmp_path):
    """Pillow gives the first frame one channel, because its palette holds all greys, and later ones three."""
    greys = np.resize(np.arange(256, dtype=np.uint8), (13, 20))
    others = [Image.fromarray(frame) for frame in noise(3, 13, 20, 3)]
    Image.fromarray(greys).save(tmp_path / "f.gif", save_all=True, append_images=others, duration=50)
    with Image.open(tmp_path / "f.gif") as image:
        assert image.mode == "L"
    clips, _ = read(tmp_path / "f.gif")
    assert clips.shape == (1, 4, 13, 20, 3)
    assert (clips[0, 0] == greys[..., None]).all()


def test_gifs_of_a_folder_share_the_shortest_time(tmp_path):
    """The second of them stands still, and is stored as a single frame, which is shown longer than any other."""
    still = COLOR[2, [1] * 4]
    for name, frames in {"2.gif": COLOR[0, :4], "10.gif": still, "11.GIF": COLOR[1, :4]}.items():
        save_gif(tmp_path / name, frames, duration=100)
    clips, found = read(tmp_path)
    assert np.array_equal(clips, np.stack([COLOR[0, :4], still, COLOR[1, :4]]))
    assert found["repeated"] == "3 frames shown for longer than others"


@pytest.mark.parametrize("rate", [8, 10, 12, 15, 24, 25, 30, 50, 60])
@pytest.mark.parametrize("shown", [range(20), (0, 0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 11, 12)], ids=len)
def test_a_gif_of_any_rate_gives_its_frames(tmp_path, rate, shown):
    """Which begin on the next hundredth of a second, and are merged where they are equal."""
    different = noise(20, 13, 20, 3)
    begins = [round(100 * frame / rate) for frame in range(len(shown) + 1)]
    first, *others = [Image.fromarray(different[frame]).quantize(200) for frame in shown]
    times = [10 * (after - before) for before, after in pairwise(begins)]
    first.save(tmp_path / "f.gif", save_all=True, append_images=others, duration=times)
    clips, found = read(tmp_path / "f.gif")
    kept = np.stack([np.asarray(picture.convert("RGB")) for picture in (first, *others)])
    assert np.array_equal(clips[0], kept)
    assert found["frame_ms"] == pytest.approx(1000 / rate, abs=1)
    again = len(shown) - len(set(shown))
    assert found["repeated"] == (f"{again} frame{'s' * (again != 1)} shown for longer than others" if again else "none")


def gif_of_merged(path: Path, rate: float, seed: int) -> tuple[Path, list[int]]:
    """A GIF of 120 frames at that rate, three in ten of which are merged with the one before, and which is where."""
    chance = np.random.default_rng(seed)
    moved = np.flatnonzero(np.append(True, chance.random(119) > 0.3))
    pictures = np.zeros((len(moved), 16, 24, 3), np.uint8)
    pictures[range(len(moved)), 5, np.arange(len(moved)) % 24] = 255
    begins = np.rint(100 * np.arange(121) / rate).astype(int)
    times = [10 * int(time) for time in np.diff(begins[[*moved, 120]])]
    first, *others = map(Image.fromarray, pictures)
    first.save(path, save_all=True, append_images=others, duration=times)
    return path, [int(number) for number in np.searchsorted(moved, range(120), "right") - 1]


@pytest.mark.parametrize("seed", [12, 14, 0])
def test_frames_of_a_gif_at_60_are_counted_though_many_are_merged(tmp_path, seed):
    """Most are shown for two ticks, some for one; a mean of these is too uncertain to count long ones by."""
    path, number = gif_of_merged(tmp_path / "f.gif", 60, seed)
    clips, found = read(path)
    assert found["frame_ms"] == pytest.approx(16.7)
    assert [int(frame[5, :, 0].argmax()) for frame in clips[0]] == [one % 24 for one in number]


@pytest.mark.parametrize("last", [10, 990, 1010])
def test_the_last_frame_of_a_gif_at_60_may_be_held_for_any_time(tmp_path, last):
    path = save_gif(tmp_path / "f.gif", noise(25, 13, 20, 3), duration=[20, 10, 20] * 8 + [last])
    clips, found = read(path)
    assert clips.shape[1] == 25
    assert found["frame_ms"] == pytest.approx(16.7)


def test_gifs_at_60_may_begin_at_any_tick_each(tmp_path):
    for name, times in (("1.gif", [20, 10, 20] * 8), ("2.gif", [10, 20, 20] * 8), ("3.gif", [20, 20, 10] * 8)):
        save_gif(tmp_path / name, noise(24, 13, 20, 3), duration=times)
    clips, _ = read(tmp_path)
    assert clips.shape[:2] == (3, 24)


def moving(shown: Iterable[int]) -> list[Image.Image]:
    """A dot at those columns, one after the other."""
    pictures = np.zeros((len(list(shown)), 16, 24), np.uint8)
    pictures[range(len(pictures)), 5, list(shown)] = 255
    return list(map(Image.fromarray, pictures))


@pytest.mark.parametrize("rate", [5, 6, 7, 8, 9, 11, 12, 13, 15, 18, 20, 22, 24, 25, 30, 35, 40, 48, 50])
@pytest.mark.parametrize("whole", [False, True])
def test_a_gif_whose_times_pillow_cut_gives_its_frames(tmp_path, rate, whole):
    """It merges equal frames, and then cuts the time of each to hundredths of a second."""
    shown = [0, 1, 2, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9, 10, 11, 11, 12, 13, 14]
    first, *others = moving(shown)
    period = 1000 // rate if whole else 1000 / rate
    first.save(tmp_path / "f.gif", save_all=True, append_images=others, duration=period)
    clips, found = read(tmp_path / "f.gif")
    assert clips[0, :, 5, :, 0].argmax(axis=-1).tolist() == shown
    assert found["frame_ms"] == pytest.approx(period, abs=10)


@pytest.mark.parametrize("rate", [15, 40])
def test_a_single_frame_that_was_merged_is_counted(tmp_path, rate):
    shown = [0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9]
    first, *others = moving(shown)
    first.save(tmp_path / "f.gif", save_all=True, append_images=others, duration=1000 / rate)
    clips, _ = read(tmp_path / "f.gif")
    assert clips[0, :, 5, :, 0].argmax(axis=-1).tolist() == shown


def test_a_gif_that_may_be_of_two_rates_is_refused(tmp_path):
    """110 ms are four periods of 28 ms, cut to hundredths of a second, or five of 22 ms."""
    first, *others = moving(range(6))
    first.save(tmp_path / "f.gif", save_all=True, append_images=others, duration=[20, 20, 110, 20, 20, 20])
    said = r"got times of 20 to 110 ms in \S+f\.gif, which may be at 2 rates, from 34.78 to 47.38 frames a second; save"
    with pytest.raises(ValueError, match=said):
        read(tmp_path / "f.gif")


def test_times_that_are_multiples_of_the_shortest_mean_what_they_say(tmp_path):
    first, *others = moving(range(15))
    times = [100] * 10 + [200] + [100] * 3 + [3000]
    first.save(tmp_path / "f.gif", save_all=True, append_images=others, duration=times)
    clips, found = read(tmp_path / "f.gif")
    assert clips.shape[1] == 10 + 2 + 3 + 30
    assert found["frame_ms"] == 100


def test_frames_that_are_shown_once_may_all_last_longer_than_the_period():
    """At 40 a second, moments of periods 2, 3, 5, 6, 7 and 9 rounded to hundredths: 5, 8, 12, 15, 18 and 22."""
    assert read_times([[5, 3, 4, 3, 3, 4]]) == {((2, 1, 2, 1, 1, 2),): 2.5}


@pytest.mark.parametrize(
    ("films", "counts"),
    [
        ([[6, 12, 6, 3]], ((2, 4, 2, 1),)),
        ([[8, 8], [16, 8, 4]], ((2, 2), (4, 2, 1))),
        ([[6, 12, 6, 4]], ((1, 2, 1, 1),)),
        ([[6, 12, 6, 1]], ((1, 2, 1, 1),)),
        ([[8, 8, 4]], ((1, 1, 1),)),
    ],
)
def test_a_last_frame_that_is_shorter_than_all_others_is_of_one_period_if_they_are_other_multiples_of_it(films, counts):
    assert list(read_times(films)) == [counts]


@pytest.mark.slow
def test_a_thousand_films_share_one_rate():
    (counts,) = read_times([[3, 3, 4] * 13] * 1000)
    assert counts == ((1,) * 39,) * 1000


@pytest.mark.parametrize("last", [20, 100, 150, 1000])
def test_a_last_frame_that_is_held_counts_once(tmp_path, last):
    first, *others = moving(range(10))
    first.save(tmp_path / "f.gif", save_all=True, append_images=others, duration=[100] * 9 + [last])
    clips, found = read(tmp_path / "f.gif")
    assert clips.shape[:2] == (1, 10)
    assert (found["frame_ms"], found["repeated"]) == (100, "none")


@pytest.mark.parametrize(("last", "count"), [(200, 2), (130, 1)])
def test_a_last_frame_counts_by_its_time_where_others_are_repeated(tmp_path, last, count):
    first, *others = moving(range(5))
    first.save(tmp_path / "f.gif", save_all=True, append_images=others, duration=[100, 200, 100, 300, last])
    assert read(tmp_path / "f.gif")[0].shape[:2] == (1, 7 + count)


@pytest.mark.parametrize("rate", [55, 100])
def test_rates_near_a_tick_that_cannot_be_told_are_refused(tmp_path, rate):
    path, _ = gif_of_merged(tmp_path / "f.gif", rate, 0)
    with pytest.raises(ValueError, match=r"^SOURCE must show frames at one rate, .* got times of 10 to \d+ ms in"):
        read(path)


def test_a_gif_without_its_end_is_refused(tmp_path):
    """Pillow shows as much of it as there is."""
    path = save_gif(tmp_path / "f.gif", COLOR[0], duration=40)
    path.write_bytes(path.read_bytes().removesuffix(b";"))
    with pytest.raises(
        ValueError, match=r"^SOURCE must hold whole pictures, got \S+f\.gif, which has no end; replace it"
    ):
        read(path)


def test_gifs_without_times_are_given_as_they_are(tmp_path):
    clips, found = read(save_gif(tmp_path / "f.gif", COLOR[0], duration=0))
    assert np.array_equal(clips, COLOR[:1])
    assert (found["frame_ms"], found["repeated"].partition(",")[0]) == (0, "not told")


def test_one_frame_in_color_is_enough_for_three_channels(tmp_path):
    grey, red = np.full((5, 7, 3), 90, np.uint8), np.full((5, 7, 3), (200, 10, 10), np.uint8)
    for name, film in (("a", [grey, red, grey]), ("b", [grey, grey + 1, grey])):
        save_gif(tmp_path / f"{name}.gif", np.stack(film), duration=100)
    clips, found = read(tmp_path)
    assert found["channels"] == 3
    assert (clips[0, 1] == red).all()


def test_zeros_behind_the_end_of_a_gif_are_none_of_it(tmp_path):
    path = save_gif(tmp_path / "f.gif", COLOR[0], duration=40)
    path.write_bytes(path.read_bytes() + b"\0\0")
    assert np.array_equal(read(path)[0], COLOR[:1])


def test_a_last_frame_of_two_ticks_may_be_one_period():
    assert read_times([[4, 8, 4, 2]]) == {((2, 4, 2, 1),): 2.0}
    assert all(map(all, chain(*read_times([[4, 9, 0]])))), "nor is one of no time left out"


@pytest.mark.parametrize("rate", [8, 12, 15, 24, 30, 40])
@pytest.mark.parametrize("rule", [math.floor, round, math.ceil])
def test_moments_may_be_cut_to_ticks_or_rounded_to_the_nearest_or_up(rule, rate):
    counts = (2, 1, 1, 2, 1, 1, 3, 1, 2, 1)
    moments = [rule(Fraction(100 * passed, rate)) for passed in accumulate(counts, initial=0)]
    assert list(read_times([[after - before for before, after in pairwise(moments)]])) == [(counts,)]


def test_times_of_which_only_some_are_0_tell_no_rate():
    assert read_times([[0, 4, 4]]) == {}


def test_one_film_that_is_not_at_60_tells_that_others_are_not_either():
    assert read_times([[2, 1, 2, 2], [1, 1, 1, 4, 1]]) == {}


def test_a_last_frame_at_60_that_has_no_time_counts_once():
    assert list(read_times([[3, 2, 2, 1, 2, 0]])) == [((2, 1, 1, 1, 1, 1),)]


def test_a_still_beside_a_film_whose_last_frame_is_held_has_one_count():
    assert list(read_times([[8], [4, 8, 4, 13]])) == [((2,), (1, 2, 1, 1))]
