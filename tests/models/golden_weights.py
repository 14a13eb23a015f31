"""The golden files beside these tests: what the authors' published RIMs and BRIMs cores gave on random weights, in
float64 and evaluation mode, and those weights under our names."""

from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parents[1] / "golden"


def layer_weights(part: dict[str, np.ndarray], heads: int) -> dict[str, np.ndarray]:
    """State dict of a ModularLayer from the file's entries of one layer, and the heads of its communication."""
    return {
        "state_gates.weight": part["whh"],
        "input_bias": part["bih"],
        "state_bias": part["bhh"],
        "communication.attend.weight": by_head([part["cq"], part["ck"], part["cv"]], heads),
        "communication.message.weight": np.concatenate([part["message_weight"], part["gate_weight"]]),
        "communication.message.bias": np.concatenate([part["message_bias"], part["gate_bias"]]),
    }


def by_head(parts: list[np.ndarray], heads: int) -> np.ndarray:
    """Arrays (…, heads * width) side by side within each head, as our fused maps have them."""
    split = [part.reshape(*part.shape[:-1], heads, -1) for part in parts]
    return np.concatenate(split, -1).reshape(*parts[0].shape[:-1], -1)
