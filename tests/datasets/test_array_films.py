"""Films in arrays give back what was kept in them, in any order of axes, and say what was found."""

import itertools
import tracemalloc

import numpy as np
import pytest
from film_samples import COLOR, GREY, B, T, read
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from videopred.datasets.film_formats import read_films
from videopred.datasets.import_settings import ImportConfig


def in_axes(films: np.ndarray, axes: str) -> np.ndarray:
    """Films (B, T, H, W, C) with these axes only, in this order; the others have length 1 and go."""
    return np.einsum(f"BTHWC->{axes}", films)


@given(
    axes=st.sampled_from(["".join(order) for order in itertools.permutations("BTHWC")]),
    left_out=st.sets(st.sampled_from("BC")),
    color=st.booleans(),
    fortran=st.booleans(),
    save=st.sampled_from([np.save, np.savez, np.savez_compressed]),
)
@settings(max_examples=60)
def test_an_array_in_any_order_of_axes(tmp_path_factory, axes, left_out, color, fortran, save):
    films = COLOR if color and "C" not in left_out else GREY
    films = films[:1] if "B" in left_out else films
    axes = "".join(letter for letter in axes if letter not in left_out)
    array = in_axes(films, axes)
    array = np.asfortranarray(array) if fortran else array
    path, single = tmp_path_factory.mktemp("array") / "films", save is np.save
    path = path.with_suffix(".npy" if single else ".npz")
    save(path, array) if single else save(path, other=np.zeros(2), films=array)
    clips, found = read(path, axes=axes, array=() if single else ("films",))
    assert clips.dtype == np.uint8
    assert np.array_equal(clips, films)
    assert found["axes"] == axes
    assert (found["stored"], found["levels"]) == (f"uint8, {films.min()} to {films.max()}", "as they are")


def test_three_axes_are_one_grey_clip(tmp_path):
    np.save(tmp_path / "f.npy", GREY[1, ..., 0])
    clips, found = read(tmp_path / "f.npy", "validation")
    assert np.array_equal(clips, GREY[1:2])
    assert found["axes"] == "THW, the only ones possible for three"


@pytest.mark.parametrize(
    ("dtype", "values", "levels"),
    [
        ("bool", None, "as they are"),
        ("bool", (0, 1), "as they are"),
        ("uint8", None, "as they are"),
        ("uint8", (0, 255), "as they are"),
        ("uint8", (0, 510), "0 to 510 become 0 to 255, rounded"),
        ("float32", None, "0 to 1 become 0 to 255, rounded"),
        ("float64", None, "0 to 1 become 0 to 255, rounded"),
        ("float32", (-1, 1), "-1 to 1 become 0 to 255, rounded"),
        ("int64", (0, 255), "0 to 255 become 0 to 255"),
        (">u2", (0, 65535), "0 to 65535 become 0 to 255, rounded"),
        ("int8", (0, 1), "0 to 1 become 0 to 255"),
    ],
)
def test_numbers_become_levels(tmp_path, dtype, values, levels):
    """Any black and white: level k of 255 is black + k / 255 of the way to white."""
    black, white = values or {"b": (0, 1), "u": (0, 255), "f": (0, 1)}[np.dtype(dtype).kind]
    level = 255 * (GREY > 127) if dtype in ("bool", "int8") else GREY
    kept = black + level * ((white - black) / 255)
    expected = level
    if np.dtype(dtype).kind in "iu":
        kept = np.rint(kept).clip(0, 255 if dtype == "uint8" else None)
        expected = np.rint((kept - black) / (white - black) * 255)
    np.save(tmp_path / "f.npy", kept[..., 0].astype(dtype))
    clips, found = read(tmp_path / "f.npy", axes="BTHW", range=values)
    assert clips.dtype == (bool if dtype == "bool" else np.uint8)
    assert (clips * (255 if dtype == "bool" else 1) == expected).all()
    assert found["levels"] == levels
    assert found["stored"].startswith(f"{np.dtype(dtype)}, {kept.min():g} to ")


def test_an_array_with_a_header_of_numpys_second_format(tmp_path):
    film = np.random.default_rng(0).integers(0, 256, (5, 8, 9), np.uint8)
    with (tmp_path / "f.npy").open("wb") as file:
        np.lib.format.write_array(file, film, version=(2, 0))
    assert np.array_equal(read_films(tmp_path / "f.npy").record("test", 0)["features"][..., 0], film)


@pytest.mark.parametrize("films", [GREY > 127, GREY, COLOR], ids=["bool", "grey", "color"])
def test_frames_are_resized_by_pillow(tmp_path, films):
    np.save(tmp_path / "f.npy", films)
    clips, found = read(tmp_path / "f.npy", axes="BTHWC", height=4, width=7)
    assert (clips.shape, clips.dtype) == ((B, T, 4, 7, films.shape[-1]), np.uint8)
    frame = films[2, 3] * (np.uint8(255) if films.dtype == bool else np.uint8(1))
    for channel in range(films.shape[-1]):
        image = Image.fromarray(frame[..., channel]).resize((7, 4), Image.Resampling.BILINEAR)
        assert (clips[2, 3, ..., channel] == np.asarray(image)).all()
    assert found["resized"] == "from 8 x 10 (height x width), by Pillow's bilinear filter"
    assert found["levels"] == ("0 to 1 become 0 to 255" if films.dtype == bool else "as they are")


def test_frames_of_the_size_asked_for_stay_as_they_are(tmp_path):
    np.save(tmp_path / "f.npy", GREY > 127)
    clips, found = read(tmp_path / "f.npy", axes="BTHWC", height=8, width=10)
    assert clips.dtype == bool
    assert (clips == (GREY > 127)).all()
    assert (found["resized"], found["levels"]) == ("no", "as they are")


@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_of_a_large_array_only_a_clip_is_in_memory(tmp_path, kind):
    """As of Srivastava's test file, time first: 20 frames of very many clips."""
    array = np.zeros((20, 300, 24, 32), np.uint8)
    array[0, 0, 0, 0] = 255
    path = tmp_path / f"f.{kind}"
    np.save(path, array) if kind == "npy" else np.savez(path, array)
    tracemalloc.start()
    films = read_films(path, ImportConfig(axes="TBHW"))
    films.record("test", 299)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < array.nbytes / 3
