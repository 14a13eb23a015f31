"""Surprise: a model and scenes of films in, how unlikely each frame was out, and how plausible the films are.

A model is shown the true frames, and predicts each from those before it; it never sees its own predictions.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from videopred import check
from videopred.checkpoint import load_run, run_settings
from videopred.datasets.quadruplets import Quadruplets, open_quadruplets
from videopred.device import device_of, measuring_device
from videopred.eval.answers import read_scores
from videopred.eval.mates import differing
from videopred.eval.plausibility import Plausible, Scenes, aggregate, check_differing, errors, from_numbers
from videopred.eval.plausibility_scores import PlausibilityScores
from videopred.eval.plausibility_settings import PlausibilityConfig
from videopred.frames import shape_told, to_film
from videopred.rollout import evaluating, predict_on
from videopred.run_files import named_path
from videopred.runs import how_far, run_stamp

if TYPE_CHECKING:
    from videopred.models.predictor import Predictor

Scorer = Callable[[Tensor], Tensor]
"""What can be judged: true film (B, T, C, H, W) in [0, 1] -> (B, T - 1), the surprise at each frame but the first."""


def _bce(logits: Tensor, truth: Tensor) -> Tensor:
    nats = functional.binary_cross_entropy_with_logits(logits, truth, reduction="none")
    return nats.sum((2, 3, 4), dtype=torch.float64)


def _kl(logits: Tensor, truth: Tensor) -> Tensor:
    entropy = -torch.xlogy(truth, truth) - torch.xlogy(1 - truth, 1 - truth)
    nats = functional.binary_cross_entropy_with_logits(logits, truth, reduction="none")
    return (nats - entropy).sum((2, 3, 4), dtype=torch.float64)


def _mse(logits: Tensor, truth: Tensor) -> Tensor:
    return (torch.sigmoid(logits) - truth).square().mean((2, 3, 4), dtype=torch.float64)


SURPRISES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"bce": _bce, "kl": _kl, "mse": _mse}
"""Name -> (logits, true film), both (B, T, C, H, W) -> surprise (B, T) float64.

    bce   sum of -y ln p - (1 - y) ln(1 - p) over channels and pixels: of binary frames, the negative log-likelihood
    kl    bce less the entropy of y itself, which no prediction can save: the same of binary frames, 0 at best
    mse   mean of (p - y)² over channels and pixels: the likelihood of Gaussian pixels, up to scale and a constant
"""


def plausibility(
    run: "Path | str | Predictor",
    data: Path | str,
    config: PlausibilityConfig | None = None,
    *,
    device: torch.device | str = "auto",
    progress: bool = False,
) -> PlausibilityScores:
    """How plausible a model finds possible and impossible films, and how often it is wrong.

    Args:
        run: run folder, or a trained predictor, which stays where it is and in the mode it is in.
        data: data file or folder of IntPhys, whose pictures are brought to the size that the model was built for.
        config: what is asked; None is the defaults.
        device: where the model of a run folder goes.
        progress: show a bar on stderr.

    Raises:
        FileNotFoundError: there is no such run or data.
        ValueError: the frames are not what the model was built for; or see `open_quadruplets` and `judge_scorer`.
        TypeError: settings of another kind, or neither a run folder nor a predictor.
    """
    config = PlausibilityConfig() if config is None else config
    check.require_instance("config", config, PlausibilityConfig)
    stamp, name = None, "the model"
    notes: tuple[str, ...] = ()
    asked: dict[str, str] = {"surprise": config.surprise}
    if isinstance(run, str | Path):
        name = str(named_path(Path(run)))
        asked["run"] = name
        stamp = run_stamp(Path(run))  # before its weights, as it may go on
        far = how_far(Path(run))
        notes = () if far is None else (f"the run is not finished: {far}",)
        run = load_run(Path(run), device)
    fix = "give its folder, or what videopred.load_run returns"
    check.require_kind(hasattr(run, "film_shape"), "run", "be a run folder or a predictor", repr(run), fix)
    films = open_scenes(data, config, run.film_shape[1:])
    _check_fit(run.film_shape, films, name)
    scores = judge_scorer(scorer_of(run, config), films, config, asked=asked, progress=progress)
    return replace(scores, stamp=stamp, notes=notes)


def check_runs(runs: Sequence[Path], data: Path, config: PlausibilityConfig) -> None:
    """Refuse runs that were built for other frames than the films have, before any is judged.

    Raises:
        ValueError: names the first such run.
    """
    for run in runs:
        shape = run_settings(run).film_shape
        _check_fit(shape, open_scenes(data, config, shape[1:]), str(run))


def open_scenes(data: Path | str, config: PlausibilityConfig, size: tuple[int, int] = (64, 64)) -> Quadruplets:
    """The scenes that a config asks for.

    Args:
        data: data file, or folder of IntPhys.
        config: says which part, films and frames.
        size: (height, width) that the pictures of a folder are brought to.

    Raises:
        FileNotFoundError, ValueError: see `open_quadruplets`.
        TypeError: settings of another kind, or no such size.
    """
    check.require_instance("config", config, PlausibilityConfig)
    must, fix = "be (height, width), two whole numbers", "give e.g. (64, 64)"
    sides = check.as_tuple("size", size, must, fix)
    check.require_kind(len(sides) == 2 and all(map(check.is_whole, sides)), "size", must, repr(size), fix)
    height, width = sides
    return open_quadruplets(
        data, part=config.part, height=height, width=width, every=config.every, film_names=config.film_names
    )


def scorer_of(predictor: "Predictor", config: PlausibilityConfig) -> Scorer:
    """Surprise of a model, on its device and in evaluation mode; it is left in the mode it was in."""
    measure = SURPRISES[config.surprise]
    device = device_of(predictor)
    measured_on = measuring_device(device)

    def score(film: Tensor) -> Tensor:
        with evaluating(predictor):
            logits = predict_on(predictor, film[:, :-1].to(device), 0).logits
        return measure(logits.to(measured_on), film[:, 1:].to(measured_on))

    return score


@torch.inference_mode()
def judge_scorer(
    score: Scorer,
    films: Quadruplets,
    config: PlausibilityConfig,
    *,
    asked: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> PlausibilityScores:
    """How plausible any scorer finds films. Scenes pass in batches: memory does not grow with their pictures.

    Args:
        score: gives the surprise (B, T - 1) at each frame but the first of films (B, T, C, H, W) in [0, 1]; larger is
            less plausible.
        films: scenes of four, see `open_scenes`.
        config: what is asked; what `surprise` says is the scorer's own matter.
        asked: what the scores say of the scorer.
        progress: show a bar on stderr.

    Raises:
        ValueError: a scene has not two possible films; the burn-in is too long; `score` gives other shapes, or what is
            no finite number; or see `aggregate`.
        TypeError: films that are not opened as scenes, settings of another kind, or `score` gives no tensor.
    """
    fix = "open them with videopred.surprise.open_scenes(DATA, config, (height, width))"
    check.require_kind(hasattr(films, "possible"), "films", "be scenes of four", repr(films), fix)
    check.require_instance("config", config, PlausibilityConfig)
    scenes = Scenes(films.names, films.possible, films.conditions)
    frames, count = films.frames, len(scenes.names)
    films.check_burn_in(config.burn_in)
    surprise, differs = np.empty((count, 4, frames - 1)), np.empty((count, 4, frames), bool)
    starts, pixels = range(0, count, config.scenes_at_once), hashlib.sha256()
    for start in tqdm(starts, desc=films.path.name, unit="batch", disable=not progress):
        stop = min(start + config.scenes_at_once, count)
        shown = np.stack([films.read(scene) for scene in range(start, stop)])
        pixels.update(shown.data)
        for scene, four in enumerate(shown, start):
            differs[scene] = differing(four, None if scenes.possible is None else scenes.possible[scene])
            check_differing(config.aggregates, differs[scene, :, config.burn_in :], scene)
        found = score(to_film(shown.reshape(-1, *shown.shape[2:])))
        _check_surprise(found, (4 * len(shown), frames - 1))
        surprise[start:stop] = found.cpu().double().numpy().reshape(-1, 4, frames - 1)
    surprise, differs = surprise[..., config.burn_in - 1 :], differs[..., config.burn_in :]
    plausible: dict[str, Plausible] = {
        name: aggregate(name, surprise, differs, scenes.possible) for name in config.aggregates
    }
    settings = {"data": str(films.path), "part": films.part, "surprise": "own", **(asked or {})}
    settings |= {"burn_in": config.burn_in, "every": films.every}
    settings["pixels"] = {f"{shown.shape[-3]} x {shown.shape[-2]}": pixels.hexdigest()}
    return _scored(scenes, plausible, config, settings, surprise, differs)


def score_file(scores: Path, data: Path | str, config: PlausibilityConfig | None = None) -> PlausibilityScores:
    """The errors of scores that were made elsewhere, a number for each film.

    Args:
        scores: table or answers; see `videopred.eval.answers`.
        data: data file or folder of IntPhys that says which films there are.
        config: what is asked; of it, `part`, `film_names`, `resamples` and `seed` mean something.

    Raises:
        FileNotFoundError: there is no such file or data.
        ValueError: a film is unknown, missing or scored twice; or see `read_scores` and `open_quadruplets`.
        TypeError: settings of another kind.
    """
    config = PlausibilityConfig() if config is None else config
    check.require_instance("config", config, PlausibilityConfig)
    films = open_scenes(data, config)
    scenes = Scenes(films.names, films.possible, films.conditions)
    given = read_scores(scores, films.names, films.folders, films.possible)
    plausible = {name: from_numbers(values, scenes.possible) for name, values in given.items()}
    return _scored(scenes, plausible, config, {"data": str(films.path), "scores": str(scores)})


def _scored(
    scenes: Scenes,
    plausible: Mapping[str, Plausible],
    config: PlausibilityConfig,
    settings: Mapping[str, Any],
    surprise: np.ndarray | None = None,
    differs: np.ndarray | None = None,
) -> PlausibilityScores:
    found = {name: errors(of, scenes, resamples=config.resamples, seed=config.seed) for name, of in plausible.items()}
    asked = {**settings, "resamples": config.resamples, "seed": config.seed}
    return PlausibilityScores(scenes, plausible, found, asked, surprise, differs)


def _check_fit(shape: tuple[int, int, int], films: Quadruplets, name: str) -> None:
    """Refuse frames that are not of the shape (C, H, W) that a model was built for."""
    _, _, height, width, channels = films.read(0).shape
    theirs = (channels, height, width)
    must = f"hold frames of {shape_told(shape)}, which {name} was built for"
    fix = "give data like what it was trained on, or train a model on this"
    check.require(shape == theirs, str(films.path), must, shape_told(theirs), fix)


def _check_surprise(surprise: Tensor, shape: tuple[int, int]) -> None:
    """Refuse surprise that is no tensor, of another shape, or no finite number."""
    kind, fix = type(surprise).__name__, "make it one with torch.from_numpy"
    check.require_kind(isinstance(surprise, Tensor), "surprise", "be a tensor", kind, fix)
    check.require_kind(
        not surprise.is_complex(), "surprise", "be of real numbers", surprise.dtype, "take e.g. its .abs()"
    )
    got, fix = tuple(surprise.shape), "give one number for each frame but the first"
    check.require(got == shape, "surprise", f"be (films, frames - 1), {shape}", got, fix)
    finite = bool(torch.isfinite(surprise).all())
    check.require(finite, "surprise", "be finite", "NaN or infinity", "look at the model's weights and losses")
