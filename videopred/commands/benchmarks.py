"""Commands that measure speed."""

from typing import Annotated, Literal

from tyro.conf import arg

from videopred.commands import terminal
from videopred.commands.options import Json

_Cores = Annotated[tuple[Literal["rims", "brims", "scoff"], ...], arg(metavar="NAME...", help="Of rims, brims, scoff.")]
_TrainedCores = Annotated[tuple[Literal["rims", "scoff"], ...], arg(metavar="NAME...", help="Of rims, scoff.")]
_Measured = Annotated[
    Literal["cpu", "cuda"] | None,
    arg(metavar="cpu|cuda", help="Measure this one alone; default: the CPU, and a CUDA device where there is one."),
]


def bench_generate(
    *,
    clips: Annotated[int, arg(help="Clips made in each repeat.")] = 256,
    repeats: Annotated[int, arg(help="How often each comparison is repeated.")] = 5,
    growth: Annotated[tuple[int, ...], arg(metavar="CLIPS...", help="Sizes at which the time per clip is shown.")] = (
        100,
        1000,
        10_000,
        100_000,
    ),
    whole: Annotated[int, arg(metavar="CLIPS", help="Also generate a file of so many clips; none when 0.")] = 0,
    workers: Annotated[int | None, arg(help="Processes for that file; default: 2.")] = None,
    json_: Json = False,
) -> None:
    """Measure how fast data is made, compared with plain generators."""
    terminal.say_that_it_takes("minutes")
    from videopred.bench import generate

    rows = generate.bench_generate(clips=clips, repeats=repeats, growth=growth, whole=whole, workers=workers)
    terminal.print_json(rows) if json_ else print(generate.table(rows))


def bench_cores(
    *,
    cores: _Cores = ("rims", "brims", "scoff"),
    batches: Annotated[tuple[int, ...], arg(metavar="CLIPS...", help="Batch sizes.")] = (64, 8),
    steps: Annotated[int, arg(help="Steps of a sequence.")] = 50,
    repeats: Annotated[int, arg(help="How often each comparison is repeated.")] = 3,
    compile_: Annotated[
        bool,
        arg(
            name="compile",
            help="Also measure compiled steps on the CPU; needs a C++ compiler. On a CUDA device they always are.",
        ),
    ] = False,
    device: _Measured = None,
    json_: Json = False,
) -> None:
    """Measure how fast cores run on one thread, compared with plain implementations and an LSTM."""
    terminal.say_that_it_takes("minutes")
    from videopred.bench import cores as bench

    rows = bench.bench_cores(
        cores=cores, batches=batches, steps=steps, repeats=repeats, compiled=compile_, device=device
    )
    terminal.print_json(rows) if json_ else print(bench.table(rows))


def bench_scores(
    *,
    clips: Annotated[int, arg(help="Clips of the pass with all five metrics.")] = 10_000,
    frames: Annotated[int, arg(help="Frames of a clip.")] = 35,
    size: Annotated[int, arg(metavar="PX", help="Height and width of frames.")] = 64,
    repeats: Annotated[int, arg(help="How often each comparison is repeated.")] = 5,
    json_: Json = False,
) -> None:
    """Measure how fast films are scored, compared with loops over frames, and the memory it takes."""
    terminal.say_that_it_takes("minutes")
    from videopred.bench import scores as bench

    rows = bench.bench_scores(clips=clips, frames=frames, size=size, repeats=repeats)
    terminal.print_json(rows) if json_ else print(bench.table(rows))


def bench_train(
    *,
    cores: _TrainedCores = ("rims", "scoff"),
    batch: Annotated[int | None, arg(help="Batch size; default: 32, and on a CUDA device 64.")] = None,
    frames: Annotated[int | None, arg(help="Frames of a clip; default: 21, and on a CUDA device 51.")] = None,
    repeats: Annotated[int, arg(help="How often each comparison is repeated.")] = 3,
    updates: Annotated[
        int | None, arg(help="Updates over which the Trainer's overhead is averaged, on the CPU; default: 100.")
    ] = None,
    device: _Measured = None,
    json_: Json = False,
) -> None:
    """Measure training steps: images per second and memory, compared with working frame by frame."""
    terminal.say_that_it_takes("minutes")
    from videopred.bench import train as bench

    rows = bench.bench_train(cores=cores, batch=batch, frames=frames, repeats=repeats, updates=updates, device=device)
    terminal.print_json(rows) if json_ else print(bench.table(rows))
