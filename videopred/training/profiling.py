"""Where the time of training goes: a watch that is always on exactly one part of it."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor

from videopred.files import write_json
from videopred.models.predictor import Predictor
from videopred.run_files import PROFILE

PARTS = ("data", "encoder", "core", "decoder", "optimizer", "rest")
"""Parts of an update. Those of the model have their backward passes with them; the optimizer has the clipping of
gradients; the rest is the loss, what is logged, and Lightning's own work."""


class Profile(Callback):
    """Seconds of each part of the updates; written when training ends.

    Looks at the validation clips are counted apart, with the checkpoints that are saved after them.
    The parts of the model are told apart where tensors cross their borders, on the way forward and on the way back.
    On a GPU work is waited for at every border, so that all of it is slower than without a profile.
    The first update is left out: much is done in it for the first and last time.

    Args:
        path: the JSON file to write; of several processes, the first writes.
        frames: that an update learns from.
        pieces: that its batch passes in.
        clock: tells seconds.
    """

    def __init__(
        self, path: Path, frames: int, pieces: int = 1, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.path, self.frames, self.pieces, self.clock = path, frames, pieces, clock
        self.seconds = dict.fromkeys((*PARTS, "validation"), 0.0)
        self.done = 0
        self.now, self.since = "rest", clock()
        self.hooks: list[Any] = []
        self.waits = False

    def turn(self, part: str) -> None:
        """Add the time since the last turn to the part that was on, and turn to another part."""
        if self.waits:
            torch.accelerator.synchronize()
        now = self.clock()
        self.seconds[self.now] += now - self.since
        self.now, self.since = part, now

    def turn_on_gradient(self, tensor: Tensor, part: str) -> None:
        """Once the gradient of a tensor is known, a part is on."""
        if tensor.requires_grad:
            tensor.register_hook(lambda gradient: self.turn(part))

    def attach(self, predictor: Predictor) -> None:
        """Listen to the borders of the parts of a predictor."""

        def enter(part: str) -> Callable[..., None]:
            def before(module: Any, inputs: tuple[Tensor, ...]) -> None:
                if torch.is_grad_enabled():  # else a look at validation clips
                    self.turn(part)
                    self.turn_on_gradient(inputs[0], "core")

            return before

        def leave(part: str, following: str) -> Callable[..., None]:
            def after(module: Any, inputs: Any, output: Any) -> None:
                if torch.is_grad_enabled():
                    self.turn(following)
                    self.turn_on_gradient(output[0] if isinstance(output, tuple) else output, part)

            return after

        for part, following in (("encoder", "core"), ("decoder", "rest")):
            module = getattr(predictor, part)
            self.hooks.append(module.register_forward_pre_hook(enter(part)))
            self.hooks.append(module.register_forward_hook(leave(part, following)))

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.waits = pl_module.device.type != "cpu"
        self.attach(pl_module.predictor)  # type: ignore[arg-type]

    def on_train_batch_start(self, *others: Any) -> None:
        self.turn("rest")

    def on_after_backward(self, *others: Any) -> None:
        self.turn("optimizer")

    def on_train_batch_end(self, *others: Any) -> None:
        self.turn("data")
        self.done += 1
        if self.done == self.pieces:
            self.seconds = dict.fromkeys(self.seconds, 0.0)

    def on_validation_start(self, *others: Any) -> None:
        self.turn("validation")  # until the next update begins, as Lightning saves checkpoints after all else

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.turn("rest")
        for hook in self.hooks:
            hook.remove()
        counted = self.done // self.pieces - 1
        if counted > 0 and trainer.is_global_zero:
            write_json(self.path, summary(self.seconds, counted, self.frames * counted))

    def on_exception(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, exception: BaseException
    ) -> None:
        self.on_train_end(trainer, pl_module)


def summary(seconds: dict[str, float], updates: int, frames: int) -> dict[str, Any]:
    """What is kept of a profile: shares of the parts of an update, and frames per second."""
    whole = sum(seconds[part] for part in PARTS)
    return {
        "updates": updates,
        "seconds_per_update": whole / updates,
        "frames_per_second": frames / whole,
        "shares": {part: seconds[part] / whole for part in PARTS},
        "seconds_of_validation": seconds["validation"],
    }


def table(run: Path) -> str:
    """What a run's profile says, as plain text for a terminal."""
    path = run / PROFILE
    if not path.is_file():
        return "no profile: it begins with the second update"
    profile = json.loads(path.read_text(encoding="utf-8"))
    lines = [f"{profile['frames_per_second']:.0f} frames/s, {profile['seconds_per_update']:.4f} s an update"]
    lines += [f"  {part.ljust(10)} {share:6.1%}" for part, share in profile["shares"].items()]
    return "\n".join(lines)
