"""What `stretto compare` takes for one call, and for one algorithm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from results import write_results
from stretto.cli import main
from stretto.files.bench import Sample, read_bench
from stretto.files.identity import MPIIdentity
from stretto.report.ranking import rank
from stretto.report.sources import sources

RING = "native:coll_tuned_allreduce_algorithm=4,coll_tuned_use_dynamic_rules=1"
BINOMIAL = "native:coll_tuned_bcast_algorithm=6"
TYPES = {"MPI_CHAR": 1.0, "MPI_INT": 1.5, "MPI_FLOAT": 2.2}


def results(
    path: Path,
    times: dict[str, dict[str, float]],
    collective: str = "bcast",
    version: str = "4.1.4",
    nodes: int = 1,
) -> Path:
    """Times in us by datatype, then by candidate."""
    samples = [
        Sample(launch, collective, candidate, 8, datatype, None, 0, "latency", 1,
               [us * (1 + 0.001 * (launch % 3))], True)
        for launch in range(8)
        for datatype, found in times.items()
        for candidate, us in found.items()
    ]  # fmt: skip
    return write_results(path, samples, MPIIdentity("openmpi", "openmpi", version, version), nodes)


def test_datatypes_of_one_call_are_not_mixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OSU's bcast with three types: three lines "default", one of them "122% slower"."""
    times = {t: {"bare": 10.0 * x, BINOMIAL: 10.1 * x} for t, x in TYPES.items()}
    path = results(tmp_path / "a.bench.jsonl", times)
    assert main(["compare", str(path), "--json"]) == 0
    calls = json.loads(capsys.readouterr().out)["calls"]
    assert len(calls) == 3
    for call in calls:
        assert sorted(e["candidate"] for e in call["entries"]) == ["bare", BINOMIAL]
        assert [d["own_best"]["outcome"] for d in call["defaults"]] == ["same"]
    assert main(["compare", str(path), "--all"]) == 0
    said = capsys.readouterr().out
    assert all(f"({datatype})" in said for datatype in TYPES), said
    assert "slower" not in said


def test_one_type_each_is_compared_as_before(tmp_path: Path) -> None:
    """Bytes sent as MPI_BYTE here and as MPI_CHAR there, OSU's, are the same call."""
    one = results(tmp_path / "a.bench.jsonl", {"MPI_BYTE": {"bare": 10.0}})
    other = results(tmp_path / "b.bench.jsonl", {"MPI_CHAR": {"bare": 9.0}}, version="5.0.11")
    files = sources([(p, read_bench(p)) for p in (one, other)])
    (ranking,) = rank(files, {})
    assert len(ranking.entries) == 2 and ranking.place.shape == ""
    # two files of one MPI that hold different candidates are one MPI: its types are told apart
    (tmp_path / "c").mkdir()
    more = results(tmp_path / "c/d.bench.jsonl", {"MPI_INT": {BINOMIAL: 9.0}})
    files = sources([(p, read_bench(p)) for p in (one, more)])
    assert {f.mpi for f in files} == {"Open MPI 4.1.4"}
    assert {r.place.shape for r in rank(files, {})} == {"MPI_BYTE", "MPI_INT"}


@pytest.mark.parametrize(
    ("version", "nodes", "labels"),
    [
        ("4.1.4", 2, {"": "tuned ring", ",coll_han_priority=0": "tuned ring",
                      ",coll_han_priority=100": "tuned ring(coll_han_priority=100)"}),
        ("5.0.11", 1, {"": "tuned ring", ",coll_han_priority=0": "tuned ring",
                       ",coll_han_priority=100": "tuned ring(coll_han_priority=100)"}),
        ("5.0.11", 2, {"": "tuned ring(coll_han_priority not set)",
                       ",coll_han_priority=0": "tuned ring",
                       ",coll_han_priority=100": "tuned ring(coll_han_priority=100)"}),
    ],
)  # fmt: skip
def test_an_algorithm_that_han_stands_above_is_not_called_by_its_name_alone(
    version: str, nodes: int, labels: dict[str, str], tmp_path: Path
) -> None:
    times = {"MPI_FLOAT": {RING + more: 10.0 + i for i, more in enumerate(labels)}}
    path = results(tmp_path / "a.bench.jsonl", times, "allreduce", version, nodes)
    (ranking,) = rank(sources([(path, read_bench(path))]), {})
    assert {e.candidate.removeprefix(RING): e.label for e in ranking.entries} == labels
