"""Films of others: every format gives back what was kept in it, says what it found, and is in doubt aloud."""

import io
import itertools
import re
import sys
import tracemalloc
import zipfile
from pathlib import Path

import av
import imageio.v3 as iio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from videopred.datasets.films import read_films
from videopred.datasets.import_settings import ImportConfig

B, T, H, W = 3, 5, 8, 10
SIZES = {"B": B, "T": T, "H": H, "W": W}
CHANCE = np.random.default_rng(0)
GREY = CHANCE.integers(0, 256, (B, T, H, W, 1), np.uint8)
COLOR = CHANCE.integers(0, 256, (B, T, H, W, 3), np.uint8)


def read(source: Path, part: str = "test", **config) -> tuple[np.ndarray, dict]:
    """All clips that a source gives, (B, T, H, W, C), and what was found out."""
    films = read_films(source, ImportConfig(part=part, **config))
    assert list(films.parts) == [part]
    clips = np.stack([films.record(part, clip)["features"] for clip in range(films.parts[part])])
    facts = {
        "part": part,
        "clips": len(clips),
        "frames": clips.shape[1],
        "height": clips.shape[2],
        "width": clips.shape[3],
    }
    assert films.found.items() >= (facts | {"channels": clips.shape[4]}).items()
    return clips, dict(films.found)


def in_axes(films: np.ndarray, axes: str) -> np.ndarray:
    """Films (B, T, H, W, C) with these axes only, in this order; the others have length 1 and go."""
    return films.transpose(
        ["BTHWC".index(letter) for letter in axes] + [i for i in range(5) if "BTHWC"[i] not in axes]
    )[(...,) + (0,) * (5 - len(axes))]


# --- arrays ------------------------------------------------------------------------------------------------


@given(
    axes=st.sampled_from(["".join(order) for order in itertools.permutations("BTHWC")]),
    left_out=st.sets(st.sampled_from("BC")),
    color=st.booleans(),
    fortran=st.booleans(),
    kind=st.sampled_from(["npy", "npz", "compressed"]),
)
@settings(max_examples=60, deadline=None)
def test_an_array_in_any_order_of_axes(tmp_path_factory, axes, left_out, color, fortran, kind):
    films = COLOR if color and "C" not in left_out else GREY
    films = films[:1] if "B" in left_out else films
    axes = "".join(letter for letter in axes if letter not in left_out)
    array = in_axes(films, axes)
    array = np.asfortranarray(array) if fortran else array
    path = tmp_path_factory.mktemp("array") / f"films.{kind[:3].replace('com', 'npz')}"
    if kind == "npy":
        np.save(path, array)
    else:
        (np.savez if kind == "npz" else np.savez_compressed)(path, other=np.zeros(2), films=array)
    clips, found = read(path, axes=axes, array=None if kind == "npy" else "films")
    assert clips.dtype == np.uint8
    assert np.array_equal(clips, films)
    assert found["axes"] == axes
    assert (found["stored"], found["levels"]) == (f"uint8, {films.min()} to {films.max()}", "as they are")


def test_three_axes_are_one_grey_clip(tmp_path):
    np.save(tmp_path / "f.npy", GREY[1, ..., 0])
    clips, found = read(tmp_path / "f.npy", "validation")
    assert np.array_equal(clips, GREY[1:2])
    assert found["axes"] == "THW, the only ones that three can be"


@pytest.mark.parametrize(
    ("dtype", "values", "levels"),
    [
        ("bool", None, "as they are"),
        ("bool", (0, 1), "as they are"),
        ("uint8", None, "as they are"),
        ("uint8", (0, 255), "as they are"),
        ("uint8", (0, 510), "0 to 510 become 0 to 255"),
        ("float32", None, "0 to 1 become 0 to 255"),
        ("float64", None, "0 to 1 become 0 to 255"),
        ("float32", (-1, 1), "-1 to 1 become 0 to 255"),
        ("int64", (0, 255), "0 to 255 become 0 to 255"),
        (">u2", (0, 65535), "0 to 65535 become 0 to 255"),
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
        kept = np.rint(kept)
        expected = np.rint((kept - black) / (white - black) * 255)
    kept = kept.clip(0, 255) if dtype == "uint8" else kept
    if dtype == "uint8":
        expected = np.rint((kept - black) / (white - black) * 255)
    np.save(tmp_path / "f.npy", kept[..., 0].astype(dtype))
    clips, found = read(tmp_path / "f.npy", axes="BTHW", values=values)
    assert clips.dtype == (bool if dtype == "bool" else np.uint8)
    assert (clips * (255 if dtype == "bool" else 1) == expected).all()
    assert found["levels"] == levels
    assert found["stored"].startswith(f"{np.dtype(dtype)}, {kept.min():g} to ")


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


# --- pictures ----------------------------------------------------------------------------------------------

MODES = {
    "1": ((GREY > 127), lambda frame: Image.fromarray(frame[..., 0])),
    "L": (GREY, lambda frame: Image.fromarray(frame[..., 0])),
    "RGB": (COLOR, Image.fromarray),
    "LA": (GREY, lambda frame: Image.fromarray(frame[..., 0]).convert("LA")),
    "RGBA": (COLOR, lambda frame: Image.fromarray(frame).convert("RGBA")),
    "P": (COLOR, lambda frame: Image.fromarray(frame).convert("P", palette=Image.Palette.ADAPTIVE)),
}


def save_frames(
    folder: Path, frames: np.ndarray, name: str = "frame_{:03}.png", first: int = 1, mode: str = "L"
) -> Path:
    """A folder of numbered pictures."""
    folder.mkdir(parents=True)
    for number, frame in enumerate(frames, start=first):
        MODES[mode][1](frame).save(folder / name.format(number))
    return folder


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "first"), [("frame_{:03}.png", 1), ("{}.PNG", 8), ("scene2-{}.png", 0)])
def test_a_folder_of_frames_is_a_clip(tmp_path, mode, name, first):
    films, _ = MODES[mode]
    folder = save_frames(tmp_path / "f", films[1], name, first, mode)
    (folder / ".hidden").write_text("")
    clips, found = read(folder)
    assert clips.dtype == films.dtype
    assert np.array_equal(clips, films[1:2])
    assert found["format"] == "folder of PNG frames"
    assert "left_out" not in found
    assert found.get("alpha") == ("opaque, left out" if mode.endswith("A") else None)


def test_folders_of_frames_are_clips_in_the_order_of_their_numbers(tmp_path):
    for clip, name in enumerate(["run2", "run10", "run11"]):
        folder = save_frames(tmp_path / "f" / name, GREY[clip])
        (folder / "notes.txt").write_text("seen from above")
    (tmp_path / "f" / "status.json").write_text("{}")
    clips, found = read(tmp_path / "f")
    assert np.array_equal(clips, GREY)
    assert found["format"] == "folder of folders of PNG frames"
    assert found["left_out"] == "4 that are no PNG frames"


def test_pictures_of_16_bits_need_a_word(tmp_path):
    levels = GREY[0].astype(np.uint16) * 257
    (tmp_path / "f").mkdir()
    for number, frame in enumerate(levels):
        Image.fromarray(frame[..., 0]).save(tmp_path / "f" / f"{number}.png")
    with pytest.raises(
        ValueError, match=r"^--values must say which numbers are black and white, .* got none for uint16"
    ):
        read(tmp_path / "f")
    assert (read(tmp_path / "f", values=(0, 65535))[0] == GREY[:1]).all()


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
    assert found["repeated"] == "3 frames, because frames are shown longer"


def test_a_gif_that_begins_grey_keeps_its_channels(tmp_path):
    """Pillow gives the first frame one channel, because its palette holds all greys, and later ones three."""
    greys = np.resize(np.arange(256, dtype=np.uint8), (13, 20))
    others = [Image.fromarray(frame) for frame in CHANCE.integers(0, 256, (3, 13, 20, 3), np.uint8)]
    Image.fromarray(greys).save(tmp_path / "f.gif", save_all=True, append_images=others, duration=50)
    with Image.open(tmp_path / "f.gif") as image:
        assert image.mode == "L"
    clips, _ = read(tmp_path / "f.gif")
    assert clips.shape == (1, 4, 13, 20, 3)
    assert (clips[0, 0] == greys[..., None]).all()


def test_gifs_of_a_folder_share_the_shortest_time(tmp_path):
    """One of them stands still, and is stored as a single frame."""
    still = COLOR[2, [1] * 4]
    for name, frames in {"2.gif": COLOR[0, :4], "10.gif": COLOR[1, :4], "11.gif": still}.items():
        save_gif(tmp_path / name, frames, duration=100)
    clips, found = read(tmp_path)
    assert np.array_equal(clips, np.stack([COLOR[0, :4], COLOR[1, :4], still]))
    assert found["repeated"] == "3 frames, because frames are shown longer"


def test_gifs_without_times_are_given_as_they_are(tmp_path):
    clips, found = read(save_gif(tmp_path / "f.gif", COLOR[0], duration=0))
    assert np.array_equal(clips, COLOR[:1])
    assert (found["frame_ms"], found["repeated"]) == (0, "none")


# --- videos ------------------------------------------------------------------------------------------------


def save_video(path: Path, frames: np.ndarray) -> Path:
    """An MP4 of RGB frames, without loss."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264rgb", rate=10, options={"crf": "0"})
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], "rgb24"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    return path


@pytest.mark.parametrize("color", [False, True])
def test_a_video_without_loss_is_exact(tmp_path, color):
    films = COLOR[0] if color else GREY[0].repeat(3, axis=-1)
    clips, found = read(save_video(tmp_path / "f.mp4", films))
    assert np.array_equal(clips, (COLOR if color else GREY)[:1])
    assert found["format"] == "MP4"


def test_videos_of_a_folder_are_clips(tmp_path):
    for clip, name in enumerate(["2.mp4", "10.mp4", "11.mp4"]):
        save_video(tmp_path / name, COLOR[clip])
    clips, found = read(tmp_path)
    assert np.array_equal(clips, COLOR)
    assert found["format"] == "folder of MP4 files"


def test_a_broken_video_is_one_clear_line(tmp_path):
    (tmp_path / "f.mp4").write_text("no video")
    with pytest.raises(ValueError, match=r"^SOURCE must be whole MP4, got .*f\.mp4 \(.*\); make it again$"):
        read(tmp_path / "f.mp4")


def test_without_pyav_one_line_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    (tmp_path / "f.mp4").write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"^SOURCE must be read with PyAV, got .*f\.mp4, and PyAV is not .*; run `pip i"
    ):
        read(tmp_path / "f.mp4")


# --- what is wrong -----------------------------------------------------------------------------------------


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


def empty_zip(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "f.npz", "w") as pack:
        pack.writestr("readme.txt", "nothing")
    return folder / "f.npz"


def frames(numbers=(1, 2, 3), name="f{}.png", size=(H, W), mode="L"):
    def write(folder: Path) -> Path:
        pixels = np.full((*size, len(mode) if mode != "L" else 1), 200, np.uint8)
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
    (npy(GREY[..., 0]), {}, "--axes must be given for 4 axes, which may be TBHW, BTHW, THWC or TCHW, got none for (3"),
    (npy(GREY), {}, "--axes must be given for 5 axes, which may be BTHWC, BTCHW, TBHWC or TBCHW, got none for (3"),
    (npy(COLOR[0, 0]), {}, "--axes must be given for 3 axes, which may be THW or HWC, got none for (8, 10, 3) in "),
    (npy(GREY), {"axes": "TBHW"}, "--axes must name each axis of the array, (3, 5, 8, 10, 1) in "),
    (npy(GREY), {"axes": "BTCHW"}, "SOURCE must have 1 or 3 channels, got 8 (BTCHW, (3, 5, 8, 10, 1)) in "),
    (npy(COLOR[..., [0, 1, 2, 2]]), {"axes": "BTHWC"}, "f.npy; leave alpha out"),
    (npy(GREY[0, 0, ..., 0]), {}, "SOURCE must have 3 to 5 axes, got (8, 10) in "),
    (npy(GREY[:, :0, ..., 0]), {"axes": "BTHW"}, "SOURCE must hold an array that is not empty, got (3, 0, 8, 10) in "),
    (npy(GREY[:, :1, ..., 0]), {"axes": "BTHW"}, "SOURCE must hold clips of two frames or more, got 1 in "),
    (npy(GREY[..., 0]), {"axes": "BTHW", "array": "a"}, "--array must be left out, got a for "),
    (npy(GREY[0, ..., 0] > 2), {"values": (0, 255)}, "--values must be 0 1 for bool, or left out, got 0 255; False"),
    (npy(GREY[0, ..., 0] % 2), {}, "--values must be given where 1 may be white or almost black, got uint8 from 0"),
    (npy(GREY[0, ..., 0] - 0.5), {}, "--values must say which numbers are black and white, except for bool, uint8"),
    (npy(GREY[0, ..., 0] / -255), {}, "got none for float64 from -1 to -0 in "),
    (npy(GREY[0, ..., 0].astype(int)), {}, "f.npy; give e.g. --values 0 255, or --values -1 1"),
    (npy(GREY[0, ..., 0]), {"values": (0, 200)}, "--values must span what is there, uint8 from 0 to 255 in "),
    (npy(GREY[0, ..., 0]), {"values": (1, 255)}, "got 1 255; choose a wider range"),
    (npy(NAN), {}, "SOURCE must hold numbers that are finite, got others in "),
    (npy(np.where(np.isnan(NAN), np.inf, NAN)), {}, "SOURCE must hold numbers that are finite, got others in "),
    (npy(DATED), {}, "SOURCE must hold an array of numbers, got datetime64[s] in "),
    (npy(np.array([{}] * 6).reshape(1, 2, 3)), {}, "SOURCE must hold an array of numbers, got object in "),
    (content("f.npy", b"no array"), {}, "SOURCE must be a whole array in NumPy's format, got "),
    (content("f.npy", b""), {}, "SOURCE must be a whole array in NumPy's format, got "),
    (cut(npy(GREY[0, ..., 0]), 0.9), {}, "SOURCE must be a whole array in NumPy's format, got "),
    (cut(npz(a=GREY), 0.9), {}, "SOURCE must be a whole .npz file, got "),
    (content("f.npz", b"no pack"), {}, "SOURCE must be a whole .npz file, got "),
    (npz(a=GREY, b=COLOR), {}, "--array must be given where a file holds several arrays, got none of a, b in "),
    (npz(a=GREY, b=COLOR), {"array": "c"}, "--array must be one of a, b, got c; choose one of these"),
    (npz(a=GREY), {}, "--axes must be given for 5 axes"),
    (npz(a=np.array([{}])), {}, "SOURCE must hold an array of numbers, got object in "),
    (empty_zip, {}, "SOURCE must hold an array, got none in "),
    (frames((1, 2, 4, 7)), {}, "SOURCE must hold every frame from 1 to 7, got none of number 3 in "),
    (frames((1, 10**12)), {}, "SOURCE must hold every frame from 1 to 1000000000000, got none of number 2 in "),
    (frames((1, "02", "2")), {}, "SOURCE must hold one film in a folder, and each number once, got f2.png beside"),
    (several(frames(), frames(name="g{}.png")), {}, "SOURCE must hold one film in a folder, and each number once"),
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
    (several(frames((2, 3)), see_through), {}, "SOURCE must hold one film in a folder"),
    (see_through, {}, "1.png, which is transparent; draw it on a background, and save it without alpha"),
    (all_of(a=frames(), b=frames((1, 2))), {}, "SOURCE must hold clips of one length, got 3 frames in "),
    (all_of(a=frames(), b=frames(size=(7, W))), {}, "hold frames of one size and kind, got 7 x 10 x 1 uint8 in "),
    (all_of(a=frames(), b=several()), {}, "SOURCE must hold PNG frames in each of its folders, got none in "),
    (gif((100, 150, 100)), {}, "SOURCE must show every frame a multiple of the shortest time, got 150 ms and 100"),
    (gif((100, 0, 100)), {}, "SOURCE must show every frame a multiple of the shortest time, got 100 ms and 0 ms"),
    (several(gif((100, 100)), gif((100, 100, 100), name="g.gif")), {}, "SOURCE must hold clips of one length, got 2"),
    (content("f.gif", b"GIF89a"), {}, "SOURCE must hold whole pictures, got "),
    (several(gif((100, 100)), frames()), {}, "which is several at once: PNG frames in a folder or in folders in it"),
    (several(), {}, "SOURCE must be one of: .npy; .npz; PNG frames in a folder or in folders in it; GIF"),
    (content("f.avi", b""), {}, "f.avi, which is none of them; bring in one kind at a time"),
    (content("f.h5", b""), {}, "SOURCE must be films in another format than HDF5, got "),
]  # fmt: skip


@pytest.mark.parametrize(("write", "config", "complaint"), WRONG)
def test_what_is_wrong_is_one_clear_line(tmp_path, write, config, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)) as caught:
        read_films(write(tmp_path), ImportConfig(**config))
    assert "\n" not in str(caught.value)


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
        ({"axes": "TBHWT"}, "got 'TBHWT'"),
        ({"axes": "tbhw"}, "got 'tbhw'"),
        (
            {"values": (1, 1)},
            "--values must be two numbers, the smaller first, got 1 1; give black first, such as 0 255",
        ),
        ({"height": 5}, "--height and --width must be given together, got --height 5 --width None; add the other"),
        ({"width": 0, "height": 1}, "--width must be greater than 0, got 0"),
    ],
)
def test_words_that_mean_nothing(config, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        ImportConfig(**config)
