"""Weights in a file that anybody may open: safetensors, which holds numbers and text only. The only door of it."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from videopred import check
from videopred.files import whole_file

_KEY = "videopred"
"""Under which the file's text holds our JSON. One key, because the library writes several in any order."""

_FIX = "give a file that `videopred export RUN` wrote"


class Export(NamedTuple):
    """A trained model in one file."""

    settings: dict[str, Any]
    """The RunConfig of the run, as JSON has it."""
    record: dict[str, Any]
    """Where the run came from: what run.json says, without paths of the machine."""
    weights: dict[str, Tensor]
    """name -> weights of the predictor, on the CPU."""


def write_export(path: Path, export: Export) -> Path:
    """Write an export, whole or not at all, and return its path; the same content makes the same bytes."""
    text = json.dumps({"settings": export.settings, "record": export.record})
    # Tensors that share memory are refused, and those of a checkpoint may.
    content = save({name: value.detach().cpu().clone() for name, value in export.weights.items()}, {_KEY: text})
    with whole_file(path) as partial:
        partial.write_bytes(content)
    return path


def read_export(path: Path) -> Export:
    """What is in an export.

    Raises:
        ValueError: the file is damaged, or not one of ours; one line that names it.
    """
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get(_KEY)
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 -- no mapping
    except SafetensorError as error:
        raise ValueError(check.complaint("RUN", "be a whole export", f"{path} ({error})", _FIX)) from None
    try:
        content = json.loads(text or "")
        return Export(content["settings"], content["record"], weights)
    except (ValueError, TypeError, KeyError):
        got = f"{path}, weights without settings of ours"
        raise ValueError(check.complaint("RUN", "be an export of videopred", got, _FIX)) from None
