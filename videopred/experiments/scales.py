"""The scales of an experiment: as published, small enough for a laptop, tiny enough for a test. Light.

A scale changes sizes and lengths together; `changes` says what it changed, so that nobody takes one for another.
"""

import math
from collections.abc import Mapping
from typing import Any, get_args

from videopred import check
from videopred.datasets.one_ball_settings import OneBallSettings
from videopred.datasets.settings import BallsConfig, MovingMNISTConfig, OcclusionConfig
from videopred.experiments.settings import ExperimentConfig, Scale
from videopred.models.codec_settings import DecoderConfig, RNEMConfig, SharedConfig
from videopred.models.own_settings import OwnPart
from videopred.models.settings import PredictorConfig
from videopred.settings import TrainingConfig

SCALES = get_args(Scale)

SMALL_SIDE = 24
SMALL_CLIPS = {"train": 2000, "validation": 200, "test": 200}
SMALL_CODEC: dict[str, Any] = {"channels": (8, 16, 32), "embedding": 128}
SMALL_TRAINING: dict[str, Any] = {
    "updates": 700,
    "batch_size": 16,
    "learning_rate": 3e-3,
    "schedule": "cosine",
    "clip_norm": 0.05,
    "free_running": 20,
    "grow_over": 350,
    "window": None,
    "validate_every": 100,
}
"""So few updates of the smallest of the papers' step sizes, 0.0001, would hardly move the weights. And the papers'
teacher forcing does not teach in so few updates what to do with one's own predictions, so the last frames of a clip are
learned from these. Windows would leave out what lies beyond their length (docs/results.md)."""
SMALL_ONE_BALL = 45
"""Own frames where one ball moves, one fewer than are then predicted: with them, models follow it to the end. On four
balls, models lose by so many or gain little (docs/results.md)."""
SMALL_CORES: dict[str, dict[str, Any]] = {"scoff": {"comm_gate": True, "start": "learned"}}
SMALL_DECODERS: dict[str, DecoderConfig] = {"scoff": SharedConfig()}
SMALL_STEPS = {"scoff": 1e-3}
"""Kind of core -> what is set in it, its decoder, and its step size where that of all others is too large. What SCOFF's
files hear is added to their states at every frame, so without gates these can grow until they are no numbers. And where
no file has anything of its own, or steps are large, SCOFF predicts the mean frame for so long that it learns nothing
else in so few updates (docs/results.md)."""

TINY_HEIGHT, TINY_WIDTH = 24, 32
TINY_CLIPS = {"train": 12, "validation": 4, "test": 12}
TINY_TRAINING: dict[str, Any] = {"updates": 1, "batch_size": 4, "validate_every": 1}
_COMM = {"comm_heads": 2, "comm_key": 4, "comm_value": 3}
TINY_CORES: dict[str, dict[str, Any]] = {
    "gru": {"units": 5},
    "lstm": {"units": 6},
    "rmc": {"rows": 3, "heads": 2, "head_size": 5},
    "rims": {"units": 5, "input_key": 7, **_COMM},
    "brims": {"units": (5, 6), "input_key": 7, **_COMM},
    "scoff": {"units": 5, "input_key": 7, "input_value": 3, **_COMM},
}
"""Kind of core -> what is small in it; a core without a line stays as it is. Modules, files and schemata stay."""


def at_scale(experiment: ExperimentConfig, scale: Scale) -> ExperimentConfig:
    """The experiment at a scale; `paper` is as it stands.

    small: frames of 24 x 24 px, 2000 clips, a narrower codec, and 700 updates of 16 whole clips, with a larger step and
    the last 20 frames, or of one ball 45, from the model's own predictions. The core stays, but that SCOFF's messages
    are gated, its files have a first state each that is learned, and the decoder gets their states side by side.
    tiny: clips of 12 frames (30 where fewer make no sense) of 24 x 32 px, one update, and a core of a few units.

    Raises:
        ValueError: no such scale, or a recipe that cannot be made so small.
    """
    check.one_of("--scale", scale, SCALES)
    if scale == "paper":
        return experiment
    tiny = scale == "tiny"
    recipe = experiment.recipe
    frames = min(recipe.frames, 30 if isinstance(recipe, OcclusionConfig) else 12) if tiny else recipe.frames
    height, width = (TINY_HEIGHT, TINY_WIDTH) if tiny else (SMALL_SIDE, SMALL_SIDE)
    return experiment.model_copy(
        update={
            "data": f"{experiment.data}-{scale}",
            "recipe": shrunk(recipe, frames, height, width),
            "clips": {part: (TINY_CLIPS if tiny else SMALL_CLIPS)[part] for part in experiment.clips},
            "model": _tiny_model(experiment.model) if tiny else _small_model(experiment.model),
            "training": shortened(experiment.training, TINY_TRAINING if tiny else _small_training(experiment), frames),
        }
    )


def shortened(training: TrainingConfig, changes: Mapping[str, Any], frames: int) -> TrainingConfig:
    """Learning with other updates and batches; all that is counted in updates, pieces or frames scales with them.

    Args:
        training: as it stands.
        changes: what is set, with `updates` and `batch_size`; settings that a new schedule has no use for go.
        frames: of a clip.
    """
    values: dict[str, Any] = training.model_dump() | dict(changes)
    share = values["updates"] / training.updates
    for name in _IN_UPDATES:
        if values[name] is not None and name not in changes:
            values[name] = max(1, round(values[name] * share))
    values["accumulate"] = math.gcd(values["accumulate"], values["batch_size"])
    values["window"] = None if values["window"] is None else min(values["window"], frames)
    values["free_running"] = min(values["free_running"], (values["window"] or frames) - 2)
    if values["schedule"] != training.schedule:
        values |= {"decay": None, "decay_every": None, "patience": None}
        values["improvement"] = values["improvement"] if values["stop_after"] else None
    if not values["free_running"]:
        values["grow_over"] = None
    return TrainingConfig(**values)


_IN_UPDATES = ("decay_every", "grow_over", "sampling_over", "save_every", "keep_every")


def shrunk(recipe: Any, frames: int, height: int, width: int) -> Any:
    """A recipe with shorter clips of smaller frames; all that is measured in pixels shrinks with them."""
    share = height / recipe.height
    values: dict[str, Any] = recipe.model_dump() | {"frames": frames, "height": height, "width": width}
    if isinstance(recipe, BallsConfig):
        values["curtain"] = tuple(round(side * share) for side in recipe.curtain)
    if isinstance(recipe, MovingMNISTConfig):
        values |= {"digit_size": round(recipe.digit_size * share), "speed": float(max(1, round(recipe.speed * share)))}
    return type(recipe)(**values)


def _small_model(model: PredictorConfig) -> PredictorConfig:
    """The core behind a narrower codec, as far as it is one of R-NEM's kind."""
    core = model.core.changed(**SMALL_CORES.get(model.core.kind, {}))
    codec = model.codec.model_copy(update=SMALL_CODEC) if isinstance(model.codec, RNEMConfig) else model.codec
    decoder = SMALL_DECODERS.get(model.core.kind, model.decoder)
    return model.model_copy(update={"core": core, "codec": codec, "decoder": decoder})


def _small_training(experiment: ExperimentConfig) -> dict[str, Any]:
    kind, one_ball = experiment.model.core.kind, isinstance(experiment.recipe, OneBallSettings)
    steps = {"learning_rate": SMALL_STEPS[kind]} if kind in SMALL_STEPS else {}
    return SMALL_TRAINING | steps | ({"free_running": SMALL_ONE_BALL} if one_ball else {})


def _tiny_model(model: PredictorConfig) -> PredictorConfig:
    core = model.core.changed(**TINY_CORES.get(model.core.kind, {}))
    codec = model.codec if isinstance(model.codec, OwnPart) else RNEMConfig(channels=(2, 3), embedding=11)
    return PredictorConfig(core=core, codec=codec, decoder=model.decoder, stack=model.stack)


def changes(before: ExperimentConfig, after: ExperimentConfig) -> dict[str, tuple[Any, Any]]:
    """Setting -> (before, after), of all that differ in recipe, clips, model and learning; None is no such setting."""
    old, new = _flat(before), _flat(after)
    names = dict.fromkeys([*old, *new])
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def _flat(experiment: ExperimentConfig) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "recipe": experiment.recipe,
        "clips": experiment.clips,
        "core": experiment.model.core,
        "codec": experiment.model.codec,
        "decoder": experiment.model.decoder,
        "model": {"stack": experiment.model.stack},
        "training": experiment.training,
    }
    return {f"{part}.{name}": value for part, values in parts.items() for name, value in dict(values).items()}
