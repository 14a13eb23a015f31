"""What object files hear from one another (step 4 of `scoff`)."""

import torch
from torch import Tensor, nn

from videopred.models.attention import heads_together, per_head, softmax_over_few, unheard
from videopred.models.communication import gated_message
from videopred.models.schemata import pick
from videopred.models.scoff_settings import SCOFFConfig


class FileCommunication(nn.Module):
    """A message to each file, from an attention over all files after their update, itself included."""

    def __init__(self, config: SCOFFConfig):
        super().__init__()
        self.config = config
        heads, units = config.comm_heads, config.units
        maps = heads * config.schemata if config.schema_comm else heads
        self.query = nn.Linear(units, maps * config.comm_key, bias=False)
        self.map = nn.Linear(units, maps * (config.comm_key + config.comm_value), bias=False)  # keys, then values
        heard = heads * config.comm_value
        self.message = nn.Linear(heard, 2 * units) if config.comm_gate else nn.Linear(heard, units, bias=False)

    def forward(
        self, query: Tensor, files: Tensor, choice: Tensor, mask: Tensor | None, silent: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Messages (B, K, D), and attention (B, heads, K, K).

        Args:
            query: what each file asks, scaled: (B, K, heads key).
            files: states after the update, (B, K, D).
            choice: each file's schema, one-hot (B, K, S).
            mask: dropout of the messages, (B, K, D).
            silent: (K,) bool, files that nobody hears.
        """
        config = self.config
        mapped = self.map(files)
        if config.schema_comm:
            query, mapped = (pick(choice, part.unflatten(-1, (config.schemata, -1))) for part in (query, mapped))
        keys, values = per_head(mapped, config.comm_heads).split([config.comm_key, config.comm_value], -1)
        scores = torch.bmm(keys, per_head(query, config.comm_heads).transpose(1, 2))
        attention = softmax_over_few(unheard(scores, silent, 1))
        heard = self.message(heads_together(torch.bmm(attention, values), config.comm_heads))
        return gated_message(heard, mask, config.comm_gate), attention.unflatten(0, (-1, config.comm_heads))
