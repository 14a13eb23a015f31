"""Score files of films: answers to the IntPhys benchmark, and tables with one line per film.

An answer is a line such as `O1/0001_occluded_static_nobj1/1 0.75`: a film's name and its plausibility in [0, 1]. The
benchmark's script wants O1, O2 or O3 and occluded or visible in each name.

A table is CSV under a head line with `film` and `plausibility`, and maybe `aggregate`, and `possible`, by which a table
of other films is refused; other columns are not read. Its numbers are on any scale, larger is more plausible.

Plausibility is brought to [0, 1] by one straight line, so that it keeps its order, its ties, and the order of sums,
which is what the benchmark compares. A curve, such as exp or a sigmoid, keeps the order of films only, and makes ties
where floats end; ranks keep ties, and lose the order of sums.

Source: the benchmark's scoring script, for the form of an answer and what it refuses.
"""

import csv
import io
import math
import re
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

from videopred import check, check_path

_STEPS = 2.0**50
"""Answers are whole multiples of 1 / _STEPS: sums of them are exact."""
_ROUNDS = 100
_PARTS = 100
"""The smallest gap between two numbers is taken for this many units at most."""
_OFFICIAL = re.compile(r"(?=.*(O1|O2|O3))(?=.*(occluded|visible))\S+/[1-4]")
_COLUMNS = ("film", "plausibility")


# --- writing -------------------------------------------------------------------------------------------------


def write_answers(
    names: Sequence[Sequence[str]], films: np.ndarray, possible: np.ndarray | None, margins: np.ndarray | None
) -> str:
    """The answers of all films, one a line, in the form that the benchmark's script accepts.

    Args:
        names: of the four films of each scene.
        films: (scenes, 4) float64, finite; larger is more plausible.
        possible: (scenes, 4) bool, two of each scene; None if it is not known.
        margins: (scenes,) float64: by how much the possible films of a scene are ahead, of exact sign; None likewise.

    Raises:
        ValueError: a name is not what the script accepts, or numbers lie too close together to keep their order.
    """
    check_names(names)
    above = _above_the_lowest(films)
    width = 2.0 ** math.frexp(above.max())[1]  # a power of two divides without rounding
    answers = 0.25 + np.rint(above / width * _STEPS / 2) / _STEPS  # the middle half: mending stays inside
    kept = True
    if possible is not None and margins is not None:
        signs = np.where(possible, 1.0, -1.0)
        answers = _mend_ties(answers, signs, margins == 0)
        kept = np.array_equal(np.sign((answers * signs).sum(1)), np.sign(margins))
    kept = kept and np.array_equal(_ranks(answers), _ranks(films))
    must, fix = "keep all orders and ties on a scale of 2^50 steps", "use the table of films instead"
    got = f"plausibility from {films.min():g} to {films.max():g}, some too close together"
    check.require(kept, "--answers", must, got, fix)
    lines = zip(chain.from_iterable(names), answers.ravel().tolist(), strict=True)
    return "".join(f"{name} {answer!r}\n" for name, answer in lines)


def check_names(names: Sequence[Sequence[str]]) -> None:
    """Raise ValueError unless the benchmark's script takes these names of films."""
    for name in chain.from_iterable(names):
        must = "have names with O1, O2 or O3 and occluded or visible, which the benchmark's script needs"
        fix = "give an IntPhys folder, and these with --film-names, one a line, such as O1/0001_occluded_static_nobj1/1"
        check.require(_OFFICIAL.fullmatch(name) is not None, "DATA", must, name, fix)


def _above_the_lowest(films: np.ndarray) -> np.ndarray:
    """The numbers less the smallest; in units if they are multiples of one but for rounding, so that sums are exact.

    Numbers that somebody wrote down, such as 0.1, 0.2 and 0.3, are such multiples, and many of their sums are ties.
    """
    kinds, places = np.unique(films, return_inverse=True)
    values = kinds.tolist()
    above = [value - values[0] for value in values]
    rounding = 2 * sys.float_info.epsilon * max(map(abs, values))
    gap = min((after - before for before, after in pairwise(values)), default=math.inf)
    if 0 < above[-1] / gap < _STEPS / 2:
        gaps = [Fraction(value / gap).limit_denominator(_PARTS) for value in above]
        units_in_gap = math.lcm(*(number.denominator for number in gaps))
        units = [int(number * units_in_gap) for number in gaps]
        unit = above[-1] / units[-1]
        if units[-1] < _STEPS / 2 and all(abs(n * unit - x) <= rounding for n, x in zip(units, above, strict=True)):
            above = units
    return np.array(above, float)[places].reshape(films.shape)


def _mend_ties(answers: np.ndarray, signs: np.ndarray, tied: np.ndarray) -> np.ndarray:
    """The answers, changed by a few steps so that pairs that are exactly equal are equal again despite rounding.

    To mend a scene one of its films is moved, the one that the fewest others equal; those that equal it are moved with
    it, so that they stay equal. What this breaks in other scenes is mended in the next round.
    """
    kinds = _ranks(answers)
    values, films_of = np.unique(answers), np.bincount(kinds.ravel())
    for _ in range(_ROUNDS):
        off = (values[kinds] * signs).sum(1)  # exact: whole steps
        broken = np.flatnonzero(tied & (off != 0))
        if len(broken) == 0:
            break
        for scene in broken:
            of_scene = values[kinds[scene]] @ signs[scene]
            shares = {kind: signs[scene][kinds[scene] == kind].sum() for kind in kinds[scene]}
            fit = [kind for kind, share in shares.items() if abs(share) == 1]
            if fit:
                kind = min(fit, key=films_of.__getitem__)
                values[kind] -= of_scene * shares[kind]
    return values[kinds]


def _ranks(values: np.ndarray) -> np.ndarray:
    """The place of each number, equal for equal ones."""
    return np.unique(values, return_inverse=True)[1].reshape(values.shape)


# --- reading -------------------------------------------------------------------------------------------------


def read_scores(
    path: Path,
    names: Sequence[Sequence[str]],
    folders: Sequence[Sequence[str]] = (),
    possible: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Aggregate -> plausibility (scenes, 4) float64 of every film, larger is more plausible.

    Args:
        path: a table (.csv) or answers (any other name). What names no aggregate is called `given`.
        names: of the four films of each scene.
        folders: what else they may be called, such as O1/0001/3.
        possible: (scenes, 4) bool; None if it is not known.

    Raises:
        FileNotFoundError: there is no such file.
        FaultyFileError: it is no text in UTF-8, or a table that is no CSV.
        ValueError: a film is unknown, missing or scored twice, something is no finite number, or an answer lies
            outside [0, 1], or a table says otherwise which films are possible; the line is named.
    """
    check_path.existing_file("--scores", path, "give a table or answers, one line per film")
    places = _places(names, folders)
    found: dict[str, dict[tuple[int, int], float]] = {}
    for number, kind, name, value, label in _table(path) if path.suffix.lower() == ".csv" else _answers(path):
        where = f"{path}, line {number}"
        if name not in places:
            fix = "look at the names in DATA, or judge the IntPhys folder itself, with --film-names"
            fix = check.suggest(name, list(places), fix)
            raise ValueError(check.complaint(where, "name a film of DATA", repr(name), fix))
        if possible is not None and label in ("true", "false"):
            must, fix = "say of a film whether it is possible as DATA does", "give the films that were scored"
            alike = (label == "true") == possible[places[name]]
            check.require(bool(alike), where, must, f"possible {label} for {name}", fix)
        score, of_kind = _number(value, where), found.setdefault(kind, {})
        check.require(places[name] not in of_kind, where, "score each film once", f"{name} again", "leave one out")
        of_kind[places[name]] = score
    check.require(len(found) > 0, str(path), "score films", "no line", "give one line per film")
    films = np.full((len(found), len(names), len(names[0])), np.nan)
    for scores, of_kind in zip(films, found.values(), strict=True):
        for place, score in of_kind.items():
            scores[place] = score
        missing = [names[scene][film] for scene, film in np.argwhere(np.isnan(scores))]
        must, got = f"score every film of DATA, {scores.size} in all", f"{len(missing)} unscored, such as "
        check.require(not missing, str(path), must, got + "".join(missing[:1]), "add a line for each")
    return dict(zip(found, films, strict=True))


def _places(*namings: Sequence[Sequence[str]]) -> dict[str, tuple[int, int]]:
    """Every name that a film goes by -> its scene and number."""
    return {
        name: (scene, number)
        for names in namings
        for scene, films in enumerate(names)
        for number, name in enumerate(films)
    }


def _table(path: Path) -> Iterator[tuple[int, str, str, str, str]]:
    """Line, aggregate, film, plausibility and whether it is possible, if that is there, of each row of a CSV file."""
    rows = csv.DictReader(io.StringIO(_text(path), newline=""))
    try:
        heads = rows.fieldnames or []
        missing = [name for name in _COLUMNS if name not in heads]
        got, must = ",".join(heads) or "nothing", f"begin with a head line that has {' and '.join(_COLUMNS)}"
        fix = "add it; larger plausibility is more plausible"
        if len(heads) == 1 and (";" in got or "\t" in got):
            fix = "separate columns by commas"
        elif set(_COLUMNS) <= {head.strip().lower() for head in heads}:
            fix = "write them so, in small letters and without spaces"
        check.require(not missing, str(path), must, repr(got), fix)
        check.each_once(f"the head line of {path}", [head for head in heads if head])  # spreadsheets leave some empty
        for row in rows:
            more = ",".join(filter(str.strip, row.get(None) or []))
            where, must = f"{path}, line {rows.line_num},", f"have {len(heads)} values, as the head line has"
            check.require(not more, where, must, f"also {more}", "write decimals with a point")
            label = (row.get("possible") or "").lower()  # spreadsheets shout
            label = {"1": "true", "0": "false"}.get(label, label)
            yield rows.line_num, row.get("aggregate") or "given", row["film"] or "", row["plausibility"] or "", label
    except csv.Error as error:  # a field too long for any number or name, such as after a quote that is never closed
        where, fix = f"{path}, after line {rows.line_num},", "look for a quote that is not closed"
        raise check.FaultyFileError(check.complaint(where, "be CSV", error, fix)) from None


def _answers(path: Path) -> Iterator[tuple[int, str, str, str, str]]:
    """Line, `given`, film, plausibility and no label of each answer; empty lines are passed over, as by the script."""
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if words := line.split():
            where, fix = f"{path}, line {number}", "write e.g. O1/0001_occluded_static_nobj1/1 0.75"
            check.require(len(words) == 2, where, "be a film's name and its plausibility", repr(line), fix)
            inside = 0 <= _number(words[1], where) <= 1
            fix = "the benchmark's script refuses others; give a .csv table for numbers on another scale"
            check.require(inside, where, "have a plausibility in [0, 1]", words[1], fix)
            yield number, "given", words[0], words[1], ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # spreadsheets put a mark before the text
    except UnicodeDecodeError as error:
        fix = "give a table or answers, one line per film"
        raise check.FaultyFileError(check.complaint(str(path), "be text in UTF-8", error, fix)) from None


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    check.require(math.isfinite(number), where, "have a finite number as plausibility", repr(text), "mend it")
    must, fix = "have a plausibility from -1e300 to 1e300", "give the least of the others less 1 for minus infinity"
    check.require(abs(number) <= 1e300, where, must, repr(text), fix)  # sums of four must not overflow
    return number
