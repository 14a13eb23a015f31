"""Films in pictures give back what was kept in them, and say what was found; what is no plain picture is refused."""

import re
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from film_samples import COLOR, GREY, noise, read
from PIL import Image

from videopred.datasets.importing import import_films

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


def test_a_picture_that_may_not_be_read_is_no_fault_of_the_file_that_is_written(tmp_path, monkeypatch):
    """They are read twice, the second time while their file is written; the last is opened once before."""
    folder, plain, last = save_frames(tmp_path / "f", GREY[0]), Image.open, f"_{len(GREY[0]):03}.png"
    opened = 0

    def refused(path, *others, **named):
        nonlocal opened
        opened += str(path).endswith(last)
        if opened == 3:
            raise PermissionError(13, "Permission denied", str(path))
        return plain(path, *others, **named)

    monkeypatch.setattr(Image, "open", refused)
    told = rf"^{re.escape(str(folder))}/.*{last} must be accessible, got Permission denied; check"
    with pytest.raises(PermissionError, match=told):
        import_films(folder, tmp_path / "ours.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "first"), [("frame_{:03}.png", 1), ("{}.PNG", 8), ("scene2-{}.png", 0)])
def test_a_folder_of_frames_is_a_clip(tmp_path, mode, name, first):
    films, _ = MODES[mode]
    folder = save_frames(tmp_path / "f", films[1], name, first, mode)
    (folder / ".hidden").write_text("")
    clips, found = read(folder)
    assert clips.dtype == films.dtype
    assert clips.tobytes() == films[1:2].tobytes()  # Pillow's own True is the byte 255
    assert found["format"] == "folder of PNG frames"
    assert "left_out" not in found
    assert found.get("alpha") == ("opaque, left out" if mode.endswith("A") else None)


def test_opacity_that_only_later_frames_have_is_said(tmp_path):
    films, _ = MODES["RGBA"]
    folder = save_frames(tmp_path / "f", films[1][:1], mode="RGB")
    MODES["RGBA"][1](films[1][1]).save(folder / "frame_002.png")
    assert read(folder)[1]["alpha"] == "opaque, left out"


@pytest.mark.parametrize("colored", [None, 0, 4])
def test_frames_in_color_that_are_all_grey_become_one_channel(tmp_path, colored):
    frames = GREY[0].repeat(3, axis=-1)
    if colored is not None:
        frames[colored, 3, 5] = (10, 20, 30)
    clips, found = read(save_frames(tmp_path / "f", frames, mode="RGB"))
    assert np.array_equal(clips[0], GREY[0] if colored is None else frames)
    assert found["channels"] == clips.shape[-1]


def test_folders_of_frames_are_clips_in_the_order_of_their_numbers(tmp_path):
    for clip, name in enumerate(["run2", "run10", "run11"]):
        folder = save_frames(tmp_path / "f" / name, GREY[clip])
        (folder / "notes.txt").write_text("seen from above")
    (tmp_path / "f" / "status.json").write_text("{}")
    clips, found = read(tmp_path / "f")
    assert np.array_equal(clips, GREY)
    assert found["format"] == "folder of folders of PNG frames"
    assert found["left_out"] == "4 that are no PNG frames"


def test_two_frames_of_one_number_are_named_both(tmp_path):
    folder = save_frames(tmp_path / "f", GREY[0], "f_{}.png")
    (folder / "f_03.png").write_bytes((folder / "f_3.png").read_bytes())
    said = r"SOURCE must hold .*, and each number once, got f_3\.png beside f_03\.png in"
    with pytest.raises(ValueError, match=said):
        read(folder)


def test_pictures_of_16_bits_need_a_word(tmp_path):
    levels = GREY[0].astype(np.uint16) * 257
    (tmp_path / "f").mkdir()
    for number, frame in enumerate(levels):
        Image.fromarray(frame[..., 0]).save(tmp_path / "f" / f"{number}.png")
    with pytest.raises(
        ValueError, match=r"^--range must say which numbers are black and white, .* got none for uint16"
    ):
        read(tmp_path / "f")
    assert (read(tmp_path / "f", range=(0, 65535))[0] == GREY[:1]).all()


def save_png(path: Path, pixels: np.ndarray, kind: int) -> None:
    """A PNG of 16 bits a channel, which Pillow reads but does not write; kind 2 is RGB, 4 grey with alpha, 6 RGBA."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    height, width = pixels.shape[:2]
    head = struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(("kind", "channels"), [(2, 3), (4, 2), (6, 4)])
def test_colors_of_16_bits_are_not_cut_to_8(tmp_path, kind, channels):
    (tmp_path / "f").mkdir()
    pixels = noise(13, 20, channels, dtype=np.uint16)
    pixels[..., -1] = 2**16 - 1  # opaque
    for number in range(3):
        save_png(tmp_path / "f" / f"{number}.png", pixels, kind)
    message = r"^SOURCE must hold colors of 8 bits, got 16 in \S+0\.png; save 8 bits a channel, or grey without alpha"
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "f")


def test_a_picture_with_a_single_pixel_that_is_seen_through_is_refused(tmp_path):
    pixels = np.full((5, 7, 4), 255, np.uint8)
    pixels[2, 3, 3] = 254
    for number in range(2):
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    with pytest.raises(ValueError, match=r"^SOURCE must hold opaque pictures, got \S+0\.png, which is transparent"):
        read(tmp_path)


@pytest.mark.parametrize(("depth", "level"), [(2, 1), (4, 8), (8, 100), (16, 1000)])
def test_a_grey_that_is_clear_is_seen_at_any_depth(tmp_path, depth, level):
    """Pillow compares that of 2 and 4 bits with pixels that it has scaled to 8, and takes none of 16 for clear."""
    rows = {2: [0b01000000], 4: [0x80], 8: [level], 16: [*level.to_bytes(2, "big")]}[depth]
    for name, clear in (("clear", level), ("other", level + 1)):
        parts = {b"IHDR": struct.pack(">2I5B", 1, 1, depth, 0, 0, 0, 0), b"tRNS": struct.pack(">H", clear)}
        parts |= {b"IDAT": zlib.compress(bytes([0, *rows])), b"IEND": b""}
        picture = b"\x89PNG\r\n\x1a\n"
        for kind, of in parts.items():
            picture += struct.pack(">I", len(of)) + kind + of + struct.pack(">I", zlib.crc32(kind + of))
        (tmp_path / name).mkdir()
        for frame in range(2):
            (tmp_path / name / f"{frame}.png").write_bytes(picture)
    assert read(tmp_path / "other", range=(0, 65535) if depth == 16 else None)[0].shape == (1, 2, 1, 1, 1)
    with pytest.raises(ValueError, match=r"^SOURCE must hold opaque pictures, got \S+0\.png, which is transparent"):
        read(tmp_path / "clear")


@pytest.mark.parametrize("kind", ["GIF", "JPEG", "TIFF"])
def test_what_is_called_png_and_is_none_is_refused(tmp_path, kind):
    """Of a GIF the first picture would stand for all."""
    first, *others = (Image.fromarray(np.full((5, 7), level, np.uint8)) for level in (10, 200, 90))
    for frame in range(2):
        more = {"save_all": True, "append_images": others} if kind == "GIF" else {}
        first.save(tmp_path / f"{frame}.png", kind, **more)
    with pytest.raises(ValueError, match=r"^SOURCE must hold whole pictures, got \S+0\.png"):
        read(tmp_path)


def test_an_opaque_palette_with_alpha_is_taken_without_a_word(tmp_path):
    picture = Image.fromarray(COLOR[0, 0]).quantize(16)
    for frame in range(2):
        picture.save(tmp_path / f"{frame}.png", transparency=bytes([255] * 16))
    with warnings.catch_warnings(action="error"):  # such as Pillow's, which wants another mode
        assert read(tmp_path)[0].shape[-1] == 3


def test_an_animated_png_is_refused(tmp_path):
    """Else its first picture would stand for all."""
    first, *others = (Image.fromarray(np.full((5, 7), level, np.uint8)) for level in (10, 200, 90))
    first.save(tmp_path / "0.png", save_all=True, append_images=others)
    first.save(tmp_path / "1.png")
    with pytest.raises(
        ValueError, match=r"^SOURCE must hold one picture in each PNG file, got an animation in \S+0\.p"
    ):
        read(tmp_path)
