"""From a core's output to the logits of a frame: one vector for all modules, or a picture of each.

A decoder is `forward(outputs, *, trace=False) -> (logits, trace)`: outputs (N, K, D), logits (N, C, H, W); the trace
is empty unless asked for, and `trace_axes` names what is in it, as a core's does. `pictures` is how many pictures it
paints for one frame, which is what its memory grows with.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred.models.codec import Codec
from videopred.models.codec_settings import FilesConfig, MasksConfig, SharedConfig
from videopred.models.constants import keep_constants
from videopred.models.core import Trace
from videopred.models.encoder import coordinates


class SharedDecoder(nn.Module):
    """All modules' outputs, side by side, through the codec."""

    trace_axes: Mapping[str, str] = {}
    pictures = 1

    def __init__(self, config: SharedConfig, codec: Codec, core: Any, film_shape: tuple[int, int, int]):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), *codec.expand(core.rows * core.units), *codec.grow(film_shape[0]))

    def forward(self, outputs: Tensor, *, trace: bool = False) -> tuple[Tensor, Trace]:
        return self.layers(outputs), {}


class FilesDecoder(nn.Module):
    """A frame that does not depend on the order of the modules, nor its weights on their number.

        f[k] = W2 relu(W1 h[k] + b1) + b2                                        the same f for every module
        a[m] = softmax over k of  q[m] · (Wk f[k]) / √D;  y[m] = Σk a[m, k] Wv f[k]    for every query q[m]

    and y, side by side, goes through the codec.

    Source: SCOFF, section 4, has a siamese map of each file and then attention over files for exchangeability, without
    detail; learned queries are the pooling of Lee et al. 2019 (Set Transformer), with one head: our reading. Weights
    start Glorot-uniform and biases at zero, as in R-NEM's codec: with what torch draws, less of a file comes through.
    Trace: `readout_attention`, what each query looks at.
    """

    trace_axes: Mapping[str, str] = {"readout_attention": "queries K"}
    pictures = 1

    def __init__(self, config: FilesConfig, codec: Codec, core: Any, film_shape: tuple[int, int, int]):
        super().__init__()
        units = core.units
        self.each = nn.Sequential(nn.Linear(units, units), nn.ReLU(inplace=True), nn.Linear(units, units))
        self.queries = nn.Parameter(torch.randn(config.queries, units))
        self.keys_values = nn.Linear(units, 2 * units, bias=False)  # Wk and Wv side by side
        for parameter in (*self.each.parameters(), self.keys_values.weight):
            nn.init.xavier_uniform_(parameter) if parameter.ndim == 2 else nn.init.zeros_(parameter)
        self.layers = nn.Sequential(nn.Flatten(), *codec.expand(config.queries * units), *codec.grow(film_shape[0]))

    def forward(self, outputs: Tensor, *, trace: bool = False) -> tuple[Tensor, Trace]:
        keys, values = self.keys_values(self.each(outputs)).chunk(2, -1)
        scores = functional.linear(keys, self.queries) / self.queries.shape[1] ** 0.5  # (N, K, queries)
        attention = torch.softmax(scores, 1).transpose(1, 2)
        return self.layers(attention @ values), ({"readout_attention": attention} if trace else {})


class MasksDecoder(nn.Module):
    """Each module paints a picture with probabilities p[k] and a mask m[k]; the frame has probability Σk m[k] p[k].

    A module's output is repeated at every position of the codec's smallest map, beside the position's coordinates,
    mapped to the codec's channels at each position alone, and grown by the codec to C colors and a mask, with the same
    weights for every module. The masks are a softmax over modules. So the frame depends neither on the order of the
    modules nor the weights on their number.

    Source: the spatial broadcast decoder of Watters et al. 2019, which paints at the frame's size; starting small and
    growing is Locatello et al. 2020 (Slot Attention), at a fraction of the cost.
    Trace: `masks`, in [0, 1], summing to 1 over modules: the model's own segmentation.
    """

    trace_axes: Mapping[str, str] = {"masks": "K H W"}

    def __init__(self, config: MasksConfig, codec: Codec, core: Any, film_shape: tuple[int, int, int]):
        super().__init__()
        channels, *self.grid = codec.start_shape
        self.pictures = core.rows
        self.inward = nn.Linear(core.units, channels)
        self.place = nn.Linear(4, channels, bias=False)
        self.layers = nn.Sequential(nn.GroupNorm(1, channels), nn.ReLU(inplace=True), *codec.grow(film_shape[0] + 1))
        keep_constants(self)

    def constants(self) -> dict[str, Tensor]:
        """Coordinates of the positions at which it begins."""
        return {"coordinates": coordinates(*self.grid)}

    def forward(self, outputs: Tensor, *, trace: bool = False) -> tuple[Tensor, Trace]:
        # The map of [output; coordinates] at each position is the sum of the two maps, each made once.
        content, place = self.inward(outputs.flatten(0, 1)), self.place(self.coordinates)
        start = content[:, :, None, None] + place.permute(2, 0, 1)
        painted = self.layers(start).unflatten(0, outputs.shape[:2])  # (N, K, C + 1, H, W)
        colors, masks = painted[:, :, :-1], functional.log_softmax(painted[:, :, -1:], 1)
        # log p / (1 − p) of the mixture; as the masks sum to 1, 1 − Σ m p is Σ m (1 − p).
        lit = torch.logsumexp(masks + functional.logsigmoid(colors), 1)
        dark = torch.logsumexp(masks + functional.logsigmoid(-colors), 1)
        return lit - dark, ({"masks": masks.squeeze(2).exp()} if trace else {})
