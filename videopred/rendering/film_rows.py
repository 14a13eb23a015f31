"""Rows that are films: truth, prediction, and the two together."""

import numpy as np

from videopred.palette import AGREED, DISCOLORED, INVENTED, MISSED, OBJECT_COLORS, PAGE, as_pixels, module_colors
from videopred.rendering.clip_view import ClipView
from videopred.rendering.panel import Panel, Swatch, numbers, shown


def truth(view: ClipView, scale: int) -> Panel:
    """The true frames."""
    return shown(view.truth, scale, "truth")


def prediction(view: ClipView, scale: int) -> Panel:
    """The predicted frames."""
    return shown(view.prediction, scale, "prediction")


def differing(view: ClipView, scale: int) -> Panel:
    """Where they differ, see `difference`."""
    swatches = _swatches(view, "missed", "invented", "both", "wrong color")
    film = difference(view.truth, view.prediction)
    film[: view.unpredicted] = PAGE
    return shown(film, scale, "difference", swatches)


def difference(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Where two films differ: light grey where both are bright, blue where only the truth is, vermilion where only the
    prediction is, and purple where both are, in other colours.

    Soft predictions mix: p = 0.3 over a lit pixel is 0.3 grey and 0.7 blue, over a dark one 0.3 vermilion. Of
    several channels the largest share counts.

    Args:
        truth: (..., H, W, C) uint8.
        prediction: the same.

    Returns:
        (..., H, W, 3) uint8.
    """
    true, ours = truth / 255, prediction / 255
    shares = (np.minimum(true, ours), np.maximum(true - ours, 0), np.maximum(ours - true, 0))
    agreed, missed, invented = (share.max(axis=-1) for share in shares)
    other = np.minimum(missed, invented)  # one channel is missed and another invented; of a single channel never both
    strongest = np.stack([agreed, missed - other, invented - other, other], axis=-1)
    strongest /= np.maximum(strongest.sum(axis=-1, keepdims=True), 1)
    return (strongest @ np.array([AGREED, MISSED, INVENTED, DISCOLORED])).round().astype(np.uint8)


def _swatches(view: ClipView, missed: str, invented: str, agreed: str, discolored: str) -> tuple[Swatch, ...]:
    """The legend of a difference, with other colors for films that have some."""
    in_any = (Swatch(MISSED, missed), Swatch(INVENTED, invented), Swatch(AGREED, agreed))
    return (*in_any, Swatch(DISCOLORED, discolored)) if view.truth.shape[-1] > 1 else in_any


def overlay(view: ClipView, scale: int) -> Panel:
    """The truth, in transparent blue, over the prediction."""
    return shown(laid_over(view.truth, view.prediction), scale, "overlay", (Swatch(MISSED, "truth"),))


def laid_over(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """The prediction, covered by blue that is 0.6 opaque where the truth is brightest (..., H, W, 3) uint8."""
    opacity = 0.6 * truth.max(axis=-1, keepdims=True) / 255
    return (opacity * np.array(MISSED) + (1 - opacity) * prediction).round().astype(np.uint8)


def masks(view: ClipView, scale: int) -> Panel:
    """The masks of the decoder, each module in its colour; a pixel that several share is their mixture."""
    (shares,) = view.traced("masks")  # (T, K, H, W)
    colors = module_colors(shares.shape[1])
    film = np.einsum("tkhw,kc->thwc", shares, colors).clip(0, 255)
    return shown(as_pixels(film), scale, "masks", numbers(colors), view.word_for_module)


def changed(view: ClipView, scale: int) -> Panel:
    """What was predicted under the intervention."""
    assert view.changed is not None
    return shown(view.changed, scale, ", ".join(("changed", *view.intervention)))


def change(view: ClipView, scale: int) -> Panel:
    """Where the intervention changed the prediction, as `difference` from the untouched one to the changed."""
    assert view.changed is not None
    swatches = _swatches(view, "lost", "new", "kept", "other color")
    return shown(difference(view.prediction, view.changed), scale, "change", swatches)


def boxes(view: ClipView, scale: int) -> Panel:
    """The prediction, with a box around where each object truly is seen."""
    assert view.masks is not None
    there = np.unique(view.masks[view.masks > 0]).tolist()
    colors = {number: tuple(OBJECT_COLORS[(number - 1) % len(OBJECT_COLORS)].tolist()) for number in there}
    # Further objects would have these colours again, and a crowd's legend would be wider than all films together.
    swatches = tuple(Swatch(colors[number], str(number)) for number in there[: len(OBJECT_COLORS)])
    panel = shown(view.prediction, scale, "true boxes", swatches, "object")
    film = panel.film.copy()
    line = max(2, scale // 4)  # to be seen when the picture is half as large
    for t, mask in enumerate(view.masks):
        for number in np.unique(mask[mask > 0]).tolist():
            color = colors[number]
            rows, columns = np.nonzero(mask == number)
            top, left = rows.min() * scale, columns.min() * scale
            bottom, right = (rows.max() + 1) * scale, (columns.max() + 1) * scale
            film[t, top : top + line, left:right] = film[t, bottom - line : bottom, left:right] = color
            film[t, top:bottom, left : left + line] = film[t, top:bottom, right - line : right] = color
    return panel._replace(film=film, stills=film)
