"""Arrays of HDF5 files whose values lie in other files, which may change or be left behind: they are refused."""

from typing import TYPE_CHECKING, cast

from videopred import check

if TYPE_CHECKING:
    import h5py


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
