"""Learn: prediction of the next frame, teacher-forced or free-running, on Lightning's Trainer.

Our part is the objective, the order of the clips and what is kept; devices, precision, loops and logs are Lightning's.
Batch k of a run depends on (seed, k) alone, and noise is reseeded from (seed, step, rank) at each step.
"""

import logging
import math
import shutil
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, Sampler
from tqdm import tqdm

from videopred import check
from videopred.checkpoint import CONFIG_KEY, AtomicIO, KeepCheckpoints, RunConfig, provenance, write_json
from videopred.datasets.loader import FilmDataset
from videopred.datasets.opening import open_dataset
from videopred.datasets.source import ClipSource
from videopred.device import pick_device
from videopred.frames import to_film
from videopred.interrupt import HeldInterrupt
from videopred.models import build
from videopred.models.predictor import Predictor
from videopred.models.settings import PredictorConfig
from videopred.rollout import predict_on
from videopred.settings import TrainingConfig


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
        write_json(run / "run.json", record | {"state": state, "updates": trainer.global_step})
    if state == "interrupted":
        raise KeyboardInterrupt
    return run


def _trainer(training: TrainingConfig, run: Path, device: torch.device, callbacks: list[Callback]) -> lightning.Trainer:
    _quiet_lightning()
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


def training_clips(file: ClipSource, training: TrainingConfig) -> tuple[FilmDataset, FilmDataset]:
    """The clips to learn from and the clips to choose the best checkpoint by, both outside the test part.

    Raises:
        ValueError: the file has no training part, or too few clips for a batch.
    """
    count = file.parts.get("train", 0)
    check.require(
        file.frames > 1, "DATA", "hold clips of two frames or more", file.frames, "there is nothing to predict"
    )
    fix = "generate some with `--clips train=1000`, or import them with `--part train`"
    check.require(count > 0, "DATA", "hold a training part", f"{file.path} without one", fix)
    kept = count
    if not file.parts.get("validation"):
        kept = count - max(1, round(count * training.validation_share))
    must = f"be at most {kept}, the clips left to learn from"
    fix = "lower it, or generate more clips"
    check.require(training.batch_size <= kept, "--batch-size", must, training.batch_size, fix)
    most = file.frames - 2
    must = f"be at most {most}, so that of {file.frames} frames one is given and one is predicted from it"
    check.require(training.free_running <= most, "--free-running", must, training.free_running, "lower it")
    learn = FilmDataset(file, "train", stop=kept)
    if kept == count:
        return learn, FilmDataset(file, "validation")
    return learn, FilmDataset(file, "train", start=kept)


class Learner(lightning.LightningModule):
    """The objective: binary cross-entropy of the next frame, from logits, on every frame but the first.

    Before the last `free_running` frames, each is predicted from the true ones before it (teacher forcing).
    """

    def __init__(self, predictor: Predictor, config: RunConfig):
        super().__init__()
        self.predictor, self.config = predictor, config

    def training_step(self, frames: Tensor, batch: int) -> Tensor:
        """Mean BCE per pixel of a batch (B, T, H, W, C) uint8; its sum per frame is logged."""
        loss, pixels = self._loss(frames)
        if not loss.isfinite():
            fix = "lower --learning-rate or --clip-norm; the best checkpoint so far is kept"
            must = "keep the loss finite"
            raise ValueError(check.complaint("training", must, f"{loss.item()} at update {self.global_step + 1}", fix))
        self.log("train_bce", loss.detach() * pixels)
        return loss

    def validation_step(self, frames: Tensor, batch: int) -> None:
        loss, pixels = self._loss(frames)
        self.log("validation_bce", loss * pixels, batch_size=len(frames))

    def _loss(self, frames: Tensor) -> tuple[Tensor, int]:
        film, own = to_film(frames), self.config.training.free_running
        logits = predict_on(self.predictor, film[:, : film.shape[1] - 1 - own], own).logits
        return functional.binary_cross_entropy_with_logits(logits, film[:, 1:]), film[0, 0].numel()

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Noise of a step depends on (seed, step, rank) alone, so that a resumed run draws what it would have."""
        source = _source(self.config.training.seed, _NOISE, self.global_step, self.global_rank)
        torch.manual_seed(int(source.generate_state(1, np.uint64)[0]))

    def configure_optimizers(self) -> Any:
        training = self.config.training
        adam = torch.optim.Adam(self.parameters(), lr=training.learning_rate)
        share = partial(share_of_step_size, training.schedule, training.updates)
        return [adam], [{"scheduler": torch.optim.lr_scheduler.LambdaLR(adam, share), "interval": "step"}]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint[CONFIG_KEY] = self.config.model_dump_json()


def share_of_step_size(schedule: str, updates: int, update: int) -> float:
    """What the full step size is multiplied with at an update, counted from 0; in [0, 1]."""
    if schedule == "constant":
        return 1.0
    rise = min(1.0, (update + 1) / max(1, updates // 20))
    return rise * (0.5 + 0.5 * math.cos(math.pi * update / updates))


_ORDER, _NOISE = range(2)


def _source(seed: int, *address: int) -> np.random.SeedSequence:
    """The random source of one shuffle, or of one step's noise."""
    return np.random.SeedSequence(seed, spawn_key=address)


class ShuffledBatches(Sampler[list[int]]):
    """Endless batches of whole shuffles; batch k is a function of (seed, k), and a shuffle's remainder is skipped.

    Args:
        clips: number of clips.
        size: clips per batch, at most `clips`.
        seed: source of the shuffles.
        start: the first batch to give.
    """

    def __init__(self, clips: int, size: int, seed: int, start: int = 0):
        self.clips, self.size, self.seed, self.start = clips, size, seed, start

    def __iter__(self) -> Iterator[list[int]]:
        per_shuffle = self.clips // self.size
        shuffle, offset = divmod(self.start, per_shuffle)
        while True:
            order = np.random.default_rng(_source(self.seed, _ORDER, shuffle)).permutation(self.clips)
            for k in range(offset, per_shuffle):
                yield order[k * self.size : (k + 1) * self.size].tolist()
            shuffle, offset = shuffle + 1, 0


class StopOnInterrupt(Callback):
    """Ends training after the step under way if somebody pressed Ctrl-C, so that no half-made update is saved."""

    def __init__(self, held: HeldInterrupt):
        self.held = held

    def on_train_batch_end(self, trainer: lightning.Trainer, *others: Any) -> None:
        trainer.should_stop = trainer.should_stop or self.held.asked


class ProgressBar(Callback):
    """Updates, training and validation loss, on stderr."""

    def __init__(self, updates: int):
        self.updates = updates

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.bar = tqdm(total=self.updates, desc="training", unit="update", initial=trainer.global_step)

    def on_train_batch_end(self, trainer: lightning.Trainer, *others: Any) -> None:
        shown = {name: f"{float(value):.1f}" for name, value in trainer.callback_metrics.items()}
        self.bar.set_postfix(shown, refresh=False)
        self.bar.update(trainer.global_step - self.bar.n)

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.bar.close()


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


def _quiet_lightning() -> None:
    """Mute what Lightning says of itself (adverts, devices it looked for); its warnings and errors stay."""
    for name in ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero"):
        logging.getLogger(name).setLevel(logging.WARNING)
