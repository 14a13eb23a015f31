"""RIMs against the authors' numbers, against limit cases, and against what the paper says must hold."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from videopred.models.core import unroll
from videopred.models.rims import RIMs
from videopred.models.settings import RIMsConfig

GOLDEN = Path(__file__).parents[1] / "golden" / "rims_lstm.npz"


def make(features: int = 9, seed: int = 0, scale: float = 1.0, **settings) -> RIMs:
    """A RIMs core in float64 whose attention is far from uniform (at init it is within 1e-3 of it)."""
    torch.manual_seed(seed)
    defaults = {"modules": 5, "active": 3, "units": 8, "input_key": 6, "comm_heads": 2, "comm_key": 4}
    core = RIMs(RIMsConfig(**{**defaults, "comm_value": 3, **settings}), features).double().eval()
    for parameter in core.parameters():
        nn.init.normal_(parameter, std=scale * parameter.shape[-1] ** -0.5)
    return core


def random_state(core: RIMs, batch: int, seed: int = 1) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shape = (batch, core.rows, core.units)
    hidden, cell = torch.randn(2, *shape, generator=generator, dtype=torch.float64)
    return hidden, (cell if core.config.cell == "lstm" else ())


def golden_core(golden: dict[str, np.ndarray]) -> RIMs:
    size = {name: int(golden[name]) for name in ("modules", "active", "input_heads", "input_key")}
    size |= {name: int(golden[name]) for name in ("comm_heads", "comm_key", "comm_value")}
    core = RIMs(RIMsConfig(units=int(golden["size"]), **size), golden["x"].shape[-1]).double().eval()
    weights = {
        "input_key.weight": golden["wk"][0].T,
        "input_value.weight": golden["wv"][0].T,
        "query.weight": golden["wq"],
        "input_gates.weight": golden["wih"],
        "state_gates.weight": golden["whh"],
        "input_bias": golden["bih"],
        "state_bias": golden["bhh"],
        "comm.weight": np.concatenate([golden["cq"], golden["ck"], golden["cv"]], -1),
        "message.weight": np.concatenate([golden["message_weight"], golden["gate_weight"]]),
        "message.bias": np.concatenate([golden["message_bias"], golden["gate_bias"]]),
    }
    core.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})
    return core


def test_equals_the_authors_core_forward_and_gradient():
    # The file's README says how the numbers were made: the authors' published core on random weights, float64.
    golden = dict(np.load(GOLDEN))
    core = golden_core(golden)
    x = torch.from_numpy(golden["x"]).requires_grad_()
    slots = x.transpose(0, 1).unsqueeze(2)
    state = torch.from_numpy(golden["h0"]), torch.from_numpy(golden["c0"])
    done = unroll(core, slots, state, trace=True)
    output = done.output.transpose(0, 1)
    (output * torch.from_numpy(golden["loss_weight"])).sum().backward()
    assert torch.equal(done.trace["active"].transpose(0, 1), torch.from_numpy(golden["mask"]))
    torch.testing.assert_close(output, torch.from_numpy(golden["h"]), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(done.state[1], torch.from_numpy(golden["c"][-1]), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(x.grad, torch.from_numpy(golden["grad_x"]), rtol=1e-10, atol=1e-12)
