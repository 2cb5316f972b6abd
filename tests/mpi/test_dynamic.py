"""Processes that are spawned or connected, and sessions, with Stretto's collectives on."""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import job

COLLECTIVES = ("allreduce", "bcast", "allgather", "alltoallv", "gatherv", "scatterv", "scan")
SHM = ";".join(f"{c}=shm" for c in (*COLLECTIVES, "barrier"))
FLAT = (
    "allreduce=recursive_doubling;bcast=knomial(2);allgather=ring;alltoallv=pairwise;"
    "gatherv=knomial(2);scatterv=knomial(2);scan=linear;barrier=dissemination(2)"
)
#: of STRETTO_CHOICE, and what else is set
WAYS = {
    "shm": {"choice": SHM},
    "flat": {"choice": FLAT, "nonblocking": "calls"},
}
#: calls that a rank makes on one communicator, and that its counters say something about
CALLS = 6 * 8
#: connections by TCP on addresses that stay while other tests' nodes come and go; Intel MPI spawns
#: only when told so, and not by its shared memory alone
SETTINGS = {
    "openmpi4": {"OMPI_MCA_btl_tcp_if_include": "lo"},
    "openmpi5": {"OMPI_MCA_btl_tcp_if_include": "lo"},
    "mpich": {},
    "intel": {"I_MPI_FABRICS": "shm:ofi", "I_MPI_SPAWN": "1", "FI_TCP_IFACE": "lo"},
}


def _run(name: str, command: str, ranks: int, way: str) -> str:
    env = SETTINGS[name]
    settings = {"after": 1, "api": 1, **WAYS[way]}
    return job(name, command, ranks=ranks, env=env, timeout=300, **settings).stdout


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "mpich"])
def test_spawned_processes(name: str, way: str) -> None:
    """Each world has its own; what two worlds share is left to the MPI, with Stretto or without.

    Not under Intel MPI: its jobs hang there without Stretto, too (docs/explanation/testing.md).
    """
    out = _run(name, "dynamic spawn 2", 2, way)
    parents, children = 2 * 3 * CALLS, 2 * 2 * CALLS
    counts = "{} calls of the parents, {} of the children by Stretto, 0 across two worlds"
    assert "spawn with: " + counts.format(parents, children) in out
    assert "spawn without: " + counts.format(parents, 0) in out


def test_learn_in_a_spawned_world_leaves_the_table_of_its_parent(tmp_path: Path) -> None:
    table = tmp_path / "app.table"
    learn = {"after": 1, "learn": 1, "learn_after": 1, "learn_table": table}
    more = {"ranks": 1, "env": SETTINGS["openmpi4"], "timeout": 300, **learn}
    done = job("openmpi4", "dynamic spawn 2", **more)
    assert f"{table}.spawned" in done.stderr, done.stderr
    assert Path(f"{table}.spawned").exists() and not table.exists(), "one rank learns nothing"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "intel"])
def test_halves_that_connect(name: str, way: str) -> None:
    """Both ends are of one world, and Stretto's on the merged communicator, its copy, its halves.

    PyPI's MPICH opens no port ("no space for port_name tag").
    """
    out = _run(name, "dynamic connect", 4, way)
    assert (
        f"connect: {4 * 3 * CALLS} calls by Stretto, {4 * 3 * CALLS} on what was connected" in out
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["openmpi5", "mpich", "intel"])
def test_sessions_beside_a_world(name: str, way: str) -> None:
    out = _run(name, "dynamic session", 3, way)
    assert f"session: {3 * 3 * 3 * CALLS} calls by Stretto on sessions'" in out


@pytest.mark.parametrize("name", ["openmpi5", "mpich", "intel"])
def test_sessions_without_a_world(name: str) -> None:
    """Stretto begins with MPI_Init; without it all is the MPI's."""
    assert _run(name, "dynamic only", 3, "shm").count("only: 0 calls by Stretto") == 3
