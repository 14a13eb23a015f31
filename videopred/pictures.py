"""Image files: GIF and MP4 films, and PNG stills. The only door of imageio.

They are made in memory: of a file on a full disk, imageio would try again when it is cleared away, with a traceback.
"""

import io
import struct
from importlib.util import find_spec
from numbers import Integral

import imageio.v3 as iio
import numpy as np
from PIL import Image

from videopred.check import complaint, require, whole_number

_FREQUENT = 128
"""Colours of a GIF that are kept because they are frequent, as those of legends are."""


def gif_bytes(frames: np.ndarray, *, frame_ms: int = 100) -> bytes:
    """A GIF file that plays for ever.

    Exact as long as a frame has no more than 256 colours; of more, the 128 most frequent stay as they are, as those of
    legends do, and as many that differ most from them; any other becomes the nearest of these. Equal consecutive frames
    are stored as one that is shown longer, so the playing time is right but the number of frames in the file is not
    that of the film.

    Args:
        frames: (T, H, W, 3) uint8, 0 to 255.
        frame_ms: time per frame; GIF counts up to 65,535 steps of 10 ms, and browsers slow down below 20 ms.

    Raises:
        TypeError: the frames are not uint8 (imageio would write a float film as black).
        ValueError: they have other axes, the time is no such number, or equal frames in a row take longer together.
    """
    _check_pixels("frames", frames, axes=4)
    allowed = isinstance(frame_ms, Integral) and 20 <= frame_ms <= 655_350 and frame_ms % 10 == 0
    must, fix = "be a multiple of 10, from 20 to 655350", "try 100, ten frames a second"
    require(allowed, "frame_ms", must, frame_ms, fix)
    first, *others = map(_with_palette, frames)  # by imageio, Pillow would look for a palette again, for twice as long
    content = io.BytesIO()
    try:
        first.save(content, "GIF", save_all=True, append_images=others, duration=frame_ms, loop=0)
    except (OverflowError, struct.error):  # as newer and older releases of Pillow say
        must = "show equal frames in a row, which are stored as one, for at most 655350 ms"
        raise ValueError(complaint("frame_ms", must, frame_ms, "give a shorter time, or fewer frames")) from None
    return content.getvalue()


def _with_palette(frame: np.ndarray) -> Image.Image:
    """A frame (H, W, 3) as numbers of at most 256 colours; any other becomes the nearest of these."""
    packed = frame.astype(np.int32) @ np.array([1 << 16, 1 << 8, 1], np.int32)
    found, where, counts = np.unique(packed, return_inverse=True, return_counts=True)
    colors = np.stack([found >> 16, found >> 8 & 255, found & 255], -1).astype(np.uint8)
    kept, nearest = _palette(colors, counts)
    image = Image.fromarray(nearest[where.reshape(packed.shape)].astype(np.uint8))
    image.putpalette(colors[kept].tobytes())
    return image


def _palette(colors: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of some colours are kept, and for each colour the number of the nearest one among those kept.

    Of more than 256, first the most frequent, then again and again the one that is farthest from all kept.

    Args:
        colors: (N, 3) uint8, from dark to bright.
        counts: (N,) how often each is there.
    """
    if len(colors) <= 256:
        # The brightest comes first: a palette of 0, 1, … 255 would be taken for a film without colours.
        backwards = np.arange(len(colors))[::-1]
        return backwards, backwards
    points, frequent = colors.astype(np.float32), np.argsort(-counts, kind="stable")
    kept, nearest = np.empty(256, int), np.empty(len(colors), int)
    apart = np.full(len(colors), np.inf, np.float32)
    for number in range(256):
        kept[number] = frequent[number] if number < _FREQUENT else apart.argmax()
        distance = ((points - points[kept[number]]) ** 2).sum(-1)
        nearest[distance < apart] = number
        apart = np.minimum(apart, distance)
    return kept, nearest


def mp4_bytes(frames: np.ndarray, *, frame_ms: int = 100) -> bytes:
    """An MP4 file (H.264) that browsers and slides play.

    Colours are kept at half the resolution, as players want it, so pixels of a film should be squares of several; a
    white row or column is added where a side is odd.

    Args:
        frames: (T, H, W, 3) uint8, 0 to 255.
        frame_ms: time per frame.

    Raises:
        TypeError: the frames are not uint8.
        ValueError: they have other axes, PyAV is not there, or the time is below 1.
    """
    _check_pixels("frames", frames, axes=4)
    whole_number("frame_ms", frame_ms, 1, "try 100, ten frames a second")
    check_mp4()
    high, wide = (side % 2 for side in frames.shape[1:3])
    even = np.pad(frames, ((0, 0), (0, high), (0, wide), (0, 0)), constant_values=255)
    return iio.imwrite(
        "<bytes>",
        even,
        plugin="pyav",
        extension=".mp4",
        codec="libx264",
        fps=1000 / frame_ms,
        out_pixel_format="yuv420p",
    )


def check_mp4() -> None:
    """Raise ValueError unless films can be written as MP4 here: imageio needs PyAV, an extra, for it."""
    there = find_spec("av") is not None
    require(there, "--format", "be gif or png without PyAV", "mp4", "run `pip install av` first")


def png_bytes(image: np.ndarray) -> bytes:
    """A PNG file of an image (H, W, 3) uint8, 0 to 255; TypeError or ValueError of any other."""
    _check_pixels("image", image, axes=3)
    return iio.imwrite("<bytes>", image, plugin="pillow", extension=".png")


def _check_pixels(name: str, pixels: np.ndarray, axes: int) -> None:
    if pixels.dtype != np.uint8:
        fix = "convert a film with videopred.frames.to_frames"
        raise TypeError(complaint(name, "be uint8, 0 to 255", pixels.dtype, fix))
    fits = pixels.ndim == axes and pixels.shape[-1] == 3 and pixels.size > 0
    shape = "(T, H, W, 3)" if axes == 4 else "(H, W, 3)"
    require(fits, name, f"have shape {shape}", pixels.shape, "repeat a grey channel three times")
