"""GIFs, MP4s and PNGs can be read back, and play as long as they should."""

import tracemalloc
from io import BytesIO

import imageio.v3 as iio
import numpy as np
import pytest
from PIL import Image

from videopred.pictures import _palette, gif_bytes, mp4_bytes, png_bytes


def checkered(frames: int) -> np.ndarray:
    """Frames (T, 14, 22, 3) that all differ: a coloured block walks one column a frame."""
    film = np.zeros((frames, 14, 22, 3), np.uint8)
    for t in range(frames):
        film[t, 3:9, t : t + 4] = (230, 159, 7 * t)
    return film


def durations(content: bytes) -> list[int]:
    with Image.open(BytesIO(content)) as gif:
        times = []
        for index in range(gif.n_frames):
            gif.seek(index)
            times.append(gif.info["duration"])
        return times


def test_gif_holds_the_exact_pixels_and_loops_for_ever():
    film = checkered(6)
    content = gif_bytes(film, frame_ms=70)
    np.testing.assert_array_equal(iio.imread(content), film)
    assert durations(content) == [70] * 6
    with Image.open(BytesIO(content)) as gif:
        assert gif.info["loop"] == 0


def test_all_256_greys_survive():
    film = np.stack([np.arange(256, dtype=np.uint8).reshape(8, 32)] * 2)
    film[1] = film[1, ::-1]
    film = film[..., None].repeat(3, axis=-1)
    kept = iio.imread(gif_bytes(film))
    assert kept.shape == film.shape, "greys in order would be read as a film of one channel"
    np.testing.assert_array_equal(kept, film)


@pytest.mark.parametrize("kept", [[0, 0, 0, 1, 2, 2], [0, 1, 1, 0, 0, 0], [3, 3, 3, 3, 3, 3]])
def test_equal_frames_keep_the_playing_time(kept):
    assert sum(durations(gif_bytes(checkered(4)[kept], frame_ms=90))) == 6 * 90


def test_equal_frames_that_last_longer_than_gif_can_say_are_refused():
    message = "^frame_ms must show equal frames in a row, .*, for at most 655350 ms, got 400000; give a shorter time"
    with pytest.raises(ValueError, match=message):
        gif_bytes(np.zeros((2, 8, 9, 3), np.uint8), frame_ms=400_000)


def test_png_holds_the_exact_pixels():
    image = np.random.default_rng(0).integers(0, 256, (5, 9, 3), np.uint8)
    np.testing.assert_array_equal(iio.imread(png_bytes(image)), image)


def test_float_frames_are_refused():
    with pytest.raises(TypeError, match="frames must be uint8, 0 to 255, got float64; convert a film with"):
        gif_bytes(checkered(2) / 255)
    with pytest.raises(TypeError, match="image must be uint8, 0 to 255, got bool"):
        png_bytes(checkered(1)[0] > 0)


@pytest.mark.parametrize("frame_ms", [0, 10, 45, 33.3, 655_360])
def test_times_that_gif_cannot_hold_are_refused(frame_ms):
    with pytest.raises(ValueError, match=f"frame_ms must be a multiple of 10, from 20 to 655350, got {frame_ms}"):
        gif_bytes(checkered(2), frame_ms=frame_ms)


def test_other_axes_are_refused():
    with pytest.raises(ValueError, match=r"frames must have shape \(T, H, W, 3\), got \(14, 22, 3\)"):
        gif_bytes(checkered(1)[0])
    with pytest.raises(ValueError, match=r"image must have shape \(H, W, 3\), got \(14, 22, 1\); repeat a grey"):
        png_bytes(checkered(1)[0][..., :1])


def test_of_more_than_256_colours_the_frequent_stay_and_the_others_come_near():
    film = np.random.default_rng(0).integers(100, 180, (2, 30, 40, 3), np.uint8)
    film[:, :9, :7], film[:, 9:12] = (213, 94, 0), (86, 180, 233)
    kept = iio.imread(gif_bytes(film))
    np.testing.assert_array_equal(kept[:, :9, :7], film[:, :9, :7])
    np.testing.assert_array_equal(kept[:, 9:12], film[:, 9:12])
    assert np.abs(kept.astype(int) - film).mean() < 8
    assert all(len(np.unique(frame.reshape(-1, 3), axis=0)) <= 256 for frame in kept)


def test_of_more_than_256_colours_rare_ones_keep_their_hue():
    """As the truth in blue over a soft prediction: few pixels, beside hundreds of frequent shades of another hue."""
    shades = np.arange(20 * 30)
    film = np.stack([shades % 60, shades // 60, np.zeros(600, int)], -1).reshape(1, 20, 30, 3).repeat(3, 1).repeat(3, 2)
    film[:, 4, 5:8], film[:, 9, 5:8] = (50, 100, 130), (120, 20, 60)
    kept = iio.imread(gif_bytes(film.astype(np.uint8)))
    assert np.abs(kept.astype(int) - film).max() < 8


def test_memory_does_not_grow_with_the_number_of_colours():
    """Of 62,000 colours, the distances to all 256 kept at once would take 190 MB, and their squares as much."""
    frame = np.random.default_rng(0).integers(0, 256, (1, 200, 310, 3), np.uint8)
    tracemalloc.start()
    gif_bytes(frame)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 60e6


@pytest.mark.parametrize(("frame_ms", "fps"), [(100, 10), (40, 25), (70, 100 / 7)])
def test_mp4_plays_the_frames_at_their_time_with_even_sides(frame_ms, fps):
    film = checkered(5)[:, :13, :21].repeat(8, axis=1).repeat(8, axis=2)[:, 1:, 1:]
    content = mp4_bytes(film, frame_ms=frame_ms)
    there = iio.imread(content, plugin="pyav")
    assert there.shape == (5, 104, 168, 3)
    assert np.abs(there[:, :103, :167].astype(int) - film).mean() < 2
    assert there[:, 103:].min() > 250 - 10
    facts = iio.immeta(content, plugin="pyav")
    assert (facts["codec"], facts["video_format"]) == ("h264", "yuv420p")
    assert facts["fps"] == pytest.approx(fps)
    assert facts["duration"] == pytest.approx(5 * frame_ms / 1000)


def test_mp4_without_its_extra_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("videopred.pictures.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="--format must be gif or png without PyAV, got mp4; run `pip install av` fir"):
        mp4_bytes(checkered(2))


def test_films_that_mp4_cannot_hold_are_refused():
    with pytest.raises(TypeError, match="frames must be uint8"):
        mp4_bytes(checkered(2) / 255)
    with pytest.raises(ValueError, match="frame_ms must be at least 1, got 0"):
        mp4_bytes(checkered(2), frame_ms=0)


def test_the_128_most_frequent_colors_stay_however_close_they_are():
    close = np.stack([np.arange(200) // 4 + 100, np.arange(200) % 4 + 100, np.full(200, 100)], -1)
    levels = [0, 50, 150, 200, 250]
    far = np.stack(np.meshgrid(levels, levels, np.arange(0, 250, 25)), -1).reshape(-1, 3)
    counts = np.r_[np.where(np.arange(200) < 128, 3, 1), np.ones(len(far), int)]
    row = np.repeat(np.r_[close, far], counts, axis=0).astype(np.uint8)
    kept = np.asarray(Image.open(BytesIO(gif_bytes(row[None, None]))).convert("RGB"))[0]
    assert (kept[: 3 * 128] == row[: 3 * 128]).all()


def test_of_colors_that_are_as_frequent_the_darkest_stay():
    """Any sort keeps so few as 16 in order; the order must not depend on the processor."""
    colors = np.stack([np.arange(400) // 20, np.arange(400) % 20, np.zeros(400, int)], -1).astype(np.uint8)
    kept, _ = _palette(colors, np.tile([1, 2], 200))
    assert kept[:128].tolist() == list(range(1, 257, 2))
