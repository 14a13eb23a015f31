"""Reading MNIST: the package's own digits, and full folders, whole and damaged."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from mnist_folders import idx, write_full_mnist

from videopred.datasets import make_world
from videopred.datasets.digits import EMBEDDED, read_digits


@pytest.fixture(scope="module")
def full_mnist(tmp_path_factory) -> Path:
    return write_full_mnist(tmp_path_factory.mktemp("full"))


def test_the_embedded_digits_are_mnists_test_file():
    digits = read_digits()
    assert digits.images.shape == (10_000, 28, 28)
    # Class counts of MNIST's test set, as published.
    assert np.bincount(digits.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert (EMBEDDED / "LICENSE").read_text().count("CC BY-SA 3.0") == 1


def test_each_class_is_shared_80_10_10_in_file_order():
    digits = read_digits()
    assert sorted(np.concatenate(list(digits.parts.values()))) == list(range(10_000))
    assert all((np.diff(rows) > 0).all() for rows in digits.parts.values())
    for digit in range(10):
        rows = {part: rows[digits.labels[rows] == digit] for part, rows in digits.parts.items()}
        total = sum(map(len, rows.values()))
        assert len(rows["train"]) == total * 8 // 10
        assert abs(len(rows["validation"]) - len(rows["test"])) <= 1
        assert rows["train"].max() < rows["validation"].min()
        assert rows["validation"].max() < rows["test"].min()


def test_a_full_folder_keeps_the_last_10000_for_validation(full_mnist):
    digits = read_digits(full_mnist)
    assert {part: (rows[0], rows[-1]) for part, rows in digits.parts.items()} == {
        "train": (0, 49),
        "validation": (50, 10_049),
        "test": (10_050, 10_119),
    }
    assert digits.images[10_049, 0, :2].tolist() == [10_049 // 256, 10_049 % 256]
    assert digits.images[10_119, 0, :2].tolist() == [0, 69]
    assert digits.labels[10_119] == 9


def test_a_world_uses_the_folder_and_says_so(full_mnist):
    world = make_world("sm-mnist", full_mnist)
    assert world.recipe.mnist_sha256 == read_digits(full_mnist).sha256 != read_digits().sha256
    [clip] = world.clips(0, "test", [0])
    assert (clip.objects["source"] >= 10_050).all()


@pytest.mark.parametrize("changed", ["images", "labels", "parts"])
def test_the_hash_is_of_images_labels_and_parts(full_mnist, changed):
    digits = read_digits(full_mnist)
    others = {"images": digits.images[::-1], "labels": digits.labels[::-1]}
    others["parts"] = digits.parts | {"test": digits.parts["test"][:-1]}
    assert digits._replace(**{changed: others[changed]}).sha256 != digits.sha256


def folder_without(missing: str, full_mnist: Path, root: Path) -> Path:
    """Where files of MNIST lie within `root`, with those of the full folder but the missing one."""
    raw = root / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for file in (full_mnist / "MNIST" / "raw").iterdir():
        if not file.name.startswith(missing):
            (raw / file.name).symlink_to(file)
    return raw


FILES = [f"{prefix}-{kind}-ubyte" for prefix in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]


@pytest.mark.parametrize("missing", FILES)
def test_an_incomplete_folder_names_the_missing_file(full_mnist, tmp_path, missing):
    folder_without(missing, full_mnist, tmp_path)
    with pytest.raises(
        FileNotFoundError, match=rf"^--mnist must hold {missing} or {missing}\.gz, got .*; give the folder"
    ):
        read_digits(tmp_path)


@pytest.mark.parametrize("nearer", ["MNIST", "MNIST/raw"])
def test_the_folder_of_the_files_may_be_named_itself(full_mnist, nearer):
    assert read_digits(full_mnist / nearer).sha256 == read_digits(full_mnist).sha256


def test_a_folder_that_is_not_there_is_said_to_be_so(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"--mnist must hold train-.*, got \S+none/MNIST/raw, which is not there;"
    ):
        read_digits(tmp_path / "none")


def cut_gzip(content: bytes) -> bytes:
    return gzip.compress(content)[:-9]


def flipped_bits(content: bytes) -> bytes:
    packed = bytearray(gzip.compress(content))
    packed[len(packed) // 2] ^= 255
    return bytes(packed)


def no_block(content: bytes) -> bytes:
    packed = bytearray(gzip.compress(content))
    packed[10] = 255  # the first after the header, of a kind of block that there is not
    return bytes(packed)


def other_kind(content: bytes) -> bytes:
    return gzip.compress(b"\0\0\x09" + content[3:])


def too_short(content: bytes) -> bytes:
    return gzip.compress(content[:-1])


def too_long(content: bytes) -> bytes:
    return gzip.compress(content + b"\0")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "damage",
    [cut_gzip, flipped_bits, no_block, other_kind, too_short, too_long, lambda _: b"", lambda _: gzip.compress(b"")],
)
def test_a_damaged_file_is_refused(full_mnist, tmp_path, name, damage):
    raw = folder_without(name, full_mnist, tmp_path)
    noise = np.random.default_rng(0).integers(0, 256, (30, 28, 28), np.uint8)
    whole = idx(noise if "images" in name else noise[:, 0, 0])
    (raw / f"{name}.gz").write_bytes(damage(whole))
    with pytest.raises(ValueError, match=rf"^--mnist must hold an undamaged {name}, got .*; give the folder"):
        read_digits(tmp_path)


def test_a_file_that_may_not_be_read_is_not_called_damaged(full_mnist, monkeypatch):
    def refused(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(PermissionError, match=r"^\[Errno 13\] Permission denied: '.*-ubyte'$"):
        read_digits(full_mnist)


def test_images_of_another_shape_are_refused(full_mnist, tmp_path):
    """Of as many pixels, too, which could be cut into digits of the right one."""
    raw = folder_without("t10k-images", full_mnist, tmp_path)
    (raw / "t10k-images-idx3-ubyte").write_bytes(idx(np.ones((70, 14, 56), np.uint8)))
    with pytest.raises(ValueError, match=r"must hold an undamaged t10k-images-idx3-ubyte, got .*wrong header"):
        read_digits(tmp_path)


@pytest.mark.parametrize("digits", [3, 10_000])
def test_a_folder_that_leaves_none_to_learn_from_is_refused(tmp_path, digits):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name in FILES:
        (raw / name).write_bytes(idx(np.ones((digits, 28, 28) if "images" in name else digits, np.uint8)))
    must = rf"^--mnist must hold more than 10000 training digits, got {digits} in .*; give the"
    with pytest.raises(ValueError, match=must):
        read_digits(tmp_path)


def test_a_part_without_digits_is_refused(full_mnist, tmp_path):
    raw = folder_without("t10k-labels", full_mnist, tmp_path)
    (raw / "t10k-labels-idx1-ubyte").write_bytes(idx(np.full(70, 3, np.uint8)))
    with pytest.raises(ValueError, match=r"^--mnist must hold digits of the classes \(8, 9\) for the part test, got"):
        make_world("sm-mnist", tmp_path)


@pytest.mark.parametrize("classes", [10, 26])
def test_letters_are_no_digits(full_mnist, tmp_path, classes):
    """Those of EMNIST come under the same names, and count from 1."""
    raw = folder_without("t10k-labels", full_mnist, tmp_path)
    (raw / "t10k-labels-idx1-ubyte").write_bytes(idx(np.arange(70, dtype=np.uint8) % classes + 1))
    with pytest.raises(ValueError, match=rf"^--mnist must hold labels from 0 to 9, got {classes} in "):
        make_world("sm-mnist", tmp_path)


def test_every_image_needs_a_label(tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / "train-images-idx3-ubyte").write_bytes(idx(np.ones((3, 28, 28), np.uint8)))
    (raw / "train-labels-idx1-ubyte").write_bytes(idx(np.ones(2, np.uint8)))
    with pytest.raises(ValueError, match="must hold a label for every image, got 3 images and 2 labels"):
        read_digits(tmp_path)
