"""How a checkpoint gets onto the disk: whole or not at all."""

from pathlib import Path
from typing import Any

from lightning.fabric.plugins import TorchCheckpointIO

from videopred.files import whole_file


class AtomicIO(TorchCheckpointIO):
    """Writes beside the final name, then renames: a killed process never leaves half a checkpoint.

    Lightning's own way moves a file from the temporary folder, which is a copy when that is another disk.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        with whole_file(Path(path)) as partial:
            super().save_checkpoint(checkpoint, partial, storage_options)
