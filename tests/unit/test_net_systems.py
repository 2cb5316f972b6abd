"""Two network results compared: the answer, the figures, and what could not be compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.files.identity import Host, MPIIdentity
from stretto.files.net import (
    Latency,
    LatencyRun,
    Messages,
    NetFile,
    NetHost,
    NetImport,
    Ranks,
    StreamRun,
    Streams,
    write_net,
)
from stretto.net.systems import NetSystem, compared, lines, systems

MPI = MPIIdentity("openmpi", "openmpi", "5.0.6")
Out = pytest.CaptureFixture[str]
#: launches of a system that vary by 1 %
SPREAD = (0.99, 0.995, 1.0, 1.0, 1.005, 1.01, 1.002)
Key = tuple[str, int, int, int]
TCP: dict[Key, float] = {
    ("latency", 8, 1, 1): 20.0, ("latency", 1024, 1, 1): 25.0,
    ("bandwidth", 8, 1, 64): 4.0, ("bandwidth", 65536, 1, 64): 1180.0,
    ("bandwidth", 1 << 20, 1, 64): 1180.0, ("bandwidth", 2048, 8, 64): 5000.0,
    ("bandwidth", 1 << 20, 8, 64): 11000.0, ("sends", 8, 1, 64): 0.5,
}  # fmt: skip


def messages(values: dict[Key, float], launches: int = 7) -> list[Messages]:
    return [
        Messages(test, size, pairs, window, 1, "single",
                 "MB/s" if test.startswith("b") else "us",
                 [[value * s, value * s * 1.001] for s in SPREAD[:launches]])
        for (test, size, pairs, window), value in values.items()
    ]  # fmt: skip


def result(found: list[Messages] | None, hosts: tuple[str, ...] = ("a", "b")) -> NetFile:
    """Return a result of eight ranks on each of two hosts."""
    each = [host for host in hosts for _ in range(16 // len(hosts))]
    ranks = None if found is None else Ranks(MPI, each, found)
    return NetFile("0", "", Host("h", "c", 1, "k", 1), [], 0, 0, None, [], ranks=ranks)


def system(name: str, *results: NetFile) -> NetSystem:
    return NetSystem(name, (Path(name),), results)


def scaled(**factors: float) -> dict[Key, float]:
    return {k: v * factors.get(k[0], 1.0) for k, v in TCP.items()}


@pytest.mark.parametrize(
    ("other", "answer"),
    [
        (scaled(latency=0.5), "new against old: 8 B latency 2.00 times lower (1.98 to 2.02), "
         "bandwidth from 8 B equal, bandwidth, 8 pairs, from 2 KiB equal, message rate at 2 KiB "
         "equal."),
        (scaled(latency=2, bandwidth=0.5), "new against old: 8 B latency 2.00 times higher "
         "(1.98 to 2.02), bandwidth at 1 MiB 2.00 times lower (1.98 to 2.02), bandwidth, 8 pairs, "
         "at 1 MiB 2.00 times lower (1.98 to 2.02), message rate at 2 KiB 2.00 times lower "
         "(1.98 to 2.02)."),
        ({("latency", 8, 1, 1): 20.0}, "new against old: 8 B latency equal."),
        ({("sends", 8, 1, 64): 5.0}, "new against old: 8 B blocking send 10.0 times higher "
         "(9.90 to 10.1)."),
    ],
)  # fmt: skip
def test_compared_systems_begin_with_an_answer(other: dict[Key, float], answer: str) -> None:
    found = compared(system("old", result(messages(TCP))), system("new", result(messages(other))))
    assert found.answer == answer
    assert lines(found)[0] == answer


def test_compared_systems_with_few_launches_have_no_ratio() -> None:
    few = result(messages(scaled(latency=0.5), 5))
    found = compared(system("old", result(messages(TCP))), system("new", few))
    assert {row.words for row in found.rows} == {"not tested"}
    assert found.answer.startswith(
        "new against old: 8 B latency 10.0 us (against 20.0, not tested)"
    )
    assert "not tested: 8 figures; a system has 5 launches of some, and 6 are needed" in found.notes


def test_compared_systems_of_several_files_count_their_launches() -> None:
    """A directory is a system: its files are launches."""
    parts = [result(messages(scaled(latency=0.5 * s / SPREAD[0]), 1)) for s in SPREAD]
    found = compared(system("old", result(messages(TCP))), system("new", *parts))
    assert found.rows[0].values[1].n == 7 and "2.00 times lower" in found.rows[0].words


def test_compared_systems_name_what_only_one_has() -> None:
    old = result(messages({**TCP, ("pingping", 8, 1, 1): 9.0, ("latency", 16, 1, 1): 21.0}))
    new = replace(result(messages(TCP), ("x",)), imported=NetImport(["OSU 7.4"], [], [], []))
    notes = compared(system("old", old), system("new", new)).notes
    assert notes == (
        "only old has: pingping",
        "only old has: latency of 16 B",
        "old was measured between nodes, new within a node",
        "the systems were measured by different software: old by stretto; new by OSU 7.4",
    )


def tcp(pair: tuple[str, str], rate: float, tool: str = "own", streams: int = 4) -> NetFile:
    hosts = [NetHost(n, n, "", "", 1500, None, 1, "", "", 0, 0) for n in pair]
    runs = [
        StreamRun(rate * s / 8, [], 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1)
        for s in SPREAD
    ]
    one = Streams(*pair, streams, 1, 65536, "nothing", tool, runs)  # type: ignore[arg-type]
    latency = Latency(*pair, 8, "nothing", [LatencyRun(1, 1, 30 * s, 40) for s in SPREAD])
    return replace(result(None), hosts=hosts, streams=[one], latencies=[latency])


def test_compared_streams_of_other_pairs_and_tools_are_named() -> None:
    old, new = tcp(("a", "b"), 10e9), tcp(("c", "d"), 20e9)
    found = compared(system("old", old), system("new", new))
    assert found.answer == (
        "new against old: TCP latency equal, TCP, 4 streams x 1 thread (own) 2.00 times higher "
        "(1.98 to 2.02)."
    )
    assert "the systems have other pairs of hosts: medians over the pairs of each" in found.notes[0]
    other = compared(system("old", old), system("new", tcp(("a", "b"), 20e9, "iperf3")))
    assert "only new has: TCP, 4 streams x 1 thread (iperf3)" in other.notes


def test_compare_command_reads_files_and_directories(tmp_path: Path, capsys: Out) -> None:
    write_net(result(messages(TCP)), tmp_path / "old.net.json")
    (tmp_path / "new").mkdir()
    for i, spread in enumerate(SPREAD):
        part = result(messages(scaled(latency=0.5 * spread / SPREAD[0]), 1))
        write_net(part, tmp_path / "new" / f"{i}.net.json")
    two = [str(tmp_path / "old.net.json"), str(tmp_path / "new")]
    assert main(["compare", *two]) == 0
    assert capsys.readouterr().out.startswith("new against old: 8 B latency 2.00 times lower")
    assert main(["compare", *two, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"][0]["words"].startswith("2.00 times lower")
    assert [s.name for s in systems([Path(p) for p in two])] == ["old", "new"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("A",), "network results of 1 systems"),
        (("A", "A", "A"), "and two are compared"),
        (("A", "A", "-c", "bcast"), "leave out --collective"),
        (("A", "x.bench.jsonl"), "network results and others cannot be compared"),
        (("A", "B"), "the two share no measurement: A has latency, B TCP latency, TCP, 4 streams"),
    ],
)
def test_compare_command_refuses_what_is_not_two_systems(
    tmp_path: Path, capsys: Out, words: tuple[str, ...], expected: str
) -> None:
    write_net(result(messages({("latency", 8, 1, 1): 2.0})), tmp_path / "A.net.json")
    write_net(tcp(("a", "b"), 1e9), tmp_path / "B.net.json")
    named = [str(tmp_path / f"{w}.net.json") if len(w) == 1 else w for w in words]
    assert main(["compare", *named]) != 0
    assert expected in " ".join(capsys.readouterr().err.split())
