"""LSTM and GRU against torch's own, with the same weights."""

import pytest
import torch
from core_checks import close
from torch import nn

from videopred.models.core import unroll
from videopred.models.recurrent import GRU, LSTM
from videopred.models.rival_settings import GRUConfig, LSTMConfig


def with_weights_of(core: nn.Module, reference: nn.Module) -> None:
    weights = {f"weights.{name.removesuffix('_l0')}": value for name, value in reference.state_dict().items()}
    core.load_state_dict(weights)


@pytest.mark.parametrize("start", ["zeros", "drawn"])
def test_lstm_is_torchs(start):
    reference = nn.LSTM(5, 7, batch_first=True).double()
    core = LSTM(LSTMConfig(units=7), 5).double()
    with_weights_of(core, reference)
    x = torch.randn(3, 6, 5, dtype=torch.float64)
    state = None if start == "zeros" else tuple(torch.randn(2, 3, 7, dtype=torch.float64))
    expected, (hidden, cell) = reference(x, state and tuple(part.unsqueeze(0) for part in state))
    done = unroll(core, x.unsqueeze(2), state)
    close(done.output.squeeze(2), expected)
    close(done.state, (hidden[0], cell[0]))


@pytest.mark.parametrize("start", ["zeros", "drawn"])
def test_gru_is_torchs(start):
    reference = nn.GRU(5, 7, batch_first=True).double()
    core = GRU(GRUConfig(units=7), 5).double()
    with_weights_of(core, reference)
    x = torch.randn(3, 6, 5, dtype=torch.float64)
    state = None if start == "zeros" else torch.randn(3, 7, dtype=torch.float64)
    expected, hidden = reference(x, None if state is None else state.unsqueeze(0))
    done = unroll(core, x.unsqueeze(2), state)
    close(done.output.squeeze(2), expected)
    close(done.state, hidden[0])
