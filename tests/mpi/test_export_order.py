"""Operations that do not commute: which algorithms get them wrong, and what is said of that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from exports import FIVE, FOUR, TUNED, preset, tuned
from mpis import MPIS, REPOSITORY, Mpi
from stretto.export import intel, openmpi, openmpi_json
from stretto.export.check import read
from stretto.export.openmpi_words import COMPOUND
from stretto.export.order import CALLED, CALLED_AT_TIMES, LOSES, loses
from stretto.export.output import write
from stretto.export.rules import Rule
from stretto.files.layout import RankLayout
from stretto.measure.settings import REDUCTIONS
from stretto.mpi import from_launcher
from stretto.mpi.algorithms import discover

RANKS, COUNTS = "3,4,5", "1,9,64,3000"
EIGHT = RankLayout(1, 8, 8)
#: of matrices of 16 bytes: on 8 ranks Open MPI's own decision has allreduce call reduce
MIB = str((1 << 20) // 16)


@pytest.mark.parametrize("target", ["openmpi-4", "openmpi-5", "openmpi-6"])
def test_what_loses_the_order_is_named(target: str) -> None:
    """Rows are taken whatever the operation is: nobody else tells the user."""

    def lost(rules: list[Rule]) -> list[str]:
        six = target == "openmpi-6"
        export = openmpi_json.json_rules(rules) if six else openmpi.classic(rules, target[-1])
        return [x for x in export.lost if "do not commute" in x]

    first, second = lost(TUNED)
    assert first.startswith("allreduce: ring: not in the order of the ranks")
    assert second.startswith("reduce_scatter: ring: not in") and "--keep-order" in second
    more = [Rule("allreduce", FOUR, 0, None, tuned("allreduce", 5))]
    assert lost(TUNED[:3] + more)[0].startswith("allreduce: ring and segmented_ring: not in")
    assert not lost([Rule("allreduce", FIVE, 0, None, tuned("allreduce", 6)), *TUNED[4:10]])
    (reduce,) = lost([Rule("reduce", FIVE, 0, None, tuned("reduce", 5))])
    assert "in reduce_scatter and reduce_scatter_block, too, which call it" in reduce
    assert "and in allreduce at the ranks and sizes where that calls it" in reduce


def test_intel_mpi_has_one_too() -> None:
    rules = [
        Rule("reduce_scatter_block", FOUR, 0, None, preset("reduce_scatter_block", n))
        for n in (2, 1)
    ]
    assert "reduce_scatter_block: preset 2: not in the order" in intel.adjust(rules[:1]).lost[-1]
    assert "do not commute" not in " ".join(intel.adjust(rules[1:]).lost)


@pytest.fixture(scope="module", params=["openmpi4", "openmpi5"])
def order(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Mpi, Path]:
    mpi = MPIS[request.param].require()
    program = tmp_path_factory.mktemp(mpi.name) / "order"
    return mpi, mpi.compile(REPOSITORY / "tests/c/export/order.c", program, "-O2")


def wrong_with(
    order: tuple[Mpi, Path], variables: Mapping[str, str], ranks: str = RANKS, counts: str = COUNTS
) -> set[str]:
    """The collectives that give wrong products with some variables."""
    mpi, program = order
    most = max(int(n) for n in ranks.split(","))
    done = mpi.run(most, [str(program), ranks, counts], rank_env=variables, timeout=200)
    lines = [line.split() for line in done.stdout.splitlines()]
    calls = len(ranks.split(",")) * len(counts.split(","))
    assert done.returncode == 0 and len(lines) == 6 * calls, done.stdout + done.stderr
    return {words[0] for words in lines if words[-1] == "wrong"}


def algorithms_of(mpi: Mpi) -> dict[str, list[tuple[str, str]]]:
    """The settings of coll/tuned's algorithms of reductions by collective."""
    found = discover(from_launcher(Path(mpi.launcher(1)[0]), mpi.environment))
    out: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for algorithm in (a for a in found if a.collective in REDUCTIONS):
        name, value = algorithm.settings[0]
        if name == f"coll_tuned_{algorithm.collective}_algorithm":
            out[algorithm.collective].append((name, value))
    return out


def rounds_of(algorithms: Mapping[str, list[tuple[str, str]]]) -> Iterator[dict[str, str]]:
    """All algorithms, one for each collective at a time; alone what calls others, or is called."""
    together: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for collective, mine in algorithms.items():
        for name, value in mine:
            if (collective, value) in COMPOUND or name in CALLED:
                yield {name: value}
            else:
                together[collective].append((name, value))
    for i in range(max(map(len, together.values()))):
        yield dict(mine[i] for mine in together.values() if i < len(mine))


@pytest.mark.long
@pytest.mark.mpi
def test_who_loses_the_order(order: tuple[Mpi, Path]) -> None:
    """Those of the table, and no others; the MPI by itself never."""
    assert wrong_with(order, {}) == set()
    dynamic = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
    for settings in rounds_of(algorithms_of(order[0])):
        named: set[str] = set()
        for name, value in settings.items():
            if value in LOSES.get(name, {}):
                named |= {name[len("coll_tuned_") : -len("_algorithm")], *CALLED.get(name, ())}
        found = wrong_with(order, {f"OMPI_MCA_{n}": v for n, v in settings.items()} | dynamic)
        assert found == named, settings


@pytest.mark.mpi
def test_a_row_for_reduce_spoils_allreduce_too(order: tuple[Mpi, Path], tmp_path: Path) -> None:
    """Where that calls it: by the native decision, and by a row of its own."""
    mpi = order[0]
    identity = from_launcher(Path(mpi.launcher(1)[0]), mpi.environment).identity
    (setting,) = CALLED_AT_TIMES
    named = {"reduce", *CALLED[setting], *CALLED_AT_TIMES[setting]}
    eight, five = (
        [Rule("reduce", layout, 0, None, tuned("reduce", 5))] for layout in (EIGHT, FIVE)
    )
    five.append(Rule("allreduce", FIVE, 0, None, tuned("allreduce", 2)))
    for rules, ranks, counts in ((eight, "8", MIB), (five, "5", "1,64")):
        export = openmpi.classic(rules, mpi.name[-1])
        out = tmp_path / ranks
        write(export, out, "test", f"openmpi-{mpi.name[-1]}", identity)
        assert wrong_with(order, read(out)[1], ranks, counts) == named


@pytest.mark.mpi
def test_files_do_as_they_say(order: tuple[Mpi, Path], tmp_path: Path) -> None:
    mpi = order[0]
    identity = from_launcher(Path(mpi.launcher(1)[0]), mpi.environment).identity
    rules = [
        Rule(collective, layout, 0, None, tuned(collective, number))
        for layout in (FOUR, FIVE)
        for collective, number in (("allreduce", 4), ("reduce_scatter", 3))
    ]
    kept = [Rule("allreduce", FIVE, 0, None, tuned("allreduce", 3)), *TUNED[4:10]]
    assert all(loses(r) is None for r in kept)
    for mine in (rules, kept):
        out = tmp_path / str(len(mine))
        export = openmpi.classic(mine, mpi.name[-1])
        write(export, out, "test", f"openmpi-{mpi.name[-1]}", identity)
        found = wrong_with(order, read(out)[1])
        said = {x.partition(":")[0] for x in export.lost if "do not commute" in x}
        assert found == said == ({"allreduce", "reduce_scatter"} if mine is rules else set())
