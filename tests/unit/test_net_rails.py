"""Links and rails without a cluster: counters of recorded machines, shares, the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from processes import run_program
from stretto.built import net_program
from stretto.errors import StrettoError
from stretto.files.identity import Host, MPIIdentity
from stretto.files.net import Messages, NetFile, RailBytes, Rails, RailSetting, read_net, write_net
from stretto.net.p2p import PING, Point
from stretto.net.rails import rows
from stretto.net.rails_judge import (
    between,
    ignored,
    named,
    options,
    pulled,
    rails_answer,
    rails_findings,
    rails_page,
    share_words,
    shares,
    traffic_lines,
    unused,
)
from stretto.net.show import as_json
from stretto.report.network import report
from stretto.report.page import PageFiles

ETH = {"type": "1", "operstate": "up", "speed": "25000"}
SPREAD = {
    "OMPI_MCA_btl_tcp_links": "4", "OMPI_MCA_pml_ob1_use_all_rdma": "1",
    "OMPI_MCA_pml_ob1_max_rdma_per_request": "1",
}  # fmt: skip


def interface(name: str, sent: int, received: int, **more: str) -> dict[str, str]:
    base = f"sys/class/net/{name}"
    files = {f"{base}/{n}": text for n, text in (ETH | more).items()}
    return files | {
        f"{base}/statistics/tx_bytes": str(sent), f"{base}/statistics/rx_bytes": str(received)
    }  # fmt: skip


def port(device: str, **files: str) -> dict[str, str]:
    base = f"sys/class/infiniband/{device}/ports/1"
    found = {"state": "4: ACTIVE", "rate": "100 Gb/sec (4X EDR)"} | files
    return {f"{base}/{n.replace('__', '/')}": text for n, text in found.items()}


def counters(root: Path, *machine: Mapping[str, str]) -> dict[str, tuple[int, int, int, bool]]:
    """Bytes sent, received, speed and state of a recorded machine's rails."""
    for files in machine:
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text + "\n")
    words = f"token 0123456789abcdef\nrails root={root}\nquit\n"
    done = run_program([str(net_program())], input=words)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["event"] == "rails"
    for rail in found["rails"]:
        assert rail["rdma"] == (":" in rail["name"])
    return {
        r["name"]: (r["sent"], r["received"], r["speed_mbits"], r["up"]) for r in found["rails"]
    }


def test_counters_of_an_hpc7a_are_those_of_its_efa_devices(tmp_path: Path) -> None:
    """EFA counts bytes, under hw_counters; its interfaces for IP are there as well."""
    found = counters(
        tmp_path,
        interface("lo", 5, 5, type="772", operstate="unknown", speed=""),
        interface("eth0", 10, 20, speed="-1"),
        port("rdmap0s6", hw_counters__tx_bytes="1000", hw_counters__rx_bytes="3000"),
        port("rdmap1s7", hw_counters__tx_bytes="7", hw_counters__rx_bytes="8", state="1: DOWN"),
    )
    assert found == {
        "eth0": (10, 20, 0, True),
        "rdmap0s6:1": (1000, 3000, 100000, True),
        "rdmap1s7:1": (7, 8, 100000, False),
    }


def test_counters_of_infiniband_are_words_of_four_bytes(tmp_path: Path) -> None:
    found = counters(
        tmp_path,
        port("mlx5_0", counters__port_xmit_data="250", counters__port_rcv_data="18446744073709",
             hw_counters__out_of_buffer="3"),
        port("mlx5_1", counters__symbol_error="0"),  # no counter of bytes
        interface("bond0", 90, 90) | {"sys/class/net/bond0/lower_eth0": ""},
        interface("eth0", 90, 90),
        interface("eth1", 0, 0, operstate="down"),
    )  # fmt: skip
    assert found == {
        "mlx5_0:1": (1000, 4 * 18446744073709, 100000, True),
        "eth0": (90, 90, 25000, True),
        "eth1": (0, 0, 25000, False),
    }
    assert counters(tmp_path / "nothing") == {}


def rail(name: str, amount: int, host: str = "a", up: bool = True, speed: int = 0) -> RailBytes:
    return RailBytes(host, name, ":" in name, up, speed, amount, 0)


@pytest.mark.parametrize(
    ("traffic", "shared", "words", "idle"),
    [
        ([rail("eth0", 51), rail("eth1", 49)], ["eth0", "eth1"], "eth0 51 %, eth1 49 %", []),
        ([rail("eth0", 9990), rail("eth1", 10)], ["eth0", "eth1"], "eth0 100 %, eth1 0 %",
         ["eth1"]),
        # not shared by all hosts, and not used: no rail
        ([rail("eth0", 9990), rail("docker0", 10)], ["eth0"], "eth0 100 %", []),
        # a slow one for administration is no rail beside a fast one
        ([rail("eth0", 99999, speed=100000), rail("eth1", 1, speed=1000)], ["eth0", "eth1"],
         "eth0 100 %", []),
        # the port counts the bytes of IPoIB as well; only ports are compared
        ([rail("ib0", 90), rail("mlx5_0:1", 100), rail("mlx5_1:1", 0)],
         ["ib0", "mlx5_0:1", "mlx5_1:1"], "mlx5_0:1 100 %, mlx5_1:1 0 %", ["mlx5_1:1"]),
        ([rail("eth0", 1000), rail("mlx5_0:1", 0)], ["eth0", "mlx5_0:1"], "eth0 100 %", []),
        ([rail("eth0", 0)], ["eth0"], "", []),
    ],
)  # fmt: skip
def test_shares_are_of_the_rails_of_one_kind(
    traffic: list[RailBytes], shared: list[str], words: str, idle: list[str]
) -> None:
    found = shares(traffic, shared)
    assert share_words(found) == words and unused(found) == idle


def test_a_pulled_rail_is_one_that_is_down_on_some_hosts() -> None:
    down = [rail("eth1", 0, "b", up=False), rail("sit0", 0, "a", up=False)]
    found = [rail("eth0", 9), rail("eth1", 0), rail("eth0", 9, "b"), *down]
    assert pulled(found) == {"eth1": ["b"]}
    assert traffic_lines(found) == ["  a: eth0 100 %, eth1 0 % of 9 B"]
    before = [replace(one, sent=max(0, one.sent - 5)) for one in found]
    assert [c.sent for c in between(before, found)] == [5, 0, 5, 0, 0]
    assert between([replace(found[0], sent=99)], found) == [], "a counter that began anew"


def setting(
    name: str, rate: float, connections: int, environment: Mapping[str, str], **amounts: int
) -> RailSetting:
    rates = [[rate * (1 + 0.001 * i)] for i in range(6)]
    traffic = [RailBytes(h, n, False, True, 0, a, 0) for h in "ab" for n, a in amounts.items()]
    return RailSetting(
        name, "", dict(environment),
        [
            Messages("bandwidth", 4 << 20, 1, 8, 1, "single", "MB/s", rates),
            Messages("bandwidth", 2048, 1, 64, 1, "single", "MB/s", rates),
            Messages("latency", 8, 1, 1, 1, "single", "us", [[20.0]] * 6),
        ],
        [[connections]] * 6, [traffic] * 6,
    )  # fmt: skip


def rails(*settings: RailSetting, family: str = "openmpi") -> Rails:
    mpi = MPIIdentity("mpich" if family == "mpich" else "openmpi", "openmpi", "4.1.4")
    return Rails(mpi, ["a", "b"], ["eth0", "eth1"], list(settings))


LINKS = {"OMPI_MCA_btl_tcp_links": "4"}


def test_answer_names_the_setting_its_gain_the_rails_and_what_to_type() -> None:
    found = rails(
        setting("native", 1000, 1, {}, eth0=100, eth1=0),
        setting("btl_tcp_links=4", 1000, 1, LINKS, eth0=100, eth1=0),
        setting(named(SPREAD), 1900, 8, SPREAD, eth0=51, eth1=49),
        setting("btl_tcp_if_include=eth0", 1001, 1, {"OMPI_MCA_btl_tcp_if_include": "eth0"},
                eth0=100, eth1=0),
    )  # fmt: skip
    said = rails_answer(found)
    assert " ".join(said.sentences) == (
        "Open MPI 4.1.4, 4 MiB messages: btl_tcp_links=4 (spread) is fastest, 1.90x the default "
        "(1905 and 1002 MB/s). All 2 rails are used: eth0 51 %, eth1 49 %. Type: mpirun --mca "
        "btl_tcp_links 4 --mca pml_ob1_use_all_rdma 1 --mca pml_ob1_max_rdma_per_request 1 ..."
    )
    assert "may not help an application" in (said.remedy or "")
    assert said.next_command.startswith("stretto settings --candidates btl_tcp_links=4,pml_ob1_")
    texts = [f.text for f in rails_findings(found)]
    assert texts == [
        "eth1 is not used by default: eth0 100 %, eth1 0 %",
        "btl_tcp_links=4 is ignored: 1 connection per pair as before, unchanged shares "
        "(eth0 100 %, eth1 0 %)",
        "btl_tcp_if_include=eth0 is the default of the MPI",
    ]
    page = "\n".join(rails_page(found))
    assert [text[:4] for text in said.sentences] == ["Open", "All ", "Type"]
    assert (
        page.startswith(" ".join(said.sentences)) and "1 pair between nodes, 2 nodes: a-b" in page
    )
    assert "1.90x" in page and "(spread): with pml_ob1_use_all_rdma=1" in page


def test_several_sizes_give_a_table_and_a_line_for_each_setting(tmp_path: Path) -> None:
    points = rows([8, 2048, 1 << 20], 1)
    assert [p.bytes for p in points if p.window == 64] == [2048, 8, 1 << 20]
    assert points[0] == Point("bandwidth", 1 << 20, 1, 8) and rows([2048], 1)[2:] == [PING]
    found = rails(
        setting("native", 1000, 1, {}, eth0=100),
        setting("btl_tcp_links=1", 1000, 1, {"OMPI_MCA_btl_tcp_links": "1"}, eth0=100),
        setting("btl_tcp_links=36", 2900, 36, {"OMPI_MCA_btl_tcp_links": "36"}, eth0=100),
    )
    assert "by message size" not in "\n".join(rails_page(found))
    assert [f.text for f in rails_findings(found)] == ["btl_tcp_links=1 is the default of the MPI"]
    for one in found.settings:
        first = one.messages[1].launches
        one.messages.append(Messages("bandwidth", 8, 1, 64, 1, "single", "MB/s", first))
    page = "\n".join(rails_page(found))
    assert "MB/s by message size, 64 messages in flight" in page and "2 KiB" in page
    host = Host("login", "cpu", 4, "6.1", 1)
    path = tmp_path / "x.net.json"
    result = NetFile("0", "2026-01-01T00:00:00Z", host, [], 0, 0, None, [], rails=found)
    write_net(result, path)
    report([path], PageFiles(tmp_path / "x.html", None, tmp_path))
    svg = (tmp_path / "net-bandwidth-0.svg").read_text()
    names = [svg.index(f">{n}<") for n in ("native", "btl_tcp_links=1", "btl_tcp_links=36")]
    assert names == sorted(names)


def test_answer_without_a_gain_or_a_test_has_no_ratio() -> None:
    native = setting("native", 1000, 1, {}, eth0=50, eth1=50)
    for rate, text in (
        (1010, "no other setting gives more (1 tried)"),
        (500, "no other setting gives more (1 tried)"),
    ):
        found = rails(native, setting("btl_tcp_links=4", rate, 4, LINKS, eth0=50, eth1=50))
        assert text in rails_answer(found).text
    few = rails(native, setting("btl_tcp_links=4", 9000, 4, LINKS, eth0=50, eth1=50))
    for one in few.settings:
        one.sockets, one.traffic = one.sockets[:5], one.traffic[:5]
        for messages in one.messages:
            messages.launches = messages.launches[:5]
    said = rails_answer(few)
    assert "not tested: fewer than 6 launches" in said.text and "x the" not in said.text
    dropped = replace(few.settings[1], dropped=True)
    failed = RailSetting("btl_tcp_links=8", "", {}, failed="it hangs")
    found = rails(native, dropped, failed)
    assert "no other setting gives more (2 tried)" in rails_answer(found).text
    assert rails_findings(found)[-1].text == "btl_tcp_links=8 failed: it hangs"
    assert rails_page(found)


@pytest.mark.parametrize(
    ("connections", "amounts", "same"),
    [(1, (100, 0), True), (1, (97, 3), True), (4, (100, 0), False), (1, (60, 40), False)],
)
def test_ignored_is_what_changes_neither_connections_nor_shares(
    connections: int, amounts: tuple[int, int], same: bool
) -> None:
    native = setting("native", 1000, 1, {}, eth0=100, eth1=0)
    one = setting("x", 1000, connections, LINKS, eth0=amounts[0], eth1=amounts[1])
    assert (ignored(rails(native, one), one) is not None) == same
    one.environment = {"FI_PROVIDER": "sockets"}
    assert ignored(rails(native, one), one) is None, "another transport has the same counts"


def test_options_are_those_of_the_launcher() -> None:
    assert options("openmpi", SPREAD)[:4] == ["mpirun", "--mca", "btl_tcp_links", "4"]
    assert options("openmpi", {"UCX_NET_DEVICES": "a"}) == ["mpirun", "-x", "UCX_NET_DEVICES=a"]
    assert options("mpich", {"FI_TCP_IFACE": "eth1"}) == ["mpiexec", "-genv", "FI_TCP_IFACE",
                                                        "eth1"]  # fmt: skip
    assert named(LINKS) == "btl_tcp_links=4" and named(SPREAD) == "btl_tcp_links=4 (spread)"


def test_a_file_of_rails_is_read_as_it_was_written_or_refused(tmp_path: Path) -> None:
    found = rails(
        setting("native", 1000, 1, {}, eth0=50, eth1=50),
        setting(named(SPREAD), 2000, 8, SPREAD, eth0=50, eth1=50),
    )
    host = Host("login", "cpu", 4, "6.1", 1)
    result = NetFile("0", "2026-01-01T00:00:00Z", host, [], 0, 0, None, [], rails=found)
    path = tmp_path / "x.net.json"
    write_net(result, path)
    assert read_net(path) == result
    text = as_json(result, str(path))
    assert "is fastest" in text["answer"]["text"] and text["rails"]["shared"] == ["eth0", "eth1"]
    for change, words in (
        (lambda r: r.settings.reverse(), "first setting is not native"),
        (lambda r: r.settings[0].sockets.pop(), "not as many values as launches"),
    ):
        change(found)
        with pytest.raises(StrettoError, match=words):
            write_net(result, path)
        found.settings.sort(key=lambda s: s.name != "native")
