"""What training says while it runs."""

import logging
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback
from tqdm import tqdm


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


def quiet_lightning() -> None:
    """Mute what Lightning says of itself (adverts, devices it looked for); its warnings and errors stay."""
    for name in ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero"):
        logging.getLogger(name).setLevel(logging.WARNING)
