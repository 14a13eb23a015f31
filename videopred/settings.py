"""What all settings share. One class is at once the flags, the help text, the saved JSON and the Python API."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Frozen, strict settings: unknown keys are refused, nothing is cast, and a changed copy is a new object."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)
