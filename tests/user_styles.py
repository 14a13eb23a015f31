"""What users set for figures of their own, which must not change ours, nor be changed."""

from collections.abc import Callable
from typing import Any

from matplotlib import rc_context, rcParams

STYLES: dict[str, dict[str, Any]] = {
    "TeX": {"text.usetex": True},
    "origin below": {"image.origin": "lower"},
    "dark": {"figure.facecolor": "black", "axes.facecolor": "black", "text.color": "white", "grid.alpha": 0.3},
    "grid": {"axes.grid": True, "savefig.dpi": 51, "savefig.bbox": "tight"},
    "letters": {"font.family": "serif", "font.size": 23, "axes.titlelocation": "right"},
    "sketch": {"path.sketch": (1, 100, 2)},
}


def in_style(name: str, make: Callable[[], Any]) -> Any:
    """What is made where a user has set a style, which is the same afterwards."""
    with rc_context(STYLES[name]):
        before = dict(rcParams)
        made = make()
        assert dict(rcParams) == before
    return made
