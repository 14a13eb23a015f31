"""Learned perceptual distance. The only door of lpips."""

import hashlib
import warnings
from pathlib import Path
from typing import NamedTuple

import lpips
import torch
from torch import Tensor, nn

from videopred.check import complaint, require
from videopred.eval.frame_metric import FrameMetric, Frames
from videopred.eval.settings import LPIPSConfig

SMALLEST = 32
"""Rows and columns that every trunk can take, px."""


class Trunk(NamedTuple):
    """A network of torchvision's whose features are compared."""

    file: str
    """Name that torchvision gives its weights, in which their hash begins after the last hyphen."""
    program: str
    """What to run, where there is internet, to have the file in torch's cache."""


def _trunk(file: str, model: str) -> Trunk:
    return Trunk(file, f"python -c \"from torchvision.models import {model}; {model}(weights='DEFAULT')\"")


TRUNKS = {
    "alex": _trunk("alexnet-owt-7be5be79.pth", "alexnet"),
    "vgg": _trunk("vgg16-397923af.pth", "vgg16"),
    "squeeze": _trunk("squeezenet1_1-b8a52dc0.pth", "squeezenet1_1"),
}
"""LPIPSConfig.net -> the trunk."""


class LPIPS(FrameMetric):
    """Learned perceptual image patch similarity, version 0.1: a distance between features of a trained network.

    It is made for photographs; of black and white balls it tells little. Grey frames are taken as three equal
    channels. Intensities are scaled to [−1, 1] first: without that, values come out about 3.7 times too small.
    Version 0.0 and other trunks give other numbers. Films are measured in single precision.

    The library has the heads with it but would download the trunk. Here that comes from a file, and is never random.

    Source: Zhang et al. 2018, by their package lpips.

    Raises:
        FileNotFoundError: there is no file of the trunk's weights.
        ValueError: the file is not the one that torchvision publishes, by its SHA-256.
    """

    name = "lpips"
    label = "LPIPS"
    range = (0.0, float("inf"))
    higher_is_better = False
    decimals = 3
    config: LPIPSConfig

    def __init__(self, config: LPIPSConfig):
        super().__init__(config)
        self._net = _network(config.net, _trunk_file(config))

    @property
    def convention(self) -> str:
        return f"version 0.1, {self.config.net} trunk, intensities scaled to [-1, 1], grey as three equal channels"

    def measure_frames(self, frames: Frames) -> dict[str, Tensor]:
        channels, height, width = frames.truth.shape[1:]
        fix = f"score larger frames, or leave {self.name} out of --metrics"
        large = min(height, width) >= SMALLEST
        require(large, "frames", f"be at least {SMALLEST} x {SMALLEST} px", f"{height} x {width}", fix)
        fix = f"leave {self.name} out of --metrics"
        require(channels in (1, 3), "frames", "have 1 or 3 channels for lpips", channels, fix)
        ours, true = (2 * film.float().expand(-1, 3, -1, -1) - 1 for film in (frames.prediction, frames.truth))
        return {self.name: self._net.to(ours.device)(ours, true).flatten()}


def _trunk_file(config: LPIPSConfig) -> Path:
    """The file of the trunk's weights, if it is there and the right one."""
    trunk = TRUNKS[config.net]
    path = config.weights or Path(torch.hub.get_dir()) / "checkpoints" / trunk.file
    if not path.is_file():
        must = f"have the weights of its trunk, {trunk.file} as torchvision publishes it"
        fix = (
            f"run, where there is internet, `{trunk.program}`, and copy what it gets to there; "
            "`videopred evaluate` also takes --metric-settings lpips.weights=FILE"
        )
        raise FileNotFoundError(complaint("lpips", must, f"nothing at {path}", fix))
    begins = trunk.file.removesuffix(".pth").rpartition("-")[2]
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    must = f"be {trunk.file} as torchvision publishes it, whose SHA-256 begins with {begins}"
    fix = "get the file again: it is another, or broken"
    require(found.startswith(begins), f"the weights {path}", must, found[: len(begins)], fix)
    return path


def _network(net: str, trunk: Path) -> nn.Module:
    """The network of lpips, with the weights of a trunk; on the CPU."""
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lpips calls torchvision in a deprecated way
        # With a random trunk it downloads none; every weight of the trunk is replaced below.
        network = lpips.LPIPS(net=net, version="0.1", pnet_rand=True, verbose=False)
    weights = torch.load(trunk, map_location="cpu", weights_only=True)
    # What lpips calls slice2.3.weight is features.3.weight in torchvision.
    names = {name: "features." + name.partition(".")[2] for name in network.net.state_dict()}
    network.net.load_state_dict({name: weights[theirs] for name, theirs in names.items()})
    return network
