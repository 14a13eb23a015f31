"""Makes the pieces of a file in several processes at once.

Workers are programs of their own that are told what to do through pipes. So they never run the caller's script again,
as the workers of Python's own process pools do. The terminal's Ctrl-C does not reach them. And when the caller ends,
in whatever way, their pipe closes and they end too.
"""

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Self

from videopred import check, child_process
from videopred.datasets import make_world
from videopred.datasets.making import LocalMaker, Task
from videopred.datasets.piece import Piece, load_piece
from videopred.datasets.settings import DatasetSettings, load_recipe
from videopred.systems import popen_without_ctrl_c

_STATEMENT = "from videopred.datasets import workers; workers.work()"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerPool:
    """Worker processes, which live within its `with` block.

    Args:
        workers: how many.
        recipe: what makes the clips.
        mnist: folder with the full MNIST; the package's own digits when None.
        seed: seed of the data set.
    """

    def __init__(self, workers: int, recipe: DatasetSettings, mnist: Path | None, seed: int) -> None:
        self._workers, self._greeting = workers, pickle.dumps((recipe.model_dump_json(), mnist, seed))

    def __enter__(self) -> Self:
        self._threads = ThreadPoolExecutor(self._workers)  # one speaks with one worker at a time
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._processes: list[subprocess.Popen[bytes]] = []
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.kill()  # what it saves is saved whole, so it has nothing to lose
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            with suppress(OSError), process:
                pass

    def make(self, tasks: Sequence[Task]) -> Iterator[Piece]:
        """The pieces of the tasks, in their order, each saved before it is handed out.

        Raises:
            ChildProcessError: a worker ended before its time.
        """
        while len(self._processes) < min(self._workers, len(tasks)):
            self._hire()
        futures = [self._threads.submit(self._send, task) for task in tasks]  # all begin now
        return self._collect(tasks, futures)

    def _collect(self, tasks: Sequence[Task], futures: Sequence[Future[None]]) -> Iterator[Piece]:
        for (_, path), future in zip(tasks, futures, strict=True):
            future.result()
            piece = load_piece(path)
            if piece is None:
                must, fix = "give back what was written there", "look after the disk, and start again"
                raise OSError(check.complaint(str(path.parent.parent), must, f"a damaged {path.name}", fix))
            yield piece

    def _hire(self) -> None:
        process = subprocess.Popen(
            child_process.python(_STATEMENT),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | _ONE_THREAD,
            **popen_without_ctrl_c(),  # it is for the caller alone
        )
        self._processes.append(process)
        assert process.stdin is not None
        process.stdin.write(self._greeting)
        self._idle.put(process)

    def _send(self, task: Task) -> None:
        """Have a task done by a worker, and wait until it is."""
        process = self._idle.get()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(pickle.dumps(task))
            process.stdin.flush()
            failure = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):  # Windows calls a broken pipe a wrong argument
            got, fix = f"one that ended with status {process.wait()}", "give fewer if memory is short, and start again"
            raise ChildProcessError(check.complaint("--workers", "be processes that can work", got, fix)) from None
        finally:
            self._idle.put(process)
        if failure:
            raise failure


def work() -> None:
    """Do the tasks that come through stdin, and answer each on stdout with None or what went wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a batch system may send it to all; the caller ends its workers
    # stderr is None if it was closed. Descriptor 2 is then free, and `dup` below would give it to the answers; so
    # /dev/null takes it first.
    beside = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else sys.stderr.fileno()
    answers = os.dup(sys.stdout.fileno())
    os.dup2(beside, sys.stdout.fileno())  # what libraries print there is no answer
    recipe, mnist, seed = pickle.load(sys.stdin.buffer)
    maker: LocalMaker | None = None
    with suppress(EOFError, OSError):  # the caller is done, or gone
        while True:
            task = pickle.load(sys.stdin.buffer)
            failure: Exception | None = None
            try:
                maker = maker or LocalMaker(make_world(load_recipe(recipe), mnist), seed)
                for _ in maker.make([task]):
                    pass
            except Exception as error:
                known = type(error).__module__ in ("builtins", "videopred.check")
                failure = error if known else RuntimeError(traceback.format_exc())
            os.write(answers, pickle.dumps(failure))
