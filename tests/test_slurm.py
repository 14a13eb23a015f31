"""What Slurm's variables say of a process. The values are those that Slurm 22.05 set, on two nodes."""

import pytest

from videopred.processes import check_meeting_place, my_place
from videopred.slurm import my_job, my_task

JOB = {"SLURM_JOB_ID": "8", "SLURM_JOB_NAME": "job", "SLURM_NTASKS": "4", "SLURM_NTASKS_PER_NODE": "2"}
JOB |= {"SLURM_JOB_NODELIST": "gpu[07-08,12],big", "SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_NNODES": "2"}
SCRIPT = JOB | {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0"}
STEP = JOB | {"SLURM_STEP_ID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_STEP_TASKS_PER_NODE": "2(x2)"}
STEP |= {"SLURM_STEP_NODELIST": "gpu[08,12]", "SLURM_PROCID": "2", "SLURM_NODEID": "1", "SLURM_LOCALID": "0"}
SHELL = SCRIPT | {"SLURM_STEP_ID": "4294967290", "SLURM_STEP_NUM_TASKS": "1", "SLURM_JOB_NAME": "interactive"}


@pytest.fixture
def told(monkeypatch):
    def tell(variables: dict[str, str]) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return tell


@pytest.mark.parametrize("name", ["job", "bash", "interactive"])
def test_a_task_of_several_knows_its_place(told, name):
    """Whatever its job is called: that of a shell of salloc's is called interactive, and so is it in srun there."""
    told(STEP | {"SLURM_JOB_NAME": name, "SLURM_TASKS_PER_NODE": "1(x4)"})
    task = my_task()
    assert task is not None
    assert (task.rank, task.world_size, task.node_rank, task.local_rank, task.layout) == (2, 4, 1, 0, "2(x2)")
    assert task.main_address == "gpu08"


@pytest.mark.parametrize(
    "variables",
    [{}, SCRIPT, JOB, SHELL, SHELL | {"SLURM_JOB_NAME": "mine"}, STEP | {"SLURM_STEP_NUM_TASKS": "1"}],
    ids=["outside", "script", "salloc", "interactive step", "named", "one task"],
)
def test_other_processes_of_a_job_are_alone(told, variables):
    """Though the job's variables speak of four tasks."""
    told(variables)
    assert my_task() is None


@pytest.mark.parametrize(
    ("machines", "first"),
    [
        ("first", "first"),
        ("first,second", "first"),
        ("gpu[3-4]", "gpu3"),
        ("gpu[03,05-07],cpu1", "gpu03"),
        ("a-1-[10-12],b", "a-1-10"),
        ("rack[1-2]node[3-4]", "rack1node3"),
    ],
)
def test_tasks_meet_on_the_first_machine_of_their_step(told, machines, first):
    told(STEP | {"SLURM_STEP_NODELIST": machines})
    task = my_task()
    assert task is not None
    assert task.main_address == first


def test_steps_at_the_same_time_meet_at_ports_of_their_own(told):
    """Those of one job, and the first ones of jobs that follow one another; none of which a system hands out itself."""
    ports = []
    for job, step in [(8, 0), (8, 1), (8, 2), (9, 0), (10, 0), (1234567, 0), (1234568, 0), (1234568, 1)]:
        told(STEP | {"SLURM_JOB_ID": str(job), "SLURM_STEP_ID": str(step)})
        task = my_task()
        assert task is not None
        ports.append(task.main_port)
    assert len(set(ports)) == len(ports)
    assert all(15000 <= port < 25000 for port in ports)


@pytest.mark.parametrize(
    ("variables", "job"),
    [({}, None), (SCRIPT, "8"), (STEP | {"SLURM_ARRAY_JOB_ID": "5", "SLURM_ARRAY_TASK_ID": "1"}, "5_1")],
)
def test_a_job_is_called_as_slurm_calls_it(told, variables, job):
    told(variables)
    assert my_job() == job


def test_what_torchrun_says_of_places_goes_before_what_srun_says(told):
    """Where srun starts torchrun on each machine, which starts the processes."""
    assert my_place() == (0, 1)
    told(STEP)
    assert my_place() == (2, 4)
    told({"RANK": "5", "WORLD_SIZE": "8"})
    assert my_place() == (5, 8)


def test_a_task_that_is_told_of_another_meeting_place_wants_all_of_it(told, monkeypatch):
    monkeypatch.delenv("MASTER_PORT", raising=False)
    told(STEP)
    check_meeting_place()
    told({"MASTER_ADDR": "first"})
    with pytest.raises(ValueError, match=r"^MASTER_PORT must say where the processes meet, got nothing; unset"):
        check_meeting_place()
