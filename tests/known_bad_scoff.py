"""Deliberately broken SCOFF cores: each check of `scoff_checks` must fail on one of them, or it checks nothing."""

from collections.abc import Iterator
from typing import Any

import scoff_checks
import torch
from torch import Tensor, nn

from videopred.models.scoff import SCOFF, Memory, Projected


class FilesWithABias(SCOFF):
    """Tells files apart by their place."""

    def _read(self, projected: Projected, query: Tensor, silent: Tensor | None) -> tuple[Tensor, Tensor]:
        attention, read = super()._read(projected, query, silent)
        return attention, read + torch.arange(self.rows).unsqueeze(-1)


class DrawsOutsideProject(SCOFF):
    """Draws its noise in the step, where it cannot be permuted along with the files."""

    def advance(self, projected: Projected, state: Any) -> Any:
        return super().advance(projected._replace(noise=torch.randn_like(projected.noise)), state)


class KeyOfEachSchema(SCOFF):
    """Has a preference among schemata, as key maps of their own would give."""

    def _choose(self, candidates: Tensor, query: Tensor, noise: Tensor | None) -> tuple[Tensor, ...]:
        own = torch.arange(3).double().expand(candidates.shape[:3])
        return super()._choose(candidates, query, own)


class CountsPositions(SCOFF):
    """Weighs slots by their place in the map."""

    def project(self, slots: Tensor) -> Iterator[Projected]:
        return super().project(slots * torch.arange(1, 1 + slots.shape[2]).unsqueeze(-1))


class SharesOutSlots(SCOFF):
    """Softmax over positions for every file, as in RIMs, where files should compete for each position."""

    def _read(self, projected: Projected, query: Tensor, silent: Tensor | None) -> tuple[Tensor, Tensor]:
        attention, read = super()._read(projected, query, silent)
        return attention / attention.sum(-1, keepdim=True), read


class WeightsOfFiles(SCOFF):
    """Owns a parameter for each file."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.own = nn.Parameter(torch.zeros(self.rows, self.units))


class MixesSchemata(SCOFF):
    """Takes the softmax itself, as the authors' LSTM version does."""

    def _choose(self, candidates: Tensor, query: Tensor, noise: Tensor | None) -> tuple[Tensor, ...]:
        logits = (candidates * query.unsqueeze(2)).sum(-1)
        return logits.argmax(-1), logits.softmax(-1), logits.softmax(-1)


class ChoosesWithoutGradient(SCOFF):
    def _choose(self, candidates: Tensor, query: Tensor, noise: Tensor | None) -> tuple[Tensor, ...]:
        schema, choice, weights = super()._choose(candidates, query, noise)
        return schema, choice.detach(), weights


class ForgetsTheTemperature(SCOFF):
    """Divides by the temperature twice."""

    def _choose(self, candidates: Tensor, query: Tensor, noise: Tensor | None) -> tuple[Tensor, ...]:
        return super()._choose(candidates, query / self.config.temperature, noise)


class NoiseInEvaluation(SCOFF):
    def _draw(self, slots: Tensor) -> Any:
        masks, _, others = super()._draw(slots)
        shape = slots.shape[1], slots.shape[0], self.rows, self.config.schemata
        return masks, (-torch.empty(shape).exponential_().log()).double().unbind(0), others


class NoiseBeforeTemperature(SCOFF):
    """Divides the scores by the temperature and not the noise."""

    def _draw(self, slots: Tensor) -> Any:
        masks, noise, others = super()._draw(slots)
        return masks, [one if one is None else one * self.config.temperature for one in noise], others


class StartsEqual(SCOFF):
    """All files start from the learned mean."""

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> tuple[Memory, Any]:
        (hidden, *cell), schema = super().initial_state(batch, generator=generator)
        return (hidden.mean(1, keepdim=True).expand_as(hidden), *cell), schema


class ClipsStartAlike(SCOFF):
    """Draws once for the whole batch in training too."""

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> tuple[Memory, Any]:
        (hidden, *cell), schema = super().initial_state(batch, generator=generator)
        return (hidden[:1].expand_as(hidden), *cell), schema


class RestingFilesHear(SCOFF):
    def advance(self, projected: Projected, state: Any) -> Any:
        hidden, (memory, frozen), trace = super().advance(projected, state)
        resting = ~trace["active"].unsqueeze(-1)
        hidden = torch.where(resting, hidden + 0.1 * hidden.mean(1, keepdim=True), hidden)
        return hidden, ((hidden, *memory[1:]), frozen), trace


class LeastAttentiveAreActive(SCOFF):
    def _read(self, projected: Projected, query: Tensor, silent: Tensor | None) -> tuple[Tensor, Tensor]:
        attention, read = super()._read(projected, query, silent)
        return -attention, read

    def advance(self, projected: Projected, state: Any) -> Any:
        hidden, state, trace = super().advance(projected, state)
        return hidden, state, trace | {"input_attention": -trace["input_attention"]}


class CellsOfAllSchemata(SCOFF):
    """Picks h and averages c."""

    def _imagine(self, read: Tensor, memory: Memory) -> Memory:
        hidden, cell = super()._imagine(read, memory)
        return hidden, cell.mean(2, keepdim=True).expand_as(cell)


SCOFFS = [
    (FilesWithABias, scoff_checks.files_can_be_exchanged),
    (DrawsOutsideProject, scoff_checks.files_can_be_exchanged),
    (KeyOfEachSchema, scoff_checks.schemata_can_be_exchanged),
    (CountsPositions, scoff_checks.positions_can_be_exchanged),
    (SharesOutSlots, scoff_checks.attention_is_shared_out),
    (WeightsOfFiles, scoff_checks.weights_fit_any_number_of_files),
    (FilesWithABias, scoff_checks.weights_fit_any_number_of_files),
    (MixesSchemata, scoff_checks.choice_is_hard_and_learns_softly),
    (ChoosesWithoutGradient, scoff_checks.choice_is_hard_and_learns_softly),
    (ForgetsTheTemperature, scoff_checks.choice_is_hard_and_learns_softly),
    (NoiseInEvaluation, scoff_checks.equal_files_stay_equal_in_evaluation),
    (NoiseInEvaluation, scoff_checks.noise_is_gumbels_and_for_training),
    (NoiseBeforeTemperature, scoff_checks.noise_is_gumbels_and_for_training),
    (StartsEqual, scoff_checks.files_start_apart),
    (ClipsStartAlike, scoff_checks.files_start_apart),
    (RestingFilesHear, scoff_checks.resting_files_keep_their_state),
    (LeastAttentiveAreActive, scoff_checks.resting_files_keep_their_state),
    (CellsOfAllSchemata, scoff_checks.cells_come_from_the_chosen_schema),
]
"""Each broken core, and the check that must catch it."""
