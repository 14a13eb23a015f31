"""The commands that make given data or results again, as one would type them. Light."""

import re
import shlex
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from videopred.datasets import DATASETS
from videopred.datasets.settings import DatasetSettings
from videopred.eval.plausibility_settings import PlausibilityConfig
from videopred.eval.protocols import PROTOCOLS
from videopred.eval.settings import Protocol, flag_name

Words = tuple[str, ...]
"""The words of a command, after `videopred`."""
_OF_RUNS = ("--out", "-o", "--init-from")


def from_here(path: Path) -> Path:
    """A path as one would type it in the current folder."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def generate_words(recipe: DatasetSettings, clips: Mapping[str, int], seed: int, out: str, shards: int = 1) -> Words:
    """The command that makes clips of a recipe: the preset nearest to it, and a flag for each setting that differs.

    Args:
        recipe: of clips of ours.
        clips: part -> how many; empty parts are left out.
        seed: of the data set.
        out: the file, as the command shall name it; or the folder of shards, which is called after its preset, so that
            another name than those of presets cannot be had.
        shards: how many files.
    """
    kin = {name: preset.recipe for name, preset in DATASETS.items() if type(preset.recipe) is type(recipe)}
    name = min(kin, key=lambda preset: len(_changes(kin[preset], recipe)))  # of several as near, the first
    place: Words = ("--out", out)
    if shards > 1:
        folder = Path(out)
        name = folder.name if folder.name in kin else name
        place = ("--shards", str(shards), "--out", str(folder.parent))
    counts = tuple(f"{part}={count}" for part, count in clips.items() if count)
    chance = ("--seed", str(seed)) if seed else ()
    changes = _changes(kin[name], recipe)
    if digits := changes.pop("mnist_sha256", ""):
        from videopred.datasets.digits import read_digits

        if digits != read_digits().sha256:  # the whole MNIST's, of which nobody knows where they lie now
            place = ("--mnist", "FOLDER", "--mnist-sha256", digits, *place)
    return ("generate", name, *_flags(changes), "--clips", *counts, *chance, *place)


def unlimited(command: str) -> Words:
    """The words of the command in the record of a run without --time-limit, after which the run may have gone on; none
    of what is no command."""
    try:
        return tuple(shlex.split(re.sub(r" --time[-_]limit[ =]\S+", "", command)))
    except ValueError:  # a quotation that does not end
        return ()


def training_words(command: str, learned: str, data: str) -> Words | None:
    """The command in the record of an export, which keeps only names of files, with data and runs where they lie now.

    Args:
        command: as it was typed.
        learned: the clips, as they were called there.
        data: the clips, as the command shall name them.

    Returns:
        None of a program of one's own, which is no command of ours.
    """
    program, *words = words_with_data(command, learned, data) or ("",)
    told = []
    for before, word in pairwise(["", *words]):
        flag, equals, run = word.partition("=")
        if before in _OF_RUNS:
            told.append(f"models/{word}")
        elif flag in _OF_RUNS and equals:
            told.append(f"{flag}=models/{run}")
        else:
            told.append(word)
    return tuple(told) if program == "videopred" else None


def words_with_data(command: str, learned: str, data: str) -> Words:
    """The command in the record of a run, with its data as they are called now.

    Args:
        command: as it was typed.
        learned: the clips, as they were called there; a run may have the same name.
        data: the clips, as the command shall name them.
    """
    told = []
    for before, word in pairwise(["", *unlimited(command)]):
        flag, equals, path = word.partition("=") if word.startswith("--") else ("", "", word)
        is_data = Path(path).name == Path(learned).name and before not in _OF_RUNS and flag not in _OF_RUNS
        told.append(f"{flag}{equals}{data}" if is_data else word)
    return tuple(told)


def evaluate_words(
    run: str, data: str, protocol: Protocol, clips: int | None = None, reference: str | None = None
) -> Words:
    """The command that scores a run.

    Args:
        run: the run, as the command shall name it.
        data: the clips, likewise.
        protocol: what was asked; if its name is not in PROTOCOLS, all of it is spelled out.
        clips: how many the part has; None if that is not known.
        reference: the file whose training part calibrated the trivial baselines, likewise; None is the data itself.
    """
    card = PROTOCOLS.get(protocol.name or "")
    named = card.protocol if card else None
    usual = dict(named or Protocol(context=0, horizon=0))
    usual["clips"] = usual["clips"] or clips
    if named and protocol.feedback == "sample":
        usual["samples"] = None  # how many are usual then is not what the protocol says: they are always said
    unsaid = {"name", "changed"} | ({"part", "context", "horizon"} if named else set())
    said: dict[str, Any] = {"protocol": protocol.name} if named else {}
    said |= {name: value for name, value in protocol if name not in unsaid and value not in (None, usual[name])}
    said |= {} if reference in (None, data) else {"reference": reference}
    return ("evaluate", run, data, *_flags(said))


def plausibility_words(run: str, judged: Mapping[str, Any]) -> Words:
    """The command that judges plausibility as plausibility.json says that it was judged; what is usual is not said.

    Of a folder of IntPhys, its part dev is usual, and --part is refused.
    """
    usual = dict(PlausibilityConfig()) | ({"part": "dev"} if judged["settings"].get("part") == "dev" else {})
    asked = judged["settings"] | {"aggregates": tuple(judged["errors"])}
    said = {name: value for name, value in asked.items() if name in usual and value not in ((), usual[name])}
    return ("plausibility", run, str(judged["settings"]["data"]), *_flags(said))


def _changes(usual: DatasetSettings, recipe: DatasetSettings) -> dict[str, Any]:
    """The settings that turn one recipe into another."""
    before = dict(usual)
    return {name: value for name, value in recipe if value != before[name]}


def _flags(settings: Mapping[str, Any]) -> Words:
    return tuple(word for name, value in settings.items() for word in _flag(name, value))


def _flag(name: str, value: Any) -> Words:
    """A setting as words: the flag, then its values one after another; tuples in a tuple are laid out flat."""
    flag = flag_name(name)
    if isinstance(value, bool):
        return (f"--{flag}",) if value else (f"--no-{flag}",)
    values = value if isinstance(value, list | tuple) else (value,)
    return (f"--{flag}", *(str(number) for one in values for number in (one if isinstance(one, tuple) else (one,))))
