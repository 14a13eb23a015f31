"""All that can be seen of one clip: its films as pixels, and what the model did at each step as arrays."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from videopred import check
from videopred.frames import to_frames
from videopred.rendering import FIGURES, ROWS

if TYPE_CHECKING:
    from videopred.rollout import Rollout

_NEEDED = {
    "active": "modules that may rest (rims)",
    "active or input_attention": "modules or object files (rims, scoff)",
    "schema": "schemata (scoff)",
    "null_attention": "a null slot (rims)",
    "comm_attention": "modules that hear one another (rims, scoff)",
    "top_down": "layers that read those above (brims)",
    "positions": "the positions of objects",
    "visibility/fraction": "how much of each object is visible",
}
"""Words of `Drawing.needs` -> what a model or its data must have."""


class ClipView(NamedTuple):
    """One clip, its truth and what a model made of it.

    What a model did to predict frame t is at index t of `trace`: it is the step that read frame t − 1. At frame 0,
    which nobody predicts, it is blank.
    """

    context: int
    """Frames given."""
    truth: np.ndarray
    """(T, H, W, C) uint8, T = context + horizon."""
    prediction: np.ndarray
    """(T, H, W, C) uint8; frames of the context each from the true ones before it, and the first is the true one. Those
    that nobody predicted are blank."""
    trace: Mapping[str, np.ndarray] = {}
    """name -> (T, …) float; NaN at frame 0."""
    masks: np.ndarray | None = None
    """(T, H, W) uint8, true objects counted from 1; None where they are not known."""
    map_shape: tuple[int, int] | None = None
    """Rows and columns of the map whose positions the core reads; None if it reads vectors."""
    strips: Sequence[tuple[int, int]] | None = None
    """The rows of the frame that each module sees, the first and the one behind the last; None if each sees all."""
    truths: Mapping[str, np.ndarray] = {}
    """positions (T, N, 2), px, and visibility/fraction (T, N) in [0, 1], of the true objects; motion (T,), in a word,
    how the one ball came to each frame. Each where it is known."""
    schema_count: int = 0
    """How many schemata the model says that it has."""
    changed: np.ndarray | None = None
    """(T, H, W, C) uint8, the prediction under an intervention; None without one."""
    changed_trace: Mapping[str, np.ndarray] = {}
    """What the model did under the intervention."""
    intervention: Sequence[str] = ()
    """What was done to it, in a few words for each change."""
    model: str = ""
    """What the model is called; empty where it is alone."""
    unpredicted: int = 0
    """Frames, from the first on, that nobody predicted: the context of films made elsewhere."""
    beside: Sequence["ClipView"] = ()
    """What other models made of the same clip."""
    error: float = float("nan")
    """Mean squared error of the rollout's intensities, before they were rounded to pixels; NaN where it is not known.
    """

    @property
    def of_each(self) -> list["ClipView"]:
        """The view of each model."""
        return [self, *self.beside]

    @property
    def word_for_module(self) -> str:
        """What a part of the state is called: a module, or SCOFF's object file, which chooses a schema."""
        return "object file" if self.traced("schema") else "module"

    @property
    def schemata(self) -> int:
        """How many schemata there are to choose among; of a model that keeps that to itself, up to the last in use."""
        weights = self.traced("schema_weights")
        in_use = int(np.nanmax(self.traced("schema")[0])) + 1
        return max(self.schema_count, in_use, weights[0].shape[-1] if weights else 0)

    def traced(self, name: str) -> list[np.ndarray]:
        """The traces of that name, the lowest layer's first; a layer's own begin with `layer0.` and so on."""
        return [values for key, values in self.trace.items() if key.rpartition(".")[2] == name]


def check_row(view: ClipView, row: str) -> None:
    """Refuse a row that cannot be drawn of a view, and say which can.

    Raises:
        ValueError: there is no such row, or the view lacks what it draws.
    """
    check.one_of("--rows", row, ROWS)
    there = [name for name in ROWS if any(name in available(one) for one in view.of_each)]
    of = "these models" if view.beside else "this model"
    must, fix = f"be among {', '.join(there)} for {of} and data", "leave it out"
    if "an intervention" in ROWS[row].needs:
        fix = "give --without, --freeze, --swap or --schema"
    elif "masks of objects" in ROWS[row].needs:
        fix = "leave it out, or use data with masks of objects"
    check.require(row in there, "--rows", must, row, fix)


def check_figure(view: ClipView, figure: str) -> None:
    """Refuse a figure that cannot be drawn of a view, and say which can.

    Raises:
        ValueError: there is no such figure, or the view lacks what it draws.
    """
    check.one_of("--figure", figure, FIGURES)
    there = known(view)
    drawn = [name for name, one in FIGURES.items() if there.issuperset(one.needs)]
    lacking = " and ".join(_NEEDED.get(need, need) for need in FIGURES[figure].needs if need not in there)
    must = f"be among {', '.join(drawn)} for this model and data"
    check.require(figure in drawn, "--figure", must, f"{figure}, which needs {lacking}", "ask for another")


def available(view: ClipView) -> list[str]:
    """The rows that can be drawn of a view."""
    there = known(view)
    return [name for name, row in ROWS.items() if there.issuperset(row.needs)]


def known(view: ClipView) -> set[str]:
    """What a view has, in the words of `Drawing.needs`."""
    there = {name.rpartition(".")[2] for name in view.trace} | set(view.truths)
    there |= {"active or input_attention"} if there & {"active", "input_attention"} else set()
    others = {"strips of frames": view.strips, "masks of objects": view.masks, "an intervention": view.changed}
    return there | {name for name, other in others.items() if other is not None}


def view_of_rollout(rollout: "Rollout", truth: Tensor, index: int) -> ClipView:
    """A view of one clip of a rollout, without what only its data and its model tell.

    Args:
        rollout: of a batch of clips, with its trace if that is to be drawn.
        truth: (B, horizon, C, H, W) float in [0, 1], the true frames that follow its context.
        index: which clip of the batch.

    Raises:
        ValueError: truth of another shape than the prediction, or values outside [0, 1].
    """
    trace = {}
    for name, values in rollout.trace.items():
        happened = values[index].float().cpu().numpy()
        trace[name] = np.concatenate([np.full_like(happened[:1], np.nan), happened])
    films = (rollout.context, truth, rollout.prediction, rollout.one_step)
    context, true, predicted, one_step = (film[index].float().cpu() for film in films)
    must, fix = f"have the prediction's shape {tuple(predicted.shape)}", "give the frames that followed the context"
    check.require(true.shape == predicted.shape, "truth", must, tuple(true.shape), fix)
    seen, imagined = torch.cat([context, true]), torch.cat([context[:1], one_step, predicted])
    return ClipView(
        context=len(context),
        truth=to_frames(seen),
        prediction=to_frames(imagined),
        trace=trace,
        error=(predicted.double() - true.double()).square().mean().item(),
    )


def view_of_film(film: Tensor, prediction: Tensor) -> ClipView:
    """A view of a clip of which only the rollout was predicted, as films made elsewhere are.

    Args:
        film: (context + horizon, C, H, W) float in [0, 1], the true frames.
        prediction: (horizon, C, H, W) float in [0, 1].

    Raises:
        ValueError: values outside [0, 1].
    """
    seen, imagined = to_frames(film), to_frames(prediction)
    context = len(seen) - len(imagined)
    blank = np.full_like(seen[:context], 255)  # as paper is
    return ClipView(
        context=context,
        truth=seen,
        prediction=np.concatenate([blank, imagined]),
        unpredicted=context,
    )
