"""Checks that a file, a protocol and a model fit together, before anything is computed."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from videopred import check, check_path
from videopred.checkpoint import DataRecord
from videopred.datasets import DATASETS, open_dataset
from videopred.datasets.advice import kept_clips
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.digits import read_digits
from videopred.datasets.settings import DatasetSettings, MovingMNISTConfig
from videopred.eval import find_metric
from videopred.eval.protocols import FREE, PROTOCOLS, Card
from videopred.eval.settings import Protocol
from videopred.frames import shape_told
from videopred.judging.given_films import GivenTruth
from videopred.judging.objects import check_truth
from videopred.models.predictor import Predictor, check_model


def check_protocol(protocol: Protocol, file: ClipSource) -> int:
    """The number of clips to score, if the file can answer the protocol.

    Raises:
        ValueError: there is no such metric or part, no metric, too few clips or frames, or a truth that a metric needs
            is not known.
        TypeError: a number of clips or frames that is not whole.
    """
    for name in protocol.metrics:
        find_metric("--metrics", name)
    named = len(protocol.metrics)
    check.require(named > 0, "--metrics", "name at least one", "none", "leave it out for the usual ones")
    there = check_part(protocol.part, file)
    check_frames(file, protocol.context, protocol.horizon)
    check_truth(protocol.metrics, file)
    clips = there if protocol.clips is None else protocol.clips
    check.whole_number("--first", clips, 1, "score at least one clip")
    must = f"be at most {there}, the clips of the {protocol.part} part"
    check.require(clips <= there, "--first", must, clips, "lower it, or leave it out for all")
    return clips


def check_frames(file: ClipSource, context: int, horizon: int) -> None:
    """Refuse a context and a horizon that the clips do not have; films made elsewhere need no context.

    Raises:
        ValueError: there are fewer frames, or none is asked for.
        TypeError: a number that is not whole.
    """
    if not isinstance(file, GivenTruth) or context != 0:
        file.check_rollout(context, horizon)
        return
    check.whole_number("--horizon", horizon, 1, "ask for at least one frame")
    must = f"be at most {file.frames}, the frames of --true"
    check.require(horizon <= file.frames, "--horizon", must, horizon, "lower it")


def check_opened(file: ClipSource, predictors: Iterable[object] = (), also: str = "") -> None:
    """Refuse what are no open clips and loaded models; the message says how to open them, see `check_model`."""
    _check_clips("file", file)
    for predictor in predictors:
        check_model(predictor, also)


def _check_clips(argument: str, clips: ClipSource) -> None:
    """Refuse what are no open clips."""
    must, fix = "be clips that are open", "give what videopred.open_dataset returns"
    check_path.not_a_path(argument, clips, must, "open_dataset")
    check.require_kind(hasattr(clips, "read_frames"), argument, must, type(clips).__name__, fix)


def check_names(models: Iterable[object], argument: str) -> None:
    """Refuse no models at all, and models whose names are no text, or empty."""
    names = list(models)
    check.require(len(names) > 0, argument, "hold at least one model", "none", "give one, or name several")
    fits = all(isinstance(name, str) for name in names)
    check.require_kind(fits, argument, "have text as names", names, "put quotes around them")
    check.require("" not in names, argument, "have names", names, "say what to call each")


def check_part(part: str, file: ClipSource) -> int:
    """The number of clips in a part of the file, if it is there.

    Raises:
        ValueError: it is not, or holds none.
    """
    return file.parts[check.one_of("--part", part, [name for name, clips in file.parts.items() if clips > 0])]


def check_fit(predictor: Predictor, file: ClipSource, name: str = "the model") -> None:
    """Refuse a file whose frames are not of the shape that a model was built for."""
    ours, theirs = predictor.film_shape, file.film_shape
    must = f"hold frames of {shape_told(ours)}, which {name} was built for"
    fix = "give a file like the one it was trained on, or train a model on this one"
    check.require(ours == theirs, str(file.path), must, shape_told(theirs), fix)


def check_reference(reference: ClipSource, file: ClipSource) -> None:
    """Refuse a reference that is not open, has no training part, or frames of another shape than the file."""
    _check_clips("reference", reference)
    parts = ", ".join(part for part, clips in reference.parts.items() if clips > 0) or "no clips"
    got = f"{reference.path} (which has {parts})"
    fix = "trivial baselines learn from such: name some by --reference, as long as context and horizon together"
    check.require(reference.parts.get("train", 0) > 0, "--reference", "have a train part", got, fix)
    ours, theirs = file.film_shape, reference.film_shape
    must = f"hold frames of {shape_told(ours)}, as {file.path} does"
    check.require(ours == theirs, "--reference", must, shape_told(theirs), "give a file of the same frames")


def check_card(name: str, file: ClipSource) -> tuple[str, ...]:
    """Refuse data that is not of a named protocol; notes for the reader if that cannot be checked fully.

    Files from elsewhere do not say how they were made: then only the size of frames is compared.

    Args:
        name: of the protocol, a key of PROTOCOLS.
        file: what is to be scored.

    Raises:
        ValueError: the data is of another recipe, or of other frames; the message names what differs.
    """
    card = PROTOCOLS[name]
    allowed = {preset: DATASETS[preset].recipe for preset in card.datasets}
    if file.recipe is None:
        shapes = {(recipe.channels, recipe.height, recipe.width) for recipe in allowed.values()}
        must = f"hold frames of {' or '.join(map(shape_told, sorted(shapes)))} for {name}"
        check.require(file.film_shape in shapes, "DATA", must, shape_told(file.film_shape), _other(card))
        return (f"{file.path.name} does not say how it was made: only the size of its frames was held against {name}",)
    worlds = {preset: recipe for preset, recipe in allowed.items() if type(recipe) is type(file.recipe)}
    differences = {preset: file.recipe.differing(recipe, FREE) for preset, recipe in worlds.items()}
    must, fix = f"be made as {', '.join(card.datasets)} for --protocol {name}", _other(card)
    world = f"{file.path}, where the world is {type(file.recipe).__name__.removesuffix('Config')}"
    check.require(len(worlds) > 0, "DATA", must, world, fix)
    nearest = min(differences, key=lambda preset: len(differences[preset]))
    ours, theirs = file.recipe, worlds[nearest]
    differing = [f"{one} is {getattr(ours, one)} for {getattr(theirs, one)}" for one in differences[nearest]]
    got = f"{file.path}, where {', '.join(differing)} ({nearest} differs least)"
    check.require(not differing, "DATA", must, got, fix)
    if getattr(file.recipe, "mnist_sha256", None) == read_digits().sha256:
        return (f"{file.path.name} shows the package's own digits, MNIST's test file; {name} is of the whole MNIST",)
    return ()


def trained_on(name: str, file: ClipSource, learned: Mapping[Path, DataRecord | None]) -> tuple[str, ...]:
    """Notes on runs that were trained on other data than a named protocol asks for.

    If the protocol says nothing about training, models are to be trained on the data that they are tested on. Of films
    that do not say how they were made, nothing is asked.

    Args:
        name: of the protocol, a key of PROTOCOLS.
        file: what they are tested on, as `check_card` allows.
        learned: run -> its data; None if not known. That of an experiment has -rnem behind the name of a preset. It is
            looked at if it is still there.
    """
    card, recipe = PROTOCOLS[name], file.recipe
    if recipe is None:
        return ()
    tested = [preset for preset in card.datasets if not recipe.differing(DATASETS[preset].recipe, FREE)]
    pairs = card.trained_on or tuple(zip(tested, tested, strict=True))
    wanted = list(dict.fromkeys(trained for trained, on in pairs if on in tested))
    notes = []
    for run, data in learned.items():
        called = data.name if data else ""
        known = tested if called == file.name else [called.removesuffix("-rnem")]
        other = f", where {name} asks for {' or '.join(wanted)}"
        seen = _recipe_of(data)
        if set(known).isdisjoint(wanted):
            notes.append(f"{run} was trained on {called or 'data of which nothing is known'}{other}")
        elif differing := _differing(seen, wanted):
            told = " and ".join(f"{setting} {getattr(seen, setting, 'unknown')}" for setting in differing)
            notes.append(f"{run} was trained on {called} with {told}{other}")
    return tuple(notes)


def shows_its_digits(file: ClipSource, part: str, data: DataRecord | None) -> bool:
    """Whether a part shows handwritten digits that a run learned from: those of the package are from MNIST's test file,
    which the whole MNIST tests with.

    Args:
        file: holds the part.
        part: train, validation or test.
        data: what the run learned from; it is looked at if it is still there.
    """
    learned, tested = _recipe_of(data), file.recipe
    if not (isinstance(learned, MovingMNISTConfig) and isinstance(tested, MovingMNISTConfig) and part == "test"):
        return False
    package = read_digits().sha256
    of_package_and_whole = learned.mnist_sha256 in (package, "") and tested.mnist_sha256 != package
    return of_package_and_whole and not set(learned.classes("train")).isdisjoint(tested.classes(part))


def _recipe_of(data: DataRecord | None) -> DatasetSettings | None:
    """The recipe of the clips that a run learned from; None if they are not where they were, or have none."""
    if data and data.path in DATASETS:  # made as they were needed
        return DATASETS[data.path].recipe
    clips = kept_clips(data.path) if data else None
    try:
        return open_dataset(clips).recipe if clips else None
    except (ValueError, OSError):  # something else lies there now
        return None


def _differing(learned: DatasetSettings | None, wanted: Sequence[str]) -> list[str]:
    """Settings in which a recipe differs from that preset among those wanted which it is most like."""
    return [] if learned is None else min((learned.differing(DATASETS[one].recipe, FREE) for one in wanted), key=len)


def _other(card: Card) -> str:
    return f"make it with `videopred generate {card.datasets[0]}`, or give --context and --horizon and no --protocol"
