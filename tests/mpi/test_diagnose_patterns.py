"""Who waits for whom: a program with each fault and its twin without, and the same by numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpis import MPIS
from stretto.diagnose import MINOR, diagnose
from stretto.diagnose.causes import Cause
from stretto.files.profile import Call, Communicator, Matrix, Node, Profile
from stretto.profile.waiting import _caused
from test_diagnose import APPS, profile, row
from test_profile import stretto

N = 4


def many(
    calls: list[Call], compute: tuple[float, ...] = (1.0,) * N, messages: Any = (), **values: Any
) -> Profile:
    """Return a profile of four ranks on one node."""
    mpi = [sum(c.time_s[r] for c in calls) for r in range(N)]
    base: dict[str, Any] = {
        "nranks": N, "nodes": [Node("h", [*range(N)], 1.0, 64)], "mpi_s": mpi, "io_s": [0.0] * N,
        "wall_s": [max(c + m for c, m in zip(compute, mpi, strict=True))] * N, "calls": calls,
        "clock_error_s": [0.0] * N, "matrix": Matrix(list(messages)),
        "communicators": [Communicator(0, "MPI_COMM_WORLD", N, 1, N)],
    }  # fmt: skip
    return replace(profile([]), **(base | values))


def of_four(function: str, kind: Any, time_s: list[float], **values: Any) -> Call:
    base = {"calls": [100] * N, "bytes": [800] * N, "time_s": time_s}
    return row(function, kind, **(base | values))


def waits(*seconds: float) -> Call:
    """Return an allreduce in which ranks wait so long."""
    return of_four(
        "MPI_Allreduce", "collective", [s + 1e-5 for s in seconds], wait_s=list(seconds),
        transfer_s=[1e-5] * N, sampled=100, typical_s=1e-7,
    )  # fmt: skip


def named(found: list[Cause]) -> dict[str, Cause]:
    return {c.name: c for c in found if c.share >= MINOR}


def test_late_ranks_that_stay_are_named_and_weighted_and_others_are_not() -> None:
    last = [0.0, 0.0, 0.02, 0.98]
    same = named(diagnose(many([waits(1, 1, 1, 0)], (1, 1, 1, 2), last_share=last)).causes)
    assert list(same) == ["imbalance"]
    seen, do = "\n".join(same["imbalance"].evidence), "\n".join(same["imbalance"].steps)
    assert "rank 3 computes 2 s, the mean is 1.25 s (1.60 times)" in seen
    assert "98 % of the waiting in collectives ended when this rank came" in seen
    assert "vwgt" in do and "from rank 0 on: 0.80 0.80 0.80 1.60" in do
    two = diagnose(many([waits(1, 1, 0, 0)], (1, 1, 2, 2), last_share=[0, 0, 0.5, 0.5])).causes[0]
    assert "ranks 2-3 compute 2 s on average" in two.evidence[0]
    even = [0.25] * N
    moving = named(diagnose(many([waits(1, 1, 1, 1)], last_share=even)).causes)
    assert list(moving) == ["moving_imbalance"] and not moving["moving_imbalance"].steps
    assert "the last in 25 % of the waiting" in moving["moving_imbalance"].evidence[1]
    # the sums differ by chance: who computes longest is not who the others wait for
    chance = many([waits(1, 1, 1, 0.8)], (1, 1, 1, 1.2), last_share=even)
    assert list(named(diagnose(chance).causes)) == ["moving_imbalance"]
    both = many([waits(1, 1, 1, 0.7)], (1, 1, 1, 1.4), last_share=[0.1, 0.1, 0.1, 0.7])
    assert set(named(diagnose(both).causes)) == {"imbalance", "moving_imbalance"}


def test_waiting_counts_for_the_rank_that_came_last() -> None:
    """Of a broadcast the root, of neighbours none."""
    names = np.array(["MPI_Allreduce", "MPI_Bcast", "MPI_Neighbor_alltoall"])
    events = {
        "row": np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), "rank": np.array([0, 1, 2] * 3),
        "started": np.array([0, 50, 10, 7, 90, 20, 0, 1, 2]),
        "root": np.array([False] * 3 + [True] + [False] * 5),
    }  # fmt: skip
    group, wait = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), np.array([50, 0, 40, 0, 3, 0, 9, 9, 9])
    assert list(_caused(events, names, group, wait)) == [3.0, 90.0, 0.0]


RING = [(r, (r + 1) % N, 100, 800) for r in range(N)]
BOTH = [*RING, *((r, (r - 1) % N, 100, 800) for r in range(N))]
ALL = [(s, t, 100, 800) for s in range(N) for t in range(N) if s != t]


@pytest.mark.parametrize(
    ("function", "kind", "compute", "messages", "cause", "step"),
    [
        ("MPI_Recv", "p2p", 0.25, RING, "chain", "smaller pieces"),
        ("MPI_Recv", "p2p", 0.25, BOTH, "late_sender", "instead of MPI_Recv"),
        ("MPI_Recv", "p2p", 0.6, RING, "late_sender", "instead of MPI_Recv"),  # side by side
        ("MPI_Recv", "p2p", 0.05, RING, "late_sender", "instead of MPI_Recv"),  # nobody works
        ("MPI_Waitall", "wait", 0.25, RING, "late_sender", None),
    ],
)
def test_late_senders_are_told_by_their_calls_and_by_who_works_meanwhile(
    function: str, kind: Any, compute: float, messages: Any, cause: str, step: str | None
) -> None:
    call = of_four(function, kind, [1 - compute] * N, communicator=None)
    found = diagnose(many([call], (compute,) * N, messages)).causes[0]
    assert found.name == cause
    assert [step in s for s in found.steps] == [True] if step else found.steps == []
    if cause == "chain":
        assert "on average 1.0 of 4 ranks compute at a time" in found.evidence[-1]


@pytest.mark.parametrize(
    ("messages", "serves"),
    [(BOTH, True), (RING, False), (ALL, False), ([(0, 1, 900, 800), *BOTH[1:]], False)],
)
def test_neighbourhood_collective_is_offered_to_equal_exchanges_alone(
    messages: Any, serves: bool
) -> None:
    often = [(s, t, 10**4 * m, v) for s, t, m, v in messages]
    found = diagnose(many([of_four("MPI_Isend", "p2p", [4.0] * N)], messages=often))
    cause = next(c for c in found.causes if c.name == "messages")
    assert ("MPI_Neighbor_alltoallv" in " ".join(cause.steps)) == serves


def vectors(
    function: str, senders: list[int], root: int | None = None, **values: Any
) -> list[Call]:
    """Return rows of a v-collective in which only some ranks have a block."""
    full = [100 * (r in senders) for r in range(N)]
    none = [100 - n for n in full]
    common = {"sampled": 100, "typical_s": 5e-3, "roots": [] if root is None else [root]}

    def part(counts: list[int], **more: Any) -> Call:
        seconds = [n * 5e-3 for n in counts]
        return of_four(
            function, "collective", seconds, calls=counts, wait_s=[0.0] * N, transfer_s=seconds,
            **(common | more),
        )  # fmt: skip

    return [
        part(full, bytes=[8 * n for n in full]),
        part(none, bytes=[0] * N, bytes_min=0, bytes_max=0, **values),
    ]


@pytest.mark.parametrize(
    ("calls", "ranks"),
    [
        (vectors("MPI_Gatherv", [1], root=0), "ranks 2-3"),  # the root has what it receives
        (vectors("MPI_Scatterv", [0, 1], root=0), "ranks 2-3"),
        (vectors("MPI_Alltoallv", [0, 1, 2]), "rank 3"),
        (vectors("MPI_Bcast", []), "ranks 0-3"),  # of no bytes at all
        (vectors("MPI_Alltoallv", [0, 1, 2], detail="receives only"), None),
        (vectors("MPI_Alltoallv", [0, 1, 2, 3])[:1], None),
        (vectors("MPI_Allgatherv", [0, 1]), None),  # the others receive it
        (vectors("MPI_Bcast", [0, 1]), None),  # two sizes of a call
        (vectors("MPI_Gatherv", [1]), None),  # the root is not known
        ([replace(vectors("MPI_Gatherv", [], root=0)[1], calls=[5] * N)], None),  # too few
        (vectors("MPI_Barrier", []), None),
    ],
)
def test_ranks_with_empty_blocks_are_named_where_they_need_nothing(
    calls: list[Call], ranks: str | None
) -> None:
    found = {c.name: c for c in diagnose(many(calls)).causes}
    assert ("empty_blocks" in found) == (ranks is not None)
    if ranks is not None:
        cause = found["empty_blocks"]
        assert cause.evidence[0].endswith(f"in 100 calls of {ranks}")
        silent = 1 + int(ranks[-1]) - int(ranks.split()[1][0])
        assert cause.lost_s == pytest.approx(0.5 * silent / N)


@pytest.mark.parametrize(
    ("busy", "allowed", "cores", "cause", "seen", "do"),
    [
        ([4] * N, [1] * N, 64, "more_threads_than_cores", "4 busy threads is bound to 1 core",
         "mpirun --map-by slot:PE=4 --bind-to core, or srun -c 4"),
        ([4] * N, [8] * N, 8, "more_threads_than_cores", "4 ranks with 16 busy threads share 8",
         "OMP_NUM_THREADS=2"),
        ([1] * N, [2] * N, 2, "more_ranks_than_cores", "4 ranks share 2 cores", ""),
        ([4] * N, [4] * N, 64, "busy_machine", "load", ""),
        ([0] * N, [0] * N, 64, "busy_machine", "load", ""),
    ],
)  # fmt: skip
def test_threads_that_share_cores_are_no_busy_machine(
    busy: list[int], allowed: list[int], cores: int, cause: str, seen: str, do: str
) -> None:
    made = many(
        [waits(0, 0, 0, 0)], busy_threads=busy, allowed_cores=allowed, core_wait_s=[0.4] * N,
        cpu_s=[0.6] * N, involuntary=[100] * N,
    )  # fmt: skip
    found = diagnose(replace(made, nodes=[Node("h", [*range(N)], 9.0, cores)]))
    assert list(named(found.causes)) == [cause]
    assert seen in found.causes[0].evidence[0] and do in " ".join(found.causes[0].steps)
    assert bool(found.causes[0].steps) == bool(do)
    assert found.verdict.startswith("inconclusive: " + cause.split("_")[1].replace(
        "machine", "the machine"))  # fmt: skip


@pytest.mark.parametrize(
    ("busy", "cores", "noted"), [([1] * N, 64, True), ([1] * N, 8, False), ([0] * N, 64, False),
                                 ([8] * N, 64, False)]
)  # fmt: skip
def test_idle_cores_are_noted_where_three_of_four_are(
    busy: list[int], cores: int, noted: bool
) -> None:
    found = diagnose(many([], busy_threads=busy, nodes=[Node("h", [*range(N)], 1.0, cores)]))
    assert any("stretto scale measures it" in w for w in found.warnings) == noted


def test_long_job_is_sent_to_learn_by_verdict_and_by_cause() -> None:
    for times, tool in ((1.0, "tune"), (700.0, "learn")):
        call = of_four("MPI_Allreduce", "collective", [times] * N, wait_s=[0.0] * N,
                       transfer_s=[times] * N, sampled=100, typical_s=times / 100)  # fmt: skip
        found = diagnose(many([call]))
        assert found.next_command.startswith(f"stretto {tool} -- ")
        assert found.causes[0].next_command == found.next_command
        small = [replace(call, time_s=[t / 50 for t in call.time_s], typical_s=times / 5000,
                         transfer_s=[times / 50] * N)]  # fmt: skip
        late = of_four("MPI_Recv", "p2p", [times] * N, communicator=None)
        little = diagnose(many([*small, late]))
        assert little.causes[0].name == "late_sender" and not little.can_help
        assert little.next_command.startswith("stretto learn -- ") == (tool == "learn")


@pytest.mark.mpi
@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "causes", "absent"),
    [
        ("threads", {"more_threads_than_cores"}, set()),
        ("compute", set(), {"more_threads_than_cores", "empty_blocks", "imbalance"}),
        ("overlap", set(), {"more_threads_than_cores", "chain"}),
        ("full", set(), {"more_threads_than_cores", "empty_blocks"}),
    ],
)
def test_program_and_its_twin_have_the_causes_that_they_were_made_for(
    case: str, causes: set[str], absent: set[str], tmp_path: Path
) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(APPS / "diagnose_cases.c", tmp_path / "cases", "-O1", "-pthread")
    path = tmp_path / "x.profile.json"
    words = ["diagnose", "-o", str(path), "--json", "--", *mpi.launcher(2), str(program), case]
    done = stretto(mpi, *words)
    assert done.returncode == 0, done.stderr
    large = {c["name"] for c in json.loads(done.stdout)["causes"] if c["share"] >= MINOR}
    assert causes <= large and not absent & large
    busy = json.loads(path.read_text())["busy_threads"]
    assert busy == [1, 1] if case != "threads" else min(busy) >= 3
