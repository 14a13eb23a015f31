"""From a file and what predicts its clips to scores."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from videopred import check
from videopred.device import pick_device
from videopred.eval import make_any_metric
from videopred.eval.baselines import TrainingStatistics
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.frames import to_film
from videopred.judging.batches import Batch, films, seed_torch
from videopred.judging.elsewhere import GivenFilms, GivenTruth
from videopred.judging.fitting import check_fit, check_part, check_protocol, check_reference, film_shape, written
from videopred.judging.rows import rows_for
from videopred.judging.sharing import Share, my_device, sharing
from videopred.judging.tally import Tally
from videopred.rollout import Rollout, predict_next, roll_out

if TYPE_CHECKING:
    from videopred.datasets.source import ClipSource
    from videopred.models.predictor import Predictor

Predict = Callable[[Tensor, int], Tensor]
"""What can be judged: (context film (B, T, C, H, W), horizon) -> film (B, horizon, C, H, W) in [0, 1]."""
Forecast = Callable[[Batch, int], Tensor]
"""The same, told which clips they are: (batch, sample counted from 0) -> film (B, horizon, C, H, W) in [0, 1]."""


def evaluate(
    predictor: "Predictor | Mapping[str, Predictor]",
    file: "ClipSource",
    *,
    context: int | None = None,
    horizon: int | None = None,
    part: str = "test",
    metrics: Sequence[str] = ("bce", "mse", "ssim", "f1"),
    batch_size: int = 32,
    first: int | None = None,
    reference: "ClipSource | None" = None,
    feedback: str = "soft",
    samples: int = 1,
    progress: bool = False,
) -> Scores:
    """Scores of a model's rollouts, or of several models' on the same clips.

    `judge` does all but roll out.

    A model runs on the device where it is, in evaluation mode, and is left in the mode it was in. Draws that feed back
    samples come from a stream of each clip's own; a model with chance of its own draws batch by batch, so that its
    scores, but no others, depend on the batch size.

    Args:
        predictor: a trained model; or several, each under the name of its row.
        context, horizon: frames given and predicted; the data's own when None.
        first: how many clips, from the first of the part on; all when None.
        feedback: what it is fed after the context; see `Protocol`.
        samples: films that it predicts of each clip; see `Protocol`.

    Raises:
        ValueError: the file's frames are not what the model was built for; or see `judge`.
    """
    protocol = Protocol(
        context=file.context if context is None else context,
        horizon=file.horizon if horizon is None else horizon,
        part=part,
        metrics=tuple(metrics),
        clips=first,
        feedback=feedback,
        samples=samples,
    )
    return evaluate_protocol(predictor, file, protocol, reference=reference, batch_size=batch_size, progress=progress)


def evaluate_protocol(
    predictor: "Predictor | Mapping[str, Predictor]",
    file: "ClipSource",
    protocol: Protocol,
    *,
    reference: "ClipSource | None" = None,
    batch_size: int = 32,
    progress: bool = False,
    notes: Sequence[str] = (),
) -> Scores:
    """Scores of a model's rollouts under a protocol; see `evaluate` and `judge_rows`."""
    predictors = predictor if isinstance(predictor, Mapping) else {"model": predictor}
    for one in predictors.values():
        check_fit(one, file)
    forecasts = {name: _forecast(one, protocol.feedback) for name, one in predictors.items()}
    device = _device_of(next(iter(predictors.values())))
    return judge_rows(
        forecasts,
        file,
        protocol,
        reference=reference,
        batch_size=batch_size,
        device=device,
        progress=progress,
        notes=notes,
    )


def evaluate_given(
    predicted: GivenFilms,
    file: "ClipSource",
    protocol: Protocol,
    *,
    reference: "ClipSource | None" = None,
    batch_size: int = 32,
    device: str = "cpu",
    progress: bool = False,
    notes: Sequence[str] = (),
) -> Scores:
    """Scores of films made elsewhere; see `judge_rows`.

    Args:
        predicted: the frames that follow the context, of the clips to score, in their order.
        file: the truth: a data file, or a `GivenTruth`.
        protocol: what is asked; its feedback is `elsewhere`, or `true` of films made one step ahead.
        device: where films are measured; see `pick_device`.

    Raises:
        ValueError: there are fewer films, they are shorter than the horizon, or of other frames than the truth's.
    """
    clips = check_protocol(protocol, file)
    flag, name = predicted.flag, predicted.path
    must, got = f"hold the {clips} clips to score", f"{predicted.clips} in {name}"
    check.require(predicted.clips == clips, flag, must, got, "give --first for the first clips of the truth")
    must, got = f"hold the {protocol.horizon} frames of the horizon", f"{predicted.frames} in {name}"
    check.require(predicted.frames >= protocol.horizon, flag, must, got, "give a shorter --horizon")
    ours, theirs = predicted.film_shape, film_shape(file)
    must, got = f"hold frames of {written(theirs)} as the truth", f"{written(ours)} in {name}"
    check.require(ours == theirs, flag, must, got, "say with --axes which axis is which")
    if predicted.frames > protocol.horizon:
        notes = (*notes, f"of the {predicted.frames} frames in {name}, the first {protocol.horizon} were scored")

    def forecast(batch: Batch, _: int) -> Tensor:
        film = predicted.read(batch.start, batch.start + len(batch.film))
        return film[:, : protocol.horizon]

    return judge_rows(
        {"prediction": forecast},
        file,
        protocol,
        reference=reference,
        batch_size=batch_size,
        device=pick_device(my_device(device)),
        progress=progress,
        notes=notes,
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
    check_fit(predictor, file)
    there = check_part(part, file)
    check.context_and_horizon(context, horizon, file.frames)
    check.require(len(clips) > 0, "--clips", "name at least one clip", "none", "give e.g. --clips 0 1")
    for clip in clips:
        must = f"lie in 0 to {there - 1}, the clips of the {part} part"
        check.require(0 <= clip < there, "--clips", must, clip, "choose one of these")
    film = to_film(np.concatenate([file.read_frames(part, clip, clip + 1) for clip in clips]))
    given, truth = film[:, : context + horizon].split([context, horizon], dim=1)
    return roll_out(predictor, given.to(_device_of(predictor)), horizon, trace=True), truth


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
    """Scores of any predictions, beside the rows of ROWS that apply, at each step of the horizon.

    Clips pass in batches: memory grows with their number by a few numbers per frame, and the scores do not depend on
    the batch size. Whatever `predict` draws comes from a random stream of its own; torch's global one is left alone.
    Under torchrun each process takes its share of the batches, and all return the scores of all clips.

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

    def forecast(batch: Batch, _: int) -> Tensor:
        return predict(batch.context.to(device), batch.horizon)

    return judge_rows(
        {"model": forecast},
        file,
        protocol,
        reference=reference,
        batch_size=batch_size,
        device=device,
        progress=progress,
    )


@torch.inference_mode()
def judge_rows(
    forecasts: Mapping[str, Forecast],
    file: "ClipSource",
    protocol: Protocol,
    *,
    reference: "ClipSource | None" = None,
    batch_size: int = 32,
    device: torch.device | str = "cpu",
    progress: bool = False,
    notes: Sequence[str] = (),
) -> Scores:
    """Scores of several predictions of the same clips; see `judge`.

    Args:
        forecasts: name of a row -> what makes its films.
        notes: what a reader of the scores should know besides.
    """
    clips = check_protocol(protocol, file)
    check.whole_number("--batch-size", batch_size, 1, "give at least one clip at a time")
    if reference is None and not isinstance(file, GivenTruth):
        reference = file
    if reference is not None:
        check_reference(reference, file)
    device = torch.device(device)
    # Sums are in float64, which Apple's GPU does not have.
    measured_on = torch.device("cpu") if device.type == "mps" else device
    rows = rows_for(file, protocol.context, reference is not None)
    tally = Tally({name: make_any_metric(name) for name in protocol.metrics}, protocol.samples)
    with sharing() as share, torch.random.fork_rng([device] if device.type == "cuda" else []):
        progress = progress and share.writes
        statistics = None
        if reference is not None:
            statistics = _statistics(reference, protocol, batch_size, share, progress)
        starts = share.of(range(0, clips, batch_size))
        for start, film in films(file, protocol.part, starts, clips, batch_size, progress):
            film = film[:, : protocol.context + protocol.horizon].to(measured_on)
            batch = Batch(file, protocol.part, start, film, protocol.context, protocol.one_step)
            for name, forecast in forecasts.items():
                tally.add(name, batch, _samples(forecast, batch, protocol.samples))
            for name, row in rows.items():
                tally.add(name, batch, [row.draw(batch, statistics)])
        found = share.gather(tally.found)
    return Scores(
        measurements=tally.joined(found),
        metrics=tally.columns,
        file=str(file.path),
        fingerprint=file.fingerprint(),
        reference=None if reference is None else str(reference.path),
        protocol=protocol.model_copy(update={"clips": clips}),
        models=tuple(forecasts),
        notes=tuple(notes),
    )


def _statistics(
    reference: "ClipSource", protocol: Protocol, batch_size: int, share: Share, progress: bool
) -> TrainingStatistics:
    """What the rows that learn know of the training part."""
    clips = reference.parts["train"]
    statistics = TrainingStatistics(
        protocol.context, 1 if protocol.one_step else protocol.horizon, film_shape(reference)
    )
    for _, film in films(reference, "train", share.of(range(0, clips, batch_size)), clips, batch_size, progress):
        statistics.update(film)
    statistics.add_up(share.total)
    return statistics


def _forecast(predictor: "Predictor", feedback: str) -> Forecast:
    """A model's predictions under a feedback."""
    device = _device_of(predictor)

    def forecast(batch: Batch, sample: int) -> Tensor:
        if batch.one_step:
            return predict_next(predictor, batch.film.to(device))[:, -batch.horizon :]
        given = batch.context.to(device)
        return roll_out(predictor, given, batch.horizon, feedback=feedback, chance=_chance(batch, sample)).prediction

    return forecast


def _chance(batch: Batch, sample: int) -> list[torch.Generator]:
    """A random stream for each clip, which depends on its index and the sample alone."""
    seeds = (np.random.SeedSequence(0, spawn_key=(clip, sample)).generate_state(1)[0] for clip in batch.clips)
    return [torch.Generator().manual_seed(int(seed)) for seed in seeds]


def _samples(forecast: Forecast, batch: Batch, samples: int) -> Iterator[Tensor]:
    for sample in range(samples):
        seed_torch(batch.start, sample)
        yield forecast(batch, sample).to(batch.film.device)


def _device_of(predictor: "Predictor") -> torch.device:
    return next(predictor.parameters()).device
