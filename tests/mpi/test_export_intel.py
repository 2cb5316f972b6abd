"""Intel MPI's variables: presets for sizes or for ranks, and never where nobody measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from exports import FIVE, FOUR, preset, result_file
from mpis import MPIS, alone_here
from stretto.export import intel, probe, reach
from stretto.export.cases import CheckCase
from stretto.export.rules import Rule, read_results
from stretto.export.sizes import intel_bytes
from stretto.export.targets import Wishes, writer_for
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout
from stretto.mpi import from_launcher

INTEL = MPIIdentity("intel", "mpich", "2021.18", "Intel MPI 2021.18")
TWO = "native:I_MPI_ADJUST_ALLREDUCE=2"


def _preset(n: int) -> tuple[tuple[str, str], ...]:
    return preset("allreduce", n)


def measured(tmp_path: Path, times: Mapping[int, Mapping[str, float]]) -> tuple[Rule, ...]:
    """The rules that times of allreduce amount to, by size and candidate."""
    found = {("allreduce", size): candidates for size, candidates in times.items()}
    path = tmp_path / f"{abs(hash(repr(times)))}.bench.jsonl"
    return read_results([result_file(path, found, mpi=INTEL)]).rules().rules


def test_intel_for_the_layout_asked_for() -> None:
    """Elsewhere no preset is as good as the MPI's decision: no reason to do without here."""
    one, two = RankLayout(4, 1, 4), RankLayout(4, 2, 8)
    rules = [
        Rule("allreduce", two, 0, 999, (), instead=_preset(3)),
        Rule("allreduce", two, 1000, None, _preset(2)),
        Rule("allreduce", one, 0, 999, ()),
        Rule("allreduce", one, 1000, None, _preset(2)),
    ]
    all_of_them = intel.adjust(rules)
    assert not all_of_them.environment and "is left out" in " ".join(all_of_them.lost)
    asked = intel.adjust(rules, (4, 2))
    assert asked.environment == {"I_MPI_ADJUST_ALLREDUCE": f"3:0-999;2:1000-{intel.MOST}"}
    assert {r.layout for r in asked.rows} == {two}
    assert asked.lost[0].startswith(
        "allreduce on 4 ranks on 4 x 1: the variable of Intel MPI also applies"
    )
    assert intel.adjust(rules, (None, 2)).environment == asked.environment
    assert not intel.adjust(rules, (4, None)).environment, "both are on four nodes"
    assert not intel.adjust(rules, (9, None)).environment, (
        "nobody measured there: all that is known"
    )


def test_intel_says_where_nothing_was_measured(tmp_path: Path) -> None:
    """Between sizes too far apart it is nobody's decision that a preset would be in the way of."""
    fast = {"bare": 10.0, TWO: 5.0}
    export = intel.adjust(measured(tmp_path, dict.fromkeys((8, 64, 1024, 16384, 1 << 19), fast)))
    (lost,) = (x for x in export.lost if "left out" in x)
    assert (
        "and to 524287 nothing was measured: measure sizes that differ by at most a factor of 16"
        in lost
    )
    assert not export.environment


def test_intel_presets_never_hold_where_they_were_slower(tmp_path: Path) -> None:
    """What is left to the MPI behind the last preset's sizes counts as well as what is before."""
    three = "native:I_MPI_ADJUST_ALLREDUCE=3"
    fast, slow = {"bare": 10.0, TWO: 5.0, three: 20.0}, {"bare": 10.0, TWO: 30.0, three: 20.0}
    export = intel.adjust(measured(tmp_path, {8: fast, 32: fast, 128: slow, 1 << 20: slow}))
    assert not export.environment and "allreduce is left out" in " ".join(export.lost), export
    good = {**slow, three: 10.0}
    export = intel.adjust(measured(tmp_path, {8: fast, 32: fast, 128: good, 1 << 20: good}))
    clauses = export.environment["I_MPI_ADJUST_ALLREDUCE"]
    assert clauses.startswith("2:0-") and clauses.endswith(f"-{intel.MOST}")
    assert clauses.split(";")[1].startswith("3:"), clauses
    # at one of two sizes is not enough: at the other one the MPI by itself is faster
    times = {16: {"bare": 10.0, TWO: 10.0}, 64: {"bare": 10.0, TWO: 14.0}}
    times |= {n: {"bare": 10.0, TWO: 5.0} for n in (1024, 16384, 1 << 18, 1 << 19)}
    export = intel.adjust(measured(tmp_path, times))
    assert not export.environment
    assert "allreduce is left out" in export.lost[0] and "no preset was as fast" in export.lost[0]


def test_intel_presets_are_measured_for_large_messages(tmp_path: Path) -> None:
    """The last clause holds for all that are larger: far beyond what was measured nobody knows."""

    def rules(largest: int) -> tuple[Rule, ...]:
        steps = [8 << i for i in range(0, 16, 4) if 8 << i < largest]
        return measured(tmp_path, {n: {"bare": 10.0, TWO: 5.0} for n in (*steps, largest)})

    small, large = rules(32768), rules(reach.ENOUGH)
    export = intel.adjust(small)
    (lost,) = export.lost
    assert not export.environment and not export.rows
    assert "I_MPI_ADJUST_ALLREDUCE would also apply to larger messages" in lost
    assert "(largest: 32768 bytes)" in lost and f"measure up to {reach.ENOUGH}" in lost
    assert "(--beyond-measured)" in lost
    for export, largest in (
        (intel.adjust(small, beyond=True), 32768), (intel.adjust(large), reach.ENOUGH),
    ):  # fmt: skip
        assert export.environment == {"I_MPI_ADJUST_ALLREDUCE": f"2:0-{intel.MOST}"}
        assert f"of more than {largest} bytes, which were not" in export.lost[0]
        assert export.lost[0].endswith("preset 2")
    # on all layouts
    ends = {n: ((FIVE, reach.ENOUGH), (FOUR, n)) for n in (32768, reach.ENOUGH)}
    for largest, mine in ends.items():
        both = [Rule("allreduce", x, 0, n, _preset(2), measured=True) for x, n in mine]
        both += [Rule("allreduce", x, n + 1, None, ()) for x, n in mine]
        assert bool(intel.adjust(both).environment) == (largest == reach.ENOUGH)


def test_what_is_no_preset_has_no_clauses(tmp_path: Path) -> None:
    """A variable without sizes was written with clauses, as if its value were a preset."""
    eager, two = "native:I_MPI_SHM_EAGER_NUM=8", "native:I_MPI_ADJUST_ALLREDUCE=2"
    for name in (eager, f"{two},{eager.partition(':')[2]}"):
        path = tmp_path / f"{len(name)}.bench.jsonl"
        result_file(path, {("allreduce", 1 << 20): {"bare": 10.0, two: 8.0, name: 5.0}}, mpi=INTEL)
        writer = writer_for("intel", "2021.18", None, Wishes())
        found = read_results([path]).rules(writer.reason, writer.sizeless)
        assert "I_MPI_SHM_EAGER_NUM has no sizes; the next best" in found.lost[0]
        settings = {s for r in found.rules for s in r.settings}
        assert settings == {("I_MPI_ADJUST_ALLREDUCE", "2")}


def test_intel_sizes_end(tmp_path: Path) -> None:
    """Its numbers have 31 bits, and where it counts the sum: all sizes of a last block."""
    name = "I_MPI_ADJUST_REDUCE_SCATTER"
    presets = [(((name, str(n)),)) for n in range(4)]
    large = intel.MOST // 5
    rules = [
        Rule("reduce_scatter", FIVE, 0, 999, presets[1]),
        Rule("reduce_scatter", FIVE, 1000, large + 1, presets[2]),
        Rule("reduce_scatter", FIVE, large + 2, 2 * large, presets[3]),
    ]
    export = intel.adjust(rules)
    assert export.environment == {name: f"1:0-4999;2:5000-{intel.MOST}"}
    assert [r.high for r in export.rows] == [999, None]
    assert f"reduce_scatter from {large + 2} bytes on 5 ranks" in export.lost[0]
    assert f"sizes in Intel MPI end at {intel.MOST} bytes" in export.lost[0]
    assert intel.adjust(rules[:1], beyond=True).environment == {name: f"1:0-{intel.MOST}"}


def test_intel_tells_sizes_apart_or_ranks() -> None:
    four, most = RankLayout(1, 4, 4), intel.MOST
    sizes = [
        Rule("allreduce", FIVE, 0, 999, (), instead=_preset(3)),
        Rule("allreduce", FIVE, 1000, 4999, _preset(7)),
        Rule("allreduce", FIVE, 5000, None, _preset(2)),
    ]
    export = intel.adjust(sizes)
    assert export.environment == {"I_MPI_ADJUST_ALLREDUCE": f"3:0-999;7:1000-4999;2:5000-{most}"}
    assert "communicators of any size" in export.lost[0]
    ranks = [
        Rule("allreduce", four, 0, None, _preset(7)),
        Rule("allreduce", FIVE, 0, None, _preset(2)),
    ]
    assert intel.adjust(ranks).environment == {
        "I_MPI_ADJUST_ALLREDUCE": f"7:0-{most}@1-4;2:0-{most}@5-{most}"
    }
    both = intel.adjust([ranks[0], *sizes])
    assert both.environment == export.environment
    assert "distinguishes sizes or ranks, not both" in " ".join(both.lost)
    undecided = [Rule("allreduce", FIVE, 0, 999, ()), *sizes[1:]]
    export = intel.adjust(undecided)
    assert not export.environment
    assert "cannot be set to its native selection from 0 bytes" in export.lost[0]


#: two presets of each that arrivals tell apart
APART = {
    "allgather": (1, 3), "allgatherv": (1, 3), "alltoall": (1, 3), "gather": (1, 3),
    "scatter": (1, 3), "reduce_scatter": (2, 4), "reduce_scatter_block": (1, 3),
}  # fmt: skip


@pytest.mark.parametrize("collective", list(APART))
def test_bounds_stand_in_the_unit_of_the_collective(collective: str) -> None:
    first, second = ((("I_MPI_ADJUST_X", str(n)),) for n in (1, 2))
    rules = [Rule(collective, FOUR, 0, 999, first), Rule(collective, FOUR, 1000, None, second)]
    factor = 4 if collective == "reduce_scatter" else 1
    bound = 1000 * factor - 1
    clauses = f"1:0-{bound};2:{bound + 1}-{intel.MOST}"
    assert intel.adjust(rules, beyond=True).environment == {"I_MPI_ADJUST_X": clauses}


@pytest.mark.long
@pytest.mark.mpi
def test_the_unit_of_each_collective_is_that_of_the_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    """On either side of one bound: blocks of 1000 bytes are less than it, the sum of them more."""
    mpi, bound = MPIS["intel"].require(), 2000
    for variable, value in mpi.environment.items():
        monkeypatch.setenv(variable, value)
    place = probe.ProbePlace(from_launcher(Path(mpi.launcher(1)[0]), mpi.environment))
    cases = [CheckCase(c, size, 4, 0, True) for c in APART for size in (1000, 4000)]
    names = {c: f"I_MPI_ADJUST_{c.upper()}" for c in APART}

    def seen(value: Callable[[int, int], str]) -> probe.Prints:
        settings = {names[c]: value(*presets) for c, presets in APART.items()}
        held = {c.call: probe.HOLD_MS for c in cases}
        return probe.take(place, cases, 4, settings, list(names.values()), held)

    with alone_here():
        below, above = seen(lambda a, b: str(a)), seen(lambda a, b: str(b))
        both = seen(lambda a, b: f"{a}:0-{bound};{b}:{bound + 1}-{intel.MOST}")
    told = set()
    for case in cases:
        one, other = (x.seen[case.call] for x in (below, above))
        if one.same(other) is not False:  # the machine was busy: nothing can be said
            continue
        counted = intel_bytes(case.collective, case.bytes, case.ranks)
        assert counted is not None
        expected = one if counted <= bound else other
        assert both.seen[case.call].same(expected) is not False, case.words
        told.add(case.collective)
    assert {"allgatherv", "reduce_scatter"} <= told, "the machine is too busy for this test"
