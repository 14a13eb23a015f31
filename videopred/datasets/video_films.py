"""Films in MP4 files. The only door of PyAV, which comes with the extra `video`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from videopred import check
from videopred.datasets.foreign_films import RawFilms, visible, whole_source
from videopred.datasets.import_settings import ImportConfig


def read_videos(source: Path, config: ImportConfig) -> RawFilms:
    """The film of an MP4 file, or the films of a folder of them: frames as they are kept, whenever they are shown, but
    turned where the file says so, as those of phones do.

    Raises:
        ValueError: a file is damaged or holds no video, or PyAV is not there.
    """
    try:
        import av
    except ImportError:
        got = f"{source}, and PyAV is not installed"
        raise ValueError(check.complaint("SOURCE", "be read with PyAV", got, "run `pip install av` first")) from None
    paths = [source] if source.is_file() else [path for path in visible(source) if path.suffix.lower() == ".mp4"]

    def frames(clip: int) -> Iterator[np.ndarray]:
        path = paths[clip]
        with (
            whole_source(path, (av.error.FFmpegError,), "be whole MP4", "make it again"),
            av.open(str(path), metadata_errors="replace") as container,  # a title may be of any encoding
        ):
            there, got = len(container.streams.video) > 0, f"{path} without one"
            check.require_sound(there, "SOURCE", "hold a video", got, "choose another file")
            [stream, *_] = container.streams.video
            packets = shown = 0
            for packet in container.demux(stream):
                packets += packet.size > 0
                for frame in packet.decode():
                    shown += 1
                    _check_not_mirrored(frame, path)
                    _check_opaque(frame, path)
                    yield np.rot90(frame.to_ndarray(format="rgb24"), frame.rotation // 90)
            whole = packets >= stream.frames and shown > 0  # not all that is there need be shown
            got = f"{path}, where {packets} of {stream.frames} frames are"
            check.require_sound(whole, "SOURCE", "be whole MP4", got, "make it again")

    found = {"format": "MP4" if source.is_file() else "folder of MP4 files"}
    names = [str(path) for path in paths]
    return RawFilms(source, found, names, frames, grey_in_color=True)


def _check_opaque(frame: Any, path: Path) -> None:
    """Refuse a film through which one sees, of which the colors do not tell what is to be seen."""
    has_alpha = any(component.is_alpha for component in frame.format.components)
    # To rgba, opaque frames of some sizes and formats come out clear.
    opaque, fix = not has_alpha or frame.to_ndarray(format="gbrap")[..., 3].min() == 255, "draw it on a background"
    check.require_sound(opaque, "SOURCE", "hold opaque pictures", f"{path}, which is transparent", fix)


def _check_not_mirrored(frame: Any, path: Path) -> None:
    """Refuse a film that is to be shown mirrored, of which the angle by which it is turned does not tell all."""
    matrix = np.frombuffer(frame.side_data.get("DISPLAYMATRIX") or np.eye(3, dtype=np.int32), np.int32)
    a, b, _, c, d = map(int, matrix[:5])
    fix = "convert it with ffmpeg, which writes the frames as they are shown"
    check.require_sound(a * d > b * c, "SOURCE", "not be mirrored when it is shown", f"{path}, which is", fix)
