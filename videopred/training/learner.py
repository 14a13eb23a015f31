"""The objective of training, as Lightning's loop calls it."""

from functools import partial
from typing import Any

import lightning
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from videopred import check
from videopred.checkpoint import CONFIG_KEY, RunConfig
from videopred.frames import to_film
from videopred.models.predictor import Predictor
from videopred.rollout import predict_on
from videopred.training.chance import NOISE, source_of
from videopred.training.schedules import share_of_step_size


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
        source = source_of(self.config.training.seed, NOISE, self.global_step, self.global_rank)
        torch.manual_seed(int(source.generate_state(1, np.uint64)[0]))

    def configure_optimizers(self) -> Any:
        training = self.config.training
        adam = torch.optim.Adam(self.parameters(), lr=training.learning_rate)
        share = partial(share_of_step_size, training.schedule, training.updates)
        return [adam], [{"scheduler": torch.optim.lr_scheduler.LambdaLR(adam, share), "interval": "step"}]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint[CONFIG_KEY] = self.config.model_dump_json()
