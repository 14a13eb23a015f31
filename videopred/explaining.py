"""What pydantic says of settings, in the words of `check`."""

import re
from collections.abc import Iterable, Mapping

from pydantic import ValidationError

from videopred import check
from videopred.synonyms import meant_setting

_BOUNDS = ("be greater", "be less")


def explain(error: ValidationError, prefix: str = "", known: Iterable[str] = ()) -> str:
    """The first complaint of a pydantic error, in the form of `check.complaint`.

    Args:
        error: what pydantic raised while building settings.
        prefix: put before the setting's name, e.g. `--`.
        known: names of the settings that there are, from which the nearest is offered.
    """
    errors = error.errors()
    unknown = [one for one in errors if one["type"] == "extra_forbidden" and one["loc"][:-1] == errors[0]["loc"][:-1]]
    first = unknown[0] if unknown and errors[0]["type"] == "missing" else errors[0]  # misspelt, rather than left out
    words = [_as_flag(part) for part in first["loc"] if isinstance(part, str)]
    name = prefix + ".".join(words) if words else "settings"
    kind, message, got = first["type"], first["msg"], first["input"]
    if kind == "value_error":
        # Our own validators already speak in complaints; pydantic only puts its prefix before them.
        return message.removeprefix("Value error, ")
    if kind == "extra_forbidden":
        flags = [_as_flag(setting) for setting in known if setting != "kind"]
        meant = meant_setting(words[-1], flags) or words[-1]
        fix = check.suggest(meant, flags, "remove it, or see --help for the names", prefix)
        return check.complaint(name, "be a known setting", "settings" if isinstance(got, Mapping) else repr(got), fix)
    if kind == "missing" and isinstance(first["loc"][-1], int):
        return check.complaint(name, "have one more value", repr(got), "see --help")
    if kind == "missing":
        return check.complaint(name, "be given", "nothing", "see --help")
    if kind == "union_tag_invalid":
        return check.choice_complaint(name, first["ctx"]["tag"], re.findall("'(.+?)'", first["ctx"]["expected_tags"]))
    if kind == "union_tag_not_found" and isinstance(got, Mapping):
        return check.complaint(
            f"{name}.kind" if words else "kind", "be given", "nothing", "say what the other settings are of"
        )
    if kind in ("union_tag_not_found", "model_type", "model_attributes_type"):
        fix = "give an object of their class, or a dict with their kind"
        return check.complaint(name, "be settings", repr(got), fix)
    if kind == "invalid-json-value":  # of a part of one's own, whose settings are kept as JSON
        must, fix = "be numbers, texts, True, False or None, or lists or dicts of such", "convert it"
        setting = words[words.index("settings") + 1] if "settings" in words else words[-1]
        return check.complaint(prefix + setting, must, repr(got), fix)
    if kind == "json_invalid":
        return check.complaint(name, "be JSON", message.removeprefix("Invalid JSON: "), "mend it there")
    must = message.removeprefix("Input should ").removeprefix("Tuple should ")
    must = re.sub(r"^Input is not a valid path .*", "be a path", must)
    must = re.sub(r"( after validation, not \d+|, unable to parse .*)$", "", must)
    must = {"be a valid tuple": "be a list", "be a valid dictionary": "be an object or a dict"}.get(must, must)
    shown = "nothing" if kind == "too_short" and not got else repr(got)
    fix = "choose one that is" if must.startswith(_BOUNDS) else "see --help"
    if must == "be a list" and isinstance(got, int | float):
        fix = f"write [{shown}]"
    elif must == "be a valid string" and callable(got):
        fix = "give its address, as MODULE:NAME"
    return check.complaint(name, must, shown, fix)


def _as_flag(setting: str) -> str:
    return setting.replace("_", "-")
