"""What tells clips apart: the values in a file, and nothing else of it."""

import hashlib
import shutil
import zlib
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from small_worlds import small

from videopred.datasets.clip_file import ClipFile
from videopred.datasets.fingerprint import _chunks, hash_values
from videopred.datasets.generation import generate
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.importing import import_films
from videopred.datasets.verification import verify

CLIPS = {"train": 37, "test": 5}


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return generate("balls4", CLIPS, seed=3, out=tmp_path_factory.mktemp("data"), recipe=small("balls4"))


def packed_again(path: Path, out: Path, backwards: bool = False, changed: str = "", **packing) -> Path:
    """The same arrays in another file, its chunks in other places, with one number of the array `changed` another."""
    with h5py.File(path) as ours, h5py.File(out, "w") as copy:
        copy.attrs.update({**ours.attrs, "software": "something else"})
        arrays: list[str] = []
        ours.visit(lambda name: arrays.append(name) if isinstance(ours[name], h5py.Dataset) else None)
        for name in arrays:
            values = ours[name][:]
            if name == changed:
                values.view(np.uint8).flat[-1] ^= 1
            form = {"shape": values.shape, "dtype": values.dtype, "maxshape": ours[name].maxshape}
            array = copy.create_dataset(name, **form, **{"chunks": ours[name].chunks, **packing})
            places = list(array.iter_chunks()) if values.size else []
            for place in places[::-1] if backwards else places:
                array[place] = values[place]
    return out


def test_the_same_values_packed_otherwise_have_the_same_fingerprint(path, tmp_path):
    ours = ClipFile(path).fingerprint()
    for level in (0, 1, 9):
        gzip = {"compression": "gzip", "compression_opts": level}
        other = packed_again(path, tmp_path / f"{level}.h5", **gzip)
        assert other.read_bytes() != path.read_bytes()
        assert ClipFile(other).fingerprint() == ours
    assert ClipFile(packed_again(path, tmp_path / "x.h5", backwards=True, compression="gzip")).fingerprint() == ours


def test_a_file_that_another_zlib_packed_is_as_good(path, tmp_path):
    other = ClipFile(packed_again(path, tmp_path / "other.h5", compression="gzip", compression_opts=3))
    assert verify(other).proved == verify(ClipFile(path)).proved


@pytest.mark.parametrize("name", ["training/features", "test/positions", "training/objects/mass", "test/contacts"])
def test_one_other_bit_is_another_fingerprint(path, tmp_path, name):
    other = packed_again(path, tmp_path / "other.h5", changed=name, compression="gzip")
    assert ClipFile(other).fingerprint() != ClipFile(path).fingerprint()


def test_it_is_the_hash_of_names_types_shapes_and_checksums_of_values(path):
    told = hashlib.sha256()
    with h5py.File(path) as file:
        for group in ("training", "test"):
            names: list[str] = []
            file[group].visit(names.append)
            for name in sorted(names):
                if isinstance(array := file[group][name], h5py.Dataset):
                    told.update(repr((f"{group}/{name}", str(array.dtype), array.shape, array.chunks)).encode())
                    for place in array.iter_chunks() if array.size else ():
                        whole = np.zeros(array.chunks, array.dtype)  # a chunk at the border is filled up
                        values = array[place]
                        whole[tuple(map(slice, values.shape))] = values
                        told.update(zlib.adler32(whole.tobytes()).to_bytes(4))
    assert ClipFile(path).fingerprint() == told.hexdigest()


def test_chunks_count_in_their_order_whatever_order_they_are_told_in(path):
    """HDF5 promises none."""
    with h5py.File(path) as file:
        array, told = file["training/features"], []
        array.id.chunk_iter(told.append)
        turned = SimpleNamespace(
            get_create_plist=array.id.get_create_plist, chunk_iter=lambda look: [look(one) for one in told[::-1]]
        )
        found = _chunks(SimpleNamespace(compression=array.compression, id=turned))
        assert found == _chunks(array)
    assert len(set(found)) > 1


def test_of_imported_films_the_values_count_and_not_only_their_checksums(tmp_path):
    """Two dots that part leave both sums of an Adler-32 as they were."""
    told, checksums = set(), set()
    for apart in range(3):
        films = np.zeros((1, 3, 8, 10), np.uint8)
        films[..., 4, [3 - apart, 4 + apart]] = 255
        np.save(tmp_path / f"{apart}.npy", films)
        made = import_films(tmp_path / f"{apart}.npy", tmp_path / f"{apart}.h5", ImportConfig(axes="BTHW")).path
        told.add(ClipFile(made).fingerprint())
        with h5py.File(made) as file:
            checksums.add(hash_values(made, {"features": file["test/features"]}, from_recipe=True))
    assert len(told) == 3
    assert len(checksums) == 1


def hash_of_bytes(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


PACKINGS = {
    "lzf": {"compression": "lzf"},
    "shuffled": {"compression": "gzip", "shuffle": True},
    "not": {"chunks": None},
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_of_what_keeps_no_checksums_of_values_bytes_are_hashed(path, tmp_path, packing):
    other = packed_again(path, tmp_path / "other.h5", **PACKINGS[packing])
    assert ClipFile(other).fingerprint() == hash_of_bytes(other)


def test_of_a_file_with_a_chunk_that_was_left_unpacked_bytes_are_hashed(path, tmp_path):
    shutil.copy(path, tmp_path / "other.h5")
    with h5py.File(tmp_path / "other.h5", "r+") as file:
        array = file["training/groups"]
        array.id.write_direct_chunk((0, 2, 0, 0, 0), array[:, 2].tobytes(), filter_mask=1)
    assert ClipFile(tmp_path / "other.h5").fingerprint() == hash_of_bytes(tmp_path / "other.h5")


def test_of_files_of_others_bytes_are_hashed(path, tmp_path):
    shutil.copy(path, tmp_path / "theirs.h5")
    with h5py.File(tmp_path / "theirs.h5", "r+") as file:
        file.attrs.clear()
    assert ClipFile(tmp_path / "theirs.h5").fingerprint() == hash_of_bytes(tmp_path / "theirs.h5")
