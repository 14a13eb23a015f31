"""What documents show, to be run by tests."""

import re


def blocks(document: str, language: str) -> list[str]:
    """The code blocks of a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", document, re.DOTALL)


def commands(document: str) -> list[str]:
    """Every videopred command in the shell blocks, in order."""
    lines = "\n".join(blocks(document, "sh")).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("videopred ")]


def made_small(text: str) -> str:
    """The same command or program on a few clips and updates."""
    text = re.sub(r"\b((train|validation|test)(=|\": ))\d+", r"\g<1>8", text)
    text = re.sub(r"updates( |=)\d+", r"updates\g<1>2", text)
    text = re.sub(r"batch(-size |_size=)\d+", r"batch\g<1>4", text)
    return text.replace("demo --out", "demo --tiny --out")
