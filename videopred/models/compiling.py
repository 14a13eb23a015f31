"""torch.compile for a predictor that learns."""

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from itertools import islice
from types import MethodType
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from videopred import check
from videopred.models.core import projects
from videopred.models.predictor import Predictor
from videopred.systems import can_run, compiler

_BLOCK = 4
"""Steps that are compiled as one, which saves what every call of something compiled costs. With eight, compiling takes
up to twice as long, and only `brims` with few clips gains a tenth."""


def compile_predictor(predictor: Predictor, backend: str, device: str = "cpu") -> None:
    """Compile the parts of a predictor that are worth it, when they are next used; weights keep their names.

    These are the steps of the core and, on a CUDA device, encoder and decoder, whose norms and activations then take
    fewer kernels and, with mixed precision, fewer copies. On a CPU, these gain nothing. A graph of the whole predictor
    would contain every step of a clip, and take longer to compile the longer the clips are. So the whole is compiled
    only where the core has no loop over steps.

    Args:
        predictor: what learns.
        backend: of torch.compile.
        device: kind of device on which it will learn.
    """
    if compiles_whole(predictor, backend):
        predictor.compile(backend=backend)
        return
    compile_step(predictor.core, backend)
    if device == "cuda":
        for part in (predictor.encoder, predictor.decoder):
            _compile_forward(part, backend)


def compiles_whole(predictor: Predictor, backend: str) -> bool:
    """Whether a backend of `train --compile`, which may be none, gets the whole predictor."""
    return backend != "none" and hasattr(predictor.core, "run")


def compile_step(core: Any, backend: str) -> None:
    """Compile the step of a core for training, when it is next used. Deep copies of the core are compiled as well.

    An unroll of more than four steps takes them four at a time, each four as one program; the one to four that are left
    over come first and are not compiled. Neither is a step from a state without a gradient: the first of a clip, and
    all those of validation and rollouts. Each kind would need a compilation of its own, which takes longer than it
    gains. In an unroll of up to four steps, as where predictions are fed back, each step is compiled on its own.
    What this process compiled before is forgotten: torch keeps only a few versions of a function.
    """
    torch.compiler.reset()
    name = "advance" if projects(core) else "step"
    plain = getattr(type(core), name)

    def block(self: Any, entries: Sequence[Any], state: Any) -> tuple[list[Tensor], Any]:
        return _walk(partial(plain, self), entries, state)

    compiled, compiled_block = torch.compile(plain, backend=backend), _compile_block(block, backend)

    @wraps(plain)
    def step(self: Any, inputs: Any, state: Any, *others: Any) -> Any:
        return (compiled if _learns(state) else plain)(self, inputs, state, *others)

    def advance_all(self: Any, entries: Iterable[Any], steps: int, state: Any) -> tuple[list[Tensor], Any]:
        waiting = iter(entries)
        alone = partial(step if steps <= _BLOCK else plain, self)
        outputs, state = _walk(alone, islice(waiting, (steps - 1) % _BLOCK + 1), state)
        together = compiled_block if _learns(state) else block
        while entries := list(islice(waiting, _BLOCK)):
            more, state = together(self, entries, state)
            outputs += more
        return outputs, state

    setattr(core, name, MethodType(step, core))
    core.advance_all = MethodType(advance_all, core)


def _compile_forward(part: Any, backend: str) -> None:
    """Compile what a module does where gradients are wanted, but not for validation and rollouts.

    What it is given is laid out in one way, as each layout would need a compilation of its own. Inductor is told to lay
    maps out as cuDNN's convolutions want them, channels last, which it takes to be no use with few channels.
    """
    plain = type(part).forward
    options = {"options": {"force_layout_optimization": True}} if backend == "inductor" else {"backend": backend}
    compiled = torch.compile(plain, **options)

    @wraps(plain)
    def forward(self: Any, given: Tensor, **asked: Any) -> Any:
        if torch.is_grad_enabled():
            return compiled(self, given.contiguous(), **asked)
        return plain(self, given, **asked)

    part.forward = MethodType(forward, part)


def _compile_block(block: Callable[..., Any], backend: str) -> Callable[..., Any]:
    """Several steps compiled, with each weight's gradient over them as one product where inductor makes the program."""
    if backend != "inductor":
        return torch.compile(block, backend=backend)
    try:
        from videopred.models.merging import MergedProducts  # here, as inductor takes long to load
    except ImportError as error:
        must, fix = "find torch's inductor as in torch 2.11 to 2.14", "install one of these, or leave the flag out"
        raise ValueError(check.complaint("--compile inductor", must, error, fix)) from error
    return torch.compile(block, options={"post_grad_custom_pre_pass": MergedProducts()})


def _walk(advance: Callable[..., Any], entries: Iterable[Any], state: Any) -> tuple[list[Tensor], Any]:
    """Outputs of steps in a row, and the state after them."""
    outputs = []
    for entry in entries:
        output, state, _ = advance(entry, state)
        outputs.append(output)
    return outputs, state


def _learns(state: Any) -> bool:
    """Whether a gradient flows back into a state."""
    return any(part.requires_grad for part in tree.tree_leaves(state))


def check_compiler(flag: str, device: str = "cpu", otherwise: str = "leave the flag out") -> None:
    """Refuse a flag that compiles where there is no working compiler.

    Torch's programs for a CPU are C++; for an Nvidia GPU, Triton starts its programs from C.

    Args:
        flag: or command.
        device: cpu or cuda, the kind of device to compile for.
        otherwise: what to do without a compiler.

    Raises:
        ValueError: names the flag, and how to get a compiler.
    """
    usual, how_to_get = compiler()
    language, variable = "C++", "CXX"
    if device == "cuda":
        language, variable = "C", "CC"
        usual = "gcc" if shutil.which("gcc") or not shutil.which("clang") else "clang"
        how_to_get = "apt-get install gcc"  # Triton is for Linux alone
    name = os.environ.get(variable, usual)
    fix = f"{how_to_get}, name another one in the environment variable {variable}, or {otherwise}"
    must = f"find the {language} compiler {name}"
    check.require(shutil.which(name) is not None, flag, must, "none", fix)
    check.require(can_run(name), flag, must, "one that does not run", fix)
