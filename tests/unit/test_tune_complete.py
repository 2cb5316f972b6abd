"""A table's row holds where its algorithm was measured: not beside a size or shape it lacks.

What crashed or was excluded in a call has no times there, and a comparison that is not made tells
nothing; only the times of the MPI by itself say that the call was to be measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from exports import FIVE, result_file
from stretto.campaign.decide import decide_all
from stretto.campaign.layout import Layout
from stretto.files.bench import read_bench
from stretto.files.table import Row
from stretto.measure.baseline import fair
from stretto.measure.compare import decisive, timings
from stretto.tune.decide import SizeRange, calls_of, decide
from stretto.tune.table import decide_from

BOTH, ALONE = {"native": 50.0, "shm": 30.0}, {"native": 50.0}
Rows = Callable[[Path], list[Row]]


def by_tune(path: Path) -> list[Row]:
    ((decided,), _) = decide_from([path], path.with_suffix(".table"))
    return decided.rows


def by_sweep(path: Path) -> list[Row]:
    here = Layout(FIVE.nodes, FIVE.ppn)
    return decide_all({here: read_bench(path)}, {here: 1})[here].rows


def by_application(path: Path) -> list[Row]:
    """As `tune -- CMD` does it, which knows sizes that a measured one stands for."""
    times = timings(read_bench(path))
    spans = {"allreduce": {s: SizeRange(s, 2 * s - 1) for s in (1024, 4096, 16384)}}
    return decide(decisive(fair(times), times), 1, 5, spans, calls=calls_of(times))


WAYS = pytest.mark.parametrize("rows", [by_tune, by_sweep, by_application])


def held(rows: list[Row], size: int) -> str:
    (row,) = [r for r in rows if r.low <= size and (r.high is None or size <= r.high)]
    return row.choice


@WAYS
def test_a_row_does_not_reach_over_a_size_that_only_the_mpi_was_measured_at(
    rows: Rows, tmp_path: Path
) -> None:
    times = {("allreduce", 1024): BOTH, ("allreduce", 4096): ALONE, ("allreduce", 16384): BOTH}
    found = rows(result_file(tmp_path / "size.bench.jsonl", times))
    choices = [held(found, s) for s in (1024, 3000, 4096, 9000, 16384)]
    assert choices == ["shm", "native", "native", "native", "shm"]


@WAYS
@pytest.mark.parametrize(
    "key, value", [("datatype", "MPI_INT"), ("operation", "MPI_MAX"), ("root", 4)]
)
def test_a_row_does_not_cover_a_shape_that_only_the_mpi_was_measured_in(
    rows: Rows, key: str, value: object, tmp_path: Path
) -> None:
    path = result_file(tmp_path / "shape.bench.jsonl", {("allreduce", 1024): BOTH})
    assert held(rows(path), 1024) == "shm"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    more = [{**x, key: value} for x in lines if x.get("candidate") == "native"]
    path.write_text("".join(json.dumps(x) + "\n" for x in [*lines, *more]), encoding="utf-8")
    assert held(rows(path), 1024) == "native"


@WAYS
def test_one_row_for_all_sizes_needs_all_of_them(rows: Rows, tmp_path: Path) -> None:
    both = {("alltoallv", 64): BOTH, ("alltoallv", 4096): BOTH}
    (row,) = rows(result_file(tmp_path / "both.bench.jsonl", both))
    assert row.choice == "shm"
    times = {("alltoallv", 64): BOTH, ("alltoallv", 4096): ALONE}
    (row,) = rows(result_file(tmp_path / "alone.bench.jsonl", times))
    assert row.choice == "native"
