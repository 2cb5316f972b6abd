"""From numbers of a profile to causes, a verdict, what to type: no MPI runs here."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from profiles import WHOLE, N, many, of_four, profile, row, used
from stretto.cli import diagnose as cli_diagnose
from stretto.cli import main
from stretto.counted import seconds, sized
from stretto.diagnose import MINOR, Network, diagnose
from stretto.diagnose.causes import Cause
from stretto.diagnose.judged import part_needless
from stretto.diagnose.programs import other_program, program_name, ranks_apart
from stretto.files.identity import Host, MPIIdentity
from stretto.files.profile import Call, Communicator, FileUse, Matrix, Node, Profile, write_profile
from stretto.launch.execute import Result
from stretto.profile.join import Joined
from stretto.profile.record import Recorded
from stretto.profile.show import parts, show, wide_console


def allreduce(seconds: float, **values: Any) -> Call:
    base = {"wait_s": [0.0] * 2, "transfer_s": [seconds] * 2, "sampled": 1000}
    more = {"time_s": [seconds] * 2, "typical_s": seconds / 1000}
    return row("MPI_Allreduce", "collective", **(base | more | values))


#: without a graph, which is what it would be measured on
AROUND = replace(allreduce(5.0), function="MPI_Neighbor_alltoall", kind="neighborhood")


def barriers(calls: int, detail: str | None = None, communicator: int = 0) -> Call:
    return row(
        "MPI_Barrier", "collective", detail=detail, communicator=communicator,
        calls=[calls, calls], bytes=[0, 0], bytes_min=0, bytes_max=0, time_s=[0.5, 0.5],
        wait_s=[0.4, 0.4], transfer_s=[0.1, 0.1], sampled=calls,
    )  # fmt: skip


def waits(detail: str | None, time_s: float = 0.5, calls: int = 1000) -> Call:
    return row(
        "MPI_Wait", "wait", communicator=None, detail=detail, calls=[calls] * 2, bytes=[0, 0],
        bytes_min=0, bytes_max=0, time_s=[time_s] * 2,
    )  # fmt: skip


LATE = row("MPI_Recv", "p2p", time_s=[0.5, 0.5])
WAITED = {"time_s": [0.001, 1.001], "wait_s": [0.0, 1.0], "transfer_s": [0.001, 0.001]}
VOLUME = 100 << 20
LARGE = {"calls": [100, 100], "bytes": [VOLUME, VOLUME], "bytes_min": 1 << 20,
         "bytes_max": (1 << 21) - 1, "sampled": 100}  # fmt: skip
FITS = VOLUME / Network().node_bandwidth


def large(seconds: float) -> Profile:
    return profile([allreduce(seconds, typical_s=seconds / 100, **LARGE)], (0.001, 0.001))


def messages(function: str, bytes_: int, number: int, time_s: float) -> Profile:
    call = row(function, "p2p", calls=[number, 0], bytes=[bytes_, 0], time_s=[time_s] * 2)
    return profile([call], matrix=Matrix([(0, 1, number, bytes_)]))


#: profile, first cause, what is lost to it (s), whether tuning can help, what is said
CAUSES: list[tuple[Profile, str | None, float | None, bool, list[str]]] = [
    (profile([allreduce(0, typical_s=1e-6, **WAITED)], (2.0, 1.0)), "imbalance", 0.5, False,
     ["cannot help"]),
    (large(FITS), "bandwidth", None, False, []),
    (large(10 * FITS), "collective", None, True, ["stretto tune -- mpirun -n 2 './a b'"]),
    (profile([replace(allreduce(5.0), function="MPI_Alltoallw")], (0.1, 0.1)), "collective", None,
     True, []),
    (profile([AROUND], (0.1, 0.1)), "collective", None, False,
     ["leaves these collectives to the MPI"]),
    (profile([replace(AROUND, graph="torus(2)")], (0.1, 0.1)), "collective", None, True, []),
    (profile([allreduce(1.0)], communicators=[Communicator(0, "MPI_COMM_SELF", 1, 1, 1, 2)]),
     "collective", None, False, []),
    (profile([allreduce(5.0)], (0.1, 0.1), communicators=[Communicator(0, "inter", 3, 0, 0)]),
     "collective", None, False, ["leaves these collectives to the MPI"]),
    (profile([allreduce(0.01, typical_s=1e-6)], (0.001, 0.001)), "interruption", None, True,
     ["an interrupted rank is late"]),
    (profile([barriers(1000), barriers(250, "after files")]), "barrier", 0.375, True,
     ["750 MPI_Barrier per rank"]),
    (profile([barriers(1000, "not joined")]), "moving_imbalance", None, True, []),
    (messages("MPI_Recv", 8000, 1000, 1.0), "late_sender", None, False, []),
    (messages("MPI_Recv", 8000, 1000, 0.001), None, None, False, []),
    (messages("MPI_Send", 8000000, 1000000, 1.001), "messages", 0.5, False,
     ["1000000 messages per rank, sent and received, of 8 B on average; each takes 1 us in send",
      "assumed cost of each, not measured: 1 us within a node",
      "combining messages in pairs would save an estimated 500 ms"]),
    # cheaper than assumed: not all of that is lost
    (messages("MPI_Send", 8000000, 1000000, 0.4), "messages", 0.2, False, ["0.40 us in send"]),
    (messages("MPI_Send", 8 << 30, 1, 1.1), "bandwidth", None, False, []),
    (profile([replace(LATE, function="MPI_Ssend")]), "late_sender", 0.5, False,
     ["receivers", "most of it in MPI_Ssend"]),
    (profile([LATE], communicators=[Communicator(0, "inter", 3, 0, 0)]), "late_sender", 0.5, False,
     ["waits, with ranks of another MPI_COMM_WORLD"]),
    # waits for collectives and files are no late senders
    (profile([waits("MPI_Iallreduce", 0.01), waits("MPI_File_iread", 4.0), LATE]), "late_sender",
     0.5, False, ["most of it in MPI_Recv"]),
    (profile([row("MPI_Comm_idup", "comm", calls=[3, 3], time_s=[0.1, 0.1]),
              waits("MPI_Comm_idup", 0.4)]), "communicators", 0.5, False,
     ["3 calls per rank, 500 ms", "a longer run, if these few calls are at the start"]),
    (profile([row("MPI_Comm_split", "comm", calls=[90, 90], time_s=[0.5, 0.5])]), "communicators",
     0.5, False, ["90 calls per rank", "create communicators once and reuse them"]),
    (profile([row("MPI_Comm_rank", "other")]), None, None, False,
     ["100.0 % of the run is computing"]),
    (profile([waits("MPI_Iallreduce", 0.02)]), None, None, False, []),
    (profile([waits("MPI_Iallreduce", 0.5), allreduce(0.5)]), "collective", None, True,
     ["not counted: nonblocking and persistent collectives 500 ms (25.0 %)"]),
    # 0.2 s of faults on average, and the same of the waiting
    (profile([allreduce(0, typical_s=1e-6, **WAITED)], (1.0, 1.0), repeated_faults=[300000, 100000],
             fault_s=[1e-6, 1e-6]), "page_faults", 0.4, False, [
     "page faults are outside", "200000 page faults per rank", "at least 1 us here",
     "settings --candidates MALLOC_TRIM_THRESHOLD_=67108864,MALLOC_MMAP_THRESHOLD_=33554432 --"]),
    (profile([row("MPI_Comm_rank", "other")], repeated_faults=[99, 99], fault_s=[0.0, 0.0]), None,
     None, False, []),
    # two percent are not nothing
    (profile([LATE, allreduce(0.03)]), "late_sender", None, False,
     ["tuning can gain an estimated 29.9 ms", "late senders"]),
]  # fmt: skip


@pytest.mark.parametrize(("given", "first", "lost", "helps", "said"), CAUSES)
def test_diagnose_names_the_first_cause_and_whether_tuning_can_help(
    given: Profile, first: str | None, lost: float | None, helps: bool, said: list[str]
) -> None:
    found = diagnose(given)
    large = [c for c in found.causes if c.share >= MINOR]
    assert (large[0].name if large else None) == first, [(c.name, c.lost_s) for c in found.causes]
    assert lost is None or found.causes[0].lost_s == pytest.approx(lost, rel=0.01)
    assert found.can_help is helps and ("stretto tune" in found.next_command) == helps
    words = [found.verdict, found.next_command]
    for cause in large:
        words += [cause.title, cause.because or "", cause.advice or "", *cause.evidence]
    assert all(text in "\n".join(words) for text in said), words


def test_diagnose_of_a_failed_command_names_the_failure_and_no_causes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = replace(large(10 * FITS), incomplete_ranks=[1])
    job = SimpleNamespace(notes=[])
    result = Result(3, 1.0, "done\nno such case\n", "MPI_ABORT was invoked on rank 1\n")
    recorded = Recorded(job, result, [Joined(kept, [])], [tmp_path / "p"])  # type: ignore[arg-type]
    monkeypatch.setattr(cli_diagnose, "record", lambda *_, **__: recorded)
    assert main(["diagnose", "--", "mpirun", "-n", "2", "./app"]) == 3
    printed = capsys.readouterr()
    failure = "the command ended with 3 (ranks that did not reach MPI_Finalize: 1)"
    assert not printed.out and printed.err == (
        f"stretto: error: {failure}; its output is above\n  at: mpirun -n 2 ./a b\n"
        "  try: first make the command succeed without Stretto; if it ran for long, the recorded "
        f"part may help: stretto diagnose --profile {tmp_path / 'p'}\n"
    )
    assert main(["diagnose", "--json", "--", "mpirun", "-n", "2", "./app"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert (
        found["failure"]
        == f"{failure}; last output: done / no such case / MPI_ABORT was invoked on rank 1"
    )
    assert f"no verdict: {failure}" in found["verdict"] and found["can_help"] is None
    assert not found["causes"] and not found["parts"] and found["compute_share"] is None
    assert found["next_command"] == "mpirun -n 2 ./app"


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


@pytest.mark.parametrize(
    ("detail", "part"),
    [
        (None, "messages: waiting"),
        ("MPI_Rsend_init", "messages: waiting"),
        ("MPI_Rget", "one-sided"),
        ("MPI_Raccumulate", "one-sided"),
        ("MPI_Comm_idup", "creating communicators"),
        ("MPI_Iallreduce", "nonblocking collectives: waiting"),
        ("MPI_File_iwrite", "files"),
    ],
)
def test_waiting_is_told_by_what_is_waited_for(detail: str | None, part: str) -> None:
    given = profile([waits(detail)], io_s=[0.5, 0.5] if part == "files" else [0.0, 0.0])
    assert [p.name for p in parts(given)][1:] == [part]


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (sized(1000), "1000 B"), (sized(1023.9), "1024 B"), (sized(1000 << 20), "1000 MiB"),
        (sized(3 << 50), "3072 TiB"), (sized(15.625 * 1024), "15.6 KiB"), (sized(8), "8 B"),
        (seconds(86400.0), "86400 s"), (seconds(0.9999e-3), "1000 us"), (seconds(1.2345), "1.23 s"),
    ],
)  # fmt: skip
def test_no_number_has_an_exponent(told: str, text: str) -> None:
    assert told == text


def test_profile_with_a_row_without_calls_and_a_name_in_brackets_is_shown() -> None:
    empty = row("MPI_Bcast", "collective", calls=[0, 0], bytes=[0, 0])
    named = [Communicator(0, "[/grid]", 2, 1, 2)]
    uses = [replace(used(WHOLE, reads=False), size=0), replace(used(WHOLE), path="/data/old")]
    console = wide_console()
    with console.capture() as shown:
        show(profile([empty], communicators=named, file_uses=uses), console)
    assert "Bcast" in shown.get() and "[/grid], 2" in shown.get()
    lines = [line.split() for line in shown.get().splitlines() if "/data/" in line]
    assert [line[2] for line in lines] == ["new", "1"]  # not 0 B, and 1 GiB


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
    assert found.can_help is None and "it is unknown" in found.verdict
    assert f"{name} 500 ms (33.3 %)" in found.verdict
    assert [(u.name, u.spent_s) for u in found.unjudged] == [(name, 0.5)]
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
        "most of the waiting is in MPI_Allreduce (500 ms per rank) and MPI_Bcast (100 ms per rank)",
    ]
    uneven = diagnose(profile([waiting("MPI_Allreduce", 0.5)], (2.0, 1.0))).causes[0]
    assert uneven.evidence[0].startswith("rank 0 computes 2 s, the mean is 1.5 s")


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


LATE_9 = [row("MPI_Recv", "p2p", time_s=[9.0, 9.0])]
UNEVEN = replace(allreduce(9.5), typical_s=1e-6)


RARE = [replace(allreduce(1.0), calls=[7, 7], sampled=7)]


@pytest.mark.parametrize(
    ("share", "calls", "verdict", "first"),
    [
        (0.9, LATE_9, "inconclusive: the machine was busy", "busy_machine"),  # LAMMPS at load 18
        (0.9, [allreduce(9.0)], "inconclusive: the machine was busy", "busy_machine"),
        (0.2, [allreduce(0.01)], "inconclusive: the machine was busy", "busy_machine"),
        (0.9, [UNEVEN], "inconclusive: the machine was busy", "busy_machine"),
        (0.0, [UNEVEN], "tuning cannot help, because an interrupted rank", "interruption"),
        (0.1, LATE_9, "tuning cannot help, because messages", "late_sender"),
        (0.1, [allreduce(9.0)], "tuning can help: collectives take longer", "collective"),
        (0.02, LATE_9, "tuning cannot help, because messages", "late_sender"),
        (0.0, RARE, "this time is unclassified: collectives with fewer than 20", None),
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
    assert all(c.lost_s > 1e-9 for c in found.causes), "rounding is no cause"


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.9, "inconclusive: the machine"), (0.0, "tuning can help")]
)
def test_diagnosis_lists_where_the_time_goes_whatever_its_verdict(
    share: float, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waited = allreduce(6.0, time_s=[7.0] * 2, wait_s=[1.0] * 2, typical_s=6e-3)
    write_profile(busy(share, [waited, LATE]), tmp_path / "a.profile.json")
    assert main(["diagnose", "--profile", str(tmp_path / "a.profile.json")]) == 0
    head, *lines = capsys.readouterr().out.partition("\n\n1. ")[0].splitlines()
    assert head == "8.5 s from MPI_Init to MPI_Finalize, mean over the ranks:"
    assert [line.strip() for line in lines if not line.startswith("note: ")] == [
        "11.8 % computing, outside MPI", "11.8 % collectives: waiting for the last rank",
        "70.6 % collectives: the operation", "5.9 % messages: send, receive",
    ]  # fmt: skip
    assert diagnose(busy(share, [waited, LATE])).verdict.startswith(verdict)


@pytest.mark.parametrize(
    ("function", "share", "verdict"),
    [
        ("MPI_Allreduce", 0.06, "inconclusive: the machine was busy, and ranks waited 6 %"),
        ("MPI_Allreduce", 0.04, "tuning can help"),  # not busy
        (
            "MPI_Neighbor_alltoall",
            0.06,
            "tuning cannot help, because no collective algorithm makes files",
        ),
    ],
)
def test_no_gain_left_by_a_busy_machine_is_inconclusive(
    function: str, share: float, verdict: str
) -> None:
    """What 20 ranks wait for a core may explain more than all algorithm time: 0.4 s of 1.5 s."""
    n = 20
    call = Call(
        function, "collective", 0, None, None, 8, 15, [1000] * n, [8000] * n, [0.4] * n,
        [0.0] * n, [0.4] * n, 1000, typical_s=4e-4,
    )  # fmt: skip
    made = replace(
        profile([]), nranks=n, nodes=[Node("h", [*range(n)], 18.2, 64)], calls=[call],
        communicators=[Communicator(0, "MPI_COMM_WORLD", n, 1, n)], wall_s=[1.5] * n,
        mpi_s=[0.4] * n, io_s=[0.5] * n, clock_error_s=[0.0] * n, involuntary=[1000] * n,
        cpu_s=[(1 - share) * 1.5] * n, core_wait_s=[share * 1.5] * n,
    )  # fmt: skip
    found = diagnose(made)
    assert found.verdict.startswith(verdict), (found.verdict, found.causes)
    assert found.can_help is (None if "inconclusive" in verdict else "can help" in verdict)


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
    found = diagnose(replace(busy(share, LATE_9), nodes=nodes))
    causes = {c.name: c for c in found.causes}
    assert found.causes[0].name == first
    assert ("busy_machine" in causes) == found_busy
    assert any("the machine was busy" in w for w in found.warnings) == found_busy
    if first == "more_ranks_than_cores":
        assert causes[first].share == pytest.approx(0.5)
        assert "2 ranks share 1 core" in causes[first].evidence[0]
        assert found.verdict.startswith("inconclusive: there are more ranks than cores")


SH = str(Path("/bin/sh").resolve())


@pytest.mark.parametrize(
    ("command", "executable", "question", "following"),
    [
        (["/bin/sh", "a b"], SH, "forgotten?", "stretto diagnose -- mpirun -n 4 /bin/sh 'a b'"),
        (["/bin/sh", "job"], "/app", "here or in the script?", "stretto profile --show x.json"),
        (["mpirun", "./app"], "/app", "command line (-n)", "stretto profile --show x.json"),
    ],
)
def test_diagnose_of_one_rank_asks_for_the_launcher(
    command: list[str], executable: str, question: str, following: str
) -> None:
    found = diagnose(alone(command, [executable]), Path("x.json"))
    assert "only one rank" in found.verdict and found.verdict.endswith(question)
    assert found.next_command == following and found.can_help is False


def test_diagnose_of_a_profile_that_lacks_calls_gives_no_verdict() -> None:
    heavy = profile([allreduce(9.0)])
    cases = [
        (replace(heavy, tools=["/x/tool.so"]), "tool.so intercepts MPI calls before the recorder"),
        (replace(heavy, tools=["/x/a", "/x/t.so"], executables=["/x/a"]),
         "a tool linked into a and t.so intercept MPI calls before the recorder"),
        (profile([]), "no MPI call was recorded"),
        (replace(heavy, complete=False, incomplete_ranks=[0, 1]),
         "no rank was recorded until its MPI_Finalize"),
    ]  # fmt: skip
    for made, why in cases:
        found = diagnose(made)
        assert found.verdict.startswith(f"it is unknown whether tuning can help, because {why}")
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


def test_spawned_processes_are_named_as_such() -> None:
    command = ["mpirun", "-n", "1", "python", "pool.py"]
    pool = alone(command, ["/x/python3.11"])
    spawn = row("MPI_Comm_spawn", "comm", calls=[1], bytes=[0], time_s=[0.5])
    first = replace(pool, calls=[spawn], mpi_s=[0.5])
    assert ranks_apart([pool, pool]) is not None and ranks_apart([first, pool]) is None
    found = diagnose(first)
    assert "only one rank besides the processes that it spawned" in found.verdict
    assert "-m mpi4py.futures" in found.causes[0].advice and found.program == "pool.py"
    assert other_program(pool, Path("p"), "", first).name == "pool.py (spawned processes)"
    assert other_program(pool, Path("p"), "", pool).name == "pool.py"
    assert program_name(replace(pool, command=["./job.sh"])) == "python3.11"


def test_serial_files_explain_the_waiting() -> None:
    bcast = row(
        "MPI_Bcast", "collective", time_s=[0.0, 1.0], wait_s=[0.0, 1.0], transfer_s=[0.0, 0.0]
    )
    for reads in (False, True):
        use = used(WHOLE, reads=reads)
        found = diagnose(profile([bcast], (1.0, 1.0), io_s=[1.0, 0.0], file_uses=[use]))
        assert found.causes[0].name == "serial_io"
        assert "1 GiB" in " ".join(found.causes[0].evidence)
        assert (" reading: " in found.causes[0].title) == reads
        assert ("read in parallel" in found.causes[0].advice) == reads
        assert ("write in parallel" in found.causes[0].advice) != reads
    # both ranks write alike: nothing serial
    even = diagnose(profile([], (1.0, 1.0), io_s=[1.0, 1.0]))
    assert "serial_io" not in [c.name for c in even.causes]


ONE_NODE = [Node("h", [0, 1])]
TWO_NODES = [Node("h", [0]), Node("i", [1])]


FILES_OF_ALL = [
    (used(WHOLE, WHOLE), ONE_NODE, "shared_read"),
    (used(WHOLE, WHOLE, time_s=0.0, mpi_io=True), ONE_NODE, "shared_read"),
    (used(0xFFFF, WHOLE - 0xFFFF, time_s=0.0, mpi_io=True), ONE_NODE, "files"),
    (used(WHOLE, WHOLE), TWO_NODES, "shared_read"),
    (used(WHOLE, WHOLE, system="ext4"), TWO_NODES, "files"),  # two files of the same name
    (used(0xFFFF, WHOLE - 0xFFFF), ONE_NODE, "files"),  # each its own part
    (used(WHOLE, WHOLE, reads=False), ONE_NODE, "files"),
]


READ_ALL = {"kind": "io", "communicator": None, "time_s": [0.5, 0.5]}


@pytest.mark.parametrize(("use", "nodes", "cause"), FILES_OF_ALL)
def test_files_of_all_ranks_are_no_interruption(
    use: FileUse, nodes: list[Node], cause: str
) -> None:
    calls = [row("MPI_File_read_at", "io", communicator=None, time_s=[1.0, 1.0])] * use.mpi_io
    found = diagnose(profile(calls, io_s=[1.0, 1.0], file_uses=[use], nodes=nodes))
    assert [c.name for c in found.causes] == [cause]
    assert found.causes[0].lost_s == pytest.approx(0.5 if cause == "shared_read" else 1.0)
    assert "/data/in" in " ".join(found.causes[0].evidence)
    assert not found.can_help


def test_small_files_of_all_ranks_are_not_listed() -> None:
    large, small = used(WHOLE, WHOLE), replace(used(WHOLE, WHOLE, time_s=1e-4), path="/p/a.pyc")
    found = diagnose(profile([], io_s=[1.0, 1.0], file_uses=[small, large, small, small]))
    text = "\n".join(found.causes[0].evidence)
    assert found.causes[0].name == "shared_read" and "/data/in" in text
    assert "a.pyc" not in text and "more file" not in text
    found = diagnose(profile([], io_s=[1.9, 1.9], file_uses=[large, *[small] * 9000]))
    data, modules = found.causes[0], found.causes[1]
    assert (data.name, modules.name) == ("shared_read", "modules")
    assert data.lost_s == pytest.approx(0.5) and modules.lost_s == pytest.approx(0.45)
    several = [replace(large, path=f"/p/{i}") for i in range(5)]
    found = diagnose(profile([], io_s=[5.0, 5.0], file_uses=several))
    assert "and 2 more files: 1 s" in found.causes[0].evidence[-1]


@pytest.mark.parametrize("path", ["/p/a.pyc", "/p/a.py", "/l/libx.so", "/l/libx.so.4.0"])
@pytest.mark.parametrize("parts", [(WHOLE, WHOLE), (0xFFFF, WHOLE - 0xFFFF)])
def test_modules_of_a_program_are_not_to_be_read_by_mpi(path: str, parts: tuple[int, int]) -> None:
    module = replace(used(*parts), path=path)
    data = used(*parts, time_s=0.1)
    for files in ([module], [data, module]):
        cause = diagnose(profile([], io_s=[1.0, 1.0], file_uses=files)).causes[0]
        assert cause.name == ("modules" if parts[0] == WHOLE else "files")
        assert "modules and libraries of the program" in cause.advice and not cause.steps
        assert cause.next_command.startswith("stretto profile ")
    cause = diagnose(profile([], io_s=[1.0, 1.0], file_uses=[replace(module, read_s=[0.1, 0.1]),
                                                             used(*parts)])).causes[0]  # fmt: skip
    assert "/data/in" in cause.next_command and "modules" not in cause.advice


def test_opening_of_files_that_takes_most_time_is_named() -> None:
    opened = row("MPI_File_open", "io", communicator=None, time_s=[0.8, 0.8])
    use = replace(used(0xFFFF, WHOLE - 0xFFFF, time_s=0.1), path="/p/a.pyc")
    cause = diagnose(profile([opened], io_s=[1.0, 1.0], file_uses=[use])).causes[-1]
    assert cause.title == "files: opening and closing take this time"
    assert "MPI_File_open: 800 ms per rank" in cause.evidence and "flush" in cause.advice
    assert cause.next_command.startswith("stretto profile ") and not cause.steps


@pytest.mark.parametrize(
    ("program", "time_s", "noted"),
    [("/bin/python3.11", 0.5, True), ("/bin/python3.11", 1e-3, False), ("/bin/app", 0.5, False)],
)
def test_pickled_objects_of_a_python_program_are_noted(
    program: str, time_s: float, noted: bool
) -> None:
    size = allreduce(time_s, datatype="MPI_COUNT")
    data = allreduce(time_s, datatype="MPI_BYTE", bytes_max=31)
    found = diagnose(profile([size, data], executables=[program]))
    said = "lower-case methods of mpi4py (allreduce, bcast) take 1 s per rank"
    assert (said in "\n".join(found.warnings)) == noted
    found = diagnose(profile([data], executables=[program]))
    assert "mpi4py" not in "\n".join(found.warnings)
    calls = [
        row("MPI_Mprobe", time_s=[time_s] * 2, kind="wait"),
        row(
            "MPI_Mrecv", time_s=[time_s / 2] * 2, kind="p2p", datatype="MPI_BYTE", communicator=None
        ),
        row("MPI_Send", time_s=[time_s / 2] * 2, kind="p2p", datatype="MPI_BYTE"),
    ]
    said = "lower-case methods of mpi4py (send, recv) take 1 s per rank"
    found = diagnose(profile(calls, executables=[program]))
    assert (said in "\n".join(found.warnings)) == noted
    found = diagnose(profile([calls[0], calls[2]], executables=[program]))
    assert "mpi4py" not in "\n".join(found.warnings)


#: what is done, to which file, by which MPI, and what the lines to type or change then hold
ADVICE = [
    ("/d/in", {}, "4.1.4", ["read in on rank 0, then MPI_Bcast", "MPI_File_open for in",
                            '"romio_cb_read" = "enable"']),
    ("/d/in.h5", {}, "4.1.4", ["HDF5: open with H5Pset_fapl_mpio", "HDF5_USE_FILE_LOCKING=FALSE",
                               'driver="mpio"']),
    ("/d/in.NC", {}, "4.1.4", ["netCDF: open with nc_open_par", "NC_COLLECTIVE"]),
    ("/d/in", {"mpi_io": True, "call": "MPI_File_read_at"}, "4.1.4",
     ["MPI_File_read_at_all instead of MPI_File_read_at", "romio_cb_read enable",
      "OMPI_MCA_io=romio321 ROMIO_HINTS=$PWD/hints"]),
    ("/d/in.h5", {"mpi_io": True, "call": "MPI_File_read"}, "5.0.8",
     ["HDF5: transfer with H5Pset_dxpl_mpio", "OMPI_MCA_io=romio341"]),
    ("/d/in", {"mpi_io": True, "call": "MPI_File_read_all"}, "4.1.4", ["romio_cb_read enable"]),
    ("/d/a b", {"system": "lustre"}, "4.1.4",
     ["lfs getstripe '/d/a b' shows its stripes; a shared file of this size needs 8",
      "lfs setstripe -c 8 '/d/a b.new' && cp '/d/a b' '/d/a b.new' && mv '/d/a b.new' '/d/a b'"]),
    ("/d/out", {"reads": False, "system": "lustre"}, "4.1.4",
     ["MPI_File_write_at_all", "lfs setstripe -c 8 /d before the run"]),
    ("/d/out.nc", {"reads": False, "mpi_io": True, "call": "MPI_File_write_at"}, "4.1.4",
     ["netCDF: access variables with nc_var_par_access", "romio_cb_write enable"]),
    ("/d/wrfinput_d01", {}, "4.1.4", ["namelist.input of WRF: io_form_input = 11"]),
    ("/d/wrfout_d01_2026-11-29_00:00:00", {"reads": False}, "4.1.4",
     ["io_form_history = 11", "&namelist_quilt nio_tasks_per_group = 1"]),
    ("/d/wrfout_d01_2026-11-29_00:00:00",
     {"reads": False, "mpi_io": True, "call": "MPI_File_write_at"}, "4.1.4",
     ["or ranks that only write: &namelist_quilt", "romio_cb_write enable"]),
    ("out (deleted)", {}, "4.1.4", []),
]  # fmt: skip


@pytest.mark.parametrize(("path", "access", "version", "lines"), ADVICE)
def test_causes_in_files_end_with_what_to_type(
    path: str, access: dict[str, Any], version: str, lines: list[str]
) -> None:
    options = {k: v for k, v in access.items() if k != "call"}
    calls = [row(access["call"], **READ_ALL)] if "call" in access else []
    use = replace(used(WHOLE, WHOLE, **options), path=path)
    use.size *= access.get("reads", True)  # a new file is empty when it is opened
    made = profile(
        calls, io_s=[1.0, 1.0], file_uses=[use], mpi=MPIIdentity("openmpi", "openmpi", version)
    )
    cause = diagnose(made).causes[0]
    steps = "\n".join(cause.steps)
    assert all(line in steps for line in lines) and bool(steps) == bool(lines), steps
    library = path.lower().endswith((".h5", ".nc")) or "wrf" in path
    assert ("MPI_File_" in steps) <= (not library)  # its functions are the library's to call
    assert ("lfs" in steps) == (access.get("system") == "lustre")
    assert ("HDF5_USE_FILE_LOCKING" in steps) == (
        path.lower().endswith((".h5", ".nc")) and not calls
    )
    if not lines:
        assert cause.next_command.startswith("stretto profile ")
    elif access.get("reads", True):
        assert cause.next_command == f"stretto io -n 2 --file {shlex.quote(path)}"
    else:
        assert cause.next_command == "stretto io -n 2 --write --dir /d --bytes 2147483648"


@pytest.mark.parametrize(
    ("changed", "left_out"),
    [({}, True), ({"last_share": [0.3, 0.2, 0.2, 0.3]}, False), ({"last_share": None}, False),
     ({"io_s": [0.5, 0.5, 0.5, 0.5]}, False)],
)  # fmt: skip
def test_rank_that_does_the_file_access_of_the_others_is_left_out(
    changed: dict[str, Any], left_out: bool
) -> None:
    """A rank of WRF's quilting waits as it should; it is neither imbalance nor serial writing."""
    waits = [0.2, 0.2, 0.2, 9.0]
    reduce = of_four("MPI_Reduce", "collective", waits, wait_s=waits, transfer_s=[0.01] * N,
                     sampled=100)  # fmt: skip
    uses = [replace(used(0, 0, WHOLE, reads=False), ranks=[0, 1, 3], path="/d/wrfout_d01_x"),
            replace(used(WHOLE, reads=False), ranks=[3])]  # fmt: skip
    values: dict[str, Any] = {
        "io_s": [0.0, 0.0, 0.0, 0.5], "file_uses": uses, "wall_s": [10.0] * N,
        "last_share": [0.4, 0.3, 0.28, 0.02], **changed,
    }  # fmt: skip
    found = diagnose(many([reduce], (9.8, 9.8, 9.8, 0.5), **values))
    noted = [w for w in found.warnings if w.startswith("rank 3 is an I/O rank")]
    assert bool(noted) == left_out, found.warnings
    causes = {c.name for c in found.causes if c.share > 0.03}
    assert ("imbalance" in causes or "moving_imbalance" in causes) != left_out, causes
    assert not (left_out and "serial_io" in causes)


@pytest.mark.parametrize(("node", "crowded"), [("h", True), ("h.site.org", True), ("n1", False)])
def test_cores_are_counted_where_they_are_known(node: str, crowded: bool) -> None:
    host = Host("h", "c", 1, "k", 1)
    warnings = diagnose(profile([], host=host, nodes=[Node(node, [0, 1])])).warnings
    assert any("2 ranks share 1 core:" in w for w in warnings) == crowded


@pytest.mark.parametrize("words", [["--bandwidth", "nan"], ["--latency", "nan", "--json"]])
def test_numbers_that_are_none(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--profile", "x", *words]) == 2
    error = capsys.readouterr().err
    assert "nan is not a valid number" in error and f"at: {words[0]}" in error


def late_by(*seconds: float) -> Call:
    """Return an allreduce in which ranks wait so long."""
    return of_four(
        "MPI_Allreduce", "collective", [s + 1e-5 for s in seconds], wait_s=list(seconds),
        transfer_s=[1e-5] * N, sampled=100, typical_s=1e-7,
    )  # fmt: skip


def named(found: list[Cause]) -> dict[str, Cause]:
    return {c.name: c for c in found if c.share >= MINOR}


def test_waiting_for_page_faults_does_not_grow_with_the_ranks() -> None:
    found = diagnose(
        many([late_by(1, 1, 1, 1)], (1, 1, 1, 1), repeated_faults=[20000] * N, fault_s=[2e-6] * N)
    )
    lost = {c.name: c.lost_s for c in found.causes}
    assert lost["page_faults"] == pytest.approx(0.08)


def test_late_ranks_that_stay_are_named_and_weighted_and_others_are_not() -> None:
    last = [0.0, 0.0, 0.02, 0.98]
    same = named(diagnose(many([late_by(1, 1, 1, 0)], (1, 1, 1, 2), last_share=last)).causes)
    assert list(same) == ["imbalance"]
    seen, do = "\n".join(same["imbalance"].evidence), "\n".join(same["imbalance"].steps)
    assert "rank 3 computes 2 s, the mean is 1.25 s (1.60 times)" in seen
    assert "98 % of the waiting in collectives ended when this rank arrived" in seen
    assert "vwgt" in do and "from rank 0 on: 0.80 0.80 0.80 1.60" in do
    whole = diagnose(many([late_by(1, 1, 1, 0)], (1, 1, 1, 2), last_share=last))
    assert whole.weights == pytest.approx([0.8, 0.8, 0.8, 1.6])
    two = diagnose(many([late_by(1, 1, 0, 0)], (1, 1, 2, 2), last_share=[0, 0, 0.5, 0.5])).causes[0]
    assert "ranks 2-3 compute 2 s on average" in two.evidence[0]
    even = [0.25] * N
    moving = named(diagnose(many([late_by(1, 1, 1, 1)], last_share=even)).causes)
    assert list(moving) == ["moving_imbalance"] and not moving["moving_imbalance"].steps
    assert "the last in 25 % of the waiting" in moving["moving_imbalance"].evidence[1]
    # the sums differ by chance: who computes longest is not who the others wait for
    chance = many([late_by(1, 1, 1, 0.8)], (1, 1, 1, 1.2), last_share=even)
    assert list(named(diagnose(chance).causes)) == ["moving_imbalance"]
    both = many([late_by(1, 1, 1, 0.7)], (1, 1, 1, 1.4), last_share=[0.1, 0.1, 0.1, 0.7])
    assert set(named(diagnose(both).causes)) == {"imbalance", "moving_imbalance"}


RING = [(r, (r + 1) % N, 100, 800) for r in range(N)]


BOTH = [*RING, *((r, (r - 1) % N, 100, 800) for r in range(N))]


EVERY = [(s, t, 100, 800) for s in range(N) for t in range(N) if s != t]


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


@pytest.mark.parametrize("number", [1, 2])
def test_messages_between_nodes_lead_to_an_order_of_ranks(number: int) -> None:
    run = messages("MPI_Send", 8 << 30, 1, 1.1)
    nodes = [Node(f"n{i}", [i] if number == 2 else [0, 1], None, None) for i in range(number)]
    (cause,) = (c for c in diagnose(replace(run, nodes=nodes)).causes if c.name == "bandwidth")
    placed = "stretto place -- mpirun -n 2 './a b'"
    assert (cause.next_command == placed) == (number == 2)
    assert ("on the same node" in cause.advice) == (number == 2)


@pytest.mark.parametrize(
    ("messages", "serves"),
    [(BOTH, True), (RING, False), (EVERY, False), ([(0, 1, 900, 800), *BOTH[1:]], False),
     ([(r, r ^ 1, 100, 800) for r in range(N)], False)],  # one partner
)  # fmt: skip
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
        assert "never contribute" not in cause.advice
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
        [late_by(0, 0, 0, 0)], busy_threads=busy, allowed_cores=allowed, core_wait_s=[0.4] * N,
        cpu_s=[0.6] * N, involuntary=[100] * N,
    )  # fmt: skip
    line = ["mpirun", "-n", "4", "./app", "-n", "4"]
    run = replace(made, nodes=[Node("h", [*range(N)], 9.0, cores)], command=line)
    found = diagnose(run, command=f"{shlex.join(line)} < in")
    ranks = 2 if cause == "more_ranks_than_cores" else 4
    assert found.next_command == f"stretto diagnose -- mpirun -n {ranks} ./app -n 4 < in"
    assert list(named(found.causes)) == [cause]
    assert seen in found.causes[0].evidence[0] and do in " ".join(found.causes[0].steps)
    assert bool(found.causes[0].steps) == bool(do)
    why = "the machine" if "busy" in cause else "there are " + cause.replace("_", " ")
    assert found.verdict.startswith("inconclusive: " + why)


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


@pytest.mark.parametrize("pack_s", [0.4, 0.0])
def test_packing_that_was_measured_is_no_late_sender(pack_s: float) -> None:
    call = row(
        "MPI_Send", "p2p", datatype="derived", calls=[100, 0], bytes=[100 << 20, 0],
        time_s=[0.5, 0.0], pack_s=[pack_s, 0.0],
    )  # fmt: skip
    found = named(diagnose(profile([call], matrix=Matrix([(0, 1, 100, 100 << 20)]))).causes)
    if pack_s:
        assert list(found) == ["packing"] and found["packing"].lost_s == pytest.approx(0.2)
        assert (
            "MPI_Send of 1 MiB: packing takes 4 ms per message more" in found["packing"].evidence[0]
        )
        assert sum("unpacking" in e for e in found["packing"].evidence) == 1
    else:
        assert "packing" not in found and found["late_sender"].lost_s > 0.2


def test_unpacking_is_taken_to_cost_what_packing_does() -> None:
    sent = row(
        "MPI_Send", "p2p", datatype="derived", calls=[100, 0], bytes=[100 << 20, 0],
        time_s=[0.5, 0.0], pack_s=[0.4, 0.0],
    )  # fmt: skip
    received = replace(sent, function="MPI_Recv", calls=[0, 100], bytes=[0, 100 << 20],
                       time_s=[0.0, 0.5], pack_s=None)  # fmt: skip
    found = named(
        diagnose(profile([sent, received], matrix=Matrix([(0, 1, 100, 100 << 20)]))).causes
    )
    assert found["packing"].lost_s == pytest.approx(0.4)
    assert "late_sender" not in found or found["late_sender"].lost_s < 0.1


@pytest.mark.parametrize(
    ("function", "blocking", "waits_s", "reached", "said"),
    [
        ("MPI_Iallreduce", "MPI_Allreduce", 0.1, 0.9, "90 % overlap"),
        ("MPI_Allreduce_init", "MPI_Allreduce", 0.5, 0.5, "50 % overlap"),
        (
            "MPI_Iallreduce",
            "MPI_Allreduce",
            0.76,
            0.24,
            "24 % overlap. There is little",
        ),
        ("MPI_Ireduce_scatter_block", "MPI_Reduce_scatter_block", 2.0, 0.0, "little overlap"),
        ("MPI_Iallreduce", "MPI_Bcast", 0.1, None, "Overlap: not tested (no such blocking calls"),
    ],
)
def test_overlap_is_what_blocking_calls_would_take_less_what_is_seen(
    function: str, blocking: str, waits_s: float, reached: float | None, said: str
) -> None:
    """Blocking, ranks would wait for one another for 0.9 s, and 0.1 s are the operation."""
    measured = reached is not None
    kind: Any = "persistent_collective" if "init" in function else "nonblocking_collective"
    times = {"wait_s": [0.0] * 2, "transfer_s": [waits_s] * 2, "sampled": 1000, "typical_s": 1e-6}
    more = {"under_way_s": [3.0] * 2, "blocking_wait_s": [0.9 if measured else 1.0] * 2}
    calls = [
        row(function, kind, time_s=[0.0] * 2),
        row("MPI_Wait", "wait", detail=function, time_s=[waits_s] * 2, **times, **more),
        row(blocking, "collective", time_s=[0.1] * 2, wait_s=[0.0] * 2, transfer_s=[0.1] * 2,
            sampled=1000, typical_s=1e-4),
    ]  # fmt: skip
    (found,) = diagnose(profile(calls, (3.0, 3.0))).overlaps
    assert (found.function, found.calls, found.measured) == (function, 1000, measured)
    assert found.reached == (pytest.approx(reached, abs=0.001) if measured else None)
    assert found.bytes == 8 and said in found.words
    assert ("Blocking calls" in found.words) == measured
    assert ("little overlap" in found.words) == ("little" in said)
    assert all(len(sentence.split()) <= 25 for sentence in found.words.split(". "))


@pytest.mark.parametrize(
    ("awaited", "sampled", "tests", "reached"),
    [
        (1000, 1000, True, 0.7),  # no test completed one
        (250, 1000, True, 0.7),  # each wait is for four
        (250, 250, False, 0.9),  # the same, and one in four was sampled
        (500, 500, True, None),
    ],
)
def test_tests_are_visible_and_no_overlap_is_known_of_what_they_completed(
    awaited: int, sampled: int, tests: bool, reached: float | None
) -> None:
    times = {"wait_s": [0.0] * 2, "transfer_s": [0.1] * 2, "sampled": sampled, "typical_s": 1e-6}
    more = {"under_way_s": [3.0] * 2, "blocking_wait_s": [0.9] * 2, "calls": [awaited] * 2}
    calls = [
        row("MPI_Iallreduce", "nonblocking_collective"),
        row("MPI_Wait", "wait", detail="MPI_Iallreduce", time_s=[0.1] * 2, **times, **more),
        allreduce(0.1),
    ]
    if tests:
        calls.append(row("MPI_Test", "wait", detail="MPI_Iallreduce", time_s=[0.2] * 2))
    (found,) = diagnose(profile(calls, (3.0, 3.0))).overlaps
    assert found.visible_s == pytest.approx(0.3 if tests else 0.1)
    assert found.reached == (None if reached is None else pytest.approx(reached, abs=0.001))
    assert ("unknown (requests completed in other calls, such as MPI_Test)" in found.words) == (
        reached is None
    )


def test_neighbours_have_no_overlap() -> None:
    wait = waits("MPI_Ineighbor_alltoall")
    known = replace(wait, sampled=1000, wait_s=[0.4] * 2, transfer_s=[0.1] * 2,
                    blocking_wait_s=[0.9] * 2, under_way_s=[3.0] * 2, typical_s=1e-6)  # fmt: skip
    assert diagnose(profile([known])).overlaps == []


@pytest.mark.parametrize(
    ("operation", "zero", "roots", "silent"),
    [("MPI_SUM", [2, 3], [0], 2), ("MPI_SUM", [0, 3], [0], 1), ("MPI_SUM", [3], [], 0),
     ("MPI_MAX", [3], [0], 0), ("MPI_SUM", [], [0], 0)],
)  # fmt: skip
def test_ranks_that_add_zeros_to_a_sum_could_be_left_out(
    operation: str, zero: list[int], roots: list[int], silent: int
) -> None:
    call = of_four(
        "MPI_Reduce", "collective", [0.5] * N, operation=operation, zero_ranks=zero, roots=roots,
        wait_s=[0.0] * N, transfer_s=[0.5] * N, sampled=100, typical_s=0.005,
    )  # fmt: skip
    found = named(diagnose(many([call])).causes)
    assert ("empty_blocks" in found) == (silent > 0)
    if silent:
        cause = found["empty_blocks"]
        assert "zeros in all sampled calls of rank" in cause.evidence[0]
        assert "add only zeros" in cause.title and "never contribute" in cause.advice
        assert cause.lost_s == pytest.approx(0.5 * silent / N)


@pytest.mark.parametrize("longer", [1, 10])
def test_busy_threads_of_a_run_below_a_second_are_no_cause(longer: int) -> None:
    short = busy(0.25, [allreduce(0.4 * longer)], compute=(0.01, 0.01))
    found = diagnose(replace(short, busy_threads=[1, 2], allowed_cores=[2, 2])).causes
    assert ("more_threads_than_cores" in [c.name for c in found]) == (longer > 1)
    assert "busy_machine" in [c.name for c in found] or longer > 1
