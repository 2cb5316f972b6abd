"""Slurm on a testbed cluster: Debian's slurmctld, slurmd and munged, unchanged, without systemd.

The first node runs munged and slurmctld, every node a slurmd. All of them live in the nodes'
process namespaces and keep their files in the instance's directory, so that they end and go with
it. Nothing of the machine's own Slurm or munge, if it has them, is read or touched.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from pathlib import Path

from cluster import Cluster, TestbedError

_DAEMONS = ("munged", "slurmctld", "slurmd", "srun", "scontrol")
# Nodes share this machine's cores: what takes a moment on real ones may take a minute here.
_CONFIG = """\
ClusterName={name}
SlurmctldHost={first}({address})
SlurmUser=root
SlurmctldPort={port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=300
MessageTimeout=100
BatchStartTimeout=300
TCPTimeout=30
KillWait=60
Waittime=0
InactiveLimit=120
SchedulerParameters=sched_min_interval=0,bf_interval=1
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool.%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.%n.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.%n.log
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def directory(cluster: Cluster) -> Path:
    """Where an instance's Slurm keeps its files."""
    return cluster.directory / "slurm"


def variables(cluster: Cluster) -> dict[str, str]:
    """Return the variable by which Slurm's commands find this instance's Slurm, if it has one."""
    path = directory(cluster) / "slurm.conf"
    return {"SLURM_CONF": str(path)} if path.exists() else {}


def need_packages() -> None:
    """Raise an error where Slurm or munge is not installed."""
    lacking = [tool for tool in _DAEMONS if shutil.which(tool) is None]
    if lacking:
        raise TestbedError(f"{', '.join(lacking)} missing: apt-get install slurm-wlm munge")


def start(cluster: Cluster, cpus: int = 2, timeout: float = 180) -> None:
    """Start Slurm on all nodes and wait until it takes jobs."""
    need_packages()
    base = directory(cluster)
    (base / "state").mkdir(parents=True)
    for node in cluster.nodes:
        (base / f"spool.{node.name}").mkdir()
    key = base / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    lines = [
        f"NodeName={n.name} NodeAddr={n.address} CPUs={cpus} Boards=1 SocketsPerBoard=1 "
        f"CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=1000"
        for n in cluster.nodes
    ]
    first = cluster.nodes[0]
    (base / "slurm.conf").write_text(
        _CONFIG.format(
            name=cluster.name,
            first=first.name,
            address=first.address,
            port=6817,
            node_port=6818,
            directory=base,
            nodes="\n".join(lines),
        )
    )
    (base / "mpi.conf").write_text("PMIxCliTmpDirBase=/dev/shm\n")
    _daemon(
        cluster, 0, "munged", "--foreground", "--force", f"--key-file={key}",
        f"--socket={base}/munge.socket", f"--pid-file={base}/munged.pid",
        f"--log-file={base}/munged.log", f"--seed-file={base}/munged.seed",
    )  # fmt: skip
    _until((base / "munge.socket").exists, timeout, base, "munged does not start")
    _daemon(cluster, 0, "slurmctld", "-D", "-f", f"{base}/slurm.conf")
    for index, node in enumerate(cluster.nodes):
        _daemon(cluster, index, "slurmd", "-D", "-f", f"{base}/slurm.conf", "-N", node.name)

    def ready() -> bool:
        argv = ["sinfo", "-h", "-N", "-o", "%T"]
        done = cluster.run(0, ["env", f"SLURM_CONF={base}/slurm.conf", *argv])
        return done.stdout.split().count("idle") == len(cluster.nodes)

    _until(ready, timeout, base, "not all nodes come up")


def _daemon(cluster: Cluster, index: int, *argv: str) -> None:
    """Start a daemon on a node, in the foreground there; it ends with the node."""
    node = cluster.nodes[index]
    words = cluster.command(node, list(argv), Path("/"))
    at = words.index("setpriv")  # which would end it with us
    words = [*words[:at], *words[words.index("sh") :]]
    log = directory(cluster) / f"{argv[0]}.{node.name}.out"
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "PMI", "OMPI"))}
    with log.open("w") as stream:
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
            env=environ,
        )


def _until(condition, timeout: float, base: Path, problem: str) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            said = []
            for log in sorted([*base.glob("*.log"), *base.glob("*.out")]):
                with contextlib.suppress(OSError):
                    lines = log.read_text(errors="replace").strip().splitlines()
                    errors = [line for line in lines if "error" in line.lower()]
                    said += [f"{log.name}: {line}" for line in errors[-3:]]
            raise TestbedError(f"Slurm: {problem} within {timeout:.0f} s: " + "; ".join(said))
        time.sleep(0.05)
