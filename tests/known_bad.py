"""Cores and layers that are deliberately broken: each shared check must fail on one of them, or it checks nothing."""

from collections.abc import Mapping
from typing import Any

import modular_checks
import torch
from torch import Tensor, nn

from videopred.models import conformance
from videopred.models.brims import BRIMs, MLDRIMs
from videopred.models.competition import lowest
from videopred.models.conformance_ground import FEATURES
from videopred.models.core import Core, State, Trace
from videopred.models.decoder import FilesDecoder, MasksDecoder
from videopred.models.modular import ModularLayer
from videopred.models.reading import ReadMap


class SoundCore(Core):
    """h' = tanh(x W + h U): nothing is wrong with it. The broken cores below each spoil one thing."""

    trace_axes: Mapping[str, str] = {"norm": ""}

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.rows, self.units = 1, 4
        self.inward = nn.Linear(FEATURES, 4).double()
        self.onward = nn.Linear(4, 4, bias=False).double()

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        return self.inward.weight.new_zeros(batch, 4)

    def project(self, slots: Tensor) -> Any:
        return self.inward(slots[:, :, 0]).unbind(1)

    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        state = torch.tanh(projected + self.onward(state))
        return state.unsqueeze(1), state, {"norm": state.norm(dim=-1)}


class SoundModules(SoundCore):
    """Two modules, each of which hears the sum of all that are not silent: nothing is wrong with it either."""

    state_rows: tuple[int, ...] = (2,)

    def __init__(self) -> None:
        super().__init__()
        self.rows = 2

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        return self.inward.weight.new_zeros(batch, 2, 4)

    def given_out(self, state: State) -> Tensor:
        return state

    def advance(self, projected: Tensor, state: State, silent: Tensor | None = None) -> tuple[Tensor, State, Trace]:
        heard = state if silent is None else state * ~silent.unsqueeze(-1)
        own = torch.arange(1, 3, device=state.device).unsqueeze(-1) * self.onward(state)
        state = torch.tanh(projected.unsqueeze(1) + own + heard.sum(1, keepdim=True))
        return state, state, {"norm": state.flatten(1).norm(dim=-1)}


class ModulesThatBegin(SoundModules):
    """The same beside a note of which have begun, in which nothing can be louder."""

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> State:
        return super().initial_state(batch), self.inward.weight.new_zeros(batch, 2, dtype=torch.bool)

    def given_out(self, state: State) -> Tensor:
        return state[0]

    def advance(self, projected: Tensor, state: State, silent: Tensor | None = None) -> tuple[Tensor, State, Trace]:
        memory, begun = state
        memory = torch.where(begun.unsqueeze(-1), memory, memory + 0.1)
        output, memory, trace = super().advance(projected, memory, silent)
        return output, (memory, torch.ones_like(begun)), trace


class HearsTheSilent(SoundModules):
    def advance(self, projected: Tensor, state: State, silent: Tensor | None = None) -> tuple[Tensor, State, Trace]:
        return super().advance(projected, state)


class SharesItsFirstState(SoundCore):
    """All clips begin in one and the same memory."""

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        return super().initial_state(1).expand(batch, -1)


class OtherTrace(SoundCore):
    """Promises a number per module, and gives one per clip."""

    trace_axes: Mapping[str, str] = {"norm": "K"}


class OtherStep(SoundCore):
    """Its step forgets the nonlinearity that its unroll has."""

    def step(self, inputs: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        state = self.inward(inputs[:, 0]) + self.onward(state)
        return state.unsqueeze(1), state, {}


class OtherRun(SoundCore):
    """Does all steps at once, each from the first state."""

    def run(self, slots: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        steps = [self.step(slots[:, t], state) for t in range(slots.shape[1])]
        return torch.stack([output for output, _, _ in steps], 1), steps[-1][1], {}


class StopsShort(SoundCore):
    """Does all steps at once, and forgets the last in the state that it gives."""

    def run(self, slots: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        outputs, before = [], state
        for t in range(slots.shape[1]):
            before, (output, state, _) = state, self.step(slots[:, t], state)
            outputs.append(output)
        return torch.stack(outputs, 1), before, {}


class CountsFromTheStart(SoundCore):
    """Knows how far its unroll has come, which its state does not say."""

    def project(self, slots: Tensor) -> Any:
        return super().project(slots * torch.arange(1, 1 + slots.shape[1])[None, :, None, None])


class HidesMemory(SoundCore):
    """Keeps a second state on itself, in step with the first: two unrolls in a row still equal one."""

    hidden: Tensor | None = None

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        self.hidden = None
        return super().initial_state(batch)

    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        self.hidden = projected if self.hidden is None else 0.5 * self.hidden + projected
        return super().advance(self.hidden, state)


class WritesIntoItsState(SoundCore):
    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        output, new, trace = super().advance(projected, state)
        state.data.mul_(0.5)
        return output, new, trace


class MixesClips(SoundCore):
    """Normalises over the batch."""

    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        return super().advance(projected - projected.mean(0), state)


class SeesTheFuture(SoundCore):
    """Normalises over time."""

    def project(self, slots: Tensor) -> Any:
        return super().project(slots - slots.mean(1, keepdim=True))


class DeafParameter(SoundCore):
    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(2).double())


class DrawsInEvaluation(SoundCore):
    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        return super().advance(projected + torch.randn_like(projected), state)


class StateOfOneDtype(SoundCore):
    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        return torch.zeros(batch, 4, dtype=torch.float64)


class MixesPrecisions(SoundCore):
    """Blends its state with what a linear map gives, which under autocast is of another precision."""

    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        state = torch.lerp(state, projected, torch.sigmoid(self.onward(state)))
        return state.unsqueeze(1), state, {"norm": state.norm(dim=-1)}


class LeavesATableBehind(SoundCore):
    """Keeps numbers that go nowhere with its parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.linspace(0.5, 2, 4, dtype=torch.float64)

    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        return super().advance(projected * self.scale, state)


class KeepsWhatHappened(SoundCore):
    """Puts its last state into its state_dict."""

    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        output, state, trace = super().advance(projected, state)
        self.register_buffer("last", state.detach())
        return output, state, trace


class SavesAMask(SoundCore):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("causal", torch.full((2, 2), -torch.inf).triu(1))


class SavesWords(SoundCore):
    def get_extra_state(self) -> dict[str, str]:
        return {"version": "2"}

    def set_extra_state(self, state: dict[str, str]) -> None:
        pass


class DrawsItsStateUnasked(SoundCore):
    """Its initial state takes chance from elsewhere than its argument."""

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        return torch.randn_like(super().initial_state(batch))


class AsksTheDevice(SoundCore):
    """Decides on a number that it must wait for."""

    def advance(self, projected: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        return super().advance(projected if state.sum().item() < 9 else 2 * projected, state)


CORES = [
    (OtherTrace, conformance.trace_is_as_declared, "must have the names and numbers of axes that trace_axes has"),
    (OtherStep, conformance.step_is_one_unroll, "outputs of single steps must equal those of an unroll"),
    (OtherRun, conformance.step_is_one_unroll, "outputs of single steps must equal those of an unroll"),
    (StopsShort, conformance.step_is_one_unroll, "the state after single steps must equal that after an unroll"),
    (CountsFromTheStart, conformance.two_unrolls_are_one, "two unrolls in a row must equal one"),
    (HidesMemory, conformance.step_depends_on_its_arguments_alone, "whatever was run in between, in evaluation"),
    (WritesIntoItsState, conformance.arguments_stay_as_they_were, "a step must not write into the state it is given"),
    (MixesClips, conformance.clips_do_not_mix, "a clip must give the same alone as in a batch, in evaluation"),
    (SeesTheFuture, conformance.future_does_not_reach_the_past, "an output must not depend on later inputs"),
    (DeafParameter, conformance.every_parameter_learns, "a gradient must reach every parameter, got none for unused"),
    (DrawsInEvaluation, conformance.evaluation_is_deterministic, "in evaluation mode two unrolls must be the same"),
    (StateOfOneDtype, conformance.state_follows_the_parameters, "the state must be torch.float32, got torch.float64"),
    (MixesPrecisions, conformance.runs_under_autocast, "expected dtype .* but got dtype .*BFloat16"),
    (LeavesATableBehind, conformance.moves_to_another_device, "on the device of its parameters: .* it raised Tens"),
    (KeepsWhatHappened, conformance.weights_travel, "running must add nothing to the state_dict, got last"),
    (SavesAMask, conformance.weights_travel, "finite numbers alone, .*; there is causal$"),
    (SavesWords, conformance.weights_travel, "finite numbers alone, .*; there is _extra_state$"),
    (DrawsItsStateUnasked, conformance.initial_state_repeats, "from generators of one seed must be the same"),
    (AsksTheDevice, conformance.step_compiles_whole, "data-dependent expression"),
    (SharesItsFirstState, conformance.first_state_may_be_written_into, "of the first state must change nothing else"),
    (HearsTheSilent, conformance.modules_can_be_intervened_on, "the others must not hear module 0 where it is silent"),
]
"""Each broken core, the check that must catch it, and words of the reason: torch's own where torch refuses."""

# --- layers of modules -----------------------------------------------------------------------------------


class OneMoreIsActive(ModularLayer):
    def forward(self, prepared: Any, read: Any, state: Any, active: Any = None, silent: Any = None) -> Any:
        return super().forward(prepared, read, state, lowest(read.scores, self.active + 1))


class InvertedChoice(ModularLayer):
    """Whoever attends most to nothing is active."""

    def forward(self, prepared: Any, read: Any, state: Any, active: Any = None, silent: Any = None) -> Any:
        return super().forward(prepared, read._replace(scores=-read.scores), state, active)


class TiesToTheHighest(ModularLayer):
    def forward(self, prepared: Any, read: Any, state: Any, active: Any = None, silent: Any = None) -> Any:
        return super().forward(prepared, read, state, lowest(read.scores.flip(1), self.active).flip(1))


class LosesItsCells(ModularLayer):
    """A resting module keeps its hidden state only."""

    def forward(self, prepared: Any, read: Any, state: Any, active: Any = None, silent: Any = None) -> Any:
        (hidden, _), trace = super().forward(prepared, read, state, active)
        return (hidden, self._dynamics(prepared.bias, read.gates, *state)[1]), trace


class ForgetsWhileItRests(ModularLayer):
    def forward(self, prepared: Any, read: Any, state: Any, active: Any = None, silent: Any = None) -> Any:
        (hidden, cell), trace = super().forward(prepared, read, state, active)
        return (hidden * trace["active"].unsqueeze(-1), cell), trace


class MixesWhatItKeeps(ModularLayer):
    """The cells that resting modules would have had count 0 times."""

    def forward(self, prepared: Any, read: Any, state: Any, active: Any = None, silent: Any = None) -> Any:
        (hidden, _), trace = super().forward(prepared, read, state, active)
        new = self._dynamics(prepared.bias, read.gates, *state)[1]
        return (hidden, torch.lerp(state[1], new, trace["active"].unsqueeze(-1).to(new))), trace


class LeaksBetweenModules(ModularLayer):
    """Its recurrent weights have entries between modules."""

    def _dynamics(self, bias: Any, from_input: Tensor, hidden: Tensor, cell: Any) -> Any:
        return super()._dynamics(bias, from_input, hidden + 0.1 * hidden.mean(1, keepdim=True), cell)


class OpensTheGradient(ModularLayer):
    def _source(self, moves: Tensor, candidate: Tensor, hidden: Tensor) -> Tensor:
        return candidate


class OffersWhatItKeeps(ModularLayer):
    def _source(self, moves: Tensor, candidate: Tensor, hidden: Tensor) -> Tensor:
        return torch.where(moves, candidate, hidden.detach())


class KnowsItsIndex(ModularLayer):
    """A module's place in the row matters, and not its weights alone."""

    def _dynamics(self, bias: Any, from_input: Tensor, hidden: Tensor, cell: Any) -> Any:
        place = torch.arange(self.rows).to(hidden).view(-1, 1)
        return super()._dynamics(bias, from_input + 0.1 * place, hidden, cell)


LAYERS = [
    (OneMoreIsActive, modular_checks.exactly_k_are_active),
    (LosesItsCells, modular_checks.resting_modules_keep_their_state_to_the_bit),
    (ForgetsWhileItRests, modular_checks.resting_modules_keep_their_state_to_the_bit),
    (MixesWhatItKeeps, modular_checks.resting_modules_stay_untouched_by_what_they_would_have_become),
    (InvertedChoice, modular_checks.modules_that_attend_least_to_null_are_active),
    (InvertedChoice, modular_checks.the_module_that_cares_most_for_its_input_is_active),
    (TiesToTheHighest, modular_checks.without_a_state_all_slots_are_alike_and_ties_go_to_the_lowest_index),
    (LeaksBetweenModules, modular_checks.without_exchange_modules_are_independent),
    (OpensTheGradient, modular_checks.gradient_reaches_resting_modules_only_through_their_own_memory),
    (OffersWhatItKeeps, modular_checks.active_modules_hear_what_resting_ones_would_have_become),
    (KnowsItsIndex, modular_checks.permuting_modules_with_their_weights_permutes_them),
]
"""Each broken layer, and the check that must catch it in a core that has it."""


class LetsTheIdleRest(ModularLayer):
    """Whoever attends more to nothing than to its input rests, though all may be active."""

    def forward(self, prepared: Any, read: Any, state: Any, active: Any = None, silent: Any = None) -> Any:
        return super().forward(prepared, read, state, read.scores < 0.5)


class AddsToItsInput(ReadMap):
    """There is something to read even where nothing comes in."""

    def project(self, slots: Tensor) -> Any:
        return super().project(slots + 0.1)


class CountsPositions(ReadMap):
    """Weighs slots by their place in the map."""

    def project(self, slots: Tensor) -> Any:
        return super().project(slots * torch.arange(1, 1 + slots.shape[2]).unsqueeze(-1))


READINGS = [
    (AddsToItsInput, modular_checks.without_an_input_the_null_attention_is_one_half),
    (CountsPositions, modular_checks.the_order_of_positions_does_not_matter),
]
"""Each broken reading of a map, and the check that must catch it."""


class ReadsTheTop(BRIMs):
    """Every layer reads the top one, as the lowest does in the authors' code."""

    def _above(self, level: int, state: Any) -> Tensor:
        return self._slots(state[-1])


class ReadsNothingAbove(BRIMs):
    def _above(self, level: int, state: Any) -> Tensor:
        return torch.zeros_like(super()._above(level, state))


class ReadsWhatIsNotYet(BRIMs):
    """A layer reads the one above as it will be after this step."""

    def advance(self, projected: Any, state: Any) -> Any:
        self.coming = state
        _, self.coming, _ = super().advance(projected, state)
        return super().advance(projected, state)

    def _above(self, level: int, state: Any) -> Tensor:
        return super()._above(level, self.coming)


class ReadsLate(BRIMs):
    """A step late: nothing at first."""

    def project(self, slots: Tensor) -> Any:
        return super().project(torch.cat([torch.zeros_like(slots[:, :1]), slots[:, :-1]], 1))


class ChoosesInEachLayer(MLDRIMs):
    one_choice = False


# --- decoders --------------------------------------------------------------------------------------------


class FilesByPlace(FilesDecoder):
    """Tells files apart by their place."""

    def forward(self, outputs: Tensor, *, trace: bool = False) -> tuple[Tensor, Trace]:
        return super().forward(outputs + torch.arange(outputs.shape[1]).unsqueeze(-1), trace=trace)


class MasksByPlace(MasksDecoder):
    """The same of modules, each of which paints a picture."""

    def forward(self, outputs: Tensor, *, trace: bool = False) -> tuple[Tensor, Trace]:
        return super().forward(outputs + torch.arange(outputs.shape[1]).unsqueeze(-1), trace=trace)
