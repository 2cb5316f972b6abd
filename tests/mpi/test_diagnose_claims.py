"""What a diagnosis and a profile say must be what was recorded, and nothing more."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from mpis import MPIS
from stretto.diagnose import diagnose
from stretto.diagnose.barriers import part_needless
from stretto.diagnose.programs import other_program, others_words, ranks_apart
from stretto.files.profile import Call, Communicator, Matrix, Node, Profile, read_profile
from stretto.profile.barriers import Row, barrier_shares, with_all_evidence
from stretto.profile.show import parts, seconds, show, size
from test_diagnose import APPS, first, profile, row
from test_profile import stretto


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_barriers_that_order_another_rank_are_needed(name: str, tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    program = mpi.compile(APPS / "diagnose_cases.c", tmp_path / "cases", "-O1", "-pthread")
    path = tmp_path / "x.profile.json"
    done = stretto(
        mpi, "diagnose", "-o", str(path), "--json", "--", *mpi.launcher(2), str(program), "put"
    )
    assert done.returncode == 0, done.stderr
    rows = [c for c in read_profile(path).calls if c.function == "MPI_Barrier"]
    assert {c.detail: c.calls for c in rows} == {"after one-sided": [30, 30], None: [30, 30]}
    assert "barrier" not in [c["name"] for c in json.loads(done.stdout)["causes"]]


BARE: Row = ("MPI_Barrier", "collective", 0, None, None, 0, None)
FILES: Row = (*BARE[:6], "after files")
PUT: Row = (*BARE[:6], "after one-sided")


def test_evidence_of_all_ranks_is_joined() -> None:
    rows = [BARE, FILES, PUT]
    group, rank = np.array([0, 0, 4, 4, 7, 7]), np.array([0, 1] * 3)
    own = np.array([1, 2, 0, 0, 1, 0])
    shared = with_all_evidence(rows, own, group)
    both = (*BARE[:6], "after one-sided, after files")
    assert [rows[k] for k in shared] == [both, both, BARE, BARE, FILES, FILES]
    shares = barrier_shares(rows, rank, own, shared, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 3.0]))
    # events are samples: the counters divide as they do
    assert shares.of(1, BARE, 20) == [(BARE, 10, 0.25), (FILES, 10, 0.75)]
    assert shares.of(1, BARE, 1) == [(FILES, 1, 1.0)]
    assert shares.of(0, FILES, 20) == [(FILES, 10, 0.5), (both, 10, 0.5)]
    assert shares.of(2, BARE, 5) == [((*BARE[:6], "not joined"), 5, 1.0)]
    assert shares.of(2, FILES, 5) == [(FILES, 5, 1.0)]
    reduce: Row = ("MPI_Allreduce", "collective", 0, "MPI_SUM", None, 4, None)
    assert shares.of(1, reduce, 5) == [(reduce, 5, 1.0)]


def barriers(calls: int, detail: str | None = None, communicator: int = 0) -> Call:
    return row(
        "MPI_Barrier", "collective", detail=detail, communicator=communicator,
        calls=[calls, calls], bytes=[0, 0], bytes_min=0, bytes_max=0, time_s=[0.5, 0.5],
        wait_s=[0.4, 0.4], transfer_s=[0.1, 0.1], sampled=calls,
    )  # fmt: skip


WORLD = Communicator(0, "MPI_COMM_WORLD", 2, 1, 2)
OTHER = Communicator(2, "dup", 2, 1, 2)


@pytest.mark.parametrize(
    ("calls", "part"),
    [
        ([barriers(100)], 1.0),
        ([barriers(100), barriers(100, "after one-sided")], 0.0),  # read, barrier, put
        ([barriers(100), barriers(25, "after files")], 0.75),
        ([barriers(100), barriers(25, "after files", 2)], 0.5),
        ([barriers(100), replace(barriers(25, "after files", 2), sampled=0)], 0.0),
        ([barriers(100), barriers(25, "not joined", 2)], 1.0),
        ([barriers(100), barriers(100, "shared memory", 2)], 1.0),
    ],
)
def test_so_many_barriers_may_be_needed(calls: list[Call], part: float) -> None:
    assert part_needless(calls, [WORLD, OTHER])[0] == pytest.approx(part)


def test_only_what_is_needless_is_lost_to_barriers() -> None:
    some = [barriers(1000), barriers(250, "after files")]
    cause = next(c for c in diagnose(profile(some)).causes if c.name == "barrier")
    assert cause.lost_s == pytest.approx(0.75 * 0.5)
    assert cause.evidence[0].startswith("750 MPI_Barrier a rank")
    unknown = diagnose(profile([barriers(1000, "not joined")]))
    assert "barrier" not in [c.name for c in unknown.causes]


def waits(detail: str | None, time_s: float = 0.5, calls: int = 1000) -> Call:
    return row(
        "MPI_Wait", "wait", communicator=None, detail=detail, calls=[calls] * 2, bytes=[0, 0],
        bytes_min=0, bytes_max=0, time_s=[time_s] * 2,
    )  # fmt: skip


def test_waits_for_collectives_are_no_late_senders() -> None:
    receive = row("MPI_Recv", "p2p", time_s=[0.5, 0.5])
    some = [waits("MPI_Iallreduce", 5.0), waits("MPI_File_iread", 4.0), receive]
    cause = next(c for c in diagnose(profile(some)).causes if c.name == "late_sender")
    assert "most of it in MPI_Recv" in cause.evidence[1]


@pytest.mark.parametrize(
    ("detail", "part"),
    [
        (None, "messages: waiting"),
        ("MPI_Rsend_init", "messages: waiting"),
        ("MPI_Rget", "one-sided"),
        ("MPI_Raccumulate", "one-sided"),
        ("MPI_Comm_idup", "making communicators"),
        ("MPI_Iallreduce", "nonblocking collectives: waiting"),
        ("MPI_File_iwrite", "files"),
    ],
)
def test_waiting_is_told_by_what_is_waited_for(detail: str | None, part: str) -> None:
    given = profile([waits(detail)], io_s=[0.5, 0.5] if part == "files" else [0.0, 0.0])
    assert [p.name for p in parts(given)][1:] == [part]


def test_waiting_for_a_communicator_is_its_making() -> None:
    made = row("MPI_Comm_idup", "comm", calls=[3, 3], time_s=[0.1, 0.1])
    found = diagnose(profile([made, waits("MPI_Comm_idup", 0.4)]))
    cause = next(c for c in found.causes if c.name == "communicators")
    assert cause.lost_s == pytest.approx(0.5) and cause.evidence[0].startswith(
        "3 calls a rank, 500 ms"
    )


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (size(1000), "1000 B"), (size(1023.9), "1024 B"), (size(1000 << 20), "1000 MiB"),
        (size(3 << 50), "3072 TiB"), (size(15.625 * 1024), "15.6 KiB"), (size(8), "8 B"),
        (seconds(86400.0), "86400 s"), (seconds(0.9999e-3), "1000 us"), (seconds(1.2345), "1.23 s"),
    ],
)  # fmt: skip
def test_no_number_has_an_exponent(told: str, text: str) -> None:
    assert told == text


def test_a_row_without_calls_is_shown() -> None:
    empty = row("MPI_Bcast", "collective", calls=[0, 0], bytes=[0, 0])
    with (console := Console(width=120)).capture() as shown:
        show(profile([empty]), console)
    assert "Bcast" in shown.get()


DARK = {
    "nonblocking and persistent collectives": [
        row("MPI_Iallreduce", "nonblocking_collective", time_s=[0.2, 0.2]),
        waits("MPI_Iallreduce", 0.3),
    ],
    "neighbourhood collectives": [
        row("MPI_Neighbor_alltoall", "neighborhood", time_s=[0.2, 0.2]),
        waits("MPI_Ineighbor_alltoall", 0.3),
    ],
    "one-sided communication": [
        row("MPI_Win_fence", "rma", time_s=[0.2, 0.2]),
        waits("MPI_Rput", 0.3),
    ],
    "collectives whose calls could not be joined": [
        row("MPI_Allreduce", "collective", time_s=[0.5, 0.5])
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", DARK)
def test_no_verdict_on_what_was_not_judged(name: str) -> None:
    found = diagnose(profile(DARK[name]))
    assert found.can_help is None and "is not known" in found.verdict
    assert f"{name} 500 ms (33.3 %)" in found.verdict
    assert [(u.name, u.spent_s) for u in found.unjudged] == [(name, 0.5)]
    assert "stretto tune" not in found.next_command


def allreduce(seconds: float) -> Call:
    return row(
        "MPI_Allreduce", "collective", time_s=[seconds] * 2, wait_s=[0.0] * 2,
        transfer_s=[seconds] * 2, sampled=1000, typical_s=seconds / 1000,
    )  # fmt: skip


def test_what_was_judged_keeps_its_verdict() -> None:
    some = diagnose(profile([waits("MPI_Iallreduce", 0.02)]))
    assert some.can_help is False and "not judged" not in some.verdict
    much = diagnose(profile([waits("MPI_Iallreduce", 0.5), allreduce(0.5)]))
    assert much.can_help is True and "tuning can help" in much.verdict
    assert "not counted: nonblocking and persistent collectives 500 ms (25.0 %)" in much.verdict


def test_two_percent_are_not_nothing() -> None:
    late = row("MPI_Recv", "p2p", time_s=[0.5, 0.5])
    found = diagnose(profile([late, allreduce(0.03)]))
    assert found.causes[0].name == "late_sender" and not found.can_help
    assert (
        "tuning can gain an estimated 29.9 ms" in found.verdict and "late senders" in found.verdict
    )
    assert "stretto tune" not in found.next_command


def test_threads_lose_no_more_than_the_run() -> None:
    late = row("MPI_Recv", "p2p", time_s=[1.0, 1.0])
    given = profile([late, allreduce(1.0)], (0.0, 0.0), wall_s=[1.0, 1.0])
    found = diagnose(given)
    assert (found.wall_s, found.mpi_share, found.compute_share) == (1.0, 1.0, 0.0)
    assert all(c.share <= 1 for c in found.causes)
    assert any("several threads of a rank" in w for w in found.warnings)
    hidden = diagnose(profile([waits("MPI_Iallreduce", 1.0), late], (0, 0), wall_s=[1.0, 1.0]))
    assert [u.share for u in hidden.unjudged] == [0.5]
    with (console := Console(width=120)).capture() as shown:
        show(given, console)
    assert "note: several threads" in shown.get() and "100.0 %" not in shown.get()


def test_threads_are_told_where_their_sum_is_no_more_than_the_run() -> None:
    late = row("MPI_Recv", "p2p", time_s=[1.0, 1.0])
    found = diagnose(profile([late], (0.0, 0.0), wall_s=[1.0, 1.0], threads=[2, 1]))
    assert any("up to 2 threads" in w for w in found.warnings)
    alone = diagnose(profile([late], (0.0, 0.0), wall_s=[1.0, 1.0], threads=[1, 1]))
    assert not any("threads" in w for w in alone.warnings)


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("source", "words", "most"), [("record_ends", ("threads", "6"), 7), ("record_counts", (), 1)]
)
def test_threads_are_counted(
    source: str, words: tuple[str, ...], most: int, tmp_path: Path
) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(APPS / f"{source}.c", tmp_path / "program", "-pthread")
    path = tmp_path / "x.profile.json"
    run = [*mpi.launcher(2), str(program), *(words or [str(tmp_path / "file")])]
    done = stretto(mpi, "profile", "-o", str(path), "--", *run)
    told = read_profile(path).threads
    assert told is not None and all(min(most, 2) <= n <= most for n in told)
    assert ("threads of a rank call the MPI" in done.stderr) == (most > 1)


def test_small_messages_are_many_not_large() -> None:
    send = row("MPI_Send", "p2p", calls=[1000000, 0], bytes=[8000000, 0], time_s=[1.001, 1.001])
    found = diagnose(profile([send], matrix=Matrix([(0, 1, 1000000, 8000000)])))
    lost = {c.name: c.lost_s for c in found.causes}
    assert lost == pytest.approx({"messages": 1.0, "bandwidth": 0.001})
    assert "1000000 messages of 8 B on average should take 1 s" in found.causes[0].evidence[0]
    large = row("MPI_Send", "p2p", calls=[1, 0], bytes=[8 << 30, 0], time_s=[1.1, 1.1])
    found = diagnose(profile([large], matrix=Matrix([(0, 1, 1, 8 << 30)])))
    assert found.causes[0].name == "bandwidth"


def test_waiting_in_sends_is_no_late_sender() -> None:
    send = row("MPI_Ssend", "p2p", time_s=[0.5, 0.5])
    cause = diagnose(profile([send])).causes[0]
    assert "receivers" in cause.title and "most of it in MPI_Ssend" in cause.evidence[1]


def waiting(function: str, wait: float) -> Call:
    return row(
        function, "collective", time_s=[wait, wait], wait_s=[wait, wait], transfer_s=[0.0, 0.0]
    )


def test_no_rank_is_named_where_the_late_one_changes() -> None:
    some = [waiting("MPI_Allreduce", 0.3), waiting("MPI_Allreduce", 0.2), waiting("MPI_Bcast", 0.1)]
    cause = diagnose(profile(some)).causes[0]
    assert cause.name == "moving_imbalance"
    assert [e.partition(":")[0] for e in cause.evidence] == [
        "the late rank changes from call to call",
        "most of the waiting is in MPI_Allreduce (500 ms a rank) and MPI_Bcast (100 ms a rank)",
    ]
    uneven = diagnose(profile([waiting("MPI_Allreduce", 0.5)], (2.0, 1.0))).causes[0]
    assert uneven.evidence[0].startswith("rank 0 computes 2 s, the mean is 1.5 s")


def test_collectives_of_one_rank_are_not_tuned() -> None:
    alone = Communicator(0, "MPI_COMM_SELF", 1, 1, 1, 2)
    found = diagnose(profile([allreduce(1.0)], communicators=[alone]))
    assert first(found) == "collective" and found.causes[0].tuning_s == 0
    assert found.can_help is False


def busy(share: float, calls: list[Call], **values: Any) -> Profile:
    """Make a profile of a second or so, of which ranks waited a share for a core."""
    made = profile(calls, **values)
    return replace(
        made,
        cpu_s=[(1 - share) * w for w in made.wall_s],
        core_wait_s=[share * w for w in made.wall_s],
        involuntary=[1000, 1000],
        nodes=[Node("h", [0, 1], 18.2, 2)],
    )


LATE = [row("MPI_Recv", "p2p", time_s=[9.0, 9.0])]
UNEVEN = replace(allreduce(9.5), typical_s=1e-6)
RARE = [replace(allreduce(1.0), calls=[7, 7], sampled=7)]


@pytest.mark.parametrize(
    ("share", "calls", "verdict", "first"),
    [
        (0.9, LATE, "inconclusive: the machine was busy", "busy_machine"),  # LAMMPS at load 18
        (0.9, [allreduce(9.0)], "inconclusive: the machine was busy", "busy_machine"),
        (0.2, [allreduce(0.01)], "inconclusive: the machine was busy", "busy_machine"),
        (0.9, [UNEVEN], "inconclusive: the machine was busy", "busy_machine"),
        (0.0, [UNEVEN], "tuning cannot help, because an interrupted rank", "interruption"),
        (0.1, LATE, "tuning cannot help, because messages", "late_sender"),
        (0.1, [allreduce(9.0)], "tuning can help: an estimated", "collective"),
        (0.02, LATE, "tuning cannot help, because messages", "late_sender"),
        (0.0, RARE, "not known, because this was not judged: collectives of fewer than 20", None),
    ],
)
def test_verdict_on_busy_machine_or_few_calls_is_withheld(
    share: float, calls: list[Call], verdict: str, first: str | None
) -> None:
    found = diagnose(busy(share, calls))
    assert verdict in found.verdict
    assert (found.causes[0].name if found.causes else None) == first
    assert first == "interruption" or "interruption" not in [c.name for c in found.causes]
    told = [w for w in found.warnings if "the machine was busy" in w]
    assert bool(told) == (share >= 0.05)
    if told:
        assert f"waited {100 * share:.0f} % of the time for a core" in told[0]
        assert "load 18.2 on 2 processors" in told[0]
    if "inconclusive" in verdict or first is None:
        assert found.can_help is None


def alone(command: list[str], executables: list[str] | None = None) -> Profile:
    part = profile([]).recorded_part()
    return replace(
        part, nranks=1, nodes=[replace(part.nodes[0], ranks=[0])], wall_s=[1.0], mpi_s=[0.0],
        io_s=[0.0], clock_error_s=[0.0], command=command, executables=executables,
    )  # fmt: skip


ONE_MACHINE = [Node("h", [0], 1.0, 1, 0), Node("i", [1], 1.0, 1, 0)]


@pytest.mark.parametrize(
    ("share", "nodes", "found_busy", "first"),
    [
        (0.5, [Node("h", [0, 1], 1.0, 1)], False, "more_ranks_than_cores"),
        (0.5, ONE_MACHINE, False, "more_ranks_than_cores"),  # two nodes in name
        (0.5, [Node("h", [0], 1.0, 1, 0), Node("i", [1], 1.0, 1, 1)], True, "busy_machine"),
        (0.7, [Node("h", [0, 1], 1.0, 1)], True, "more_ranks_than_cores"),
        (0.04, [Node("h", [0, 1], 1.0, 1)], False, "late_sender"),  # they sleep when they wait
    ],
)
def test_ranks_more_than_cores_are_a_cause_of_their_own(
    share: float, nodes: list[Node], found_busy: bool, first: str
) -> None:
    found = diagnose(replace(busy(share, LATE), nodes=nodes))
    causes = {c.name: c for c in found.causes}
    assert found.causes[0].name == first
    assert ("busy_machine" in causes) == found_busy
    assert any("the machine was busy" in w for w in found.warnings) == found_busy
    if first == "more_ranks_than_cores":
        assert causes[first].share == pytest.approx(0.5)
        assert "2 ranks share 1 core" in causes[first].evidence[0]
        assert found.verdict.startswith("inconclusive: ranks are more than cores")


SH = str(Path("/bin/sh").resolve())


@pytest.mark.parametrize(
    ("command", "executable", "question", "following"),
    [
        (["/bin/sh", "a b"], SH, "forgotten?", "stretto diagnose -- mpirun -n 4 /bin/sh 'a b'"),
        (["/bin/sh", "job"], "/app", "here or in the script?", "stretto profile --show x.json"),
        (["mpirun", "./app"], "/app", "ask for more (-n)?", "stretto profile --show x.json"),
    ],
)
def test_diagnose_of_one_rank_asks_for_the_launcher(
    command: list[str], executable: str, question: str, following: str
) -> None:
    found = diagnose(alone(command, [executable]), Path("x.json"))
    assert "one rank only" in found.verdict and found.verdict.endswith(question)
    assert found.next_command == following and found.can_help is False


def test_diagnose_of_a_profile_that_lacks_calls_gives_no_verdict() -> None:
    heavy = profile([allreduce(9.0)])
    cases = [
        (replace(heavy, tools=["/x/tool.so"]), "tool.so takes MPI calls before the recorder"),
        (replace(heavy, tools=["/x/a", "/x/t.so"], executables=["/x/a"]),
         "a tool linked into a and t.so take MPI calls before the recorder"),
        (profile([]), "no MPI call was recorded"),
        (replace(heavy, complete=False, incomplete_ranks=[0, 1]),
         "no rank was recorded to its MPI_Finalize"),
    ]  # fmt: skip
    for made, why in cases:
        found = diagnose(made)
        assert found.verdict.startswith(f"whether tuning can help is not known, because {why}")
        assert found.can_help is None
        assert (found.compute_share is None and not found.causes) == bool(made.tools)
        assert found.next_command.startswith(f"stretto {'check' if made.tools else 'diagnose'} --")
    one_cut = diagnose(replace(heavy, complete=False, incomplete_ranks=[1]))
    assert "tuning can help" in one_cut.verdict


def test_diagnose_of_ranks_that_ran_apart_gives_no_verdict() -> None:
    mine = alone(["mpirun", "-n", "2", "./app"], ["/x/app"])
    assert "2 ranks of app each ran as a job of one rank" in (ranks_apart([mine, mine]) or "")
    script = replace(mine, command=["./job.sh"])
    other = replace(mine, executables=["/x/other"])
    for profiles in ([mine], [mine, profile([])], [script, script], [mine, other]):
        assert ranks_apart(profiles) is None


def test_diagnose_of_many_programs_lists_five() -> None:
    one = other_program(alone(["./job.sh"], ["/x/a", "/x/b"]), Path("o p.json"), "verdict")
    assert others_words("app", []) == []
    lines = others_words("app", [one] * 7)
    assert len(lines) == 7 and "ran 8 MPI programs" in lines[0] and "2 more" in lines[-1]
    assert lines[1] == (
        "   a, b, 1 rank, 1 s: verdict\n   see: stretto diagnose --profile 'o p.json'"
    )
