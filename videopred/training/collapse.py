"""Numbers that show whether modules have collapsed: some never used, the input ignored, one schema for all.

They are read off the trace of any core by the names in it; those of a layer of a stack keep the layer's name, as in
`layer0.modules/dead`. Modules and schemata are dead when nothing in the clips looked at ever used them.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from videopred.models.core import Trace


def collapse(trace: Trace, schemata: int = 0) -> dict[str, float]:
    """Name -> number, for what a core's trace shows.

    modules/usage_entropy   of how often each module is active; 1 when all are equally often, log a / log K when always
                            the same a of K are, 0 when only one ever is
    modules/dead            how many are never active
    modules/null_attention  mean share of attention on the null slot, 1 when the input is ignored
    modules/top_down        mean share of attention on the layer above
    schemata/usage_entropy, schemata/dead, and schemata/usage_0, …, the share of each schema

    Args:
        trace: name -> (B, T, …), with axes as `Core.trace_axes` says: `active`, `null_attention` and `top_down` have K
            modules, in `schema` each module has the number of its schema, or −1.
        schemata: how many schemata there are; 0 if that is not known, and then only their shares are told.
    """
    return {name: value for traced, values in trace.items() for name, value in _numbers(traced, values, schemata)}


def _numbers(traced: str, values: Tensor, schemata: int) -> Iterator[tuple[str, float]]:
    layer, point, kind = traced.rpartition(".")
    prefix = f"{layer}{point}"
    # On the CPU, as Apple's GPU has no float64.
    if kind == "active":
        usage = values.cpu().double().mean((0, 1))
        yield f"{prefix}modules/usage_entropy", _evenness(usage)
        yield f"{prefix}modules/dead", float((usage == 0).sum())
    if kind in ("null_attention", "top_down"):
        yield f"{prefix}modules/{kind}", values.cpu().double().mean().item()
    if kind == "schema":
        used = values[values >= 0].cpu()  # −1 is none
        usage = torch.bincount(used, minlength=schemata).double() / max(1, used.numel())
        if schemata > 0:  # else nobody knows how many were never used
            yield f"{prefix}schemata/usage_entropy", _evenness(usage)
            yield f"{prefix}schemata/dead", float((usage == 0).sum())
        for number, share in enumerate(usage.tolist()):
            yield f"{prefix}schemata/usage_{number}", share


def _evenness(usage: Tensor) -> float:
    """Entropy of the shares that are proportional to `usage` (K,), divided by that of equal shares; 1 for a single one.

    0 when nothing is used at all.
    """
    if len(usage) == 1:
        return 1.0
    shares = usage / usage.sum().clamp(min=torch.finfo(usage.dtype).tiny)
    return (torch.special.entr(shares).sum() / math.log(len(usage))).item()
