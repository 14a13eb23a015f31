"""Where the chance of training comes from: each use has a source of its own, at an address."""

import numpy as np

ORDER, NOISE = range(2)


def source_of(seed: int, *address: int) -> np.random.SeedSequence:
    """The random source of one shuffle, or of one step's noise."""
    return np.random.SeedSequence(seed, spawn_key=address)
