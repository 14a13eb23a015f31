"""Making clips in several processes: the same bytes, clear ends, and no harm from the caller's script."""

import shlex
import subprocess
import sys
from typing import Any

import pytest
from slow_proofs import slow
from small_worlds import small

from videopred.check import FaultyFileError
from videopred.datasets import workers
from videopred.datasets.generation import generate

CLIPS = {"train": 70, "test": 20}
HEAD = "import os; from videopred.datasets import workers; from videopred.datasets.making import LocalMaker; "


@pytest.mark.parametrize("name", ["balls4", *slow("sm-mnist")])
def test_any_number_of_workers_and_any_blocks_make_the_same_bytes(tmp_path, monkeypatch, name):
    made = {}
    for count, block in ((1, 256), (2, 16), (4, 32)):
        monkeypatch.setattr("videopred.datasets.plan._BLOCK", block)
        out = tmp_path / f"{count}.h5"
        made[count] = generate(name, CLIPS, seed=3, out=out, recipe=small(name), workers=count).read_bytes()
    assert made[2] == made[1]
    assert made[4] == made[1]


def test_no_more_workers_are_started_than_there_are_blocks_each_with_one_thread(tmp_path, monkeypatch):
    started, popen = [], subprocess.Popen
    monkeypatch.setattr("videopred.datasets.plan._BLOCK", 16)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")

    def noting(*words: object, **how: Any) -> Any:
        started.append(how["env"]["OMP_NUM_THREADS"])
        return popen(*words, **how)

    monkeypatch.setattr(subprocess, "Popen", noting)
    generate("balls4", {"train": 20}, out=tmp_path, recipe=small("balls4"), workers=3)
    assert started == ["1", "1"]


def test_a_script_that_guards_nothing_may_have_workers(tmp_path):
    """Python's own pools would run it again in every worker, or not find it at all."""
    script = f"""if True:
        import videopred
        print("here")
        videopred.generate("balls4", {{"train": 2}}, out={str(tmp_path / "a.h5")!r}, workers=2)
    """
    done = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "here\n", "")


def test_workers_need_nothing_to_complain_to(tmp_path):
    """As with `2>&-` in a shell: what is printed there must not get among the answers."""
    script = tmp_path / "closed.py"
    statement = f"{HEAD}make = LocalMaker.make; "
    statement += "LocalMaker.make = lambda *args: os.write(2, b'noise') and make(*args); workers.work()"
    script.write_text(f"""if True:
        import videopred
        from videopred.datasets import workers
        workers._STATEMENT = {statement!r}
        videopred.generate("balls4", {{"train": 2}}, out={str(tmp_path / "a.h5")!r}, workers=2)
    """)
    done = subprocess.run(["sh", "-c", f"exec {shlex.join([sys.executable, str(script)])} 2>&-"])
    assert done.returncode == 0
    assert (tmp_path / "a.h5").is_file()


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("sys.exit(3)", 3),
        (HEAD + "LocalMaker.make = lambda *args: os.kill(os.getpid(), 9); workers.work()", -9),
    ],
)
def test_a_worker_that_dies_is_one_clear_line(tmp_path, monkeypatch, command, status):
    monkeypatch.setattr(workers, "_STATEMENT", command)
    with pytest.raises(
        ChildProcessError,
        match=rf"^--workers must be processes that can work, got one that ended with status {status}; give fewer if",
    ):
        generate("balls4", CLIPS, out=tmp_path, recipe=small("balls4"), workers=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("failure", "error", "text"),
    [
        ("ValueError('--balls must fit')", ValueError, "^--balls must fit$"),
        ("__import__('videopred').check.FaultyFileError('digits must be')", FaultyFileError, "^digits must be$"),
        ("OSError(28, 'No space left on device')", OSError, "--out must be a file .*, got .*/a.h5 .No space l"),
        ("__import__('queue').Empty('of theirs')", RuntimeError, "(?s)Traceback.*of theirs"),
    ],
)
def test_what_goes_wrong_in_a_worker_is_told_by_the_caller(tmp_path, monkeypatch, failure, error, text):
    fail = f"LocalMaker.make = lambda *args: (_ for _ in ()).throw({failure}); workers.work()"
    monkeypatch.setattr(workers, "_STATEMENT", HEAD + fail)
    with pytest.raises(error, match=text):
        generate("balls4", CLIPS, out=tmp_path / "a.h5", recipe=small("balls4"), workers=2)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_leaves_ctrl_c_to_its_caller(tmp_path, monkeypatch, capfd):
    """As where a batch system sends it to all processes."""
    asked = "make = LocalMaker.make; LocalMaker.make = lambda *args: os.kill(os.getpid(), 2) or make(*args); "
    monkeypatch.setattr(workers, "_STATEMENT", HEAD + asked + "workers.work()")
    generate("balls4", CLIPS, out=tmp_path / "a.h5", recipe=small("balls4"), workers=2)
    assert capfd.readouterr() == ("", "")


def test_what_a_worker_prints_is_no_answer(tmp_path, monkeypatch, capfd):
    noisy = "make = LocalMaker.make; LocalMaker.make = lambda *args: print('noise', flush=True) or make(*args); "
    monkeypatch.setattr(workers, "_STATEMENT", HEAD + noisy + "workers.work()")
    generate("balls4", {"train": 2}, out=tmp_path / "a.h5", recipe=small("balls4"), workers=2)
    assert capfd.readouterr() == ("", "noise\n")
