"""Frames and films: each turns into the other, exactly and with its axes."""

import numpy as np
import pytest
import torch

from videopred.frames import nearest, to_film, to_frames

T, H, W, C = 4, 5, 7, 3


def noise(*lead: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (*lead, T, H, W, C), dtype=np.uint8)


@pytest.mark.parametrize("lead", [(), (2,), (2, 6)])
def test_a_film_has_its_channels_first_and_lies_in_0_to_1(lead):
    frames = noise(*lead)
    film = to_film(frames)
    assert (film.shape, film.dtype) == ((*lead, T, C, H, W), torch.float32)
    for t, y, x, c in [(0, 0, 0, 0), (3, 4, 6, 2), (1, 2, 5, 0)]:
        values = frames[..., t, y, x, c] / 255
        np.testing.assert_allclose(film[..., t, c, y, x], values, rtol=1e-7)


def test_arrays_and_tensors_are_the_same():
    assert torch.equal(to_film(noise(2)), to_film(torch.from_numpy(noise(2))))


def test_the_type_can_be_chosen():
    film = to_film(noise(), torch.float64)
    assert film.dtype == torch.float64
    assert film.flatten()[0].item() == noise().flatten()[0] / 255


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_level_survives_a_round_trip(dtype):
    levels = np.arange(256, dtype=np.uint8).reshape(1, 4, 64, 1)
    film = to_film(levels, dtype)
    assert (film.min(), film.max()) == (0, 1)
    np.testing.assert_array_equal(to_frames(film), levels)


def test_frames_survive_a_round_trip():
    np.testing.assert_array_equal(to_frames(to_film(noise(2))), noise(2))


def test_films_are_rounded_to_the_nearest_level():
    film = torch.tensor([0, 0.4, 0.6, 254.4, 254.6, 255]).view(1, 1, 2, 3) / 255
    assert to_frames(film).flatten().tolist() == [0, 0, 1, 254, 255, 255]


def test_what_is_given_is_left_alone():
    frames = noise()
    film = to_film(frames)
    kept = film.clone()
    to_frames(film)
    film[:] = 0.5
    np.testing.assert_array_equal(frames, noise())
    film = kept.clone()
    to_frames(film)[:] = 0
    assert torch.equal(film, kept)


@pytest.mark.parametrize(
    ("dtype", "fix"),
    [
        (np.float32, r"a film in \[0, 1\] needs no conversion"),
        (bool, "make True 255 and False 0"),  # as our own data files keep frames that are black and white
        (np.int64, "convert numbers from 0 to 255 to it"),
    ],
)
def test_a_film_is_not_scaled_twice(dtype, fix):
    with pytest.raises(TypeError, match=rf"^frames must be uint8, got torch\.\w+; {fix}$"):
        to_film(noise().astype(dtype))


@pytest.mark.parametrize("bad", [-0.001, 1.001, float("inf")])
def test_logits_are_not_frames(bad):
    film = to_film(noise())
    film[2, 1, 3, 4] = bad
    with pytest.raises(ValueError, match=r"^film must lie in \[0, 1\], got values from .* to .*; apply a sigmoid"):
        to_frames(film)


def test_what_is_not_a_number_is_no_logit():
    film = to_film(noise())
    film[2, 1, 3, 4] = float("nan")
    with pytest.raises(
        ValueError, match=r"^film must lie in \[0, 1\], got NaN; look for the first step at which it arises$"
    ):
        to_frames(film)


def test_frames_that_were_turned_over_are_taken():
    frames = np.arange(24, dtype=np.uint8).reshape(2, 3, 4, 1)
    assert torch.equal(to_film(frames[:, ::-1]), to_film(frames).flip(-2))


@pytest.mark.filterwarnings("error")
def test_frames_that_are_only_to_be_read_are_taken_and_stay():
    frames = np.arange(24, dtype=np.uint8).reshape(2, 3, 4, 1)
    expected = to_film(frames.copy())
    frames.flags.writeable = False
    assert torch.equal(to_film(frames), expected)


def test_a_masked_array_is_refused():
    """What its mask hides would be seen."""
    frames = np.ma.array(np.full((3, 4, 5, 1), 7, np.uint8), mask=True)
    with pytest.raises(TypeError, match=r"^frames must be an array without a mask, got a masked one; fill it"):
        to_film(frames)


def test_pixels_without_channels_are_refused():
    with pytest.raises(ValueError, match=r"^frames must have at least the axes \(height, .*, got shape \(3, 4\); add"):
        to_film(np.zeros((3, 4), np.uint8))


def test_frames_are_not_a_film():
    with pytest.raises(TypeError, match=r"^film must be floating point in \[0, 1\], got torch\.uint8; frames need no"):
        to_frames(torch.from_numpy(noise()))
    with pytest.raises(TypeError, match=r"^film must be floating point in \[0, 1\], got float64; frames need no"):
        to_frames(np.zeros((2, 1, 3, 4)))


@pytest.mark.parametrize(
    ("size", "positions", "expected"),
    [(6, 3, [0, 0, 1, 1, 2, 2]), (5, 3, [0, 0, 1, 1, 2]), (7, 2, [0, 0, 0, 0, 1, 1, 1]), (2, 2, [0, 1])],
)
def test_each_row_has_a_nearest_position(size, positions, expected):
    """Its upper edge lies in it: that of row 3 of 7 lies at 6/7 of the first of 2 positions."""
    assert nearest(size, positions) == expected


def test_films_of_too_few_axes_are_refused_and_empty_ones_are_empty():
    with pytest.raises(ValueError, match=r"^film must have at least three axes \(C, H, W\), got \(5, 7\); give"):
        to_frames(torch.zeros(5, 7))
    assert to_frames(torch.zeros(2, 0, 1, 5, 7)).shape == (2, 0, 5, 7, 1)
