"""src/abi/functions.def, the MPIs' own headers and shared libraries, read for tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from elftools.elf.elffile import ELFFile

from mpis import REPOSITORY, Mpi
from processes import run_program

SOURCE = REPOSITORY / "src"
FAMILY_MACRO = {
    "openmpi": "-DSTRETTO_ABI_OPENMPI",
    "mpich": "-DSTRETTO_ABI_MPICH",
    "mpi5": "-DSTRETTO_ABI_MPI5",
}
FAMILIES = list(FAMILY_MACRO)
PROGRAMS = REPOSITORY / "tests" / "c" / "loading"
_ROW = re.compile(r"^(F|FC|L|R)\((\w+), (?:(\w+), )?(\w+), \((.*)\), \((.*)\)\)$")


@dataclass(frozen=True)
class Function:
    """One row of functions.def; ``kind`` is F, FC, L or R, ``treated`` the first word in it."""

    kind: str
    treated: str
    type: str
    name: str
    parameters: str
    arguments: str


def functions() -> dict[str, Function]:
    """Return the rows by name (without ``MPI_``)."""
    found: dict[str, Function] = {}
    for number, line in enumerate((SOURCE / "abi" / "functions.def").read_text().splitlines(), 1):
        if not re.match(r"(F|FC|L|R)\(", line):
            continue
        row = _ROW.match(line)
        assert row, f"functions.def:{number}: not a row: {line}"
        kind, treated, kind_type, name, parameters, arguments = row.groups()
        name += "_c" * (kind == "L")
        assert (kind == "R") == (kind_type is not None), f"functions.def:{number}"
        assert name not in found, f"functions.def:{number}: {name} occurs twice"
        found[name] = Function(kind, treated, kind_type or "int", name, parameters, arguments)
    return found


def preprocessed(mpi: Mpi, *options: str) -> str:
    """Return the MPI's own header as the compiler sees it."""
    header = "mpi_abi.h" if mpi.standard else "mpi.h"
    done = run_program(
        ["gcc", "-E", *options, f"-I{mpi.include}", str(mpi.include / header)], check=True
    )
    return done.stdout


def declared_functions(mpi: Mpi) -> set[str]:
    """Return the names (without ``MPI_``) of the functions that the MPI's header has.

    MPI_T is left out. Macros count: MPICH has MPI_Comm_c2f and the like as macros.
    """
    pattern = r"MPI_((?!T_)[A-Z][a-z]\w*)"
    text = re.sub(r"^(# |typedef ).*$", "", preprocessed(mpi), flags=re.M)
    names = set(re.findall(r"\b\w+[\s*]+" + pattern + r"\s*\([^)]", text))
    macros = re.findall(f"^#define {pattern}\\(\\w", preprocessed(mpi, "-dM"), flags=re.M)
    return names | set(macros)


def section(elf: ELFFile, name: str) -> Any:
    """Return a section, which must be there."""
    found = elf.get_section_by_name(name)
    assert found is not None, name
    return found
