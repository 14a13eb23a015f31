"""Trainings on two hosts, by torchrun and by a true Slurm: slow proofs, where root may make hosts of its own."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import blocks
from test_killed import KILLED
from test_parallel import assert_same_curves, close, words
from training_runs import assert_same, everything_of, load
from two_hosts import LittleSlurm, TwoHosts, lacking, until

from videopred.cli import run as videopred

SCALE = Path(__file__).parents[2] / "docs" / "scale.md"
TINY = "--core gru --core.units 5 --codec.channels 2 3 --codec.embedding 11 --batch-size 4 --pictures-every 0"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory) -> Iterator[LittleSlurm]:
    if reason := lacking("munged", "slurmctld", "slurmd"):
        pytest.skip(reason)
    with LittleSlurm(tmp_path_factory.mktemp("slurm") / "cluster") as cluster:
        yield cluster


def job_of_the_page(data: Path, out: Path, updates: int) -> str:
    """The batch script of docs/scale.md, at the size of a test."""
    (script,) = blocks(SCALE.read_text(), "bash")
    for said, small in {
        "--ntasks-per-node 4 --gpus-per-node 4": f"--ntasks-per-node 1 --output {out}.out",
        "datasets/balls678 --core scoff": f"{data} {TINY} --updates {updates} --validate-every 100",
        "run=models/many": f"run={out}",
        "--device cuda --devices 4": "--device cpu",
    }.items():
        assert script.count(said) == 1, said
        script = script.replace(said, small)
    return script


@pytest.mark.slow
def test_a_job_that_gives_way_goes_on_to_the_bit(slurm, data, tmp_path):
    """By the batch script of the page, against srun in a shell of salloc's, where nothing is in the way."""
    script, out, updates = tmp_path / "job.sh", tmp_path / "run", 500
    script.write_text(job_of_the_page(data, out, updates))
    log = tmp_path / "run.out"
    job = slurm.run("hub", "sbatch", "--parsable", script)[1].strip()
    until(lambda: log.exists() and "update 100:" in log.read_text(), slurm.told)
    slurm.run("hub", "sbatch", "--partition=high", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=:")
    # Either host may hear of it first, and then tells the other one.
    until(lambda: "videopred: interrupted;" in log.read_text(), log.read_text)
    whole = tmp_path / "whole"
    shell = f"""
        videopred train {data} {TINY} --updates 2 --device cpu --out {tmp_path / "alone"}
        srun videopred train {data} {TINY} --updates {updates} --validate-every 100 --device cpu --nodes 2 --out {whole}
    """
    said = slurm.run("hub", "salloc", "--nodes", "2", "--ntasks", "2", typed=shell)[1]
    wrote = [line for line in said.splitlines() if line.startswith("wrote ")]
    assert wrote == [f"wrote {tmp_path / 'alone'}", f"wrote {whole}"], said
    until(lambda: f"wrote {out}" in log.read_text(), log.read_text)
    record = json.loads((out / "run.json").read_text())
    assert (record["state"], record["job"], record["host"]) == ("finished", job, "first")
    (again,) = record["resumed"]
    assert 100 <= again["updates"] < updates
    assert_same(everything_of(out), everything_of(whole))


@pytest.mark.slow
def test_a_job_ends_when_the_process_of_one_host_is_gone(slurm, data, tmp_path):
    """And says so, instead of waiting for it."""
    train = f"train {data} {TINY} --updates 100 --validate-every 2 --device cpu --nodes 2 --out {tmp_path / 'run'}"
    (tmp_path / "killed.py").write_text(KILLED)
    task = f'[ $SLURM_PROCID = 1 ] && at="step 5" || at="nowhere 0"; {sys.executable} killed.py $at {train}'
    status, said = slurm.run("hub", "srun", "--nodes", "2", "bash", "-c", task, cwd=tmp_path)
    assert status == 137, said
    assert "videopred: another process must work along to the end, got nothing more of it (" in said
    assert f"continue with `videopred train --resume {tmp_path / 'run'}`\n" in said
    assert "Traceback" not in said
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "failed"


@pytest.mark.slow
def test_two_hosts_learn_what_one_learns(data, tmp_path):
    """As docs/training.md has it: the same line on each, but for the number of the host."""
    if reason := lacking():
        pytest.skip(reason)
    asked = words(data, tmp_path / "one")[1:]
    videopred(asked[1:])
    out = tmp_path / "two"
    torchrun = ["torchrun", "--nnodes", "2", "--master-addr", "first", "--nproc-per-node", "1", "--no-python"]
    with TwoHosts(tmp_path / "hosts") as hosts:
        started = [
            hosts.start(host, *torchrun, "--node-rank", rank, "--", "videopred", *words(data, out, "--nodes", "2")[2:])
            for rank, host in enumerate(("first", "second"))
        ]
        said = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    assert said[0].endswith(f"wrote {out}\nnext: videopred evaluate {out} {data}\n")
    assert json.loads((out / "run.json").read_text())["host"] == "first"
    one, two = (load(run / "checkpoints" / "last.ckpt")["state_dict"] for run in (tmp_path / "one", out))
    assert close(one, two, within=1e-10)
    assert_same_curves(tmp_path / "one", out)
