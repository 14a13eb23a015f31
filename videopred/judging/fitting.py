"""Whether a file, a protocol and a model go together; what does not is refused before anything is computed."""

from typing import TYPE_CHECKING

from videopred import check
from videopred.eval import METRICS, OBJECT_METRICS
from videopred.eval.settings import Protocol
from videopred.judging.objects import check_truth

if TYPE_CHECKING:
    from videopred.datasets.source import ClipSource
    from videopred.models.predictor import Predictor


def check_protocol(protocol: Protocol, file: "ClipSource") -> int:
    """The number of clips to score, if the file can answer the protocol."""
    for name in protocol.metrics:
        check.one_of("--metrics", name, [*METRICS, *OBJECT_METRICS])
    named = len(protocol.metrics)
    check.require(named > 0, "--metrics", "name at least one", "none", "leave it away for the usual ones")
    there = check_part(protocol.part, file)
    check.context_and_horizon(protocol.context, protocol.horizon, file.frames)
    check_truth(protocol.metrics, file, protocol.context)
    clips = there if protocol.clips is None else protocol.clips
    check.whole_number("--first", clips, 1, "score at least one clip")
    must = f"be at most {there}, the clips of the {protocol.part} part"
    check.require(clips <= there, "--first", must, clips, "lower it, or leave it away for all")
    return clips


def check_part(part: str, file: "ClipSource") -> int:
    """The number of clips in a part of the file, if it is there."""
    return file.parts[check.one_of("--part", part, [name for name, clips in file.parts.items() if clips > 0])]


def check_fit(predictor: "Predictor", file: "ClipSource") -> None:
    """Refuse a file whose frames are not of the shape that the model was built for."""
    ours, theirs = tuple(predictor.film_shape), film_shape(file)
    must = f"hold frames of {_written(ours)}, which the model was built for"
    fix = "give a file like the one it was trained on, or train a model on this one"
    check.require(ours == theirs, str(file.path), must, _written(theirs), fix)


def check_reference(reference: "ClipSource", file: "ClipSource") -> None:
    """Refuse a file that cannot say what the training part looks like."""
    parts = ", ".join(part for part, clips in reference.parts.items() if clips > 0) or "no clips"
    got = f"{reference.path} (which has {parts})"
    fix = "give with --reference the file that the model was trained on"
    check.require(reference.parts.get("train", 0) > 0, "--reference", "have a train part", got, fix)
    ours, theirs = film_shape(file), film_shape(reference)
    must = f"hold frames of {_written(ours)}, as {file.path} does"
    check.require(ours == theirs, "--reference", must, _written(theirs), "give a file of the same frames")


def film_shape(file: "ClipSource") -> tuple[int, int, int]:
    """Channels, height and width of a file's frames."""
    return file.channels, file.height, file.width


def _written(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) + " (channels x height x width)"
