"""How training changes with the updates done: pure functions of the number of an update, counted from 0."""

import math

from videopred.amounts import counted
from videopred.settings import TrainingConfig


def share_of_step_size(training: TrainingConfig, update: int, decays: int) -> float:
    """What the full step size is multiplied with at an update; in [0, 1].

    Args:
        training: says how it changes.
        update: counted from 0.
        decays: how often the validation loss has stopped falling so far.
    """
    if training.schedule == "step":
        assert training.decay_every is not None  # the settings see to it
        return training.decay_factor ** (update // training.decay_every)
    if training.schedule == "plateau":
        return training.decay_factor**decays
    if training.schedule == "cosine":
        rise = min(1.0, (update + 1) / max(1, training.updates // 20))
        return rise * (0.5 + 0.5 * math.cos(math.pi * update / training.updates))
    return 1.0


def own_frames(training: TrainingConfig, update: int) -> int:
    """Frames at the end of each clip that are predicted from the model's own predictions at an update."""
    if training.grow_over is None:
        return training.free_running
    return min(training.free_running, training.free_running * update // training.grow_over)


def without_effect(training: TrainingConfig) -> list[str]:
    """Which schedules do nothing, or not all that they say, because the training is shorter than they are."""
    updates, told = training.updates, []
    if training.grow_over and (own := own_frames(training, updates - 1)) < training.free_running:
        span = f"--grow-over {training.grow_over} is not shorter than the training"
        told.append(f"{span}: at its end {own} of the {training.free_running} frames of --free-running are own")
    if training.sampling_over and training.sampling_over > updates:
        told.append(f"--sampling-over {training.sampling_over} is longer than the training, which ends on the way")
    if training.decay_every and training.decay_every >= updates:
        told.append(f"--decay-every {training.decay_every} is not shorter than the training: no step is taken")
    looks = -(-updates // training.validate_every)
    if training.schedule == "plateau" and looks < training.plateau_patience + 2:
        patience = f"--schedule plateau with --patience {training.plateau_patience}"
        told.append(f"{patience} needs more than {counted(looks, 'validation')}")
    return told


def share_of_samples(training: TrainingConfig, update: int) -> float:
    """The probability that a frame is fed as the model predicted it instead of as it was, at an update; in [0, 1].

    Truth is kept with a probability that falls from 1: evenly to 0 (linear); to 0.01 by the same factor at each update
    (exponential); or along Bengio's inverse sigmoid, which passes one half at half time. After `sampling_over` updates
    it stays. `sampling_share` scales what is left of 1.

    Source: Bengio et al. 2015, section 2.4, whose constants k and c follow here from the length of the fall.
    """
    if training.sampling == "none":
        return 0.0
    over = training.sampling_over or training.updates
    done = min(update, over)
    if training.sampling == "linear":
        kept = 1 - done / over
    elif training.sampling == "exponential":
        kept = 0.01 ** (done / over)
    else:
        pace = _pace(over)
        kept = pace / (pace + math.exp(done / pace))
    return (1.0 if training.sampling_share is None else training.sampling_share) * (1 - kept)


def _pace(over: int) -> float:
    """The k > 1 with 2 k ln k = over, for which k / (k + exp(i / k)) is one half at i = over / 2."""
    low, high = 1.0, 2.0 + over
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * middle * math.log(middle) < over else (low, middle)
    return high
