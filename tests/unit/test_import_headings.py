"""What a heading of OSU's names is read as that, or left out; columns are not guessed past it."""

from __future__ import annotations

import pytest

from stretto.imports import osu

TITLE = "\n# OSU MPI Allreduce Latency Test v7.4\n"
HEADING = "# Size       Avg Latency(us)\n"
NEXT = TITLE + HEADING + "4  1.00\n8  1.05\n16  1.10\n"

UNKNOWN = [
    "# Size       Avg Latency(ms)",
    "# Size       Avg Latency(s)",
    "# Size   Bus BW (MB/s)",
    "# Size  Min Latency(us)",
    "# Size  Latency (ms)",
    "# Size  Latency (us)",  # of version 3.1.1: of which ranks is not known
    "# Size Whatever",
]


@pytest.mark.parametrize("heading", UNKNOWN)
@pytest.mark.parametrize("title", [TITLE, "\n\n"], ids=["titled", "untitled"])
def test_unknown_columns_are_not_guessed(title: str, heading: str) -> None:
    """They were read as means in microseconds."""
    reading = osu.read(title + heading + "\n8  1.25\n16  1.50\n" + NEXT, "f")
    assert [len(t.lines) for t in reading.tables] == [3]
    (problem,) = reading.problems
    assert problem.startswith(f"f:3: {heading[2:]}") and "left out" in problem


@pytest.mark.parametrize("heading", ["# Avg Latency(ms)", "# Min Latency (us)"])
def test_unknown_columns_of_a_barrier(heading: str) -> None:
    text = TITLE.replace("Allreduce", "Barrier") + heading + "\n       7.25\n"
    reading = osu.read(text, "f")
    assert not reading.tables and reading.problems[0].startswith("f:3: ")


@pytest.mark.parametrize(
    "heading", ["", HEADING, "# Size Avg Latency(us)\n", "# Size    Avg Latency (us)\n"]
)
def test_known_columns_and_none_at_all(heading: str) -> None:
    reading = osu.read(TITLE + heading + "8  1.25\n16  1.50\n", "f")
    assert [x.average for t in reading.tables for x in t.lines] == [1.25, 1.5]
    assert not reading.problems
