"""How training changes with the updates done: pure functions of the number of an update, counted from 0."""

import math


def share_of_step_size(schedule: str, updates: int, update: int) -> float:
    """What the full step size is multiplied with at an update, counted from 0; in [0, 1]."""
    if schedule == "constant":
        return 1.0
    rise = min(1.0, (update + 1) / max(1, updates // 20))
    return rise * (0.5 + 0.5 * math.cos(math.pi * update / updates))
