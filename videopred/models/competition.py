"""Which modules are active at a step."""

import torch
from torch import Tensor, nn


def lowest(scores: Tensor, count: int, silent: Tensor | None = None) -> Tensor:
    """A mask (B, K) of the `count` lowest scores of each row; ties go to the lowest index.

    Those of `silent` modules, (K,) bool, do not count.
    """
    scores = scores.detach() if silent is None else scores.detach().masked_fill(silent, torch.inf)
    order = torch.sort(scores, dim=-1, stable=True).indices
    return awake(torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, order[..., :count], True), silent)


def awake(active: Tensor, silent: Tensor | None) -> Tensor:
    """The active modules (B, K) bool without the silent ones, (K,) bool."""
    return active if silent is None else active & ~silent


class RandomChoice(nn.Module):
    """Active modules by chance, the ablation that shows what choosing is worth.

    While training, they are drawn anew for every clip and step from torch's global generator. In evaluation nothing
    is drawn, so that the same input gives the same output: each module has a phase in [0, 1) which walks on by its
    own pace, and the lowest are active. The paces exp(k / K) and 1 are linearly independent over the whole numbers
    (Lindemann and Weierstrass), so in the long run every set of modules is active equally often.
    """

    pace: Tensor

    def __init__(self, modules: int):
        super().__init__()
        self.register_buffer("pace", torch.exp(torch.arange(1, modules + 1) / modules), persistent=False)

    def forward(self, phase: Tensor) -> tuple[Tensor, Tensor]:
        """Scores for `lowest`, and the next phase: (B, K) -> (B, K), (B, K)."""
        phase = torch.frac(phase + self.pace)
        if not self.training:
            return phase, phase
        # Not in bf16, in which scores are often equal, and the first would be active more often.
        return torch.rand_like(phase, dtype=torch.promote_types(phase.dtype, torch.float32)), phase
