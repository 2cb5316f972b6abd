"""Native tuning files: from results to rules, in each MPI's grammar, and read back through it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exports import result_file
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.export import openmpi, openmpi_json
from stretto.export.counts import IDS
from stretto.export.rules import Rule, for_layouts, read_results
from stretto.export.targets import Wishes, writer_for
from stretto.files.export import EXPORT, NAME
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout

FIVE = RankLayout(1, 5, 5)
RING = (("coll_tuned_allreduce_algorithm", "4"), ("coll_tuned_use_dynamic_rules", "1"))


def _read_classic(text: str) -> dict[int, dict[int, list[tuple[int, ...]]]]:
    """Read a rules file as the MPI does: numbers only, comments left out; nothing may be left."""
    words = [w for line in text.splitlines() for w in line.split("#")[0].split()]
    assert all(w == str(int(w)) for w in words), "no leading zeros"
    at = iter(map(int, words))
    out: dict[int, dict[int, list[tuple[int, ...]]]] = {}
    for _ in range(next(at)):
        sizes = out.setdefault(next(at), {})
        for _ in range(next(at)):
            ranks = next(at)
            sizes[ranks] = [tuple(next(at) for _ in range(4)) for _ in range(next(at))]
    assert next(at, None) is None
    return out


def _choice(table: dict[int, list[tuple[int, ...]]], ranks: int, size: int) -> int:
    """Return the algorithm that coll/tuned takes: both bounds are lower ones."""
    rows = table[max((r for r in table if r <= ranks), default=min(table))]
    return max(row for row in rows if row[0] <= size)[1]


def test_rules_are_what_is_significantly_faster(tmp_path: Path) -> None:
    ring = "native:coll_tuned_allreduce_algorithm=4,coll_tuned_use_dynamic_rules=1"
    path = result_file(
        tmp_path / "a.bench.jsonl",
        {
            ("allreduce", 8): {"bare": 1.0, ring: 3.0},
            ("allreduce", 1024): {"bare": 4.0, ring: 4.01},
            ("allreduce", 65536): {"bare": 50.0, ring: 30.0},
            ("allreduce", 262144): {"bare": 200.0, ring: 120.0},
        },
    )
    measured = read_results([path]).rules()
    assert [(r.low, r.high, r.settings) for r in measured.rules] == [
        (0, 65535, ()),
        (65536, 262144, RING),
        (262145, None, ()),
    ]


def test_what_the_files_cannot_say_makes_room_for_the_next_best(tmp_path: Path) -> None:
    """HAN has no rows in Open MPI 4's files: coll/tuned's best, and a sentence on what was lost."""
    ring = "native:coll_tuned_allreduce_algorithm=4,coll_tuned_use_dynamic_rules=1"
    han_ = "native:coll_han_priority=100"
    path = result_file(
        tmp_path / "a.bench.jsonl",
        {
            ("allreduce", 1024): {"bare": 50.0, ring: 30.0, han_: 20.0},
            ("bcast", 1024): {"bare": 50.0, han_: 20.0},
        },
    )
    results = read_results([path])
    assert {r.settings for r in results.rules().rules} >= {(("coll_han_priority", "100"),)}
    found = results.rules(writer_for("openmpi-4", "5.0.11", None, Wishes()).reason)
    assert {(r.collective, r.settings) for r in found.rules if not r.default} == {
        ("allreduce", RING)
    }
    first, second = found.lost
    assert first.startswith("allreduce of 1024 bytes on 5 ranks") and "next best" in first
    assert "coll_han_priority=100 is not for these files" in second and "nothing else" in second
    five = Rule("allreduce", RankLayout(4, 2, 8), 0, None, (("coll_han_priority", "100"),))
    four, *later = (writer_for(f"openmpi-{n}", "5.0.11", None, Wishes()).reason for n in (4, 5, 6))
    assert four(five) and not any(reason(five) for reason in later)
    assert all(reason(Rule("reduce_local", FIVE, 0, None, ())) for reason in later)


def test_rules_stay_in_their_place() -> None:
    """No rule reaches smaller or larger communicators, or sizes, than were measured."""
    rules = [
        Rule("allreduce", FIVE, 0, 999, ()),
        Rule("allreduce", FIVE, 1000, 9999, RING),
        Rule("allreduce", FIVE, 10000, None, ()),
        Rule("allreduce", RankLayout(1, 6, 6), 0, None, RING),
        Rule("allreduce", RankLayout(3, 3, 9), 0, None, RING),
        Rule("bcast", FIVE, 0, None, ()),
    ]
    tables = _read_classic(openmpi.classic(rules, "4").files[openmpi.RULES_FILE])
    assert set(tables) == {IDS["allreduce"]}, "what has no rule is not named"
    table = tables[IDS["allreduce"]]
    for ranks in range(2, 20):
        for size in (0, 999, 1000, 9999, 10000, 1 << 30):
            inside = (ranks == 5 and 1000 <= size < 10000) or ranks in (6, 9)
            assert _choice(table, ranks, size) == (4 if inside else 0), (ranks, size)
    assert all(rows[0][0] == 0 and rows == sorted(rows) for rows in table.values())


def test_what_a_row_cannot_say_is_not_left_to_the_row_before_it() -> None:
    rules = [
        Rule("allreduce", FIVE, 0, 999, RING),
        Rule("allreduce", FIVE, 1000, 9999, (("coll_sm_priority", "100"),)),
        Rule("allreduce", FIVE, 10000, None, RING),
    ]
    export = openmpi.classic(rules, "4")
    rows = openmpi.read_classic(export.files[openmpi.RULES_FILE], "f")
    ring = RING[:1]
    found = [(r.low, r.settings) for r in rows if r.first == 5]
    assert found == [(0, ring), (1000, ()), (10000, ring)]
    assert "allreduce from 1000 bytes on 5 ranks" in export.lost[0]


@pytest.mark.parametrize(
    ("collective", "factor"),
    [("allgather", 5), ("alltoall", 5), ("reduce_scatter_block", 5), ("bcast", 1), ("reduce", 1),
     ("reduce_scatter", 5), ("allgatherv", 1)],
)  # fmt: skip
def test_open_mpi_counts_in_its_own_way(collective: str, factor: int) -> None:
    setting = ((f"coll_tuned_{collective}_algorithm", "2"),)
    rules = [Rule(collective, FIVE, 0, 99, ()), Rule(collective, FIVE, 100, None, setting)]
    text = openmpi.classic(rules, "4").files[openmpi.RULES_FILE]
    (table,) = _read_classic(text).values()
    assert [row[:2] for row in table[5]] == [(0, 0), (100 * factor, 2)]


def test_what_open_mpi_cannot_say_is_said() -> None:
    rules = [
        Rule("scan", FIVE, 0, 99, ()),
        Rule("scan", FIVE, 100, None, (("coll_tuned_scan_algorithm", "2"),)),
        Rule("bcast", FIVE, 0, None, (("coll_tuned_bcast_algorithm", "7"),
                                      ("coll_tuned_bcast_algorithm_knomial_radix", "8"))),
        Rule("reduce", FIVE, 0, None, (("coll_han_use_reduce_algorithm", "2"),)),
    ]  # fmt: skip
    lost = " ".join(openmpi.classic(rules, "5").lost)
    assert "rows have no place for coll_tuned_bcast_algorithm_knomial_radix" in lost
    assert "coll_han_use_reduce_algorithm is not for rules of coll/tuned" in lost
    kept, left_out = for_layouts(
        [
            Rule("bcast", RankLayout(2, 4, 8), 0, None, RING),
            Rule("bcast", RankLayout(1, 8, 8), 0, None, ()),
        ],
        nodes=2,
        ppn=None,
    )
    assert [r.layout.nodes for r in kept] == [2]
    assert "8 ranks on 1 x 8" in left_out[0]


@pytest.mark.parametrize("target", ["openmpi-4", "openmpi-5", "openmpi-6"])
@pytest.mark.parametrize("collective", ["scan", "exscan", "gather", "scatter"])
def test_an_algorithm_for_all_sizes_is_nowhere_slower(
    target: str, collective: str, tmp_path: Path
) -> None:
    """coll/tuned does not look at these collectives' size, or at one that ranks differ in: rows for
    some sizes had ranks of one MPI_Scatter go different ways, and hang."""
    name = f"native:coll_tuned_{collective}_algorithm=2,coll_tuned_use_dynamic_rules=1"
    for slower in (True, False):
        large = 30.0 if slower else 10.0
        times = {
            (collective, size): {"bare": 10.0, name: large if size == 65536 else 8.0}
            for size in (8, 64, 512, 4096, 65536, 1 << 19)
        }
        path = result_file(tmp_path / f"{slower}.bench.jsonl", times)
        writer = writer_for(target, "5.0.11", None, Wishes())
        found = read_results([path]).rules(writer.reason, writer.sizeless)
        export = writer.write(list(found.rules))
        assert [(r.low, r.high) for r in export.rows] == ([] if slower else [(0, None)])
        said = any("nothing that is faster at some is as fast" in lost for lost in found.lost)
        assert said == slower


def test_two_files_of_one_collective_and_layout(tmp_path: Path) -> None:
    """The last one counts, and it is said."""
    name = "native:coll_tuned_bcast_algorithm=6,coll_tuned_use_dynamic_rules=1"
    paths = [
        result_file(tmp_path / f"{n}.bench.jsonl", {("bcast", n): {"bare": 10.0, name: 5.0}})
        for n in (8, 65536)
    ]
    found = read_results(paths).rules()
    assert {r.low for r in found.rules if not r.default} == {65536}
    assert any("several files have it, and the last" in x for x in found.lost)
    assert not any("several files" in x for x in read_results(paths[:1]).rules().lost)


@pytest.mark.parametrize("time", [0.0, -1.0])
def test_a_result_without_a_time_is_refused(
    time: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be divided by; the line is named."""
    name = "native:coll_tuned_bcast_algorithm=6,coll_tuned_use_dynamic_rules=1"
    path = result_file(tmp_path / "x.bench.jsonl", {("bcast", 8): {"bare": 10.0, name: 5.0}})
    lines = path.read_text().splitlines()
    record = json.loads(lines[2])
    record["times_us"][3] = time
    path.write_text("\n".join([*lines[:2], json.dumps(record), *lines[3:], ""]))
    assert main(["export", "--to", "openmpi-5", "--out", str(tmp_path / "o"), str(path)]) == 1
    said = capsys.readouterr().err
    assert "all of them above 0" in said and f"{path}:3" in said and "defect" not in said


def test_results_that_do_not_go_together(tmp_path: Path) -> None:
    times = {("bcast", 8): {"bare": 1.0}}
    a = result_file(tmp_path / "a.bench.jsonl", times)
    other = MPIIdentity("openmpi", "openmpi", "4.1.4", "Open MPI v4.1.4")
    b = result_file(tmp_path / "b.bench.jsonl", times, mpi=other)
    with pytest.raises(StrettoError, match=r"openmpi 4\.1\.4, the others of openmpi 5\.0\.11"):
        read_results([a, b])
    c = result_file(tmp_path / "c.bench.jsonl", times, cpu="another")
    with pytest.raises(StrettoError, match="kinds of nodes are never mixed"):
        read_results([a, c])
    unknown = result_file(tmp_path / "u.bench.jsonl", times, cpu="unknown")
    with pytest.raises(StrettoError, match="kinds of nodes are never mixed"):
        read_results([a, unknown, c])
    d = result_file(tmp_path / "d.bench.jsonl", times, source="simulated")
    for some in (d.read_text(), d.read_text().replace('"simulated"', '"measured"', 1)):
        d.write_text(some)
        with pytest.raises(StrettoError, match="simulated"):
            read_results([d])


def test_rows_hold_where_their_algorithm_was_measured(tmp_path: Path) -> None:
    """Not at a size, or in a shape, at which the MPI alone was: the algorithm may crash there."""
    ring = "native:" + ",".join(f"{name}={value}" for name, value in RING)
    both, alone = {"bare": 50.0, ring: 30.0}, {"bare": 50.0}
    times = {("allreduce", 1024): both, ("allreduce", 4096): alone, ("allreduce", 16384): both}
    path = result_file(tmp_path / "size.bench.jsonl", times)
    found = [(r.low, r.high) for r in read_results([path]).rules().rules if not r.default]
    assert found == [(1024, 1024), (16384, 16384)]
    linear = "native:coll_tuned_gather_algorithm=1,coll_tuned_use_dynamic_rules=1"
    times = {("gather", 64): {"bare": 50.0, linear: 30.0}, ("gather", 65536): alone}
    path = result_file(tmp_path / "all.bench.jsonl", times)
    rules = read_results([path]).rules(sizeless=("gather",)).rules
    assert all(r.default for r in rules), "one row would hold for both"
    path = result_file(tmp_path / "shape.bench.jsonl", {("allreduce", 1024): both})
    assert [r for r in read_results([path]).rules().rules if not r.default]
    lines = path.read_text().splitlines()
    samples = [x for x in lines if json.loads(x).get("candidate") == "bare"]
    more = [x.replace("MPI_BYTE", "MPI_DOUBLE") for x in samples]
    path.write_text("\n".join([*lines, *more, ""]))
    assert all(r.default for r in read_results([path]).rules().rules)


@pytest.mark.parametrize(("target", "version"), [("openmpi-4", "4.1.4"), ("openmpi-6", "6.0.0")])
def test_settings_that_rows_cannot_hold_make_another_candidate(
    target: str, version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were dropped, and what is left was never measured; a prefix is no other setting."""
    mpi = MPIIdentity("openmpi", "openmpi", version, "Open MPI")
    with_more = "native:coll_tuned_allreduce_algorithm=4,btl_vader_eager_limit=65536"
    prefixed = "native:OMPI_MCA_coll_tuned_allreduce_algorithm=3"
    times = {("allreduce", 1024): {"bare": 50.0, with_more: 20.0, prefixed: 30.0}}
    path = result_file(tmp_path / "r.bench.jsonl", times, mpi=mpi)
    out = tmp_path / "out"
    assert main(["export", "--to", target, "--out", str(out), "--json", str(path)]) == 0
    lost = json.loads(capsys.readouterr().out)["lost"]
    assert "rows have no place for btl_vader_eager_limit; the next best" in lost[0]
    (row,) = EXPORT.read(out / NAME).rows
    assert row.settings == [["coll_tuned_allreduce_algorithm", "3"]]


def test_where_rows_of_open_mpi_hold_is_said() -> None:
    """They know the number of ranks only."""
    rules = [
        Rule("allreduce", RankLayout(2, 4, 8), 0, None, (*RING, ("coll_han_priority", "0"))),
        Rule("allreduce", FIVE, 0, None, RING),
    ]
    (said,) = (x for x in openmpi.classic(rules, "4").lost if "wherever these lie" in x)
    assert said.endswith("were measured on 5 ranks on 1 x 5, 8 ranks on 2 x 4")
    said = " ".join(openmpi_json.json_rules(rules).lost)
    assert "wherever these lie, and were measured on 8 ranks on 2 x 4" in said


@pytest.mark.parametrize("target", ["openmpi-4", "openmpi-6"])
def test_a_layout_that_nobody_measured_is_refused(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [
        str(result_file(tmp_path / f"{x.nodes}.bench.jsonl", {("bcast", 8): {"bare": 2.0}}, x))
        for x in (RankLayout(2, 4, 8), RankLayout(1, 8, 8))
    ]
    words = ["export", "--to", target, "--out", str(tmp_path / "out"), *paths]
    assert main([*words, "--nodes", "7", "--ppn", "3"]) == 2
    said = capsys.readouterr().err
    assert "no results are of 7 x 3" in said and "measured: 1 x 8, 2 x 4" in said
    assert main([*words, "--nodes", "2", "--ppn", "8"]) == 2, "neither layout is both"
    assert main([*words, "--nodes", "2"]) == 0
