"""Views to what files hold: the film as a GIF or MP4, the strip as a PNG."""

from collections.abc import Sequence
from pathlib import Path

from videopred import pictures
from videopred.addresses import find
from videopred.rendering import FIGURES, USUAL_ROWS
from videopred.rendering.canvas import figure_bytes, our_style
from videopred.rendering.clip_view import ClipView, check_figure
from videopred.rendering.film import film_frames
from videopred.rendering.strip import strip


@our_style()
def draw_figure(name: str, views: Sequence[ClipView], paths: Sequence[Path]) -> dict[Path, bytes]:
    """Each path with the figure that its file is to hold, as its suffix says. Nothing is written.

    Args:
        name: a key of FIGURES.
        views: the clips it is drawn from; one, unless it takes all.
        paths: each ends in .png, .svg or .pdf.

    Raises:
        ValueError: the views lack what it draws.
    """
    check_figure(views[0], name)
    figure = find(FIGURES[name].address)(views)
    return {path: figure_bytes(figure, path.suffix[1:]) for path in paths}


def draw_view(
    view: ClipView, paths: Sequence[Path], rows: Sequence[str] = USUAL_ROWS, *, frame_ms: int = 100
) -> dict[Path, bytes]:
    """Each path with the view that its file is to hold, as its suffix says. Nothing is written.

    Args:
        view: one clip.
        paths: each ends in .gif or .mp4, for a film, or .png, for a strip.
        rows: names in ROWS.
        frame_ms: time per frame of a film.

    Raises:
        ValueError: the view lacks what a row draws, or as `pictures.gif_bytes` and `mp4_bytes`.
    """
    film = film_frames(view, rows) if any(path.suffix != ".png" for path in paths) else None
    contents = {}
    for path in paths:
        if film is None or path.suffix == ".png":
            contents[path] = pictures.png_bytes(strip(view, rows))
        elif path.suffix == ".mp4":
            contents[path] = pictures.mp4_bytes(film, frame_ms=frame_ms)
        else:
            contents[path] = pictures.gif_bytes(film, frame_ms=frame_ms)
    return contents
