"""Proves of a data set that it is whole, that it is what its recipe makes, and that its parts share nothing."""

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from videopred import check
from videopred.amounts import counted
from videopred.datasets import make_world
from videopred.datasets.clip import clip_seed
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.clip_folder import ClipFolder
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.file_layout import CONTACTS, Record, full_record, has_time
from videopred.datasets.shards import shard_ranges
from videopred.datasets.world import World
from videopred.software import fix_of_version

_CLIPS_AT_ONCE = 16
_ROWS_AT_ONCE = 4096
_ORIGIN = "these films come from elsewhere: nothing says how they were made"


class Verdict(NamedTuple):
    """What was proved, and what could not be: name -> a sentence."""

    path: str
    proved: dict[str, str]
    not_proved: dict[str, str]


class _Share(NamedTuple):
    """The clips of one part in one file."""

    file: ClipFile
    part: str
    addresses: range

    def called(self, place: int) -> str:
        """How to call one of its clips."""
        return f"clip {self.addresses[place]} of {self.part} in {self.file.path}"

    def blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """Start and stop of blocks of at most `size` clips, one after the other, which together are all of them."""
        for start in range(0, len(self.addresses), size):
            yield start, min(start + size, len(self.addresses))


def verify(data: ClipSource, *, sample: int = 32, mnist: Path | None = None, progress: bool = False) -> Verdict:
    """What is proved of a data set, and what cannot be.

    Args:
        data: an open data file or folder of shards.
        sample: clips of each part that are made again, spread evenly over it.
        mnist: the folder that digits were taken from, if they were not the package's own.
        progress: show bars on stderr.

    Raises:
        ValueError: something is wrong; one line that says which clip of which file. Or the digits were others, or
            `mnist` is given of clips that cannot be made again.
        FileNotFoundError: `mnist` lacks a file.
    """
    check.whole_number("--sample", sample, 1, "give the number of clips of each part that are to be made again")
    must, fix = "be left out of clips that say no recipe", "they cannot be made again"
    check.require(mnist is None or data.recipe is not None, "--mnist", must, f"{mnist} with {data.path}", fix)
    shares = _shares(data)
    world = make_world(data.recipe, mnist) if data.recipe else None
    proved = {"whole": _prove_whole(shares, progress)}
    if world is None or data.seed is None:
        proved["parts"] = _prove_apart(shares, None, 0, progress)
        unknown = dict.fromkeys(("recipe", "addresses", "masks"), _ORIGIN)
        return Verdict(str(data.path), proved, {**unknown, **data.remarks})
    proved["recipe"] = _prove_recipe(shares, world, data.seed, sample, progress)
    proved["addresses"] = _prove_addresses(shares, data.seed)
    proved["parts"] = _prove_apart(shares, world, data.seed, progress)
    proved["masks"] = "where a mask shows an object, the frame is lit, in every clip"
    return Verdict(str(data.path), proved, dict(data.remarks))


def _shares(data: ClipSource) -> list[_Share]:
    """All clips of a data set by file and part, in the order of their addresses."""
    if isinstance(data, ClipFolder):
        files = list(zip(data.shards, data.ranges, strict=True))
    else:
        assert isinstance(data, ClipFile)
        files = [(data, _addresses(data))]
    return [_Share(file, part, ranges[part]) for part in data.parts for file, ranges in files if part in ranges]


def _addresses(file: ClipFile) -> dict[str, range]:
    """Part -> addresses of the clips in a file, which may be a single shard of a set."""
    told = file.attributes
    if file.recipe is None or int(told.get("shards", 1)) == 1:
        return {part: range(count) for part, count in file.parts.items()}
    return shard_ranges(json.loads(told["clips"]), file.recipe, int(told["shards"]), int(told["shard"]))


def _in_turn(shares: Sequence[_Share]) -> Iterator[_Share]:
    """The shares, each with its file closed before the next: more than a process may open may be there."""
    for share in shares:
        with share.file:
            yield share


def _prove_whole(shares: Sequence[_Share], progress: bool) -> str:
    """All that the files hold is there, and zlib's checksums say it is undamaged."""
    chunks, names = 0, set()
    with tqdm(desc="unpack", unit="chunk", disable=not progress) as bar:
        for share in _in_turn(shares):
            for name in share.file.arrays.unpack(share.part):
                names.add(f"{share.part}/{name}")
                chunks += 1
                bar.update()
    if chunks == 1:
        return "the one chunk is present and can be read"
    return f"all {chunks:,} chunks of {counted(len(names), 'data set')} are present and can be read"


def _prove_recipe(shares: Sequence[_Share], world: World, seed: int, sample: int, progress: bool) -> str:
    """Clips spread over each part, made again, are those that are there."""
    made = {share.part: 0 for share in shares}
    for share in tqdm(_in_turn(shares), desc="make again", unit="part", total=len(shares), disable=not progress):
        there = list(chain.from_iterable(other.addresses for other in shares if other.part == share.part))
        spread = np.linspace(0, len(there) - 1, min(sample, len(there))).round().astype(int)
        mine = [there[place] for place in spread if there[place] in share.addresses]
        for index, clip in zip(mine, world.clips(seed, share.part, mine), strict=True):
            record = full_record(clip, world.recipe.binary, seed, share.part, index)
            _compare(record, share, share.addresses.index(index))
        made[share.part] += len(mine)
    told = ", ".join(f"{count:,} of {part}" for part, count in made.items())
    return f"clips made again are equal byte for byte: {told}"


def _compare(record: Record, share: _Share, place: int) -> None:
    """Complain unless the file holds just this record of a clip."""
    expected = {*record, "contact_offsets"}
    for name in sorted(expected ^ set(share.file.arrays.of_part(share.part))):
        _require(False, "hold what its recipe makes", f"{'no' if name in expected else 'an unknown'} {name}", share, 0)
    for name, values in record.items():
        if name == CONTACTS:
            stored = share.file.contacts(share.part, place)
        else:
            stored = share.file.arrays.read(share.part, name, place, place + 1)
            stored = stored[:, 0] if has_time(name) else stored[0]
        same = (stored.dtype, stored.shape) == (values.dtype, values.shape) and stored.tobytes() == values.tobytes()
        _require(same, "hold what its recipe makes", f"another {name}", share, place)


def _prove_addresses(shares: Sequence[_Share], seed: int) -> str:
    """Every clip stands at its place, with the seed that belongs there; so no two have the same."""
    for share in _in_turn(shares):
        for start, stop in share.blocks(_ROWS_AT_ONCE):
            addresses = share.addresses[start:stop]
            words = [clip_seed(seed, share.part, index).generate_state(1, np.uint64)[0] for index in addresses]
            for name, expected in (("index", np.array(addresses)), ("seed", np.array(words))):
                for odd in np.flatnonzero(share.file.arrays.read(share.part, name, start, stop) != expected).tolist():
                    _require(False, f"hold the {name} of each clip's address", f"another {name}", share, start + odd)
    total = sum(len(share.addresses) for share in shares)
    if total == 1:
        return "the clip is at its own address, with its own seed"
    return f"all {total:,} clips are at their own addresses, with their own seeds"


def _prove_apart(shares: Sequence[_Share], world: World | None, seed: int, progress: bool) -> str:
    """No clip is there twice; films of others may repeat themselves within a part. And our masks show what is there.

    Tiny clips may look alike by chance: one that the recipe makes at its address is no copy.
    """
    seen: dict[bytes, tuple[_Share, int]] = {}
    total, repeated = sum(len(share.addresses) for share in shares), 0
    with tqdm(total=total, desc="compare", unit="clip", disable=not progress) as bar:
        for share in _in_turn(shares):
            for start, stop in share.blocks(share.file.at_once(_CLIPS_AT_ONCE)):
                frames = share.file.read_frames(share.part, start, stop)
                if world:
                    _check_masks(frames, share, start, stop)
                for place, film in enumerate(frames, start):
                    other, at = seen.setdefault(blake2b(film, digest_size=16).digest(), (share, place))
                    if (other, at) != (share, place):
                        got = f"the frames of {other.called(at)} again"
                        fine = _is_made(share, place, world, seed) if world else other.part == share.part
                        _require(fine, "hold no clip twice", got, share, place)
                        repeated += 1
                bar.update(stop - start)
    if total == 1:
        return "there is but one clip"
    if not world:
        return f"no two parts share a clip; {repeated:,} of {total:,} clips equal an earlier one of their part"
    by_chance = f", but for {repeated:,} that look like an earlier one by chance" if repeated else ""
    return f"no two of {total:,} clips show the same frames{by_chance}{_prove_digits_apart(shares)}"


def _check_masks(frames: np.ndarray, share: _Share, start: int, stop: int) -> None:
    """Complain of a clip whose masks show an object where its frames (B, T, H, W, C) are dark."""
    masks = share.file.read(share.part, "groups", start, stop)
    for dark in np.flatnonzero(((frames.max(-1) == 0) & (masks > 0)).any((1, 2, 3))).tolist():
        _require(False, "hold masks of what is seen", "an object where all is dark", share, start + dark)


def _is_made(share: _Share, place: int, world: World, seed: int) -> bool:
    """Whether the recipe makes the frames that a clip of the file shows."""
    [clip] = world.clips(seed, share.part, [share.addresses[place]])
    return bool((clip.frames == share.file.read_frames(share.part, place, place + 1)[0]).all())


def _prove_digits_apart(shares: Sequence[_Share]) -> str:
    """Where clips show handwritten digits: none is in two parts."""
    if "objects/source" not in shares[0].file.truth:
        return ""
    owner: dict[int, str] = {}
    for share in _in_turn(shares):
        for start, stop in share.blocks(_ROWS_AT_ONCE):
            sources = share.file.read(share.part, "objects/source", start, stop)
            for place, row in enumerate(sources.reshape(stop - start, -1), start):
                for source in row[row >= 0].tolist():
                    part = owner.setdefault(source, share.part)
                    got = f"digit {source} of {part} again"
                    _require(part == share.part, "hold no handwritten digit in two parts", got, share, place)
    return f", and none of their {len(owner):,} handwritten digits is in two parts"


def _require(condition: bool, must: str, got: str, share: _Share, place: int) -> None:
    """Complain of a clip unless the condition holds."""
    fix = "make it again with `videopred generate`" if share.file.recipe else "mend it where it comes from"
    fix = fix_of_version(share.file.attributes.get("software"), fix)
    check.require_sound(condition, "DATA", must, f"{got} in {share.called(place)}", fix)
