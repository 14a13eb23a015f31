"""torch.compile for a predictor that learns."""

import os
import shutil
from functools import wraps
from types import MethodType
from typing import Any

import torch
from torch.utils import _pytree as tree

from videopred import check
from videopred.models.predictor import Predictor


def compile_predictor(predictor: Predictor, backend: str) -> None:
    """Compile, when it is next used, what of a predictor is worth it; weights keep their names.

    That is the step of the core. A graph of the whole predictor would hold every step on its own, and take the longer
    to compile the longer the clips are; so the whole is compiled only where the core has no loop over steps, or where
    the backend records what a device does, all of it at once.
    """
    if compiles_whole(predictor, backend):
        predictor.compile(backend=backend)
    else:
        compile_step(predictor.core, backend)


def compiles_whole(predictor: Predictor, backend: str) -> bool:
    """Whether a backend of `train --compile`, which may be none, gets the whole predictor."""
    return backend == "cudagraphs" or (backend != "none" and hasattr(predictor.core, "run"))


def compile_step(core: Any, backend: str) -> None:
    """Compile the step of a core where it learns, when it is next used. Deep copies of the core are compiled as well.

    A step from a state without a gradient stays as it is: the first of a clip, and all those of validation and
    rollouts. Each kind would be compiled anew, for longer than it gains.
    What this process compiled before is forgotten: torch keeps but a few versions of a function.
    """
    torch.compiler.reset()
    name = "advance" if hasattr(core, "project") else "step"
    plain = getattr(type(core), name)
    compiled = torch.compile(plain, backend=backend)

    @wraps(plain)
    def step(self: Any, inputs: Any, state: Any, *others: Any) -> Any:
        learns = any(part.requires_grad for part in tree.tree_leaves(state))
        return (compiled if learns else plain)(self, inputs, state, *others)

    setattr(core, name, MethodType(step, core))


def check_compiler(flag: str) -> None:
    """Refuse a flag that needs one where nothing makes a program of the C++ that torch writes for a CPU.

    Raises:
        ValueError: names the flag, and how to get a compiler.
    """
    compiler = os.environ.get("CXX", "g++")
    fix = "apt-get install g++, name another one in the environment variable CXX, or leave the flag out"
    check.require(shutil.which(compiler) is not None, flag, f"find the C++ compiler {compiler}", "none", fix)
