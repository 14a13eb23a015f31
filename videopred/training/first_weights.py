"""The weights that a run begins with: drawn from its seed, or those of another run of the same model."""

from pathlib import Path

import torch

from videopred import check, check_path
from videopred.checkpoint import RunConfig, TrainedConfig, choices, read_run, say_code_changed, take_weights
from videopred.models import build
from videopred.models.predictor import Predictor
from videopred.models.trial import try_out
from videopred.training.folder import RunFolder
from videopred.training.processes import is_first


def first_predictor(config: RunConfig, folder: RunFolder | None = None) -> Predictor:
    """The model with its first weights: drawn from the run's seed, or those of another run.

    Args:
        config: settings of the run.
        folder: that of the run; another process may have begun it.

    Raises:
        ValueError: that run has another model; the message says what differs.
    """
    torch.manual_seed(config.training.seed)
    predictor = as_it_learns(config)
    if config.init_from is not None:
        source = check_path.run_folder(Path(config.init_from), "--init-from")
        with check.named({"RUN": "--init-from"}):
            there = folder.whereabouts(source) if folder else source
            theirs, weights = read_run(there)
        _check_same_model(config, theirs)
        take_weights(predictor, weights, config.init_from)
        if is_first():
            say_code_changed(theirs.model, there)
    return predictor


def as_it_learns(config: RunConfig) -> Predictor:
    """A new predictor, in 64 bits if it learns in them: Lightning does that only after it has read weights, rounded.

    Raises:
        ValueError, TypeError, FailedError: it has parts of one's own that do not do what they must; see `try_out`.
    """
    predictor = build(config.model, config.film_shape)
    if config.model.own_parts:
        try_out(predictor)
    return predictor.double() if config.training.precision == "64-true" else predictor


def _check_same_model(config: RunConfig, theirs: TrainedConfig) -> None:
    """Refuse weights of another model, and say what differs."""
    ours, other = choices(config), choices(theirs)
    differing = [name for name in ours if ours[name] != other.get(name)]
    # Where the kind of a part differs, saying so is enough: its settings differ because of that.
    told = [name for name in differing if "." not in name or name.partition(".")[0] not in differing]
    must = "hold the same model, with " + ", ".join(f"{name} {ours[name]}" for name in told)
    got = ", ".join(f"{name} {other.get(name)}" for name in told)
    check.require(not differing, "--init-from", must, got, "give a run of this model, or these settings")
