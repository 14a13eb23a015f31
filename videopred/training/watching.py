"""What is seen of a training while it runs: the bar, the loggers, and a few validation clips looked at closely."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch
from lightning.pytorch import loggers
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only
from tensorboard.compat.proto.summary_pb2 import Summary
from tqdm import tqdm

from videopred import check
from videopred.activity import activity_figure, drawable
from videopred.frames import to_film
from videopred.models.predictor import Predictor
from videopred.pictures import gif_bytes, png_bytes
from videopred.rendering.canvas import pixels
from videopred.rendering.film import film_frames
from videopred.rendering.scene import scene_of_rollout
from videopred.rendering.strip import strip
from videopred.rollout import Rollout, roll_out
from videopred.settings import ComputeConfig, TrainingConfig, WatchConfig
from videopred.training.clips import TrainingClips
from videopred.training.collapse import collapse
from videopred.training.profiling import Profile

LOGGERS: dict[str, tuple[str, str, Callable[[Path], dict[str, Any]]]] = {
    "wandb": ("WandbLogger", "wandb", lambda run: {"project": "videopred", "name": run.name, "save_dir": run}),
    "mlflow": ("MLFlowLogger", "mlflow", lambda run: {"experiment_name": "videopred", "run_name": run.name}),
    "comet": ("CometLogger", "comet_ml", lambda run: {"project": "videopred", "name": run.name}),
}
"""Name for --logger -> Lightning's class, the library that it needs, and the arguments of it for a run folder."""

_WATCHED, _SHOWN = 16, 2
"""Clips that are watched, and those of which pictures are made."""


def check_watch(watch: WatchConfig, compute: ComputeConfig) -> None:
    """Refuse loggers whose libraries are not installed, and a profile of a compiled model, which has no parts.

    Raises:
        ValueError: names the flag.
    """
    apart = not watch.profile or compute.compile == "none"
    fix = "leave one of them out"
    check.require(apart, "--profile", "come without --compile", f"both, --compile {compute.compile}", fix)
    for name in watch.logger:
        _, library, _ = LOGGERS[name]
        package = library.replace("_", "-")
        try:
            import_module(library)
        except ImportError as error:
            must, got = f"find {package} installed", f"{name} ({error})"
            fix = f"`pip install {package}`, or leave --logger {name} out; CSV and TensorBoard are always written"
            raise ValueError(check.complaint("--logger", must, got, fix)) from None


class Curves(loggers.TensorBoardLogger):
    """TensorBoard's curves, without that of epochs: it is 0 throughout, for all updates are of one."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        super().log_metrics({name: value for name, value in metrics.items() if name != "epoch"}, step)


def make_loggers(watch: WatchConfig, run: Path) -> list[loggers.Logger]:
    """Loggers of Lightning's besides CSV and TensorBoard; their own settings say where they send what they are told."""
    chosen = [LOGGERS[name] for name in watch.logger]
    return [getattr(loggers, kind)(**arguments(run)) for kind, _, arguments in chosen]


def watchers(
    watch: WatchConfig, run: Path, clips: TrainingClips, training: TrainingConfig, progress: bool
) -> list[Callback]:
    """All that watches a training.

    Args:
        watch: what to show.
        run: the run folder.
        clips: the first validation clips are watched.
        training: says how many clips an update learns from.
        progress: show a bar on stderr, if that is a terminal.
    """
    context = clips.file.context
    watched = clips.beginnings(_WATCHED, context + clips.file.horizon)
    found: list[Callback] = [WatchClips(watched, context, watch.pictures_every)]
    frames = training.batch_size * clips.frames
    if progress:
        found.append(ProgressBar(training.updates, frames // training.accumulate))
    if watch.profile:
        found.append(Profile(run / "profile.json", frames, training.accumulate))
    return found


class ProgressBar(Callback):
    """Updates, losses and frames per second, on stderr, if that is a terminal.

    Args:
        updates: of the whole training.
        frames: that a piece of a batch has: clips times their length.
        clock: tells seconds.
    """

    def __init__(self, updates: int, frames: int, clock: Callable[[], float] = time.perf_counter):
        self.updates, self.frames, self.clock = updates, frames, clock
        self.pace: float | None = None
        """Seconds per piece, looks at the validation clips left out; the last ones count most."""

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.bar = tqdm(total=self.updates, desc="training", unit="update", initial=trainer.global_step, disable=None)
        self.since = self.clock()

    def on_train_batch_end(self, trainer: lightning.Trainer, *others: Any) -> None:
        now = self.clock()
        passed, self.since = now - self.since, now
        self.pace = passed if self.pace is None else 0.9 * self.pace + 0.1 * passed
        shown = {
            name: f"{float(value):.4g}"
            for name, value in trainer.callback_metrics.items()
            if name.startswith(("train_", "validation_"))
        }
        self.bar.set_postfix(shown | {"frames/s": f"{self.frames / max(self.pace, 1e-9):.0f}"}, refresh=False)
        self.bar.update(trainer.global_step - self.bar.n)

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.since = self.clock()

    def on_train_end(self, *others: Any) -> None:
        self.bar.close()

    def on_exception(self, *others: Any) -> None:
        if hasattr(self, "bar"):
            self.bar.close()


class WatchClips(Callback):
    """At each look at the validation clips, numbers that show collapse; at every n-th, pictures for TensorBoard.

    They are of rollouts of the same few clips each time, in evaluation mode, in which nothing is drawn: whether anybody
    watches changes nothing of what is learned.

    Args:
        frames: (B, T, H, W, C) uint8, the clips.
        context: frames that are given; the others are predicted.
        every: looks from one set of pictures to the next, which ends as many looks; 0 draws none.
    """

    def __init__(self, frames: np.ndarray, context: int, every: int):
        self.frames, self.context, self.every = torch.from_numpy(frames), context, every
        self.looks = 0

    def on_validation_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        predictor: Predictor = pl_module.predictor  # type: ignore[assignment]
        rollout, truth = self._roll_out(predictor)
        pl_module.log_dict(collapse(rollout.trace, getattr(predictor.config.core, "schemata", 0)))
        if self.every and self.looks % self.every == self.every - 1:
            names = [name for name in drawable(predictor.core.trace_axes) if name in rollout.trace]
            for logger in trainer.loggers:
                if isinstance(logger, loggers.TensorBoardLogger) and trainer.is_global_zero:
                    self._draw(logger, rollout, truth, names, max(0, trainer.global_step - 1))
        self.looks += 1

    def _roll_out(self, predictor: Predictor) -> tuple[Rollout, torch.Tensor]:
        weight = next(predictor.parameters())
        film = to_film(self.frames, weight.dtype).to(weight.device)
        given, truth = film[:, : self.context], film[:, self.context :]
        # These few films are not worth a compilation of their shapes.
        with torch.compiler.set_stance("force_eager"):
            return roll_out(predictor, given, truth.shape[1], trace=True), truth

    def _draw(
        self, logger: loggers.TensorBoardLogger, rollout: Rollout, truth: torch.Tensor, names: Sequence[str], step: int
    ) -> None:
        for clip in range(min(_SHOWN, len(truth))):
            scene = scene_of_rollout(rollout, truth, clip)
            frames, still = film_frames(scene, panel_px=128), strip(scene)
            pictures = {"film": (frames[0], gif_bytes(frames)), "strip": (still, png_bytes(still))}
            if names:
                activity = pixels(activity_figure({name: scene.trace[name] for name in names}, self.context))
                pictures["modules"] = (activity, png_bytes(activity))
            for name, (picture, content) in pictures.items():
                show(logger, f"clip {clip}/{name}", picture.shape[0], picture.shape[1], content, step)

    def state_dict(self) -> dict[str, Any]:
        return {"looks": self.looks}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.looks = state_dict["looks"]


def show(logger: loggers.TensorBoardLogger, tag: str, height: int, width: int, content: bytes, step: int) -> None:
    """Give TensorBoard a PNG or a GIF as it is; it serves a GIF as one, so that it moves."""
    image = Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=content)
    summary = Summary(value=[Summary.Value(tag=tag, image=image)])
    # SummaryWriter's own ways take arrays, and films only with a package more.
    logger.experiment._get_file_writer().add_summary(summary, step)


def quiet_lightning() -> None:
    """Mute what Lightning says of itself (adverts, devices it looked for); its warnings and errors stay."""
    for name in ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero"):
        logging.getLogger(name).setLevel(logging.WARNING)
