"""What all settings share, and the settings of learning.

One settings class is at once the flags, the help text, the saved JSON and the Python API.
"""

import re
from collections.abc import Container, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    field_validator,
    model_validator,
)
from tyro.conf import arg

from videopred import check
from videopred.explaining import explain

Part = Literal["train", "validation", "test"]
"""A part of a data set."""

LOSSES = ("bce", "mse", "gaussian")
"""The losses of training, see `videopred.training.losses`."""

NO_DEFAULT_SHOWN = arg(help_behavior_hint="")
"""For flags whose default is none: what happens then is in the words of their help."""


def _switch_hint(default: str) -> str:
    """What help says of a switch's default: the flag of one that is on is called --no-..., and turns it off."""
    return "(default: on; this flag turns it off)" if default == "True" else f"(default: {default})"


class Settings(BaseModel):
    """Frozen, strict settings: unknown keys are refused, nothing is cast (but a list or an array is taken for a tuple,
    and NumPy's numbers for Python's), and a changed copy is a new object.

    Raises:
        ValueError: a setting is unknown or out of range; one line that names it.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        use_attribute_docstrings=True,
        allow_inf_nan=False,
    )

    flag_prefix: ClassVar[str] = "--"
    """What the names of these settings begin with on the command line."""

    @property
    def unused(self) -> dict[str, str]:
        """Settings that change nothing beside others -> what these are, as they are typed, such as `--core.no-comm`."""
        return {}

    @classmethod
    def check_defaults(cls, argument: str) -> None:
        """Refuse a class of a user's own settings with a field that has no default.

        Raises:
            ValueError: names all.
        """
        lacking = ", ".join(name for name, field in cls.model_fields.items() if field.is_required())
        fix = "give it one, as settings are made before their values are read"
        check.require(not lacking, argument, "have a default for every field", f"none for {lacking}", fix)

    def check_used(self, names: Container[str]) -> None:
        """Refuse that settings of these names were given, whatever their value, if they change nothing beside others.

        Raises:
            ValueError: names the first.
        """
        for name, beside in self.unused.items():
            flag = self.flag_prefix + check.flag(name).removeprefix("--")
            must, got = f"be left out with {beside}", getattr(self, name)
            got = check.as_typed(got) if isinstance(got, tuple) else got
            check.require(name not in names, flag, must, got, "it changes nothing beside that")

    @classmethod
    def __pydantic_init_subclass__(cls, **settings: Any) -> None:
        for field in cls.model_fields.values():
            if field.description:  # help would break lines where the source does
                field.description = " ".join(field.description.split())
        for name, kind in cls.__annotations__.items():  # tyro reads these, for help
            if kind in (bool, "bool"):
                cls.__annotations__[name] = Annotated[bool, arg(help_behavior_hint=_switch_hint)]
            elif name in cls.model_fields and cls.model_fields[name].default in (None, ()):
                cls.__annotations__[name] = Annotated[kind, NO_DEFAULT_SHOWN]
        told = [f"{name}: {field.description}" for name, field in cls.model_fields.items() if field.description]
        doc = (cls.__doc__ or "").rstrip()
        if told and "Attributes:" not in doc:  # which help() and notebooks show
            lines = "\n".join(f"        {line}" for line in told)
            cls.__doc__ = f"{doc}\n\n    Attributes:\n{lines}\n    "

    def __init__(self, **values: Any) -> None:
        """Settings from their values by name; what is wrong raises a ValueError in one line."""
        # JSON knows lists only, and pydantic sends JSON through here as well.
        values = {name: _plain(value) for name, value in values.items()}
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ValueError(explain(error, self.flag_prefix, type(self).model_fields)) from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The same settings but for some values, checked anew, as pydantic does not."""
        kept = {name: getattr(self, name) for name in self.model_fields_set}
        copy = type(self)(**{**kept, **(update or {})})
        return deepcopy(copy) if deep else copy

    if not TYPE_CHECKING:  # else type checkers believe that any name can be set

        def __setattr__(self, name: str, value: Any) -> None:
            if not name.startswith("_"):  # which are pydantic's own
                fix = f"take a copy with another value: settings.model_copy(update={{{name!r}: …}})"
                raise AttributeError(check.complaint(name, "stay as it is", repr(value), fix))
            super().__setattr__(name, value)


def _plain(value: Any) -> Any:
    """The value with every list or array in it as a tuple, and every number of NumPy or torch as one of Python."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def check_range(argument: str, range_: tuple[float, float] | None) -> None:
    """Refuse numbers that cannot mean black and white."""
    if range_ is not None:
        low, high = range_
        must, fix = "be two numbers, black first", f"write e.g. {argument} 0 1, or {argument} -1 1"
        check.require(low < high, argument, must, f"{low:g} {high:g}", fix)


class TrainingConfig(Settings):
    """How a predictor is trained, with Adam, to predict the next frame. This determines the numbers of a run."""

    updates: Annotated[PositiveInt, Field(le=10**12)] = 5000
    """Number of optimiser steps."""
    batch_size: PositiveInt = 64
    """Clips per update, over all devices and pieces together."""
    accumulate: PositiveInt = 1
    """Pieces that the clips of an update are split into (gradient accumulation): less memory, the same gradient
    but for what dropout, noise and sampling draw."""
    window: Annotated[int, Field(ge=2)] | None = None
    """Consecutive frames of a clip, at least 2, from which an update learns, from a random start; default: all."""
    loss: str = "bce"
    """Binary cross-entropy from logits (bce), squared error (mse), likelihood of a Gaussian around the predicted
    intensity (gaussian), or MODULE:FUNCTION, which takes logits and frames (N, C, H, W) and returns the loss of each
    value."""
    deviation: PositiveFloat | None = None
    """Standard deviation of --loss gaussian, of intensities in [0, 1]; default: 0.1."""
    reduction: Literal["mean", "sum"] = "mean"
    """Whether the loss is a mean over the pixels of a frame or, as in R-NEM, a sum; either way a mean over frames."""
    learning_rate: PositiveFloat = 7e-4
    """Learning rate of Adam (RIMs paper, D.4)."""
    schedule: Literal["constant", "cosine", "step", "plateau"] = "constant"
    """Learning rate over time: constant; cosine, down to 0 after a warm-up of a twentieth of the updates; step, lower
    every so many updates; or plateau, lower when the validation loss stops falling (RIMs paper, D.5)."""
    decay: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Factor in (0, 1) by which --schedule step and plateau lower the learning rate; default: 0.5."""
    decay_every: PositiveInt | None = None
    """Updates from one decay of --schedule step to the next."""
    patience: PositiveInt | None = None
    """Validations in a row without a lower loss before --schedule plateau decays; default: 5."""
    stop_after: PositiveInt | None = None
    """Validations in a row without a lower loss after which training stops; default: never."""
    improvement: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Share in [0, 1) by which a loss must be lower to count for --schedule plateau and --stop-after; default: 0."""
    clip_norm: PositiveFloat | None = 0.1
    """Largest norm of the whole gradient; a larger one is scaled down to it. None: no clipping."""
    free_running: NonNegativeInt = 0
    """Frames at the end of each clip, or window, predicted from the model's own predictions; 0 is teacher forcing."""
    grow_over: PositiveInt | None = None
    """Updates over which --free-running grows from 0 to its full length; default: full length from the start."""
    sampling: Literal["none", "linear", "exponential", "sigmoid"] = "none"
    """Scheduled sampling (Bengio et al. 2015): how the probability of feeding back a prediction grows over time."""
    sampling_share: Annotated[float, Field(gt=0, le=1)] | None = None
    """The probability in (0, 1] that --sampling grows towards; default: 1."""
    sampling_over: PositiveInt | None = None
    """Updates over which --sampling grows; default: all."""
    noise: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share in [0, 1) of the input values that are flipped between dark and bright in training (R-NEM: 0.2)."""
    precision: Literal["32-true", "bf16-mixed", "16-mixed", "bf16-true", "64-true"] = "32-true"
    """Precision of weights and arithmetic, as Lightning names it; mixed keeps the weights in 32 bits."""
    validate_every: PositiveInt = 250
    """Updates between validations; each of them may save the best checkpoint."""
    validation_share: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Share in (0, 1) of the training clips, the last ones, held out for validation if DATA has no such part; default:
    0.1."""
    validation_clips: PositiveInt | None = None
    """Validation clips to make when DATA is a preset or a recipe; default: 200."""
    save_every: PositiveInt | None = None
    """Updates between checkpoints to resume from, besides those at each validation; default: no others."""
    keep_every: PositiveInt | None = None
    """Updates between checkpoints that are kept for good; default: only the best and the last two are kept."""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0
    """Random seed of the initial weights, the order of clips and all noise; of the clips too when DATA is a recipe."""

    @property
    def has_own_loss(self) -> bool:
        """Whether its loss is a function of somebody's own."""
        return ":" in self.loss

    @property
    def loss_name(self) -> str:
        """What its loss is called in logs; of one's own, the name of the function."""
        return self.loss.rpartition(":")[2]

    @property
    def gaussian_deviation(self) -> float:
        """`deviation`, or what None stands for."""
        return 0.1 if self.deviation is None else self.deviation

    @property
    def decay_factor(self) -> float:
        """`decay`, or what None stands for."""
        return 0.5 if self.decay is None else self.decay

    @property
    def plateau_patience(self) -> int:
        """`patience`, or what None stands for."""
        return 5 if self.patience is None else self.patience

    @property
    def share_held_out(self) -> float:
        """`validation_share`, or what None stands for."""
        return 0.1 if self.validation_share is None else self.validation_share

    @property
    def validation_clips_made(self) -> int:
        """`validation_clips`, or what None stands for."""
        return 200 if self.validation_clips is None else self.validation_clips

    @field_validator("loss")
    @classmethod
    def _is_known_or_own(cls, loss: str) -> str:
        own = re.fullmatch(r"\w+(\.\w+)*:\w+", loss) is not None
        return loss if own else check.one_of("--loss", loss, [*LOSSES, "MODULE:FUNCTION"])

    @model_validator(mode="after")
    def _settings_agree(self) -> "TrainingConfig":
        usable = self.learning_rate <= 1e36  # Adam's first step is ten times that, in 32 bits
        check.require(usable, "--learning-rate", "be at most 1e36", self.learning_rate, "lower it")
        plateau, judged = self.schedule == "plateau", self.schedule == "plateau" or self.stop_after is not None
        for name, used, with_what in (
            ("deviation", self.loss == "gaussian", "--loss gaussian"),
            ("decay", self.schedule in ("step", "plateau"), "--schedule step or plateau"),
            ("decay_every", self.schedule == "step", "--schedule step"),
            ("patience", plateau, "--schedule plateau"),
            ("improvement", judged, "--schedule plateau or --stop-after"),
            ("grow_over", self.free_running > 0, "--free-running"),
            ("sampling_share", self.sampling != "none", "--sampling"),
            ("sampling_over", self.sampling != "none", "--sampling"),
        ):
            flag, value = check.flag(name), getattr(self, name)
            fix = f"leave it out, or give {flag} None"  # which takes away what an experiment says
            check.require(value is None or used, flag, f"come with {with_what}", f"{value} without", fix)
        missing = self.schedule == "step" and self.decay_every is None
        fix = "say after how many updates the learning rate falls"
        check.require(not missing, "--decay-every", "come with --schedule step", "nothing", fix)
        if self.window is not None:
            must = f"be at most {self.window - 2}, so that of --window {self.window} one frame is given and one follows"
            fits = self.free_running <= self.window - 2
            check.require(fits, "--free-running", must, self.free_running, "lower it, or widen the window")
        must, fix = f"be a multiple of --accumulate {self.accumulate}", "choose one that is"
        check.require(self.batch_size % self.accumulate == 0, "--batch-size", must, self.batch_size, fix)
        return self


class ComputeConfig(Settings):
    """Where a run computes. Its numbers change only by rounding and what several processes or compiled steps draw."""

    devices: PositiveInt = 1
    """Devices on each machine, one process each; they share --batch-size."""
    nodes: PositiveInt = 1
    """Machines; start the same command on each with torchrun or srun."""
    strategy: str = "auto"
    """How devices share the work: a name that Lightning knows, such as ddp or fsdp."""
    compile: Literal["none", "eager", "inductor"] = "none"
    """Backend of torch.compile, for steps of the core, and on a CUDA device for encoder and decoder, too; eager traces
    without compiling, to find errors."""
    cuda_graphs: bool = False
    """On a CUDA device, record the forward and backward pass once as a CUDA graph, and replay it at each update."""
    workers: NonNegativeInt = 0
    """Loader processes; 0 is fastest if the clips fit in memory. Clips held on the device need none."""
    hold: Literal["auto", "device", "memory", "disk"] = "auto"
    """Where clips are kept: on the device, in memory, or on disk; auto: the first in which they fit easily."""
    time_limit: str | None = None
    """Save and stop after this time, such as 90s, 1h30m or 2d; `--resume` continues. All of --seeds share it."""

    @property
    def processes(self) -> int:
        """How many train together, on all machines."""
        return self.devices * self.nodes

    @property
    def keeps_weights_whole(self) -> bool:
        """Whether each device has all weights, and each weight in one piece."""
        return self.strategy == "auto" or self.strategy.startswith("ddp")

    @field_validator("time_limit")
    @classmethod
    def _is_a_time(cls, limit: str | None) -> str | None:
        if limit is not None:
            seconds_of(limit)
        return limit

    @model_validator(mode="after")
    def _settings_agree(self) -> "ComputeConfig":
        fits = self.hold != "device" or self.workers == 0
        fix = "leave one of them out, or give --workers 0"
        check.require(fits, "--workers", "be left out with --hold device", self.workers, fix)
        return self


def seconds_of(time: str) -> float:
    """The seconds in a time such as 90s, 1h30m or 1.5d.

    Raises:
        ValueError: it is none.
    """
    parts = re.fullmatch("".join(rf"(?:([0-9]+\.?[0-9]*|\.[0-9]+){unit})?" for unit in _SECONDS), time)
    numbers = parts.groups() if parts and time else ()
    must = "be numbers with d, h, m or s, the longest first"
    check.require(len(numbers) > 0, "--time-limit", must, repr(time), "write e.g. 4h or 1h30m")
    return sum(float(number or 0) * seconds for number, seconds in zip(numbers, _SECONDS.values(), strict=True))


_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


class WatchConfig(Settings):
    """What is recorded while a run trains. This does not change its numbers."""

    logger: tuple[Literal["wandb", "mlflow", "comet"], ...] = ()
    """Loggers besides CSV and TensorBoard, each once, configured by their own environment variables."""
    pictures_every: NonNegativeInt = 4
    """Validations between sets of pictures in TensorBoard; 0 makes none."""
    profile: bool = False
    """Measure how much time data, encoder, core, decoder and optimizer take; saved as profile.json."""

    @field_validator("logger")
    @classmethod
    def _each_once(cls, logger: tuple[str, ...]) -> tuple[str, ...]:
        check.each_once("--logger", logger)
        return logger
