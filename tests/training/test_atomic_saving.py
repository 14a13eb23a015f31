"""A checkpoint is on the disk whole or not at all, and Lightning saves so."""

from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from tiny_runs import no_file_longer_than

from videopred.training.atomic_saving import AtomicIO


def test_a_checkpoint_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "checkpoints" / "last.ckpt"
    AtomicIO().save_checkpoint({"update": 1}, path)
    assert torch.load(path, weights_only=True) == {"update": 1}
    message = r"last\.ckpt must be a file that can be written, got File too large; free some space"
    with pytest.raises(OSError, match=message), no_file_longer_than(1000):
        AtomicIO().save_checkpoint({"update": 2, "weights": torch.zeros(1000)}, path)
    assert torch.load(path, weights_only=True) == {"update": 1}
    assert [file.name for file in path.parent.iterdir()] == ["last.ckpt"]


def test_lightning_saves_through_it(tmp_path):
    """The plugin is what Trainer.save_checkpoint uses: the file is written beside its final name."""
    written = []

    class Watched(AtomicIO):
        def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
            written.append(Path(path).name)
            super().save_checkpoint(checkpoint, path, storage_options)

    trainer = lightning.Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, plugins=[Watched()], default_root_dir=tmp_path
    )
    trainer.strategy.connect(lightning.LightningModule())
    trainer.save_checkpoint(tmp_path / "a.ckpt")
    assert written == ["a.ckpt"]
