"""Films of others that cannot be read are one clear line."""

import io
import os
import re
import zipfile
from pathlib import Path

import h5py
import imageio.v3 as iio
import numpy as np
import pytest
from film_samples import CHANCE, COLOR, GREY, H, T, W
from PIL import Image, PngImagePlugin

from videopred.datasets.film_formats import read_films
from videopred.datasets.import_settings import ImportConfig


def npy(array, name="f.npy"):
    def write(folder: Path) -> Path:
        np.save(folder / name, array, allow_pickle=True)
        return folder / name

    return write


def content(name: str, data: bytes):
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return write


def cut(write, share: float):
    """The same file, without its end."""

    def cut_off(folder: Path) -> Path:
        path = write(folder)
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
        return path

    return cut_off


def npz(**arrays):
    def write(folder: Path) -> Path:
        np.savez(folder / "f.npz", **arrays)
        return folder / "f.npz"

    return write


def longer(write, by=77):
    """The same array, with bytes behind it that its head does not speak of."""

    def go_on(folder: Path) -> Path:
        path = write(folder)
        path.write_bytes(path.read_bytes() + bytes(by))
        return path

    return go_on


def packed_longer(folder: Path) -> Path:
    """A .npz file, as of `longer`."""
    with zipfile.ZipFile(folder / "f.npz", "w", zipfile.ZIP_DEFLATED) as pack:
        pack.writestr("a.npy", longer(npy(GREY[0, ..., 0], "a.npy"))(folder).read_bytes())
    (folder / "a.npy").unlink()
    return folder / "f.npz"


def axes(shape: str):
    """An array whose head says that it has these axes."""
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return content("f.npy", b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head.encode() + bytes(24))


def much_text(folder: Path) -> Path:
    """Frames, the last of which has more text than Pillow unpacks."""
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", "x" * 2**21, zip=True)
    Image.fromarray(GREY[0, 0, ..., 0]).save(folder / "f4.png", pnginfo=text)
    return frames()(folder)


def empty_zip(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "f.npz", "w") as pack:
        pack.writestr("readme.txt", "nothing")
    return folder / "f.npz"


def frames(numbers=(1, 2, 3), name="f{}.png", size=(H, W), mode="L"):
    def write(folder: Path) -> Path:
        pixels = np.full((*size, len(mode)), 200, np.uint8)
        for number in numbers:
            Image.fromarray(pixels[..., 0] if mode == "L" else pixels).save(folder / name.format(number))
        return folder

    return write


def all_of(**writers):
    """A folder of folders."""

    def write(folder: Path) -> Path:
        for name, writer in writers.items():
            (folder / name).mkdir()
            writer(folder / name)
        return folder

    return write


def several(*writers):
    def write(folder: Path) -> Path:
        for writer in writers:
            writer(folder)
        return folder

    return write


def gif(durations, shape=(H, W, 3), name="f.gif"):
    pictures = CHANCE.integers(0, 256, (len(durations), *shape), np.uint8)
    return content(name, iio.imwrite("<bytes>", pictures, plugin="pillow", extension=".gif", duration=list(durations)))


def see_through(folder: Path) -> Path:
    pixels = np.full((H, W, 4), 200, np.uint8)
    Image.fromarray(pixels).save(folder / "1.png")
    return folder


PNG = io.BytesIO()
Image.fromarray(GREY[0, 0, ..., 0]).save(PNG, "png")
NAN = np.array([0.5, np.nan, 0.5], np.float32).repeat(80).reshape(3, 8, 10)
DATED = np.zeros((T, H, W), "datetime64[s]")

WRONG = [
    (npy(GREY[..., 0]), {}, "--axes must be given for 4 axes, which may be TBHW or BTHW or CTHW, got none for "),
    (npy(GREY.transpose(0, 4, 1, 2, 3)), {}, "--axes must be given for 5 axes, which may be BCTHW, got none for (3, 1"),
    (npy(GREY), {}, "--axes must be given for 5 axes, which may be BTHWC or TBHWC, got none for (3, 5, 8, 10, 1"),
    (npy(COLOR[0]), {}, "--axes must be given for 4 axes, which may be TBHW or BTHW or THWC, got none for (5, 8, 10"),
    (npy(COLOR[0, 0]), {}, "--axes must be given for 3 axes, which may be THW or HWC, got none for (8, 10, 3) in "),
    (npy(GREY), {"axes": "TBHW"}, "--axes must name each axis of the array, (3, 5, 8, 10, 1) in "),
    (npy(GREY), {"axes": "BTCHW"}, "SOURCE must have 1 or 3 channels, got 8 (BTCHW, (3, 5, 8, 10, 1)) in "),
    (npy(COLOR[..., [0, 1, 2, 2]]), {"axes": "BTHWC"}, "f.npy; leave alpha out"),
    (npy(GREY[0, 0, ..., 0]), {}, "SOURCE must have 3 to 5 axes, got (8, 10) in "),
    (npy(GREY[:, :0, ..., 0]), {"axes": "BTHW"}, "SOURCE must hold an array that is not empty, got (3, 0, 8, 10) in "),
    (npy(GREY[:, :1, ..., 0]), {"axes": "BTHW"}, "SOURCE must hold clips of two frames or more, got 1 in "),
    (npy(GREY[..., 0]), {"axes": "BTHW", "array": ("a",)}, "--array must be left out, got a for "),
    (npy(GREY[0, ..., 0] > 2), {"range": (0, 255)}, "--range must be 0 1 for bool, or left out, got 0 255; False"),
    (npy(GREY[0, ..., 0] % 2), {}, "--range must be given where 1 may be white or almost black, got uint8 from 0"),
    (npy(GREY[0, ..., 0] - 0.5), {}, "--range must say which numbers are black and white, except for bool, uint8"),
    (npy(GREY[0, ..., 0] / -255), {}, "got none for float64 from -1 to -0 in "),
    (npy(GREY[0, ..., 0].astype(int)), {}, "f.npy; give e.g. --range 0 255"),
    (npy(GREY[0, ..., 0].astype(int) % 2), {}, "f.npy; give e.g. --range 0 1"),
    (npy(GREY[0, ..., 0].astype(np.uint16) * 14), {}, "f.npy; give e.g. --range 0 4095"),  # of 12 bits
    (npy(GREY[0, ..., 0] / 250), {}, "f.npy; clip them to 0 and 1, or to -1 and 1, if they only overshoot; else give"),
    (npy(GREY[0, ..., 0].astype(int) + 70_000), {}, "f.npy; give the two numbers"),
    (npy(np.repeat(GREY[:2, :4], 2, -1)), {"axes": "BTHWC"}, "f.npy; keep one or three of its channels"),
    (npy(GREY[0, ..., 0]), {"range": (0, 200)}, "--range must span what is there, uint8 from 0 to 255 in "),
    (npy(GREY[0, ..., 0]), {"range": (1, 255)}, "got 1 255; choose a wider range"),
    (npy(NAN), {}, "SOURCE must hold numbers that are finite, got NaN in "),
    (npy(np.where(np.isnan(NAN), np.inf, NAN)), {}, "SOURCE must hold numbers that are finite, got infinity in "),
    (npy(np.where(np.isnan(NAN), -np.inf, NAN)), {}, "SOURCE must hold numbers that are finite, got infinity in "),
    (npy(DATED), {}, "SOURCE must hold an array of numbers, got datetime64[s] in "),
    (npy(np.array([{}] * 6).reshape(1, 2, 3)), {}, "SOURCE must hold an array of numbers, got object in "),
    (content("f.npy", b"no array"), {}, "SOURCE must be a whole array in NumPy's format, got "),
    (content("f.npy", b""), {}, "SOURCE must be a whole array in NumPy's format, got "),
    (cut(npy(GREY[0, ..., 0]), 0.9), {}, "SOURCE must be a whole array in NumPy's format, got "),
    (longer(npy(GREY[0, ..., 0])), {}, "(77 bytes behind its array); save it again with numpy.save"),
    (axes("(-2, -3, 4)"), {}, "f.npy (axes (-2, -3, 4)); save it ag"),
    (axes("(True, 6, 4)"), {}, "f.npy (axes (True, 6, 4)); save it"),
    (packed_longer, {}, "(77 bytes behind its array); save it again with numpy.save"),
    (cut(npz(a=GREY), 0.9), {}, "SOURCE must be a whole .npz file, got "),
    (content("f.npz", b"no pack"), {}, "SOURCE must be a whole .npz file, got "),
    (npz(a=GREY, b=COLOR), {}, "--array must be given where a file holds several arrays, got none for "),
    (npz(a=GREY, b=COLOR), {"array": ("c",)}, "--array must be one of a, b, got c; choose one of these"),
    (npz(a=GREY), {}, "--axes must be given for 5 axes"),
    (npz(a=np.array([{}])), {}, "SOURCE must hold an array of numbers, got object in "),
    (empty_zip, {}, "SOURCE must hold an array, got none in "),
    (frames((1, 2, 4, 7)), {}, "SOURCE must hold every frame from 1 to 7, got none of number 3 in "),
    (frames((1, 10**12)), {}, "SOURCE must hold every frame from 1 to 1000000000000, got none of number 2 in "),
    (frames((1, "02", "2")), {}, "SOURCE must hold one film in a folder, and each number once, got f2.png beside"),
    (several(frames(), frames(name="g{}.png")), {}, "SOURCE must hold one film in a folder, and each number once"),
    (several(frames(), frames((4, 5), name="g{}.png")), {}, "and each number once, got g4.png beside f1.png in "),
    (frames(("a", "b")), {}, "SOURCE must hold frames with numbers at the end of their names, got "),
    (frames((1,)), {}, "SOURCE must hold clips of two frames or more, got 1 in "),
    (several(frames(), frames((4,), size=(H, 7))), {}, "hold frames of one size and kind, got 8 x 7 x 1 uint8 in "),
    (several(frames(), frames((4,), mode="RGB")), {}, ", after 8 x 10 x 1 uint8 in "),
    (several(frames(), frames((4,), size=(H, 7))), {}, "f4.png, after 8 x 10 x 1 uint8 in "),
    (several(frames(), frames((4,), size=(H, 7))), {}, "f1.png in "),
    (several(gif((50, 50)), gif((50, 50), (H, 7, 3), "g.gif")), {}, "got 8 x 7 x 3 uint8 in frame 0 of "),
    (several(gif((50, 50)), gif((50, 50), (H, 7, 3), "g.gif")), {}, "g.gif, after 8 x 10 x 3 uint8 in frame 0 of "),
    (frames(), {"axes": "THW"}, "--axes must be left out, got THW for "),
    (several(frames(), content("f4.png", b"no picture")), {}, "f4.png (cannot identify image file"),
    (several(frames(), content("f4.png", PNG.getvalue()[:-40])), {}, "SOURCE must hold whole pictures, got "),
    (much_text, {}, "f4.png (Decompressed data too large for PngImagePlugin.MAX_TEXT_CHUNK); replace it"),
    (several(frames((2, 3)), see_through), {}, "SOURCE must hold one film in a folder"),
    (see_through, {}, "1.png, which is transparent; draw it on a background, and save it without alpha"),
    (all_of(a=frames(), b=frames((1, 2))), {}, "SOURCE must hold clips of one length, got 3 frames in "),
    (all_of(a=frames(), b=frames(size=(7, W))), {}, "hold frames of one size and kind, got 7 x 10 x 1 uint8 in "),
    (all_of(a=frames(), b=several()), {}, "SOURCE must hold PNG frames in each of its folders, got none in "),
    (gif((100, 150, 100)), {}, ", each for one period or several, got times of 100 to 150 ms in "),
    (gif((100, 0, 100)), {}, ", each for one period or several, got times of 0 to 100 ms in "),
    (several(gif((100, 100)), gif((100, 100, 100), name="g.gif")), {}, "SOURCE must hold clips of one length, got 2"),
    (content("f.gif", b"GIF89a"), {}, "SOURCE must hold whole pictures, got "),
    (several(gif((100, 100)), frames()), {}, "which is several at once: PNG frames in a folder or in folders in it"),
    (several(), {}, "SOURCE must be one of: .npy; .npz; .h5 or .hdf5; PNG frames in a folder or in folders in it; GIF"),
    (content("f.avi", b""), {}, "f.avi, which is none of them; save it as one of them"),
    (content("f.h5", b""), {}, "SOURCE must be a whole HDF5 file, got "),
]  # fmt: skip


@pytest.mark.parametrize(("write", "config", "complaint"), WRONG)
def test_what_is_wrong_is_one_clear_line(tmp_path, write, config, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)) as caught:
        read_films(write(tmp_path), ImportConfig(**config))
    assert "\n" not in str(caught.value)


ONE_MORE, OBJECTS = longer(npy(GREY[0, ..., 0]), by=1), np.array([{}] * 6).reshape(1, 2, 3)


@pytest.mark.parametrize(
    ("write", "complaint"),
    [
        (ONE_MORE, r"f\.npy \(1 byte behind its array\); save it again with numpy\.save$"),
        (packed_longer, r"f\.npz \(77 bytes behind its array\); save it again with numpy\.savez$"),
        (npy(OBJECTS), r"got object in .*f\.npy; make it one, of clips of one length, e\.g\. with numpy\.stack$"),
        (npz(a=OBJECTS), r"got object in .*f\.npz; make it one, of clips of one length, e\.g\. with numpy\.stack$"),
        (npy(np.array([b"text"])), r"got \|S4 in .*f\.npy; convert it to one$"),
        (content("f.npz", b"no pack"), r"; save it again with numpy\.savez$"),
    ],
)
def test_an_array_is_saved_again_as_it_was(tmp_path, write, complaint):
    with pytest.raises(ValueError, match=complaint):
        read_films(write(tmp_path), ImportConfig())


def test_arrays_that_nobody_asks_for_may_have_fields_of_any_name(tmp_path):
    """NumPy has a format of its own for names that are not Latin-1."""
    others = np.zeros(4, [("\N{GREEK SMALL LETTER PHI}", float), ("\N{GREEK CAPITAL LETTER ALPHA WITH TONOS}", int)])
    with pytest.warns(UserWarning, match=r"format 3\.0"):
        source = npz(a=GREY[0, ..., 0], b=others)(tmp_path)
    assert sum(read_films(source, ImportConfig(array=("a",), axes="THW")).parts.values()) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_among_the_frames_is_not_waited_for(tmp_path):
    frames()(tmp_path)
    os.mkfifo(tmp_path / "f4.png")
    with pytest.raises(
        FileNotFoundError, match=r"^SOURCE must be an existing file, got .*f4\.png \(a device or a pipe"
    ):
        read_films(tmp_path)


def packed(folder: Path) -> Path:
    with h5py.File(folder / "f.h5", "w") as file:
        file.create_dataset("g/a", data=GREY, chunks=(1, *GREY.shape[1:]), compression="gzip")
    return folder / "f.h5"


def complaint_about(path: Path) -> str:
    axes = "" if path.suffix == ".gif" else "BTHWC"
    try:
        read_films(path, ImportConfig(axes=axes or None))
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "write", [npy(GREY), npz(a=GREY), packed, gif((100, 100, 100))], ids=["npy", "npz", "h5", "gif"]
)
def test_whichever_byte_is_damaged_or_missing_is_one_clear_line(tmp_path, write):
    """Or is in the films, or means nothing. zipfile, zlib, NumPy, HDF5 and Pillow have errors of their own for it."""
    path = write(tmp_path)
    whole, said = path.read_bytes(), []
    for place in (*range(0, min(len(whole), 600), 3), *range(-200, 0, 2)):
        path.write_bytes(whole[:place])
        said.append(complaint_about(path))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0b1001]) + whole[place:][1:])
        said.append(complaint_about(path))
    told = [line for line in said if line]
    assert len(told) > 100
    assert [line for line in told if not re.match(r"(SOURCE|--axes|--range) must .*, got .*; .*$", line)] == []


def test_nothing_there(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"^SOURCE must be an existing file or folder, got .*gone\.npy \(nothing"
    ):
        read_films(tmp_path / "gone.npy")


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"axes": "TBXW"}, "--axes must be letters of B clips, T frames, C channels, H rows and W columns, each once"),
        ({"axes": "BHW"}, "T, H and W among them, got 'BHW'; give them in the array's order, such as TBHW"),
        ({"axes": "TBHWB"}, "got 'TBHWB'"),
        ({"axes": "tbhw"}, "got 'tbhw'"),
        (
            {"range": (1, 1)},
            "--range must be two numbers, black first, got 1 1; write e.g. --range 0 1, or --range -1 1",
        ),
        ({"height": 5}, "--height and --width must be given together, got --height 5 alone; add the other"),
        ({"width": 7}, "--height and --width must be given together, got --width 7 alone; add the other"),
        ({"width": 0, "height": 1}, "--width must be greater than or equal to 1, got 0"),
        ({"width": 1, "height": 4097}, "--height must be less than or equal to 4096, got 4097"),
        ({"width": 4097, "height": 1}, "--width must be less than or equal to 4096, got 4097"),
    ],
)
def test_words_that_mean_nothing(config, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        ImportConfig(**config)
