"""What is done to a core while it rolls out."""

from typing import Annotated

from pydantic import ValidationInfo, field_validator, model_validator
from tyro.conf import arg

from videopred.check import each_once, require, whole_number
from videopred.settings import Settings


class Intervention(Settings):
    """Changes to single modules, or object files. They are counted from 0, through all layers from the lowest up."""

    without: tuple[int, ...] = ()
    """Modules to mask out: never active, neither read nor heard by others, and zero in the output."""
    freeze: tuple[int, ...] = ()
    """Modules whose state no longer changes."""
    swap: tuple[str, ...] = ()
    """Pairs of modules that exchange their states once, such as 1,3."""
    force_schema: Annotated[int | None, arg(name="schema")] = None
    """The schema that every object file must use."""
    from_step: int = 1
    """The rollout step at which the intervention begins. Swaps are made once; the rest lasts until the end."""

    @field_validator("without", "freeze")
    @classmethod
    def _are_named_once(cls, modules: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
        each_once(f"--{info.field_name}", modules)
        return modules

    @field_validator("swap")
    @classmethod
    def _are_pairs(cls, pairs: tuple[str, ...]) -> tuple[str, ...]:
        for pair in pairs:
            words = pair.split(",")
            fits = len(words) == 2 and all(map(str.isdecimal, words)) and int(words[0]) != int(words[1])
            require(fits, "--swap", "be two different modules with a comma between them", pair, "write e.g. 1,3")
        once = len({frozenset(map(int, pair.split(","))) for pair in pairs}) == len(pairs)
        require(once, "--swap", "name each pair once", " ".join(pairs), "the second undoes the first")
        return pairs

    @field_validator("from_step")
    @classmethod
    def _begins(cls, step: int) -> int:
        return whole_number("--from-step", step, 1, "the first frame that the model imagines is 1")

    @model_validator(mode="after")
    def _do_not_contradict(self) -> "Intervention":
        swapped = {module for pair in self.pairs for module in pair}
        for flag, others in (("--freeze", set(self.freeze)), ("--swap", swapped)):
            both = sorted(others & set(self.without))
            fix = "a silenced module has no state to keep or to exchange"
            require(not both, flag, "name no module of --without", ", ".join(map(str, both)), fix)
        fix = "give --without, --freeze, --swap or --schema"
        fits = self.from_step == 1 or not self.idle
        require(fits, "--from-step", "be left out without an intervention", self.from_step, fix)
        return self

    @property
    def changes(self) -> dict[str, tuple[object, ...]]:
        """What is done: flag without its dashes -> its values, of those that are given."""
        schema = () if self.force_schema is None else (self.force_schema,)
        flags = {"without": self.without, "freeze": self.freeze, "swap": self.swap, "schema": schema}
        return {flag: values for flag, values in flags.items() if values}

    @property
    def words(self) -> tuple[str, ...]:
        """What is done, as pictures say it: a few words for each change, such as without 2."""
        said = tuple(f"{flag} {' '.join(map(str, values))}" for flag, values in self.changes.items())
        return (*said, f"from step {self.from_step}") if self.from_step > 1 else said

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The modules to swap."""
        return tuple((int(a), int(b)) for a, b in (pair.split(",") for pair in self.swap))

    @property
    def idle(self) -> bool:
        """Whether nothing is done."""
        return not self.changes

    def check_beginning(self, horizon: int) -> None:
        """Refuse a beginning behind so many steps of a rollout.

        Raises:
            ValueError: it is one.
        """
        must = f"be at most {horizon}, the steps of the rollout"
        require(self.from_step <= horizon, "--from-step", must, self.from_step, "lower it")
