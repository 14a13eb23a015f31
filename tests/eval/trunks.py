"""Files that stand for the trunks of LPIPS, which cannot be fetched in tests: right in kind, random in value."""

import hashlib
from pathlib import Path

import torch
from torchvision import models

MODELS = {"alex": models.alexnet, "vgg": models.vgg16, "squeeze": models.squeezenet1_1}


def stand_in(net: str, folder: Path, *, whole: bool = False) -> Path:
    """A file named by its hash as torchvision's are, with the features of a random network, or all of it."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        state = MODELS[net]().state_dict()
    kept = {name: value for name, value in state.items() if whole or name.startswith("features.")}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "weights.pth"
    torch.save(kept, path)
    begins = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    return path.rename(folder / f"{net}-{begins}.pth")
