"""Image files: GIF films and PNG stills. The only door of imageio."""

from pathlib import Path

import imageio.v3 as iio
import numpy as np

from videopred.check import complaint, require
from videopred.files import whole_file


def write_gif(frames: np.ndarray, path: Path, *, frame_ms: int = 100) -> Path:
    """Write a GIF that plays for ever, and return its path.

    Exact as long as a frame has no more than 256 colours. Equal consecutive frames are stored as one that is
    shown longer, so the playing time is right but the number of frames in the file is not that of the film.

    Args:
        frames: (T, H, W, 3) uint8, 0 to 255.
        path: ends in .gif; its folder is made if it is not there.
        frame_ms: time per frame; GIF counts in steps of 10 ms, and browsers slow down below 20 ms.

    Raises:
        TypeError: the frames are not uint8 (imageio would write a float film as black).
        ValueError: they have other axes, the name does not end in .gif, or the time is no such number.
        OSError: the file cannot be written.
    """
    return _write(path, ".gif", gif_bytes(frames, frame_ms=frame_ms))


def gif_bytes(frames: np.ndarray, *, frame_ms: int = 100) -> bytes:
    """The content of that file; arguments and complaints are those of `write_gif`."""
    _check_pixels("frames", frames, axes=4)
    allowed = isinstance(frame_ms, int) and frame_ms >= 20 and frame_ms % 10 == 0
    require(allowed, "frame_ms", "be a multiple of 10, at least 20", frame_ms, "try 100, ten frames a second")
    return iio.imwrite("<bytes>", frames, plugin="pillow", extension=".gif", duration=frame_ms, loop=0)


def write_png(image: np.ndarray, path: Path) -> Path:
    """Write a PNG, and return its path.

    Args:
        image: (H, W, 3) uint8, 0 to 255.
        path: ends in .png; its folder is made if it is not there.

    Raises:
        TypeError: the image is not uint8.
        ValueError: it has other axes, or the name does not end in .png.
        OSError: the file cannot be written.
    """
    return _write(path, ".png", png_bytes(image))


def png_bytes(image: np.ndarray) -> bytes:
    """The content of that file; arguments and complaints are those of `write_png`."""
    _check_pixels("image", image, axes=3)
    return iio.imwrite("<bytes>", image, plugin="pillow", extension=".png")


def _check_pixels(name: str, pixels: np.ndarray, axes: int) -> None:
    if pixels.dtype != np.uint8:
        fix = "convert a film with videopred.frames.to_frames"
        raise TypeError(complaint(name, "be uint8, 0 to 255", pixels.dtype, fix))
    fits = pixels.ndim == axes and pixels.shape[-1] == 3 and pixels.size > 0
    shape = "(T, H, W, 3)" if axes == 4 else "(H, W, 3)"
    require(fits, name, f"have shape {shape}", pixels.shape, "repeat a grey channel three times")


def _write(path: Path, suffix: str, content: bytes) -> Path:
    # Encoded in memory: on a full disk imageio would try a second time when it is cleared away, and print a traceback.
    require(path.suffix.lower() == suffix, str(path), f"end in {suffix}", repr(path.suffix), "rename it")
    with whole_file(path) as partial:
        partial.write_bytes(content)
    return path
