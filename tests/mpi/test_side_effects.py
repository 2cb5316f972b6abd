"""What a preloaded library does to the process and to later calls, beside what it is for."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from mpis import ALL, MPIS, have, library, missing
from programs import SHM, job, program

FLAT = (
    "allreduce=rabenseifner;bcast=pipeline(4K);reduce=binomial(4K);allgather=ring;"
    "barrier=dissemination(2);alltoall=bruck_k(2);alltoallv=bruck_v(2);gatherv=knomial(2);"
    "gather=knomial(2);scatter=knomial(2);scatterv=knomial(2);scan=recursive_doubling;"
    "exscan=recursive_doubling;reduce_scatter=ring;reduce_scatter_block=pairwise;"
    "allgatherv=ring;neighbor_allgather=direct;neighbor_alltoall=direct"
)
TABLE = """stretto-table 1
mpi * *
layout nodes=* ppn=*
created 2026-11-21T20:00:00Z stretto 0.1.0 host test cpu "test"
row allreduce * * 0-inf shm ratio=0.41
end 1
"""


def changes(done: subprocess.CompletedProcess[str]) -> set[str]:
    """Return the lines of side_effects that tell a change."""
    assert done.returncode == 0, done.stdout + done.stderr
    assert "side_effects: " in done.stdout, done.stdout
    lines = set(re.findall(r"^\w+: .* -> .*$", done.stdout, flags=re.M))
    return {one for one in lines if not one.endswith("errno: 0 -> 11")}  # of the MPI's sockets


@pytest.mark.parametrize("name", MPIS)
def test_state_of_the_process_is_changed_as_by_the_mpi_alone(name: str, tmp_path: Path) -> None:
    """Arithmetic, signals, descriptors, malloc, streams and 20 more, around each kind of call."""
    mpi = ALL[name].require()
    native = changes(mpi.run(2, [program(name, "side_effects")]))
    table, learned = tmp_path / "a.table", tmp_path / "learned.table"
    table.write_text(TABLE.replace("mpi * *", f"mpi {name.rstrip('45')} 1"))
    for settings in (
        {"choice": SHM},
        {"table": table, "learn": 1, "learn_after": 1, "learn_block": 2, "learn_table": learned},
        {"choice": FLAT, "nonblocking": "calls", "fake_ppn": 1},
    ):
        done = job(name, "side_effects", ranks=2, after=1, **settings)
        more = changes(done) - native
        excepted = {  # learning divides times; a thread; scratch of messages, results of learning
            "choice": ["large blocks"] if settings.get("choice") == FLAT else [],
            "learn": ["flags of exceptions: 0 -> 20", "large blocks"],
            "nonblocking": [": threads: "],
        }
        words = [w for key in settings for w in excepted.get(key, [])]
        more = {one for one in more if not any(w in one for w in words)}
        assert not more, settings
    recorder = library("openmpi4" if name == "openmpi4" else mpi.family, "record")
    env = {"LD_PRELOAD": str(recorder), "STRETTO_PROFILE_DIR": str(tmp_path)}
    done = mpi.run(2, [program(name, "side_effects")], rank_env=env)
    assert not changes(done) - native
    assert list(tmp_path.glob("*.strettoraw"))


@pytest.mark.parametrize(
    ("name", "case", "settings"),
    [
        *[(name, "free", {}) for name in MPIS],
        ("openmpi5", "leave", {"nonblocking": "calls"}),
        ("openmpi5", "agree", {"nonblocking": "thread"}),
        ("mpich", "agree", {"nonblocking": "calls"}),
        ("openmpi5", "taken", {"nonblocking": "calls", "env": {"OMPI_MCA_mpi_param_check": "0"}}),
        ("mpich", "init", {"nonblocking": "calls"}),
        ("mpich-abi", "init", {"nonblocking": "thread"}),
    ],
)
def test_call_that_fails_on_one_rank_leaves_later_calls_alone(
    name: str, case: str, settings: dict[str, object]
) -> None:
    """A freeing whose error handler never returns, a persistent collective that is made again."""
    done = job(name, f"refusals {case}", ranks=2, choice=SHM, after=1, timeout=60, **settings)
    assert "refusals done" in done.stdout


LOCALE = """
#include <locale.h>
#include <stdlib.h>
__attribute__((constructor)) static void set(void) { setlocale(LC_ALL, "de_DE.UTF-8"); }
"""


def test_learned_table_where_the_application_writes_commas_has_points(tmp_path: Path) -> None:
    localedef = have("localedef", "libc-bin")
    made = [localedef, "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")]
    if subprocess.run(made, capture_output=True, check=False).returncode:
        missing("localedef has no de_DE (apt-get install locales)")
    source, german, table = (tmp_path / n for n in ("german.c", "german.so", "learned.table"))
    source.write_text(LOCALE)
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(german)], check=True)
    env = {"LOCPATH": str(tmp_path)}
    done = job(
        "openmpi4", "learning 5000", ranks=2, in_front=german, env=env, learn=1, learn_table=table
    )
    assert re.search(r"exploring cost \d", done.stderr), done.stderr
    assert re.search(r" native_us=\d+(\.\d+)? ", table.read_text())
    assert not re.search(r"\d,\d", done.stderr + table.read_text())
