"""stretto net on four nodes: capped streams, a slow host, losses, iperf3 beside it, lost hosts.

The caps are far below what the cores can do, so that the figures hold on a busy machine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import clusters
from clusters import testbed
from mpis import MPIS, beside_others

pytestmark = [pytest.mark.root, pytest.mark.mpi]

#: of every link; of a stream; of the slow host
LINK, STREAM, SLOW = 200, 40, 50
#: payload in a packet of 1500 bytes, Ethernet header included in what tbf and htb count
PAYLOAD = 1448 / 1514


nodes = clusters.nodes_of(4, bandwidth=f"{LINK}mbit")


def command(nodes: testbed.Cluster, hosts: Sequence[int], *words: str) -> list[str]:
    names = ",".join(nodes.nodes[i].name for i in hosts)
    argv = [sys.executable, "-m", "stretto", "net", "tcp", "--agent", str(testbed.AGENT)]
    return [*argv, "--hosts", names, *words]


def net(
    nodes: testbed.Cluster, hosts: Sequence[int], *words: str, status: int = 0
) -> dict[str, Any]:
    argv = command(nodes, hosts, "--json", *words)
    done = clusters.call(argv, nodes.shared, dict(os.environ), status, 200)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def capped(mbits: float, queue: str = "latency 1s") -> list[str]:
    return [f"qdisc add dev eth0 root tbf rate {mbits}mbit burst 50k {queue}"]


def rates(found: dict[str, Any]) -> dict[tuple[str, int], float]:
    """Mb/s of payload by target and streams: of the fastest run, as a busy machine only slows."""
    return {
        (point["target"], point["streams"]): 8e-6 * max(r["rate_bytes_s"] for r in point["runs"])
        for point in found["streams"]
    }


QUICK = ("--no-latency", "--threads", "1", "--seconds", "0.5", "--warmup", "0.2")


def test_net_where_each_stream_is_capped_reports_the_cap(nodes: testbed.Cluster) -> None:
    clusters.tc(nodes, 0, clusters.capped_streams(STREAM))
    try:
        pair = f"{nodes.nodes[0].name}:{nodes.nodes[1].name}"
        words = ["--pairs", pair, "--streams", "1,4", "--tool", "own", "-o", "cap.net.json"]
        until = time.monotonic() + clusters.LOOKS_S
        while True:
            found = net(nodes, [0, 1], *QUICK, *words)
            by_streams = {count: rate for (_, count), rate in rates(found).items()}
            # a receiver that a busy machine held back reads later what its socket has kept
            most = max(rate / count for count, rate in by_streams.items())
            reached = by_streams[4] == pytest.approx(4 * by_streams[1], rel=0.15)
            reached &= most < 1.15 * STREAM
            if reached or time.monotonic() > until:
                break
    finally:
        clusters.tc(nodes, 0, capped(LINK))
    assert reached, by_streams
    text = found["answer"]["text"]
    said = re.search(r"each stream is capped at about ([\d.]+) Mb/s", text)
    assert said and float(said[1]) == pytest.approx(by_streams[1], rel=0.15), text
    assert "btl_tcp_links 4" in found["answer"]["remedy"]
    assert (nodes.shared / "cap.net.json").is_file()


def test_net_with_a_slow_host_and_a_lossy_pair_names_both(nodes: testbed.Cluster) -> None:
    outside = f"{nodes.bridges[0]}v3"
    clusters.tc(nodes, 2, capped(SLOW))
    clusters.tc(nodes, 0, capped(LINK, "limit 60k"))
    replace = ["tc", "qdisc", "replace", "dev", outside, "root", "tbf", "burst", "50k"]
    subprocess.run([*replace, "rate", f"{SLOW}mbit", "latency", "1s"], check=True, timeout=300)
    try:
        until, by_topic = time.monotonic() + clusters.LOOKS_S, {}
        while set(by_topic) != {"host", "loss"} and time.monotonic() < until:
            found = net(nodes, [0, 1, 2, 3], *QUICK, "--streams", "4", "--tool", "own")
            by_topic = {finding["topic"]: finding for finding in found["findings"]}
    finally:
        clusters.tc(nodes, 2, capped(LINK))
        clusters.tc(nodes, 0, capped(LINK))
        subprocess.run([*replace, "rate", f"{LINK}mbit", "latency", "1s"], check=True, timeout=300)
    names = [node.name for node in nodes.nodes]
    assert by_topic["host"]["hosts"] == [names[2]] and "both" in by_topic["host"]["text"], found
    assert by_topic["loss"]["hosts"] == names[:2]
    assert set(by_topic) == {"host", "loss"}, by_topic


@pytest.mark.long
def test_net_figures_are_those_of_iperf3_or_of_the_cap(nodes: testbed.Cluster) -> None:
    tools = ["own", "iperf3"] if shutil.which("iperf3") else ["own"]
    words = ["--streams", "1,4", "--runs", "3", "--no-latency", "--threads", "1", "--seconds", "1"]
    pair = f"{nodes.nodes[1].name}:{nodes.nodes[2].name}"
    found = {tool: net(nodes, [1, 2], *words, "--pairs", pair, "--tool", tool) for tool in tools}
    for tool, result in found.items():
        assert {point["tool"] for point in result["streams"]} == {tool}
        for key, rate in rates(result).items():
            assert rate == pytest.approx(LINK * PAYLOAD, rel=0.05), (tool, key)
            assert rate == pytest.approx(rates(found["own"])[key], rel=0.05), (tool, key)


def test_net_with_both_and_all_at_once_shares_the_links(nodes: testbed.Cluster) -> None:
    words = ["--no-latency", "--streams", "2", "--threads", "1", "--runs", "1", "--seconds", "1"]
    both = net(nodes, [0, 1], *words, "--both")
    assert [point["beside"] for point in both["streams"]] == ["reverse", "reverse"]
    every = net(nodes, [0, 1, 2], *words, "--all-pairs", "--at-once")
    assert len(every["streams"]) == 6
    for point in every["streams"]:  # two leave each host at the same time, and two arrive
        assert point["beside"] == "all" and point["tool"] == "own"
    total = sum(rates(every)[key] for key in rates(every))
    assert total < 3 * LINK, "what one target gets by two pairs is more than its link"


def test_net_by_the_launcher_of_an_mpi(nodes: testbed.Cluster) -> None:
    env = clusters.environment(nodes, "openmpi4")
    argv = command(nodes, [0, 1], "--latency", "--runs", "1", "--json", "--mpi")
    words = [word for word in argv if word not in ("--agent", str(testbed.AGENT))]
    prefix = str(MPIS["openmpi4"].require().prefix)
    done = clusters.call([*words, prefix], nodes.shared, env)
    found = json.loads(done.stdout)
    assert [host["node"] for host in found["hosts"]] == [n.name for n in nodes.nodes[:2]]
    assert all(run["min_us"] > 0 for point in found["latencies"] for run in point["runs"])


@pytest.mark.long
def test_net_whose_host_dies_reports_the_others_and_leaves_nothing(
    nodes: testbed.Cluster, tmp_path: Path
) -> None:
    words = ["--no-latency", "--streams", "2", "--threads", "1", "--runs", "1", "--seconds", "12"]
    argv = command(nodes, [0, 1, 2, 3], "--json", "--pairs", *[
        ",".join(f"{nodes.nodes[a].name}:{nodes.nodes[b].name}" for a, b in ((0, 1), (2, 3)))
    ], *words)  # fmt: skip
    with beside_others(), (tmp_path / "out").open("w+") as out:
        begin = time.monotonic()
        job = subprocess.Popen(argv, stdout=out, stderr=subprocess.DEVNULL, cwd=nodes.shared)
        try:
            limit = time.monotonic() + 100
            while "stretto-net" not in running(nodes, 0) and time.monotonic() < limit:
                time.sleep(0.2)
            time.sleep(4)
            nodes.kill(3)
            assert job.wait(100) == 1 and time.monotonic() - begin < 100
        finally:
            job.kill()
            job.wait()
        out.seek(0)
        found = json.loads(out.read())
    assert [point["source"] for point in found["streams"]] == [nodes.nodes[0].name]
    (lost,) = found["failed"]
    assert lost["target"] == nodes.nodes[3].name and lost["remedy"]
    for index in range(3):
        assert "stretto-net" not in running(nodes, index)


def running(nodes: testbed.Cluster, index: int) -> str:
    """The names of what runs on a node."""
    return nodes.run(index, ["sh", "-c", "cat /proc/[0-9]*/comm"]).stdout
