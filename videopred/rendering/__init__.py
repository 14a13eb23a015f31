"""Films as pictures: what there is to draw, by name. What draws is loaded on use: this module is light.

A row draws one thing of a clip at every frame; films and strips put rows beside one another. Frames are counted from 1,
so frame `context + s` is rollout step s; modules, object files and schemata are counted from 0.
"""

from typing import NamedTuple

from videopred import check


class Row(NamedTuple):
    """One thing to see of a clip."""

    summary: str
    address: str
    """module:function, which makes a `Panel` from a `Scene` and a scale."""


ROWS: dict[str, Row] = {
    "truth": Row("The true frames.", "videopred.rendering.film_rows:truth"),
    "pred": Row("What the model predicted.", "videopred.rendering.film_rows:prediction"),
    "diff": Row("Where the two differ.", "videopred.rendering.film_rows:differing"),
    "overlay": Row("The truth, in transparent blue, over the prediction.", "videopred.rendering.film_rows:overlay"),
    "modules": Row("Which modules were active.", "videopred.rendering.raster_rows:modules"),
    "attention": Row("What modules read of the input: on a map, where.", "videopred.rendering.raster_rows:attention"),
    "schemata": Row("Which schema each object file used.", "videopred.rendering.raster_rows:schemata"),
    "masks": Row("The model's own segmentation.", "videopred.rendering.film_rows:masks"),
    "boxes": Row("Boxes of the true objects on the prediction.", "videopred.rendering.film_rows:boxes"),
}
"""Name on the command line -> row, in the order of the help."""

USUAL_ROWS = ("truth", "pred", "diff")


def check_rows(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names if each is of a row, and none is there twice.

    Raises:
        ValueError: an unknown row, one named twice, or none.
    """
    check.require(len(names) > 0, "--rows", "name at least one", "none", f"choose among {', '.join(ROWS)}")
    for name in names:
        check.one_of("--rows", name, ROWS)
    check.require(len(set(names)) == len(names), "--rows", "name each once", ",".join(names), "leave one out")
    return names
