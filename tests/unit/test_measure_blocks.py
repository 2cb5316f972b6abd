"""Sizes of blocks that differ: as typed, as recorded, and as they reach the measuring program."""

from __future__ import annotations

from pathlib import Path

import pytest

from stretto.errors import StrettoError, UsageError
from stretto.files.bench import Sample
from stretto.files.profile import Call
from stretto.measure.blocks import (
    check_graph,
    parse_pattern,
    pattern,
    recorded_pattern,
)
from stretto.measure.job import format_job, parse_sample
from stretto.measure.ledger import Ledger
from stretto.measure.settings import Settings, make_case
from stretto.tune.needs import find_needs
from test_tune_application import call, profile


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({8: 1}, ""),
        ({100: 1, 104: 1}, ""),  # alike
        ({0: 3, 40: 1}, "0:75,4:25"),
        ({0: 0, 40: 1}, ""),
        ({}, ""),
        ({0: 5}, ""),  # nothing moves
        ({2**i: 1 for i in range(20)}, None),
    ],
)
def test_pattern_of_weights_is_relative_to_the_mean(
    weights: dict[float, float], words: str | None
) -> None:
    found = pattern(weights)
    if words is not None:
        assert found == words
        return
    parts = [tuple(map(float, part.split(":"))) for part in found.split(",")]
    assert len(parts) == 8 and parts == sorted(parts)
    assert sum(p for _, p in parts) == pytest.approx(100, abs=0.5)
    assert sum(f * p for f, p in parts) == pytest.approx(100, rel=0.01)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1", "not FACTOR:PERCENT"),
        ("1:x", "not FACTOR:PERCENT"),
        ("1:50:2", "not FACTOR:PERCENT"),
        ("1:50,2:40", "do not add up to 100"),
        ("-1:50,2:50", "out of range"),
        ("nan:50,2:50", "out of range"),
        ("0:100", "all blocks are empty"),
        (",".join(f"{i}:10" for i in range(10)), "more than 8"),
    ],
)
def test_typed_pattern_wrong_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_pattern(text)


def test_recorded_pattern_is_that_of_the_costliest_calls() -> None:
    rows: list[Call] = [
        call("MPI_Allgatherv", bytes=[0, 1600]),
        call("MPI_Allgatherv", bytes=[800, 2400], bytes_min=16, bytes_max=31, time_s=[9.0, 9.0]),
    ]
    assert recorded_pattern(profile(*rows), "allgatherv", "f") == "0.5:50,1.5:50"
    with pytest.raises(StrettoError, match="alltoallv is not in this profile"):
        recorded_pattern(profile(*rows), "alltoallv", "f")


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ("torus(4x4)", "does not fit 8 ranks"),
        ("near(8)", "does not fit 8 ranks"),
        ("near()", "not a graph"),
        ("star", "not a graph"),
        ("torus5", "not a graph"),
        ("grid(2x2x2x1x1)", "not a graph"),
    ],
)
def test_graph_that_cannot_be_is_refused(graph: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_graph(graph, 8)


def test_neighbourhood_is_recorded_with_its_graph() -> None:
    near = {"kind": "neighborhood", "operation": None, "datatype": "MPI_INT"}
    rows = [
        call("MPI_Neighbor_alltoallw", **near, graph="torus(2)", blocks=[(4, 1), (12, 1)]),
        call("MPI_Neighbor_alltoall", **near),  # no graph
        call("MPI_Ineighbor_alltoallv", **near, graph="torus(2)"),
    ]
    (need,) = find_needs(profile(*rows)).chosen
    assert (need.collective, need.pattern) == ("neighbor_alltoallv", "torus(2)/0.5:50,1.5:50")
    found = recorded_pattern(profile(*rows), "neighbor_alltoallv", "f")
    assert found == "torus(2)/0.5:50,1.5:50"
    with pytest.raises(StrettoError, match="no graph"):
        recorded_pattern(profile(*rows), "neighbor_alltoall", "f")


def test_alltoallw_is_measured_as_alltoallv() -> None:
    (need,) = find_needs(profile(call("MPI_Alltoallw", blocks=[(4, 1), (12, 1)]))).chosen
    assert (need.collective, need.pattern) == ("alltoallv", "0.5:50,1.5:50")


def test_pattern_is_part_of_what_was_measured() -> None:
    """One size with two patterns: two cases, of which one is done."""
    both = [make_case("alltoallv", 64, ["native"], pattern=p) for p in ("", "0:50,2:50")]
    settings = Settings(2, tuple(both), ("stretto",), modes=("latency",))
    text = format_job(settings, 0, settings.cases_of("stretto"), Path("o"), Path("s"), 0)
    lines = [line for line in text.splitlines() if line.startswith("case")]
    assert lines == [
        "case alltoallv 64 MPI_BYTE MPI_SUM 0", "case alltoallv 64 MPI_BYTE MPI_SUM 0 0:50,2:50",
    ]  # fmt: skip
    found = parse_sample(
        {"launch": 0, "collective": "alltoallv", "candidate": "native", "bytes": 64,
         "datatype": "MPI_BYTE", "operation": "MPI_SUM", "root": 0, "mode": "latency", "batch": 1,
         "times_us": [1.0], "correct": True, "pattern": "0:50,2:50"}
    )  # fmt: skip
    assert isinstance(found, Sample) and found.pattern == "0:50,2:50"
    assert Ledger(settings, [found]).pending(0) == [both[0]]
