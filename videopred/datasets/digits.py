"""Handwritten digits: those inside the package, or a full MNIST folder.

The package holds MNIST's test file, 10,000 digits. Per class and in the order of the file, the first 80 % serve
training, the next 10 % validation and the last 10 % test. With a full folder, MNIST's training file serves training
but for its last 10,000 digits, which serve validation; MNIST's test file serves test.
"""

import gzip
import hashlib
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from videopred.check import FaultyFileError, complaint, require, require_sound

EMBEDDED = Path(__file__).parent / "mnist"
_FULL_VALIDATION = 10_000
_FIX = "give the folder that holds MNIST/raw as torchvision lays it out, or leave --mnist out"


class Digits(NamedTuple):
    """Digits and who may use them."""

    images: np.ndarray
    """(M, 28, 28) uint8, 0 to 255, bright on dark."""
    labels: np.ndarray
    """(M,) uint8, 0 to 9."""
    parts: dict[str, np.ndarray]
    """train, validation, test -> (M',) int64, rows of the above; no row is in two parts."""

    @property
    def sha256(self) -> str:
        """Hash of all images, labels and parts."""
        digest = hashlib.sha256()
        for array in (self.images, self.labels, *self.parts.values()):
            digest.update(array.tobytes())
        return digest.hexdigest()


def read_digits(mnist: Path | None = None) -> Digits:
    """The digits of a full MNIST folder, or the package's own when None. Nothing is downloaded.

    Raises:
        FileNotFoundError: the folder lacks one of MNIST's four files.
        ValueError: a file is damaged or of another kind, or there are too few digits.
    """
    if mnist is None:
        images, labels = _read_pair(EMBEDDED, "t10k")
        return Digits(images, labels, _split(labels))
    raw = _raw_folder(mnist)
    images, labels = _read_pair(raw, "train")
    test_images, test_labels = _read_pair(raw, "t10k")
    must, got = f"hold more than {_FULL_VALIDATION} training digits", f"{len(images)} in {raw}"
    require(len(images) > _FULL_VALIDATION, "--mnist", must, got, _FIX)
    rows, train = np.arange(len(images) + len(test_images)), len(images) - _FULL_VALIDATION
    parts = {"train": rows[:train], "validation": rows[train : len(images)], "test": rows[len(images) :]}
    return Digits(np.concatenate([images, test_images]), np.concatenate([labels, test_labels]), parts)


def _raw_folder(mnist: Path) -> Path:
    """Where the files of a folder are: in MNIST/raw, as torchvision lays them out, or nearer."""
    there = [mnist / "MNIST" / "raw", mnist / "raw", mnist]
    return next((folder for folder in there if folder.is_dir()), there[0])


def resize(image: np.ndarray, side: int) -> np.ndarray:
    """The digit on a square of another size, by Pillow's bilinear filter, as SVG does it.

    Args:
        image: (28, 28) uint8.
        side: rows and columns of the result.

    Returns:
        (side, side) uint8.
    """
    return np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.BILINEAR))


def _split(labels: np.ndarray) -> dict[str, np.ndarray]:
    """Rows of each part: 80, 10 and 10 % of every class, in the order of the file."""
    shares: dict[str, list[np.ndarray]] = {"train": [], "validation": [], "test": []}
    for digit in range(10):
        rows = np.flatnonzero(labels == digit)
        cuts = len(rows) * 8 // 10, len(rows) * 9 // 10
        for share, part in zip(shares.values(), np.split(rows, cuts), strict=True):
            share.append(part)
    return {part: np.sort(np.concatenate(rows)) for part, rows in shares.items()}


def _read_pair(folder: Path, prefix: str) -> tuple[np.ndarray, np.ndarray]:
    """Images (M, 28, 28) and labels (M,) of MNIST's train or t10k files."""
    images = _read_idx(folder, f"{prefix}-images-idx3-ubyte", (28, 28))
    labels = _read_idx(folder, f"{prefix}-labels-idx1-ubyte", ())
    got = f"{len(images)} images and {len(labels)} labels in {folder}"
    require_sound(len(images) == len(labels), "--mnist", "hold a label for every image", got, _FIX)
    largest = int(labels.max(initial=0))  # as of EMNIST's letters
    require_sound(largest <= 9, "--mnist", "hold labels from 0 to 9", f"{largest} in {folder}", _FIX)
    return images, labels


def _read_idx(folder: Path, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Array (M, *shape) uint8 of an IDX file, gzipped or plain.

    An IDX file is big-endian: two zero bytes, 8 for uint8, the number of axes, each axis as 4 bytes, the data.
    """
    paths = [folder / name, folder / f"{name}.gz"]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        got = f"{folder} without it" if folder.is_dir() else f"{folder}, which is not there"
        raise FileNotFoundError(complaint("--mnist", f"hold {name} or {name}.gz", got, _FIX))
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        sizes = np.frombuffer(content, ">u4", count=2 + len(shape))
        data = np.frombuffer(content, np.uint8, offset=sizes.nbytes)
        if sizes[0] != 0x0800 + 1 + len(shape) or tuple(sizes[2:]) != shape:
            raise ValueError("wrong header")
        return data.reshape(sizes[1], *shape)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not of what is in the file
            raise
        raise FaultyFileError(complaint("--mnist", f"hold an undamaged {name}", f"{path} ({error})", _FIX)) from None
