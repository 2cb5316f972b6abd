"""What hides MPI calls from Stretto: other tools in front, and scripts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY
from processes import executable
from stretto.launch.command import parse_command
from stretto.launch.job import understand
from stretto.launch.reach import in_script
from stretto.launch.tools import Tool, mpi_tools
from test_profile import stretto

TOOL = """
#include <mpi.h>
int MPI_Allreduce(const void *s, void *r, int n, MPI_Datatype d, MPI_Op o, MPI_Comm c)
{
    return PMPI_Allreduce(s, r, n, d, o, c);
}
"""


#: of Fortran alone; with C: goes on to the function of C, which Stretto does not see
FORTRAN = """
#ifdef C
#define NEXT PMPI_Barrier
#else
#define NEXT pmpi_barrier_
#endif
int NEXT();
void mpi_barrier_(int *comm, int *error) { *error = NEXT(comm, error); }
"""
BEGINS = "int MPI_Init(int *a, char ***v) { return PMPI_Init(a, v); }\n"


def build(name: str, folder: Path) -> dict[str, Path]:
    """Compile a tool, and programs: without one, linked with it (before the MPI), holding it."""
    mpi = MPIS[name].require()
    source, app = folder / "tool.c", REPOSITORY / "tests" / "programs" / "sums.c"
    source.write_text(TOOL)
    tool = mpi.compile(source, folder / "libtool.so", "-shared", "-fPIC", "-Wl,-soname,libtool.so")
    linked = ("-Wl,--no-as-needed", str(tool), f"-Wl,-rpath,{folder}")
    return {
        "tool": tool,
        "plain": mpi.compile(app, folder / "plain"),
        "linked": mpi.compile(app, folder / "linked", *linked),
        "holds": mpi.compile(app, folder / "holds", str(source)),
    }


def test_tools_are_found_wherever_a_command_has_them(tmp_path: Path) -> None:
    built = build("openmpi4", tmp_path)
    env = {"PATH": os.environ["PATH"]}
    shutil.copy(built["plain"], tmp_path / "libmpicxx.so.40")  # by its name an MPI's own
    tool = Tool("./libtool.so", True)
    cases: list[tuple[str, dict[str, str], list[Tool]]] = [
        ("mpirun.openmpi -n 2 ./plain", {}, []),
        ("mpirun.openmpi -x LD_PRELOAD=./libtool.so -n 2 ./plain", {}, [tool]),
        ("mpirun.openmpi -n 1 ./plain : -n 1 env LD_PRELOAD=./libtool.so ./plain", {}, [tool]),
        ("env LD_PRELOAD=./libtool.so mpirun.openmpi -n 2 ./plain", {}, [tool]),
        ("mpirun.openmpi -n 2 ./plain", {"LD_PRELOAD": "/none.so ./libtool.so"}, [tool]),
        (
            "mpirun.openmpi -n 2 ./plain",
            {"LD_PRELOAD": "libtool.so", "LD_LIBRARY_PATH": str(tmp_path)},
            [Tool("libtool.so", True)],
        ),
        ("mpirun.openmpi -n 2 ./plain", {"LD_PRELOAD": "libm.so.6:./libmpicxx.so.40"}, []),
        ("mpirun.openmpi -n 2 ./plain LD_PRELOAD=./libtool.so", {}, []),
        ("mpirun.openmpi -n 2 ./linked", {}, [Tool("libtool.so", False)]),
        ("mpirun.openmpi -n 1 ./plain : -n 1 ./holds", {}, [Tool("./holds", False)]),
        ("mpirun.openmpi -n 2 /bin/sh ./plain", {}, []),
        ("mpirun.openmpi -x LD_PRELOAD=./fortran-c.so ./plain", {}, [Tool("./fortran-c.so", True)]),
        ("mpirun.openmpi -x LD_PRELOAD=./fortran.so ./plain", {}, []),
    ]
    executable(tmp_path / "tool.sh", 'export LD_PRELOAD="./libtool.so:$LD_PRELOAD"\nexec "$@"\n')
    (tmp_path / "fortran.c").write_text(FORTRAN)
    for words in (["fortran.so"], ["fortran-c.so", "-DC"]):
        subprocess.run(
            ["gcc", "-w", "-shared", "-fPIC", "fortran.c", "-o", *words], cwd=tmp_path, check=True
        )
    for line, more, expected in cases:
        environ = {**env, **more}
        command = parse_command(line.split(), environ, tmp_path)
        assert mpi_tools(command, environ, tmp_path) == expected, (line, more)
    words = ["mpirun.openmpi", "-n", "2", "./linked"]
    found = understand(words, environ=env, cwd=tmp_path)
    assert found.between == ("libtool.so",)
    inside = understand([*words[:-1], "./tool.sh", "./plain"], environ=env, cwd=tmp_path)
    assert inside.between == ("./libtool.so",)
    assert "libtool.so (part of the program) exports MPI functions" in found.notes[-1]


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_diagnose_behind_a_tool_gives_no_verdict_and_names_it(name: str, tmp_path: Path) -> None:
    """One job with a tool in each way, found by the ranks themselves."""
    mpi = MPIS[name]
    built = build(name, tmp_path)
    launch = mpi.launcher(1)[:-2]
    script = tmp_path / "script.sh"
    script.write_text(f'LD_PRELOAD="{built["tool"]}:$LD_PRELOAD"\nexec "$@"\n')
    programs = [["/bin/sh", "./script.sh", "./plain"], ["./linked"], ["./holds"]]
    parts = [w for p in programs for w in (":", "-n", "1", *p)][1:]
    done = stretto(mpi, "diagnose", "-o", "x.profile.json", "--", *launch, *parts, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = set(json.loads((tmp_path / "x.profile.json").read_text())["tools"])
    assert found == {str(built["tool"]), str(built["holds"])}
    words = " ".join(done.stderr.split())
    assert "it is unknown whether tuning can help, because" in words
    assert "because a tool linked into holds and libtool.so intercept MPI calls before" in words
    assert "next: stretto check --" in words
    assert "% computing" not in words and "tuning cannot help" not in words


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_run_behind_a_tool_ends_natively_on_all_ranks_and_says_so(
    name: str, tmp_path: Path
) -> None:
    """A tool on one rank that leaves MPI_Init alone hung the job; on all ranks it went unsaid."""
    mpi = MPIS[name]
    built = build(name, tmp_path)
    (tmp_path / "begins.c").write_text(f"#include <mpi.h>\n{BEGINS}")
    mpi.compile(tmp_path / "begins.c", tmp_path / "begins.so", "-shared", "-fPIC")
    for script, tool in (("some", built["tool"]), ("begins", tmp_path / "begins.so")):
        executable(tmp_path / script, f'#!/bin/sh\n. ./tool-{script}\nexec "$@"\n')
        (tmp_path / f"tool-{script}").write_text(f'LD_PRELOAD="{tool}:$LD_PRELOAD"\n')
    launch = mpi.launcher(1)[:-2]
    one, all_ranks = ["-n", "1", "./plain", ":", "-n", "1"], ["-n", "2"]
    cases = [
        ([*one, "./some"], "libtool.so intercepts MPI calls before Stretto on some ranks only"),
        ([*all_ranks, "./some"], "libtool.so intercepts MPI calls before Stretto: those go"),
        ([*all_ranks, "./begins"], "begins.so intercepts MPI_Init before Stretto"),
    ]
    for words, said in cases:
        choice = ["--choice", "allreduce=shm", "--verbose"]
        done = stretto(mpi, "run", *choice, "--", *launch, *words, "./plain", cwd=tmp_path)
        assert done.returncode == 0 and "ranks=2 sum=1" in done.stdout, done.stderr
        assert done.stderr.count(said) == 1 and "shm (forced)" not in done.stderr, done.stderr


def test_what_a_script_calls_may_drop_variables(tmp_path: Path) -> None:
    assert in_script("# ssh a\nmpirun -n 2 ./a # docker run\nenv A=1 ./ssh-like sshd x\n") == []
    assert in_script("env  -i mpirun ./a; /usr/bin/ssh n ./b\n(apptainer exec x ./c)\n") == [
        "env -i", "ssh", "apptainer",
    ]  # fmt: skip
    assert in_script("export LD_PRELOAD='/a.so b.so'; LD_PRELOAD=c:$LD_PRELOAD ./a") == [
        "LD_PRELOAD=/a.so b.so"
    ]
    assert in_script("env -u LD_PRELOAD ./a; unset LD_PRELOAD") == [
        "env -u LD_PRELOAD", "unset LD_PRELOAD",
    ]  # fmt: skip
    MPIS["openmpi4"].require()
    behind = ["mpirun.openmpi", "-n", "2", "sh", "-c", "LD_PRELOAD=/a.so exec ./a"]
    assert understand(behind, cwd=tmp_path).between == ("LD_PRELOAD=/a.so",)
    executable(tmp_path / "job.sh", "#!/bin/sh\nenv -i /usr/bin/mpirun.openmpi -n 2 ./a\n")
    for words in (["./job.sh"], ["/bin/sh", "./job.sh"]):
        assert understand(words, mpi="openmpi", cwd=tmp_path).between == ("env -i",)


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_run_of_a_program_with_address_sanitizer_starts_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = MPIS[name].require()
    source = REPOSITORY / "tests" / "programs" / "sums.c"
    mpi.compile(source, tmp_path / "checked", "-fsanitize=address")
    words = ["--choice", "allreduce=shm", "--verbose", "--", *mpi.launcher(2), "./checked"]
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")  # Open MPI 4 has leaks
    done = stretto(mpi, "run", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ranks=2 sum=1" in done.stdout and "shm (forced)" in done.stderr
    assert "./checked loads AddressSanitizer" in done.stderr
