"""The flags of core, codec and decoder: which ones there are depends on the names that the words give.

Light, like everything that runs before torch is loaded; only a core of one's own is imported to read its settings.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from videopred import check, flags
from videopred.models import CODECS, CORES, DECODERS, core_config
from videopred.models.presets import PRESETS
from videopred.models.settings import CoreSettings, OwnConfig
from videopred.settings import Settings


def with_model_flags(command: Callable[..., None], words: Sequence[str]) -> Callable[..., None]:
    """A command with keywords core, codec, decoder and training, with the settings of those that its words name.

    A preset also brings what it says of learning, as defaults.

    Raises:
        ValueError: an unknown name, or a flag that belongs to another core, codec or decoder.
    """
    core_name = flags.value_of("--core", words, "rims")
    core = core_flags(core_name, words)
    codec_name = check.one_of("--codec", flags.value_of("--codec", words, "rnem"), CODECS)
    own: Any = core.own_decoder()
    decoder_name = check.one_of("--decoder", flags.value_of("--decoder", words, own.kind), DECODERS)
    settings: dict[str, Settings] = {"core": core}
    for part, table, name in (("codec", CODECS, codec_name), ("decoder", DECODERS, decoder_name)):
        settings[part] = table[name][0]()
        _check_names(part, name, words, type(settings[part]), table)
    command = flags.with_default(command, "decoder_name", own.kind, command.__annotations__["decoder_name"])
    if core_name in PRESETS:
        kept = command.__annotations__["training"]
        command = flags.with_default(command, "training", PRESETS[core_name].training, kept)
    for part, value in settings.items():
        command = flags.with_default(command, part, value, type(value))
    return command


def core_flags(name: str, words: Sequence[str]) -> CoreSettings:
    """The settings whose fields are the flags of a core: its own, or those that a class of one's own defines.

    Raises:
        ValueError: an unknown core, or a flag that belongs to another.
    """
    config = core_config(name)
    if isinstance(config, OwnConfig):
        from videopred.models.own import own_settings

        config = own_settings(config)
    _check_names("core", name, words, type(config), CORES)
    return config


def chosen_core(name: str, settings: CoreSettings) -> Any:
    """The core's settings for a model, from its name and the settings that its flags gave."""
    return OwnConfig(source=name, settings=settings.model_dump(mode="json")) if ":" in name else settings


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
        if field in settings.model_fields:
            continue
        owners = [other for other, (kind, _) in table.items() if field in kind.model_fields]
        got, fix = f"one of {', '.join(owners)}", f"leave it out, or choose one of these with --{part}"
        check.require(not owners, flag, f"be a setting of {name}", got, fix)
