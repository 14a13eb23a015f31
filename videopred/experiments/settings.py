"""Settings of experiments. Light: pydantic only, so that help and usage errors load no torch."""

import re
from pathlib import Path
from typing import ClassVar, Literal, get_args

from pydantic import PositiveInt, field_validator, model_validator

from videopred.check import one_of, require
from videopred.datasets.settings import Recipe
from videopred.eval.protocols import PROTOCOLS
from videopred.models.settings import PredictorConfig
from videopred.settings import Part, Settings, TrainingConfig

Scale = Literal["paper", "small", "tiny"]
"""How large an experiment is: as published, for a laptop, or for a test."""


class ExperimentConfig(Settings):
    """A whole experiment: what is learned from, what learns, how, and how it is judged."""

    flag_prefix: ClassVar[str] = ""

    summary: str
    """What it is, in one line of a terminal."""
    stated: dict[str, str]
    """Setting -> where the paper states its value."""
    chosen: dict[str, str]
    """Setting -> why it is so where the paper does not say, or where we differ."""
    data: str
    """Name of the data file that the recipe makes; experiments with the same recipe share it."""
    recipe: Recipe
    """What its clips are made of."""
    clips: dict[str, PositiveInt]
    """Clips of each part: train, validation, test. Without train, nobody learns from them."""
    model: PredictorConfig
    """What learns."""
    training: TrainingConfig
    """How it learns."""
    protocols: tuple[str, ...] = ()
    """How it is judged: names of `videopred list protocols`; none where no paper says."""

    @property
    def data_file(self) -> Path:
        """Where its clips are, or will be."""
        return Path("datasets") / f"{self.data}.h5"

    @field_validator("data")
    @classmethod
    def _is_a_name(cls, data: str) -> str:
        fits = re.fullmatch(r"[\w-]+", data)
        require(
            bool(fits), "data", "be a name of letters, digits, - and _", repr(data), "its clips go to datasets/NAME.h5"
        )
        return data

    @model_validator(mode="after")
    def _names_are_known(self) -> "ExperimentConfig":
        for name in self.protocols:
            one_of("protocols", name, PROTOCOLS)
        for part in self.clips:
            one_of("clips", part, get_args(Part))
        return self
