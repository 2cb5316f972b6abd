"""What `stretto compare` makes of launches: how few, in which order, and on which nodes."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from results import write_results
from stretto.cli import main
from stretto.files.bench import Sample
from stretto.files.identity import MPIIdentity
from stretto.kinds import Family, Source
from stretto.mpi.algorithms.pairs import job_words

BINOMIAL, LINEAR = (f"native:coll_tuned_bcast_algorithm={n}" for n in (6, 1))
#: what launches differ by, and the one that was luckiest
LUCK = [0.0, 0.2, -0.25, 0.1, -0.1, 0.15, -0.05, 0.3, -0.15, 0.05, 0.22, -0.2]
LUCKIEST = LUCK.index(min(LUCK))


def lucky(us: float, launches: Sequence[int] = range(12)) -> dict[int, float]:
    return {i: us * math.exp(LUCK[i] + 0.001 * (i * 7 % 5)) for i in launches}


def results(
    path: Path,
    times: Mapping[str, Mapping[int, float]],
    family: Family = "openmpi",
    hosts: Sequence[str] | None = None,
    host: str = "login1",
    node_cpu: str | None = None,
    sizes: Sequence[int] = (64,),
    source: Source = "measured",
    mode: str = "latency",
    nodes: int = 2,
    version: str = "4.1.4",
) -> Path:
    """Times in us by candidate, then by launch; of launches on `hosts`, with that processor."""
    samples = [
        Sample(i, "bcast", name, size, "MPI_BYTE", None, 0, mode, 1, [us], True, source=source)
        for name, found in times.items()
        for i, us in found.items()
        for size in sizes
    ]
    mpi = MPIIdentity(family, family, version)
    return write_results(path, samples, mpi, nodes, 2, host, hosts, node_cpu)


def compared(capsys: pytest.CaptureFixture[str], *paths: Path) -> dict[str, Any]:
    assert main(["compare", *map(str, paths), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_single_lucky_launch_is_nobodys_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Dropped after its first launch, and below all others' medians: a proven best was hidden."""
    times = {"native": lucky(10), BINOMIAL: lucky(8), LINEAR: lucky(9.8, [LUCKIEST])}
    a = results(tmp_path / "a.bench.jsonl", times)
    b = results(tmp_path / "b.bench.jsonl", {"native": lucky(13)}, "mpich")
    (call,) = compared(capsys, a, b)["calls"]
    first = call["entries"][0]
    assert (first["candidate"], first["common_launches"]) == (LINEAR, 1)
    assert first["to_default"] == pytest.approx(0.98), "in the launch that both have"
    assert first["to_best"] == pytest.approx(9.8 / 8)
    for d in call["defaults"]:
        assert (d["best_of_all"]["candidate"], d["best_of_all"]["outcome"]) == (BINOMIAL, "slower")
    mpich, mine = sorted(call["defaults"], key=lambda d: str(d["mpi"]))
    assert mine["own_best"]["ratio"] == pytest.approx(1.25)
    assert mpich["own_best"]["why"] == "none of its algorithms was measured"
    assert main(["compare", str(a), str(b)]) == 0
    said = capsys.readouterr().out
    (marked,) = [line for line in said.splitlines() if line.startswith("?  ")]
    assert "tuned basic_linear" in marked and "\n? fewer than 6 of these" in said


def test_between_mpis_the_numbers_of_launches_say_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Times of two kinds: by which launches stood together it was 8% slower, or x2.04."""
    draw = random.Random(0)
    fast = [10 * draw.lognormvariate(0, 0.01) for _ in range(11)] + [20.1] * 5
    slow = [21 * draw.lognormvariate(0, 0.01) for _ in range(11)] + [10.8] * 5
    a = results(tmp_path / "a.bench.jsonl", {"native": dict(enumerate(fast))})
    told = set()
    for seed in range(5):
        random.Random(seed).shuffle(slow)
        path = tmp_path / f"b{seed}.bench.jsonl"
        b = results(path, {"native": dict(enumerate(slow))}, "mpich")
        (call,) = compared(capsys, a, b)["calls"]
        (gap,) = [d["best_of_all"] for d in call["defaults"] if "MPICH" in d["mpi"]]
        told.add((gap["ratio"], gap["outcome"], gap["why"]))
    ((ratio, outcome, why),) = told
    assert outcome == "slower" and why.startswith(f"{100 * (ratio - 1):.0f} % slower")


@pytest.mark.parametrize(
    ("launches", "ratio"), [(1, "not tested"), (12, f"{13 / 10:.2f}")], ids=["one", "twelve"]
)
def test_two_defaults_are_one_table_over_sizes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], launches: int, ratio: str
) -> None:
    both = [
        results(
            tmp_path / f"{n}.bench.jsonl",
            {"bare": lucky(us, range(launches))},
            host=n,
            sizes=[64, 128],
        )
        for n, us in (("one", 10.0), ("two", 13.0))
    ]
    assert main(["compare", *map(str, both)]) == 0
    head, a, b, names, *rows, end = capsys.readouterr().out.splitlines()
    assert head.startswith("bcast on 2 x 2") and names.split() == [
        "bytes",
        "A",
        "us",
        "B",
        "us",
        "B",
        "/",
        "A",
    ]
    assert a == "  A: Open MPI 4.1.4 on one"
    assert b == "  B: Open MPI 4.1.4 on two"
    assert not end
    assert [row.split()[0] for row in rows[:2]] == ["64", "128"]
    assert all(row.endswith(ratio) for row in rows[:2])
    assert any("1 launch is too few" in row for row in rows[2:]) == (launches == 1)
    path = tmp_path / "model.bench.jsonl"
    model = results(path, {"bare": lucky(9)}, "mpich", sizes=[64, 128], source="simulated")
    assert main(["compare", str(both[0]), str(model)]) == 0
    printed = capsys.readouterr().out
    assert "MPICH 4.1.4 on login1 (simulated)" in printed
    assert "B / A" not in printed


def test_single_launches_have_a_table_of_sizes_and_an_untested_ratio(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of published results "inconclusive" was printed twice for each size, and no ratio."""
    times = {"bare": {0: 20.0}, BINOMIAL: {1: 5.0}, LINEAR: {2: 40.0}}
    path = results(tmp_path / "a.bench.jsonl", times, sizes=[64, 128])
    page = tmp_path / "p.html"
    assert main(["compare", str(path), "-o", str(page)]) == 0
    out, err = capsys.readouterr()
    headline = (
        "MPI_Bcast of 64 B on 2 x 2: tuned binomial is the fastest with 5.00 us. The default of "
        "Open MPI 4.1.4 takes 20.0 us: 4.00 times as long in one launch, not tested."
    )
    assert f"stretto: {headline}" in err and headline in page.read_text("utf-8")
    _, names, *rows, why, _, force, _, _ = out.split("\n")
    assert " ".join(names.split()) == "bytes MPI default us fastest us default / test"
    assert [row.split() for row in rows] == [
        f"{n} B Open MPI 4.1.4 20.0 tuned binomial 5.00 x4.00 not tested".split() for n in (64, 128)
    ]
    assert why.startswith("not tested: 1 launch is too few")
    # beside it the default took 6 us; over all of its launches the median is 2 us
    times = {"bare": {0: 6.0, 1: 2.0, 2: 2.0}, BINOMIAL: {0: 3.0}}
    slower = results(tmp_path / "b.bench.jsonl", times)
    assert main(["compare", str(slower)]) == 0
    err = capsys.readouterr().err
    assert "is the fastest" not in err and "Inconclusive: 1 launch is too few" in err
    option = "--mca coll_tuned_bcast_algorithm 6 --mca coll_tuned_use_dynamic_rules 1"
    assert force == f"to force tuned binomial for bcast at all sizes: {option}"
    assert option in page.read_text("utf-8") and "4.00 (not tested)" in page.read_text("utf-8")
    assert main(["compare", str(path), "--bytes", "64"]) == 0
    line = "default 20.0 us; own best and best of all: tuned binomial 5.00 us (default: 4.00 times"
    assert f"{line} as long in one" in capsys.readouterr().out
    assert job_words("MPIR_CVAR_X=tree,MPIR_CVAR_K=3") == "MPIR_CVAR_X=tree MPIR_CVAR_K=3"


#: nodes of two files and where their campaigns were started, and what a note says of them
NODES = [
    (["n1", "n2"], "login1", ["n7", "n8"], "login1", "Open MPI 4.1.4: n1, n2; MPICH 4.1.4: n7, n8"),
    (["n1", "n2"], "login1", ["n2", "n1"], "login2", None),
    (["n1", "n2"], "login1", ["n2", "n3"], "login1", "Open MPI 4.1.4: n1; MPICH 4.1.4: n3"),
    ([f"n{i}" for i in range(1, 10)], "n1", ["n9"], "n9",
     "Open MPI 4.1.4: n1, n2, n3, n4, n5, n6 and 2 more)"),
    (None, "n1", ["n1"], "login1", None),
    (None, "n1", None, "n1", None),
    (None, "n1", None, "n2", "Open MPI 4.1.4 on n1: n1; MPICH 4.1.4 on n2: n2"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "start", "other", "another", "told"), NODES)
def test_nodes_count_not_where_a_campaign_was_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], one: list[str] | None, start: str,
    other: list[str] | None, another: str, told: str | None,
) -> None:  # fmt: skip
    """Other nodes went without a word, and two login nodes made the same nodes two machines."""
    a = results(tmp_path / "a.bench.jsonl", {"native": lucky(10)}, "openmpi", one, start)
    b = results(tmp_path / "b.bench.jsonl", {"native": lucky(9)}, "mpich", other, another)
    notes = compared(capsys, a, b)["notes"]
    assert len(notes) == (told is not None)
    assert told is None or (told in notes[0] and "several machines" in notes[0])


@pytest.mark.parametrize(
    ("node_cpu", "host", "told"),
    [("EPYC 9R14", "login1", "EPYC 9R14"), (None, "q1", "cpu"), ("EPYC 7R13", "login2", None)],
)
def test_nodes_of_one_name_and_another_processor_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
    node_cpu: str | None, host: str, told: str | None,
) -> None:  # fmt: skip
    """Two clusters have a q-dy-c-1 each: one MPI was called slower for the other's processor."""
    nodes = ["q1", "q2"]
    a = results(
        tmp_path / "a.bench.jsonl", {"native": lucky(10)}, hosts=nodes, node_cpu="EPYC 7R13"
    )
    b = results(tmp_path / "b.bench.jsonl", {"native": lucky(8)}, "mpich", nodes, host, node_cpu)
    notes = compared(capsys, a, b)["notes"]
    words = f"Open MPI 4.1.4: q1, q2 (EPYC 7R13); MPICH 4.1.4: q1, q2 ({told})"
    assert notes == [] if told is None else words in notes[0], notes
    c = results(tmp_path / "c.bench.jsonl", {BINOMIAL: lucky(8)}, "openmpi", nodes, host, node_cpu)
    (call,) = compared(capsys, a, c)["calls"]
    assert len({e["mpi"] for e in call["entries"]}) == (1 if told is None else 2)


def test_compare_of_several_layouts_draws_each_mpi_over_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for version, speed in (("4.1.4", 2.0), ("5.0.11", 1.0)):
        for nodes in (2, 4, 16):
            times = {"bare": lucky(speed * nodes)}
            times |= {BINOMIAL: lucky(speed * nodes / 2)} if version == "5.0.11" else {}
            path = tmp_path / "results" / f"{version}-{nodes}.bench.jsonl"
            results(path, times, nodes=nodes, version=version, sizes=[8, 1024])
    one = tmp_path / "results" / "mpich.bench.jsonl"
    results(one, {"native:X=1": lucky(3)}, "mpich", version="5.0.2", sizes=[8])
    for words, sizes in (([], {8, 1024}), (["--bytes", "8"], {8}), (["--nodes", "2"], set())):
        charts = tmp_path / f"charts{len(sizes)}"
        command = ["compare", str(one.parent), *words, "--svg", str(charts)]
        assert main([*command, "-o", str(tmp_path / "page.html")]) == 0
        drawn = {p.name: p.read_text() for p in charts.glob("ranks-*")}
        assert set(drawn) == {f"ranks-bcast-0-latency-{n}.svg" for n in sizes}
        assert ("Latency against ranks" in (tmp_path / "page.html").read_text()) == bool(sizes)
    small = (tmp_path / "charts1" / "ranks-bcast-0-latency-8.svg").read_text()
    assert "MPI_Bcast of 8 B over ranks" in small and "2 ranks per node" in small
    names = ("4.1.4, default", "5.0.11, default", "5.0.11, fastest")
    for label in (*(f"Open MPI {name}" for name in names), "MPICH 5.0.2, fastest"):
        assert f">{label}</text>" in small
    assert ">Open MPI 4.1.4, fastest" not in small
    assert "binomial(coll_han_priority not set), 8 B, 16 nodes × 2 ranks | median 8.22 µs" in small
    assert all(f">{n}</text>" in small for n in (4, 8, 32))
    more = {"nodes": 1, "version": "5.0.11", "sizes": [8]}
    results(one.parent / "node.bench.jsonl", {"bare": lucky(1)}, mode="throughput", **more)
    assert main(["compare", str(one.parent), "--bytes", "8", "--svg", str(tmp_path / "both")]) == 0
    (chart,) = (tmp_path / "both").glob("ranks-*")
    assert "; 2 ranks are compared in the other mode (--mode)" in chart.read_text()
    capsys.readouterr()
