"""Outputs whose lines the launcher has tagged with ranks: stripped, and no rank's mixed up."""

from __future__ import annotations

import random

import pytest

from stretto.imports import osu
from stretto.imports.printed import TableLine

TITLE = (
    "# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"
)
OSU = (
    f"\n{TITLE}4   2.10\n8   2.30\n16   2.75\n\n"
    "# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n1.25\n"
)
#: what another rank may say meanwhile: an empty line ends a table, a title begins another
OTHER = (
    "warning: no huge pages\n\n# OSU MPI Broadcast Latency Test v7.4\n32  9.99\n8 1 2 3\n\nbye\n"
)
TAGS = {
    "Open MPI 4": "[1,{}]<stdout>:",
    "Open MPI 5": "[1,{}]<stdout>: ",
    "--output rank": "[{}]<stdout>: ",
    "a job's name": "[prterun-node1-77@1,{}]<stdout>: ",
    "srun -l": "{:>3}: ",
    "hydra": "[{}] ",
    "pdsh": "node{}: ",
}
EVERY = pytest.mark.parametrize("tag", TAGS.values(), ids=TAGS)


def tagged(text: str, tag: str, rank: int = 0) -> list[str]:
    return [tag.format(rank) + line + "\n" for line in text.splitlines()]


def lines_of(text: str) -> dict[str | None, list[TableLine]]:
    return {t.collective: t.lines for t in osu.read(text, "f").tables}


@EVERY
@pytest.mark.parametrize("seed", range(5))
def test_ranks_that_print_in_turn_are_not_mixed_up(tag: str, seed: int) -> None:
    mine, other = tagged(OSU, tag), tagged(OTHER, tag, 11)
    order = [0] * len(mine) + [1] * len(other)
    random.Random(seed).shuffle(order)
    ways = iter(mine), iter(other)
    found = [next(ways[which]) for which in order]
    tables = [t for t in osu.read("".join(found), "f").tables if t.collective != "bcast"]
    assert {t.collective: t.lines for t in tables} == lines_of(OSU)
    at = int(tables[0].place.rpartition(":")[2])
    assert "Allreduce" in found[at - 1], "places are those in the file"


@EVERY
def test_a_cut_last_line_is_told(tag: str) -> None:
    whole = "".join(tagged(f"{TITLE}4   2.10\n8   2.30\n", tag))
    reading = osu.read(whole[:-2], "f")
    assert [x.bytes for x in reading.tables[0].lines] == [4]
    assert reading.problems == ["f:5: the last line is cut off and was dropped"]


def test_lines_without_the_tag_do_not_hide_a_table() -> None:
    """A line of the job's script before them, and nothing was read."""
    text = "".join(tagged(OSU, "[{}] "))
    assert lines_of("a line of the job's script\n" + text) == lines_of(OSU)
    assert lines_of(OSU + "[0] goodbye\n") == lines_of(OSU)
    mixed = text + "".join(tagged(OTHER, "[1,{}]<stdout>:", 1))
    assert lines_of(mixed) == lines_of(OSU) | lines_of(OTHER), "of two launchers"


def in_pieces(text: str, tag: str, seed: int) -> str:
    """As hydra hands on what it reads in pieces: a tag before each, and before its line's end."""
    chance, out = random.Random(seed), []
    for line in text.splitlines():
        out.append(tag)
        for letter in line:
            out.append(letter + (tag if chance.random() < 0.2 else ""))
        out.append(tag * chance.randint(0, 1) + "\n")
    return "".join(out)


@pytest.mark.parametrize("seed", range(20))
def test_tags_in_the_midst_of_lines(seed: int) -> None:
    """Intel MPI's -prepend-rank on a busy machine: tables were lost without a word."""
    reading = osu.read(in_pieces(OSU, "[3] ", seed), "f")
    assert {t.collective: t.lines for t in reading.tables} == lines_of(OSU)
    assert not reading.problems


LOGS = {
    "GitHub": "2026-11-27T10:00:{:02}.1234567Z ",
    "gh run view": "build\tRun benchmarks\t2026-11-27T10:00:{:02}.1234567Z ",
    "GitLab": "2026-11-27T10:00:{:02}.123456Z 01O ",
    "Jenkins": "[2026-11-27T10:00:{:02}.123Z] ",
    "Jenkins, plain": "10:00:{:02}  ",
    "Kubernetes": "2026-11-27T10:00:{:02}.123456789Z stdout F ",
    "kubectl --prefix": "[pod/osu-launcher-x7/osu] ",
    "log4j": "2026-11-27 10:00:{:02},123 INFO ",
    "ts": "Nov 27 10:00:{:02} ",
    "ts -s": "00:00:{:02} ",
    "ts %.s": "17642700{:02}.123456 ",
    "syslog": "Nov 27 10:00:{:02} node1 slurmstepd[77]: ",
    "docker compose": "mpi_head-1  | ",
    "foreman": "10:00:{:02} bench.1  | ",
    "pdsh": "node017: ",
    "jsrun": "  0:",
    "colours": "\x1b[0;32m\x1b[0m",
    "Buildkite": "\x1b_bk;t=17642700{:02}\x07",
    "Python's logging": "2026-11-27 10:00:{:02},123 - osu - INFO - ",
    "any text": "INFO:osu:",
    "another text": "| ",
    "a comment": "# ",
    "an address": "10.0.0.12: ",
    "seconds since 1970": "17642700{:02} ",
    "seconds": "{:02}.5s ",
    "grep -n": "1{:02}:",
    "a quotation": "> ",
    "a quotation of one": "> > ",
    "a host and a rank": "node017: [1,0]<stdout>:",
    "GitHub and a rank": "2026-11-27T10:00:{:02}.1234567Z [0] ",
}


@pytest.mark.parametrize("trimmed", [False, True])
@pytest.mark.parametrize("form", LOGS.values(), ids=LOGS)
def test_prefixes_of_logs_are_stripped(form: str, trimmed: bool) -> None:
    """There was nothing to import."""
    lines = [form.format(i) + line for i, line in enumerate(OSU.splitlines())]
    text = "".join((x.rstrip() if trimmed else x) + "\n" for x in lines)
    reading = osu.read("a line of the script\n" + text, "f")
    assert {t.collective: t.lines for t in reading.tables} == lines_of(OSU)
    assert not reading.problems
    assert reading.tables[0].place == "f:3"


def test_prefixes_of_any_text_are_read_by_themselves_or_named() -> None:
    lines = [f"{who}> {line}\n" for line in OSU.splitlines() for who in "AB"]
    found = osu.read("".join(lines), "f").tables
    assert len(found) == 4 and all(t.lines == lines_of(OSU)[t.collective] for t in found)
    unknown = "".join(f"{i}-{i}.out {line}\n" for i, line in enumerate(OSU.splitlines()))
    reading = osu.read(unknown, "f")
    assert not reading.tables and "f:2: '1-1.out' precedes a title" in reading.problems[0]


def test_a_prefix_before_other_lines_alone_is_none() -> None:
    """Rows of a table look like a clock or a rank's number now and then."""
    text = f"2026-11-27T10:00:00Z start\n0: warning\n{OSU}> quoted\n12:00:00 end\n"
    assert lines_of(text) == lines_of(OSU)
