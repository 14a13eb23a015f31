"""A predictor as plainly as possible: frame by frame through encoder, core and decoder, whose layers are torch's."""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred.models.elu import ELU
from videopred.models.predictor import Predictor
from videopred.models.rnem import UpsampleConv


class PlainUpsampleConv(nn.Module):
    """Doubling by nearest pixels, then the 4×4 convolution on the doubled map, with the weights of a folded one."""

    def __init__(self, folded: UpsampleConv):
        super().__init__()
        self.weight, self.bias = nn.Parameter(folded.weight.detach().contiguous()), folded.bias

    def forward(self, inputs: Tensor) -> Tensor:
        """(N, channels, H, W) -> (N, outputs, 2 H, 2 W)."""
        doubled = functional.interpolate(inputs, scale_factor=2, mode="nearest")
        return functional.conv2d(functional.pad(doubled, (1, 2, 1, 2)), self.weight, self.bias)


class PlainPredictor(nn.Module):
    """Computes what a predictor of ours does, frame by frame and with a plain core.

    Args:
        predictor: whose encoder and decoder are copied.
        core: a plain core with the predictor core's weights: its `project` computes nothing from its input, and its
            `advance` takes the slots themselves.
    """

    def __init__(self, predictor: Predictor, core: Any):
        super().__init__()
        self.encoder, self.core = _plain(copy.deepcopy(predictor.encoder)), core
        self.decoder = _plain(copy.deepcopy(predictor.decoder))

    def forward(self, film: Tensor, own: int = 0, state: Any = None) -> Tensor:
        """Logits (B, T + own, C, H, W) of the next frames, first after each of film (B, T, C, H, W), then `own` more.

        Those more are predicted from its own frames. `state` is the core's; None is its initial state.
        """
        state = self.core.initial_state(film.shape[0]) if state is None else state
        self.core.project(film[:, :1])  # what it does once a sequence
        said: list[Tensor] = []
        for t in range(film.shape[1] + own):
            frame = film[:, t] if t < film.shape[1] else torch.sigmoid(said[-1])
            output, state, _ = self.core.advance(self.encoder(frame), state)
            said.append(self.decoder(output)[0])
        return torch.stack(said, 1)


def _plain(module: nn.Module) -> nn.Module:
    """The module, in place, with torch's layers and torch's order of weights in memory."""
    for name, child in module.named_children():
        if isinstance(child, UpsampleConv):
            setattr(module, name, PlainUpsampleConv(child))
        elif isinstance(child, ELU):
            setattr(module, name, nn.ELU())
        elif isinstance(child, nn.ReLU):
            setattr(module, name, nn.ReLU())
        elif isinstance(child, nn.Linear | nn.Conv2d):
            child.weight.data = child.weight.data.contiguous()
        else:
            _plain(child)
    return module
