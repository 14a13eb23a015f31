"""Two hosts on this machine, each with a network card and a name of its own, and a little Slurm on them.

They are namespaces of Linux, which root may make: what runs there takes no port and no name of this machine's, and is
gone with the first process of theirs, however a test ends.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOSTS = {"first": "10.77.0.2", "second": "10.77.0.3"}
"""Name -> address."""

_HUB = "10.77.0.1"
_PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin:/sbin"
_OWN = ("--net", "--uts", "--mount", "--pid", "--ipc")

_BEGIN = """
set -e
mount -t tmpfs none /run
cat {folder}/hosts > /run/hosts
mount --bind /run/hosts /etc/hosts
hostname hub
ip link set lo up
ip link add bridge type bridge
ip addr add {hub}/24 dev bridge
ip link set bridge up
begin() {{
    unshare --net --uts --mount sh -c "hostname $1; touch {folder}/$1.begun; exec sleep infinity" &
    while ! [ -e {folder}/$1.begun ]; do sleep 0.01; done
    ip link add $1 type veth peer name eth0 netns $!
    ip link set $1 master bridge up
    nsenter --target $! --net sh -c "ip addr add $2/24 dev eth0 && ip link set eth0 up && ip link set lo up"
}}
{begins}
touch {folder}/begun
wait
"""


class TwoHosts:
    """The hosts `first` and `second`, and `hub`, to which both are linked. They see the files of this machine.

    Args:
        folder: a new one, for what they need.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.variables = {"PATH": _PATH, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        folder.mkdir()
        names = [f"{address} {host}\n" for host, address in {"localhost": "127.0.0.1", "hub": _HUB, **HOSTS}.items()]
        (folder / "hosts").write_text("".join(names))

    def __enter__(self) -> "TwoHosts":
        begins = "\n".join(f"begin {host} {address}" for host, address in HOSTS.items())
        script = _BEGIN.format(folder=self.folder, hub=_HUB, begins=begins)
        killed_with_us = ["setpriv", "--pdeathsig", "KILL", "unshare", *_OWN, "--fork", "--kill-child", "--mount-proc"]
        with (self.folder / "hub.log").open("w") as log:
            self._unshare = subprocess.Popen([*killed_with_us, "bash", "-c", script], stdout=log, stderr=log)
        until((self.folder / "begun").exists, self.told)
        (hub,) = _children(self._unshare.pid)
        hosts = [pid for pid in _children(hub) if Path(f"/proc/{pid}/comm").read_text() == "sleep\n"]
        self._first = dict(zip(("hub", *HOSTS), (hub, *hosts), strict=True))
        return self

    def __exit__(self, *error: Any) -> None:
        os.kill(self._first["hub"], signal.SIGKILL)
        self._unshare.wait()

    def told(self) -> str:
        """What those have to say that run all the time."""
        return "\n".join(f"{path.name}: {path.read_text()}" for path in sorted(self.folder.glob("*.log")))

    def start(self, host: str, *words: Any, **how: Any) -> "subprocess.Popen[str]":
        """Start a command on a host, or on the hub."""
        enter = ["nsenter", "--target", str(self._first[host]), *_OWN, f"--wdns={how.pop('cwd', self.folder)}"]
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True} | how
        return subprocess.Popen([*enter, *map(str, words)], env=os.environ | self.variables, **how)

    def run(self, host: str, *words: Any, typed: str | None = None, **how: Any) -> tuple[int, str]:
        """Exit status of a command, and what it said."""
        process = self.start(host, *words, stdin=subprocess.PIPE, **how)
        said, _ = process.communicate(typed)
        return process.returncode, said


_CONF = """
ClusterName=little
SlurmctldHost=hub({hub})
SlurmUser=root
AuthInfo=socket={folder}/munge.socket,cred_expire=10
StateSaveLocation={folder}
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=30
PartitionName=high Nodes=ALL PriorityTier=2 PreemptMode=OFF
"""


class LittleSlurm(TwoHosts):
    """A Slurm whose controller is on the hub, with a node on each host.

    Jobs of the partition `low` give way to those of `high`: they are warned, killed half a minute later, and start
    again. Slurm lets a job wait that starts again until its credentials are of no more use: ten seconds here.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        nodes = [f"NodeName={host} NodeAddr={address} CPUs=8\n" for host, address in HOSTS.items()]
        (folder / "slurm.conf").write_text("".join(nodes) + _CONF.format(folder=folder, hub=_HUB))
        (folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        (folder / "munge.key").touch(mode=0o600)
        (folder / "munge.key").write_bytes(os.urandom(128))
        self.variables |= {"SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self) -> "LittleSlurm":
        super().__enter__()
        try:
            files = [f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "pid", "seed")]
            self._stay("hub", "munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *files)
            until((self.folder / "munge.socket").exists, self.told)
            self._stay("hub", "slurmctld", "-D")
            for host in HOSTS:
                self._stay(host, "slurmd", "-D")
            until(lambda: self.run("hub", "sinfo", "-h", "-p", "low", "-o", "%D%t")[1] == "2idle\n", self.told)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _stay(self, host: str, *words: str) -> None:
        with (self.folder / f"{words[0]}-{host}.log").open("w") as log:
            self.start(host, *words, stdout=log, stderr=log)


def until(there: Callable[[], object], told: Callable[[], str], seconds: float = 300) -> None:
    """Wait for something to be there, and tell more if it does not come."""
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end, told()
        time.sleep(0.1)


def lacking(*programs: str) -> str:
    """Why there can be no such hosts here; nothing if there can."""
    for program in ("setpriv", "unshare", "nsenter", "ip", *programs):
        if shutil.which(program, path=_PATH) is None:
            return f"needs {program}"
    tried = "mount -t tmpfs none /run && ip link add one type bridge && ip link add two type veth peer name six"
    may = subprocess.run(["unshare", *_OWN, "--fork", "sh", "-c", tried], capture_output=True).returncode == 0
    return "" if may else "needs somebody who may make namespaces, such as root, and bridges between them"


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
