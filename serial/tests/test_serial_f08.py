"""The module mpi_f08 of the MPI for one process: lines, names and arguments as others have."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fortran_modules import Argument, Module, read
from mpis import MPIS, REPOSITORY, have
from test_serial import exported, run, serial_root


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A cache of module files of its own."""
    have("gfortran", "gfortran")
    return {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


def build(source: Path, program: Path, cache: dict[str, str], *options: str) -> Path:
    wrapper = serial_root() / "bin/mpif90"
    made = run([wrapper, *options, f"-J{program.parent}", source, "-o", program], **cache)
    assert (made.returncode, made.stderr) == (0, "")
    return program


@pytest.fixture(scope="module")
def openmpi_lines(tmp_path_factory: pytest.TempPathFactory) -> str:
    mpi = MPIS["openmpi4"].require()
    work = tmp_path_factory.mktemp("openmpi")
    program = mpi.fortran(REPOSITORY / "serial/tests/serial_f08.f90", work / "theirs", "mpi_f08")
    done = mpi.run(1, [str(program), str(work / "file")])
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("optimization", ["-O0", "-O2"])
def test_as_under_open_mpi(
    optimization: str, openmpi_lines: str, cache: dict[str, str], tmp_path: Path
) -> None:
    """Optimised, too: compilers take interfaces at their word on who keeps an address."""
    source = REPOSITORY / "serial/tests/serial_f08.f90"
    words = ("-Wall", "-Wno-unused-dummy-argument", optimization)
    done = run([build(source, tmp_path / "ours", cache, *words), tmp_path / "file"])
    assert done.returncode == 0, done.stderr
    assert done.stdout == openmpi_lines
    assert len(done.stdout.splitlines()) == 51


@pytest.mark.parametrize("linking", [[], ["-static"]])
def test_what_open_mpi_4_has_not(linking: list[str], cache: dict[str, str], tmp_path: Path) -> None:
    source = REPOSITORY / "serial/tests/serial_f08_types.f90"
    wrapper, program = serial_root() / "bin/mpif90", tmp_path / "ours"
    made = run([wrapper, "-O2", f"-J{tmp_path}", *linking, source, "-o", program], **cache)
    assert made.returncode == 0, made.stderr
    done = run([program])
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["T", "F", "3", "5", "5", "2", "2", "1", "1", "6", "7", "8"]


def names_of_openmpi() -> list[str]:
    mpi = MPIS["openmpi4"].require()
    (library,) = mpi.prefix.glob("lib/*/openmpi/lib/libmpi_usempif08.so")
    return sorted(
        name.removesuffix("_f08_")
        for name in exported(library)
        if re.fullmatch(r"mpi_\w+_f08_", name)
    )


def test_every_procedure_of_open_mpi_4(cache: dict[str, str], tmp_path: Path) -> None:
    names = names_of_openmpi()
    assert len(names) > 340
    source = tmp_path / "names.f90"
    lines = [f"  use mpi_f08, only: {name}" for name in names]
    source.write_text("\n".join(["program names", *lines, "end program names", ""]))
    build(source, tmp_path / "names", cache)


def ours(cache: dict[str, str], tmp_path: Path) -> Module:
    source = tmp_path / "empty.f90"
    source.write_text("end\n")
    build(source, tmp_path / "empty", cache)
    (folder,) = Path(cache["XDG_CACHE_HOME"]).glob("stretto/serial-*")
    types, procedures = read(folder / "mpi_f08_types.mod"), read(folder / "mpi_f08.mod")
    parameters = types.parameters | procedures.parameters
    return Module(procedures.procedures, parameters, procedures.variables)


def theirs(part: str) -> Module:
    files = (
        MPIS["openmpi4"].require().prefix.glob(f"lib/*/fortran/gfortran-mod-*/openmpi/{part}.mod")
    )
    return read(sorted(files)[-1])


# Where Open MPI 4 has other intents than MPI-3.1 (appendix A.3): a status of a probe may be
# MPI_STATUS_IGNORE, weights MPI_UNWEIGHTED; what is sent is only read.
OTHER_INTENT = {
    *((f"mpi_{kind}probe", "status") for kind in ("", "i", "m", "im")),
    *(("mpi_dist_graph_neighbors", f"{kind}weights") for kind in ("source", "dest")),
    *((f"mpi_{kind}send_init", "buf") for kind in ("", "b", "r", "s")),
    *((f"mpi_{kind}get_accumulate", "origin_addr") for kind in ("", "r")),
    *(("mpi_aint_diff", f"addr{i}") for i in (1, 2)),
    ("mpi_aint_add", "base"),
    ("mpi_file_write_at_all", "buf"),
}
OTHER_NAME = {("mpi_aint_add", "diff"), ("mpi_win_get_info", "info")}


def put_right(name: str, argument: Argument, mine: Argument) -> Argument:
    """An argument of Open MPI's as MPI-3.1 has it, where it is known to differ."""
    if (name, argument.name) in OTHER_NAME:
        argument = replace(argument, name=mine.name, intent=mine.intent)
    if (name, argument.name) in OTHER_INTENT:
        argument = replace(argument, intent=mine.intent)
    return argument


def test_arguments_as_open_mpi_4_has_them(cache: dict[str, str], tmp_path: Path) -> None:
    """Their names, which programs write as keywords, their order, types, ranks and intents."""
    our = ours(cache, tmp_path).procedures
    our["mpi_buffer_detach"] = our["stretto_serial_buffer_detach"]
    parts = [theirs(f"mpi_f08_interfaces{part}").procedures for part in ("", "_callbacks")]
    known = {
        name.removesuffix("_f08"): arguments for part in parts for name, arguments in part.items()
    }
    known = {name: arguments for name, arguments in known.items() if name.startswith("mpi_")}
    assert len(known) > 360
    for name, arguments in known.items():
        pairs = zip(arguments, our[name], strict=True)
        assert tuple(put_right(name, a, mine) for a, mine in pairs) == our[name], name


def test_constants_as_open_mpi_4_has_them(cache: dict[str, str], tmp_path: Path) -> None:
    """Each with its type. Not the tool interface, Open MPI's own, types that few compilers have."""
    left_out = r"(?!mpi_)\w+|mpi_(t_\w+|2(double_)?complex|cxx_complex|logical[1248]|real2)"
    there = theirs("mpi_f08_types")
    known = {
        name: kind
        for name, kind in (there.parameters | there.variables).items()
        if not re.fullmatch(left_out, name)
    }
    our = ours(cache, tmp_path)
    mine = our.parameters | our.variables
    assert len(known) > 250
    differ = {
        name: (kind, mine.get(name)) for name, kind in known.items() if mine.get(name) != kind
    }
    assert differ == {}


def test_a_compiler_without_it(tmp_path: Path) -> None:
    """One that is too old for mpi_f08 compiles programs that use mpi, and it is said once."""
    have("gfortran", "gfortran")
    compiler = tmp_path / "old-fortran"
    compiler.write_text(
        '#!/bin/sh\ncase "$*" in *mpi_f08*) echo "what is this?" >&2; exit 1 ;; esac\n'
        'exec gfortran "$@"\n'
    )
    compiler.chmod(0o755)
    source = tmp_path / "old.f90"
    source.write_text("use mpi\ncall MPI_Init(i)\ncall MPI_Finalize(i)\nend\n")
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "STRETTO_SERIAL_FC": str(compiler)}
    command = [serial_root() / "bin/mpif90", source, "-o", tmp_path / "old"]
    first, second = run(command, **environment), run(command, **environment)
    assert (first.returncode, second.returncode, second.stderr) == (0, 0, "")
    said = re.search(r"does not compile the module mpi_f08, see (.*)", first.stderr)
    assert said
    assert "what is this?" in Path(said[1]).read_text()
    assert run([tmp_path / "old"]).returncode == 0
    assert "serial-f08" not in run([command[0], "-showme:link"], **environment).stdout


def test_where_its_library_is(cache: dict[str, str]) -> None:
    wrapper = serial_root() / "bin/mpif90"
    link = run([wrapper, "-showme:link"], **cache).stdout
    assert "-lstretto-serial-f08 -lstretto-serial" in link
    assert run([wrapper, "-showme:libs"], **cache).stdout.split()[0] == "stretto-serial-f08"
    places = run([wrapper, "-showme:libdirs"], **cache).stdout.split()
    assert Path(places[1], "libstretto-serial-f08.a").is_file()
    assert os.path.commonpath([places[1], cache["XDG_CACHE_HOME"]]) == cache["XDG_CACHE_HOME"]
