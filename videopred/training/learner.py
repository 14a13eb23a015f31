"""The objective of training, as Lightning's loop calls it."""

from functools import partial
from typing import Any, NamedTuple

import lightning
import numpy as np
import torch
from lightning.pytorch.strategies import DDPStrategy, SingleDeviceStrategy
from torch import Tensor

from videopred import check
from videopred.checkpoint import CONFIG_KEY, LOOKS_KEY, RunConfig
from videopred.device import device_of, seed_streams
from videopred.frames import to_film
from videopred.models.compiling import compiles_whole
from videopred.models.precision import widened
from videopred.models.predictor import Predictor
from videopred.training.answer import Answer
from videopred.training.chance import NOISE, source_of
from videopred.training.faults import LOSS_ITSELF, first_bad_gradient, first_fault
from videopred.training.feeding import logits_of_next, loss_of_next
from videopred.training.losses import as_logged, loss_between
from videopred.training.recording import Recorder
from videopred.training.resuming import as_if_between_updates
from videopred.training.schedules import own_frames, share_of_samples, share_of_step_size
from videopred.training.validations import ValidationHistory


class _Piece(NamedTuple):
    """A piece of a batch, and its loss."""

    frames: Tensor
    loss: Tensor


class _Update(NamedTuple):
    """An update that was asked for, and whether it could be done."""

    number: int
    pieces: list[_Piece]
    norm: Tensor | None
    """Of the gradients of all weights, unless others look at them."""
    is_finite: Answer
    """Whether the losses and the norm are."""


class Learner(lightning.LightningModule):
    """The loss of the next frame, on every frame but the first, and what follows from it.

    In training, noise and schedules apply; what is measured on validation clips is the loss of the full task: no noise,
    no samples, `free_running` frames at the end from the model's own predictions.
    """

    def __init__(self, predictor: Predictor, config: RunConfig):
        super().__init__()
        self.predictor, self.config = predictor, config
        self.validations = ValidationHistory(config.training.improvement or 0.0)
        self._recorder: Recorder | None = None
        self._pieces: list[_Piece] = []
        self._unseen: _Update | None = None
        self._sums = torch.zeros(2, dtype=torch.float64)

    @property
    def between_updates(self) -> bool:
        """Whether no piece of an update is done that needs others."""
        return not self._pieces

    @property
    def pixels(self) -> int:
        """Values of a frame."""
        channels, height, width = self.config.film_shape
        return channels * height * width

    def training_step(self, frames: Tensor, batch: int) -> Tensor:
        """Mean loss of a piece of a batch (B, T, H, W, C) uint8; that of the whole batch is logged."""
        training = self.config.training
        own, sampling = own_frames(training, self.global_step), share_of_samples(training, self.global_step)
        loss = self.loss_to_learn(frames, own, sampling)
        self._look_at_update()  # the one before, while a device computes the loss of this one
        self._pieces.append(_Piece(frames, widened(loss.detach())))
        if len(self._pieces) == training.accumulate:
            self._log_update(torch.stack([piece.loss for piece in self._pieces]).mean())
        return loss

    def _log_update(self, loss: Tensor) -> None:
        """Log the mean loss of a whole batch, every few updates and at the last."""
        if self._is_logged(self.global_step + 1):
            training, shared = self.config.training, self.trainer.world_size > 1
            self.log(f"train_{training.loss_name}", as_logged(training, loss, self.pixels), sync_dist=shared)
            self.log("learning_rate", self.step_size())

    def _is_logged(self, number: int) -> bool:
        """Whether an update, counted from 1, has a row in the logs."""
        every = self.trainer.log_every_n_steps  # type: ignore[attr-defined]
        return number % every == 0 or number == self.config.training.updates

    def loss_to_learn(self, frames: Tensor, own: int, sampling: float) -> Tensor:
        """`loss_of` the frames, for one backward pass: with --cuda-graphs, from a graph that is recorded once."""
        if not self.config.compute.cuda_graphs:
            return self.loss_of(frames, own, sampling)
        if self._recorder is None:
            self._recorder = Recorder(self)
        return self._recorder(self, frames, own, sampling)

    def forget_graph(self) -> None:
        """Let go of what was recorded, and of the device's memory that it holds."""
        self._recorder = None

    def teardown(self, stage: str) -> None:
        self.forget_graph()

    def forward(self, frames: Tensor, own: int, sampling: float | Tensor) -> Tensor:
        """`loss_of`, as a module is called."""
        return self.loss_of(frames, own, sampling)

    def loss_of(self, frames: Tensor, own: int, sampling: float | Tensor = 0.0) -> Tensor:
        """Mean loss of frames (B, T, H, W, C) uint8 but the first; see `logits_of_next` and `loss_between`."""
        film, loss = to_film(frames, self.dtype_of_films), partial(loss_between, self.config.training)
        noise = self.config.training.noise
        if self.paints_in_blocks:
            return loss_of_next(self.predictor, film, loss, own, noise=noise, sampling=sampling)
        return loss(logits_of_next(self.predictor, film, own, noise=noise, sampling=sampling), film[:, 1:])

    @property
    def paints_in_blocks(self) -> bool:
        """Whether `painted_loss` may be used: losses are not scaled, weights are whole, and so is the decoder."""
        training, compute = self.config.training, self.config.compute
        scaled = training.precision == "16-mixed"
        return not scaled and compute.keeps_weights_whole and not compiles_whole(self.predictor, compute.compile)

    def losses_of(self, frames: Tensor) -> Tensor:
        """Losses (B, T − 1, C, H, W) of the full task, without noise, of frames (B, T, H, W, C) uint8 but the first."""
        film = to_film(frames, self.dtype_of_films)
        # A whole predictor that is compiled would be so anew for the shapes of a rollout.
        with torch.compiler.set_stance("force_eager"):
            logits = logits_of_next(self.predictor, film, self.config.training.free_running)
        return loss_between(self.config.training, widened(logits), widened(film[:, 1:]), "none")

    @property
    def dtype_of_films(self) -> torch.dtype:
        """The type that films are converted to: that of the weights."""
        return next(self.predictor.parameters()).dtype

    # --- validation: every clip once, whichever process has it -----------------------------------------------

    def on_validation_model_zero_grad(self) -> None:
        self._look_at_update()  # while there are gradients
        super().on_validation_model_zero_grad()

    def on_validation_epoch_start(self) -> None:
        self._sums = torch.zeros(2, dtype=torch.float64)

    def validation_step(self, batch: tuple[Tensor, Tensor], number: int) -> None:
        """Adds the losses of clips; those of weight 0 only make batches equal among processes."""
        frames, weights = batch
        clips = self.losses_of(frames).flatten(1).mean(1)
        weights = weights.cpu().double()  # Apple's GPU has no float64
        self._sums += torch.stack([(clips.cpu().double() * weights).sum(), weights.sum()])

    def on_validation_epoch_end(self) -> None:
        training = self.config.training
        if self.trainer.world_size > 1:
            parts = self.all_gather(self._sums.to(self.device))
            assert isinstance(parts, Tensor)
            self._sums = parts.sum(0).cpu()
        total, count = self._sums
        loss = as_logged(training, total / count, self.pixels)
        self.validations.note(loss.item(), self.global_step, training.plateau_patience)
        self.log(f"validation_{training.loss_name}", loss.float())
        if self.has_stopped_falling:
            self.trainer.should_stop = True

    @property
    def has_stopped_falling(self) -> bool:
        """Whether --stop-after ends the training here."""
        limit = self.config.training.stop_after
        return limit is not None and self.validations.fruitless >= limit

    # --- what happens around an update ------------------------------------------------------------------------

    def on_train_batch_start(self, batch: Any, number: int) -> None:
        """Noise depends on (seed, update, share of the batch) alone, so that a resumed run draws what it would have.

        A share is what one process computes in one piece: two processes draw what two pieces of one would.
        """
        training = self.config.training
        share = self.global_rank * training.accumulate + len(self._pieces)
        source = source_of(training.seed, NOISE, self.global_step, share)
        seed_streams(int(source.generate_state(1, np.uint64)[0]))
        for group in self.trainer.optimizers[0].param_groups:
            group["lr"] = self.step_size()

    def step_size(self) -> float:
        """The step size of the next update."""
        training = self.config.training
        return training.learning_rate * share_of_step_size(training, self.global_step, self.validations.decays)

    def configure_gradient_clipping(self, optimizer: Any, *limits: Any, **named_limits: Any) -> None:
        """See to losses and gradients that are not finite, and clip the gradients."""
        limit = self.config.training.clip_norm
        if not isinstance(self.trainer.strategy, SingleDeviceStrategy | DDPStrategy):  # where each holds a part of them
            self._check_finite(optimizer, None)
            self.clip_gradients(optimizer, gradient_clip_val=limit, gradient_clip_algorithm="norm")
            return
        weights = [weight for weight in self.predictor.parameters() if weight.grad is not None]
        norm = torch.nn.utils.get_total_norm([weight.grad for weight in weights if weight.grad is not None])
        self._check_finite(optimizer, norm)
        if limit is not None:
            finite = norm.nan_to_num(nan=0.0, posinf=0.0)  # else all gradients would be NaN, and the first be named
            torch.nn.utils.clip_grads_with_norm_(weights, limit, finite)

    def _check_finite(self, optimizer: Any, norm: Tensor | None) -> None:
        """Refuse an update with a loss or a norm that is not finite, at once or, on a CUDA device, before the next.

        Reading a number waits for the device. So on CUDA it is not read now: the optimizer is told on the device to
        skip an update that is not finite (`found_inf`), and the host reads the answer during the next step, before the
        next backward pass, while weights and gradients are still those of this update. Gradients are already summed
        over processes, so that all decide alike.
        """
        if self.config.training.precision == "16-mixed":
            norm = None  # the scaler skips such updates
        losses = [piece.loss for piece in self._pieces]
        is_finite = torch.stack(losses if norm is None else [*losses, norm]).isfinite().all()
        self._unseen, self._pieces = _Update(self.global_step + 1, self._pieces, norm, Answer(is_finite)), []
        if self.fused:
            optimizer.found_inf = (~is_finite).float()  # as torch.amp.GradScaler tells optimizers that are fused
        else:
            self._look_at_update()

    def _look_at_update(self) -> None:
        """Refuse the update that nobody has looked at, if there is one, unless all in it is finite."""
        if self._unseen is None:
            return
        (number, pieces, norm, is_finite), self._unseen = self._unseen, None
        if is_finite:
            return
        for frames, loss in pieces:
            if not loss.isfinite():
                with self.trainer.precision_plugin.train_step_context():
                    where = first_fault(self.predictor, to_film(frames, self.dtype_of_films))
                self._complain(number, f"{loss.item()}", where)
        assert norm is not None
        self._complain(number, f"a gradient of norm {norm.item()}", first_bad_gradient(self.predictor))

    def on_train_batch_end(self, *others: Any) -> None:
        """Where an update is logged, look at it before it is: one that is refused has no row."""
        if self._unseen is not None and self._is_logged(self._unseen.number):
            self._look_at_update()

    @property
    def fused(self) -> bool | None:
        """True where the optimizer is a fused one, as CUDA has, which can be told to leave out an update.

        None elsewhere: False would also turn off that Adam takes all weights at once.
        """
        device = device_of(self) if self._trainer is None else self.trainer.strategy.root_device
        scaled = self.config.training.precision == "16-mixed"
        return True if device.type == "cuda" and not scaled and self.config.compute.keeps_weights_whole else None

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), lr=self.config.training.learning_rate, fused=self.fused)

    def _complain(self, number: int, got: str, where: str) -> None:
        core, training = self.config.model.core, self.config.training
        clipped = "or give --clip-norm" if training.clip_norm is None else "or --clip-norm"
        fix = f"lower --learning-rate {clipped}; what was saved before is kept"
        if where == LOSS_ITSELF and training.loss == "gaussian":
            fix = "raise --deviation"
        elif training.has_own_loss and (where == LOSS_ITSELF or (number == 1 and where.startswith("the gradient"))):
            fix = f"make {training.loss} finite, and its gradient, also where a prediction is exact, or sure and wrong"
        elif number == 1:  # before any step
            fix = "choose other settings of the model"
        if getattr(core, "comm", False) and not getattr(core, "comm_gate", True):  # states may grow from step to step
            fix = f"give --core.comm-gate, or {fix}"
        got = f"{got} at update {number}, first in {where}"
        raise check.FailedError(check.complaint("training", "keep the loss finite", got, fix))

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self._look_at_update()
        as_if_between_updates(checkpoint, self.config.training)
        checkpoint[CONFIG_KEY] = self.config.model_dump_json()
        checkpoint[LOOKS_KEY] = self.validations.state_dict()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.validations.load_state_dict(checkpoint[LOOKS_KEY])
        for optimizer in checkpoint["optimizer_states"]:  # it may have been saved on another device
            for group in optimizer["param_groups"]:
                group["fused"] = self.fused
