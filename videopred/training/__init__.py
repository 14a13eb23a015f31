"""Learn: a predictor from a file of clips, on Lightning's Trainer. `train` loads torch when it is first asked for.

Our part is the objective, the order of the clips and what is kept; devices, precision, loops and logs are Lightning's.
Batch k of a run depends on (seed, k) alone, and noise is reseeded from (seed, step, rank) at each step.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from videopred.training.run import train as train

__all__ = ["train"]


def __getattr__(name: str) -> Any:
    if name == "train":
        from videopred.training.run import train

        return train
    raise AttributeError(f"module 'videopred.training' has no attribute {name!r}")
