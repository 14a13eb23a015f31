"""Cores that break one demand of a check each, with the words of the reason that must be given."""

from collections.abc import Mapping
from typing import Any

import torch
from known_bad import SoundCore, SoundModules
from torch import Tensor

from videopred.models import conformance
from videopred.models.conformance_ground import STEPS
from videopred.models.core import State, Trace


class Changed(SoundCore):
    """A sound core but for what it gives out of an unroll."""

    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        return self.changed(*super().advance(projected, state))

    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        raise NotImplementedError


class SinglePrecision(Changed):
    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        return output.float(), state, trace


class OfTwoPrecisions(SoundCore):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("decay", torch.linspace(0, 1, 5).float())


class NotFinite(Changed):
    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        return output / 0, state, trace


class NotANumber(Changed):
    """Only at the later of the two times that it is asked."""

    asked = 0

    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        self.asked += 1
        return output if self.asked <= STEPS else output * torch.nan, state, trace


class TraceOfTheBatch(Changed):
    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        return output, state, {"norm": trace["norm"].mean(0, keepdim=True)}


class AttentionWithoutHeads(Changed):
    """Traces under a name that pictures read something with other axes than they do."""

    trace_axes: Mapping[str, str] = {"norm": "", "layer0.input_attention": "K L"}

    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        return output, state, trace | {"layer0.input_attention": output.softmax(-1)}


class OfMoreModules(Changed):
    """Says of five modules what it has but one of."""

    trace_axes: Mapping[str, str] = {"active": "K"}

    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        return output, state, {"active": state.new_ones(len(state), 5)}


class RemembersInTraining(SoundCore):
    """Adds what it saw last, in evaluation nothing."""

    last: Tensor | None = None

    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        before, self.last = self.last, projected.detach()
        return super().advance(projected + before if self.training and before is not None else projected, state)


class MixesInTraining(SoundCore):
    """Normalises over the batch in training, and in evaluation by what it has seen, as batch norm does."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4).double()

    def project(self, slots: Tensor) -> Any:
        steps = self.inward(slots[:, :, 0])
        return self.norm(steps.flatten(0, 1)).view_as(steps).unbind(1)


class StateOfHowMany(SoundCore):
    """Begins with the number of clips in the batch."""

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        return super().initial_state(batch) + batch


class AlmostTheSame(SoundCore):
    """A step is an unroll to six digits."""

    def step(self, inputs: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        output, state, trace = super().step(inputs, state)
        return output + 1e-7, state, trace


class LastStateIsOther(SoundCore):
    """What an unroll of all steps leaves behind is not what its last step led to."""

    def run(self, slots: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        outputs = []
        for inputs in slots.unbind(1):
            output, state, _ = SoundCore.step(self, inputs, state)
            outputs.append(output)
        whole = slots.shape[1] == STEPS
        return torch.stack(outputs, 1), state + whole, {}


class WritesIntoItsInput(SoundCore):
    def step(self, inputs: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        result = super().step(inputs, state)
        inputs.data.mul_(0.5)
        return result


class DeafToTheFirst(SoundCore):
    """Begins to listen at the second step."""

    def project(self, slots: Tensor) -> Any:
        return super().project(torch.cat([0 * slots[:, :1], slots[:, 1:]], 1))


class HearsTheNextStep(SoundCore):
    """Hears each step together with the one after it."""

    def project(self, slots: Tensor) -> Any:
        return super().project(slots + torch.cat([slots[:, 1:], 0 * slots[:, :1]], 1))


class HearsAStepLate(SoundCore):
    """Hears each step when the next one comes."""

    def project(self, slots: Tensor) -> Any:
        return super().project(torch.cat([0 * slots[:, :1], slots[:, :-1]], 1))


class CancelsAParameter(Changed):
    """Has a parameter that it uses, but to no effect."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(4).double())

    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        return output + self.scale - self.scale, state, trace


class KeepsWeightsToItself(Changed):
    """Has weights that are no parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.offset = torch.full((4,), 0.3).double()

    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        return output + self.offset, state, trace


class StateOfOneClip(SoundCore):
    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        return super().initial_state(1)


class StateOfUsualZeros(SoundCore):
    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        return torch.zeros(batch, 4)


class OutputOfOneDtype(Changed):
    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        return output.double(), state, trace


class RoundsToNothing(Changed):
    """Divides by what is left of 1, which in half precision is nothing."""

    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        return output / (1 - 0.999 * torch.ones_like(output)), state, trace


class RoundsWhatItReads(SoundCore):
    """Divides by what is left of 1, which in slots of half precision is nothing."""

    def project(self, slots: Tensor) -> Any:
        return super().project(slots / (1 - 0.999 * torch.ones_like(slots)))


class TracesOnTheCPU(SoundCore):
    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        output, state, _ = super().advance(projected, state)
        return output, state, {"norm": torch.zeros(len(state), dtype=torch.float64)}


class DropsOutOnTheCPU(Changed):
    """In training, multiplies by a mask that it makes on the CPU."""

    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        return output * torch.ones(output.shape).to(output.dtype) if self.training else output, state, trace


class LearnsOnTheCPU(Changed):
    """Scales gradients by numbers that it makes on the CPU."""

    def changed(self, output: Tensor, state: State, trace: Trace) -> tuple[Tensor, State, Trace]:
        output.register_hook(lambda gradient: gradient * torch.ones(gradient.shape).to(gradient.dtype))
        return output, state, trace


class OneTensorForTwo(SoundCore):
    """The hidden state and the cell begin in one and the same memory."""

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> State:
        zeros = super().initial_state(batch)
        return zeros, zeros


class CountsItsState(SoundCore):
    """Keeps a number beside its state that is no tensor."""

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> State:
        return super().initial_state(batch), 0


class MoreModulesThanThereAre(SoundModules):
    state_rows: tuple[int, ...] = (5,)


class GivesOutOther(SoundModules):
    def given_out(self, state: State) -> Tensor:
        return state + 1


class CannotBeSilent(SoundModules):
    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:  # type: ignore[override]
        return super().advance(projected, state)


class HearsTheLastOfTheSilent(SoundModules):
    """Silences its first module alone."""

    def advance(self, projected: Tensor, state: State, silent: Tensor | None = None) -> tuple[Tensor, State, Trace]:
        first = torch.arange(2, device=state.device) == 0
        return super().advance(projected, state, None if silent is None else silent & first)


class IsAnotherWhenCompiled(SoundCore):
    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        return super().advance(2 * projected if torch.compiler.is_compiling() else projected, state)


CORES = [
    (OneTensorForTwo, conformance.first_state_may_be_written_into, "of the first state must change nothing else, so"),
    (CountsItsState, conformance.shapes, "the first state must be of tensors alone, got int"),
    (
        MoreModulesThanThereAre,
        conformance.modules_can_be_intervened_on,
        r"a row for each module on axis 1, \(5,\) by state_rows, got \[\[torch.Size\(\[2\]\)\]\]",
    ),
    (GivesOutOther, conformance.modules_can_be_intervened_on, "given_out must give the output of the step that led"),
    (CannotBeSilent, conformance.modules_can_be_intervened_on, "advance must take `silent`, a mask of the modules"),
    (HearsTheLastOfTheSilent, conformance.modules_can_be_intervened_on, "the others must not hear module 1 where"),
    (SinglePrecision, conformance.shapes, "the output must have the parameters' dtype, got torch.float32"),
    (
        OfTwoPrecisions,
        conformance.is_of_one_precision,
        "parameters and buffers must be of one precision, torch.float64; there is decay of torch.float32",
    ),
    (NotFinite, conformance.shapes, "the output must be finite"),
    (NotANumber, conformance.evaluation_is_deterministic, "two unrolls must be the same; they differ by nan"),
    (TraceOfTheBatch, conformance.shapes, "trace norm must have one row per clip of the batch"),
    (
        AttentionWithoutHeads,
        conformance.trace_is_as_declared,
        "trace_axes must give layer0.input_attention the axes `heads K L`, by which pictures .*, got `K L`$",
    ),
    (
        OfMoreModules,
        conformance.trace_is_as_declared,
        "the axis K of trace active must have the size of rows, 1, got 5",
    ),
    (
        RemembersInTraining,
        conformance.step_depends_on_its_arguments_alone,
        "whatever was run in between, in training; they differ",
    ),
    (MixesInTraining, conformance.clips_do_not_mix, "the same alone as in a batch, in training; they differ"),
    (StateOfHowMany, conformance.clips_do_not_mix, "a clip must have the same first state alone as in a batch; they"),
    (AlmostTheSame, conformance.step_is_one_unroll, "outputs of single steps must equal .* differ by 1e-07"),
    (LastStateIsOther, conformance.step_is_one_unroll, "the state after single steps must equal that after an unroll"),
    (LastStateIsOther, conformance.two_unrolls_are_one, "the state after two unrolls in a row must equal that"),
    (WritesIntoItsInput, conformance.arguments_stay_as_they_were, "a step must not write into its input"),
    (DeafToTheFirst, conformance.future_does_not_reach_the_past, "must depend on the inputs of every step up to"),
    (HearsTheNextStep, conformance.future_does_not_reach_the_past, "an output must not depend on later inputs"),
    (HearsAStepLate, conformance.future_does_not_reach_the_past, "must depend on the inputs of every step up to"),
    (
        CancelsAParameter,
        conformance.every_parameter_learns,
        "a gradient must reach every parameter, got none for scale",
    ),
    (KeepsWeightsToItself, conformance.weights_travel, "must give the same, so keep tensors as parameters or buffers"),
    (DropsOutOnTheCPU, conformance.moves_to_another_device, "on the device of its parameters: .* raised"),
    (LearnsOnTheCPU, conformance.moves_to_another_device, "on the device of its parameters: .* raised"),
    (TracesOnTheCPU, conformance.moves_to_another_device, "on the device of its parameters: .* gave .* on cpu"),
    (
        StateOfUsualZeros,
        conformance.shapes,
        "the first state must have the parameters' dtype, here float64, got torch.fl",
    ),
    (StateOfOneClip, conformance.shapes, "a tensor of the state must have one row per clip"),
    (RoundsToNothing, conformance.runs_under_autocast, "the output under autocast must be finite, on slots of torch.f"),
    (RoundsWhatItReads, conformance.runs_under_autocast, "under autocast must be finite, on slots of torch.bfloat16"),
    (OutputOfOneDtype, conformance.state_follows_the_parameters, "the output must be torch.float32"),
    (IsAnotherWhenCompiled, conformance.step_compiles_whole, "a compiled step must give the same; they differ"),
]
"""Each broken core, the check that must catch it, and words of the reason."""
