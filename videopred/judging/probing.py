"""What can be read from the states that `rollout --trace` kept: places, velocities, labels and modes."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from videopred import check, check_path
from videopred.datasets.clip_source import ClipSource
from videopred.eval.information import mutual_information, patterns, purity
from videopred.eval.probe import from_left_to_right, in_random_order, probe_labels, probe_places
from videopred.files import whole_npz
from videopred.rollout import made_in, rollout_words

Probe = Callable[[np.ndarray, np.ndarray], Any]
"""(states (B, T, D), truth (B, T, …)) -> a PlaceProbe or LabelProbe."""
_MOST_KINDS = 50
"""A label with more values than this is a number, not a label."""
_MOVING = ("positions", "velocities")
_KNOWN = (*_MOVING, "visibility/fraction")
_SCENE = "truth/labels/scene"
_SHUFFLES = 20
"""How often labels are shuffled to see what choices tell about them by chance."""


def known_of(file: ClipSource, part: str, clips: Sequence[int], frames: int) -> dict[str, np.ndarray]:
    """What a file knows of some clips that could be read from states: name -> (B, frames, …), or (B, …) of labels."""
    names = [name for name in file.truth if name in _KNOWN or name.startswith(("series/", "labels/"))]
    known = {name: np.concatenate([file.read(part, name, clip, clip + 1) for clip in clips]) for name in names}
    return {name: values if name.startswith("labels/") else values[:, :frames] for name, values in known.items()}


def probe_trace(path: Path | str) -> dict[str, Any]:
    """What can be read linearly from a rollout's states, and what its discrete choices tell.

    Taken over the steps from the last observed frame on. At each, the state has read a frame: places and velocities are
    those of the next one, which it predicts, objects from left to right by their places; labels and series are those of
    the frame. Maps are fitted on a random half of the scenes, or of the clips where there are none, and scored on the
    other. The halves are the same each time.

    Args:
        path: what `videopred rollout --trace` wrote.

    Returns:
        `of`, the run, with the words by which its rollout is not the usual one; `clips`, `steps`, `modules`;
        `positions`, `velocities`, and each label and series of few whole values: what is read from all modules
        together, and `modules`, from each alone; under the name of each layer of a stack, the same of its states; under
        each discrete trace, such as `schema`, for each label its `nmi` and `purity`, of all modules' choices together,
        the same by chance, and the `nmi` of each module's; under `usage`, for `active` of how many steps each module
        was, and for `schema` the share of each in all choices; under `attention`, the mean share of each module's that
        went to the null slot, and to the layer above.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no states, or none after its context, states that are not finite, a single clip or scene,
            or neither a truth that could be read from states, nor usage or attention.
    """
    fix = "make it with `videopred rollout RUN DATA --trace FILE`"
    path = check_path.existing_file("TRACE", Path(path), fix)
    with whole_npz("TRACE", path, fix), np.load(path) as arrays:
        kept = dict(arrays)
    sound = {"states", "context"} <= set(kept)
    got, must = f"{', '.join(kept) or 'nothing'} in {path}", "hold states (B, T, K, D) and the number of their context"
    check.require_sound(sound, "TRACE", must, got, fix)
    states, context = kept["states"], kept["context"]
    sound = (states.ndim, states.dtype.kind, context.ndim, context.dtype.kind) == (4, "f", 0, "i")
    got = f"states {states.shape} {states.dtype} and context {context.shape} {context.dtype} in {path}"
    check.require_sound(sound, "TRACE", must, got, fix)
    first = int(context) - 1
    states = states[:, first:]
    clips, steps, modules = states.shape[:3]
    got = f"{kept['states'].shape[1]} steps of which {first + 1} are context in {path}"
    check.require_sound(steps > 0, "TRACE", "hold steps after the context", got, fix)
    check.require(bool(np.isfinite(states).all()), "TRACE", "hold finite states", f"others in {path}", "train again")
    words = rollout_words(made_in(kept))
    report: dict[str, Any] = {"of": " ".join(words)} if words else {}
    report |= {"clips": clips, "steps": steps, "modules": modules}
    fix = "roll out more, by a higher --first or of data that has more"
    check.require(clips > 1, "TRACE", "hold two clips at least", clips, fix)
    scenes = _scenes(kept, clips)
    moving = {name: kept[f"truth/{name}"][:, first + 1 :] for name in _MOVING if f"truth/{name}" in kept}
    kinds = _kinds(kept, first, steps)
    report |= _read(states, moving, kinds, scenes)
    for name, of_layer in kept.items():
        if re.fullmatch(r"trace/layer\d+\.states", name) and (of_layer.ndim, of_layer.dtype.kind) == (4, "f"):
            read = _read(of_layer[:, first:], moving, kinds, scenes)
            report |= {name.removeprefix("trace/").removesuffix(".states"): read} if read else {}
    discrete = {name: of for name, of in kept.items() if name.startswith("trace/") and _is_discrete(of)}
    for name, choices in discrete.items():
        if kinds:
            told = {kind: _told(choices[:, first:].astype(int), labels, scenes) for kind, labels in kinds.items()}
            report[name.removeprefix("trace/")] = told
    used = {name: choices for name, choices in discrete.items() if re.search(r"[/.](active|schema)$", name)}
    if used:
        report["usage"] = {
            name.removeprefix("trace/"): _usage(choices[:, first:], kept.get(f"{name}_weights"))
            for name, choices in used.items()
        }
    shares = {name: of for name, of in kept.items() if re.search(r"[/.](null_attention|top_down)$", name)}
    if shares:
        report["attention"] = {
            name.removeprefix("trace/"): list(map(_number, share[:, first:].mean((0, 1))))
            for name, share in shares.items()
        }
    must, fix = "hold positions, or labels that differ", "roll out clips of `videopred generate`, or more of them"
    lacking = {"positions", "usage", "attention", *kinds}.isdisjoint(report)
    check.require(not lacking, "TRACE", must, f"none in {path}", fix)
    return report


def _number(value: float) -> float | None:
    """The value for JSON, which knows no NaN; a zero has no sign."""
    return round(float(value), 4) + 0.0 if np.isfinite(value) else None


def _from_all_and_each(states: np.ndarray, truth: np.ndarray, probe: Probe, key: str) -> dict[str, Any]:
    """What a probe reads from all modules (B, T, K, D) side by side, and, of one key, from each alone."""
    each = [getattr(probe(states[:, :, module], truth), key) for module in range(states.shape[2])]
    together = probe(states.reshape(*states.shape[:2], -1), truth)._asdict()
    return {name: _number(value) for name, value in together.items()} | {"modules": [_number(value) for value in each]}


def _read(
    states: np.ndarray, moving: dict[str, np.ndarray], kinds: dict[str, np.ndarray], scenes: np.ndarray
) -> dict[str, Any]:
    """What is read from states (B, T, K, D) of places and velocities, if places are known, and of labels."""
    read = {}
    if "positions" in moving:
        places = moving["positions"]
        read = {name: _read_moving(name, states, values, places, scenes) for name, values in moving.items()}
    for name, labels in kinds.items():
        read[name] = _from_all_and_each(states, labels, partial(probe_labels, scenes=scenes), "accuracy")
    return read


def _read_moving(
    name: str, states: np.ndarray, values: np.ndarray, places: np.ndarray, scenes: np.ndarray
) -> dict[str, Any]:
    """What a probe reads of the places or velocities of objects, which are told apart by their places."""
    read = _from_all_and_each(states, from_left_to_right(places, values), partial(probe_places, scenes=scenes), "r2")
    unit = "px_per_frame" if name == "velocities" else "px"
    return {key.replace("px", unit): value for key, value in read.items()}


def _scenes(kept: dict[str, np.ndarray], clips: int) -> np.ndarray:
    """(B,) the scene that each clip is of; where there are none, each clip is one of its own."""
    scenes = kept.get(_SCENE, np.arange(clips))
    fix = "roll out more clips with --first, since films of one scene are alike"
    check.require(len(np.unique(scenes)) > 1, "TRACE", "hold clips of two scenes at least", "1", fix)
    return scenes


def _kinds(kept: dict[str, np.ndarray], first: int, steps: int) -> dict[str, np.ndarray]:
    """Labels (B, T) of each step: what the file knows that has a few whole values, and more than one.

    The number of a scene is none: no scene that is scored was fitted.
    """
    kinds = {}
    for name, values in kept.items():
        if name.startswith("truth/labels/") and name != _SCENE and values.ndim == 1:
            values = np.repeat(values[:, None], steps, axis=1)
        elif name.startswith("truth/series/") and values.ndim == 2:
            values = values[:, first : first + steps]
        else:
            continue
        if values.dtype.kind in "biu" and 1 < len(np.unique(values)) <= _MOST_KINDS:
            kinds[name.removeprefix("truth/")] = values.astype(int)
    return kinds


def _is_discrete(values: np.ndarray) -> bool:
    """Whether values of a trace are choices of modules, (B, T, K), or whether these are active."""
    return values.dtype.kind in "biu" and values.ndim == 3


def _usage(choices: np.ndarray, weights: np.ndarray | None) -> list[float | None]:
    """The share of steps at which each module is active, or that of each number in the choices of all, −1 being none.

    Args:
        choices: (B, T, K) bool, or whole numbers.
        weights: (B, T, K, S) of all that there are to choose among, if that is known.
    """
    if choices.dtype == bool:
        return list(map(_number, choices.mean((0, 1))))
    counts = np.bincount(choices[choices >= 0], minlength=0 if weights is None else weights.shape[-1])
    return list(map(_number, counts / max(1, counts.sum())))


def _told(choices: np.ndarray, labels: np.ndarray, scenes: np.ndarray) -> dict[str, Any]:
    """What choices (B, T, K) of modules tell about labels (B, T); and by chance, once scenes have those of others.

    Whole scenes, since clips of a scene are alike; in a random order, since scenes that are near may have equal labels.
    """
    by_scene, chance = np.argsort(scenes, kind="stable"), np.random.default_rng(0)
    choices, labels, scenes = choices[by_scene], labels[by_scene], scenes[by_scene]
    orders = [np.argsort(in_random_order(scenes, chance), kind="stable") for _ in range(_SHUFFLES)]
    others = [labels[order].ravel() for order in orders]
    modules, truth = choices.reshape(-1, choices.shape[-1]), labels.ravel()
    together = patterns(modules)
    return {
        "nmi": _number(mutual_information(together, truth)),
        "nmi_by_chance": _number(fmean(mutual_information(together, other) for other in others)),
        "purity": _number(purity(together, truth)),
        "purity_by_chance": _number(fmean(purity(together, other) for other in others)),
        "modules": [_number(mutual_information(module, truth)) for module in modules.T],
    }
