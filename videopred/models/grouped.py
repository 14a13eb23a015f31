"""One linear map per module, all modules in one batched product instead of a Python loop."""

import torch
from torch import Tensor, nn


class GroupedLinear(nn.Module):
    """y[b, k] = x[b, k] W[k]: each of K modules has a matrix of its own.

    Args:
        modules: K.
        features: width of x.
        outputs: width of y.
        bound: weights are drawn from U(−bound, bound); None draws from N(0, 0.01²), as the RIMs authors' code does
            for its attention (event_based, GroupLinearLayer).
    """

    def __init__(self, modules: int, features: int, outputs: int, bound: float | None = None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(modules, features, outputs))
        if bound is None:
            nn.init.normal_(self.weight, std=0.01)
        else:
            nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, inputs: Tensor, bias: Tensor | None = None) -> Tensor:
        """(B, K, features) -> (B, K, outputs), with a bias (K, outputs) if one is given."""
        inputs = inputs.transpose(0, 1)
        if bias is None:
            return torch.bmm(inputs, self.weight).transpose(0, 1)
        return torch.baddbmm(bias.unsqueeze(1), inputs, self.weight).transpose(0, 1)
