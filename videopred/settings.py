"""What all settings share, and the settings of learning.

One settings class is at once the flags, the help text, the saved JSON and the Python API.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveFloat, PositiveInt, ValidationError

from videopred import check


class Settings(BaseModel):
    """Frozen, strict settings: unknown keys are refused, nothing is cast (but a list is
    taken for a tuple), and a changed copy is a new object.

    Raises:
        ValueError: a setting is unknown or out of range; one line that names it.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        use_attribute_docstrings=True,
        allow_inf_nan=False,
    )

    flag_prefix: ClassVar[str] = "--"
    """What the names of these settings begin with on the command line."""

    def __init__(self, **values: Any) -> None:
        # JSON knows lists only, and pydantic sends JSON through here as well.
        values = {name: _tupled(value) for name, value in values.items()}
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ValueError(check.explain(error, self.flag_prefix)) from None


def _tupled(value: Any) -> Any:
    """The value with every list in it as a tuple."""
    return tuple(map(_tupled, value)) if isinstance(value, list | tuple) else value


class TrainingConfig(Settings):
    """How a predictor learns: prediction of the next frame, with Adam."""

    updates: PositiveInt = 5000
    """Number of optimiser steps."""
    batch_size: PositiveInt = 64
    """Clips per update."""
    learning_rate: PositiveFloat = 7e-4
    """Step size of Adam (RIMs paper, D.4)."""
    schedule: Literal["constant", "cosine"] = "constant"
    """Step size over time: constant, or up over the first twentieth of the updates, then down to 0 along a cosine."""
    clip_norm: PositiveFloat = 0.1
    """Largest norm of the whole gradient of the mean loss per pixel; a longer one is scaled down to it."""
    free_running: NonNegativeInt = 0
    """Frames at the end of each clip that are predicted from the model's own predictions; 0 is teacher forcing."""
    validate_every: PositiveInt = 250
    """Updates between looks at the validation clips; each look may save the best checkpoint."""
    validation_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Share of the training clips, the last ones, kept aside when the file has no validation part."""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0
    """Source of the first weights, the order of clips, and dropout."""
    workers: NonNegativeInt = 0
    """Loader processes; 0 is fastest when the clips fit in memory."""
