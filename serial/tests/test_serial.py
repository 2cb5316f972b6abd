"""The MPI for one process: the same output as a real MPI with one rank, and words where alone."""

from __future__ import annotations

import json
import os
import re
import shutil
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
        timeout=600,
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
        "mpicc", REPOSITORY / "serial/tests/serial.c", work / "serial", "-Wall", "-Werror"
    )
    done = run([program, work / "file"])
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", MPIS)
def test_c_as_under_a_real_mpi(name: str, serial_output: list[str], tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    program = mpi.compile(REPOSITORY / "serial/tests/serial.c", tmp_path / "serial")
    done = mpi.run(1, [str(program), str(tmp_path / "file")])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == serial_output
    assert len(serial_output) > 50


@pytest.mark.parametrize("name", MPIS)
def test_what_is_rarely_asked_as_under_a_real_mpi(name: str, tmp_path: Path) -> None:
    """Hints and buffers that are given back, requests freed early, elements, pairs with gaps."""
    source = REPOSITORY / "serial/tests/serial_rest.c"
    done = run([build("mpicc", source, tmp_path / "rest", "-Wall", "-Werror")])
    assert done.returncode == 0, done.stdout + done.stderr
    mpi = MPIS[name].require()
    theirs = mpi.run(1, [str(mpi.compile(source, tmp_path / "theirs"))])
    assert theirs.returncode == 0, theirs.stderr
    assert theirs.stdout.splitlines() == done.stdout.splitlines()
    assert len(done.stdout.splitlines()) == 18


@pytest.mark.parametrize("name", MPIS)
def test_the_rest_of_mpi_3_1_as_under_a_real_mpi(name: str, tmp_path: Path) -> None:
    """Error classes, sizes and distributions of types, external32, attributes and info of windows,
    split file access, graphs, statuses in Fortran, receives on freed communicators."""
    source = REPOSITORY / "serial/tests/serial_calls.c"
    ours = build("mpicc", source, tmp_path / "calls", "-Wall", "-Wextra", "-Werror")
    done = run([ours, tmp_path / "file"])
    assert done.returncode == 0, done.stdout + done.stderr
    mpi = MPIS[name].require()
    theirs = mpi.run(1, [str(mpi.compile(source, tmp_path / "theirs")), str(tmp_path / "file")])
    assert theirs.returncode == 0, theirs.stderr
    assert theirs.stdout.splitlines() == done.stdout.splitlines()
    assert len(done.stdout.splitlines()) == 19


# Left out: the tool interface. The Fortran names with _cptr are Open MPI's own for the same calls;
# MPI_Sizeof is generic in every module; _F90 and _FN are no calls.
LEFT_OUT = re.compile(r"MPI_T_\w+|mpi_sizeof_\w+|mpi_\w+_cptr_|MPI_\w+_(F90|FN)(_NULL)?")


def exported(file: Path) -> set[str]:
    done = run(["nm", "-D", "--defined-only", file])
    assert done.returncode == 0, done.stderr
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}


def test_all_calls_that_open_mpi_4_has() -> None:
    """Which has MPI-3.1 as a whole, in C and in both of Fortran's old forms."""
    mpi = MPIS["openmpi4"].require()
    (c,) = mpi.prefix.glob("lib/*/openmpi/lib/libmpi.so")
    (fortran,) = mpi.prefix.glob("lib/*/openmpi/lib/libmpi_mpifh.so")
    ours = exported(serial_root() / "lib/libstretto-serial.so")
    theirs = {name for name in exported(c) if re.fullmatch(r"MPI_\w+", name)}
    theirs |= {name for name in exported(fortran) if re.fullmatch(r"mpi_[a-z0-9_]*[a-z0-9]_", name)}
    theirs = {name for name in theirs if not LEFT_OUT.fullmatch(name)}
    assert len(theirs) > 700
    assert sorted(theirs - ours) == []


def defined(header: Path) -> set[str]:
    text = header.read_text()
    return {
        name
        for name in re.findall(r"^#define (MPI_[A-Z]\w*)", text, re.M)
        + re.findall(r"^ +(MPI_[A-Z][A-Z0-9_]*)(?: *=.*)?,? *(?:/\*.*)?$", text, re.M)
        + re.findall(r"extern .*?(MPI_[A-Z]\w*);", text)
        if name.upper() == name
    }


def test_all_constants_that_open_mpi_4_has() -> None:
    """Those of MPI-3.1, and not the tool interface, C++ or types that few compilers have."""
    mpi = MPIS["openmpi4"].require()
    (header,) = mpi.prefix.glob("lib/*/openmpi/include/mpi.h")
    theirs = {
        name
        for name in defined(header)
        if not re.match(
            r"MPI_(T_|COMPLEX4$|REAL2$|LOGICAL[1248]$|2(DOUBLE_)?COMPLEX$|CXX_COMPLEX$)", name
        )
    }
    assert len(theirs) > 250
    assert sorted(theirs - defined(serial_root() / "include/mpi.h")) == []


def test_what_once_crashed_or_took_seconds(tmp_path: Path) -> None:
    program = build("mpicc", REPOSITORY / "serial/tests/serial_edges.c", tmp_path / "edges")
    done = run([program, tmp_path / "file"])
    assert done.stdout == "edges done\n", done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(("name", "lines"), [("serial_fortran", 16), ("serial_calls", 27)])
def test_fortran_as_under_open_mpi(name: str, lines: int, tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    have("gfortran", "gfortran")
    source = REPOSITORY / f"serial/tests/{name}.f90"
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    ours = tmp_path / "serial"
    made = run([serial_root() / "bin" / "mpif90", "-J", tmp_path, source, "-o", ours], **cache)
    assert made.returncode == 0, made.stderr
    theirs = mpi.fortran(source, tmp_path / "openmpi", "mpi")
    expected = mpi.run(1, [str(theirs), str(tmp_path / "f1")])
    alone = run([ours, tmp_path / "f2"])
    assert alone.stdout == expected.stdout
    assert len(alone.stdout.splitlines()) == lines
    assert (alone.returncode, expected.returncode) == (0, 0), alone.stderr


def test_mpif_h_in_fixed_form(tmp_path: Path) -> None:
    have("gfortran", "gfortran")
    source = tmp_path / "old.f"
    source.write_text(
        """      program old
      implicit none
      include 'mpif.h'
      integer ierr, key, value
      logical there
      call MPI_INIT(ierr)
      call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, key, 0,
     &     ierr)
      call MPI_ATTR_PUT(MPI_COMM_WORLD, key, 17, ierr)
      call MPI_ATTR_GET(MPI_COMM_WORLD, key, value, there, ierr)
      print *, there, value, MPI_AINT_DIFF(8_MPI_ADDRESS_KIND,
     &     3_MPI_ADDRESS_KIND)
      call MPI_FINALIZE(ierr)
      end
"""
    )
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    made = run([serial_root() / "bin" / "mpif77", source, "-o", tmp_path / "old"], **cache)
    assert made.returncode == 0, made.stderr
    assert run([tmp_path / "old"]).stdout.split() == ["T", "17", "5"]


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
        ("MPI_Comm_call_errhandler(MPI_COMM_WORLD, 256);", "called by the program"),
        (
            "char port[MPI_MAX_PORT_NAME]; MPI_Open_port(MPI_INFO_NULL, port);",
            "finding other processes makes no sense for one process",
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


def test_cmake_finds_it(tmp_path: Path) -> None:
    """With nothing but PATH, as in docs/howto/serial.md; FindMPI takes the wrappers and mpiexec."""
    have("gfortran", "gfortran")
    root = serial_root()
    for source in ("examples/c/heat.c", "serial/tests/serial_f08_types.f90"):
        shutil.copy(REPOSITORY / source, tmp_path)
    (tmp_path / "hello.f90").write_text(
        "program hello\nuse mpi\ncall MPI_Init(i)\ncall MPI_Finalize(i)\nprint *, 'hello'\nend\n"
    )
    (tmp_path / "CMakeLists.txt").write_text(
        """cmake_minimum_required(VERSION 3.18)
project(found C Fortran)
find_package(MPI REQUIRED COMPONENTS C Fortran)
message(STATUS "launcher ${MPIEXEC_EXECUTABLE} of ${MPI_C_VERSION}")
add_executable(heat heat.c)
target_link_libraries(heat MPI::MPI_C m)
add_executable(hello hello.f90)
target_link_libraries(hello MPI::MPI_Fortran)
message(STATUS "mpi_f08 ${MPI_Fortran_HAVE_F08_MODULE}")
add_executable(types serial_f08_types.f90)
target_link_libraries(types MPI::MPI_Fortran)
enable_testing()
add_test(NAME hello COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 1 $<TARGET_FILE:hello>)
"""
    )
    environment = {
        "PATH": os.pathsep.join(
            [f"{root}/bin", f"{Path(sys.executable).parent}", os.environ["PATH"]]
        ),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    build_ = tmp_path / "build"
    configured = run(["cmake", "-S", tmp_path, "-B", build_], **environment)
    assert configured.returncode == 0, configured.stdout + configured.stderr
    assert f"launcher {root / 'bin'}/mpiexec of 3.1" in configured.stdout
    made = run(["cmake", "--build", build_], **environment)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "mpi_f08 TRUE" in configured.stdout
    assert run([build_ / "heat"]).returncode == 0
    assert run([build_ / "types"]).returncode == 0
    tested = run(["ctest", "--test-dir", build_], **environment)
    assert tested.returncode == 0, tested.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-n", "1", "printenv", "SOME"], "value"),
        (["-np", "1", "-x", "SOME=other", "--oversubscribe", "--", "printenv", "SOME"], "other"),
        (
            ["--mca", "btl", "self", "-genv", "SOME", "third", "-n", "1", "printenv", "SOME"],
            "third",
        ),
        (["-n", "2", "printenv", "SOME"], "programs of this library have one process"),
        (["--no-such", "printenv"], "option --no-such is not known"),
        (["-n", "1", "true", ":", "-n", "1", "true"], "several programs"),
        (["-n"], "-n needs a number"),
        ([], "no program"),
    ],
)
def test_mpiexec_starts_the_program(arguments: list[str], words: str) -> None:
    done = run([serial_root() / "bin/mpiexec", *arguments], SOME="value")
    assert words in done.stdout + done.stderr
    assert (done.returncode == 0) == (words in done.stdout)


def test_what_the_wrapper_shows(tmp_path: Path) -> None:
    root = serial_root()
    wrapper = root / "bin/mpicc"
    for arguments in (["-show", "x.c", "-o", "x"], ["x.c", "-o", "x", "-show"]):
        shown = run([wrapper, *arguments]).stdout.split()
        assert shown[:2] == ["cc", f"-I{root}/include"]
        assert shown[2:5] == ["x.c", "-o", "x"]
        assert shown[-1] == "-lstretto-serial"
    assert run([wrapper, "-showme:compile"]).stdout.split() == [f"-I{root}/include"]
    assert "-lstretto-serial" in run([wrapper, "-showme:link"]).stdout
    assert "-l" not in run([wrapper, "-show", "-c", "x.c"]).stdout.split("x.c")[1]


def test_an_example_runs_as_with_one_rank(tmp_path: Path) -> None:
    program = build("mpicc", REPOSITORY / "examples/c/heat.c", tmp_path / "heat", "-O2", "-lm")
    done = run([program])
    assert done.returncode == 0, done.stderr


def test_a_static_program(tmp_path: Path) -> None:
    program = tmp_path / "static"
    root = serial_root()
    source, archive = REPOSITORY / "serial/tests/serial.c", root / "lib/libstretto-serial.a"
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
