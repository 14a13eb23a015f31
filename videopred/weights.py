"""Weights in safetensors files, which hold numbers and text only; the text may name a core to import. The only door."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from safetensors import SafetensorError, safe_open

from videopred import check
from videopred.run_record import check_record, written_by
from videopred.software import fix_of_version

if TYPE_CHECKING:
    from torch import Tensor

_KEY = "videopred"
"""Under which the file's text holds our JSON. One key, because the library writes several in any order."""

_FORMAT = "videopred-export/1"
"""What our exports call what they hold; those without a name are of the first version."""

_FIX = "give a file that `videopred export RUN` wrote"


class Export(NamedTuple):
    """A trained model in one file."""

    settings: dict[str, Any]
    """The RunConfig of the run, or the TrainedConfig of a model that was saved, as JSON has it."""
    record: dict[str, Any]
    """Where the run came from: what run.json says, without paths of the machine."""
    weights: "dict[str, Tensor]"
    """name -> weights of the predictor, on the CPU."""


def export_bytes(export: Export) -> bytes:
    """The content of an export's file; of the same export the same."""
    from safetensors.torch import save

    text = json.dumps({"format": _FORMAT, "settings": export.settings, "record": export.record})
    # Tensors that share memory, which those of a checkpoint may, or whose memory is in another order are refused.
    weights = {name: value.detach().cpu().contiguous().clone() for name, value in export.weights.items()}
    return save(weights, {_KEY: text})


def read_export(path: Path) -> Export:
    """What is in an export.

    Raises:
        ValueError: the file is damaged, or not one of ours; one line that names it.
    """
    settings, record = read_header(path)
    with _opened(path, "pt") as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    return Export(settings, record, weights)


def read_header(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings and record of an export, without its weights and without torch.

    Raises:
        ValueError: as `read_export`.
    """
    with _opened(path, "numpy") as file:
        text = (file.metadata() or {}).get(_KEY, "")
    try:
        content = json.loads(text)
        settings, record = content["settings"], content["record"]
        if not all(isinstance(one, dict) for one in (settings, record, record.get("versions", {}))):
            raise ValueError("no objects")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        got = f"{path}, weights without settings of ours"
        raise check.FaultyFileError(check.complaint("RUN", "be an export of videopred", got, _FIX)) from None
    form = content.get("format", _FORMAT)
    fix = fix_of_version(written_by(record), "make it again with `videopred export RUN`")
    check.require_sound(form == _FORMAT, "RUN", f"be of format {_FORMAT}", f"{form} in {path}", fix)
    check_record(record, path, _FIX)
    return settings, record


def _opened(path: Path, framework: str) -> Any:
    """The open file, whose length has been compared with what its head says."""
    with path.open("rb"):  # of one that may not be read, safetensors says that it is not there
        pass
    try:
        return safe_open(path, framework=framework)
    except SafetensorError as error:
        raise check.FaultyFileError(check.complaint("RUN", "be a whole export", f"{path} ({error})", _FIX)) from None
