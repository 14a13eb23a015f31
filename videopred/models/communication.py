"""What modules hear from one another (RIMs paper, section 2.4)."""

import torch
from torch import Tensor, nn

from videopred.models.attention import heads_together, per_head, softmax_over_few, sparsified, unheard
from videopred.models.grouped import GroupedLinear
from videopred.models.modular_settings import ModularSettings


class Communication(nn.Module):
    """A message to each of K modules, from an attention over all of them, itself included.

    o[k] = Σj softmax over j of (u[k] Wq[k] · u[j] Wk[j] / √dk) u[j] Wv[j], every module with maps of its own

    message[k] = σ(Wg o[k] + bg) tanh(dropout(Wf o[k] + bf)),  Wf, Wg, bf, bg shared by all modules
    message[k] = dropout(Wo o[k]),  Wo shared by all modules,                                 without `comm_gate`

    With `comm_topk`, a module hears that many modules at most.

    Source: the gate is that of the authors' code. Without it this is the residual of the paper's text, to which we add
    Wo: the text adds o itself, which only fits if heads times value is the width of a module.
    """

    def __init__(self, config: ModularSettings, modules: int, units: int):
        super().__init__()
        self.heads, self.scale = config.comm_heads, config.comm_key**-0.5
        self.sizes = [config.comm_key, config.comm_key, config.comm_value]
        self.topk, self.gated = config.comm_topk, config.comm_gate
        self.attend = GroupedLinear(modules, units, self.heads * sum(self.sizes))  # query, key and value of each head
        heard = self.heads * config.comm_value
        # Wf and Wg side by side.
        self.message = nn.Linear(heard, 2 * units) if self.gated else nn.Linear(heard, units, bias=False)

    def forward(self, source: Tensor, mask: Tensor | None, silent: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Messages (B, K, D) and the attention (B, heads, K, K) of listeners on speakers.

        Args:
            source: u, (B, K, D).
            mask: dropout of the message, (B, K, D); None without dropout.
            silent: (K,) bool, modules that nobody hears; None if all are heard.
        """
        # Contiguous, or the products below and their gradients crawl through memory.
        query, key, value = per_head(self.attend(source), self.heads).contiguous().split(self.sizes, -1)
        scores = torch.bmm(key, query.transpose(1, 2)) * self.scale
        attention = softmax_over_few(unheard(scores, silent, 1))
        if self.topk is not None:
            attention = sparsified(attention, self.topk, -1, silent)
        heard = heads_together(torch.bmm(attention, value), self.heads)
        return gated_message(self.message(heard), mask, self.gated), attention.unflatten(0, (-1, self.heads))


def gated_message(heard: Tensor, mask: Tensor | None, gated: bool) -> Tensor:
    """A message (B, K, D): what was heard, (B, K, D) or with a gate behind it (B, K, 2 D), after dropout."""
    message, gate = heard.chunk(2, -1) if gated else (heard, None)
    if mask is not None:
        message = message * mask
    return message if gate is None else torch.sigmoid(gate) * torch.tanh(message)
