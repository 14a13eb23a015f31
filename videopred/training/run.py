"""The way of one run: data and model in, a run folder out."""

import shutil
import warnings
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from torch.utils.data import DataLoader

from videopred import check
from videopred.checkpoint import AtomicIO, KeepCheckpoints, RunConfig, write_json
from videopred.datasets.opening import open_dataset
from videopred.datasets.source import ClipSource
from videopred.device import pick_device
from videopred.interrupt import HeldInterrupt
from videopred.models import build
from videopred.models.settings import PredictorConfig
from videopred.record import ending, provenance
from videopred.settings import TrainingConfig
from videopred.training.batches import ShuffledBatches, training_clips
from videopred.training.learner import Learner
from videopred.training.stopping import StopOnInterrupt
from videopred.training.watching import ProgressBar, quiet_lightning


def train(
    data: Path,
    model: PredictorConfig | None = None,
    training: TrainingConfig | None = None,
    *,
    out: Path | None = None,
    device: str = "auto",
    overwrite: bool = False,
    progress: bool = False,
) -> Path:
    """Train a predictor and return its run folder.

    Learns from the file's `training` part; the loss that chooses the best checkpoint is measured on its `validation`
    part or, if it has none, on the last clips of `training`, which are then kept aside. Never reads `test`.
    Ctrl-C finishes the step, saves, and raises KeyboardInterrupt: the run can be used as it is.
    Chance comes from torch's global generator, which is seeded here: draws of the caller's do not count, nor go on.

    Args:
        data: HDF5 file of clips.
        model: settings of core and codec; None takes the defaults.
        training: settings of learning; None takes the defaults.
        out: the run folder; None is models/<data>-<core>.
        device: see `pick_device`.
        overwrite: replace a run that is there already; it is deleted before the first update.
        progress: show a bar on stderr.

    Raises:
        FileNotFoundError, ValueError: no such file, or one that does not fit the settings.
        FileExistsError: the run folder is there already.
    """
    model, training = model or PredictorConfig(), training or TrainingConfig()
    where = pick_device(device)
    file = open_dataset(data)
    learn, validate = training_clips(file, training)
    config = RunConfig(model=model, film_shape=(file.channels, file.height, file.width), training=training)
    torch.manual_seed(training.seed)
    learner = Learner(build(model, config.film_shape), config)
    run = out or Path("models") / f"{file.path.stem}-{model.core.label}"
    record = _open_run(run, config, file, where, overwrite)

    held = HeldInterrupt(urgent=True)
    bars = [ProgressBar(training.updates)] if progress else []
    trainer = _trainer(training, run, where, [StopOnInterrupt(held), KeepCheckpoints(run / "checkpoints"), *bars])
    workers = training.workers
    batches = ShuffledBatches(len(learn), training.batch_size, training.seed)
    state = "failed"
    try:
        with warnings.catch_warnings(), held:
            warnings.filterwarnings("ignore", module=r"lightning\.")  # hints about its own defaults
            trainer.fit(
                learner,
                DataLoader(learn, batch_sampler=batches, num_workers=workers),
                DataLoader(validate, batch_size=training.batch_size, num_workers=workers),
            )
        state = "interrupted" if held.asked else "finished"
    except SystemExit:  # how Lightning ends on the second Ctrl-C
        state = "interrupted"
    finally:
        write_json(run / "run.json", record | ending(record, state) | {"updates": trainer.global_step})
    if state == "interrupted":
        raise KeyboardInterrupt
    return run


def _trainer(training: TrainingConfig, run: Path, device: torch.device, callbacks: list[Callback]) -> lightning.Trainer:
    quiet_lightning()
    return lightning.Trainer(
        accelerator={"cuda": "gpu"}.get(device.type, device.type),
        devices=[device.index or 0] if device.type == "cuda" else 1,
        max_steps=training.updates,
        max_epochs=-1,
        val_check_interval=min(training.validate_every, training.updates),
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        gradient_clip_val=training.clip_norm,
        use_distributed_sampler=False,
        logger=[CSVLogger(run, name="logs"), TensorBoardLogger(run, name="tensorboard")],
        log_every_n_steps=min(10, training.validate_every, training.updates),
        callbacks=callbacks,
        plugins=[AtomicIO()],
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=run,
    )


def _open_run(run: Path, config: RunConfig, file: ClipSource, device: torch.device, overwrite: bool) -> dict[str, Any]:
    """Make the run folder with its settings and its record, and return the record."""
    check.absent("--out", run, overwrite)
    if run.exists():
        fix = "choose another --out; only run folders are replaced"
        check.require((run / "settings.json").is_file(), "--out", "be a run folder or new", run, fix)
        shutil.rmtree(run)
    try:
        (run / "checkpoints").mkdir(parents=True)
    except OSError as error:
        got, fix = f"{run} ({error.strerror})", "choose another place"
        raise OSError(check.complaint("--out", "be a folder that can be made", got, fix)) from error
    data = {"path": str(file.path.resolve()), "name": file.name, "sha256": file.fingerprint()}
    record = provenance() | {"state": "running", "device": str(device), "data": data}
    write_json(run / "settings.json", config.model_dump(mode="json"))
    write_json(run / "run.json", record)
    return record
