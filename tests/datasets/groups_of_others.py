"""Files of others in R-NEM's layout, for tests of what is read of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py


def write_group(**datasets: Any) -> Callable[[Path], None]:
    """A writer of files with these data sets, in whose names two underscores stand for a slash."""

    def write(path: Path) -> None:
        with h5py.File(path, "w") as file:
            for name, data in datasets.items():
                file[name.replace("__", "/")] = data

    return write
