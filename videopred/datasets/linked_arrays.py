"""Arrays of HDF5 files and the links that lead to them.

Those whose values lie in other files, which may change or be left behind, are refused.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from videopred import check

if TYPE_CHECKING:
    import h5py


def every_array(
    group: "h5py.Group", *around: "h5py.Group", above: str = "", linked: bool = False
) -> "Iterator[tuple[str, h5py.Dataset]]":
    """The arrays in a group and the groups in it, under each of their names, also where links lead to them.

    `visititems` of h5py follows no soft link, and finds each array under one of its names. Below a group that a link
    led to, no link to another is followed: of groups that all lead to one another, no end of the ways would be seen.
    """
    for name in group:
        is_link = hasattr(group.get(name, getlink=True), "path")  # which may lead nowhere
        try:
            item = group[name]
        except (KeyError, RuntimeError):  # RuntimeError where links lead in a circle
            if not is_link:
                raise
            continue
        if hasattr(item, "shape"):
            yield f"{above}{name}", item
        elif hasattr(item, "keys") and not (linked and is_link) and item not in (group, *around):
            yield from every_array(item, group, *around, above=f"{above}{name}/", linked=linked or is_link)


def own_array(argument: str, file: "h5py.File", name: str) -> "h5py.Dataset":
    """An array of an open file, if its values lie in that file.

    Of a virtual data set, HDF5 reads what lies in a file that is not there as zeros, and says nothing.

    Raises:
        FaultyFileError: they lie in other files, by an external link, as a virtual data set or in external storage; or
            a group stands in the array's place.
    """
    array = cast("h5py.Dataset", file[name])
    is_array, fix = hasattr(array, "shape"), "make the file again, or mend it where it comes from"
    check.require_sound(is_array, argument, "hold arrays", f"{name} in {file.filename}, which is a group", fix)
    inside = array.file.filename == file.filename and not array.is_virtual and not array.external
    got, fix = f"values of {name} in other files than {file.filename}", "copy them into one file"
    check.require_sound(inside, argument, "hold its own values", got, f"{fix}, with h5py as new[name] = old[name][:]")
    return array
