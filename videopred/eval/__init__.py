"""Metrics: films in, one number per clip and frame out, and one per step over all clips.

To add one: a file here, its settings class in `settings.py`, and a line in METRICS.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from videopred import check
from videopred.addresses import find
from videopred.eval import object_settings, settings
from videopred.settings import Settings

METRICS: dict[str, tuple[type[Settings], str]] = {
    "bce": (settings.BCEConfig, "videopred.eval.pixel:BCE"),
    "bce-mean": (settings.BCEMeanConfig, "videopred.eval.pixel:BCEMean"),
    "mse": (settings.MSEConfig, "videopred.eval.pixel:MSE"),
    "mse-sum": (settings.MSESumConfig, "videopred.eval.pixel:MSESum"),
    "mae": (settings.MAEConfig, "videopred.eval.pixel:MAE"),
    "mae-sum": (settings.MAESumConfig, "videopred.eval.pixel:MAESum"),
    "psnr": (settings.PSNRConfig, "videopred.eval.pixel:PSNR"),
    "ssim": (settings.SSIMConfig, "videopred.eval.similarity:SSIM"),
    "ssim-svg": (settings.SVGSSIMConfig, "videopred.eval.similarity:SVGSSIM"),
    "ssim-uniform": (settings.UniformSSIMConfig, "videopred.eval.similarity:UniformSSIM"),
    "ssim-same": (settings.BorderedSSIMConfig, "videopred.eval.bordered_similarity:BorderedSSIM"),
    "lpips": (settings.LPIPSConfig, "videopred.eval.perceptual:LPIPS"),
    "f1": (settings.F1Config, "videopred.eval.overlap:F1"),
    "precision": (settings.PrecisionConfig, "videopred.eval.overlap:Precision"),
    "recall": (settings.RecallConfig, "videopred.eval.overlap:Recall"),
    "iou": (settings.IoUConfig, "videopred.eval.overlap:IoU"),
    "balanced-accuracy": (settings.BalancedAccuracyConfig, "videopred.eval.overlap:BalancedAccuracy"),
}
"""Name -> (settings class, "module:Class"). The class is imported on use: a listing loads no torch."""

OBJECT_METRICS: dict[str, tuple[type[Settings], str]] = {
    "position": (object_settings.PositionConfig, "videopred.eval.positions:Position"),
    "missed": (object_settings.MissedConfig, "videopred.eval.positions:Missed"),
    "count": (object_settings.CountConfig, "videopred.eval.positions:Count"),
    "kept": (object_settings.KeptConfig, "videopred.eval.positions:Kept"),
    "kept-2px": (object_settings.Kept2Config, "videopred.eval.positions:Kept2"),
    "switches": (object_settings.SwitchesConfig, "videopred.eval.identity:Switches"),
    "survival": (object_settings.SurvivalConfig, "videopred.eval.identity:Survival"),
    "exit-error": (object_settings.ExitErrorConfig, "videopred.eval.identity:ExitError"),
    "fg-ari": (object_settings.FGARIConfig, "videopred.eval.segmentation:FGARI"),
    "fg-ari-clip": (object_settings.FGARIClipConfig, "videopred.eval.segmentation:FGARIClip"),
    "miou": (object_settings.MeanIoUConfig, "videopred.eval.segmentation:MeanIoU"),
    "own-fg-ari": (object_settings.OwnFGARIConfig, "videopred.eval.segmentation:OwnFGARI"),
    "own-fg-ari-clip": (object_settings.OwnFGARIClipConfig, "videopred.eval.segmentation:OwnFGARIClip"),
    "own-miou": (object_settings.OwnMeanIoUConfig, "videopred.eval.segmentation:OwnMeanIoU"),
    "collision-bce": (object_settings.CollisionBCEConfig, "videopred.eval.collisions:CollisionBCE"),
    "energy": (object_settings.EnergyConfig, "videopred.eval.motion_laws:Energy"),
    "momentum": (object_settings.MomentumConfig, "videopred.eval.motion_laws:Momentum"),
    "overlaps": (object_settings.OverlapsConfig, "videopred.eval.motion_laws:Overlaps"),
    "walls": (object_settings.WallsConfig, "videopred.eval.motion_laws:Walls"),
}
"""Name of a metric that compares objects -> (settings class, "module:Class")."""


def make_metric(name: str, config: Settings | None = None) -> Any:
    """The metric of that name: a `Metric`, or of objects an `ObjectMetric`.

    Args:
        name: a key of METRICS or OBJECT_METRICS, or MODULE:CLASS.
        config: its settings; the defaults when None.

    Raises:
        ValueError: there is no metric of that name, or making one's own raises an error.
        TypeError: the settings are another metric's, or one's own has no sentence as its convention.
    """
    settings_class, found = find_metric("--metrics", name)
    config = settings_class() if config is None else config
    if not isinstance(config, settings_class):
        fix = "give that metric's own settings, or none for the defaults"
        must = f"be a {settings_class.__name__} for {name}"
        raise TypeError(check.complaint("config", must, type(config).__name__, fix))
    if isinstance(found, str):
        return find(found)(config)
    from videopred.eval.own import made_own

    return made_own(found, config)


def find_metric(
    argument: str, name: str, table: Mapping[str, tuple[type[Settings], str]] | None = None
) -> tuple[type[Settings], Any]:
    """Settings class of any metric, and its class, or where that is.

    Args:
        argument: what messages call the name.
        name: a key of the table, or MODULE:CLASS for a metric of one's own, which is imported now.
        table: METRICS or OBJECT_METRICS, where it must be one of these; both when None.

    Raises:
        ValueError: there is no metric of that name; see `own_metric`. TypeError: that is no name.
    """
    check.require_kind(isinstance(name, str), argument, "be a name", repr(name), "give one, such as mse")
    if ":" in name:
        from videopred.eval.own import own_metric

        found = own_metric(name)
        return found.settings, found
    of_objects = table is METRICS and name in OBJECT_METRICS
    fix = "clips are ranked by metrics of films here; a report ranks them by any that it has scores of"
    check.require(not of_objects, argument, "be a metric of films", name, fix)
    table = METRICS | OBJECT_METRICS if table is None else table
    return table[check.one_of(argument, name, [*table, "MODULE:CLASS"])]


def metric_settings() -> list[str]:
    """What can be set, as METRIC.SETTING."""
    tables = METRICS | OBJECT_METRICS
    return [f"{name}.{field}" for name, (settings_class, _) in tables.items() for field in settings_class.model_fields]


def read_metric_settings(metrics: Iterable[str], words: Iterable[str]) -> dict[str, Settings]:
    """Settings of metrics from words such as `lpips.net=vgg`: metric -> its settings, of those that a word is about.

    Raises:
        ValueError: a word is of another form, names a metric that is not asked for or a setting that it does not have,
            or says one twice; or the value is not allowed.
    """
    asked = list(metrics)
    said: dict[str, dict[str, str]] = {}
    for word in words:
        place, equals, value = word.partition("=")
        name, dot, field = place.rpartition(".")
        must, fix = "be METRIC.SETTING=VALUE", "write e.g. --metric-settings f1.threshold=0.4"
        check.require(bool(equals and dot), "--metric-settings", must, word, fix)
        must, near = (
            f"be of a metric that is asked for, {', '.join(asked)}",
            check.suggest(name, asked, "add it to --metrics"),
        )
        check.require(name in asked, "--metric-settings", must, word, near)
        fields = list(find_metric("--metrics", name)[0].model_fields)
        check.require(len(fields) > 0, "--metric-settings", "be of a metric that has any", word, f"{name} has none")
        check.one_of(f"--metric-settings {name}", field, fields)
        of_metric = said.setdefault(name, {})
        check.require(field not in of_metric, "--metric-settings", "say each once", word, "leave one out")
        of_metric[field] = value
    return {name: _read(find_metric("--metrics", name)[0], name, values) for name, values in said.items()}


def _read(settings_class: type[Settings], name: str, values: dict[str, str]) -> Settings:
    """Settings from words, see `_value`."""
    try:
        return settings_class(**{field: _value(settings_class, field, word) for field, word in values.items()})
    except ValueError as error:
        said, usual = str(error).replace("--", f"--metric-settings {name}.", 1), settings_class()
        shown = said.partition(f"{name}.")[2].partition(" ")[0]
        field = shown.replace("-", "_")  # as it is typed here
        said = said.replace(f"{name}.{shown}", f"{name}.{field}", 1)
        if hasattr(usual, field):  # the help of a command lists what there is to set, not what each allows
            said = re.sub("; (see --help|choose one that is)$", f"; by default it is {getattr(usual, field)}", said)
        raise ValueError(said) from None


def _value(settings_class: type[Settings], field: str, word: str) -> bool | int | float | str:
    """A setting from a word: text where that is wanted, true or false for a switch, else a number if it is one."""
    there = settings_class.model_fields.get(field)
    wanted = None if there is None else there.annotation
    kinds = get_args(wanted) or (wanted,)  # of `str | None`, or the words of a Literal
    if str in kinds or word in kinds:
        return word
    if bool in kinds and word.lower() in ("true", "false"):
        return word.lower() == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
