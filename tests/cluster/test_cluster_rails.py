"""stretto net rails on two nodes with two capped rails: connections, bytes, a pulled rail."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from statistics import median
from typing import Any

import pytest

import clusters
from clusters import testbed
from mpis import MPIS

pytestmark = [pytest.mark.root, pytest.mark.mpi]

#: Mb/s of a rail; of a connection where each is capped
LINK, STREAM = 100, 40
SPREAD = "pml_ob1_use_all_rdma=1,pml_ob1_max_rdma_per_request=1"


nodes = clusters.nodes_of(2, bandwidth=f"{LINK}mbit", rails=2)


def net(
    nodes: testbed.Cluster, command: str, *words: str, name: str = "openmpi4", status: int = 0,
    **variables: str,
) -> dict[str, Any]:  # fmt: skip
    names = ",".join(node.name for node in nodes.nodes)
    more = ["--mpi", str(MPIS[name].require().prefix)] if command == "rails" else []
    argv = [sys.executable, "-m", "stretto", "net", command, "--hosts", names, "--json", *more]
    env = clusters.environment(nodes, name) | variables
    done = clusters.call([*argv, *words], nodes.shared, env, status, 500)
    found = json.loads(done.stdout) if status == 0 else {"error": done.stderr}
    assert isinstance(found, dict)
    return found


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Settings with their bandwidth, connections of the pair, and share of eth1."""
    out = {}
    for one in found["rails"]["settings"]:
        traffic = [c for launch in one["traffic"] for c in launch]
        moved = {n: sum(c["sent"] for c in traffic if c["name"] == n) for n in ("eth0", "eth1")}
        rates = [median(launch) for m in one["messages"][:1] for launch in m["launches"]]
        out[one["name"]] = {
            "rate": median(rates), "sockets": {n for launch in one["sockets"] for n in launch},
            "eth1": moved["eth1"] / sum(moved.values()), "dropped": one["dropped"],
        }  # fmt: skip
    return out


def test_net_rails_counts_connections_and_the_bytes_of_both_rails(nodes: testbed.Cluster) -> None:
    """A cap is an upper bound, and two are twice one; a busy machine only slows."""
    candidates = f"btl_tcp_links=2,{SPREAD};btl_tcp_if_include=eth0"
    words = ["--bytes", "256K", "--launches", "1", "--candidates", candidates]
    until, reached = time.monotonic() + clusters.LOOKS_S, False
    while not reached and time.monotonic() < until:
        found = by_name(net(nodes, "rails", *words))
        native, spread, alone = found.values()
        assert native["sockets"] == {2} and 0.4 < native["eth1"] < 0.6
        assert spread["sockets"] == {4} and 0.3 < spread["eth1"] < 0.7
        assert alone["sockets"] == {1} and alone["eth1"] < 0.01
        assert alone["rate"] < 1.1 * LINK / 8
        reached = native["rate"] > 1.5 * alone["rate"]
    assert reached, found


def test_net_rails_counts_the_connections_of_each_provider(nodes: testbed.Cluster) -> None:
    """By itself MPICH takes UCX, which uses both rails; one provider is not there."""
    names = ("tcp", "sockets", "none")
    tried = [f"FI_PROVIDER={name},MPIR_CVAR_CH4_NETMOD=ofi" for name in names]
    words = ["--bytes", "256K", "--launches", "1", "--candidates", ";".join(tried)]
    found = net(nodes, "rails", *words, name="mpich")
    native, tcp, sockets, none = found["rails"]["settings"]
    assert [one["sockets"] for one in (native, tcp, sockets)] == [[[2]], [[1]], [[2]]]
    assert none["failed"] and not none["sockets"]
    failed = [f["text"] for f in found["findings"] if "failed" in f["text"]]
    assert len(failed) == 1 and "FI_PROVIDER=none" in failed[0]


def test_net_tcp_names_a_pulled_rail_and_the_bytes_of_each_interface(
    nodes: testbed.Cluster,
) -> None:
    outside = f"{nodes.bridges[1]}v2"
    pulled = nodes.nodes[1].name
    words = ["--agent", str(testbed.AGENT), "--no-latency", "--streams", "1", "--threads", "1"]
    words += ["--runs", "1", "--seconds", "0.3", "--warmup", "0", "--tool", "own"]
    subprocess.run(["ip", "link", "set", outside, "down"], check=True, timeout=300)
    try:
        found = net(nodes, "tcp", *words, "-o", "pulled.net.json")
    finally:
        subprocess.run(["ip", "link", "set", outside, "up"], check=True, timeout=300)
    (rail,) = [finding for finding in found["findings"] if finding["topic"] == "rail"]
    assert rail["hosts"] == [pulled] and rail["text"].startswith(f"eth1 is down on {pulled}")
    moved = {(c["host"], c["name"]): c["sent"] for c in found["traffic"]}
    assert moved[nodes.nodes[0].name, "eth0"] > 1e5 > moved[nodes.nodes[0].name, "eth1"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_net_rails_where_each_connection_is_capped_multiplies_the_cap(name: str) -> None:
    """Plain links of 2 and 4 are ignored, and named; spread, 1, 2 and 4 links carry alike."""
    with clusters.up(2, bandwidth="1000mbit", rails=1) as cluster:
        for index in range(2):
            clusters.tc(cluster, index, clusters.capped_streams(STREAM))
        candidates = [f"btl_tcp_links={n}{more}" for n in (2, 4) for more in ("", f",{SPREAD}")]
        words = ["--bytes", "256K", "--candidates", ";".join(candidates)]
        found = net(cluster, "rails", *words, name=name)
    settings = by_name(found)
    native = settings["native"]
    assert native["sockets"] == {1} and native["rate"] < 1.1 * STREAM / 8
    for links in (2, 4):
        plain, spread = (settings[f"btl_tcp_links={links}{x}"] for x in ("", " (spread)"))
        assert plain["sockets"] == {1} and plain["dropped"]
        assert spread["sockets"] == {links}
        assert spread["rate"] / native["rate"] == pytest.approx(links, rel=0.15)
    assert "btl_tcp_links=4 (spread) is fastest" in found["answer"]["text"]
    ignored = [f["text"] for f in found["findings"] if "is ignored" in f["text"]]
    assert [text.split(" ")[0] for text in ignored] == ["btl_tcp_links=2", "btl_tcp_links=4"]


@pytest.mark.long
def test_net_rails_with_a_pulled_rail_names_it(nodes: testbed.Cluster) -> None:
    """Open MPI waits for it: the error names it; where it is left out, it is a warning."""
    outside, pulled = f"{nodes.bridges[1]}v2", nodes.nodes[1].name
    words = ["--bytes", "256K", "--launches", "1", "--candidates", "btl_tcp_links=8"]
    subprocess.run(["ip", "link", "set", outside, "down"], check=True, timeout=300)
    try:
        failed = net(nodes, "rails", *words, status=1)
        found = net(nodes, "rails", *words, OMPI_MCA_btl_tcp_if_include="eth0")
    finally:
        subprocess.run(["ip", "link", "set", outside, "up"], check=True, timeout=300)
    assert f"eth1 is down on {pulled}" in failed["error"] and "try:" in failed["error"]
    assert found["findings"][0]["text"].startswith(f"eth1 is down on {pulled}")
