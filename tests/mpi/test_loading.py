"""Loading: unchanged C, Fortran and Python programs under a preloaded library, with every MPI."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from functions import FAMILIES, FAMILY_MACRO, PROGRAMS, SOURCE, section
from mpis import ALL, DEBIAN_MPICH, MPIS, Mpi, beside_others, library, missing
from processes import run_program

pytestmark = pytest.mark.mpi
DIALECTS = {"mpif.h": "program.f", "mpi": "program_mpi.f90", "mpi_f08": "program_f08.f90"}
#: with these, every collective of the programs that can is Stretto's, after two rounds that it
#: passes on
ACT = {
    "STRETTO_CHOICE": ";".join(
        f"{c}=shm" for c in ("allreduce", "bcast", "reduce", "allgather", "barrier")
    ),
    "STRETTO_AFTER": "13",
    "STRETTO_VERBOSE": "1",
}


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The counting library by family."""
    folder = tmp_path_factory.mktemp("probe")
    sources = [str(PROGRAMS / "probe.c"), *map(str, sorted((SOURCE / "abi").glob("*.c")))]
    built = {}
    for family in FAMILIES:
        built[family] = folder / f"libprobe-{family}.so"
        flags = ["-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
        flags += ["-D_GNU_SOURCE", FAMILY_MACRO[family], f"-I{SOURCE}", "-Wl,-Bsymbolic-functions"]
        subprocess.run(["gcc", *flags, *sources, "-o", str(built[family])], check=True)
    return built


def counts(stderr: str) -> dict[str, int]:
    """Return what the probe on rank 0 counted."""
    line = re.search(r"^probe: (.*) host (\S*)$", stderr, flags=re.M)
    assert line, stderr
    words = line[1].split()
    return {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}


def program_counts(communicators: int, ranks_in_place: int = 1) -> dict[str, int]:
    """What a program of tests/c/loading makes rank 0 call: 6 rounds a communicator."""
    rounds = 6 * communicators
    return {
        "init": 1, "allreduce": 2 * rounds, "in_place": rounds + ranks_in_place * rounds,
        "bcast": rounds, "reduce": rounds, "allgather": rounds, "barrier": rounds, "comm_free": 1,
    }  # fmt: skip


def check_same(mpi: Mpi, command: list[str], probe: Path, expected: dict[str, int]) -> str:
    """Run plainly, under the probe, and under Stretto; the output is the same."""
    plain = mpi.run(2, command)
    assert plain.returncode == 0, plain.stderr
    assert plain.stdout.strip()
    probed = mpi.run(2, command, rank_env={"LD_PRELOAD": str(probe)})
    assert (probed.returncode, probed.stdout) == (0, plain.stdout), probed.stderr
    seen = counts(probed.stderr)
    seen["allreduce"] += seen.pop("large")
    assert {k: seen[k] for k in expected} == expected
    stretto = {"LD_PRELOAD": str(library(mpi.family))}
    acting = mpi.run(2, command, rank_env=stretto | ACT)
    assert (acting.returncode, acting.stdout) == (0, plain.stdout), acting.stderr
    for collective in ("allreduce", "bcast", "reduce", "allgather", "barrier"):
        assert re.search(rf"stretto.*{collective}.*shm", acting.stderr), acting.stderr
    return plain.stdout


@pytest.mark.parametrize("name", ALL)
def test_c(name: str, probe: dict[str, Path], tmp_path: Path) -> None:
    mpi = ALL[name].require()
    program = mpi.compile(PROGRAMS / "program.c", tmp_path / "program", "-O1")
    output = check_same(mpi, [str(program)], probe[mpi.family], program_counts(2))
    assert len(output.splitlines()) >= 12


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_c_with_copied_data(name: str, probe: dict[str, Path], tmp_path: Path) -> None:
    """Without PIE the program holds copies of libmpi's objects: MPI_COMM_WORLD is the copy."""
    mpi = MPIS[name].require()
    program = mpi.compile(PROGRAMS / "program.c", tmp_path / "program", "-fno-pie", "-no-pie")
    with program.open("rb") as stream:
        relocations = section(ELFFile(stream), ".rela.dyn")
        symbols = section(ELFFile(stream), ".dynsym")
        copied = {symbols.get_symbol(r["r_info_sym"]).name for r in relocations.iter_relocations()}
    assert "ompi_mpi_comm_world" in copied
    done = mpi.run(2, [str(program)], rank_env={"LD_PRELOAD": str(probe["openmpi"])})
    assert done.returncode == 0, done.stderr
    assert counts(done.stderr)["world"] == 12


@pytest.mark.parametrize("name", MPIS)
def test_c_opened_local(name: str, probe: dict[str, Path], tmp_path: Path) -> None:
    """The MPI comes in by dlopen(RTLD_LOCAL), after the preloaded library."""
    mpi = MPIS[name].require()
    if name == "openmpi4" and not _local_components(mpi):
        missing("this Open MPI's components need libmpi in the global scope")
    plugin = mpi.compile(PROGRAMS / "program.c", tmp_path / "program.so", "-shared", "-fPIC")
    host = tmp_path / "host"
    subprocess.run(["gcc", str(PROGRAMS / "plugin.c"), "-o", str(host), "-ldl"], check=True)
    check_same(mpi, [str(host), str(plugin)], probe[mpi.family], program_counts(2))


def _local_components(mpi: Mpi) -> bool:
    """Whether the components name the libraries that they need, and so can be opened locally."""
    components = list((mpi.libmpi.parent / "openmpi").rglob("mca_coll_tuned.so"))
    for component in components:
        with component.open("rb") as stream:
            dynamic = section(ELFFile(stream), ".dynamic")
            needed = {t.needed for t in dynamic.iter_tags() if t.entry.d_tag == "DT_NEEDED"}
        if not any(n.startswith("libmpi.so") for n in needed):
            return False
    return True


@pytest.mark.parametrize(
    ("name", "dialect"),
    [("openmpi4", d) for d in DIALECTS] + [("intel", "mpif.h"), ("intel", "mpi")],
)
def test_fortran(name: str, dialect: str, probe: dict[str, Path], tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    program = mpi.fortran(PROGRAMS / DIALECTS[dialect], tmp_path / "program", dialect)
    check_same(mpi, [str(program)], probe[mpi.family], program_counts(1))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_fortran_of_mpich(dialect: str, probe: dict[str, Path], tmp_path: Path) -> None:
    """MPICH's mpi_f08 goes by MPI_Allreduce and by PMPI_Barrier."""
    if not DEBIAN_MPICH.libmpi.exists():
        missing("no MPICH with Fortran here: mpis.py says how to get one")
    MPIS["mpich"].require()  # its launcher
    program = DEBIAN_MPICH.fortran(PROGRAMS / DIALECTS[dialect], tmp_path / "program", dialect)
    check_same(DEBIAN_MPICH, [str(program)], probe["mpich"], program_counts(1))


@pytest.mark.parametrize("name", MPIS)
def test_mpi4py(name: str, probe: dict[str, Path]) -> None:
    mpi = MPIS[name].require()
    command = [*mpi.python(), str(PROGRAMS / "program.py")]
    expected = program_counts(2)
    del expected["comm_free"], expected["bcast"], expected["allgather"], expected["barrier"]
    if mpi.family == "mpich":  # MPI_Reduce_c is not the probe's
        del expected["reduce"], expected["in_place"]
    check_same(mpi, command, probe[mpi.family], expected)


@pytest.mark.parametrize(
    ("name", "family"), [(m.name, f) for m in ALL.values() for f in FAMILIES if f != m.family]
)
def test_wrong_family(name: str, family: str, tmp_path: Path) -> None:
    """The library for another family says whose it is, what it met, what to do."""
    mpi = ALL[name].require()
    program = mpi.compile(PROGRAMS / "program.c", tmp_path / "program")
    for kind in ("", "record"):
        done = mpi.alone([str(program)], {"LD_PRELOAD": str(library(family, kind))})
        assert done.returncode != 0
        assert "stretto: error: this is Stretto's library for" in done.stderr
        assert re.search(rf"but the program uses .*{mpi.libmpi.name}", done.stderr), done.stderr
        assert library(mpi.family, kind).name in done.stderr
        assert done.stdout == ""


@pytest.mark.parametrize("name", MPIS)
def test_script_that_calls_mpirun(name: str, probe: dict[str, Path], tmp_path: Path) -> None:
    """The library is preloaded into a shell script; grep, the launcher and the ranks are in it."""
    mpi = MPIS[name].require()
    program = mpi.compile(PROGRAMS / "program.c", tmp_path / "program")
    script = tmp_path / "job.sh"
    launch = " ".join(mpi.launcher(2))
    script.write_text(f"#!/bin/bash\nset -e\nls {tmp_path} | grep -c program\n{launch} {program}\n")
    results = []
    for preload in ({}, {"LD_PRELOAD": str(probe[mpi.family])}):
        with beside_others():
            results.append(
                run_program(["bash", str(script)], env=mpi.environment | preload, timeout=600)
            )
    plain, preloaded = results
    assert (plain.returncode, preloaded.returncode) == (0, 0), preloaded.stderr
    assert preloaded.stdout == plain.stdout
    assert counts(preloaded.stderr)["allreduce"] == 24


@pytest.mark.parametrize("order", ["tool first", "tool last"])
@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_other_tool(name: str, order: str, probe: dict[str, Path], tmp_path: Path) -> None:
    """A tool that wraps MPI_Allreduce is not called twice, and the call ends in the MPI."""
    mpi = MPIS[name].require()
    program = mpi.compile(PROGRAMS / "program.c", tmp_path / "program")
    tool = mpi.compile(PROGRAMS / "tool.c", tmp_path / "libtool.so", "-shared", "-fPIC")
    libraries = [str(tool), str(probe[mpi.family])]
    if order == "tool last":
        libraries.reverse()
    plain = mpi.run(2, [str(program)])
    done = mpi.run(2, [str(program)], rank_env={"LD_PRELOAD": ":".join(libraries)})
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    # who stands first sees the call, and its PMPI_Allreduce is the MPI's
    assert counts(done.stderr)["allreduce"] == (0 if order == "tool first" else 24)
    assert ("tool: allreduce 24" in done.stderr) == (order == "tool first")


@pytest.mark.parametrize(
    ("name", "language"),
    [("openmpi4", "C"), ("openmpi4", "mpi_f08"), ("mpich", "C"), ("intel-abi", "C")],
)
def test_recorder_before_interposer(name: str, language: str, tmp_path: Path) -> None:
    """Both at once, as `stretto profile` of a tuned run has them: each sees the calls once."""
    mpi = ALL[name].require()
    if language == "C":
        program = mpi.compile(PROGRAMS / "program.c", tmp_path / "program")
    else:
        program = mpi.fortran(PROGRAMS / DIALECTS[language], tmp_path / "program", language)
    plain = mpi.run(2, [str(program)])
    raw = tmp_path / "raw"
    raw.mkdir()
    family = "openmpi4" if name == "openmpi4" else mpi.family
    preload = f"{library(family, 'record')}:{library(mpi.family)}"
    environment = ACT | {"LD_PRELOAD": preload, "STRETTO_PROFILE_DIR": str(raw)}
    done = mpi.run(2, [str(program)], rank_env=environment)
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    assert re.search(r"stretto.*allreduce.*shm", done.stderr), done.stderr
    assert len(list(raw.iterdir())) == 2
