"""Which schema each object file takes: hard forward, soft backward (step 3 of `scoff`)."""

import torch
from torch import Tensor

from videopred.models.arguments import autocast_on


def choose(candidates: Tensor, query: Tensor, noise: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """The chosen schema (B, K) int64, its one-hot, through which the gradient of the softmax flows, and that softmax.

    Both of these are (B, K, S).

    Args:
        candidates: what each schema would make of each file, (B, K, S, D).
        query: what each file looks for in them, over the temperature: (B, K, D).
        noise: on the logits, over the temperature: (B, K, S), or None.
    """
    rows, query = candidates.flatten(0, 1), query.flatten(0, 1).unsqueeze(-1)
    noise = None if noise is None else noise.flatten(0, 1).unsqueeze(-1)
    logits = torch.bmm(rows, query) if noise is None else torch.baddbmm(noise, rows, query)
    logits = logits.view(candidates.shape[:3])
    soft = torch.softmax(logits, -1)
    schema = logits.argmax(-1)
    hard = torch.zeros_like(soft).scatter_(-1, schema.unsqueeze(-1), 1.0)
    return schema, hard + (soft - soft.detach()), soft  # the difference is 0, so what comes out is exactly one-hot


def pick(choice: Tensor, candidates: Tensor) -> Tensor:
    """The chosen candidate of each file: one-hot (B, K, S) and (B, K, S, D) -> (B, K, D)."""
    if autocast_on(candidates.device):
        # A product would round states to fewer bits at every step.
        return (choice.unsqueeze(-1) * candidates).sum(2)
    chosen = torch.bmm(choice.flatten(0, 1).unsqueeze(1), candidates.flatten(0, 1))
    return chosen.view(*choice.shape[:2], -1)
