"""Stretto on the nodes of a namespace cluster, as a user of a real one would type it.

The MPI's settings for this cluster's network stand in the environment, as a site's module file puts
them there; commands name hosts, or run under Slurm.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mpis import MPIS, REPOSITORY, alone_here, beside_others, have, missing
from processes import run_program

sys.path.insert(0, str(REPOSITORY / "tools" / "testbed"))
import cluster as testbed
import launchers
import slurm

#: under Slurm 22.05 as Debian has it; PyPI's Open MPI 5 finds the PMIx 4 of the same plugin
SRUN = {"openmpi4": "pmix", "openmpi5": "pmix", "mpich": "pmi2", "intel": "pmi2"}

#: s: for which it is looked again where a busy machine slowed what a cap should have
LOOKS_S = 600

#: each rank adds its number; one allreduce in the loop waits for the last rank, which comes late
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank, size, length, calls = argc > 1 ? atoi(argv[1]) : 20;
    int late = argc > 2 ? atoi(argv[2]) : 0; /* milliseconds */
    FILE *mark; /* a third argument: made when all ranks are in the loop */
    char name[MPI_MAX_PROCESSOR_NAME];
    double sum = 0, wrong = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &length);
    double start = MPI_Wtime();
    for (int i = 0; i < calls; i++) {
        double mine = rank * (i + 1);
        if (i < 4 && rank == size - 1)
            usleep((useconds_t)late * 1000);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        wrong += sum != (double)size * (size - 1) / 2 * (i + 1);
        if (i == 0 && rank == 0 && argc > 3 && (mark = fopen(argv[3], "w")) != NULL)
            fclose(mark);
    }
    MPI_Reduce(&wrong, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    printf("rank %d of %d on %s\n", rank, size, name);
    if (rank == 0)
        printf("wrong: %g\nloop seconds: %g\n", all, MPI_Wtime() - start);
    MPI_Finalize();
    return 0;
}
"""


@contextlib.contextmanager
def up(
    nodes: int,
    with_slurm: bool = False,
    bandwidth: str | None = None,
    rails: int = 1,
    cpus: int = 2,
) -> Iterator[testbed.Cluster]:
    """A cluster for the time of the block; every node sees the repository and the MPIs.

    With a low `bandwidth` (``50mbit``) it is the links that decide how long a large message takes,
    whatever else this machine does: algorithms that send less are faster, by factors. `cpus` of a
    node are what Slurm takes it to have.
    """
    if os.geteuid() != 0:
        missing("the testbed needs root")
    if with_slurm:
        have("slurmctld", "slurm-wlm")
        have("munged", "munge")
    seen = [REPOSITORY, Path(sys.prefix), *(mpi.prefix for mpi in MPIS.values())]
    if "STRETTO_TEST_LIB" in os.environ:
        seen.append(Path(os.environ["STRETTO_TEST_LIB"]))
    cluster = testbed.up(nodes, bandwidth=bandwidth, share=seen, owned=True, rails=rails)
    try:
        if with_slurm:
            slurm.start(cluster, cpus)
        yield cluster
    finally:
        cluster.down()


def nodes_of(count: int, **how: Any) -> Any:
    """Return a fixture: a cluster for the tests of a module, as `up` makes it."""

    @pytest.fixture(scope="module")
    def nodes() -> Iterator[testbed.Cluster]:
        with up(count, **how) as cluster:
            yield cluster

    return nodes


def program(cluster: testbed.Cluster, name: str) -> Path:
    """The program above, built once for an MPI, where all nodes see it."""
    path = cluster.shared / f"program-{name}"
    if not path.exists():
        source = cluster.shared / "program.c"
        source.write_text(PROGRAM)
        MPIS[name].require().compile(source, path)
    return path


def launcher(cluster: testbed.Cluster, name: str, nodes: int, ppn: int) -> list[str]:
    """The MPI's own words for so many ranks on the first nodes."""
    hosts = [f"{n.name}:{ppn}" for n in cluster.nodes[:nodes]]
    ranks = ["-n", str(nodes * ppn)]
    bin_ = MPIS[name].require().prefix / "bin"
    if name == "intel":
        plain = ",".join(n.name for n in cluster.nodes[:nodes])
        return [str(bin_ / "mpiexec.hydra"), "-hosts", plain, "-ppn", str(ppn), *ranks]
    if name == "mpich":
        return [str(bin_ / "mpiexec"), "-hosts", ",".join(hosts), *ranks]
    return [str(bin_ / "mpirun"), "--host", ",".join(hosts), *ranks]


def environment(cluster: testbed.Cluster, name: str) -> dict[str, str]:
    """What a user's shell has on the cluster, this MPI's module loaded."""
    mpi = MPIS[name].require()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI", "PRTE", "PMIX"))}
    env |= launchers.environment(cluster, name, prefix=mpi.prefix) | slurm.variables(cluster)
    if "STRETTO_TEST_LIB" in os.environ:
        env["STRETTO_LIB_DIR"] = os.environ["STRETTO_TEST_LIB"]
    return env


def inside_a_job(cluster: testbed.Cluster, name: str) -> dict[str, str]:
    """The environment of a Slurm job: Slurm starts the ranks, nothing stands for ssh."""
    ssh = r"_(rsh|ssh)_agent$|_no_tree_spawn$|LAUNCHER|BOOTSTRAP|HYDRA_IFACE"
    found = environment(cluster, name)
    return {k: v for k, v in found.items() if not re.search(ssh, k)}


def stretto(
    cluster: testbed.Cluster,
    name: str,
    *words: str,
    cwd: Path | None = None,
    status: int = 0,
    timeout: float = 600,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a command of Stretto on this machine, the cluster's login node."""
    # a core, as the nodes have: Stretto then knows that the ranks are more than the cores
    argv = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    argv += [sys.executable, "-m", "stretto", *words]
    alone = not MPIS[name].yields
    return call(
        argv, cwd or cluster.shared, environment(cluster, name) | variables, status, timeout, alone
    )


def call(
    argv: list[str], cwd: Path, env: dict[str, str], status: int = 0, timeout: float = 600,
    alone: bool = False,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run a command; its exit status must be the one expected."""
    with alone_here() if alone else beside_others():
        done = run_program(argv, env=env, cwd=cwd, timeout=timeout)
    words = f"{done.returncode}: {' '.join(argv)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert done.returncode == status, words
    assert "Traceback" not in done.stderr and "defect of Stretto" not in done.stderr, words
    return done


def submit(nodes: testbed.Cluster, name: str, file: Path, *more: str) -> str:
    """Submit a campaign; return the number of its job."""
    words = [sys.executable, "-m", "stretto", "campaign", "submit", str(file), "--json"]
    done = run_program(
        [*words, "--time", "10", *more],
        env=inside_a_job(nodes, name),
        cwd=nodes.shared,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["job"])


def campaign_status(nodes: testbed.Cluster, name: str, out: Path) -> dict[str, Any]:
    done = stretto(nodes, name, "campaign", "status", str(out), "--json")
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def state(job: str, env: Mapping[str, str]) -> str:
    """Return the state of a job in Slurm's queue; empty: it is not there any more."""
    queue = ["squeue", "-h", "-j", job, "-o", "%T"]
    return run_program(queue, env=env).stdout.strip()


def until(condition: Callable[[], bool], limit: float = 600) -> None:
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def samples(out: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the layout and each line of a campaign's results, headers apart."""
    for path in out.glob("*/*/*.bench.jsonl"):
        for line in path.read_text().split("\n")[1:-1]:  # the last one may be being written
            yield path.name.partition(".")[0], json.loads(line)


#: what a sample is of, apart from its layout
CELL = ("launch", "collective", "bytes", "candidate", "mode")


def tc(nodes: testbed.Cluster, index: int, lines: Sequence[str]) -> None:
    """Give a node's end of its link another discipline, at once."""
    words = nodes.command(nodes.nodes[index], ["tc", "-batch", "-"])
    text = "\n".join(["qdisc del dev eth0 root", *lines]) + "\n"
    run_program(words, input=text, check=True, timeout=300)


def capped_streams(mbits: float) -> list[str]:
    """Lines for `tc` that cap each connection which leaves a node.

    A class for each ephemeral port of this end or, where this end listened, of the other one: 256,
    so that two streams rarely share one.
    """
    lines = ["qdisc add dev eth0 root handle 1: htb r2q 1000"]
    for i in range(256):
        lines.append(f"class add dev eth0 parent 1: classid 1:{i + 1:x} htb rate {mbits}mbit")
        lines += [
            f"filter add dev eth0 parent 1: protocol ip prio {prio} u32 match ip {end} "
            f"{0x8000 | 2 * i} 0x81fe flowid 1:{i + 1:x}"
            for prio, end in ((6, "sport"), (7, "dport"))
        ]
    return lines
