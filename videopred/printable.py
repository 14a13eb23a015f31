"""Names of files, runs and rows as they can be shown: some hold letters that steer a terminal or turn a line round.

What a terminal or a pipe has no letter for is shown by others that mean the same: of an arrow, ^ or v.
"""

import codecs
from unicodedata import category, combining, east_asian_width

_JOINERS = "\u200c\u200d"
"""Between letters of some scripts, and in some emoji."""


_STAND_INS = {
    "↑": "^", "↓": "v", "±": "+-", "…": "...", "–": "-", "—": "-", "−": "-", "×": "x", "²": "^2", "σ": "sigma",
    "µ": "u",
}  # fmt: skip
"""Letters of ours, and what stands for them where there are only those of ASCII."""
STAND_INS = "videopred.stand-ins"
"""How streams encode what they have no letter for; the argument `errors` of `open` and `reconfigure`."""


def _stand_in(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(_STAND_INS.get(letter) or _escape(letter) for letter in lacking), error.end


codecs.register_error(STAND_INS, _stand_in)


def printable(text: str) -> str:
    r"""Text with each letter that cannot be printed in an escape, such as \x1b; so are ends of lines."""
    if text.isprintable():  # as pages with films are, of millions of letters
        return text
    return "".join(letter if _is_printable(letter) else _escape(letter) for letter in text)


def printable_lines(text: str) -> str:
    """The same of text of several lines, which stay."""
    return "\n".join(map(printable, text.split("\n")))


def _is_printable(letter: str) -> bool:
    """Also spaces of any width, which Python counts out."""
    return letter.isprintable() or letter in _JOINERS or category(letter) == "Zs"


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def width_of(text: str) -> int:
    """Columns of a terminal that it takes: Chinese, Japanese and Korean letters take two, accents of their own none."""
    wide = sum(east_asian_width(letter) in "FW" for letter in text)
    return len(text) + wide - sum(combining(letter) > 0 for letter in text)
