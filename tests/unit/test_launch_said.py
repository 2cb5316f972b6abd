"""What is quoted of a launcher that failed: why, not how to see more help.

The outputs in `said/` are those of Open MPI 4.1.4 and 5.0.11, MPICH 5.0.2, Intel MPI and Slurm
on the namespace cluster: a node that is not up, an interface that no node has, a crash.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from stretto.launch.said import ending, telling
from stretto.measure import process

SAID = [
    ("openmpi4-nohost", "testbed: no node s9d17n7 is up (python3 tools/testbed list)"),
    ("openmpi4-nosuchif", "At least one pair of MPI processes are unable to reach each other"),
    ("openmpi4-srun-pmi2", 'The application appears to have been direct launched using "srun"'),
    ("openmpi5-lo", "WARNING: Open MPI failed to TCP connect to a peer MPI process, Local host:"),
    ("openmpi5-noprog", "prterun was unable to launch the specified application as it could not"),
    ("openmpi5-slots", "There are not enough slots available in the system to satisfy the 4 slots"),
    ("openmpi4-segv", "Signal: Segmentation fault (11) / mpirun.openmpi noticed that process"),
    ("mpich-segv", "= PID 395 RUNNING AT s9d17n2 / = EXIT CODE: 11"),
    ("mpich-noprog", "HYDU_create_process (/mpich-5.0.2/src/pm/hydra/lib/utils/launch.c:73):"),
    ("mpich-srun-pmix", "Abort(605701136): Fatal error in internal_Init: Internal MPI error!"),
    ("intel-noprov", "Abort(204096399) on node 0 (rank 0 in comm 0): Fatal error in internal_"),
]


@pytest.mark.parametrize(("name", "wanted"), SAID)
def test_the_reason_is_quoted(name: str, wanted: str) -> None:
    text = (Path(__file__).parents[1] / "data" / "said" / f"{name}.txt").read_text("utf-8")
    assert telling(text).startswith(" ".join(wanted.split())), telling(text)
    for noise in ("We apologize", "routed=direct", "help message", "We reiterate", "FAQ"):
        assert noise not in telling(text)


def test_advice_for_root_is_not_quoted() -> None:
    text = """--------------------------------------------------------------------------
mpirun has detected an attempt to run as root.

Running as root is *strongly* discouraged as any mistake (e.g., in
defining TMPDIR) or bug can result in catastrophic damage to the OS
file system, leaving your system in an unusable state.

We strongly suggest that you run mpirun as a non-root user.

You can override this protection by adding the --allow-run-as-root option
to the cmd line or by setting two environment variables in the following way:
the variable OMPI_ALLOW_RUN_AS_ROOT=1 to indicate the desire to override this
protection, and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 to confirm the choice and
add one more layer of certainty that you want to do so.
We reiterate our advice against doing so - please proceed at your own risk.
--------------------------------------------------------------------------
"""
    assert telling(text) == "mpirun has detected an attempt to run as root"


def test_of_a_program_the_last_words_count_and_its_tables_are_none_of_the_launchers() -> None:
    table = "-" * 50
    text = "\n".join(["reading case", table, "residual  1e-3", table, "step 1", "negative volume",
                      "stopped", "srun: error: n1: task 0: Exited with exit code 1"])  # fmt: skip
    assert telling(text, end=True) == "step 1 / negative volume / stopped"
    assert telling(text).startswith("reading case / residual 1e-3")


def test_a_reason_on_standard_output_is_quoted_with_an_abort() -> None:
    rule = 74 * "-"
    abort = f"{rule}\nMPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\n{rule}\n"
    reason = "number of processors used does not match number allocated"
    assert ending(f"miniAMR\nreading\n{reason}\n", abort) == (
        f"reading / {reason} / MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD"
    )
    assert ending("step 1\n", "no such file\n" + abort) == "no such file"
    assert ending("", abort).startswith("MPI_ABORT was invoked") and ending("", "") == ""
    assert ending("step 1\n", "") == "step 1"


def test_our_own_words_come_first() -> None:
    text = "n1: something\nstretto-bench: rank 1: no memory\nand more\n"
    assert telling(text) == "stretto-bench: rank 1: no memory"
    assert telling("") == "" and telling("-" * 74 + "\n") == ""


def test_a_long_output_is_read_from_where_the_reason_stands(tmp_path: Path) -> None:
    log = tmp_path / "log"
    frames = "".join(f"[n1:7] [{k:2}] /lib/libc.so.6(+0x{k:x})\n" for k in range(300))
    log.write_text("no route to host\n" + frames)
    assert telling(process.tail(log)) == "no route to host"
