"""The MPI for one process: the same output as a real MPI with one rank, and words where alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, have, library


def serial_root() -> Path:
    """Where the libraries under test have it."""
    return library("openmpi").parent / "serial"


def run(command: list[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def build(wrapper: str, source: Path, program: Path, *options: str) -> Path:
    done = run([serial_root() / "bin" / wrapper, *options, source, "-o", program])
    assert done.returncode == 0, done.stderr
    return program


@pytest.fixture(scope="module")
def serial_output(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    work = tmp_path_factory.mktemp("serial")
    program = build(
        "mpicc", REPOSITORY / "tests/apps/serial.c", work / "serial", "-Wall", "-Werror"
    )
    done = run([program, work / "file"])
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", MPIS)
def test_c_as_under_a_real_mpi(name: str, serial_output: list[str], tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    program = mpi.compile(REPOSITORY / "tests/apps/serial.c", tmp_path / "serial")
    done = mpi.run(1, [str(program), str(tmp_path / "file")])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == serial_output
    assert len(serial_output) > 50


@pytest.mark.parametrize("name", MPIS)
def test_what_is_rarely_asked_as_under_a_real_mpi(name: str, tmp_path: Path) -> None:
    """Hints and buffers that are given back, requests freed early, elements, pairs with gaps."""
    source = REPOSITORY / "tests/apps/serial_rest.c"
    done = run([build("mpicc", source, tmp_path / "rest", "-Wall", "-Werror")])
    assert done.returncode == 0, done.stdout + done.stderr
    mpi = MPIS[name].require()
    theirs = mpi.run(1, [str(mpi.compile(source, tmp_path / "theirs"))], timeout=120)
    assert theirs.returncode == 0, theirs.stderr
    assert theirs.stdout.splitlines() == done.stdout.splitlines()
    assert len(done.stdout.splitlines()) == 18


def test_what_once_crashed_or_took_seconds(tmp_path: Path) -> None:
    program = build("mpicc", REPOSITORY / "tests/apps/serial_edges.c", tmp_path / "edges")
    done = run([program, tmp_path / "file"])
    assert done.stdout == "edges done\n", done.stdout + done.stderr
    assert done.returncode == 0


def test_fortran_as_under_open_mpi(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    have("gfortran", "gfortran")
    source = REPOSITORY / "tests/apps/serial_fortran.f90"
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    ours = tmp_path / "serial"
    made = run([serial_root() / "bin" / "mpif90", source, "-o", ours], **cache)
    assert made.returncode == 0, made.stderr
    theirs = mpi.fortran(source, tmp_path / "openmpi", "mpi")
    expected = mpi.run(1, [str(theirs), str(tmp_path / "f1")])
    alone = run([ours, tmp_path / "f2"])
    assert alone.stdout == expected.stdout
    assert len(alone.stdout.splitlines()) > 12
    assert (alone.returncode, expected.returncode) == (0, 0), alone.stderr


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            "int x; MPI_Recv(&x, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
            "no message with tag 3",
        ),
        (
            "int x; MPI_Request r; MPI_Irecv(&x, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &r);"
            " MPI_Wait(&r, MPI_STATUS_IGNORE);",
            "no message with tag 4",
        ),
        ("int x = 0; MPI_Ssend(&x, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);", "no receive for tag 5"),
        ("int x = 0; MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);", "the only rank is 0"),
        ("int x = 0; MPI_Bcast(&x, 1, MPI_INT, 1, MPI_COMM_WORLD);", "root is 1"),
        ("int x = 0; MPI_Bcast(&x, 1, MPI_INT, 0, 77);", "no valid communicator"),
        (
            'MPI_Comm c; MPI_Comm_spawn("a", 0, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c, 0);',
            "makes no sense for one process",
        ),
        (
            "int x = 0; MPI_Win w; MPI_Win_create(&x, 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &w);"
            " MPI_Put(&x, 1, MPI_INT, 0, 1, 1, MPI_INT, w);",
            "not lie within the window",
        ),
        (
            "int d[1] = {2}, p[1] = {0}; MPI_Comm c;"
            " MPI_Cart_create(MPI_COMM_WORLD, 1, d, p, 0, &c);",
            "2 places",
        ),
    ],
)
def test_what_makes_no_sense_alone_is_said(call: str, words: str, tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text(
        "#include <mpi.h>\nint main(int n, char **v) { MPI_Init(&n, &v); "
        + call
        + " MPI_Finalize(); return 0; }\n"
    )
    done = run([build("mpicc", source, tmp_path / "wrong")])
    assert done.returncode != 0
    assert words in done.stderr
    assert "build it with an MPI" in done.stderr


def test_an_example_runs_as_with_one_rank(tmp_path: Path) -> None:
    program = build("mpicc", REPOSITORY / "examples/c/heat.c", tmp_path / "heat", "-O2", "-lm")
    done = run([program])
    assert done.returncode == 0, done.stderr


def test_a_static_program(tmp_path: Path) -> None:
    program = tmp_path / "static"
    root = serial_root()
    source, archive = REPOSITORY / "tests/apps/serial.c", root / "lib/libstretto-serial.a"
    done = run(["cc", f"-I{root}/include", source, archive, "-o", program])
    assert done.returncode == 0, done.stderr
    assert run([program, tmp_path / "file"]).returncode == 0


def test_only_mpi_names_are_exported() -> None:
    done = run(["nm", "-D", "--defined-only", serial_root() / "lib" / "libstretto-serial.so"])
    names = {line.split()[-1] for line in done.stdout.splitlines()}
    assert {"MPI_Init", "mpi_init_", "MPI_Alltoallw"} <= names
    foreign = {n for n in names if not n.startswith(("MPI_", "mpi_", "stretto_serial_"))}
    assert not foreign


def test_the_command_names_the_places() -> None:
    library("openmpi")
    done = run([sys.executable, "-m", "stretto", "serial", "--json"])
    assert done.returncode == 0, done.stderr
    places = json.loads(done.stdout)
    assert (Path(places["bin"]) / "mpicc").is_file()
    assert (Path(places["include"]) / "mpif.h").is_file()
