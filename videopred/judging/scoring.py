"""The loop over a file's clips in which every row is scored, batch by batch."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TypedDict, Unpack

import numpy as np
import torch

from videopred import check
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.predictability import error_growth, frames_predictable
from videopred.device import measuring_device, seeded_devices
from videopred.eval import make_metric, read_metric_settings
from videopred.eval.baselines import TrainingStatistics
from videopred.eval.metric import Quantity
from videopred.eval.positions import Kept
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.judging.baselines import BASELINES, baselines_for
from videopred.judging.batches import Batch, Predicted, films, seed_sample
from videopred.judging.fitting import check_protocol, check_reference
from videopred.judging.given_films import GivenTruth
from videopred.judging.objects import notes_on_places
from videopred.judging.oracle import knows_physics
from videopred.judging.own_masks import asks_for_masks
from videopred.judging.predicting import PredictBatch, check_predicted
from videopred.judging.sharing import Share, sharing
from videopred.judging.tally import Tally

_PREDICTABLE = 200
"""Clips from which it is computed for how long a world can be predicted."""


class How(TypedDict, total=False):
    """How to score what is asked. None of it changes the scores, unless a model is itself random."""

    reference: ClipSource | None
    """The file whose train part gives the mean frame and the calibration; None, as usual, is the judged file itself."""
    batch_size: int
    """Clips at a time; 32 unless said."""
    progress: bool
    """Show a bar on stderr."""
    notes: Sequence[str]
    """What else a reader of the scores should know."""
    share: bool
    """Share the batches with the processes that torchrun or srun started together; all return the scores of all clips.
    Each must ask the same of the same models, as they wait for one another. False unless said."""


class HowAndWhere(How, total=False):
    """How and on which device to score predictions that may come from anywhere; a model has a device of its own."""

    device: torch.device | str
    """Where films are predicted and measured; the CPU unless said."""


@torch.inference_mode()
def judge_rows(
    predictions: Mapping[str, PredictBatch],
    file: ClipSource,
    protocol: Protocol,
    **how: Unpack[HowAndWhere],
) -> Scores:
    """Scores of several predictions of the same clips, beside the baselines that apply, at each step of the horizon.

    Clips pass in batches: memory grows with their number by a few numbers per frame, and the scores do not depend on
    the batch size, unless a model itself draws. Whatever a prediction draws comes from a random stream of its own;
    torch's global one is left alone.

    Args:
        predictions: name of a row -> what makes its films.
        file: holds the clips to predict.
        protocol: what is asked.
        how: see `HowAndWhere`.

    Raises:
        ValueError: an unknown metric or part, more clips than there are, context and horizon longer than the clips, a
            reference without a train part or of other frames, a name that a trivial baseline has, or a prediction of
            another shape.
        TypeError: something of another kind than `HowAndWhere` says, or that it does not know.
    """
    other, fix = ", ".join(how.keys() - HowAndWhere.__optional_keys__), "say in the protocol what is asked"
    check.require_kind(not other, "how", f"be of {', '.join(sorted(HowAndWhere.__optional_keys__))}", other, fix)
    notes = check.as_names("notes", how.get("notes", ()), must="be texts in a list or tuple")
    shares = how.get("share", False)
    check.require_kind(isinstance(shares, bool), "share", "be True or False", repr(shares), "choose one of these")
    clips, batch_size = check_protocol(protocol, file), how.get("batch_size", 32)
    batch_size = check.whole_number("--batch-size", batch_size, 1, "give at least one clip at a time")
    reference = _reference(how.get("reference"), file, protocol)
    device = torch.device(how.get("device", "cpu"))
    measured_on = measuring_device(device)
    baselines = baselines_for(file, protocol.context, reference is not None)
    taken = ", ".join(name for name in predictions if name in BASELINES)
    check.require(not taken, "models", "have other names than the trivial baselines", taken, "choose another name")
    tally, varied = Tally(_metrics(protocol), protocol.samples), set[str]()
    segments = asks_for_masks(protocol.metrics) is not None
    together = sharing() if shares else nullcontext(Share())
    with together as share, torch.random.fork_rng(seeded_devices(device)):
        progress = how.get("progress", False) and share.writes
        statistics = None if reference is None else _statistics(reference, protocol, batch_size, share, progress)
        starts = share.of(range(0, clips, batch_size))
        for start, film in films(file, protocol.part, starts, clips, batch_size, progress):
            film = film[:, : protocol.context + protocol.horizon].to(measured_on)
            batch = Batch(file, protocol.part, start, film, protocol.context, protocol.one_step)
            for name, predict_batch in predictions.items():
                tally.add(name, batch, _samples(name, predict_batch, batch, protocol.samples, varied))
            for name, baseline in baselines.items():
                masks = baseline.segment(batch) if segments and baseline.segment else None
                tally.add(name, batch, [Predicted(baseline.draw(batch, statistics), masks)])
        found, varied = share.gather(tally.measured_here), set(share.gather(sorted(varied)))
    has_times = any(column.is_time for column in tally.columns.values())
    return Scores(
        measurements=tally.joined(found),
        metrics=tally.columns,
        file=str(file.path),
        fingerprint=file.fingerprint(),
        reference=None if reference is None else str(reference.path),
        protocol=protocol.model_copy(update={"clips": clips}),
        clips_in_part=file.parts[protocol.part],
        models=tuple(predictions),
        best_of=tally.curves(found, predictions),
        scenes=_scenes(file, protocol.part, clips),
        predictable=_predictable(file, protocol.part, clips) if has_times else None,
        notes=(
            *notes,
            *_note_on_reference(how.get("reference"), file),
            *notes_on_places(protocol.metrics, file, protocol.part),
            *_notes_on_samples(protocol, [name for name in predictions if name not in varied]),
        ),
    )


def _metrics(protocol: Protocol) -> dict[str, Quantity]:
    """The metrics asked for, with the settings asked for."""
    settings = read_metric_settings(protocol.metrics, protocol.metric_settings)
    metrics = {name: make_metric(name, settings.get(name)) for name in protocol.metrics}
    labels: dict[str, str] = {}
    for name, metric in metrics.items():
        other = labels.setdefault(metric.label, name)
        must = f"be another than that of {other}, as tables show it"
        check.require(other == name, f"metric {name}: label", must, repr(metric.label), "rename it there")
        if isinstance(metric, Kept):  # which measures so late that the training part would have been read in vain
            metric.check_horizon(protocol.horizon)
    return metrics


def _reference(given: ClipSource | None, file: ClipSource, protocol: Protocol) -> ClipSource | None:
    """The file whose training part calibrates: that given, else the judged one if it has such a part."""
    must, fix = "come with a --context of at least 1", "give one, or leave --reference out"
    check.require(given is None or protocol.context > 0, "--reference", must, protocol.context, fix)
    if given is None:
        return file if file.parts.get("train", 0) > 0 and not isinstance(file, GivenTruth) else None
    check_reference(given, file)
    return given


def _statistics(
    reference: ClipSource, protocol: Protocol, batch_size: int, share: Share, progress: bool
) -> TrainingStatistics:
    """What the rows that learn know of the training part."""
    clips = reference.parts["train"]
    statistics = TrainingStatistics(
        protocol.context, 1 if protocol.one_step else protocol.horizon, reference.film_shape
    )
    for _, film in films(reference, "train", share.of(range(0, clips, batch_size)), clips, batch_size, progress):
        statistics.update(film)
    statistics.add_up(share.total)
    return statistics


def _note_on_reference(given: ClipSource | None, file: ClipSource) -> list[str]:
    """That other clips than those of the judged file calibrate the trivial baselines, or none does."""
    if given is None and not isinstance(file, GivenTruth) and file.parts.get("train", 0) == 0:
        return [f"mean frame and copy last calibrated are left out, as {file.path} has no train part to learn from"]
    if given is None or given.fingerprint() == file.fingerprint():
        return []
    return [f"mean frame and copy last calibrated learned from {given.path}"]


def _notes_on_samples(protocol: Protocol, steady: Sequence[str]) -> list[str]:
    """That several samples of a clip are the same film in these rows."""
    if protocol.samples == 1 or not steady:
        return []
    fix = "" if protocol.feedback in ("sample", "elsewhere") else "; --feedback sample draws them"
    return [f"all samples of a clip are the same film in {', '.join(steady)}{fix}"]


def _scenes(file: ClipSource, part: str, clips: int) -> np.ndarray | None:
    """The scene that each of the first clips is a film of; None where each is of its own.

    In data of others a label of that name may be no whole number for each clip, and means something else.
    """
    if "labels/scene" not in file.truth:
        return None
    scenes = np.asarray(file.read(part, "labels/scene", 0, clips))
    numbered = scenes.ndim == 1 and scenes.dtype.kind in "iuf" and bool(np.isfinite(scenes).all())
    numbered = numbered and bool((scenes % 1 == 0).all())
    return scenes.astype(np.int64) if numbered and len(np.unique(scenes)) < clips else None


def _predictable(file: ClipSource, part: str, clips: int) -> int | None:
    """For how many frames a world can be predicted, from its first clips; None if its law is not known."""
    return frames_predictable(error_growth(file, part, min(clips, _PREDICTABLE))) if knows_physics(file) else None


def _samples(
    name: str, predict_batch: PredictBatch, batch: Batch, samples: int, varied: set[str]
) -> Iterator[Predicted]:
    """What a row predicts of a batch, sample by sample, where its truth is; rows whose samples differ get noted."""
    first = None
    for sample in range(samples):
        seed_sample(batch.start, sample)  # so that it matters not which process draws what else
        said = predict_batch(batch, sample)
        said = said if isinstance(said, Predicted) else Predicted(said)
        film = check_predicted(name, said.film).to(batch.film.device)
        first = film if first is None else first
        if not torch.equal(film, first):
            varied.add(name)
        yield said._replace(film=film)
