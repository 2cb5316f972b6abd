"""Settings reach ranks on other nodes, over an agent that, as ssh does, hands no environment on."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mpis import MPIS, REPOSITORY, beside_others, missing
from processes import executable
from stretto.launch.ask import BROKEN_PIPE
from stretto.launch.execute import run
from stretto.launch.inject import prepare
from stretto.launch.job import understand

pytestmark = [pytest.mark.mpi, pytest.mark.root]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any, Path]]:
    """Two nodes, the testbed's launchers, and a folder that both nodes see."""
    if os.geteuid() != 0:
        missing("network namespaces need root")
    sys.path.insert(0, str(REPOSITORY / "tools" / "testbed"))
    import cluster as testbed
    import launchers

    base = tmp_path_factory.mktemp("remote")
    agent = base / "agent"
    kept = f'PATH="$PATH" HOME=/root STRETTO_TESTBED_CWD={base}'
    executable(agent, f'#!/bin/sh\nexec env -i {kept} {launchers.AGENT} "$@"\n')
    show = base / "show.sh"
    # it does not end at once: Hydra's mpiexec may get a SIGPIPE from a proxy that has
    line = 'echo "$LD_PRELOAD | $STRETTO_CHOICE | $MINE | $(hostname)"'
    executable(show, f"#!/bin/sh\n{line}\nsleep 2\n")
    original = launchers.AGENT
    launchers.AGENT = agent
    nodes = testbed.up(2, share=[REPOSITORY, base])
    try:
        yield nodes, launchers.launch, base
    finally:
        launchers.AGENT = original
        nodes.down()


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("how", ["direct", "two", "users", "script"])
def test_ranks_on_other_nodes(
    cluster: tuple[Any, Any, Path], name: str, how: str, stand_ins: Path
) -> None:
    mpi = MPIS[name].require()
    nodes, launch, base = cluster
    lib = base / "lib.so"
    lib.write_bytes((stand_ins / "libstretto-openmpi.so").read_bytes())
    mine = {"MINE": "1"} if how in ("users", "script") else {}
    show = str(base / "show.sh")
    words, environ = launch(nodes, name, 1, [show], prefix=mpi.prefix, env=mine)
    environ["STRETTO_TESTBED_CWD"] = str(base)
    if how == "two":
        words = [*words[: words.index("-n")], "-n", "1", show, ":", "-n", "1", show]
    if how == "script":
        script = executable(base / "job.sh", f"#!/bin/sh\n{shlex.join(words)}\n")
        words = [str(script)]
    job = understand(words, environ=environ, cwd=base)
    if how != "script":
        assert (job.layout.nranks, job.layout.nodes, job.layout.ppn) == (2, 2, 1)
    argv, env = prepare(job, [lib], {"STRETTO_CHOICE": "allreduce=shm;bcast=shm"})
    for _ in range(3):
        with beside_others():
            result = run(argv, env, base, timeout=600, capture="yes")
        if result.status not in BROKEN_PIPE:
            break
    assert result.status == 0, result.stderr
    expected = f"{lib} | allreduce=shm bcast=shm | {mine.get('MINE', '')} | "
    assert sorted(result.stdout.splitlines()) == [expected + n.name for n in nodes.nodes]
