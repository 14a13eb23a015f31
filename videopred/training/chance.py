"""Where the chance of training comes from: each use has a source of its own, at an address."""

import numpy as np

ORDER, NOISE, WINDOW = range(3)


def source_of(seed: int, *address: int) -> np.random.SeedSequence:
    """The random source of one shuffle, of one step's noise, or of where its windows start."""
    return np.random.SeedSequence(seed, spawn_key=address)
