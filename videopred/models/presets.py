"""Cores with the sizes and hyperparameters of the papers' experiments, each number with the place it is from.

R is the RIMs paper (Goyal et al. 2021), B the BRIMs paper (Mittal et al. 2020), S the SCOFF paper (Goyal et al. 2020).
A preset holds what differs from the core's defaults. Of learning it holds Adam's step size and the batch; the clipping
of gradients is left as it is, because the papers' losses are sums and ours is a mean per pixel.
"""

from typing import NamedTuple

from videopred.models.settings import CoreSettings, LSTMConfig, RIMsConfig
from videopred.settings import TrainingConfig


class Preset(NamedTuple):
    """A core as one experiment has it."""

    summary: str
    core: CoreSettings
    training: TrainingConfig = TrainingConfig()


def _learning(step_size: float, clips: int) -> TrainingConfig:
    return TrainingConfig(learning_rate=step_size, batch_size=clips)


PRESETS: dict[str, Preset] = {
    # R 4.2, fig. 7 to 10.
    "lstm-balls": Preset("LSTM of the RIMs paper on bouncing balls, 250 units.", LSTMConfig(units=250)),
    # R D.1, table 1: the same width as RIMs have in all.
    "lstm-copying": Preset("LSTM of the RIMs paper on copying, 600 units.", LSTMConfig(units=600), _learning(1e-3, 64)),
    # Sizes for bouncing balls are unpublished: modules and active as in R D.4.1, units as in R D.1 (our choice).
    # Step size R D.4, batch R table 3.
    "rims-balls": Preset(
        "RIMs on bouncing balls: 6 modules of 100, 4 active (sizes our choice).",
        RIMsConfig(modules=6, active=4, units=100),
        _learning(7e-4, 64),
    ),
    # R D.1 (600 units, 6 modules, 1 input head, 4 communication heads, 0.001) and table 1 (2 active).
    "rims-copying": Preset(
        "RIMs on copying: 6 modules of 100, 2 active.",
        RIMsConfig(modules=6, active=2, units=100, comm_key=16, comm_value=16),
        _learning(1e-3, 64),
    ),
    # R table 5 (6 modules, 300 units, 3 active); step size of the authors' script.
    "rims-adding": Preset(
        "RIMs on adding: 6 modules of 50, 3 active.",
        RIMsConfig(modules=6, active=3, units=50, comm_key=16, comm_value=16),
        _learning(1e-3, 64),
    ),
    # R D.3 (600 units, 6 modules, 1 input head, 0.0001) and table 1 (4 active).
    "rims-smnist": Preset(
        "RIMs on sequential MNIST: 6 modules of 100, 4 active.",
        RIMsConfig(modules=6, active=4, units=100, comm_key=16, comm_value=16),
        _learning(1e-4, 64),
    ),
}
"""Name -> core and learning. A name is a paper's core and its task; `--core NAME` takes it."""
