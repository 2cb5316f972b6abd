"""The libraries themselves: what they export and need, and what they do where no MPI is."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from functions import (
    FAMILIES,
    FAMILY_MACRO,
    PROGRAMS,
    SOURCE,
    declared_functions,
    functions,
    section,
)
from mpis import ALL, MPIS, REPOSITORY, library, missing
from processes import run_program


@pytest.mark.parametrize("kind", ["", "record"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "command",
    [
        ["ls", "/"],
        ["bash", "-c", "echo $((6*7)) | cat; exit 5"],
        [sys.executable, "-c", "import threading, json; print(json.dumps([1]))"],
        ["sh", "-c", "kill -9 $$"],
    ],
    ids=["ls", "bash", "python", "killed"],
)
def test_programs_without_mpi(command: list[str], family: str, kind: str) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("STRETTO_")}
    plain = subprocess.run(command, env=env, capture_output=True, check=False)
    env["LD_PRELOAD"] = str(library(family, kind))
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_mpi_function_without_mpi(family: str, tmp_path: Path) -> None:
    """A program that finds MPI_Init though no MPI is there is told so."""
    source = tmp_path / "probe.c"
    source.write_text(
        "#include <dlfcn.h>\n"
        "int main(void) { int (*init)(void *, void *);"
        ' *(void **)&init = dlsym(RTLD_DEFAULT, "MPI_Init");'
        " return init ? init(0, 0) : 7; }\n"
    )
    program = tmp_path / "probe"
    subprocess.run(["gcc", str(source), "-o", str(program), "-ldl"], check=True)
    done = run_program([str(program)], env=os.environ | {"LD_PRELOAD": str(library(family))})
    assert done.returncode == 1
    assert "no MPI library that Stretto knows is loaded" in done.stderr


@pytest.mark.parametrize("kind", ["", "record"])
@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_happens_at_load(family: str, kind: str) -> None:
    """No library but libc brought along; no constructor but compilers', and for libc's names."""
    with library(family, kind).open("rb") as stream:
        elf = ELFFile(stream)
        tags = list(section(elf, ".dynamic").iter_tags())
        needed = {t.needed.split(".so")[0] for t in tags if t.entry.d_tag == "DT_NEEDED"}
        constructors = section(elf, ".init_array")
        start, end = constructors["sh_addr"], constructors["sh_addr"] + constructors["sh_size"]
        relocations = section(elf, ".rela.dyn").iter_relocations()
        addresses = {r["r_addend"] for r in relocations if start <= r["r_offset"] < end}
        symbols = section(elf, ".symtab").iter_symbols()
        names = {s.name for s in symbols if s["st_value"] in addresses}
    assert needed <= {"libc", "libm", "libdl", "libpthread", "librt", "ld-linux-x86-64"}
    assert len(addresses) == (end - start) // 8
    # frame_dummy is every library's, the other one libgcc's for __builtin_cpu_supports
    # find_all: dlsym later would lose the program's dlerror, or lock in a signal handler
    own = {"find_all"} if kind == "record" else set()
    assert names <= {"frame_dummy", "__cpu_indicator_init"} | own


OPEN = """
#include "abi/host.h"
#include <stdio.h>
int main(int argc, char **argv)
{
    char error[400] = "";
    int rc = stretto_host_open(argc > 1 ? argv[1] : NULL, error, sizeof error);
    printf("%d %s%s\\n", rc, stretto_host_path(), error);
    return rc != 0;
}
"""


@pytest.mark.parametrize("name", ALL)
def test_opening_the_mpi(name: str, tmp_path: Path) -> None:
    """A program without libmpi (stretto-bench) opens it; what is not one is refused in words."""
    mpi = ALL[name].require()
    other = MPIS["mpich" if mpi.family == "openmpi" else "openmpi5"].require()
    source, program = tmp_path / "open.c", tmp_path / "open"
    source.write_text(OPEN)
    flags = ["-D_GNU_SOURCE", "-DSTRETTO_HOST_MPI", FAMILY_MACRO[mpi.family], f"-I{SOURCE}"]
    sources = [str(source), str(SOURCE / "abi" / "host.c")]
    subprocess.run(["gcc", *flags, *sources, "-o", str(program), "-ldl"], check=True)

    def opened(*arguments: str, env: Mapping[str, str] = mpi.environment) -> tuple[int, str]:
        done = run_program([str(program), *arguments], env=env)
        return done.returncode, done.stdout.strip()

    code, words = opened()
    assert code == 0
    assert words.endswith(f"/{mpi.libmpi.name}")
    assert opened(str(mpi.libmpi)) == (0, f"0 {mpi.libmpi}")
    code, words = opened("/nowhere/libmpi.so")
    assert code == 1
    assert "/nowhere/libmpi.so: cannot open" in words
    code, words = opened(str(other.libmpi), env=other.environment)
    assert code == 1
    assert f"{other.libmpi} is not a library of" in words


@pytest.mark.parametrize("name", ALL)
def test_first_call_by_many_threads(name: str, tmp_path: Path) -> None:
    mpi = ALL[name].require()
    program = tmp_path / "threads"
    flags = ["-O1", "-D_GNU_SOURCE", FAMILY_MACRO[mpi.family], f"-I{SOURCE}"]
    sources = [str(PROGRAMS / "threads.c"), str(SOURCE / "abi" / "host.c")]
    link = ["-Wl,--no-as-needed", str(mpi.libmpi), "-Wl,--allow-shlib-undefined", "-lpthread"]
    subprocess.run(["gcc", *flags, *sources, "-o", str(program), *link, "-ldl"], check=True)
    for _ in range(20):
        done = run_program([str(program)], env=mpi.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.endswith(f"/{mpi.libmpi.name}\n")


def exported(path: Path) -> set[str]:
    """Return the names that a shared library defines for others."""
    with path.open("rb") as stream:
        symbols = section(ELFFile(stream), ".dynsym").iter_symbols()
        return {
            s.name
            for s in symbols
            if s["st_shndx"] != "SHN_UNDEF" and s["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK")
        }


@pytest.mark.parametrize(
    ("family", "kind"),
    [(f, k) for f in FAMILIES for k in ("", "record")] + [("openmpi4", "record"), ("openmpi5", "")],
)
def test_exported_symbols(family: str, kind: str) -> None:
    """Only the MPI's names, that every MPI of the family has, and stretto.h's or libc's."""
    names = exported(library(family, kind))
    header = (REPOSITORY / "include" / "stretto.h").read_text()
    api = set(re.findall(r"^(?:int|const char \*)\s*(stretto_\w+)\(", header, flags=re.M))
    assert len(api) >= 4
    mpi_names = {n.removeprefix("MPI_") for n in names if n.startswith("MPI_")}
    profiling = {n.removeprefix("PMPI_") for n in names if n.startswith("PMPI_")}
    rest = names - {f"MPI_{n}" for n in mpi_names} - {f"PMPI_{n}" for n in profiling}
    if kind == "record":  # functions of libc that open, read, write and close files
        libc = ctypes.CDLL(None)
        assert {"read", "fopen", "close"} <= rest
        assert not [n for n in rest if not hasattr(libc, n) and "isoc23" not in n]
    else:
        assert rest == api
    assert mpi_names <= set(functions())
    assert profiling == mpi_names  # Fortran's way in
    for mpi in ALL.values():
        if mpi.family != ("openmpi" if family.startswith("openmpi") else family):
            continue
        only_for_5 = family == "openmpi5" or (family == "openmpi" and kind == "record")
        if not (mpi.name == "openmpi4" and only_for_5):
            assert mpi_names <= declared_functions(mpi.require()) | {"Pcontrol"}, mpi.name


@pytest.mark.parametrize(
    ("name", "fortran"), [("openmpi4", "libmpi_mpifh.so.40"), ("intel", "libmpifort.so.12")]
)
def test_fortran_library_calls_c(name: str, fortran: str) -> None:
    """What our way into Fortran rests on, for each function that the libraries define."""
    mpi = MPIS[name].require()
    path = mpi.libmpi.with_name(fortran)
    if not path.exists():
        missing(f"{path} is not there (apt-get install libopenmpi-dev)")
    with path.open("rb") as stream:
        symbols = section(ELFFile(stream), ".dynsym").iter_symbols()
        called = {s.name.removeprefix("P") for s in symbols if s["st_shndx"] == "SHN_UNDEF"}
    recorder = "openmpi4" if name == "openmpi4" else mpi.family
    for defined in (exported(library(mpi.interposer)), exported(library(recorder, "record"))):
        assert {n for n in defined if n.startswith("MPI_")} - called == set()
