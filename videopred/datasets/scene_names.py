"""What scenes and films of the IntPhys benchmark are called: `O1/0001_occluded_static_nobj1/3` in answers to it.

Without the condition, that is the film's folder.
"""

import re
from collections.abc import Iterable

from videopred import check

BLOCKS = ("O1", "O2", "O3")
MOVEMENTS = ("static", "dynamic-1", "dynamic-2")
_NAME = re.compile(r"(O[123]/\d+)(?:[^\d/][^/]*)?(/[1-4])")
_CONDITION = re.compile(r"(occluded|visible)_(static|dynamic_[12])_nobj(\d+)")


def condition(occluded: bool, movement: int, objects: int) -> str:
    """A scene's condition, such as occluded_dynamic_1_nobj3.

    Args:
        occluded: whether it happens behind an occluder.
        movement: 0 to 2, in the order of MOVEMENTS.
        objects: how many there are.
    """
    return f"{'occluded' if occluded else 'visible'}_{MOVEMENTS[movement].replace('-', '_')}_nobj{objects}"


def number_scenes(blocks: Iterable[int]) -> list[str]:
    """Scenes of these blocks, 1 to 3, as folders such as O1/0001, counted from 1 in each block."""
    blocks = list(blocks)
    digits, counts, scenes = max(4, len(str(len(blocks)))), dict.fromkeys(range(1, 4), 0), []
    for block in map(int, blocks):
        counts[block] += 1
        scenes.append(f"O{block}/{counts[block]:0{digits}}")
    return scenes


def folder_of(name: str) -> str | None:
    """The folder of a film with this name; None if the name has another form."""
    parts = _NAME.fullmatch(name)
    return parts[1] + parts[2] if parts else None


def condition_in(name: str) -> str:
    """The condition that stands in a name, as `condition` writes it; empty if there is none."""
    found = _CONDITION.search(name)
    return found[0] if found else ""


def conditions_in(name: str) -> dict[str, str]:
    """What a name says of its scene: block; occlusion, movement and objects; what it does not say is left out."""
    said = {"block": name[:2]} if name.startswith(BLOCKS) else {}
    if found := _CONDITION.search(name):
        said |= {"occlusion": found[1], "movement": found[2].replace("_", "-"), "objects": found[3]}
    return said


def names_in(text: str, source: str) -> dict[str, str]:
    """Folder -> name of the films that a text names, one a line; words after a name are passed over.

    Args:
        text: such as dev_ids.txt, or answers.
        source: where it stands, for complaints.

    Raises:
        ValueError: a line begins otherwise, or two lines name the same film.
    """
    names: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if words := line.split():
            folder, where = folder_of(words[0]), f"{source}, line {number}"
            fix = "write e.g. O1/0001_occluded_static_nobj1/1"
            check.require(folder is not None, where, "begin with a film's name", repr(line), fix)
            check.require(folder not in names, where, "name each film once", words[0], "leave one out")
            names[str(folder)] = words[0]
    return names
