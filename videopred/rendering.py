"""Films as pictures: truth, prediction and their difference. The only door of matplotlib.

Frames are counted from 1, so frame `context + s` is rollout step s. Colours are Okabe and Ito's, which colour-blind
readers tell apart.
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from torch import Tensor

from videopred import pictures
from videopred.check import require, whole_number
from videopred.frames import to_frames

if TYPE_CHECKING:
    from videopred.rollout import Rollout

PAGE = (255, 255, 255)
INK = (51, 51, 51)
TRACK = (222, 226, 230)
CONTEXT = (120, 144, 164)
"""Calm: the true frames are still given."""
ROLLOUT = (230, 159, 0)
"""Orange: the model is on its own."""
MISSED = (86, 180, 233)
"""Sky blue: in the truth only."""
INVENTED = (213, 94, 0)
"""Vermilion: in the prediction only."""
AGREED = (120, 120, 120)

BORDER, MARGIN, HEADER, LEGEND, TEXT = 4, 14, 40, 197, 18
"""Sizes of the pictures' parts, and of the letters, px."""


class _Label(NamedTuple):
    """Text on a picture."""

    text: str
    x: float
    """px from the left, of the anchor that `align` names."""
    y: float
    """px from the top, of the middle."""
    align: str = "center"


def film_gif_frames(
    context: Tensor, truth: Tensor, prediction: Tensor, one_step: Tensor | None = None, *, panel_px: int = 256
) -> np.ndarray:
    """Frames of a film with truth, prediction and difference side by side.

    Borders change colour where the rollout begins. During the context the middle panel shows what the model
    predicted one step ahead; where that is not given (the first frame never is), the true frame.

    Args:
        context: (context, C, H, W) float in [0, 1], the true frames given to the model; C is 1 or 3.
        truth: (horizon, C, H, W) float in [0, 1], the true frames that follow.
        prediction: (horizon, C, H, W) float in [0, 1], the predicted ones.
        one_step: (context − 1, C, H, W) float in [0, 1], predictions of context frames 2, 3, …
        panel_px: longest side of a panel at most; a pixel becomes a square of whole pixels.

    Returns:
        (context + horizon, height, width, 3) uint8.

    Raises:
        TypeError: a film is not floating point.
        ValueError: films of other shapes than these, or values outside [0, 1].
    """
    panels = _panels(context, truth, prediction, one_step)
    frames, height, width = panels[0].shape[:3]
    layout = _Layout.of(height, width, panel_px)
    page = _captioned_page(layout)
    return np.stack([_gif_frame(page, layout, panels, t, len(context)) for t in range(frames)])


class _Layout(NamedTuple):
    """Where things lie on a frame of the GIF, in px."""

    scale: int
    high: int
    wide: int
    lefts: list[int]
    """Of the three panels, without their borders."""

    @classmethod
    def of(cls, height: int, width: int, panel_px: int) -> "_Layout":
        scale = max(1, panel_px // max(height, width))
        high, wide = height * scale, width * scale
        column = max(wide + 2 * BORDER, 216)  # the captions need this much
        inset = (column - wide) // 2
        return cls(scale, high, wide, [MARGIN + inset + k * (column + MARGIN) for k in range(3)])

    @property
    def span(self) -> slice:
        """Columns from the first panel's border to the last one's."""
        return slice(self.lefts[0] - BORDER, self.lefts[2] + self.wide + BORDER)

    @property
    def footer(self) -> slice:
        """Rows of the text under the panels."""
        return slice(HEADER + self.high + 2 * BORDER + 6, HEADER + self.high + 2 * BORDER + 34)


def _captioned_page(layout: _Layout) -> np.ndarray:
    """What all frames of a GIF share."""
    page = _page(layout.footer.stop + 18, layout.lefts[2] + layout.lefts[0] + layout.wide)
    middles = [left + layout.wide / 2 for left in layout.lefts]
    captions = [_Label("truth", middles[0], 22), _Label("prediction", middles[1], 22)]
    return _written(page, captions + _legend(page, round(middles[2]) - LEGEND // 2, 22))


def _gif_frame(page: np.ndarray, layout: _Layout, panels: list[np.ndarray], t: int, context: int) -> np.ndarray:
    """Frame t of a GIF."""
    image = page.copy()
    step, frames = t + 1 - context, len(panels[0])
    for left, panel in zip(layout.lefts, panels, strict=True):
        right, bottom = left + layout.wide, HEADER + BORDER + layout.high
        colour = ROLLOUT if step > 0 else CONTEXT
        image[HEADER : bottom + BORDER, left - BORDER : right + BORDER] = colour
        image[HEADER + BORDER : bottom, left:right] = _enlarged(panel[t], layout.scale)
    state = f"rollout step {step}" if step > 0 else "context"
    first, last = layout.span.start, layout.span.stop
    labels = [_Label(f"frame {t + 1}", first, 14, "left"), _Label(state, last, 14, "right")]
    image[layout.footer] = _written(image[layout.footer], labels)
    timeline = image[layout.footer.stop : layout.footer.stop + 4, layout.span]
    timeline[:] = TRACK
    now, turn = (round(timeline.shape[1] * passed / frames) for passed in (t + 1, context))
    timeline[:, : min(now, turn)] = CONTEXT
    timeline[:, turn : max(now, turn)] = ROLLOUT
    return image


def film_strip(
    context: Tensor,
    truth: Tensor,
    prediction: Tensor,
    one_step: Tensor | None = None,
    *,
    columns: int = 12,
    panel_px: int = 128,
) -> np.ndarray:
    """A still with truth, prediction and difference as rows, and every n-th frame as a column.

    The rollout's first frame is always a column; n is the smallest with which the film fits.

    Args:
        context, truth, prediction, one_step, panel_px: as for `film_gif_frames`.
        columns: largest number of columns, at least 2.

    Returns:
        (height, width, 3) uint8.

    Raises:
        TypeError, ValueError: as `film_gif_frames`.
    """
    whole_number("columns", columns, 2, "show a frame before and one after the rollout's beginning")
    panels = _panels(context, truth, prediction, one_step)
    frames, height, width = panels[0].shape[:3]
    scale = max(1, panel_px // max(height, width))
    high, wide = height * scale, width * scale
    gap, names, top = 6, 128, 126
    pitch = max(wide, 40) + gap  # a frame number needs this much
    shown = _every_nth(len(context), frames, columns)
    lefts = [names + k * pitch + (24 if t >= len(context) else 0) for k, t in enumerate(shown)]
    tops = [top + row * (high + gap) for row in range(3)]
    page = _page(tops[-1] + high + MARGIN, max(lefts[-1] + wide, names + 320) + MARGIN)

    rows = {"frame": top - 48, "step": top - 20}
    rows |= {name: y + high // 2 for name, y in zip(("truth", "prediction", "difference"), tops, strict=True)}
    labels = [_Label(name, names - 14, y, "right") for name, y in rows.items()]
    for t, left in zip(shown, lefts, strict=True):
        labels.append(_Label(f"{t + 1}", left + wide / 2, rows["frame"]))
        if t >= len(context):
            labels.append(_Label(f"{t + 1 - len(context)}", left + wide / 2, rows["step"]))
        for panel, y in zip(panels, tops, strict=True):
            page[y : y + high, left : left + wide] = _enlarged(panel[t], scale)
    given = [left for t, left in zip(shown, lefts, strict=True) if t < len(context)]
    for name, colour, group in (("context", CONTEXT, given), ("rollout", ROLLOUT, lefts[len(given) :])):
        if group:
            page[top - 72 : top - 66, group[0] : group[-1] + wide] = colour
            labels.append(_Label(name, group[0], top - 90, "left"))
    return _written(page, labels + _legend(page, page.shape[1] - MARGIN - LEGEND, 16))


def render(rollout: "Rollout", truth: Tensor, index: int, folder: Path, name: str) -> list[Path]:
    """Write `name`.gif (the film) and `name`.png (the strip) of one clip, and return their paths.

    Files of these names are replaced.

    Args:
        rollout: of a batch of clips.
        truth: (B, horizon, C, H, W) float in [0, 1], the true frames that follow its context.
        index: which clip of the batch.
        folder: made if it is not there.
        name: of the files, without suffix.

    Raises:
        TypeError, ValueError: as `film_gif_frames`.
        OSError: a file cannot be written.
    """
    films = (rollout.context[index], truth[index], rollout.prediction[index], rollout.one_step[index])
    gif, strip = film_gif_frames(*films), film_strip(*films)
    return [
        pictures.write_gif(gif, folder / f"{name}.gif"),
        pictures.write_png(strip, folder / f"{name}.png"),
    ]


def difference(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Where two films differ: grey where both are bright, blue where only the truth is, else vermilion.

    Soft predictions mix: p = 0.3 over a lit pixel is 0.3 grey and 0.7 blue, over a dark one 0.3 vermilion. Of
    several channels the largest share counts; a wrong colour is both missed and invented.

    Args:
        truth: (..., H, W, C) uint8.
        prediction: the same.

    Returns:
        (..., H, W, 3) uint8.
    """
    true, ours = truth / 255, prediction / 255
    shares = (np.minimum(true, ours), np.maximum(true - ours, 0), np.maximum(ours - true, 0))
    strongest = np.stack([share.max(axis=-1) for share in shares], axis=-1)
    strongest /= np.maximum(strongest.sum(axis=-1, keepdims=True), 1)
    return (strongest @ np.array([AGREED, MISSED, INVENTED])).round().astype(np.uint8)


def _panels(context: Tensor, truth: Tensor, prediction: Tensor, one_step: Tensor | None) -> list[np.ndarray]:
    """Truth, prediction and difference of the whole film, each (T, H, W, 3) uint8."""
    fits = context.dim() == 4 and len(context) > 0 and context.shape[1] in (1, 3)
    _require_shape(fits, "context", "be (T, C, H, W) with C 1 or 3", context)
    fits = truth.dim() == 4 and len(truth) > 0 and truth.shape[1:] == context.shape[1:]
    _require_shape(fits, "truth", f"have frames of the context's shape {tuple(context.shape[1:])}", truth)
    fits = prediction.shape == truth.shape
    _require_shape(fits, "prediction", f"have the truth's shape {tuple(truth.shape)}", prediction)
    one_step = context[1:] if one_step is None else one_step
    fits = one_step.shape == context[1:].shape
    _require_shape(fits, "one_step", f"have shape {tuple(context[1:].shape)}", one_step)
    true = to_frames(torch.cat([context.cpu(), truth.cpu()]))
    ours = to_frames(torch.cat([context[:1].cpu(), one_step.cpu(), prediction.cpu()]))
    return [_rgb(true), _rgb(ours), difference(true, ours)]


def _require_shape(fits: bool, name: str, must: str, film: Tensor) -> None:
    require(fits, name, must, tuple(film.shape), "give films of one clip, without the batch axis")


def _every_nth(context: int, frames: int, columns: int) -> list[int]:
    """Indices of evenly spaced frames, at most `columns` of them, among them the rollout's first."""
    for every in range(1, frames + 1):
        shown = list(range(context % every, frames, every))
        if len(shown) <= columns:
            return shown
    raise AssertionError("a step as long as the film leaves one frame")


def _rgb(frames: np.ndarray) -> np.ndarray:
    return np.broadcast_to(frames, (*frames.shape[:-1], 3))


def _enlarged(image: np.ndarray, scale: int) -> np.ndarray:
    """Each pixel as a square of scale x scale."""
    return image.repeat(scale, axis=0).repeat(scale, axis=1)


def _page(height: int, width: int) -> np.ndarray:
    return np.full((height, width, 3), PAGE, np.uint8)


def _legend(page: np.ndarray, x: int, y: int) -> list[_Label]:
    """Paint the swatches of the difference from x on, and return their labels."""
    labels = []
    for colour, name, left in ((MISSED, "missed", x), (INVENTED, "invented", x + 98)):
        page[y - 7 : y + 7, left : left + 14] = colour
        labels.append(_Label(name, left + 21, y, "left"))
    return labels


def _written(image: np.ndarray, labels: list[_Label]) -> np.ndarray:
    """The image with text on it."""
    height, width = image.shape[:2]
    dpi = 64  # a power of two: width / dpi * dpi is exact, so no pixel is lost to rounding
    figure = Figure(figsize=(width / dpi, height / dpi), dpi=dpi)
    canvas = FigureCanvasAgg(figure)
    figure.figimage(image, origin="upper")
    for label in labels:
        figure.text(
            label.x / width, 1 - label.y / height, label.text, size=TEXT * 72 / dpi,
            ha=label.align, va="center_baseline", color=np.array(INK) / 255, family="DejaVu Sans",
        )  # fmt: skip
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
