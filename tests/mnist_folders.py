"""Folders that look like the whole MNIST."""

import gzip
from pathlib import Path

import numpy as np


def idx(array: np.ndarray) -> bytes:
    """An IDX file's bytes."""
    sizes = [0x0800 + array.ndim, *array.shape]
    return np.array(sizes, ">u4").tobytes() + array.tobytes()


def write_full_mnist(root: Path) -> Path:
    """A folder like torchvision's, with 10,050 training and 70 test digits; each image tells its row."""
    raw = root / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for prefix, count in (("train", 10_050), ("t10k", 70)):
        images = np.zeros((count, 28, 28), np.uint8)
        images[:, 0, 0], images[:, 0, 1] = np.divmod(np.arange(count), 256)
        images[:, 9, 9] = 255
        labels = (np.arange(count) % 10).astype(np.uint8)
        (raw / f"{prefix}-images-idx3-ubyte").write_bytes(idx(images))
        (raw / f"{prefix}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels), 1))
    return root
