"""The weights that a run begins with: drawn from its seed, or those of another run of the same model."""

from pathlib import Path

import torch
from torch import Tensor, nn

from videopred import check, check_path
from videopred.checkpoint import RunConfig, TrainedConfig, choices, read_run, say_code_changed, take_weights
from videopred.models import build
from videopred.models.own import in_evaluation
from videopred.models.precision import not_finite
from videopred.models.predictor import Predictor
from videopred.training.folder import RunFolder


def first_predictor(config: RunConfig, folder: RunFolder | None = None) -> Predictor:
    """The model with its first weights: drawn from the run's seed, or those of another run.

    Args:
        config: settings of the run.
        folder: that of the run; another process may have begun it.

    Raises:
        ValueError: that run has another model; the message says what differs.
    """
    torch.manual_seed(config.training.seed)
    predictor = build(config.model, config.film_shape)
    if config.model.own_parts:
        _try_out(predictor)
    as_it_learns(predictor, config)
    if config.init_from is not None:
        source = check_path.run_folder(Path(config.init_from), "--init-from")
        with check.named({"RUN": "--init-from"}):
            theirs, weights = read_run(folder.whereabouts(source) if folder else source)
        _check_same_model(config, theirs)
        take_weights(predictor, weights, config.init_from)
        say_code_changed(theirs.model, source)
    return predictor


def as_it_learns(predictor: Predictor, config: RunConfig) -> Predictor:
    """The predictor, in 64 bits if it learns in them: Lightning does that only after it has read weights, rounded."""
    return predictor.double() if config.training.precision == "64-true" else predictor


def _try_out(predictor: Predictor) -> None:
    """Have a model with parts of one's own see a film once before anything is written.

    Raises:
        TypeError: what core or decoder gives is of another precision than the weights.
        ValueError: what the model saves are not all finite numbers, which no command would take.
    """
    film, core, decoder = torch.zeros(2, 2, *predictor.film_shape), predictor.core, predictor.decoder
    with in_evaluation(predictor), torch.random.fork_rng(devices=()), torch.no_grad():
        outputs = predictor.observe(film).output
        _check_precision(f"core {type(core).__name__}", "an output", outputs, core)
        logits, _ = predictor.paint(outputs, trace=True)
        _check_precision(f"decoder {type(decoder).__name__}", "logits", logits, decoder)
    odd = not_finite(predictor.state_dict())
    fix = "draw finite parameters, register such a buffer, as of a mask, with persistent=False, and save no extra state"
    check.require(not odd, "model", "save tensors of finite numbers alone", ", ".join(odd), fix)


def _check_precision(argument: str, what: str, given: Tensor, part: nn.Module) -> None:
    own = next(part.parameters(), given).dtype
    fix = "convert what it computes with, such as buffers made from NumPy's numbers, by .float()"
    check.require_kind(given.dtype == own, argument, f"return {what} of {own}, as its parameters are", given.dtype, fix)


def _check_same_model(config: RunConfig, theirs: TrainedConfig) -> None:
    """Refuse weights of another model, and say what differs."""
    ours, other = choices(config), choices(theirs)
    differing = [name for name in ours if ours[name] != other.get(name)]
    # Where the kind of a part differs, saying so is enough: its settings differ because of that.
    told = [name for name in differing if "." not in name or name.partition(".")[0] not in differing]
    must = "hold the same model, with " + ", ".join(f"{name} {ours[name]}" for name in told)
    got = ", ".join(f"{name} {other.get(name)}" for name in told)
    check.require(not differing, "--init-from", must, got, "give a run of this model, or these settings")
