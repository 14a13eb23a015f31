"""Rivals of an experiment's core: an LSTM, a GRU or an RMC in its place, as wide in all or with as many parameters.

Derived by name, so that nobody keeps a hundred files alike. Light.
"""

from typing import Any

from videopred.experiments.settings import ExperimentConfig
from videopred.models.core_settings import CoreSettings
from videopred.models.rival_settings import GRUConfig, LSTMConfig, RMCConfig
from videopred.models.settings import PredictorConfig

RIVALS = ("lstm", "gru", "rmc")
POSITIONS = "model.codec.position"
"""How settings begin that mean nothing to a core which reads no map, as rivals do not."""

MATCHED: dict[str, dict[str, tuple[int, int]]] = {
    "rims-balls4": {"lstm": (450, 563), "gru": (546, 659), "rmc": (82, 82)},
    "rims-balls678": {"lstm": (450, 563), "gru": (546, 659), "rmc": (82, 82)},
    "rims-crops": {"lstm": (450, 563), "gru": (546, 659), "rmc": (82, 82)},
    "scoff-balls4": {"lstm": (124, 227), "gru": (157, 270), "rmc": (32, 36)},
    "scoff-balls678": {"lstm": (124, 227), "gru": (157, 270), "rmc": (32, 36)},
    "scoff-curtain": {"lstm": (124, 227), "gru": (157, 270), "rmc": (32, 36)},
    "scoff-colored4": {"lstm": (124, 227), "gru": (157, 270), "rmc": (32, 36)},
    "scoff-colored678": {"lstm": (124, 227), "gru": (157, 270), "rmc": (32, 36)},
    "scoff-switching": {"lstm": (89, 172), "gru": (115, 206), "rmc": (32, 36)},
    "scoff-motion3": {"lstm": (104, 200), "gru": (132, 238), "rmc": (28, 33)},
    "scoff-intphys": {"lstm": (198, 309), "gru": (247, 366), "rmc": (44, 48)},
    "brims-balls4": {"lstm": (442, 551), "gru": (537, 645), "rmc": (81, 80)},
    "brims-curtain": {"lstm": (442, 551), "gru": (537, 645), "rmc": (81, 80)},
    "brims-smmnist": {"lstm": (411, 519), "gru": (500, 608), "rmc": (77, 76)},
}
"""Experiment -> rival -> units of an LSTM or GRU, or head size of an RMC, that come nearest to the core's number of
parameters as published, and at `small`, where codecs are narrower. Solved by counting, as a test does again."""


def rival_of(experiment: ExperimentConfig, name: str, rival: str, matched: bool) -> ExperimentConfig:
    """The experiment with a rival in the place of its core; data and learning stay.

    Args:
        experiment: one that a paper has.
        name: its name.
        rival: one of RIVALS.
        matched: whether the core has as many parameters as the one it replaces, to the nearest possible number,
            instead of as wide a state.
    """
    core = as_wide(experiment.model.core, rival)
    if matched:
        core = _resized(core, MATCHED[name][rival][0])
    equal = "as many core parameters" if matched else "as wide a state"
    summary = f"{rival.upper()} with {equal}: {experiment.summary}"
    own = ("model.core", "model.decoder", POSITIONS)
    ours = {"model.core": f"A rival of {name} with {equal}; the paper's own sizes of rivals are presets of cores."}
    return experiment.model_copy(
        update={
            "summary": summary,
            "stated": notes_without(experiment.stated, *own),
            "chosen": ours | notes_without(experiment.chosen, *own),
            "model": PredictorConfig(core=core, codec=experiment.model.codec, stack=experiment.model.stack),
        }
    )


def matched_at_small(scaled: ExperimentConfig, name: str, rival: str) -> ExperimentConfig:
    """An experiment with a matched rival at `small`, matched there again; arguments as in `rival_of`."""
    core = _resized(scaled.model.core, MATCHED[name][rival][1])
    return scaled.model_copy(update={"model": scaled.model.model_copy(update={"core": core})})


def _resized(core: CoreSettings, size: int) -> CoreSettings:
    """A rival of another size, as MATCHED has them."""
    return core.changed(head_size=size) if isinstance(core, RMCConfig) else core.changed(units=size)


def as_wide(core: CoreSettings, rival: str) -> Any:
    """A rival whose state is as wide as all modules, files and layers of a core together.

    An RMC has a row for each of them; its heads are the most out of 5 to 1 that share a row's width.
    """
    widths = core.state_widths
    if rival == "rmc":
        heads = next(heads for heads in (5, 4, 3, 2, 1) if widths[0] % heads == 0)
        return RMCConfig(rows=len(widths), heads=heads, head_size=widths[0] // heads)
    return {"lstm": LSTMConfig, "gru": GRUConfig}[rival](units=sum(widths))


def notes_without(notes: dict[str, str], *parts: str) -> dict[str, str]:
    """What does not speak of some parts, such as model.core."""
    return {setting: note for setting, note in notes.items() if not setting.startswith(parts)}
