"""Real applications as the distribution ships them: the same results with Stretto, bit for bit.

Native runs are compared with each other first: where an application is not reproducible by itself,
a difference would say nothing of Stretto.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, beside_others, have, library, rarely
from processes import run_program

pytestmark = [pytest.mark.apps, pytest.mark.mpi]

#: every collective that can go through the node's shared memory does
SHM = ";".join(f"{c}=shm" for c in ("allreduce", "bcast", "reduce", "allgather", "barrier"))


def run(argv: list[str], cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run an application; returns its standard output. Where Stretto is preloaded it must act."""
    environment = MPIS["openmpi4"].require().environment | {
        "OMP_NUM_THREADS": "1",
        "USER": "stretto",
    }
    with beside_others():
        done = run_program(argv, cwd=cwd, env=environment | dict(env or {}), timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    if any(word.startswith("STRETTO_VERBOSE") for word in argv):
        assert re.search(r"stretto.*allreduce.*shm", done.stderr), done.stderr[-3000:]
    return done.stdout


def launcher(ranks: int, *, stretto: bool) -> list[str]:
    words = ["/usr/bin/mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none"]
    if stretto:
        words += ["-x", f"LD_PRELOAD={library('openmpi')}", "-x", f"STRETTO_CHOICE={SHM}"]
        words += ["-x", "STRETTO_VERBOSE=1"]
    return words


def example(name: str, script: str) -> str:
    return str(REPOSITORY / "examples" / name / script)


def icofoam(case: Path, ranks: int, *, stretto: bool) -> str:
    """Run icoFoam; returns what it solved: its log without times, process ids and dates."""
    env = {"WM_PROJECT_DIR": "/usr/share/openfoam", "WM_PROJECT": "OpenFOAM"}
    return icofoam_log(run([*launcher(ranks, stretto=stretto), "icoFoam", "-parallel"], case, env))


def icofoam_log(log: str) -> str:
    """Return what a run solved: its log without times, process ids, hosts and dates."""
    assert "\nEnd\n" in log
    varying = re.compile(r"^(Date|Time|Host|PID|Case|Build) +:|^ExecutionTime|^stretto")
    kept = [line for line in log.splitlines() if not varying.match(line)]
    assert sum("Solving for p" in line for line in kept) >= 2
    return "\n".join(kept)


def fields(case: Path) -> dict[str, bytes]:
    """Return the solution's files of the last time step, by name."""
    found = {}
    for directory in sorted(case.glob("processor*")):
        times = [d for d in directory.iterdir() if re.fullmatch(r"[0-9.]+", d.name)]
        last = max(times, key=lambda d: float(d.name))
        assert float(last.name) > 0
        for path in sorted(p for p in last.rglob("*") if p.is_file()):
            found[str(path.relative_to(case))] = path.read_bytes()
    return found


@pytest.mark.parametrize("ranks", rarely([2, 4], [2]))
def test_openfoam_is_bit_for_bit_the_same(tmp_path: Path, ranks: int) -> None:
    have("icoFoam", "openfoam openfoam-examples")
    case = tmp_path / "cavity"
    run([example("openfoam", "prepare.sh"), str(case), str(ranks), "30"], tmp_path)
    native = icofoam(case, ranks, stretto=False)
    solution = fields(case)
    assert icofoam(case, ranks, stretto=False) == native
    assert fields(case) == solution
    tuned = icofoam(case, ranks, stretto=True)
    if ranks == 2:
        assert tuned == native
        assert fields(case) == solution
    else:
        # With more than two ranks the order of a sum is the algorithm's: the last bits may differ,
        # what the solver does may not.
        def counts(log: str) -> list[int]:
            return [int(n) for n in re.findall(r"No Iterations (\d+)", log)]

        assert len(counts(tuned)) == len(counts(native))
        assert all(abs(a - b) <= 2 for a, b in zip(counts(tuned), counts(native), strict=True))
        assert icofoam(case, ranks, stretto=True) == tuned  # and it is reproducible


def code_saturne(case: Path, ranks: int, *, stretto: bool) -> tuple[str, str]:
    """Run the solver; returns its residuals, and the field ranges from its log."""
    solver = ["/usr/lib/code_saturne/cs_solver", "--mpi"]
    for name in ("residuals.csv", "run_solver.log"):
        (case / name).unlink(missing_ok=True)
    shutil.rmtree(case / "checkpoint", ignore_errors=True)
    run([*launcher(ranks, stretto=stretto), *solver], case)
    log = (case / "run_solver.log").read_text(errors="replace")
    assert "END OF CALCULATION" in log
    ranges = "\n".join(line for line in log.splitlines() if line.startswith("v  "))
    residuals = (case / "residuals.csv").read_text()
    assert len(residuals.splitlines()) == 11 and ranges
    return residuals, ranges


@pytest.mark.parametrize("ranks", rarely([2, 4], [2]))
def test_code_saturne_is_bit_for_bit_the_same(tmp_path: Path, ranks: int) -> None:
    have("/usr/lib/code_saturne/cs_solver", "code-saturne code-saturne-doc")
    case = tmp_path / "cube"
    run([example("code_saturne", "prepare.sh"), str(case), "10", "12"], tmp_path)
    native = code_saturne(case, ranks, stretto=False)
    assert code_saturne(case, ranks, stretto=False) == native
    tuned = code_saturne(case, ranks, stretto=True)
    if ranks == 2:
        assert tuned == native
    else:
        pairs = zip(native[0].splitlines()[1:], tuned[0].splitlines()[1:], strict=True)
        for before, after in pairs:
            a, b = ([float(x) for x in line.split(",")] for line in (before, after))
            assert b == pytest.approx(a, rel=1e-3)
        assert code_saturne(case, ranks, stretto=True) == tuned


def test_code_saturne_benchmark_runs(tmp_path: Path) -> None:
    have("/usr/lib/code_saturne/cs_solver", "code-saturne code-saturne-doc")
    case = tmp_path / "cube"
    run([example("code_saturne", "prepare.sh"), str(case), "1", "8"], tmp_path)
    solver = ["/usr/lib/code_saturne/cs_solver", "--benchmark", "--mpitrace", "--mpi"]
    run([*launcher(2, stretto=True), *solver], case)
    log = (case / "run_solver.log").read_text(errors="replace")
    assert "Destroying structures and ending computation" in log


@pytest.mark.parametrize("name", ["openfoam", "code_saturne"])
def test_examples_run_as_documented(tmp_path: Path, name: str) -> None:
    have("icoFoam", "openfoam openfoam-examples")
    have("/usr/lib/code_saturne/cs_solver", "code-saturne code-saturne-doc")
    short = ["-s", "10"] if name == "openfoam" else ["-i", "2", "-c", "8"]
    out = run([example(name, "run.sh"), *short, "-d", str(tmp_path / "case"), "native"], tmp_path)
    assert re.search(r"(ExecutionTime|Elapsed time)", out)


@pytest.mark.parametrize("name", ["openfoam", "code_saturne"])
def test_examples_refuse_an_unknown_mode(tmp_path: Path, name: str) -> None:
    have("icoFoam", "openfoam openfoam-examples")
    short = ["-s", "1"] if name == "openfoam" else ["-i", "1", "-c", "4"]
    argv = [example(name, "run.sh"), *short, "-d", str(tmp_path / "case"), "fast"]
    done = run_program(argv, timeout=300)
    assert done.returncode == 2 and "give native, tune or run" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "package", "script", "result"),
    [
        ("lmp", "lammps", "lammps/melt.in", r"^ +\d+ +\S+ +\S+ +0 +\S+ +\S+ *$"),
        ("pw.x", "quantum-espresso quantum-espresso-data", "pw/si.in",
         r"^!? +(?:total energy|estimated scf accuracy) .*"),
    ],
)  # fmt: skip
def test_application_prints_the_same_numbers(
    program: str, package: str, script: str, result: str, tmp_path: Path
) -> None:
    have(program, package)
    words = [program, "-in", str(REPOSITORY / "examples" / script)]

    def numbers(*, stretto: bool) -> list[str]:
        log = run([*launcher(2, stretto=stretto), *words], tmp_path)
        return re.findall(result, log, re.MULTILINE)

    native = numbers(stretto=False)
    assert len(native) >= 8 and native == numbers(stretto=False)
    assert numbers(stretto=True) == native
