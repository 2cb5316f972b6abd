"""The namespace cluster itself, and each MPI on it; then Stretto's choices across its nodes."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, beside_others, library, missing, rarely
from processes import run_program

sys.path.insert(0, str(REPOSITORY / "tools" / "testbed"))
import cluster as testbed
from launchers import launch

pytestmark = [pytest.mark.root, pytest.mark.mpi]

HELLO = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, local, length;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Comm node;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &local);
    MPI_Get_processor_name(name, &length);
    printf("hello %d/%d shared=%d on=%s\n", rank, size, local, name);
    MPI_Finalize();
    return 0;
}
"""


@contextlib.contextmanager
def a_run_of_its_own() -> Iterator[None]:
    """Instances go elsewhere: what is left of one on purpose, no other worker's `up` takes away."""
    with pytest.MonkeyPatch.context() as patch:  # not below /tmp, which nodes hide
        patch.setattr(testbed, "RUN", Path(f"{testbed.RUN}.{secrets.token_hex(3)}"))
        try:
            yield
        finally:
            testbed.collect_garbage()
            shutil.rmtree(testbed.RUN)


@pytest.fixture(scope="module")
def nodes() -> Iterator[testbed.Cluster]:
    if os.geteuid() != 0:
        missing("the testbed needs root")
    with_tmp = [REPOSITORY, Path(sys.prefix), *(mpi.prefix for mpi in MPIS.values())]
    cluster = testbed.up(4, share=with_tmp, owned=True)
    yield cluster
    cluster.down()


def run_on(
    cluster: testbed.Cluster, name: str, ppn: int, argv: list[str], **options: object
) -> subprocess.CompletedProcess[str]:
    mpi = MPIS[name].require()
    words, env = launch(cluster, name, ppn, argv, prefix=mpi.prefix, **options)  # type: ignore[arg-type]
    with beside_others():
        return run_program(words, env=env, timeout=600)


@pytest.mark.parametrize("name,ppn", [("openmpi4", 2), ("openmpi5", 2), ("mpich", 2), ("intel", 1)])
def test_each_mpi_sees_four_nodes(nodes: testbed.Cluster, name: str, ppn: int) -> None:
    source = nodes.shared / "hello.c"
    source.write_text(HELLO)
    program = MPIS[name].require().compile(source, nodes.shared / f"hello-{name}")
    done = run_on(nodes, name, ppn, [str(program)])
    lines = sorted(line for line in done.stdout.splitlines() if line.startswith("hello"))
    assert done.returncode == 0, done.stderr
    assert len(lines) == 4 * ppn
    assert all(f"/{4 * ppn} shared={ppn} " in line for line in lines)
    assert {line.rpartition("=")[2] for line in lines} == {node.name for node in nodes.nodes}


#: every collective by a composition of node and network phase; several network phases in turn
COMPOSED = (
    "allreduce=shm+recursive_doubling;bcast=shm+knomial;reduce=shm+knomial;"
    "allgather=shm+bruck_k;barrier=shm+dissemination",
    "allreduce=shm+ring;bcast=shm+chain(4K);reduce=shm+knomial(4);"
    "allgather=shm+ring;barrier=shm+dissemination(4)",
    "allreduce=shm+bruck_k(4);bcast=shm+scatter_allgather;reduce=shm+knomial(3);"
    "allgather=shm+bruck_k(4);barrier=shm+dissemination(3)",
)


@pytest.mark.parametrize("used", rarely([4, 3], [3]))
@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "mpich", "intel"])
def test_composed_choices_equal_the_mpi(nodes: testbed.Cluster, name: str, used: int) -> None:
    sets = nodes.shared / "sets"
    sets.write_text("".join(f"{choice}\n" for choice in COMPOSED))
    program = nodes.shared / f"conformance-{name}"
    if not program.exists():
        source = REPOSITORY / "tests" / "programs" / "conformance.c"
        MPIS[name].require().compile(source, program, "-O1")
    env = {"CONFORMANCE_CHOICES": str(sets), "STRETTO_API": "1", "STRETTO_VERBOSE": "1"}
    env["LD_PRELOAD"] = str(library(MPIS[name].family))
    argv = [str(program), "7", "60", "20000"]
    done = run_on(nodes, name, 2, argv, env=env, nodes=used)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert f"{3 * 60 * 2 * used} comparisons, 0 differences" in done.stdout, done.stdout
    assert "by Stretto with" not in done.stdout, done.stdout
    assert re.search(r"allreduce.*shm\+", done.stderr), done.stderr[-2000:]


def test_two_instances_and_no_trace() -> None:
    if os.geteuid() != 0:
        missing("the testbed needs root")
    one, two = testbed.up(2, owned=True), testbed.up(2, owned=True)
    assert one.network != two.network and one.name != two.name
    sleeper = subprocess.Popen(one.command(one.nodes[0], ["sleep", "1000"]))
    pids = [node.pid for node in (*one.nodes, *two.nodes)]
    one.down()
    assert two.run(0, ["true"]).returncode == 0
    two.down()
    assert sleeper.wait(timeout=300) != 0  # it died with its node
    names = [p.name for p in Path("/sys/class/net").iterdir()]
    assert not [n for n in names if n.startswith((one.name, two.name))]
    assert not one.directory.exists() and not two.directory.exists()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_killed_owner_leaves_nothing() -> None:
    if os.geteuid() != 0:
        missing("the testbed needs root")
    script = (
        "import sys, os, signal; sys.path.insert(0, sys.argv[1]); import cluster\n"
        "c = cluster.up(2, owned=True); print(c.name, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    argv = [sys.executable, "-c", script, str(REPOSITORY / "tools" / "testbed")]
    name = run_program(argv, timeout=200).stdout.strip()
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and any(Path("/sys/class/net").glob(f"{name}brv*")):
        time.sleep(0.05)  # the nodes died with it; their networks follow
    testbed.collect_garbage()
    assert name and not any(Path("/sys/class/net").glob(f"{name}*"))
    assert not (testbed.RUN / name).exists()


def holders(name: str) -> list[str]:
    """What is left of an instance's holders, by the directory in their words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if str(testbed.RUN / name).encode() in words:
                found.append(path.parent.name)
    return found


@pytest.mark.parametrize(("cleaner", "at"), [("down", "holder"), ("up", "link")])
def test_up_that_is_killed_is_cleared_away(cleaner: str, at: str) -> None:
    """Killed while a holder is waited for, or while a node is being tied to a rail."""
    if os.geteuid() != 0:
        missing("the testbed needs root")
    name = f"k{secrets.token_hex(3)}"
    hook = {
        "holder": "sleep = cluster.holder.time.sleep\n"
        "cluster.holder.time.sleep = lambda s: end() if known() else sleep(s)\n",
        "link": "tie = cluster._tie\n"
        "cluster._tie = lambda c, r, i, p: end() if i else tie(c, r, i, p)\n",
    }[at]
    script = (
        "import sys, os, signal; sys.path.insert(0, sys.argv[1]); import cluster\n"
        "cluster.RUN = cluster.Path(sys.argv[3])\n"
        "end = lambda: os.kill(os.getpid(), signal.SIGKILL)\n"
        "known = lambda: (cluster.RUN / sys.argv[2] / f'holder.{sys.argv[2]}n2').exists()\n"
        f"{hook}cluster.up(12, name=sys.argv[2], rails=2)\n"
    )
    argv = [sys.executable, "-c", script, str(REPOSITORY / "tools" / "testbed"), name]
    with a_run_of_its_own():
        argv.append(str(testbed.RUN))
        done = run_program(argv, timeout=200)
        assert done.returncode == -9, done.stderr
        assert holders(name), "a node was there"
        if cleaner == "down":
            testbed.find(name).down()
        else:
            testbed.up(1, owned=True).down()
        assert not holders(name)
        assert not list(Path("/sys/class/net").glob(f"{name}b*"))
        assert not (testbed.RUN / name).exists()
        with pytest.raises(testbed.TestbedError, match="no instance"):
            testbed.find(name)


def test_up_that_ends_well_stays() -> None:
    if os.geteuid() != 0:
        missing("the testbed needs root")
    argv = [sys.executable, str(REPOSITORY / "tools" / "testbed")]
    up = [*argv, "up", "--nodes", "1"]
    name = run_program(up, timeout=200).stdout.strip()
    try:
        testbed.collect_garbage()
        assert testbed.find(name).run(0, ["true"]).returncode == 0
    finally:
        subprocess.run([*argv, "down", name], timeout=200, check=True)
    assert not holders(name)


@pytest.mark.parametrize(
    "arguments,words",
    [
        (["up", "--rails", "9"], "give 1 to 8"),
        (["up", "--nodes", "0"], "give 1 to 99"),
        (["up", "--name", "much-too-long"], "at most 8"),
        (["down", "nosuch"], "no instance 'nosuch' is up"),
        (["exec", "nosuch", "--", "true"], "no node 'nosuch'"),
        (["up", "--share", "/no/such/x"], "there is no /no/such/x"),
    ],
)
def test_errors_are_in_words(arguments: list[str], words: str) -> None:
    argv = [sys.executable, str(REPOSITORY / "tools" / "testbed"), *arguments]
    done = run_program(argv, timeout=300)
    assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr
