"""What Open MPI's HAN and its other components really do when a candidate chooses them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import clusters
from clusters import testbed
from mpis import MPIS, Mpi, beside_others
from processes import run_program
from stretto.export.rules import Rule
from stretto.export.targets import Wishes, writer_for
from stretto.files.layout import RankLayout
from stretto.mpi import from_launcher
from stretto.mpi.algorithms import NativeAlgorithm, discover
from stretto.mpi.variables import Variable, control_variables

OPENMPI = [name for name in MPIS if name.startswith("openmpi")]
NODES, PPN, COUNT = 2, 2, 50000

#: bcast, allreduce and reduce four times, and what is wrong in their results
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size, count = argc > 1 ? atoi(argv[1]) : 1000;
    double wrong = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *a = malloc(sizeof(double) * count), *b = malloc(sizeof(double) * count);
    double ranks = size * (size - 1) / 2;
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < count; i++)
            a[i] = rank == 0 ? i + k : -1;
        MPI_Bcast(a, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++)
            wrong += a[i] != i + k;
        for (int i = 0; i < count; i++)
            a[i] = rank + i;
        MPI_Allreduce(a, b, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++)
            wrong += b[i] != (double)size * i + ranks;
        for (int i = 0; i < count; i++)
            b[i] = -1;
        MPI_Reduce(a, b, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        for (int i = 0; rank == 0 && i < count; i++)
            wrong += b[i] != (double)size * i + ranks;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Reduce(&wrong, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("wrong: %g\n", all);
    MPI_Finalize();
    return 0;
}
"""


nodes = clusters.nodes_of(NODES)


def built(mpi: Mpi, directory: Path) -> Path:
    source, path = directory / "collectives.c", directory / f"collectives-{mpi.name}"
    source.write_text(PROGRAM)
    return path if path.exists() else mpi.compile(source, path)


def algorithms(name: str) -> list[NativeAlgorithm]:
    mpi = MPIS[name].require()
    return discover(from_launcher(Path(mpi.launcher(1)[0]), mpi.environment))


def variables(name: str) -> dict[str, Variable]:
    mpi = MPIS[name].require()
    return control_variables(from_launcher(Path(mpi.launcher(1)[0]), mpi.environment))


def environment(algorithm: NativeAlgorithm) -> dict[str, str]:
    return {f"OMPI_MCA_{name}": value for name, value in algorithm.settings}


def of(name: str, component: str) -> list[NativeAlgorithm]:
    return [a for a in algorithms(name) if a.component == component]


@pytest.mark.mpi
@pytest.mark.parametrize("name", OPENMPI)
@pytest.mark.parametrize("component", ["adapt", "basic", "sm"])
def test_a_component_by_priority_is_the_one_that_is_used(
    name: str, component: str, tmp_path: Path
) -> None:
    """Open MPI lists what a communicator has, the last of the list first in turn."""
    mpi = MPIS[name].require()
    mine = of(name, component)
    assert {a.candidate for a in mine} == {f"native:coll_{component}_priority=100"}
    odd = [a.having({p.name: p.values[-1] for p in a.parameters}) for a in mine if a.parameters]
    for algorithm in (mine[0], *odd):
        env = {"OMPI_MCA_coll_base_verbose": "10"} | environment(algorithm)
        done = mpi.run(3, [str(built(mpi, tmp_path)), "5000"], env=env, timeout=200)
        assert done.returncode == 0 and "wrong: 0" in done.stdout, done.stderr[-2000:]
        said = done.stdout + done.stderr
        assert re.search(rf"selecting +{component}, priority 100, Enabled", said), algorithm


def test_what_a_component_has_fits_where_it_runs() -> None:
    for name in OPENMPI:
        (sm,) = (a for a in of(name, "sm") if a.collective == "bcast")
        assert sm.fits(4, 1) and not sm.fits(4, 2), "its memory is that of one node"
        (adapt,) = (a for a in of(name, "adapt") if a.collective == "reduce")
        assert adapt.fits(4, 1) and adapt.fits(4, 4)
        offered = {a.collective for a in algorithms(name) if a.component in ("sm", "basic")}
        assert offered == {"allreduce", "barrier", "bcast", "reduce"}
        assert {a.collective for a in of(name, "adapt")} == {"bcast", "reduce"}
        # one rank a node: HAN hands all on, so that its name would stand for another's time
        assert all(a.fits(4, 2) and not a.fits(4, 4) and not a.fits(4, 1) for a in of(name, "han"))
        assert not {"libnbc", "ftagree", "self", "inter"} & {a.component for a in algorithms(name)}


@pytest.mark.parametrize("name", OPENMPI)
def test_han_has_its_levels_and_segments_where_they_are_looked_at(name: str) -> None:
    mpi_says = variables(name)
    own = {a.collective: a for a in of(name, "han") if a.name in ("levels", "intra")}
    assert set(own) == {"allgather", "allreduce", "bcast", "gather", "reduce", "scatter"}
    for collective, algorithm in own.items():
        assert algorithm.candidate == "native:coll_han_priority=100", "one launch for all"
        takes = {p.name: p for p in algorithm.parameters}
        if collective not in ("allreduce", "bcast", "reduce"):
            assert takes == {}
            continue
        assert {n: p.variable for n, p in takes.items()} == {
            "up": f"coll_han_{collective}_up_module",
            "low": f"coll_han_{collective}_low_module",
            "segment": f"coll_han_{collective}_segsize",
        }
        # the numbers of the MPI's own help: 0 libnbc, 1 adapt; 0 tuned, 1 sm
        for level, module in (("up", "adapt"), ("low", "sm")):
            (number,) = takes[level].values
            assert f"{number} {module}" in mpi_says[takes[level].variable].help
    simple = {a.collective: a for a in of(name, "han") if a.name == "simple"}
    assert set(own) <= set(simple) and ("barrier" in simple) == (name != "openmpi4")
    for collective, algorithm in simple.items():
        for p in algorithm.parameters:
            assert p.variable in mpi_says and p.variable.split("_")[2] == collective
        if collective != "reduce":
            (up,) = algorithm.parameters
            modules = [m for v in up.values for m in re.findall(rf"\b{v} = (\w+)", _help(name, up))]
            assert modules == ["basic", "tuned"]


def _help(name: str, parameter: object) -> str:
    return variables(name)[parameter.variable].help  # type: ignore[attr-defined]


def messages(
    nodes: testbed.Cluster, name: str, algorithm: NativeAlgorithm
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Bytes and messages inside nodes, and between them, by Open MPI's monitoring."""
    mpi = MPIS[name].require()
    env = clusters.environment(nodes, name) | environment(algorithm)
    profile = nodes.shared / f"sent-{name}"
    for old in nodes.shared.glob(f"{profile.name}.*"):
        old.unlink()
    env |= {"OMPI_MCA_pml": "ob1,monitoring", "OMPI_MCA_pml_monitoring_enable": "1"}
    env |= {"OMPI_MCA_pml_monitoring_enable_output": "3"}
    env["OMPI_MCA_pml_monitoring_filename"] = str(profile)
    words = clusters.launcher(nodes, name, NODES, PPN)
    for variable in env:
        if variable.startswith("OMPI_MCA_"):
            words += ["-x", variable]
    with beside_others():
        done = run_program(
            [*words, str(built(mpi, nodes.shared)), str(COUNT)],
            env=env,
            cwd=nodes.shared,
            timeout=300,
        )
    assert "wrong: 0" in done.stdout, (algorithm.label, done.stderr[-2000:])
    sums = [[0, 0], [0, 0]]
    for path in nodes.shared.glob(f"{profile.name}.*.prof"):
        for line in path.read_text().splitlines():
            found = re.match(r"[EI]\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs", line)
            if found:
                source, target, size, count = map(int, found.groups())
                between = source // PPN != target // PPN
                sums[between][0] += size
                sums[between][1] += count
    (inside, across) = sums
    return (inside[0], inside[1]), (across[0], across[1])


@pytest.mark.root
@pytest.mark.mpi
def test_hans_parameters_take_effect(nodes: testbed.Cluster) -> None:
    """Counted on two nodes of two ranks: each does what it says, and results stay right."""
    name = "openmpi5"
    (bcast,) = (a for a in of(name, "han") if (a.collective, a.name) == ("bcast", "intra"))
    inside, across = messages(nodes, name, bcast)
    small, large = (
        messages(nodes, name, bcast.having({"segment": size}))[1] for size in ("16384", "1048576")
    )
    assert small[1] > across[1] > large[1], "segments between nodes, and their number"
    assert small[0] == across[0] == large[0], "of the same data"
    data = COUNT * 8
    for collective, item in (("bcast", "intra"), ("allreduce", "intra"), ("reduce", "intra")):
        (one,) = (a for a in of(name, "han") if (a.collective, a.name) == (collective, item))
        in_memory = messages(nodes, name, one.having({"up": "1", "low": "1"}))[0]
        assert in_memory[0] < inside[0] - data, f"{collective}: sm inside the nodes"


def test_what_files_of_rules_have_no_words_for_is_not_said() -> None:
    """A row for HAN's module or segment, or for another component, would say something else."""
    layout = RankLayout(NODES, PPN, NODES * PPN)
    said = set()
    for name in OPENMPI:
        reason = writer_for("openmpi-5", "5.0.11", None, Wishes(plain_calls=True)).reason
        for algorithm in algorithms(name):
            if algorithm.component not in ("han", "sm", "adapt", "basic"):
                continue
            for one in algorithm.variations():
                if reason(Rule(one.collective, layout, 0, None, one.settings)) is None:
                    said.add((algorithm.component, algorithm.name, one.chosen))
    assert said == {("han", n, ()) for n in ("levels", "intra", "simple", "reproducible")}
