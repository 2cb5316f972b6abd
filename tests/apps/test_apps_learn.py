"""Real applications under ``stretto learn``: the same results, and a report of what was learned."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mpis import MPIS, beside_others, have
from processes import run_program
from stretto.files.table import read_table
from test_apps import example, fields, icofoam_log

pytestmark = [pytest.mark.apps, pytest.mark.mpi, pytest.mark.long]

#: the words of its command, and what finds its results, given what it printed
Started = tuple[list[str], Callable[[str], object]]
Application = Callable[[Path, int], Started]

FOAM = {"WM_PROJECT_DIR": "/usr/share/openfoam", "WM_PROJECT": "OpenFOAM"}
PETSC = """
import sys
import petsc4py
petsc4py.init(sys.argv)
from petsc4py import PETSc
n = 60
A = PETSc.Mat().createAIJ([n * n, n * n], nnz=5)
for row in range(*A.getOwnershipRange()):
    i, j = divmod(row, n)
    A[row, row] = 4
    for other, inside in ((row - n, i), (row + n, i < n - 1), (row - 1, j), (row + 1, j < n - 1)):
        if inside:
            A[row, other] = -1
A.assemble()
b, x = A.createVecRight(), A.createVecRight()
b.set(1)
ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("cg")
ksp.getPC().setType("jacobi")
ksp.setTolerances(rtol=1e-10, max_it=2000)
for _ in range(40):
    x.set(0)
    ksp.solve(b, x)
PETSc.Sys.Print(f"iterations {ksp.getIterationNumber()} norm {x.norm():.15e}")
"""
MELT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 1
thermo_modify norm yes
run 1500
"""
SILICON = """
&control
  calculation = 'scf', pseudo_dir = '{pseudo}', outdir = './out', prefix = 'si', disk_io = 'none'
/
&system
  ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 24
/
&electrons
  conv_thr = 1e-9
/
ATOMIC_SPECIES
  Si 28.086 {file}
ATOMIC_POSITIONS alat
  Si 0.00 0.00 0.00
  Si 0.25 0.25 0.25
K_POINTS automatic
  4 4 4 1 1 1
"""


def run(argv: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    mpi = MPIS["openmpi4"].require()
    with beside_others():
        done = run_program(
            argv,
            cwd=cwd,
            env=mpi.environment | FOAM | {"OMP_NUM_THREADS": "1", "USER": "stretto"},
            timeout=600,
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done


def mpirun(ranks: int) -> list[str]:
    return ["/usr/bin/mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none"]


LEARN = [sys.executable, "-m", "stretto", "learn"]


def openfoam(folder: Path, ranks: int) -> Started:
    have("icoFoam", "openfoam openfoam-examples")
    run([example("openfoam", "prepare.sh"), str(folder), str(ranks), "200"], folder)
    return ["icoFoam", "-parallel"], lambda log: (icofoam_log(log), fields(folder))


def code_saturne(folder: Path, ranks: int) -> Started:
    solver = have("/usr/lib/code_saturne/cs_solver", "code-saturne code-saturne-doc")
    run([example("code_saturne", "prepare.sh"), str(folder), "20", "12"], folder)

    def result(log: str) -> str:
        """Return the residuals of all steps; the next run starts afresh."""
        shutil.rmtree(folder / "checkpoint", ignore_errors=True)
        residuals = (folder / "residuals.csv").read_text()
        (folder / "residuals.csv").unlink()
        assert len(residuals.splitlines()) == 21
        return residuals

    return [solver, "--mpi"], result


def lammps(folder: Path, ranks: int) -> Started:
    (folder / "in.lj").write_text(MELT)

    def result(log: str) -> str:
        """Return the thermodynamic lines."""
        found = re.search(r"^ *Step .*?(?=^Loop time)", log, re.M | re.S)
        assert found and len(found[0].splitlines()) > 1000, log
        return found[0]

    return [have("lmp", "lammps"), "-in", "in.lj"], result


def pw(folder: Path, ranks: int) -> Started:
    program = have("pw.x", "quantum-espresso quantum-espresso-data")
    pseudo = Path("/usr/share/espresso/pseudo/Si.pz-vbc.UPF")
    (folder / "scf.in").write_text(SILICON.format(pseudo=pseudo.parent, file=pseudo.name))

    def result(log: str) -> list[str]:
        """Return the energies of all iterations."""
        found = re.findall(r"total energy +=.*", log)
        assert len(found) > 3, log
        return found

    return [program, "-in", "scf.in"], result


def petsc(folder: Path, ranks: int) -> Started:
    python = "/usr/bin/python3"  # of the distribution, as its petsc4py
    found = sorted(Path("/usr/lib/petscdir").glob("*/*-real/lib/python3/dist-packages/petsc4py"))
    have(python if found else "petsc4py", "python3-petsc4py")
    (folder / "poisson.py").write_text(PETSC)
    words = ["env", f"PETSC_DIR={found[0].parents[3]}", python, "poisson.py"]
    return words, lambda log: re.findall(r"iterations .*", log)


@pytest.mark.parametrize("application", [openfoam, code_saturne, lammps, pw, petsc])
def test_application_that_learns_has_the_results_of_a_native_run(
    application: Application, tmp_path: Path
) -> None:
    """Two ranks: a sum has one order, so the results are the same to the last bit."""
    folder = tmp_path / "case"
    folder.mkdir()
    command, result = application(folder, 2)
    job = [*mpirun(2), *command]
    native = result(run(job, folder).stdout)
    assert native and result(run(job, folder).stdout) == native
    table = tmp_path / "learned.table"
    done = run([*LEARN, "--out", str(table), "--", *job], folder)
    assert result(done.stdout) == native
    assert re.search(r"learned: .* s saved in this run", done.stderr), done.stderr
    read_table(table)  # on a busy machine the calls may be too few to choose


def test_openfoam_that_learns_with_one_order_of_sums_repeats_its_results(tmp_path: Path) -> None:
    """Four ranks; the second run starts with the table of the first."""
    folder = tmp_path / "case"
    folder.mkdir()
    command, result = openfoam(folder, 4)
    results = []
    for _ in range(2):
        done = run([*LEARN, "--reproducible", "--", *mpirun(4), *command], folder)
        assert "learned" in done.stderr and "order of the sums" not in done.stderr, done.stderr
        results.append(result(done.stdout))
    assert results[0] == results[1]
