"""Settings of parts from elsewhere, given as MODULE:CLASS. Light: pydantic only."""

import re
from typing import Any, Literal, Self

from pydantic import Field, JsonValue, field_validator
from tyro.conf import Suppress

from videopred.check import require
from videopred.settings import Settings


class OwnPart(Settings):
    """What the settings of every part of one's own share: a core, a codec or a decoder (see `videopred.models.own`)."""

    kind: Suppress[Literal["own"]] = "own"
    source: str
    """MODULE:CLASS, importable wherever the model is built."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """Values of the class's own settings; those left out have its defaults."""

    @field_validator("source")
    @classmethod
    def _is_module_and_class(cls, source: str) -> str:
        fits, part = re.fullmatch(r"\w+(\.\w+)*:\w+", source), cls.part()
        fix = f"write e.g. my{part}s:My{part.capitalize()} for a class in my{part}s.py"
        require(bool(fits), f"--{part}", "be MODULE:CLASS", source, fix)
        return source

    @field_validator("settings", mode="before")
    @classmethod
    def _listed(cls, settings: Any) -> Any:
        """Tuples and arrays become the lists that JSON has in their place."""
        return _as_json(settings)

    @classmethod
    def part(cls) -> str:
        """What it is: core, codec or decoder."""
        return cls.flag_prefix.strip("-.")

    def changed(self, **changes: Any) -> Self:
        """The same part but for some values of its own settings."""
        return type(self)(source=self.source, settings={**self.settings, **changes})


def _as_json(value: Any) -> Any:
    """The value with every tuple or array in it as a list, and every number of NumPy or torch as one of Python."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _as_json(part) for name, part in value.items()}
    return list(map(_as_json, value)) if isinstance(value, list | tuple) else value
