"""Where an axis of values ends, so that models can be told apart on it."""

import numpy as np


def axis_ends(models: np.ndarray, trivial: np.ndarray, *, higher_is_better: bool) -> tuple[float, float]:
    """Ends of an axis that holds all of the models; of nothing at all, any.

    Trivial baselines that are worse than all models by more than these differ lie outside. Where there are no models
    none does.

    Args:
        models: what stands there of models, of any shape; NaN where nothing is known.
        trivial: and of trivial baselines.
        higher_is_better: which way is worse.
    """
    models, trivial = models[~np.isnan(models)], trivial[~np.isnan(trivial)]
    models = models if models.size else trivial
    low, high = (float(models.min()), float(models.max())) if models.size else (0.0, 1.0)
    span = high - low or abs(high) or 1.0
    near = trivial[trivial >= low - span if higher_is_better else trivial <= high + span]
    return float(min([low, *near])), float(max([high, *near]))
