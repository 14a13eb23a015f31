"""Judge: films in, scores out, beside those of the trivial predictions on the same clips."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from videopred import check
from videopred.eval import METRICS, baselines, make_metric
from videopred.eval.baselines import TrainingStatistics
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.frames import to_film
from videopred.rollout import Feedback, Rollout, roll_out

if TYPE_CHECKING:
    from videopred.datasets.source import ClipSource
    from videopred.models.predictor import Predictor

ROWS = ("model", "blank", "mean frame", "copy last", "copy last calibrated")
"""Rows of every table, in this order."""

Predict = Callable[[Tensor, int], Tensor]
"""What can be judged: (context film (B, T, C, H, W), horizon) -> film (B, horizon, C, H, W) in [0, 1]."""


def evaluate(
    predictor: "Predictor",
    file: "ClipSource",
    *,
    context: int,
    horizon: int,
    part: str = "test",
    metrics: Sequence[str] = ("bce", "mse", "ssim", "f1"),
    batch_size: int = 32,
    first: int | None = None,
    reference: "ClipSource | None" = None,
    feedback: Feedback = "soft",
    progress: bool = False,
) -> Scores:
    """Scores of a model's rollouts; see `judge`, which does all but roll out.

    The model runs on the device where it is, in evaluation mode, and is left in the mode it was in.

    Args:
        predictor: a trained model.
        first: how many clips, from the first of the part on; all when None.
        feedback: what it is fed after the context.

    Raises:
        ValueError: the file's frames are not what the model was built for; or see `judge`.
    """
    _check_fit(predictor, file)

    def predict(film: Tensor, steps: int) -> Tensor:
        return roll_out(predictor, film, steps, feedback=feedback).prediction

    protocol = Protocol(
        context=context, horizon=horizon, part=part, metrics=tuple(metrics), clips=first, feedback=feedback
    )
    return judge(
        predict,
        file,
        protocol,
        reference=reference,
        batch_size=batch_size,
        device=_device_of(predictor),
        progress=progress,
    )


def imagine(
    predictor: "Predictor", file: "ClipSource", part: str, clips: Sequence[int], context: int, horizon: int
) -> tuple[Rollout, Tensor]:
    """A model's rollout of chosen clips, and the frames that truly followed.

    Args:
        predictor: a trained model; the rollout is on its device.
        file: holds the clips.
        part: train, validation or test.
        clips: their indices in the part, from 0.
        context: frames given, at least 1.
        horizon: frames to predict, at least 1.

    Returns:
        The rollout with its trace, and the truth: (B, horizon, C, H, W) float in [0, 1], on the CPU.

    Raises:
        ValueError: frames that are not what the model was built for, an unknown part, clips that are not
            there, or context and horizon longer than the clips.
    """
    _check_fit(predictor, file)
    there = _check_part(part, file)
    check.context_and_horizon(context, horizon, file.frames)
    check.require(len(clips) > 0, "--clips", "name at least one clip", "none", "give e.g. --clips 0 1")
    for clip in clips:
        must = f"lie in 0 to {there - 1}, the clips of the {part} part"
        check.require(0 <= clip < there, "--clips", must, clip, "choose one of these")
    film = to_film(np.concatenate([file.read_frames(part, clip, clip + 1) for clip in clips]))
    given, truth = film[:, : context + horizon].split([context, horizon], dim=1)
    return roll_out(predictor, given.to(_device_of(predictor)), horizon, trace=True), truth


@torch.inference_mode()
def judge(
    predict: Predict,
    file: "ClipSource",
    protocol: Protocol,
    *,
    reference: "ClipSource | None" = None,
    batch_size: int = 32,
    device: torch.device | str = "cpu",
    progress: bool = False,
) -> Scores:
    """Scores of any predictions, with the rows of ROWS, at each step of the horizon.

    Clips pass in batches: memory does not grow with their number, and the scores do not depend on the batch
    size. Whatever `predict` draws comes from a random stream of its own; torch's global one is left alone.

    Args:
        predict: makes the films to judge, from the context of a batch of clips on `device`.
        file: holds the clips to predict.
        protocol: what is asked.
        reference: the file whose train part gives the mean frame and the calibration; None is `file` itself.
        batch_size: clips at a time.
        device: where films are predicted and measured.
        progress: show a bar on stderr.

    Raises:
        ValueError: an unknown metric or part, more clips than there are, context and horizon longer than
            the clips, a reference without a train part or of other frames, or a prediction of other shape.
    """
    clips = _check_protocol(protocol, file)
    check.whole_number("--batch-size", batch_size, 1, "give at least one clip at a time")
    reference = file if reference is None else reference
    _check_reference(reference, file)
    context, horizon = protocol.context, protocol.horizon
    device = torch.device(device)
    # Sums are in float64, which Apple's GPU does not have.
    measured_on = torch.device("cpu") if device.type == "mps" else device

    statistics = TrainingStatistics(context, horizon)
    for film in _films(reference, "train", reference.parts["train"], batch_size, progress):
        statistics.update(film)

    tally = _Tally(protocol.metrics)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(0)
        for film in _films(file, protocol.part, clips, batch_size, progress):
            given, truth = film.to(measured_on)[:, : context + horizon].split([context, horizon], dim=1)
            predictions = (
                predict(given.to(device), horizon).to(measured_on),
                baselines.blank(given, horizon),
                baselines.mean_frame(given, statistics),
                baselines.copy_last(given, horizon),
                baselines.copy_last_calibrated(given, statistics),
            )
            for row, prediction in zip(ROWS, predictions, strict=True):
                tally.add(row, prediction, truth)

    return Scores(
        values=tally.reduce(),
        metrics=tally.metrics,
        file=str(file.path),
        fingerprint=file.fingerprint(),
        reference=str(reference.path),
        protocol=protocol.model_copy(update={"clips": clips}),
    )


class _Tally:
    """Measurements of every row, batch after batch: a few numbers per clip and frame."""

    def __init__(self, metrics: Sequence[str]):
        self.metrics = {name: make_metric(name) for name in metrics}
        self._measured: dict[str, dict[str, list[dict[str, Tensor]]]] = {
            row: {name: [] for name in metrics} for row in ROWS
        }

    def add(self, row: str, prediction: Tensor, truth: Tensor) -> None:
        for name, metric in self.metrics.items():
            measured = metric.measure(prediction, truth)
            self._measured[row][name].append({key: values.cpu() for key, values in measured.items()})

    def reduce(self) -> dict[str, dict[str, np.ndarray]]:
        """row -> metric -> (horizon,) float64, over all clips."""
        return {
            row: {name: self.metrics[name].reduce(_joined(batches)).numpy() for name, batches in of_row.items()}
            for row, of_row in self._measured.items()
        }


def _joined(batches: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The measurements of several batches as those of one."""
    return {key: torch.cat([batch[key] for batch in batches]) for key in batches[0]}


def _films(file: "ClipSource", part: str, clips: int, batch_size: int, progress: bool) -> Iterator[Tensor]:
    """The first clips of a part as films, in batches."""
    starts = range(0, clips, batch_size)
    for start in tqdm(starts, desc=f"{file.path.name} {part}", unit="batch", disable=not progress):
        yield to_film(file.read_frames(part, start, min(start + batch_size, clips)))


def _check_protocol(protocol: Protocol, file: "ClipSource") -> int:
    """The number of clips to score, if the file can answer the protocol."""
    for name in protocol.metrics:
        check.one_of("--metrics", name, METRICS)
    named = len(protocol.metrics)
    check.require(named > 0, "--metrics", "name at least one", "none", "leave it away for all")
    there = _check_part(protocol.part, file)
    check.context_and_horizon(protocol.context, protocol.horizon, file.frames)
    clips = there if protocol.clips is None else protocol.clips
    check.whole_number("--first", clips, 1, "score at least one clip")
    must = f"be at most {there}, the clips of the {protocol.part} part"
    check.require(clips <= there, "--first", must, clips, "lower it, or leave it away for all")
    return clips


def _check_part(part: str, file: "ClipSource") -> int:
    """The number of clips in a part of the file, if it is there."""
    return file.parts[check.one_of("--part", part, [name for name, clips in file.parts.items() if clips > 0])]


def _check_fit(predictor: "Predictor", file: "ClipSource") -> None:
    """Refuse a file whose frames are not of the shape that the model was built for."""
    ours, theirs = tuple(predictor.film_shape), _film_shape(file)
    must = f"hold frames of {_written(ours)}, which the model was built for"
    fix = "give a file like the one it was trained on, or train a model on this one"
    check.require(ours == theirs, str(file.path), must, _written(theirs), fix)


def _check_reference(reference: "ClipSource", file: "ClipSource") -> None:
    """Refuse a file that cannot say what the training part looks like."""
    parts = ", ".join(part for part, clips in reference.parts.items() if clips > 0) or "no clips"
    got = f"{reference.path} (which has {parts})"
    fix = "give with --reference the file that the model was trained on"
    check.require(reference.parts.get("train", 0) > 0, "--reference", "have a train part", got, fix)
    ours, theirs = _film_shape(file), _film_shape(reference)
    must = f"hold frames of {_written(ours)}, as {file.path} does"
    check.require(ours == theirs, "--reference", must, _written(theirs), "give a file of the same frames")


def _device_of(predictor: "Predictor") -> torch.device:
    return next(predictor.parameters()).device


def _film_shape(file: "ClipSource") -> tuple[int, int, int]:
    return file.channels, file.height, file.width


def _written(film_shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, film_shape)) + " (channels x height x width)"
