"""Finding the MPIs that are here: launchers and libraries asked, places searched."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mpis import MPIS, beside_others, have
from processes import run_program, script
from stretto import mpi
from stretto.errors import StrettoError
from stretto.launch.execute import run
from stretto.launch.job import understand
from stretto.mpi.elf import read_dynamic
from stretto.mpi.variables import control_variables
from test_mpi_asked import srun
from test_mpi_known import INT


def test_elf_reader_agrees_with_readelf() -> None:
    readelf = have("readelf", "binutils")
    names = [Path(sys.executable).resolve(), Path(shutil.which("ls") or "/bin/ls").resolve()]
    names += [m.libmpi.resolve() for m in MPIS.values() if m.libmpi.exists()]
    for path in names:
        done = run_program([readelf, "-dW", str(path)], check=True)
        wanted = [
            x.split("[")[1].split("]")[0] for x in done.stdout.splitlines() if "(NEEDED)" in x
        ]
        found = read_dynamic(path)
        assert found is not None
        assert list(found.needed) == wanted
        run_path = [x for x in done.stdout.splitlines() if "(RUNPATH)" in x or "(RPATH)" in x]
        text = run_path[0].split("[")[1].split("]")[0].split(":") if run_path else []
        assert list(found.runpath or found.rpath) == text


@pytest.mark.mpi
@pytest.mark.parametrize("name", MPIS)
def test_installation_from_launcher_and_library(name: str) -> None:
    known = MPIS[name].require()
    launcher = Path(known.launcher(1)[0])
    found = mpi.from_launcher(launcher, known.environment)
    assert found.family == name.rstrip("45")
    assert found.libmpi is not None and found.libmpi.resolve() == known.libmpi.resolve()
    assert found.abi == known.family
    assert found.major == {"openmpi4": 4, "openmpi5": 5}.get(name, found.major)
    assert found.version in found.library
    by_library = mpi.from_library(known.libmpi, known.environment)
    assert by_library.identity == found.identity
    assert by_library.launcher is not None
    assert mpi.find_installation(str(launcher), known.environment).identity == found.identity
    if known.prefix != Path("/usr"):
        assert found.private
        by_prefix = mpi.find_installation(str(known.prefix), known.environment)
        assert by_prefix.identity == found.identity


@pytest.mark.mpi
def test_links_are_followed(tmp_path: Path) -> None:
    """As Debian's alternatives: a link to a link to the launcher."""
    known = MPIS["openmpi4"].require()
    (tmp_path / "first").symlink_to(known.launcher(1)[0])
    (tmp_path / "mpirun").symlink_to(tmp_path / "first")
    found = mpi.from_launcher(tmp_path / "mpirun", known.environment)
    assert found.libmpi is not None and found.libmpi.resolve() == known.libmpi.resolve()


@pytest.mark.mpi
@pytest.mark.parametrize("name", MPIS)
def test_launch(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own way of starting ranks, with nothing of the MPI in our environment."""
    known = MPIS[name].require()
    source = tmp_path / "p.c"
    source.write_text(
        "#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        "int main(int c, char **v) { int s; MPI_Init(&c, &v); MPI_Comm_size(MPI_COMM_WORLD, &s);"
        'printf("%d %s\\n", s, getenv("STRETTO_CHOICE")); MPI_Finalize(); return 0; }\n'
    )
    argv = ["gcc", f"-I{known.include}", str(source), "-o", str(tmp_path / "p")]
    link = [str(known.libmpi), "-Wl,--allow-shlib-undefined"]
    subprocess.run([*argv, *link], check=True)
    for variable in ("I_MPI_ROOT", "FI_PROVIDER_PATH", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("I_MPI_FABRICS", "shm")
    found = mpi.from_launcher(Path(known.launcher(1)[0]))
    words, environ = found.launch(
        2, [str(tmp_path / "p")], variables={"STRETTO_CHOICE": "a=b;c=d"}, oversubscribe=True
    )
    with beside_others():
        result = run(words, environ, timeout=100, capture="yes")
    assert result.status == 0, result.stderr
    assert result.stdout.replace(";", " ").splitlines() == ["2 a=b c=d"] * 2


@pytest.mark.mpi
def test_naming_the_mpi_gets_around_an_srun_without_configuration(tmp_path: Path) -> None:
    words = [str(srun(tmp_path)), "--mpi=pmix", "-n", "2", str(script(tmp_path / "app.sh", ":"))]
    with pytest.raises(StrettoError, match="no configured Slurm"):
        understand(words)
    known = MPIS["openmpi4"].require()
    job = understand(words, mpi=str(known.prefix))
    assert job.command.kind == "slurm" and job.layout.nranks == 2 and job.mpi.family == "openmpi"


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_open_mpi_tells_what_a_variable_holds(name: str) -> None:
    found = control_variables(mpi.find_installation(str(MPIS[name].require().prefix)))
    assert found["btl_tcp_if_include"].text and not found["btl_tcp_links"].text
    assert found["btl_tcp_links"].limits == (0, 2**32 - 1)
    assert found["btl_tcp_eager_limit"].limits == (0, 2**64 - 1)
    assert found["coll_tuned_allreduce_algorithm_segmentsize"].limits == INT
    assert found["btl_tcp_if_include"].limits is None
    assert found["mpi_yield_when_idle"].limits is None


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["mpich", "intel"])
def test_mpich_tells_what_a_variable_holds(name: str) -> None:
    found = control_variables(mpi.find_installation(str(MPIS[name].require().prefix)))
    assert {v.limits for v in found.values()} == {INT, None}
    assert all(v.limits is None for v in found.values() if v.text)
