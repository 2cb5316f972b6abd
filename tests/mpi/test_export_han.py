"""HAN on several nodes (Open MPI 5): legal calls of every kind, sizes, order of operands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import clusters
from clusters import testbed
from exports import tuned
from mpis import MPIS, REPOSITORY, beside_others
from processes import run_program
from stretto.export import han, openmpi, unsafe
from stretto.export.check import read
from stretto.export.output import write
from stretto.export.rules import Rule
from stretto.files.layout import RankLayout
from stretto.mpi import from_launcher

pytestmark = [pytest.mark.root, pytest.mark.mpi, pytest.mark.long]
TWO_BY_TWO = RankLayout(2, 2, 4)
#: its own decision gives wrong data where ranks send with gaps: at the root of a gather, and on a
#: node's first rank in an allgather (an odd rank describes its data differently)
WRONG = ("gather_spread", "allgather_spread")
CALLS = (
    "bcast", "bcast_spread", "gather", "gather_in_place", "scatter", "scatter_spread",
    "scatter_in_place", "allgather", "allgather_in_place", "allgatherv", "allgatherv_ragged",
    "allgatherv_in_place", "reduce_in_place", "allreduce_in_place",
)  # fmt: skip
COUNT = 1000
ON = ("coll_han_priority", "100")
OFF = ("coll_han_priority", "0")


@pytest.fixture(scope="module")
def nodes() -> Iterator[testbed.Cluster]:
    with clusters.up(2) as cluster:
        for name in ("described", "order"):
            source = REPOSITORY / f"tests/c/export/{name}.c"
            MPIS["openmpi5"].require().compile(source, cluster.shared / name, "-O2")
        yield cluster


def ran(
    cluster: testbed.Cluster, variables: Mapping[str, str], *words: str, ppn: int = 2
) -> tuple[list[list[str]], str]:
    """Run a program on both nodes: its lines (it may end early), and what else was said."""
    argv = [*clusters.launcher(cluster, "openmpi5", 2, ppn), str(cluster.shared / words[0])]
    env = clusters.environment(cluster, "openmpi5") | dict(variables)
    with beside_others():
        done = run_program([*argv, *words[1:]], env=env, cwd=cluster.shared, timeout=300)
    lines = [line.split() for line in done.stdout.splitlines()]
    return [w for w in lines if w[-1:] in (["right"], ["wrong"])], done.stdout + done.stderr


def through(
    cluster: testbed.Cluster,
    variables: Mapping[str, str],
    *calls: str,
    count: int = COUNT,
    seconds: int = 60,
    ppn: int = 2,
) -> set[str]:
    """The calls that end, and right."""
    words = ("described", str(seconds), str(count), *calls)
    return {w[0] for w in ran(cluster, variables, *words, ppn=ppn)[0] if w[2] == "right"}


def of_han(collective: str, number: int, low: int = 0, high: int | None = None) -> Rule:
    """HAN's algorithm; 0: what it takes by itself."""
    forced = ((f"coll_han_use_{collective}_algorithm", str(number)),) if number else ()
    return Rule(collective, TWO_BY_TWO, low, high, (*forced, ON))


def files(cluster: testbed.Cluster, name: str, rules: list[Rule]) -> dict[str, str]:
    mpi = MPIS["openmpi5"].require()
    identity = from_launcher(Path(mpi.launcher(1)[0]), mpi.environment).identity
    out = cluster.shared / name
    write(openmpi.classic(rules, "5"), out, "test", "openmpi-5", identity)
    return read(out)[1]


def by_size(collective: str, number: int, *algorithms: int) -> list[Rule]:
    """Coll/tuned below the calls' size, HAN at it and beyond it."""
    middle, high = algorithms
    return [
        Rule(collective, TWO_BY_TWO, 0, 99, (*tuned(collective, number), OFF)),
        of_han(collective, middle, 100, 10000),
        of_han(collective, high, 10001),
    ]


def test_legal_calls_get_through_whatever_han_is_told(nodes: testbed.Cluster) -> None:
    """Nothing that it gets through by itself is lost to one of its rows: none needs a switch."""
    assert through(nodes, {}, *CALLS) == set(CALLS), "the MPI by itself"
    blocks = ("bcast", "gather", "scatter", "allgather", "reduce", "allreduce")
    for number in (0, 1, 2):
        rules = [of_han(c, number) for c in blocks]
        assert not unsafe.warnings(rules)
        assert through(nodes, files(nodes, f"han{number}", rules), *CALLS) == set(CALLS), number


def test_it_hands_over_on_all_ranks_or_on_none(nodes: testbed.Cluster) -> None:
    """Its sizes are those of all ranks, in place, too; coll/tuned's own hang here.

    At 36 bytes coll/tuned has the call, at 4000 HAN.
    """
    rules = [
        *by_size("bcast", 1, 2, 1), *by_size("gather", 2, 1, 2), *by_size("scatter", 2, 2, 1),
        *by_size("allgather", 4, 2, 1), *by_size("reduce", 1, 2, 1), *by_size("allreduce", 3, 2, 1),
    ]  # fmt: skip
    variables = files(nodes, "sizes", rules)
    rows = (nodes.shared / "sizes" / han.RULES_FILE).read_text()
    assert rows.count("0 tuned\n100 han @") == 6
    mine = [c for c in CALLS if not c.startswith("allgatherv")]
    for count in (9, COUNT):
        assert through(nodes, variables, *mine, count=count) == set(mine), count


def test_which_sizes_it_looks_up(nodes: testbed.Cluster) -> None:
    """Those of the vector or of one block, and none of an allgatherv."""
    settings = {"OMPI_MCA_coll_han_verbose": "80"} | files(
        nodes, "looked", [of_han(c, 0) for c in han.COLLECTIVES]
    )
    lines, said = ran(nodes, settings, "described", "60", str(COUNT), *CALLS, *WRONG)
    assert len(lines) == len(CALLS) + len(WRONG)
    pattern = (
        r"searched a rule for collective \d+ \((\w+)\) on topological level 2 .*?a (\d+) sized"
    )
    found = set(re.findall(pattern, said))
    block = str(4 * COUNT)
    others = {("reduce", "4")}  # the program's own
    assert found - others == {(c, block) for c in han.COLLECTIVES if c != "barrier"}, found


def test_han_keeps_the_order_of_operands(nodes: testbed.Cluster) -> None:
    """It leaves operations that do not commute to coll/tuned, whose rows then count, by size."""
    reductions = ("reduce", "allreduce")
    exports: dict[str, list[Rule]] = {"itself": []}
    for number in (1, 2, 3):
        exports[f"order{number}"] = [of_han(c, number) for c in reductions]
    exports["mixed"] = [
        rule
        for c in reductions
        for rule in (
            of_han(c, 2, 0, 9999),
            Rule(c, TWO_BY_TWO, 10000, None, (*tuned(c, 4), OFF)),
        )
    ]
    for name, rules in exports.items():
        variables = files(nodes, name, rules) if rules else {}
        lines, said = ran(nodes, variables, "order", "4", "9,64,3000")
        assert lines, said
        wrong = {(w[0], w[2]) for w in lines if w[-1] == "wrong"}
        if name != "mixed":
            assert not wrong, name
            assert not [x for x in openmpi.classic(rules, "5").lost if "do not commute" in x]
        else:
            lost = [x for x in openmpi.classic(rules, "5").lost if "do not commute" in x]
            assert len(lost) == 2
            assert {c for c, _ in wrong} >= set(reductions), lines
            assert {count for _, count in wrong} == {"3000"}, lines
