"""What the looks at the validation clips said so far: the lowest loss, and for how long it has not fallen."""

import math
from typing import Any


class ValidationHistory:
    """Counts looks without a lower loss. A loss that is not a number is never lower.

    Args:
        improvement: share of the lowest loss by which another must be lower to end the counting.

    Attributes:
        latest: the loss of the last look.
        lowest: the lowest loss so far, and `lowest_at`, the update after which it was seen.
        fruitless: looks since the loss last fell enough.
        decays: how often `patience` looks in a row were fruitless.
    """

    def __init__(self, improvement: float) -> None:
        self._improvement = improvement
        self.latest = self.lowest = self._mark = float("inf")
        self.lowest_at = self.fruitless = self.decays = self._waited = 0

    def note(self, loss: float, update: int, patience: int) -> None:
        """A look after so many updates saw this loss; every `patience` fruitless looks count as one of `decays`."""
        self.latest = loss
        if loss < self.lowest:
            self.lowest, self.lowest_at = loss, update
        limit = self._mark - self._improvement * abs(self._mark) if math.isfinite(self._mark) else math.inf
        if loss < limit:
            self._mark, self.fruitless, self._waited = loss, 0, 0
            return
        self.fruitless, self._waited = self.fruitless + 1, self._waited + 1
        if self._waited == patience:
            self.decays, self._waited = self.decays + 1, 0

    def state_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_improvement"}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
