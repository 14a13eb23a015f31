"""The flags of core, codec and decoder: which ones there are depends on the names that the words give.

Light, like everything that runs before torch is loaded; only parts of one's own are imported to read their settings.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from videopred import check, flags
from videopred.experiments import experiment_names
from videopred.experiments.asking import ask
from videopred.models import CODECS, CORES, DECODERS, core_config, name_of_part, reads, with_core
from videopred.models.codec_settings import RNEMConfig
from videopred.models.own import settings_of
from videopred.models.presets import PRESETS
from videopred.models.settings import OWN_PARTS, CoreSettings, PredictorConfig
from videopred.run_files import EXPORT, SETTINGS
from videopred.settings import ComputeConfig, Settings, TrainingConfig, WatchConfig
from videopred.training.places import first_of


def with_model_flags(command: Callable[..., None], words: Sequence[str]) -> Callable[..., None]:
    """A command with keywords core, codec, decoder and training, with the settings of those that its words name.

    A preset also brings what it says of learning, as defaults; an experiment or a run that is resumed, all it has; a
    run whose weights are the first, its model.

    Raises:
        ValueError: an unknown name, or a flag that belongs to another core, codec or decoder.
    """
    known = _known_settings(words)
    model: Any = known.get("model")
    core_name = flags.value_of("--core", words, name_of_part(model.core) if model else "rims")
    core = core_flags(core_name, words, model.core if model else None)
    codec: Any = model.codec if model else RNEMConfig()
    decoder: Any = model.decoder if model else core.own_decoder()
    defaults: dict[str, Any] = {name: known[name] for name in ("training", "compute", "watch") if name in known}
    if model:
        defaults["stack"] = model.stack
    elif core_name in PRESETS:
        defaults["training"] = PRESETS[core_name].training
    defaults |= {"core_name": core_name, "codec_name": name_of_part(codec), "decoder_name": name_of_part(decoder)}
    for name, value in defaults.items():
        command = flags.with_default(command, name, value, command.__annotations__[name])
    parts: dict[str, Settings] = {
        "core": core,
        "codec": _part_flags("codec", codec, words, CODECS),
        "decoder": _part_flags("decoder", decoder, words, DECODERS),
    }
    for part, settings in parts.items():
        command = flags.with_default(command, part, settings, type(settings))
    return command


def _known_settings(words: Sequence[str]) -> dict[str, Any]:
    """Settings of the run that is resumed, or of the experiment; else the model of the run whose weights are the first.

    The model has the core that the words name.

    Raises:
        ValueError: an experiment that does not come first.
    """
    run, first = (flags.value_of(flag, words, "") for flag in ("--resume", "--init-from"))
    known = _settings_of(Path(run), words) if run else _settings_of_experiment(words)
    if first and not known:
        known = {name: value for name, value in _settings_of(Path(first), words).items() if name == "model"}
    return known


def _settings_of(run: Path, words: Sequence[str]) -> dict[str, Any]:
    """All settings of a run, or of the first of several seeds, that are flags; none if they cannot be read."""
    kinds = {"model": PredictorConfig, "training": TrainingConfig, "compute": ComputeConfig, "watch": WatchConfig}
    try:
        settings = _saved(run)
        known: dict[str, Any] = {name: kind(**settings[name]) for name, kind in kinds.items() if name in settings}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}  # the command itself says what is wrong
    if model := known.get("model"):
        known["model"] = with_core(model, flags.value_of("--core", words, name_of_part(model.core)))
    return known


def _saved(run: Path) -> dict[str, Any]:
    """The settings in the folder or export of a run."""
    if run.suffix == EXPORT:
        from videopred.weights import read_header

        return read_header(run)[0]
    return json.loads((first_of(run) / SETTINGS).read_text(encoding="utf-8"))


def _settings_of_experiment(words: Sequence[str]) -> dict[str, Any]:
    """Model and training settings of the experiment that the first word means; none if it means no experiment.

    Raises:
        ValueError: an experiment that does not come first: later words may be a flag's values.
    """
    if words and words[0].startswith("-"):
        of_names = ("--core", "--init-from", "--out", "-o")  # of presets and runs, which may be called the same
        typed = (word for flag, word in pairwise(words) if flag not in of_names)
        late = next((word for word in typed if word in experiment_names()), None)
        fix = f"put it first, as in `videopred train {late} --scale small`"
        check.require(late is None, "DATA", "come before the options where it is an experiment", late, fix)
    scale, core = flags.value_of("--scale", words, "paper"), flags.value_of("--core", words, "")
    asked = ask(words[0], scale, core) if words else None
    if asked is None:
        return {}
    _, usual = asked.with_asked_core
    return {"model": usual.model, "training": usual.training}


def core_flags(name: str, words: Sequence[str], usual: CoreSettings | None = None) -> CoreSettings:
    """The settings whose fields are the flags of a core: its own, or those that a class of one's own defines.

    Args:
        name: of the core.
        words: what was typed.
        usual: a core of that name whose values are the defaults; None: a new one.

    Raises:
        ValueError: an unknown core, or a flag that belongs to another.
    """
    settings: CoreSettings = settings_of(usual or core_config(name))
    _check_names("core", name, words, type(settings), CORES)
    return settings


def chosen_part(part: str, name: str, settings: Settings) -> Any:
    """The settings of a core, codec or decoder for a model, from its name and the settings that its flags gave."""
    return OWN_PARTS[part](source=name, settings=settings.model_dump(mode="json")) if ":" in name else settings


def chosen_model(parts: Mapping[str, tuple[str, Settings]], stack: int) -> PredictorConfig:
    """The settings of a model, from the name of core, codec and decoder and the settings that their flags gave."""
    return PredictorConfig(**{part: chosen_part(part, *chosen) for part, chosen in parts.items()}, stack=stack)


def _part_flags(
    part: str, usual: Any, words: Sequence[str], table: Mapping[str, tuple[type[Settings], str]]
) -> Settings:
    """The settings whose fields are the flags of a codec or decoder: the usual ones unless another is named.

    Raises:
        ValueError: an unknown name, or a flag that belongs to another.
    """
    name = flags.value_of(f"--{part}", words, name_of_part(usual))
    if name != name_of_part(usual):
        own, choices = ":" in name, [*table, "MODULE:CLASS"]
        usual = OWN_PARTS[part](source=name) if own else table[check.one_of(f"--{part}", name, choices)][0]()
    settings: Settings = settings_of(usual)
    _check_names(part, name, words, type(settings), table)
    return settings


def check_codec_used(given: Mapping[str, Any], words: Sequence[str]) -> None:
    """Refuse flags of the codec that change nothing beside core and decoder.

    Args:
        given: the values that `with_model_flags` gave flags to.
        words: what was typed.

    Raises:
        ValueError: one of them is there.
    """
    typed, codec, decoder = flags.given_names("--codec.", words), given["codec_name"], given["decoder_name"]
    if reads(chosen_part("core", given["core_name"], given["core"])) != "map":
        must, got = "come with a core that reads a map", f"--core {given['core_name']}"
        fix = "leave it out, or take such a core: scoff, or rims with --core.reads map"
        for name in ("positions", "position_op", "position_width"):
            check.require(name not in typed, f"--codec.{name.replace('_', '-')}", must, got, fix)
    elif "embedding" in typed and (codec == "mila" or (codec, decoder) == ("rnem", "masks")):
        # R-NEM's codec also makes a vector on the way back to frames.
        must = f"be left out with --decoder {decoder}, --codec {codec} and a core that reads a map"
        fix = "it changes nothing beside these"
        raise ValueError(check.complaint("--codec.embedding", must, given["codec"].embedding, fix))


def _check_names(
    part: str,
    name: str,
    words: Sequence[str],
    settings: type[Settings],
    table: Mapping[str, tuple[type[Settings], str]],
) -> None:
    """Raise ValueError for a flag such as --core.schemata that the chosen core does not have, but another does."""
    for flag in [word.partition("=")[0] for word in words if word.startswith(f"--{part}.")]:
        field = flag.removeprefix(f"--{part}.").replace("-", "_")
        fields = {field, field.removeprefix("no_")}  # the second of a switch
        if not fields.isdisjoint(settings.model_fields):
            continue
        owners = [other for other, (kind, _) in table.items() if not fields.isdisjoint(kind.model_fields)]
        got, fix = f"one of {', '.join(owners)}", f"leave it out, or choose one of these with --{part}"
        check.require(not owners, flag, f"be a setting of {name}", got, fix)
