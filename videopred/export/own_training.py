"""Models that were trained in a program of somebody's own, as files that every command takes in place of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from videopred import check, check_path
from videopred.checkpoint import DataRecord, TrainedConfig
from videopred.datasets.clip_source import ClipSource
from videopred.device import usual_numbers
from videopred.export import OF_THIS_MACHINE, in_16_bits
from videopred.files import write_all
from videopred.judging.fitting import check_opened
from videopred.models import build
from videopred.models.precision import not_finite
from videopred.models.predictor import Predictor, check_model
from videopred.own_code import code_record
from videopred.training.provenance import provenance
from videopred.weights import Export, export_bytes


def save_model(
    predictor: Predictor,
    out: Path | str,
    *,
    learned_from: ClipSource | None = None,
    half: bool = False,
    overwrite: bool = False,
) -> Path:
    """Write a predictor that was trained in a program of one's own as a file, and return its path.

    Every command, `load_run` and `plausibility` take it in place of a run, as they take what `videopred export` wrote.
    It says nothing of how the model was trained.

    Args:
        predictor: what `build` gave, with other weights. It is not changed.
        out: the file; ends in .safetensors.
        learned_from: the clips it learned from, which scores on them then tell; None if that is not to be known.
        half: round the weights to 16 bits, which halves the file and changes scores a little.
        overwrite: replace a file that is there already.

    Raises:
        TypeError: no model, no path, or no open clips.
        ValueError: the file is not called as exports are; the model has other parts than its settings say, as under an
            intervention; or weights that are not finite, or too large for 16 bits.
        FileExistsError: the file is there already.
    """
    check_model(predictor)
    predictor = getattr(predictor, "_orig_mod", predictor)  # what torch.compile was given
    kind, fix = type(predictor).__name__, "give what videopred.build gave"
    check.require_kind(isinstance(predictor, Predictor), "predictor", "be a model", kind, fix)
    check.require_kind(isinstance(half, bool), "half", "be True or False", repr(half), "choose one of these")
    out = check_path.absent("--out", check_path.export_name(check_path.as_path("--out", out)), overwrite)
    if learned_from is not None:
        with check.named({"file": "learned_from"}):
            check_opened(learned_from)
    config = TrainedConfig(model=predictor.config, film_shape=predictor.film_shape, data=_record_of(learned_from))
    weights = predictor.state_dict()
    _check_as_built(predictor, weights)
    # Which command this program was given says nothing of the training.
    record = {name: value for name, value in provenance().items() if name not in (*OF_THIS_MACHINE, "command")}
    record["finished"] = record.pop("started")  # all that is known of its times
    record |= code_record(part.source for part in predictor.config.own_parts)
    if half:
        weights, record["weights"] = in_16_bits(weights, "predictor"), "16 bits"
    export = Export(config.model_dump(mode="json"), record, weights)
    write_all({out: export_bytes(export)}, overwrite=overwrite)
    return out


def _record_of(clips: ClipSource | None) -> DataRecord | None:
    """What clips are, without the folder that they are in here."""
    if clips is None:
        return None
    return DataRecord(path=clips.path.name, name=clips.name, sha256=clips.fingerprint())


def _check_as_built(predictor: Predictor, weights: Mapping[str, Any]) -> None:
    """Refuse a model with other parts or weights than one of its settings has, and weights that are no numbers."""
    with torch.random.fork_rng(devices=()), usual_numbers():  # weights are drawn
        usual = build(predictor.config, predictor.film_shape)
    _require_equal("weights", _shapes(usual.state_dict()), _shapes(weights))
    _require_equal("parts", _kinds(usual), _kinds(predictor))
    odd = not_finite(weights)
    fix = "train again, with a lower learning rate"
    if predictor.config.own_parts:
        fix = f"register a buffer, as of a mask, with persistent=False, save no extra state, or {fix}"
    check.require(not odd, "predictor", "have weights that are finite numbers", f"others in {', '.join(odd)}", fix)


def _shapes(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> shape; what a part of one's own saves beside tensors has none."""
    return {name: getattr(value, "shape", None) for name, value in weights.items()}


def _kinds(predictor: Predictor) -> dict[str, str]:
    """Name of each part -> its class; by name, as a notebook may have defined it anew."""
    parts = {name or "itself": type(part) for name, part in predictor.named_modules()}
    return {name: f"{kind.__module__}.{kind.__qualname__}" for name, kind in parts.items()}


def _require_equal(what: str, wanted: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    differing = [name for name in {**wanted, **found} if wanted.get(name) != found.get(name)]
    must, fix = f"have the {what} of its settings", "save what videopred.build gave, with none of its parts changed"
    check.require(not differing, "predictor", must, f"others at {', '.join(differing[:3])}", fix)
