"""Rows that break legal calls: of operations that do not commute, and of data described twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from exports import FIVE, FOUR, TUNED, preset, result_file, tuned
from mpis import MPIS, REPOSITORY, Mpi, rarely
from stretto.cli import main
from stretto.export import intel, openmpi, openmpi_json, unsafe
from stretto.export.check import read
from stretto.export.openmpi_words import COMPOUND
from stretto.export.output import Export, write
from stretto.export.rules import Rule
from stretto.export.unsafe import CALLED, CALLED_AT_TIMES, LOSES, UNREAD, loses
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout
from stretto.measure.settings import REDUCTIONS
from stretto.mpi import from_launcher
from stretto.mpi.algorithms import discover
from stretto.mpi.base import MPIInstallation
from test_export_said import unsafe_results

#: of what the native selection gets through at this count (not at all of them: an allgatherv with
#: another type on each rank hangs where its own decision changes with the size, too); what fails
#: first of each collective stands first
CALLS = (
    "bcast", "bcast_spread", "gather", "gather_spread", "gather_in_place", "scatter",
    "scatter_spread", "scatter_in_place", "allgather", "allgather_spread", "allgather_in_place",
    "allgatherv", "allgatherv_ragged", "allgatherv_in_place", "alltoall", "alltoall_in_place",
    "reduce_in_place", "allreduce_in_place",
)  # fmt: skip
COUNT = 1000
RANKS, COUNTS = "3,4,5", "1,9,64,3000"
#: of matrices of 16 bytes: on 8 ranks Open MPI's own decision has allreduce call reduce
MIB = str((1 << 20) // 16)
EIGHT = RankLayout(1, 8, 8)
MPI4 = MPIIdentity("openmpi", "openmpi", "4.1.4", "Open MPI v4.1.4")
OPENMPI = pytest.mark.parametrize("target", ["openmpi-4", "openmpi-5", "openmpi-6"])


def export_of(rules: list[Rule], target: str) -> Export:
    if target == "openmpi-6":
        return openmpi_json.json_rules(rules)
    return openmpi.classic(rules, target[-1])


@OPENMPI
def test_export_of_unsafe_rows_names_them(target: str) -> None:
    """Rows are taken whatever the call is: nobody else tells the user."""

    def lost(rules: list[Rule], words: str) -> list[str]:
        return [x for x in export_of(rules, target).lost if words in x]

    first, second = lost(TUNED, "do not commute")
    assert first.startswith("allreduce: ring: combines operands out of rank order")
    assert second.startswith("reduce_scatter: ring: combines") and "--keep-order" in second
    more = [*TUNED[:3], Rule("allreduce", FOUR, 0, None, tuned("allreduce", 5))]
    said = lost(more, "do not commute")[0]
    assert said.startswith("allreduce: ring and segmented_ring: combines")
    safe = [Rule("allreduce", FIVE, 0, None, tuned("allreduce", 6)), *TUNED[4:10]]
    assert not lost(safe, "do not commute")
    (reduce,) = lost([Rule("reduce", FIVE, 0, None, tuned("reduce", 5))], "do not commute")
    assert "in reduce_scatter and reduce_scatter_block, which call it" in reduce
    assert "and in allreduce at the ranks and sizes where that calls it" in reduce
    # a type that is none is looked at with any row of some collectives
    rows = [Rule(c, FOUR, 0, None, tuned(c, 2)) for c in ("bcast", "scatter", "reduce", "alltoall")]
    (words,) = lost(rows, "segmentation fault")
    assert words.startswith("scatter and alltoall: a program ends with a segmentation fault")
    assert words.endswith("--without scatter,alltoall leaves these rows out")
    assert not lost([rows[0], rows[2]], "segmentation fault")
    of_han = (("coll_han_use_scatter_algorithm", "2"), ("coll_han_priority", "100"))
    assert not unsafe.warnings([Rule("scatter", RankLayout(2, 2, 4), 0, None, of_han)])


def test_intel_preset_that_loses_the_order_is_named() -> None:
    name = "reduce_scatter_block"
    two, one = ([Rule(name, FOUR, 0, None, preset(name, n))] for n in (2, 1))
    assert f"{name}: preset 2: combines operands out" in intel.adjust(two, beyond=True).lost[-1]
    assert "do not commute" not in " ".join(intel.adjust(one, beyond=True).lost)


def exported(tmp_path: Path, target: str) -> Path:
    out = tmp_path / "out"
    path = result_file(tmp_path / "r.bench.jsonl", unsafe_results(), FOUR, MPI4)
    assert main(["export", "--to", target, "--out", str(out), str(path)]) == 0
    return out


def test_check_warns_of_unsafe_rows_of_older_exports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = [Rule(c, FOUR, 0, None, tuned(c, n)) for c, n in (("bcast", 9), ("allgather", 7))]
    export = openmpi.classic(rules, "5")
    export.lost = []
    write(export, tmp_path, "test", "openmpi-5", MPI4)
    monkeypatch.setattr("stretto.cli.export._installed", lambda *_: None)
    assert main(["export", "--check", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "warning: bcast: scatter_allgather_ring: fails (hangs" in said
    assert "warning: allgather: sparbit: fails (hangs" in said


@pytest.fixture(scope="module", params=["openmpi4", "openmpi5"])
def programs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Mpi, Path]:
    """An Open MPI, and the directory of its programs."""
    mpi = MPIS[request.param].require()
    place = tmp_path_factory.mktemp(mpi.name)
    for name in ("order", "described"):
        mpi.compile(REPOSITORY / f"tests/c/export/{name}.c", place / name, "-O2")
    return mpi, place


def here(mpi: Mpi) -> MPIInstallation:
    return from_launcher(Path(mpi.launcher(1)[0]), mpi.environment)


def variables_of(mpi: Mpi, out: Path, rules: list[Rule]) -> dict[str, str]:
    export = openmpi.classic(rules, mpi.name[-1])
    write(export, out, "test", f"openmpi-{mpi.name[-1]}", here(mpi).identity)
    return read(out)[1]


def wrong_with(
    programs: tuple[Mpi, Path],
    variables: Mapping[str, str],
    ranks: str = RANKS,
    counts: str = COUNTS,
) -> set[str]:
    """The collectives that give wrong products with some variables."""
    mpi, place = programs
    most = max(int(n) for n in ranks.split(","))
    words = [str(place / "order"), ranks, counts]
    done = mpi.run(most, words, rank_env=variables, timeout=200)
    lines = [line.split() for line in done.stdout.splitlines()]
    calls = len(ranks.split(",")) * len(counts.split(","))
    assert done.returncode == 0 and len(lines) == 6 * calls, done.stdout + done.stderr
    return {words[0] for words in lines if words[-1] == "wrong"}


def rounds_of(mpi: Mpi) -> Iterator[dict[str, str]]:
    """All of coll/tuned's reductions, one for each collective at a time.

    What calls others, or is called, stands alone.
    """
    together: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for algorithm in discover(here(mpi)):
        name, value = algorithm.settings[0]
        collective = algorithm.collective
        if collective not in REDUCTIONS or name != f"coll_tuned_{collective}_algorithm":
            continue
        if (collective, value) in COMPOUND or name in CALLED:
            yield {name: value}
        else:
            together[collective].append((name, value))
    for i in range(max(map(len, together.values()))):
        yield dict(mine[i] for mine in together.values() if i < len(mine))


def forced(settings: Mapping[str, str]) -> dict[str, str]:
    out = {f"OMPI_MCA_{n}": v for n, v in settings.items()}
    return {**out, "OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}


@pytest.mark.long
@pytest.mark.mpi
def test_algorithms_that_lose_the_order_are_those_of_the_table(programs: tuple[Mpi, Path]) -> None:
    """And no others; the MPI by itself never."""
    assert wrong_with(programs, {}) == set()
    for settings in rounds_of(programs[0]):
        named: set[str] = set()
        for name, value in settings.items():
            if value in LOSES.get(name, {}):
                named |= {name[len("coll_tuned_") : -len("_algorithm")], *CALLED.get(name, ())}
        assert wrong_with(programs, forced(settings)) == named, settings


@pytest.mark.mpi
def test_exported_rows_keep_or_lose_the_order_as_stated(
    programs: tuple[Mpi, Path], tmp_path: Path
) -> None:
    """A row for reduce spoils allreduce, too, where that calls it: natively, or by a row."""
    (setting,) = CALLED_AT_TIMES
    by_reduce = {"reduce", *CALLED[setting], *CALLED_AT_TIMES[setting]}
    lost = [
        Rule(collective, layout, 0, None, tuned(collective, number))
        for layout in (FOUR, FIVE)
        for collective, number in (("allreduce", 4), ("reduce_scatter", 3))
    ]
    kept = [Rule("allreduce", FIVE, 0, None, tuned("allreduce", 3)), *TUNED[4:10]]
    assert all(loses(r) is None for r in kept)
    eight, five = (Rule("reduce", x, 0, None, tuned("reduce", 5)) for x in (EIGHT, FIVE))
    calls = Rule("allreduce", FIVE, 0, None, tuned("allreduce", 2))
    for i, (rules, ranks, counts, wrong) in enumerate(
        (
            (lost, RANKS, COUNTS, {"allreduce", "reduce_scatter"}),
            (kept, RANKS, COUNTS, set()),
            ([eight], "8", MIB, by_reduce),
            ([five, calls], "5", "1,64", by_reduce),
        )
    ):
        variables = variables_of(programs[0], tmp_path / str(i), rules)
        assert wrong_with(programs, variables, ranks, counts) == wrong, i


def through(
    programs: tuple[Mpi, Path],
    variables: Mapping[str, str],
    *calls: str,
    seconds: int = 20,
    ranks: int = 4,
) -> set[str]:
    """The calls that end, and right."""
    mpi, place = programs
    words = [str(place / "described"), str(seconds), str(COUNT), *calls]
    done = mpi.run(ranks, words, rank_env=variables)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {w[0] for w in lines if len(w) == 3 and w[2] == "right"}


@pytest.mark.mpi
def test_legal_calls_get_through_exports_without_options(
    programs: tuple[Mpi, Path], tmp_path: Path
) -> None:
    """Also one row of allgather(v) for all sizes."""
    mpi = programs[0]
    nothing = {f"{c}_nothing" for c in UNREAD}
    assert through(programs, {}, *CALLS, *nothing) == {*CALLS, *nothing}, "the MPI by itself"
    out = exported(tmp_path, f"openmpi-{mpi.name[-1]}")
    assert through(programs, read(out)[1], *CALLS) == set(CALLS)
    both = [Rule(c, FOUR, 0, None, tuned(c, n)) for c, n in (("allgather", 4), ("allgatherv", 3))]
    mine = {c for c in CALLS if c.startswith("allgather")}
    assert through(programs, variables_of(mpi, tmp_path / "one", both), *mine) == mine


@pytest.mark.long
@pytest.mark.mpi
def test_legal_calls_do_not_get_through_unsafe_rows(
    programs: tuple[Mpi, Path], tmp_path: Path
) -> None:
    mpi = programs[0]
    for call, at, number in (
        ("allgather_in_place", 1024, 4), ("allgatherv_in_place", 1024, 3), ("allgatherv", 8192, 3),
    ):  # fmt: skip
        collective = call.partition("_")[0]
        rules = [
            Rule(collective, FOUR, 0, at - 1, tuned(collective, 2)),
            Rule(collective, FOUR, at, None, tuned(collective, number)),
        ]
        variables = variables_of(mpi, tmp_path / call, rules)
        assert not through(programs, variables, call, seconds=3), call
    # a row makes coll/tuned look at a type that is none, on communicators without rows, too
    for collective in UNREAD:
        rules = [Rule(collective, FIVE, 0, None, tuned(collective, 2))]
        variables = variables_of(mpi, tmp_path / collective, rules)
        assert not through(programs, variables, f"{collective}_nothing"), collective


@pytest.mark.mpi
@pytest.mark.parametrize(
    "collective",
    rarely(["bcast", "gather", "scatter", "allgather", "allgatherv", "alltoall"], ["allgather"]),
)
def test_algorithms_that_fail_on_other_types_are_those_of_the_table(
    collective: str, programs: tuple[Mpi, Path]
) -> None:
    mine = [c for c in CALLS if c.partition("_")[0] == collective]
    setting = f"coll_tuned_{collective}_algorithm"
    algorithms = [a for a in discover(here(programs[0])) if a.settings[0][0] == setting]
    assert len(algorithms) >= 3
    for algorithm in algorithms:
        for segment in (0, 1024) if collective in ("bcast", "gather", "scatter") else (0,):
            more = {"segmentsize": segment} if segment else {}
            settings = tuned(collective, int(algorithm.settings[0][1]), **more)
            name = unsafe.cuts(Rule(collective, FOUR, 0, None, settings))
            seconds, ranks = 3 if name else 20, 2 if algorithm.name.startswith("two_proc") else 4
            got = through(programs, forced(dict(settings)), *mine, seconds=seconds, ranks=ranks)
            assert got == (set() if name else set(mine)), (settings, name)
