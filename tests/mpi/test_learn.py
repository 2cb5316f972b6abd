"""Learning while a job runs: never another result, the better choice, and a table that holds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mpis import ALL, MPIS, REPOSITORY
from processes import run_program
from programs import job, program, shim, under
from stretto.files.identity import cpu_model
from stretto.files.merge import merge_tables
from stretto.files.table import WITHOUT_SIZE, Row, read_table, write_table

#: of a row that an earlier run has learned
EVIDENCE = {
    "source": "learned", "calls": "5000", "native_us": "2", "us": "1", "ratio": "0.5",
    "low": "0.4", "high": "0.6", "pairs": "20",
}  # fmt: skip
XEON = "Intel(R) Xeon(R) CPU           X5550  @ 2.67GHz"
ARM = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n\n"


def on_processor(folder: Path, cpuinfo: str) -> dict[str, Any]:
    """Return what shows the library another processor."""
    shown = folder / "cpuinfo"
    shown.write_text(cpuinfo)
    made = shim("cpuinfo_stand_in", "-D_GNU_SOURCE")
    return {"in_front": made, "env": {"CPUINFO": str(shown)}}


def learned(
    folder: Path, command: str, name: str = "openmpi4", ranks: int = 2, **more: Any
) -> subprocess.CompletedProcess[str]:
    # a busy machine uses up what trying may take before all collectives were tried
    settings = {"learn": 1, "learn_table": folder / "learned.table", "learn_seconds": 600, **more}
    done = job(name, command, ranks=ranks, **settings)
    assert command.startswith("conformance") or "0 wrong" in done.stdout, done.stdout
    return done


def write_as_library(path: Path, source: Path, rows: Sequence[Row]) -> None:
    """Write a table with the head of another, in which an Arm processor has numbers, no name."""
    head = source.read_text("utf-8").splitlines()[:4]
    write_table(replace(read_table(source), rows=list(rows)), path)
    path.write_text("\n".join([*head, *path.read_text("utf-8").splitlines()[4:]]) + "\n", "utf-8")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("ranks", "ppn"), [(3, 0), (5, 2)])
def test_learning_with_blocks_of_one_call_changes_no_result(
    name: str, ranks: int, ppn: int, tmp_path: Path
) -> None:
    """Every call by another candidate, on communicators of all kinds."""
    mpi = ALL[name].require()
    settings = {"learn": 1, "learn_table": tmp_path / "learned.table", "learn_after": 1}
    rank_env = under(mpi, learn_block=1, after=1, fake_ppn=ppn, **settings)
    command = [program(name, "conformance"), "31", "600", "2000"]
    done = mpi.run(ranks, command, rank_env=rank_env)
    # Intel MPI's own MPI_Reduce of MPI_DOUBLE_INT differs from itself, also without Stretto
    differing = set(re.findall(r"rank \d+ of \d+: (\w+) ", done.stderr))
    assert differing <= ({"reduce"} if "intel" in name else set()), done.stderr
    found = re.search(r"(\d+) comparisons", done.stdout)
    assert found and int(found[1]) > 1700, done.stdout + done.stderr
    ours = re.search(r"(\d+) calls carried out by Stretto", done.stdout)
    assert ours and int(ours[1]) > 20, done.stdout
    assert "learned: " in done.stderr, done.stderr


def test_learning_leaves_a_table_from_which_the_next_run_starts(tmp_path: Path) -> None:
    # natively each message goes through a socket, and is slower than memory whatever the load
    slow = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo"}
    done = learned(tmp_path, "learning 30000", after=3, env=slow)
    assert "order of the sums" not in done.stderr  # two ranks have one order
    assert re.search(r"s saved in this run \(.* to .*\)", done.stderr), done.stderr
    first = read_table(tmp_path / "learned.table")
    rows = {(r.collective, r.low): r for r in first.rows}
    assert all(r.evidence["source"] == "learned" and r.nodes == 1 for r in first.rows)
    assert ("allreduce", 8) in rows and ("barrier", 0) in rows
    every = {"allreduce", "reduce", "bcast", "gather", "scatter", "allgather", "allgatherv"}
    every |= {"alltoall", "barrier", "reduce_scatter", "scan", "exscan"}
    found = {r.collective: r for r in first.rows}
    assert every | {*WITHOUT_SIZE} >= {*found} >= every | {"alltoallv", "gatherv", "scatterv"}
    assert all((r.low, r.high) == (0, None) for r in first.rows if r.collective in WITHOUT_SIZE)
    chosen = [r for r in first.rows if r.choice != "native"]
    assert all("us" not in r.evidence or int(r.evidence["pairs"]) >= 4 for r in chosen)

    start = tmp_path / "start.table"
    text = (tmp_path / "learned.table").read_text("utf-8").splitlines()
    kept = [line for line in text if not line.startswith(("row", "end"))]
    kept += ["row allreduce 1 2 8-15 shm -", "row reduce_scatter_block 1 2 0-inf shm -"]
    kept += ["row allgather 1 2 1024-1500 ring -", "row allgather 1 2 1501-2047 shm -", "end 4"]
    start.write_text("\n".join(kept) + "\n", "utf-8")
    # with what is not of the name as on real machines: two paragraphs, and a model number
    cpuinfo = 2 * f"processor\t: 0\nmodel\t\t: 26\nmodel name\t: {XEON}\n\n"
    shown = on_processor(tmp_path, cpuinfo)
    done = learned(tmp_path, "learning 3000", after=3, table=start, verbose=1, **shown)
    assert re.search(r"allreduce of 8 bytes on 2 ranks \(1 x 2\): shm \(", done.stderr)
    then = read_table(tmp_path / "learned.table")
    assert then.cpu == " ".join(XEON.split()) == cpu_model(f"model name\t: {XEON}\n")
    second = {(r.collective, r.low): r for r in then.rows}
    row = second["reduce_scatter_block", 0]
    assert row.choice == "shm" and row.evidence == {"source": "earlier"}, "of another processor"
    assert second["allreduce", 8].choice == "shm"
    gathered = {r.high for (name, low), r in second.items() if name == "allgather" and low >= 1024}
    assert {1500, 2047} <= gathered, "sizes between the bounds of rows are learned by themselves"


def test_learning_with_one_order_of_sums_leaves_reductions_alone(tmp_path: Path) -> None:
    shown = on_processor(tmp_path, ARM)
    done = learned(tmp_path, "learning 3000", "mpich", reproducible=1, **shown)
    assert "order of the sums" not in done.stderr
    then = read_table(tmp_path / "learned.table")
    assert then.cpu == cpu_model(ARM) == "Arm Neoverse-V1"
    rows = then.rows
    assert not {"allreduce", "reduce", "reduce_scatter"} & {r.collective for r in rows}


def test_learning_where_nothing_is_called_often_tries_nothing(tmp_path: Path) -> None:
    done = learned(tmp_path, "learning 100", reproducible=1)
    assert (
        "nothing was learned: no size of a collective was called more than 200 times" in done.stderr
    )
    assert "handles; reductions are not counted, as STRETTO_REPRODUCIBLE is set" in done.stderr
    assert not (tmp_path / "learned.table").exists()
    # communicators of the same ranks, each with fewer calls, learn one after another
    done = learned(tmp_path, "learning 1 1000", ranks=3, after=3)
    assert re.search(r"learned: allreduce of 8 to 15 bytes on 1 x 3: (?!\d+ calls)", done.stderr)
    assert "the order of the sums in reductions changed" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("mpich", "call_shapes threads"), ("mpich", "progress threads"),
        ("mpich", "threads_make 5"), ("mpich", "call_shapes freed"),
        ("mpich", "call_shapes finalize"), ("openmpi4", "call_shapes errors"),
    ],
)  # fmt: skip
def test_learning_with_threads_errors_and_freed_handles_gives_right_results(
    name: str, command: str, tmp_path: Path
) -> None:
    """The programs check their results; every call is by another candidate."""
    settings = {"learn": 1, "learn_after": 1, "learn_block": 1, "after": 1}
    done = job(name, command, learn_table=tmp_path / "learned.table", **settings)
    assert "done" in done.stdout or "right" in done.stdout, done.stdout
    assert "learned: " in done.stderr, done.stderr


@pytest.mark.long
def test_learning_under_thread_sanitizer_has_no_races() -> None:
    MPIS["mpich"].require()
    done = run_program(
        [sys.executable, str(REPOSITORY / "tools" / "conformance" / "races.py")],
        env=os.environ | {"PATH": f"{sys.prefix}/bin:{os.environ['PATH']}"},
    )
    assert done.returncode == 0 and done.stdout.count(" 0 races") == 5, done.stdout + done.stderr


@pytest.mark.long
def test_learning_on_many_communicators_that_come_and_go_grows_nothing(tmp_path: Path) -> None:
    """At most 64 KiB each for the 32 groups that keep what they learned; the time is bounded.

    The node's memory grows by 4 MiB when a candidate first needs it, which may be at any time.
    """
    settings = {"learn": 1, "learn_after": 1, "after": 1, "learn_table": tmp_path / "learned.table"}
    settings["learn_seconds"] = 600  # or a busy machine tries too little for a table of many rows
    done = job("openmpi4", f"soak 2000 100000 {32 * 64 + 8192}", ranks=2, timeout=900, **settings)
    assert "soak: done" in done.stdout and "learned: " in done.stderr, done.stdout + done.stderr
    assert len(read_table(tmp_path / "learned.table").rows) > 10


def test_learn_command_leaves_a_table_that_run_and_learn_find(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    command = ["--", *mpi.launcher(2), program("openmpi4", "learning")]
    stretto = [sys.executable, "-m", "stretto"]
    table = f"stretto-learning-{mpi.name}/learning-{mpi.name}.learned.table"
    for words, calls in ((["learn"], "4000"), (["learn", "--reproducible"], "400"), (["run"], "9")):
        done = run_program(
            [*stretto, *words, *command, calls],
            cwd=tmp_path,
            env={**os.environ, **mpi.environment},
            timeout=120,
        )
        assert done.returncode == 0 and "0 wrong" in done.stdout, done.stdout + done.stderr
        applied = f"and table {table}" if words[0] == "learn" else f"with table {table}"
        assert (applied in done.stderr) == (calls != "4000"), done.stderr
        assert ("learned: " in done.stderr) == (words[0] == "learn"), done.stderr
        if calls == "4000":  # a row that the next runs cannot learn: no call is that long
            first = read_table(tmp_path / table)
            of_the_run = {"saved_s": "1.5", "saved_spread_s": "0.1", "order": "changed"}
            long = {"tried": "shm;" * 300}  # more than the library keeps
            row = Row("allreduce", 1, 2, 1 << 20, 2 << 20, "shm", EVIDENCE | of_the_run | long)
            write_as_library(tmp_path / table, tmp_path / table, [*first.rows, row])
            before = tmp_path / table, tmp_path / "before.table"
            write_table(replace(first, rows=[row]), before[1])
    last = read_table(tmp_path / table)
    kept = replace(row, evidence=EVIDENCE)
    assert kept in last.rows, "earlier rows stay, with what only one run can say left out"
    weak = Row("allreduce", 1, 2, 1 << 20, 2 << 20, "native", EVIDENCE | {"calls": "90"})
    tables = [(p, read_table(p)) for p in before] + [(Path("x"), replace(last, rows=[weak]))]
    merged = merge_tables(tables).find("allreduce", 1, 2, 1 << 20)
    assert merged and merged.evidence == row.evidence, "the run that measured it says most"
    assert merge_tables(tables[::2]).find("allreduce", 1, 2, 1 << 20) == kept


def test_learning_for_a_short_time_keeps_what_was_learned_before(tmp_path: Path) -> None:
    """A choice that is used, but not compared again, has the evidence of the earlier run."""
    table = tmp_path / "learned.table"
    learned(tmp_path, "learning 3000", after=3)
    first = read_table(table)
    rows = [r for r in first.rows if (r.collective, r.low) != ("allreduce", 8)]
    known = Row("allreduce", 1, 2, 8, 15, "shm", EVIDENCE)
    start = tmp_path / "start.table"
    write_as_library(start, table, [*rows, known])
    learned(tmp_path, "learning 300", after=3, table=start)
    assert known in read_table(table).rows
