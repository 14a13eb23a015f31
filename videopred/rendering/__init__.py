"""Films as pictures: what there is to draw, by name. What draws is loaded on use: this module is light.

A row draws one thing of a clip at every frame; films and strips put rows beside one another. Frames are counted from 1,
so frame `context + s` is rollout step s; modules, object files and schemata are counted from 0.
"""

from typing import NamedTuple

from videopred import check


class Drawing(NamedTuple):
    """One thing to see of a clip."""

    summary: str
    address: str
    """module:function, which draws it."""
    needs: tuple[str, ...] = ()
    """What a view must have: a trace, by the last word of its name; a truth of the objects, by its name; or another
    thing, as `clip_view.known` calls it."""


ROWS: dict[str, Drawing] = {
    "truth": Drawing("The true frames.", "videopred.rendering.film_rows:truth"),
    "pred": Drawing("What the model predicted.", "videopred.rendering.film_rows:prediction"),
    "diff": Drawing("Where the two differ.", "videopred.rendering.film_rows:differing"),
    "overlay": Drawing("The truth, in transparent blue, over the prediction.", "videopred.rendering.film_rows:overlay"),
    "modules": Drawing("Which modules were active.", "videopred.rendering.raster_rows:modules", needs=("active",)),
    "attention": Drawing(
        "What active modules read: on a map, where; in BRIMs, also of the layer above.",
        "videopred.rendering.raster_rows:attention",
        needs=("input_attention",),
    ),
    "null": Drawing(
        "How much of each module's attention the null slot had.",
        "videopred.rendering.raster_rows:null",
        needs=("null_attention",),
    ),
    "top-down": Drawing(
        "How much of each module's attention the layer above had.",
        "videopred.rendering.raster_rows:top_down",
        needs=("top_down",),
    ),
    "schemata": Drawing(
        "Which schema each object file used.", "videopred.rendering.raster_rows:schemata", needs=("schema",)
    ),
    "masks": Drawing(
        "The model's own segmentation: each pixel in the colors of its modules, by their shares.",
        "videopred.rendering.film_rows:masks",
        needs=("masks",),
    ),
    "changed": Drawing(
        "What it predicts under an intervention.", "videopred.rendering.film_rows:changed", needs=("an intervention",)
    ),
    "change": Drawing(
        "Where the intervention changes the prediction.",
        "videopred.rendering.film_rows:change",
        needs=("an intervention",),
    ),
    "boxes": Drawing(
        "Boxes of the true objects on the prediction, as far as they are seen.",
        "videopred.rendering.film_rows:boxes",
        needs=("masks of objects",),
    ),
}
"""Name on the command line -> row: a function from a `ClipView` and a scale to a `Panel`, in the order of the help."""

_PAPER = "videopred.rendering.paper_figures"

FIGURES: dict[str, Drawing] = {
    "strip": Drawing(
        "Every n-th frame, truth in blue over (in color: above) prediction, step 10 in red (RIMs, figures 7 to 10).",
        f"{_PAPER}:strip_figure",
    ),
    "strips": Drawing(
        "Every n-th frame, with the strips of active modules in grey, for --core.reads strips (RIMs, figure 6).",
        f"{_PAPER}:active_strips",
        needs=("active", "strips of frames"),
    ),
    "activation": Drawing("Active modules over time (RIMs, figure 2).", f"{_PAPER}:activation", needs=("active",)),
    "activation-position": Drawing(
        "Active modules below the balls' positions (after RIMs, figure 6).",
        f"{_PAPER}:activation_and_positions",
        needs=("active", "positions"),
    ),
    "schemata": Drawing(
        "Each object file's schema over time, and the weights among which it chose (SCOFF, figures 3 and 15).",
        f"{_PAPER}:schema_use",
        needs=("schema",),
    ),
    "communication": Drawing(
        "Who hears whom: attention of modules on one another (in RMC on the input, too), over all clips chosen.",
        "videopred.rendering.communication_figure:communication",
        needs=("comm_attention",),
    ),
    "top-down": Drawing(
        "Attention on the layer above against occlusion, over all clips chosen (after BRIMs, figure 2).",
        "videopred.rendering.top_down_figure:top_down",
        needs=("top_down", "visibility/fraction"),
    ),
    "mask-out": Drawing(
        "Activity and error with each module silenced, over all clips chosen (after RIMs, appendix E.3).",
        "videopred.rendering.mask_out_figure:masked_out",
        needs=("active or input_attention",),
    ),
}
"""Name on the command line -> figure: a function from a list of views to a matplotlib figure."""

OF_ALL_CLIPS = ("communication", "top-down", "mask-out")
"""Figures that take all clips at once; of the others there is one for each clip."""

OF_SEVERAL_MODELS = ("strip",)
"""Figures that show several models."""

OF_CHANGES = tuple(name for name, row in ROWS.items() if "an intervention" in row.needs)
"""Rows that need an intervention."""

USUAL_ROWS = ("truth", "pred", "diff")
USUAL_CHANGED_ROWS = ("truth", "pred", "changed", "change")
"""With an intervention."""
USUAL_ROWS_OF_SEVERAL = ("truth", "pred")
"""Of several models."""


def rows_in(words: str) -> tuple[str, ...]:
    """The names of rows, between which there are commas."""
    return tuple(word.strip() for word in words.split(","))


def check_rows(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names if each is of a row, and none is there twice.

    Raises:
        ValueError: an unknown row, one named twice, or none.
    """
    check.require(len(names) > 0, "--rows", "name at least one", "none", f"choose among {', '.join(ROWS)}")
    for name in names:
        check.one_of("--rows", name, ROWS)
    check.each_once("--rows", names)
    return names
