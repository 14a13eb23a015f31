"""Learn: a predictor from a file of clips, on Lightning's Trainer. Its functions load torch when first asked for.

Our part is the objective, the order of the clips and what is kept; devices, precision, loops and logs are Lightning's.
Batch k of a run depends on (seed, k) alone; noise, on the seed, the update and the share of its batch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from videopred.training.run import check_fits as check_fits
    from videopred.training.run import foresee as foresee
    from videopred.training.run import resume as resume
    from videopred.training.run import train as train
    from videopred.training.seeds import resume_seeds as resume_seeds
    from videopred.training.seeds import train_seeds as train_seeds

_HOMES = dict.fromkeys(("check_fits", "foresee", "resume", "train"), "run")
_HOMES |= dict.fromkeys(("resume_seeds", "train_seeds"), "seeds")

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"videopred.training.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'videopred.training' has no attribute {name!r}")
