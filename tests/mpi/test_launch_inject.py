"""What real launchers make of words and environment on every rank."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from mpis import MPIS, beside_others, missing
from stretto.errors import StrettoError
from stretto.launch.ask import BROKEN_PIPE
from stretto.launch.execute import run
from stretto.launch.inject import prepare
from stretto.launch.job import understand
from stretto.launch.layout import JobLayout
from test_launch_variables import CHOICE, SENT

#: it does not end at once: Hydra's mpiexec may get a SIGPIPE from a proxy that has
SHOW = """#!/bin/sh
echo "$1: $LD_PRELOAD | $STRETTO_CHOICE | $MINE"
sleep 2
"""


@pytest.mark.mpi
@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("how", ["plain", "two", "users", "script"])
def test_every_rank_gets_it(
    name: str, how: str, tmp_path: Path, stand_ins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real launchers: ranks have library and settings, and the launcher is not preloaded."""
    mpi = MPIS[name].require()
    lib = stand_ins / f"libstretto-{mpi.family}.so"
    show = tmp_path / "show.sh"
    show.write_text(SHOW)
    show.chmod(stat.S_IRWXU)
    launcher = mpi.launcher(1)[:-2]
    log = tmp_path / "loaded"
    extra = ["-x", "MINE=1"] if mpi.family == "openmpi" else ["-genv", "MINE", "1"]
    words = [*launcher, "-n", "2", str(show), "a"]
    if how == "two":
        words = [*launcher, "-n", "1", str(show), "a", ":", "-n", "1", str(show), "a"]
    elif how == "users":
        words = [*launcher, *extra, "-n", "2", str(show), "a"]
    elif how == "script":
        script = tmp_path / "job.sh"
        script.write_text("#!/bin/sh\n" + " ".join([*launcher, *extra, "-n", "2", str(show), "a"]))
        script.chmod(stat.S_IRWXU)
        words = [str(script)]
    environ = mpi.environment | {"STRETTO_TEST_LOADED": str(log)}
    found = understand(words, environ=environ, cwd=tmp_path)
    argv, env = prepare(found, [lib], CHOICE)
    for _ in range(3):
        with beside_others():
            result = run(argv, env, tmp_path, timeout=300, capture="yes")
        if result.status not in BROKEN_PIPE:
            break
    assert result.status == 0, result.stderr
    mine = "1" if how in ("users", "script") else ""
    expected = f"a: {lib} | {SENT['STRETTO_CHOICE']} | {mine}"
    assert result.stdout.splitlines() == [expected] * 2
    loaded = set(log.read_text().split())
    assert "sh" in loaded or "show.sh" in loaded
    if how != "script":
        assert not {n for n in loaded if n.startswith(("mpi", "orte", "prte", "hydra"))}


PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("%d of %d\\n", rank, size);
    MPI_Finalize();
    return argc > 1;
}
"""


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An MPI program for each MPI that is here."""
    base = tmp_path_factory.mktemp("programs")
    (base / "program.c").write_text(PROGRAM)
    return {
        name: mpi.compile(base / "program.c", base / f"program-{name}")
        for name, mpi in MPIS.items()
        if mpi.libmpi.exists() and mpi.include.is_dir()
    }


@pytest.mark.mpi
@pytest.mark.parametrize("name", MPIS)
def test_family_of_launcher_and_program(name: str, programs: dict[str, Path]) -> None:
    mpi = MPIS[name].require()
    for other, program in programs.items():
        words = [*mpi.launcher(2), str(program)]
        if MPIS[other].family != mpi.family:
            with pytest.raises(StrettoError, match="but the program uses") as caught:
                understand(words, environ=mpi.environment)
            assert str(program) in str(caught.value.place)
            continue
        found = understand(words, environ=mpi.environment)
        assert found.mpi.abi == mpi.family
        assert (found.layout.nranks, found.layout.nodes, found.layout.ppn) == (2, 1, 2)
        if other == name:
            assert found.notes == ()
            assert found.mpi.libmpi is not None
            assert found.mpi.libmpi.resolve() == mpi.libmpi.resolve()


@pytest.mark.mpi
@pytest.mark.parametrize("name", MPIS)
def test_program_without_launcher(name: str, programs: dict[str, Path]) -> None:
    mpi = MPIS[name].require()
    found = understand([str(programs[name]), "x"], environ=mpi.environment)
    assert found.mpi.version and found.mpi.family == name.rstrip("45")
    assert found.layout == JobLayout(1, 1, 1)
    assert found.mpi.launcher is not None


@pytest.mark.mpi
def test_mpi4py(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    import sys

    mpi = MPIS["openmpi4"].require()
    script = tmp_path / "s.py"
    script.write_text("from mpi4py import MPI\nprint(MPI.COMM_WORLD.size)\n")
    for words in ([sys.executable, str(script)], [sys.executable, "-c", "import mpi4py.MPI"]):
        found = understand([*mpi.launcher(2), *words], environ=mpi.environment, cwd=tmp_path)
        assert found.notes == ()
        assert found.mpi.family == "openmpi"


@pytest.mark.mpi
def test_standard_abi(tmp_path: Path) -> None:
    from mpis import STANDARD_ABI

    mpi = STANDARD_ABI["mpich-abi"].require()
    (tmp_path / "p.c").write_text(PROGRAM)
    program = mpi.compile(tmp_path / "p.c", tmp_path / "p")
    found = understand([*mpi.launcher(2), str(program)], environ=mpi.environment)
    assert (found.mpi.family, found.mpi.abi) == ("mpich", "mpi5")


@pytest.mark.mpi
def test_a_library_that_is_not_found(tmp_path: Path, programs: dict[str, Path]) -> None:
    """A program that does not know its library's path: it is added, and that is said."""
    name = next((n for n in ("mpich", "intel") if n in programs), None)
    if name is None:
        missing("no MPI in a prefix of its own is here")
        return
    mpi = MPIS[name]
    (tmp_path / "p.c").write_text(PROGRAM)
    program = tmp_path / "p"
    argv = ["gcc", f"-I{mpi.include}", "p.c", "-o", "p", str(mpi.libmpi)]
    link = run([*argv, "-Wl,--allow-shlib-undefined"], os.environ, tmp_path, capture="yes")
    assert link.status == 0, link.stderr
    environ = {k: v for k, v in mpi.environment.items() if k != "LD_LIBRARY_PATH"}
    found = understand([*mpi.launcher(2), str(program)], environ=environ)
    assert found.library_path and "library path" in found.notes[0]
    words, env = prepare(found, [], {})
    with beside_others():
        result = run(words, env, tmp_path, timeout=300, capture="yes")
    assert sorted(result.stdout.split("\n")) == ["", "0 of 2", "1 of 2"], json.dumps(result.stderr)
