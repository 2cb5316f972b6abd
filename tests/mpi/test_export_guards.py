"""MPICH's files check nothing: what an algorithm cannot do stays the native selection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from exports import FIVE, FOUR, mpir, result_file
from mpis import MPIS, REPOSITORY
from stretto.cli import main
from stretto.export import mpich
from stretto.export.check import read
from stretto.export.mpich_leaves import guarded, needs_of, refusal
from stretto.export.mpich_tree import CH4, MPIR, POSIX, Tree, Trees, read_library
from stretto.export.output import Export, write
from stretto.export.rules import Rule
from stretto.files.export import EXPORT, NAME
from stretto.files.layout import RankLayout
from stretto.files.table import TUNABLE
from stretto.mpi import from_launcher
from stretto.mpi.algorithms import discover
from stretto.mpi.base import MPIInstallation

TWO_BY_TWO = RankLayout(2, 2, 4)
DOUBLING: Tree = {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}}
RABENSEIFNER: Tree = {"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather": {}}
#: as in MPICH 5.0
OWN: Tree = {
    "avg_msg_size<=8": DOUBLING,
    "avg_msg_size=any": {
        "is_op_built_in=no": DOUBLING,
        "is_op_built_in=yes": {"count<pow2": DOUBLING, "count=any": RABENSEIFNER},
    },
}


def test_what_an_algorithm_cannot_do_is_left_to_the_mpi() -> None:
    tree = {"comm_type=intra": OWN, "comm_type=inter": RABENSEIFNER}
    assert guarded(RABENSEIFNER, OWN, tree) == {
        "count<pow2": OWN,
        "count=any": {"is_op_built_in=yes": RABENSEIFNER, "is_op_built_in=no": OWN},
    }
    assert list(guarded(RABENSEIFNER, OWN, tree)) == ["count<pow2", "count=any"], "any is last"
    assert guarded(DOUBLING, OWN, tree) == DOUBLING, "it stands in other places, too"


def test_before_5_rows_of_one_rank_a_node_would_hold_between_nodes() -> None:
    """csel.c of 4.3 counts ranks a node on the parts of a communicator, too."""
    one, two, node = RankLayout(4, 1, 4), RankLayout(4, 2, 8), FOUR
    for version in ("4.3.2", "3.0"):
        assert "between nodes to all jobs" in str(mpich.reaches_parts(one, version))
        assert mpich.reaches_parts(two, version) is mpich.reaches_parts(node, version) is None
    assert mpich.reaches_parts(one, "5.0.2") is None


def test_nodes_on_which_rows_hold_and_nobody_measured_are_said() -> None:
    """The average of ranks a node is all that the trees know, rounded up."""
    rules = [
        Rule("bcast", x, 0, None, ()) for x in (RankLayout(4, 2, 8), RankLayout(4, 1, 4), FOUR)
    ]
    assert mpich.on_other_nodes(rules) == [
        "rows for 8 ranks apply to 4 to 7 nodes, but were measured on 4 x 2"
    ]
    assert mpich.on_other_nodes([Rule("bcast", RankLayout(2, 3, 5), 0, None, ())]) == []


#: what stands on every way to an algorithm in MPICH 5.0.2's own trees, or in its list
NEEDS = {
    (MPIR, "Reduce_scatter_intra_noncommutative"): {"is_block_regular=yes"},
    (MPIR, "Reduce_scatter_intra_pairwise"): {"is_block_regular=yes"},
    (MPIR, "Reduce_scatter_intra_recursive_doubling"): set(),
    (MPIR, "Allreduce_intra_reduce_scatter_allgather"): {"is_op_built_in=yes", "count=any"},
    (MPIR, "Allreduce_intra_k_reduce_scatter_allgather"): {"is_op_built_in=yes", "count=any"},
    (MPIR, "Reduce_intra_reduce_scatter_gather"): {"is_op_built_in=yes", "count=any"},
    (MPIR, "Allreduce_intra_smp"): {"comm_hierarchy=parent"},
    (MPIR, "Bcast_intra_smp"): {"comm_hierarchy=parent"},
    (MPIR, "Bcast_intra_scatter_recursive_doubling_allgather"): set(),
    (MPIR, "Scan_intra_smp"): {"is_node_consecutive=yes"},
    (MPIR, "Alltoallv_intra_pairwise_sendrecv_replace"): {"is_sendbuf_inplace=yes"},
    (POSIX, "mpi_allreduce_release_gather"): {"is_multi_threaded=no"},
    (CH4, "Reduce_intra_composition_alpha"): {"comm_hierarchy=parent"},
    (CH4, "Allreduce_intra_composition_gamma"): {"comm_size=node_comm_size"},
}


@pytest.mark.mpi
def test_the_librarys_own_trees_say_what_algorithms_need() -> None:
    library = read_library(MPIS["mpich"].require().libmpi)
    for (layer, name), needs in NEEDS.items():
        begin = "composition" if layer == CH4 else "algorithm"
        collective = name.removeprefix("mpi_").split("_intra_")[0].lower()
        collective = collective.removesuffix("_release_gather")
        tree = library.trees[layer][f"collective={collective}"]
        assert needs_of(f"{begin}={layer}{name}", tree) == needs, name


def test_what_a_layout_has_not_is_refused() -> None:
    leaf = "algorithm=MPIR_Allreduce_intra_smp"
    assert refusal(leaf, OWN, TWO_BY_TWO) is None
    for layout in (FOUR, RankLayout(4, 1, 4)):
        assert "several nodes with several ranks" in str(refusal(leaf, OWN, layout))
    leaf = "algorithm=MPIR_Alltoallv_intra_pairwise_sendrecv_replace"
    tree = {"is_sendbuf_inplace=yes": {leaf: {}}}
    assert refusal(leaf, tree, FOUR) == "pairwise_sendrecv_replace works in place only"
    leaf = "algorithm=MPIR_Reduce_scatter_intra_noncommutative"
    assert refusal(leaf, {}, FOUR) is None and "powers of two" in str(refusal(leaf, {}, FIVE))


def test_sizes_of_all_ranks_together_end_where_the_next_row_begins() -> None:
    """Blocks may be of several sizes."""
    ring = "algorithm=MPIR_Allgatherv_intra_ring"
    own: Tree = {"algorithm=MPIR_Allgatherv_intra_brucks": {}}
    tree: Tree = {"collective=allgatherv": {"comm_type=intra": own}}
    library = Trees({MPIR: tree, CH4: tree}, frozenset({ring}))
    three = RankLayout(1, 3, 3)

    def ends(high: int) -> list[str]:
        settings = (("MPIR_CVAR_ALLGATHERV_INTRA_ALGORITHM", "ring"),)
        rules = [Rule("allgatherv", three, 0, high, settings)]
        rules += [Rule("allgatherv", three, high + 1, None, ())]
        new = dict(library.trees)
        mpich.put_in("allgatherv", rules, library, {}, (None, None), new, Export())
        found = new[MPIR]["collective=allgatherv"]["comm_type=intra"]
        return list(found["comm_size<=3"]["comm_size=node_comm_size"])

    assert ends(1023) == ["total_msg_size<=3071", "total_msg_size=any"]


def test_fewer_ranks_on_a_node_are_left_to_the_mpi() -> None:
    """Four ranks on four nodes are not those on 2 x 2."""
    tree: Tree = {"collective=allreduce": {"comm_type=intra": OWN}}
    library = Trees({MPIR: tree, CH4: tree}, frozenset(DOUBLING))
    settings = (("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "recursive_doubling"),)
    new = dict(library.trees)
    rules = [Rule("allreduce", TWO_BY_TWO, 0, None, settings)]
    mpich.put_in("allreduce", rules, library, {}, (None, None), new, Export())
    found = new[MPIR]["collective=allreduce"]["comm_type=intra"]
    assert list(found) == ["comm_size<=3", "comm_size<=4", "comm_size=any"]
    inner = found["comm_size<=4"]
    assert list(inner) == ["comm_avg_ppn<=1", "comm_avg_ppn<=2", "comm_size=any"]
    assert [inner[k] == OWN for k in inner] == [True, False, True]


@pytest.mark.mpi
def test_what_the_trees_do_in_all_calls_is_no_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """5.0.2 has one gather: where it seems faster than itself, nothing can be written."""
    mpi, out = mpich_here(), tmp_path / "tuning"
    name = "native:" + ",".join(f"{n}={v}" for n, v in mpir("gather", "binomial"))
    times = {("gather", s): {"bare": 50.0, name: 30.0} for s in (8, 128, 2048, 32768, 1 << 19)}
    results = result_file(tmp_path / "a.bench.jsonl", times, mpi=mpi.identity)
    words = ["export", "--to", "mpich", "--mpi", str(mpi.need_launcher()), "--out", str(out)]
    assert main([*words, str(results)]) == 0
    assert EXPORT.read(out / NAME).rows == [] and not list(out.glob("stretto-mpich-*"))
    assert "gather on 5 ranks on 1 x 5: the native trees already contain" in capsys.readouterr().err


#: lines of tests/c/export/calls.c
CALLS = 184


def mpich_here() -> MPIInstallation:
    mpi = MPIS["mpich"].require()
    return from_launcher(Path(mpi.launcher(1)[0]), mpi.environment)


def rounds_of(mpi: MPIInstallation) -> Iterator[list[Rule]]:
    """Rows with all of MPICH's algorithms, one for each collective at a time."""
    by_collective: dict[str, list[Rule]] = defaultdict(list)
    for algorithm in discover(mpi):
        if algorithm.collective not in TUNABLE:
            continue
        settings = tuple((name, value) for name, value in algorithm.settings)
        by_collective[algorithm.collective].append(
            Rule(algorithm.collective, FIVE, 0, None, settings)
        )
    for i in range(max(map(len, by_collective.values()))):
        mine = [rules[i] for rules in by_collective.values() if i < len(rules)]
        yield [replace(rule, layout=layout) for rule in mine for layout in (FOUR, FIVE)]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("program") / "calls"
    return MPIS["mpich"].require().compile(REPOSITORY / "tests/c/export/calls.c", program, "-O2")


def run_calls(program: Path, rules: list[Rule], out: Path) -> list[str]:
    """Run calls that nobody measured under an export; return what was wrong."""
    mpi = mpich_here()
    write(mpich.trees(rules, mpi), out, "test", "mpich", mpi.identity)
    _, environment = read(out)
    done = MPIS["mpich"].run(5, [str(program)], rank_env=environment)
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if not line.endswith("right")]
    whole = done.returncode == 0 and len(lines) == CALLS
    return wrong if whole else [*wrong, f"ended at {lines[-1:]}: {done.stderr}"]


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("collective", "name"),
    [("reduce_scatter", "noncommutative"), ("alltoallv", "scattered"), ("alltoall", "brucks")],
)
def test_calls_that_an_algorithm_is_not_for(
    collective: str, name: str, calls: Path, tmp_path: Path
) -> None:
    """Blocks of many sizes ended the job, or gave wrong data; so did an alltoallv in place."""
    rules = [Rule(collective, layout, 0, None, mpir(collective, name)) for layout in (FOUR, FIVE)]
    assert run_calls(calls, rules, tmp_path) == []


@pytest.mark.long
@pytest.mark.mpi
def test_all_of_mpichs_algorithms_leave_such_calls_right(calls: Path, tmp_path: Path) -> None:
    for i, rules in enumerate(rounds_of(mpich_here())):
        found = run_calls(calls, rules, tmp_path / str(i))
        assert found == [], [(r.collective, r.settings) for r in rules]
