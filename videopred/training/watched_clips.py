"""A few validation clips looked at closely while training goes on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch
from lightning.pytorch import loggers
from lightning.pytorch.callbacks import Callback
from tensorboard.compat.proto.summary_pb2 import Summary

from videopred.files import told_of
from videopred.frames import to_film
from videopred.models.predictor import Predictor
from videopred.pictures import gif_bytes, png_bytes
from videopred.rendering.activity_figure import activity_figure, drawable
from videopred.rendering.canvas import our_style, pixels
from videopred.rendering.clip_view import view_of_rollout
from videopred.rendering.film import film_frames
from videopred.rendering.strip import strip
from videopred.rollout import Rollout, roll_out
from videopred.training.collapse import collapse

_SHOWN = 2
"""Clips of which pictures are made."""


class WatchClips(Callback):
    """At each look at the validation clips, numbers that show collapse; at every n-th, pictures for TensorBoard.

    They are of rollouts of the same few clips each time, in evaluation mode, in which nothing is drawn: whether anybody
    watches changes nothing of what is learned.

    Args:
        frames: (B, T, H, W, C) uint8, the clips.
        context: frames that are given; the others are predicted.
        every: n, so that the n-th look is the first with pictures; 0 draws none.
    """

    def __init__(self, frames: np.ndarray, context: int, every: int):
        self.frames, self.context, self.every = torch.from_numpy(frames), context, every
        self.looks = 0

    def on_validation_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        predictor: Predictor = pl_module.predictor  # type: ignore[assignment]
        rollout, truth = self._roll_out(predictor)
        pl_module.log_dict(collapse(rollout.trace, getattr(predictor.core, "schema_count", 0)))
        if self.every and self.looks % self.every == self.every - 1:
            names = drawable(rollout.trace, predictor.core.trace_axes)
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

    @our_style()
    def _draw(
        self, logger: loggers.TensorBoardLogger, rollout: Rollout, truth: torch.Tensor, names: Sequence[str], step: int
    ) -> None:
        for clip in range(min(_SHOWN, len(truth))):
            view = view_of_rollout(rollout, truth, clip)
            frames, still = film_frames(view, panel_px=128), strip(view)
            pictures = {"film": (frames[0], gif_bytes(frames)), "strip": (still, png_bytes(still))}
            if names:
                activity = pixels(activity_figure({name: view.trace[name] for name in names}, self.context))
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
    # SummaryWriter's own methods take arrays, not bytes, and films only with another package installed.
    with told_of(Path(logger.log_dir), "folder"):
        logger.experiment._get_file_writer().add_summary(summary, step)
