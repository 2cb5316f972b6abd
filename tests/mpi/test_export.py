"""Native tuning files: from results to rules, in each MPI's grammar, and read back through it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exports import result_file
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.export import openmpi, openmpi_json
from stretto.export.native_rows import NativeRow
from stretto.export.openmpi_words import unsaid
from stretto.export.output import Export
from stretto.export.rules import Rule, read_results
from stretto.export.targets import Wishes, writer_for
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout

FIVE = RankLayout(1, 5, 5)
RING = (("coll_tuned_allreduce_algorithm", "4"), ("coll_tuned_use_dynamic_rules", "1"))


def rows_of(export: Export) -> list[NativeRow]:
    return openmpi.read_classic(export.files[openmpi.RULES_FILE], "f")


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
    assert (
        "coll_han_priority=100 cannot be used in these files" in second and "nothing else" in second
    )
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
    rows = rows_of(openmpi.classic(rules, "4"))
    assert {r.collective for r in rows} == {"allreduce"}, "what has no rule is not named"
    for ranks in range(2, 20):
        for size in (0, 999, 1000, 9999, 10000, 1 << 30):
            inside = (ranks == 5 and 1000 <= size < 10000) or ranks in (6, 9)
            (found,) = (r.settings for r in rows if r.holds(ranks, size))
            assert found == (RING[:1] if inside else ()), (ranks, size)


@pytest.mark.parametrize(
    ("collective", "factor"),
    [("allgather", 5), ("alltoall", 5), ("reduce_scatter_block", 5), ("bcast", 1), ("reduce", 1),
     ("reduce_scatter", 5), ("allgatherv", 1)],
)  # fmt: skip
def test_open_mpi_counts_in_its_own_way(collective: str, factor: int) -> None:
    setting = ((f"coll_tuned_{collective}_algorithm", "2"),)
    rules = [Rule(collective, FIVE, 0, 99, ()), Rule(collective, FIVE, 100, None, setting)]
    found = [(r.low, r.settings) for r in rows_of(openmpi.classic(rules, "4")) if r.first == 5]
    assert found == [(0, ()), (100 * factor, setting)]


def test_what_open_mpi_cannot_say_is_said() -> None:
    radix = (("coll_tuned_bcast_algorithm", "7"), ("coll_tuned_bcast_algorithm_knomial_radix", "8"))
    of_han = (("coll_han_use_reduce_algorithm", "2"),)
    for collective, settings, words in (
        ("bcast", radix, "rows cannot express coll_tuned_bcast_algorithm_knomial_radix"),
        ("reduce", of_han, "coll_han_use_reduce_algorithm is not for rules of coll/tuned"),
    ):
        assert unsaid(Rule(collective, FIVE, 0, None, settings), "5") == words


def test_two_files_of_one_collective_and_layout(tmp_path: Path) -> None:
    """The last one counts, and it is said."""
    name = "native:coll_tuned_bcast_algorithm=6,coll_tuned_use_dynamic_rules=1"
    paths = [
        result_file(tmp_path / f"{n}.bench.jsonl", {("bcast", n): {"bare": 10.0, name: 5.0}})
        for n in (8, 65536)
    ]
    found = read_results(paths).rules()
    assert {r.low for r in found.rules if not r.default} == {65536}
    assert any("several files have it; only the last" in x for x in found.lost)
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
    with pytest.raises(StrettoError, match="kinds of nodes cannot be mixed"):
        read_results([a, c])
    unknown = result_file(tmp_path / "u.bench.jsonl", times, cpu="unknown")
    with pytest.raises(StrettoError, match="kinds of nodes cannot be mixed"):
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


def test_where_rows_of_open_mpi_hold_is_said() -> None:
    """They know the number of ranks only."""
    rules = [
        Rule("allreduce", RankLayout(2, 4, 8), 0, None, (*RING, ("coll_han_priority", "0"))),
        Rule("allreduce", FIVE, 0, None, RING),
    ]
    (said,) = (x for x in openmpi.classic(rules, "4").lost if "on any nodes" in x)
    assert said.endswith("measured on 5 ranks on 1 x 5, 8 ranks on 2 x 4")
    said = " ".join(openmpi_json.json_rules(rules).lost)
    assert "on any nodes; measured on 8 ranks on 2 x 4" in said


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
