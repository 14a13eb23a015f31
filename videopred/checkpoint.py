"""Keep: the run folder, and the checkpoints in it.

models/<run>/
    settings.json       the RunConfig: everything that is needed to build and train the model again
    run.json            where it came from: command, data and its fingerprint, versions, commit, times, state of the run
    log.txt             what was printed
    checkpoints/        best.ckpt (lowest validation loss), last.ckpt and others, see `training.keeping`; each holds
                        the RunConfig too
    logs/, tensorboard/ curves
    profile.json        where the time went, if it was asked for
"""

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from zipfile import ZipFile

import torch
from pydantic import Field, JsonValue, PositiveInt, ValidationError
from torch import Tensor

from videopred import check, check_path, systems
from videopred.device import pick_device, usual_numbers
from videopred.explaining import explain
from videopred.models import build
from videopred.models.own import settings_of
from videopred.models.precision import not_finite
from videopred.models.predictor import Predictor
from videopred.models.settings import PredictorConfig
from videopred.own_code import say_changed_code
from videopred.run_files import EXPORT, SETTINGS, export_of
from videopred.run_record import read_record, written_by
from videopred.settings import ComputeConfig, Settings, TrainingConfig, WatchConfig
from videopred.software import fix_of_version
from videopred.typed_commands import typed_command
from videopred.weights import read_export, read_header

CONFIG_KEY = "videopred"
"""Where a checkpoint holds its RunConfig, as JSON, so that torch.load(weights_only=True) reads it."""

WEIGHTS_PREFIX = "predictor."
"""What a checkpoint's weight names begin with: the attribute of the training module."""

LOOKS_KEY = "videopred_looks"
"""Where it holds what the looks at the validation clips said so far."""

BEST, LAST = "best.ckpt", "last.ckpt"

_OTHERS = (
    "delete it before `videopred train --resume` of a run that is not finished, or use another by "
    "`videopred export RUN --checkpoint NAME`"
)


class DataRecord(Settings):
    """The clips of a run, by place and content."""

    path: str
    """Where they were; or the preset, or the file of a recipe, that they were made from."""
    name: str
    """What the data set is called."""
    sha256: str
    """Its fingerprint."""


class ExperimentRecord(Settings):
    """The experiment that a run is of."""

    name: str
    """Its name, or that of the file it was in."""
    own_file: bool = False
    """Whether it was in a file of somebody's own. Older runs do not say, and their names do."""
    scale: str
    """How large: paper, small or tiny."""
    changed: dict[str, JsonValue] = Field(default_factory=dict)
    """Setting -> value, of those that flags changed."""

    @property
    def own(self) -> str:
        """What flags changed, in words to put behind its name: of another core, only that it is its own."""
        parts = tuple(setting.removesuffix(".kind") for setting in self.changed if setting.endswith(".kind"))
        of_part = (setting.partition(".")[0] if setting.startswith(parts) else setting for setting in self.changed)
        return f", with its own {', '.join(dict.fromkeys(of_part))}" if self.changed else ""


class TrainedConfig(Settings):
    """Everything needed to build a trained model again; all that is known of one from a program of somebody's own."""

    model: PredictorConfig
    """Encoder, core and decoder."""
    film_shape: tuple[PositiveInt, PositiveInt, PositiveInt]
    """Channels, height and width of the films it was built for."""
    data: DataRecord | None = None
    """What it learned from."""


class RunConfig(TrainedConfig):
    """Everything needed to build the model of a run and to train it again."""

    training: TrainingConfig
    """How it learned."""
    compute: ComputeConfig = ComputeConfig()
    """Where it computed."""
    watch: WatchConfig = WatchConfig()
    """What was recorded while it learned."""
    init_from: str | None = None
    """The run or export that its first weights are from."""
    experiment: ExperimentRecord | None = None
    """The experiment that it is a run of; None if it is of none."""

    @property
    def own_code(self) -> tuple[str, ...]:
        """Addresses of the user's own code by which it learns."""
        parts = tuple(part.source for part in self.model.own_parts)
        return (*parts, self.training.loss) if self.training.has_own_loss else parts


_Config = TypeVar("_Config", bound=TrainedConfig)


class DamagedCheckpointError(check.FaultyFileError):
    """Not every byte of a checkpoint is as it was written."""


def whole_checkpoint(path: Path) -> dict[str, Any]:
    """What is in a checkpoint, on the CPU, after every byte of it was compared with its checksum.

    Raises:
        DamagedCheckpointError: it is damaged. FaultyFileError: it is whole, and no checkpoint.
        OSError, MemoryError: the system does not give it out, which says nothing of what is in it.
    """
    name, must = str(path), "be a whole checkpoint"
    unknown = check.complaint(name, must, "something else", _OTHERS)
    check.require_sound(not path.is_dir(), name, must, "a folder", _OTHERS)
    try:
        with ZipFile(path) as archive:  # PyTorch's format, which has a CRC-32 for every tensor, but reads on regardless
            damaged = archive.testzip()
    except Exception as error:  # on foreign bytes zip raises whatever they lead it to
        if systems.is_system_error(error):
            raise
        raise DamagedCheckpointError(unknown) from error
    if damaged is not None:
        raise DamagedCheckpointError(check.complaint(name, must, f"damage in {damaged}", _OTHERS))
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # and so does the unpickler
        if systems.is_system_error(error):
            raise
        # Of the archive's own list of its files, which has no checksum, zip checks less than PyTorch does.
        damaged_list = str(error).startswith("PytorchStreamReader failed")
        raise (DamagedCheckpointError if damaged_list else check.FaultyFileError)(unknown) from error


def checkpoint_file(run: Path, name: str | None = None) -> Path:
    """A checkpoint of a run: the one of that name, or its best, or its last if it stopped before the first validation.

    Args:
        run: a run folder.
        name: such as last or update-0001000; None is the best.

    Raises:
        FileNotFoundError: there is no such run, or it has no checkpoint. ValueError: it has none of that name.
    """
    check_path.run_folder(run)
    folder = run / "checkpoints"
    if name is not None:
        there = sorted(path.stem for path in folder.glob("*.ckpt"))
        return folder / f"{check.one_of('--checkpoint', name.removesuffix('.ckpt'), there)}.ckpt"
    for usual in (BEST, LAST):
        if (folder / usual).is_file():
            return folder / usual
    export = f"give its export, {export_of(run)}, " if export_of(run).is_file() else ""
    gone = "they were deleted, or it was stopped before the first of them"
    fix = check_path.waiting_run(run) or f"{gone}; {export}put checkpoints/ back, or train it anew"
    raise FileNotFoundError(check.complaint("RUN", f"hold checkpoints/{BEST} or {LAST}", run, fix))


def load_run(run: Path | str, device: torch.device | str | None = None) -> Predictor:
    """The trained predictor of a run, in evaluation mode and in float32, whatever precision it was trained in.

    Args:
        run: folder written by `videopred train`, or file written by `videopred export` or `save_model`.
        device: where its weights go: any of torch's, or the name of one, see `pick_device`; None is the CPU.

    Raises:
        FileNotFoundError: no run or no checkpoint there. TypeError: what is given is no path.
        ValueError: a damaged checkpoint, export or settings file, a checkpoint that is not of this run's model, or
            weights that are not finite.
    """
    where = device if isinstance(device, torch.device) else pick_device("cpu" if device is None else device)
    config, weights = read_run(check_path.as_path("RUN", run))
    with torch.random.fork_rng(devices=()), usual_numbers():  # weights are drawn first
        predictor = build(config.model, config.film_shape)
    take_weights(predictor, weights, run)
    say_code_changed(config.model, check_path.as_path("RUN", run))
    return predictor.float().to(where).eval()  # `to` would make complex numbers real


def say_code_changed(model: PredictorConfig, run: Path) -> None:
    """Say on stderr which files of parts of one's own have changed since a run, or what was exported of it, learned."""
    sources = [part.source for part in model.own_parts]
    if sources:
        with suppress(check.FaultyFileError, OSError):  # a damaged record, or a closed one, tells nothing of the past
            say_changed_code(sources, read_header(run)[1] if run.is_file() else read_record(run), f"{run} learned")


def take_weights(predictor: Predictor, weights: dict[str, Tensor], source: Path | str) -> None:
    """Give a predictor these weights.

    Args:
        predictor: built from the settings that came with them.
        weights: by the names of its parameters.
        source: the run, export or checkpoint that they are from.

    Raises:
        FaultyFileError: they do not fit.
    """
    whose = f"weights of {source}"
    fix = "train again; the file, or the module of a part of your own, was changed or is of another version"
    try:
        own = predictor.state_dict()
        predictor.load_state_dict(weights)
    except RuntimeError as error:
        got = " ".join(str(error).split())
        raise check.FaultyFileError(check.complaint(whose, "fit the model in its settings", got, fix)) from None
    for name, value in weights.items():  # torch would make floats of anything
        wanted, got = _numbers(own[name]), _numbers(value)
        check.require_sound(wanted == got, whose, f"be {wanted} in {name}, as the model's are", got, fix)


def _numbers(values: Tensor) -> str:
    """What kind of numbers a tensor holds; all floats are of one kind, however many bits they have."""
    if values.is_complex():
        return "complex numbers"
    return "floats" if values.is_floating_point() else str(values.dtype).removeprefix("torch.")


def take_checkpoint(predictor: Predictor, path: Path) -> None:
    """Give a predictor the weights in a checkpoint of its run.

    Raises:
        FaultyFileError: they do not fit, or see `whole_checkpoint`.
    """
    take_weights(predictor, _weights_in(whole_checkpoint(path)), path)


def _weights_in(content: dict[str, Any]) -> dict[str, Tensor]:
    """The predictor's weights in a checkpoint."""
    weights = content["state_dict"]
    fits = isinstance(weights, dict) and all(isinstance(name, str) for name in weights)
    check.require_sound(fits, "RUN", "have weights by name in its checkpoint", "something else", "train it again")
    named = {name.removeprefix(WEIGHTS_PREFIX): value for name, value in weights.items()}
    got = f"some also without {WEIGHTS_PREFIX} before it"
    check.require_sound(len(named) == len(weights), "RUN", "name each weight once", got, "train it again")
    return named


def read_run(run: Path) -> tuple[TrainedConfig, dict[str, Tensor]]:
    """Settings of a run, and the weights of its predictor on the CPU.

    Raises:
        FileNotFoundError, ValueError: as `load_run`.
    """
    if check_path.run_folder(run).is_file():
        export = read_export(run)
        return _exported(run, export.settings), _require_finite(run, export.weights)
    config, weights, _ = read_checkpoint(run)
    return config, weights


def read_checkpoint(run: Path, name: str | None = None) -> tuple[RunConfig, dict[str, Tensor], int]:
    """Settings of a run, the weights in one of its checkpoints, on the CPU, and how many updates these learned in.

    Args:
        run: a run folder.
        name: see `checkpoint_file`.

    Raises:
        FileNotFoundError, ValueError: as `load_run`; there is no checkpoint of that name; or no name was given, and the
            best, of which the last tells, is gone.
    """
    path = checkpoint_file(run, name)
    content = whole_checkpoint(path)
    expected = folder_settings(run)
    stored = settings_in(content, path, expected)
    if name is None and path.name == LAST and content.get(LOOKS_KEY, {}).get("lowest", math.inf) < math.inf:
        export = typed_command(("export", str(run), "--checkpoint", "last"))
        fix = f"put it back, or take the last weights for what they are with `{export}`"
        raise check.FaultyFileError(check.complaint("RUN", f"hold checkpoints/{BEST}", f"{run}, which lost it", fix))
    missing = [key for key in ("state_dict", "global_step") if key not in content]
    fix = "put back the run's own checkpoint, or train again"
    check.require_sound(not missing, str(path), "hold weights and their updates", f"no {', '.join(missing)}", fix)
    return stored, _require_finite(run, _weights_in(content)), content["global_step"]


def _require_finite(run: Path, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights if they are numbers that predict something."""
    must, fix = "have weights that are finite numbers", "train again, with a lower --learning-rate"
    odd = not_finite(weights)
    check.require_sound(not odd, "RUN", must, f"others in {', '.join(odd)} of {run}", fix)
    return weights


def settings_in(content: Any, path: Path, expected: RunConfig) -> RunConfig:
    """The settings in a checkpoint, which must be of the model and the seed that are expected.

    Args:
        content: what is in the checkpoint.
        path: its file.
        expected: the settings of the run that it belongs to.

    Raises:
        FaultyFileError: it holds no settings of a run, or is of another model.
    """
    stored = _parsed(path, content.get(CONFIG_KEY, "{}") if isinstance(content, dict) else "{}", RunConfig)
    ours, theirs = (choices(config) | {"seed": config.training.seed} for config in (expected, stored))
    differing = [name for name in ours if name in theirs and ours[name] != theirs[name]]
    check.require_sound(
        not differing,
        str(path),
        f"be of the model in settings.json, with {_written(ours, differing)}",
        _written(theirs, differing),
        "put back the run's own checkpoint, or give the run that this one came from",
    )
    return stored


def run_settings(run: Path) -> TrainedConfig:
    """The settings of a run folder or an export, without its weights.

    Raises:
        FaultyFileError: they are damaged; it names their file.
    """
    return _exported(run, read_header(run)[0]) if run.is_file() else folder_settings(run)


def _exported(path: Path, settings: dict[str, Any]) -> TrainedConfig:
    """The settings in an export, as JSON has them: of a run, or of what `save_model` wrote."""
    return _parsed(path, json.dumps(settings), RunConfig if "training" in settings else TrainedConfig)


def folder_settings(run: Path) -> RunConfig:
    """The settings of a run folder; see `run_settings`."""
    path = run / SETTINGS
    return _parsed(path, path.read_bytes(), RunConfig)


def _parsed(path: Path, text: str | bytes, kind: type[_Config]) -> _Config:
    """The settings in a file of a run; a file that holds none is a FaultyFileError that names it."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        run = path.parent if path.name == SETTINGS else path.parent.parent
        record = read_header(path)[1] if path.suffix == EXPORT else read_record(run)
        fix = fix_of_version(written_by(record), f"restore the file, or train again ({explain(error)})")
        raise check.FaultyFileError(check.complaint("RUN", "hold the settings of a run", path, fix)) from None


def choices(config: TrainedConfig) -> dict[str, Any]:
    """The settings that weights depend on: name as on the command line, such as core.units -> value.

    Raises:
        ValueError: a part of one's own is not there, or has other settings; see `settings_of`.
    """
    found: dict[str, Any] = {"frames": "×".join(map(str, config.film_shape))}
    model = config.model.model_dump()
    found["stack"] = model.pop("stack")
    for own in config.model.own_parts:  # of whose settings those alone are kept that were given
        model[own.part()] = settings_of(own).model_dump() | {"kind": own.source}
    for part, settings in model.items():
        found[part] = settings.pop("kind")
        found |= {f"{part}.{name}": value for name, value in settings.items()}
    return found


def _written(found: dict[str, Any], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {found[name]}" for name in names)
