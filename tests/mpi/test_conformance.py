"""Results equal native ones: every choice, on many ranks and layouts, a job for each layout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from mpis import ALL, REPOSITORY
from programs import SHM, job, same

REGISTRY = REPOSITORY / "src" / "coll" / "algorithms.def"
#: by number: the algorithms of the collectives of blocks, as the registry has them now
BLOCKS = (
    "alltoall", "alltoallv", "gather", "gatherv", "scatter", "scatterv", "allgatherv",
    "reduce_scatter_block", "reduce_scatter", "scan", "exscan",
)  # fmt: skip


def _blocks(nth: int) -> str:
    rows = re.findall(r"^ALGORITHM\((\w+), \w+, (\w+),", REGISTRY.read_text(), flags=re.M)
    of = {c: [name for collective, name in rows if collective == c] for c in BLOCKS}
    return ";".join(f"{c}={names[nth % len(names)]}" for c, names in of.items())


FLAT = (
    "allreduce=ring;bcast=knomial(3);reduce=knomial(2);allgather=bruck_k(3);"
    f"barrier=dissemination(2);{_blocks(0)}"
)
MORE = (
    "allreduce=rabenseifner;bcast=scatter_allgather;reduce=knomial(4);allgather=ring;"
    f"barrier=dissemination(4);{_blocks(-1)}"
)
REST = "allreduce=bruck_k(3);bcast=chain(4K);reduce=knomial(3);allgather=bruck_k(2)"
LAYERED = (
    "allreduce=shm+recursive_doubling;bcast=shm+knomial(2);reduce=shm+knomial(2);"
    "allgather=shm+ring;barrier=shm+dissemination(2)"
)
#: node phases around an algorithm between nodes: every node action of a plan is carried out
COMPOSED = (
    "allreduce=lanes+ring;alltoall=shm+linear;allgather=shm+ring;allgatherv=shm+ring;"
    "barrier=shm+dissemination;bcast=shm+knomial(2);exscan=shm+recursive_doubling;"
    "gather=shm+knomial(2);gatherv=shm+knomial(2);reduce=shm+knomial(2);reduce_scatter=shm+ring;"
    "reduce_scatter_block=shm+pairwise;scan=shm+linear;scatter=shm+linear;scatterv=shm+knomial(3)"
)
#: every collective that has lanes; alltoall's X must not hand blocks on where nodes are unequal
LANES = (
    "allreduce=lanes+recursive_doubling;allgather=lanes+bruck_k(2);allgatherv=lanes+ring;"
    "alltoall=lanes+pairwise;bcast=lanes(2)+knomial(2);reduce=lanes+knomial(2);"
    "reduce_scatter=lanes+recursive_halving;reduce_scatter_block=lanes+pairwise"
)
#: rounds between nodes in which all ranks share
SPREAD = ("allreduce=shm+spread(2)", "allreduce=shm+spread(3)")


def compare(
    folder: Path, name: str, ranks: int, sets: Sequence[str], command: str, **settings: object
) -> str:
    """Compare random call shapes with native results, with each set of choices in turn.

    Each collective of a set must have been Stretto's, once at least. Returns what was said.
    """
    path = folder / "sets"
    path.write_text("".join(f"{line}\n" for line in sets))
    env = {"CONFORMANCE_CHOICES": str(path)}
    if name.startswith("intel"):  # whose own reductions of pairs with a gap are wrong in memory
        env["I_MPI_COLL_INTRANODE"] = "pt2pt"
    words = command.split()
    done = job(name, command, ranks=ranks, env=env, api=1, verbose=1, **settings)  # type: ignore[arg-type]
    assert same(done) == int(words[2]) * len(sets) * ranks
    assert ranks == 1 or "by Stretto with" not in done.stdout, done.stdout
    return done.stderr


@pytest.mark.parametrize("name", ALL)
def test_every_mpi_has_the_results_of_its_own(name: str, tmp_path: Path) -> None:
    """Ragged and empty blocks, in place, derived types of each rank's own, user operations.

    First with a choice for all communicators, which are set up as by default, at the third call.
    """
    ranks = 2 + list(ALL).index(name) % 2
    sets = ("as it is", SHM, FLAT, MORE, REST)
    said = compare(tmp_path, name, ranks, sets, "conformance 11 300 60000", choice=REST, after=3)
    for one in REST.split(";"):
        assert f"{one.split('=')[1]} (forced)" in said, one


@pytest.mark.parametrize(
    ("ranks", "ppn", "sets"),
    [
        (1, 0, (SHM, FLAT, MORE)),
        (5, 0, (SHM, FLAT, MORE)),
        (8, 0, (SHM, FLAT, MORE)),
        (3, 1, (LAYERED,)),
        (4, 2, (LAYERED,)),
        (5, 2, (LAYERED, COMPOSED)),
        (7, 3, (LAYERED, COMPOSED)),
        (6, 2, (FLAT, MORE, COMPOSED, LANES)),
        (6, 4, (LANES,)),
        (8, 3, (LANES,)),
        (8, 4, (COMPOSED, SPREAD[0])),
        (12, 3, SPREAD[:1]),
        (10, 2, SPREAD[1:]),
    ],
)
def test_layouts_have_the_mpis_own_results(
    ranks: int, ppn: int, sets: tuple[str, ...], tmp_path: Path
) -> None:
    said = compare(
        tmp_path, "openmpi4", ranks, sets, "conformance 7 300 20000", fake_ppn=ppn, after=0
    )
    if ppn > 1:  # on the world, whose ranks lie on all nodes
        nodes = -(-ranks // ppn)
        on = f"{nodes} nodes with at most {ppn} each" if ranks % ppn else f"{nodes} x {ppn}"
        layout = rf"on {ranks} ranks \({on}\)"
        assert re.search(rf"{layout}: (shm|lanes)\S*\+.* \(forced\)", said), said
