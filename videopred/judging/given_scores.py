"""Scores of films made elsewhere, which are held against the truth before they are scored."""

from collections.abc import Mapping, Sequence
from typing import Unpack

from torch import Tensor

from videopred import check
from videopred.amounts import counted
from videopred.datasets import open_dataset
from videopred.datasets.clip_source import ClipSource
from videopred.device import my_device, pick_device
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.frames import shape_told
from videopred.judging.batches import Batch, Predicted, read_film
from videopred.judging.fitting import check_protocol
from videopred.judging.given_files import is_data
from videopred.judging.given_films import GivenFilms, GivenTruth
from videopred.judging.given_masks import GivenMasks
from videopred.judging.own_masks import asks_for_masks
from videopred.judging.predicting import PredictBatch
from videopred.judging.scoring import HowAndWhere, judge_rows
from videopred.rollout import rollout_words


def evaluate_given(
    predicted: Mapping[str, GivenFilms],
    file: ClipSource,
    protocol: Protocol,
    masks: Mapping[str, GivenMasks] | None = None,
    **how: Unpack[HowAndWhere],
) -> Scores:
    """Scores of films made elsewhere; see `judge_rows`.

    Args:
        predicted: name of a row -> the frames that follow the context, of the clips to score, in their order.
        file: the truth: a data file, or a `GivenTruth`.
        protocol: what is asked; its feedback is `elsewhere`, or `true` of films made one step ahead.
        masks: the own masks of rows, of the same films.
        how: see `HowAndWhere`; the device is a name as for `pick_device`.

    Raises:
        ValueError: there are fewer films, they are shorter than the horizon, or of other frames than the truth's; a
            metric is of own masks and there are none, or the other way round.
    """
    notes = [*how.get("notes", ()), *hold_against(predicted, file, protocol)]
    masks = masks or {}
    _check_masks_are_asked_for(masks, protocol)
    how["notes"] = [*notes, *(f"own masks of {name}: those in {of.path}" for name, of in masks.items())]
    how["device"] = pick_device(my_device(str(how.get("device", "cpu"))))
    rows = {name: reading(films, protocol.horizon, masks.get(name)) for name, films in predicted.items()}
    return judge_rows(rows, file, protocol, **how)


def hold_against(predicted: Mapping[str, GivenFilms], file: ClipSource, protocol: Protocol) -> list[str]:
    """What should be known of films made elsewhere beside the truth, if they can be held against it.

    Args:
        predicted, file, protocol: as for `evaluate_given`.

    Raises:
        ValueError: there are fewer films, they are shorter than the horizon, or of other frames than the truth's.
    """
    true, notes = [file.given] if isinstance(file, GivenTruth) else [], []
    for films in predicted.values():
        _check_given(films, file, protocol)
        _check_beginning(films, file, protocol)
        notes += _notes_on_given(films, file, protocol)
    check_made_alike([*true, *predicted.values()])
    return [*notes, *(films.remark for films in true if films.remark)]


def reading(predicted: GivenFilms, horizon: int, masks: GivenMasks | None = None) -> PredictBatch:
    """The first frames of films made elsewhere as predictions of batches of clips."""

    def predict_batch(batch: Batch, sample: int) -> Predicted:
        of_batch = (batch.clips.start, batch.clips.stop, sample)
        own = None if masks is None else masks.read(*of_batch)[:, :horizon]
        return Predicted(predicted.read(*of_batch)[:, :horizon], own)

    return predict_batch


def _notes_on_given(predicted: GivenFilms, file: ClipSource, protocol: Protocol) -> list[str]:
    """What a reader of the scores should know of films made elsewhere."""
    notes = [predicted.remark] if predicted.remark else []
    if words := rollout_words(predicted.made):
        notes.append(f"{predicted.path} is of {' '.join(words)}")
    if predicted.frames > protocol.horizon:
        note = f"of the {predicted.frames} frames in {predicted.path}, the first {protocol.horizon} count"
        if predicted.frames > (following := file.frames - protocol.context):
            note += f"; {following} true ones follow the context, so look whether these begin where it ends"
        notes.append(note)
    if true := _true_at_first(predicted, file, protocol):
        note = f"the first {counted(true, 'frame')} of {predicted.path} equal the true ones"
        notes.append(f"{note}; if they are context, say --context {true}")
    return notes


def _check_given(predicted: GivenFilms, file: ClipSource, protocol: Protocol) -> None:
    """Refuse films that cannot be held against the truth as the protocol asks."""
    clips = check_protocol(protocol, file)
    flag, name = predicted.flag, predicted.path
    must, got = f"hold {protocol.samples} films of each clip", f"{predicted.samples} in {name}"
    fix = "say with an N in --axes which axis they are, or score it apart"
    check.require(predicted.samples == protocol.samples, flag, must, got, fix)
    must, got = f"hold the {counted(clips, 'clip')} asked for", f"{predicted.clips} in {name}"
    fewer = predicted.clips < clips
    fix = f"give --first {predicted.clips} for the first of the truth" if fewer else "leave the others out"
    check.require(predicted.clips == clips, flag, must, got, fix)
    must, got = f"hold the {protocol.horizon} frames of the horizon", f"{predicted.frames} in {name}"
    fix = f"predict as many as {protocol.name} asks for" if protocol.name else "give a shorter --horizon"
    if not protocol.name and protocol.horizon == file.frames:  # and so without context
        before = file.frames - predicted.frames
        fix = f"give --context {before} if so many true frames come before them, else a shorter --horizon"
    check.require(predicted.frames >= protocol.horizon, flag, must, got, fix)
    ours, theirs = predicted.film_shape, file.film_shape
    must, got = f"hold frames of {shape_told(theirs)} as the truth", f"{shape_told(ours)} in {name}"
    turned = sorted(ours) == sorted(theirs)
    fix = "say with --axes which axis is which" if turned else "predict frames of that size"
    check.require(ours == theirs, flag, must, got, fix)
    if not isinstance(file, GivenTruth):
        _check_made(predicted, file, protocol)
        return
    _check_names(predicted, file.given)
    if is_data(file.path):  # of which the frames alone were asked for
        _check_made(predicted, open_dataset(file.path), protocol)


def _check_masks_are_asked_for(masks: Mapping[str, GivenMasks], protocol: Protocol) -> None:
    """Refuse metrics of own masks without any, and masks that no metric asks for."""
    own, fix = asks_for_masks(protocol.metrics), "give them, or score a run"
    got = f"{own}, of a model's own masks"
    check.require(own is None or len(masks) > 0, "--metrics", "be of films without --pred-masks", got, fix)
    fix = "name e.g. own-fg-ari in --metrics"
    check.require(own is not None or not masks, "--pred-masks", "come with a metric of them", "none", fix)


def check_made_alike(films: Sequence[GivenFilms]) -> None:
    """Refuse films that `videopred rollout` wrote of other clips, or after another context, than the first of them."""
    made = [one for one in films if one.made]
    for one in made[1:]:
        for name in ("context", "part", "clips", "fingerprint"):
            said, theirs = one.made.get(name), made[0].made.get(name)
            must = f"be of the clips and the context of {made[0].path}"
            got = f"{one.path}, of other clips of {one.made.get('data')}"
            if name in ("context", "part"):
                got = f"{one.path}, of the {name} {said} in the place of {theirs}"
            check.require(said == theirs, one.flag, must, got, "give what it was rolled out on")


def _check_names(predicted: GivenFilms, true: GivenFilms) -> None:
    """Refuse films that are called as the true ones are, and stand in the place of others."""
    if predicted.is_array or true.is_array:
        return
    theirs = true.names
    for ours, other in zip(predicted.names, theirs, strict=False):
        got = f"{ours} of {predicted.path} against {other} of {true.path}"
        must, fix = "have the films of --true, in their order", "leave out, or rename, what has no counterpart"
        check.require(ours == other or ours not in theirs, predicted.flag, must, got, fix)


def _check_made(predicted: GivenFilms, file: ClipSource, protocol: Protocol) -> None:
    """Refuse what `videopred rollout` wrote after another context, or of other clips."""
    made, fix = predicted.made, "give what it was rolled out on"
    for name, asked in (("context", protocol.context), ("part", protocol.part)):
        said = made.get(name, asked)
        check.require(said == asked, f"--{name}", f"be {said}, as {predicted.path} says", asked, fix)
    same = "fingerprint" not in made or made["fingerprint"] == file.fingerprint()
    check.require(same, "DATA", f"hold the clips of {made.get('data')} that {predicted.path} is of", file.path, fix)


def _check_beginning(predicted: GivenFilms, file: ClipSource, protocol: Protocol) -> None:
    """Refuse films that begin with the context, not where it ends.

    One such clip says little: where nothing moves yet, a right one begins so, too. Nor do several if what follows is
    the same again, or if they are no longer than the horizon and all stand still.
    """
    context = min(protocol.context, predicted.frames)
    if context == 0:
        return
    some = min(predicted.clips, 8)
    film = read_film(file, protocol.part, 0, some)
    given, next_ = film[:, :context], film[:, protocol.context :][:, :context]
    stands = predicted.frames == protocol.horizon and _equal(given, given[:, -1:]).all()
    again = _equal(given[:, : next_.shape[1]], next_).all()
    same = _equal(predicted.read(0, some)[:, :context], given).all() and not stands and not again
    got = f"{predicted.path}, which begins with the {context} true ones before it"
    check.require(not same, predicted.flag, "begin with the first predicted frame", got, "cut these off")


def _true_at_first(predicted: GivenFilms, file: ClipSource, protocol: Protocol) -> int:
    """How many frames of some films without a context are the true ones, as those of whole clips are; 0 of all."""
    if protocol.context > 0:
        return 0
    some = min(predicted.clips, 8)
    ours, theirs = predicted.read(0, some), read_film(file, protocol.part, 0, some)
    equal = _equal(ours[:, : protocol.horizon], theirs[:, : protocol.horizon])
    return 0 if equal.all() else int(equal.int().cumprod(0).sum())


def _equal(ours: Tensor, theirs: Tensor) -> Tensor:
    """Which frames are equal in all clips, (T,) bool, but for what numbers of 16 bits or of other ranges round."""
    return ((ours.double() - theirs.double()).abs() < 0.5 / 255).all(0).flatten(1).all(1)
