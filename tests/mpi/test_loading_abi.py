"""Our ABI headers and functions.def against the header and the library of every MPI."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from functions import FAMILY_MACRO, SOURCE, declared_functions, functions, preprocessed
from mpis import ALL, MPIS, Mpi
from processes import run_program

# Removed by MPI-3.0, still declared by some.
REMOVED = {
    "Address", "Errhandler_create", "Errhandler_get", "Errhandler_set", "Type_extent",
    "Type_hindexed", "Type_hvector", "Type_lb", "Type_struct", "Type_ub",
}  # fmt: skip
# What an MPI declares beyond functions.def: nothing but these.
BEYOND: dict[str, set[str]] = {
    "openmpi5": {"Session_set_info"},
    "mpich": REMOVED,
    "intel": REMOVED,
}
# Macros of the header for which the library has no function.
MACROS = {"openmpi4": {"Aint_add", "Aint_diff"}, "openmpi5": {"Aint_add", "Aint_diff"}}
# const that MPI-4.1 asks for and the header lacks: compared without const.
CONST: dict[str, set[str]] = {
    "openmpi5": {"Pready_list"},
    "intel": {"Request_get_status_all", "Request_get_status_any", "Request_get_status_some",
              "Status_get_error", "Status_get_source", "Status_get_tag"},
}  # fmt: skip
CONST["intel-abi"] = CONST["intel"]
TYPES = ["Aint", "Offset", "Count", "Fint", "Comm", "Datatype", "Errhandler", "File", "Group",
         "Info", "Message", "Op", "Request", "Session", "Win", "Status", "F08_status"]  # fmt: skip


def measured(mpi: Mpi) -> list[tuple[str, str]]:
    """Return labels and C expressions to compare: sizes, offsets, signs, values."""
    flags = [FAMILY_MACRO[mpi.family], f"-I{SOURCE}", "-E", "-dM", "-include", "abi/mpi.h"]
    ours = run_program(["gcc", *flags, "-x", "c", "/dev/null"], check=True).stdout
    names = re.findall(r"^#define (MPI_[A-Z0-9_]+) ", ours, flags=re.M)
    assert len(names) > 110
    theirs = preprocessed(mpi, "-dD")
    found = [(n, f"(intptr_t)({n})") for n in names if re.search(rf"\b{n}\b", theirs)]
    assert set(names) == {n for n, _ in found}
    types = [t for t in TYPES if re.search(rf"\bMPI_{t}\b", theirs)]
    # Open MPI 4.1 has no sessions, mpi_abi.h no conversions for mpi_f08
    assert set(TYPES) - set(types) <= {"Session", "F08_status", "Fint"}
    found += [(f"sizeof(MPI_{t})", f"sizeof(MPI_{t})") for t in types]
    for record in ("Status", "F08_status"):
        if record in types:
            fields = [f"offsetof(MPI_{record}, MPI_{f})" for f in ("SOURCE", "TAG", "ERROR")]
            found += [(f, f) for f in fields]
    found += [(f"sign of MPI_{t}", f"(MPI_{t})-1 < 0") for t in ("Aint", "Offset", "Count")]
    return found


VALUES = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
{include}
long long {who}(int i);
long long {who}(int i)
{{
    switch (i) {{
{cases}
    }}
    return 0;
}}
"""
MAIN = """
#include "abi/host.h"
#include <stdio.h>
long long ours(int i);
long long theirs(int i);
static const char *const functions[] = {
#define F(kind, name, parameters, arguments) #name,
#define R(kind, type, name, parameters, arguments) #name,
#include "abi/functions.def"
};
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 0;
    if (!stretto_host_load())
        return 2;
    for (int i = 0; i < n; i++)
        printf("value %d %lld %lld\\n", i, ours(i), theirs(i));
    void *const *table = (void *const *)&stretto_host_table;
    for (unsigned i = 0; i < sizeof stretto_host_table / sizeof *table; i++)
        printf("function %s %d\\n", functions[i], table[i] != NULL);
}
"""


@pytest.mark.parametrize("name", ALL)
def test_values_and_layouts(name: str, tmp_path: Path) -> None:
    mpi = ALL[name].require()
    rows = measured(mpi)
    cases = "\n".join(f"    case {i}: return (long long){c};" for i, (_, c) in enumerate(rows))
    for who, include in (("ours", '#include "abi/host.h"'), ("theirs", "#include <mpi.h>")):
        text = VALUES.format(include=include, who=who, cases=cases)
        (tmp_path / f"{who}.c").write_text(text)
    (tmp_path / "main.c").write_text("#include <stdlib.h>\n" + MAIN)
    flags = ["-c", "-fPIC", "-w", "-D_GNU_SOURCE"]
    mpi.compile(tmp_path / "theirs.c", tmp_path / "theirs.o", *flags)
    # not mpi.compile: our side must see none of the MPI's headers
    own = [FAMILY_MACRO[mpi.family], f"-I{SOURCE}", "-D_GNU_SOURCE", str(tmp_path / "ours.c")]
    own += [str(tmp_path / "theirs.o"), str(SOURCE / "abi" / "host.c")]
    program = tmp_path / "compare"
    argv = ["gcc", *own, str(tmp_path / "main.c"), "-o", str(program), "-Wl,--no-as-needed"]
    argv += [str(mpi.libmpi), "-Wl,--allow-shlib-undefined", "-ldl", "-lpthread"]
    done = run_program(argv)
    assert done.returncode == 0, done.stderr
    done = run_program([program, str(len(rows))], env=mpi.environment)
    assert done.returncode == 0, done.stderr

    values = re.findall(r"^value (\d+) (-?\d+) (-?\d+)$", done.stdout, flags=re.M)
    assert len(values) == len(rows)
    different = {rows[int(i)][0]: (a, b) for i, a, b in values if a != b}
    assert not different
    # every function that the header declares is found in the library
    has = dict(re.findall(r"^function (\w+) (\d)$", done.stdout, flags=re.M))
    declared = declared_functions(mpi) - BEYOND.get(mpi.name, set())
    assert {f for f in declared if has[f] != "1"} == MACROS.get(mpi.name, set())
    assert has["Allreduce"] == "1"
    assert has["Allreduce_c"] == ("0" if mpi.family == "openmpi" else "1")


@pytest.mark.parametrize("name", ALL)
def test_prototypes(name: str, tmp_path: Path) -> None:
    """Redeclare each function by our prototype after the MPI's: the compiler compares."""
    mpi = ALL[name].require()
    declared = declared_functions(mpi)
    rows = functions()
    assert declared - set(rows) == BEYOND.get(mpi.name, set())
    source, output = tmp_path / "prototypes.c", tmp_path / "prototypes.o"

    def compile_without(left_out: set[str], *options: str) -> None:
        lines = ["#include <mpi.h>", *(f"#undef MPI_{f}" for f in sorted(declared))]
        prototypes = [
            f"extern {r.type} MPI_{r.name}({r.parameters});"
            for r in rows.values()
            if r.name in declared - left_out
        ]
        assert len(prototypes) > 370
        source.write_text("\n".join(lines + prototypes) + "\n")
        mpi.compile(source, output, "-c", "-w", *options)

    compile_without(CONST.get(mpi.name, set()))
    compile_without(set(), "-Dconst=")
    # and the compiler does notice
    rows["Barrier"] = replace(rows["Barrier"], parameters="MPI_Comm *comm")
    with pytest.raises(AssertionError, match=r"conflicting types for .MPI_Barrier"):
        compile_without(CONST.get(mpi.name, set()))


def test_functions_are_those_of_mpi_4_1() -> None:
    """MPICH 5 declares all of MPI-4.1 and, in mpi_abi.h, of 5.0: nothing more is in the list."""
    rows = functions()
    mpich = declared_functions(MPIS["mpich"].require())
    standard = declared_functions(ALL["mpich-abi"].require())
    assert set(rows) <= mpich | standard
    assert (mpich | standard) - set(rows) == REMOVED
    large = {n for n, r in rows.items() if r.kind == "L"}
    assert large == {n + "_c" for n, r in rows.items() if r.kind == "FC"}
    assert len(large) > 150
    assert {"Allreduce_init_c", "Ineighbor_alltoallw_c", "File_iread_at_all_c"} <= large


def test_arguments_are_the_names_of_the_parameters() -> None:
    for row in functions().values():
        parts = [] if row.parameters == "void" else row.parameters.split(", ")
        names = [re.sub(r"\[\d*\]", "", part).replace("*", " ").split()[-1] for part in parts]
        assert [n for n in names if n != "..."] == [a for a in row.arguments.split(", ") if a]
