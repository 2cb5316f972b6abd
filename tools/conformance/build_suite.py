#!/usr/bin/env python3
"""Builds the C programs of MPICH's test suite (its test/mpi folder) against one MPI.

    python tools/conformance/build_suite.py SUITE BUILT --mpi openmpi4 [--folders coll,topo]

SUITE is the unpacked test/mpi; nothing in it is changed and nothing of it becomes part of this
repository. Each program goes to BUILT/FOLDER, its testlist beside it; the programs that can run in
one job become BUILT/run_mpitests, which suite.py --together drives. A program that does not compile
(the MPI lacks a function) is counted and named.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from mpis import MPIS, Mpi

FOLDERS = (
    "coll,comm,topo,attr,errhan,group,init,session,threads/coll,threads/comm,threads/init,pt2pt"
)
#: what the suite's configure would find on a current Linux
HAVE = """
#define USE_STRICT_MPI 1
#define ENABLE_STRICTMPI 1
#define HAVE_STDARG_H 1
#define HAVE_STRING_H 1
#define HAVE_UNISTD_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_GETRUSAGE 1
#define HAVE_ATOMIC 1
#define HAVE_LONG_LONG 1
#define HAVE_LONG_LONG_INT 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_MPI_IO 1
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
"""
COMMON = ("util/mtest.c", "util/mtest_common.c", "util/dtypes.c")


@dataclass(frozen=True)
class Program:
    """One program: its folder, name, sources and definitions."""

    folder: str
    name: str
    sources: tuple[str, ...]
    options: tuple[str, ...]


def programs(suite: Path, folder: str) -> list[Program]:
    """Return what a folder's Makefile.am builds."""
    text = (suite / folder / "Makefile.am").read_text().replace("\\\n", " ")
    names = " ".join(re.findall(r"^\s*noinst_PROGRAMS\s*\+?=(.*)$", text, re.M)).split()
    named = {m[1]: m[2].split() for m in re.finditer(r"^(\w+)_SOURCES\s*=(.*)$", text, re.M)}
    flags = {m[1]: m[2].split() for m in re.finditer(r"^(\w+)_CPPFLAGS\s*=(.*)$", text, re.M)}
    found = []
    for name in dict.fromkeys(n for n in names if re.fullmatch(r"\w+", n)):
        sources = tuple(f"{folder}/{s}" for s in named.get(name, [f"{name}.c"]))
        options = tuple(word for word in flags.get(name, []) if word.startswith("-D"))
        if all((suite / s).exists() for s in sources):
            found.append(Program(folder, name, sources, options))
    return found


class Builder:
    """Compiles for one MPI."""

    def __init__(self, suite: Path, built: Path, mpi: Mpi):
        self.suite, self.built, self.mpi = suite, built, mpi
        include = built / "include"
        include.mkdir(parents=True, exist_ok=True)
        (include / "mpitestconf.h").write_text(HAVE)
        (include / "mtest_mpix.h").write_text("")
        (built / "dtpoolsconf.h").write_text(HAVE.split("#define THREAD")[0])
        self.words = [f"-I{p}" for p in (include, suite / "include", suite / "dtpools" / "include")]
        self.words += ["-O1", "-Werror=implicit-function-declaration", "-pthread"]

    def object(self, source: str, *options: str, name: str = "") -> Path:
        """Compile one source file of the suite."""
        path = self.built / "objects" / (name or source.replace("/", "-") + ".o")
        path.parent.mkdir(exist_ok=True)
        argv = ["gcc", f"-I{self.mpi.include}", *self.words, *options, "-c"]
        self._call([*argv, str(self.suite / source), "-o", str(path)])
        return path

    def link(self, objects: list[Path], program: Path) -> None:
        """Link a program."""
        folder = self.mpi.libmpi.parent
        words = [] if self.mpi.prefix == Path("/usr") else [f"-Wl,-rpath,{folder}"]
        words += [str(self.mpi.libmpi), "-Wl,--allow-shlib-undefined", "-pthread", "-lm"]
        self._call(["gcc", *map(str, objects), *words, "-o", str(program)])

    def _call(self, argv: list[str]) -> None:
        done = subprocess.run(
            argv, env=self.mpi.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            lines = [w for w in done.stderr.splitlines() if "error" in w or "undefined" in w]
            raise RuntimeError((lines or [done.stderr[-200:]])[0])


def build(make: Builder, parts: dict[str, list[Path]], program: Program) -> str:
    """Build one program; return why not, or nothing."""
    threads = program.folder.startswith("threads")
    with tempfile.TemporaryDirectory(dir=make.built) as folder:
        try:
            options = [*program.options, *(["-DMTEST_USE_THREAD"] if threads else [])]
            objects = [
                make.object(s, *options, name=f"../{Path(folder).name}/{i}.o")
                for i, s in enumerate(program.sources)
            ]
            text = "".join((make.suite / s).read_text(errors="replace") for s in program.sources)
            main = [] if re.search(r"\bmain\s*\(", text) else parts["main"]
            target = make.built / program.folder / program.name
            target.parent.mkdir(parents=True, exist_ok=True)
            make.link([*objects, *main, *parts["threads" if threads else "single"]], target)
        except RuntimeError as error:
            return f"{program.folder}/{program.name}: {error}"
    return ""


def together(make: Builder, parts: dict[str, list[Path]], names: list[str]) -> int:
    """Build the program that runs many in one job; return how many."""
    found, objects = [], []
    for name in names:
        try:
            objects.append(make.object(f"{name}.c", "-DMULTI_TESTS"))
        except RuntimeError:
            continue
        found.append(name)
    functions = [name.replace("/", "_") for name in found]
    table = make.built / "all_mpitests.c"
    table.write_text(
        '#include "mpitest.h"\n'
        + "".join(f"int {f}(const char *);\n" for f in functions)
        + "struct mpitest alltests[] = {\n"
        + "".join(f'    {{"{n}", {f}}},\n' for n, f in zip(found, functions, strict=True))
        + "    {NULL, NULL}};\n"
    )
    objects += [make.object(str(table), "-DMULTI_TESTS", name="all.o")]
    objects += [make.object("util/run_mpitests.c", "-DMULTI_TESTS", name="together.o")]
    make.link([*objects, *parts["single"]], make.built / "run_mpitests")
    (make.built / "together").write_text("".join(f"{name}\n" for name in found))
    return len(found)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", type=Path, help="the suite's test/mpi")
    parser.add_argument("built", type=Path, help="where the programs go; outside this repository")
    parser.add_argument("--mpi", choices=sorted(MPIS), required=True)
    parser.add_argument("--folders", default=FOLDERS)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    suite, mpi = options.suite.resolve(), MPIS[options.mpi].require()
    make = Builder(suite, options.built.resolve(), mpi)
    common = [make.object(s) for s in COMMON]
    common += [make.object(str(s)) for s in sorted((suite / "dtpools" / "src").glob("*.c"))]
    threaded = make.object("util/mtest_thread.c")
    threads = [make.object(COMMON[0], "-DMTEST_USE_THREAD", name="threads.o"), threaded]
    parts = {
        "main": [make.object("util/run_mpitests.c")],
        "single": [*common, make.object("util/mtest_single.c")],
        "threads": [*threads, *common[1:]],
    }
    wanted = [p for folder in options.folders.split(",") for p in programs(suite, folder)]
    with ThreadPoolExecutor(options.jobs) as pool:
        missing = [why for why in pool.map(lambda p: build(make, parts, p), wanted) if why]
    for folder in options.folders.split(","):
        lists = [suite / folder / name for name in ("testlist.in", "testlist")]
        for path in [p for p in lists if p.exists() and (make.built / folder).is_dir()][:1]:
            shutil.copy(path, make.built / folder / "testlist")
    lines = (suite / "maint" / "all_mpitests.txt").read_text().splitlines()
    names = [w[0] for w in (line.split("#")[0].split() for line in lines) if w and "/" in w[0]]
    count = together(make, parts, names)
    print("".join(f"not built: {why}\n" for why in missing), end="")
    print(
        f"{mpi.name}: {len(wanted) - len(missing)} of {len(wanted)} programs built, "
        f"{count} of them also for one job"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
