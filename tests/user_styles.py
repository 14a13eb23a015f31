"""What users set for figures of their own, which must not change ours, nor be changed: here all of it at once."""

from collections.abc import Callable
from typing import Any

from matplotlib import rc_context, rcParams

STYLE: dict[str, Any] = {
    "text.usetex": True,
    "image.origin": "lower",
    **{"figure.facecolor": "black", "axes.facecolor": "black", "text.color": "white"},
    **{"axes.grid": True, "grid.alpha": 0.3, "savefig.dpi": 51, "savefig.bbox": "tight"},
    **{"font.family": "serif", "font.size": 23, "axes.titlelocation": "right"},
    "path.sketch": (1, 100, 2),
}


def in_style(make: Callable[[], Any]) -> Any:
    """What is made where a user has set that style, which is the same afterwards."""
    with rc_context(STYLE):
        before = dict(rcParams)
        made = make()
        assert dict(rcParams) == before
    return made
