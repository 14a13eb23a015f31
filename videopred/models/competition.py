"""Which modules are active at a step."""

import torch
from torch import Tensor, nn


def lowest(scores: Tensor, count: int, silent: Tensor | None = None) -> Tensor:
    """A mask (B, K) of the `count` lowest scores of each row; ties go to the lowest index.

    Those of `silent` modules, (K,) bool, do not count.
    """
    scores = scores.detach() if silent is None else scores.detach().masked_fill(silent, torch.inf)
    order = torch.sort(scores, dim=-1, stable=True).indices
    chosen = torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, order[..., :count], 1)  # jit.trace takes no True
    return awake(chosen, silent)


def awake(active: Tensor, silent: Tensor | None) -> Tensor:
    """The active modules (B, K) bool without the silent ones, (K,) bool."""
    return active if silent is None else active & ~silent


class RandomChoice(nn.Module):
    """Active modules by chance, the ablation that shows what choosing is worth.

    While training, they are drawn anew for every clip and step from torch's global generator. In evaluation nothing
    is drawn, so that the same input gives the same output: each module has a phase in [0, 1) which walks on by its
    own pace, and the lowest are active. The paces exp(k / K) and 1 are linearly independent over the whole numbers
    (Lindemann and Weierstrass), so in the long run every set of modules is active equally often.

    Scores are in float32 whatever the weights are: with fewer bits they are often equal, and the first modules would
    be active more often.
    """

    def initial_state(self, like: Tensor) -> Tensor:
        """How many steps each module was part of, 0: (B, K) int64, for hidden states (B, K, D)."""
        return torch.zeros(like.shape[:2], dtype=torch.int64, device=like.device)

    def forward(self, steps: Tensor) -> tuple[Tensor, Tensor]:
        """Scores for `lowest`, and the next count of steps: (B, K) -> (B, K), (B, K)."""
        steps = steps + 1
        if self.training:
            return torch.rand(steps.shape, dtype=torch.float32, device=steps.device), steps
        modules = steps.shape[1]
        pace = torch.exp(torch.arange(1, modules + 1, dtype=torch.float32, device=steps.device) / modules)
        return torch.frac(steps * pace), steps
