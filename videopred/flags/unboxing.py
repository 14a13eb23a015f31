"""What tyro complains of in a box, as one line in the words of `check`."""

import os
import re
from collections.abc import Sequence
from itertools import groupby, pairwise, takewhile

from videopred import check
from videopred.synonyms import meant_flag
from videopred.systems import shell_quoted

_SEE = "see --help"
_KINDS = {
    "INT": "be a whole number",
    "FLOAT": "be a number",
    "INT INT": "be two whole numbers",
    "FLOAT FLOAT": "be two numbers",
    "[INT [INT ...]]": "be whole numbers",
    "[FLOAT [FLOAT ...]]": "be numbers",
    "[FLOAT FLOAT [FLOAT FLOAT ...]]": "be pairs of numbers",
    "CLIPS": "be a number of clips",
    "CLIPS...": "be numbers of clips",
    "SCENE...": "be numbers of scenes",
    "PX": "be numbers of pixels",
    "STEPS...": "be numbers of steps",
}
"""What help calls a kind of value -> what a value of it must be."""
_BOTH = re.compile(r"-o(/|( \S+)?, )--out")
"""Both names of the one flag that has two, as tyro joins them; the long one is told."""
_FLAG = re.compile(r"(?:[│ ] |-o .*?, )(--[a-z][\w.-]*\w)")
"""A flag, where tyro's help explains it: behind the edge of a box, or space where the output has no letters for one."""
_SWITCH = re.compile(rf"{_FLAG.pattern}(?=  |[ │]*$)", re.MULTILINE)
"""A flag behind which help names no value."""
_SWITCHED = dict.fromkeys(["true", "1", "yes", "on"], True) | dict.fromkeys(["false", "0", "no", "off"], False)
"""A value that others give a switch -> whether it means on."""
_IS_FLAG = re.compile(r"--|-[A-Za-z]")
_OFFERED = re.compile(r"--[\w.-]+(, --[\w.-]+)?")
"""A flag that tyro offers; of a switch, on and off."""


def unboxed(box: str, words: Sequence[str], help_text: str) -> str:
    """The first complaint in a box of tyro's.

    Args:
        box: what tyro printed.
        words: those it was about, as they were typed.
        help_text: what tyro prints of the command, where its flags stand.
    """
    lines = [_BOTH.sub("--out", _without_edges(line)) for line in box.splitlines()[1:]]
    paragraphs = [list(group) for filled, group in groupby(lines, key=bool) if filled]
    first, *others = paragraphs or [["the command must be one that --help shows"]]
    message = " ".join(first)
    # Error parsing recipe: --radii must have at least 1 item, got nothing; see --help
    if ours := re.match(r"Error parsing [a-z_]+: (.* must .*, got .*; .*)", message):
        return ours[1]
    # Unrecognized options: --speedy, 3
    if unknown := re.match(r"Unrecognized options: (.*)", message):
        got = unknown[1].replace(", ", " ")
        fix = _meant(got, others, words, help_text)
        return check.complaint("options" if got.startswith("-") else "arguments", "be among those of --help", got, fix)
    # Missing from videopred import: --out PATH Data file to make; ends in .h5. (required)
    if missing := re.match(r"Missing from [^:]*: (\S+)", message):
        told = " ".join(first[2:]).partition(" (required)")[0]
        return check.complaint(missing[1], "be given", "nothing", f"{_SEE}, which says: {told}" if told else _SEE)
    # Missing value for argument '--curtain'. Expected 2 values.
    if short := re.match(r"Missing value for argument '(.*)'\. Expected (\d+) values", message):
        must = "be followed by " + ("a value" if short[2] == "1" else f"{short[2]} values")
        got = _typed(short[1], words)
        return check.complaint(short[1], must, got, _SEE if short[2] == "1" else _listed(got))
    # invalid choice 'val' for argument '--part'. Expected one of ('train', 'test', 'None', 'validation').
    if choice := re.match(r"invalid choice '(.*)' for argument '(.*)'\. Expected one of \((.*)\)", message):
        return _no_choice(*choice.groups())
    # Error parsing --clip-norm: no type matching FLOAT could be instantiated from ['none'].
    # Error parsing --height: invalid literal for int() with base 10: 'abc'
    if unread := re.match(r"Error parsing (-\S+): (?:no type matching (INT|FLOAT) )?", message):
        helptext = next((lines[1:] for lines in others if lines[0] == "Argument helptext:"), [""])
        kind = unread[2] or helptext[0].partition(" ")[2].strip("{}")  # of a line such as --height INT
        got = _typed(unread[1], words)
        fix = _SEE if kind in ("INT", "FLOAT") else _listed(got)
        if " " in got and got in words:
            fix = "leave out the quotes"
        if got.lower() == "none" and any("None" in line for line in helptext):
            fix = "write None"
        return check.complaint(unread[1], _KINDS.get(kind, f"be given as {kind}"), got, fix)
    return f"{message.removesuffix('.')}; {_SEE}"


def _without_edges(line: str) -> str:
    """What stands in a line of a box; in a ruled one nothing, also one of dashes, for want of other letters."""
    text = line.strip("╭╮╰╯│─ ")
    return text if text.strip("-") else ""


def _meant(options: str, paragraphs: Sequence[Sequence[str]], words: Sequence[str], help_text: str) -> str:
    """What to do about unknown options: write a list as it is written here, or take the flag that was meant."""
    # --seeds 0 1 2
    seeds = list(takewhile(str.isdecimal, _spaced(_typed("--seeds", words)).split()))
    if _spaced(options).partition(" ")[0] in seeds[1:]:
        return f"put commas between seeds: --seeds {shell_quoted([','.join(seeds)])}"
    # --rows truth pred
    rows = _typed("--rows", words).split()
    if options.split() == rows[1:]:
        return f"put commas between rows: --rows {shell_quoted([_spaced(' '.join(rows)).replace(' ', ',')])}"
    option = options.partition(" ")[0].partition("=")[0]
    # evaluate models/gru --context 3 datasets/balls4.h5
    before = words[: words.index(option)] if option in words else ()
    if os.path.exists(option) and any(word.startswith("-") for word in before):
        return f"put {option} before all options"
    # --walls False
    if option.lower() in _SWITCHED and (switch := _said_to(option, words, _SWITCH.findall(help_text))):
        return f"write {_switched(switch, on=_SWITCHED[option.lower()])}, without a value"
    # --lr 0.1
    if meant := meant_flag(option, _FLAG.findall(help_text)):
        return f"did you mean {meant}?"
    # A paragraph of lines: `Perhaps you meant:`, `--speed FLOAT`, `Speed at the start, …`
    lines = [line for name, *lines in paragraphs if name == "Perhaps you meant:" for line in lines]
    offered = [flag for line in lines if (named := _OFFERED.match(line)) for flag in named[0].split(", ")]
    near = [flag.removeprefix("--") for flag in offered]  # bare, as all are alike in dashes
    return check.suggest(option.lstrip("-"), near, _SEE, prefix="--")


def _said_to(value: str, words: Sequence[str], switches: Sequence[str]) -> str | None:
    """The switch that a value was given to, in either way to write it; help shows one of its two forms."""
    for before, word in pairwise(["", *words]):
        said = before if word == value else word.removesuffix(f"={value}")
        if said != word and said.startswith("--") and any(_switched(said, on) in switches for on in (True, False)):
            return said
    return None


def _switched(switch: str, on: bool) -> str:
    """How a switch is turned on or off: --walls is off as --no-walls, --core.comm as --core.no-comm."""
    before, off, name = re.fullmatch(r"(--(?:.*\.)?)(no-)?(.*)", switch).groups()  # type: ignore[union-attr]
    return f"{before}{'' if on == (off is None) else 'no-'}{name}"


def _listed(got: str) -> str:
    """How to write what was meant as a list of numbers: 0,1 or [0, 1] or 0-3 or 0:3."""
    if span := re.fullmatch(r"(\d+)[-:](\d+)", got):
        return f"name each, with spaces between them: {span[1]} ... {span[2]}"
    return f"put spaces between them: {_spaced(got)}" if re.search("[],[]", got) else _SEE


def _spaced(listed: str) -> str:
    """A list with a space between any two, and no commas or brackets."""
    return " ".join(re.sub(r"[],()[]", " ", listed).split())


def _typed(flag: str, words: Sequence[str]) -> str:
    """The values that follow a flag, in either way to write it, where it stands last."""
    for at, word in reversed(list(enumerate(words))):
        if word == flag:
            return " ".join(takewhile(lambda value: not _IS_FLAG.match(value), words[at + 1 :])) or "nothing"
        if word.startswith(f"{flag}="):
            return word.removeprefix(f"{flag}=")
    return "nothing"


def _no_choice(value: str, argument: str, listed: str) -> str:
    """A complaint of a value that is none of those listed; tyro gives them in any order where nothing is one, too."""
    choices = re.findall(r"'([^']*)'", listed)
    if "None" in choices:
        choices = sorted(set(choices) - {"None"})
    return check.choice_complaint(argument if argument.startswith("-") else argument.upper(), value, choices)
