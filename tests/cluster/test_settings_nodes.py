"""Settings that depend on the nodes: interfaces that they share, sockets, who places the ranks."""

from __future__ import annotations

import json
import re
import struct
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

import clusters
from mpis import MPIS, REPOSITORY, beside_others
from processes import run_program
from stretto.files.settings import read_settings
from stretto.mpi.detect import find_installation
from stretto.mpi.settings import Setting, settings
from stretto.mpi.settings.base import Around, without
from stretto.mpi.settings.network import (
    libfabric,
    netmods,
    providers,
    tcp_interfaces,
    ucx_devices,
)
from stretto.mpi.settings.nodes import ASK, Nodes, read

BULK = REPOSITORY / "tests" / "programs" / "bulk.c"


def word(name: str, to: str, mask: str = "255.255.255.0", state: str = "up") -> str:
    """An interface as a node tells it: addresses as /proc/net/route has them."""
    numbers = (f"{struct.unpack('<I', IPv4Address(a).packed)[0]:08X}" for a in (to, mask))
    return "/".join([name, *numbers, state])


def line(host: str, *words: str, sockets: int = 1, domains: int = 1) -> str:
    return (
        " ".join(["stretto-node", host, str(sockets), str(domains), *words, "stretto-end"]) + "\n"
    )


def test_only_what_all_nodes_share_and_reach_is_a_choice() -> None:
    one = [
        word("eth0", "10.1.0.0"), word("eth1", "10.2.0.0"), word("eth2", "10.3.0.0"),
        word("eth3", "10.4.0.0"), word("docker0", "172.17.0.0"), word("virbr0", "192.168.122.0"),
        word("lo", "127.0.0.0", "255.0.0.0"), word("eth5", "169.254.0.0", "255.255.0.0"),
        word("eth6", "10.6.0.1", "255.255.255.255"), "mlx5_0:1", "mlx5_1:1",
    ]  # fmt: skip
    two = [
        word("eth0", "10.1.0.0"), word("eth1", "10.2.0.0"),
        word("eth2", "10.33.0.0"),  # another subnet: nothing says that it is reached
        word("eth3", "10.4.0.0", state="down"), word("docker0", "172.17.0.0"),
        word("virbr0", "192.168.122.0"), "mlx5_0:1",
    ]  # fmt: skip
    found = read("a word of the launcher\n" + 2 * line("a", *one, sockets=2) + line("b", *two))
    assert found is not None and found.hosts == 2 and found.sockets == 2
    assert found.interfaces == {"eth0": ("10.1.0.0/24",), "eth1": ("10.2.0.0/24",)}
    assert found.ports == ("mlx5_0:1",) and found.others and found.down == {"eth3": ("b",)}
    assert read("nothing") is None
    alike = read(line("a", *two[:2]) + line("b", *two[:2]))
    assert alike is not None and not alike.others


def around(**environ: str) -> Around:
    found = {"eth0": ("10.1.0.0/24",), "eth1": ("10.2.0.0/24",)}
    return Around(Nodes(2, found, False, (), 1, 1), environ)


def names(entries: list) -> list[str]:  # type: ignore[type-arg]
    return [s.name for e in entries for s in e.settings()]


def test_choices_of_interfaces() -> None:
    both, single = "btl_tcp_if_include=eth0,eth1", "btl_tcp_if_include=eth0"
    assert names(tcp_interfaces(around())) == [single, "btl_tcp_if_include=eth1"]
    # where it is told one, all of them are something else
    told = names(tcp_interfaces(around(OMPI_MCA_btl_tcp_if_include="10.1.0.0/24")))
    assert told == ["btl_tcp_if_include=eth1", both]
    wide = names(tcp_interfaces(around(OMPI_MCA_btl_tcp_if_include="10.0.0.0/8")))
    assert both not in wide and len(wide) == 2
    more = Around(Nodes(2, around().found.interfaces, True, (), 1, 1))  # type: ignore[union-attr]
    assert both in names(tcp_interfaces(more)), "by itself it takes docker0 as well"
    assert not tcp_interfaces(around(OMPI_MCA_btl_tcp_if_exclude="docker0"))
    one = Around(Nodes(2, {"eth0": ("10.1.0.0/24",)}, False, ("mlx5_0:1",), 1, 1))
    for nothing in (Around(), one):
        assert not [*tcp_interfaces(nothing), *libfabric(nothing)]
    transports = [f"UCX_TLS={name},sm,self" for name in ("rc", "dc", "ud", "tcp")]
    assert not ucx_devices(Around()) and names(ucx_devices(one)) == transports
    assert names(libfabric(around())) == ["FI_TCP_IFACE=eth0", "FI_TCP_IFACE=eth1"]
    assert names(libfabric(around(FI_PROVIDER="tcp;ofi_rxm", FI_TCP_IFACE="eth0"))) == [
        "FI_TCP_IFACE=eth1"
    ]
    assert not libfabric(around(FI_PROVIDER="psm3")) and not ucx_devices(around())
    assert names(ucx_devices(around(OMPI_MCA_pml="ucx")))[0] == "UCX_NET_DEVICES=eth0"
    rdma = Around(Nodes(2, {}, False, ("mlx5_0:1", "mlx5_1:1"), 1, 1))
    transports = [f"UCX_TLS={name},sm,self" for name in ("rc", "dc", "ud", "tcp")]
    assert names(ucx_devices(rdma)) == [
        "UCX_NET_DEVICES=mlx5_0:1", "UCX_NET_DEVICES=mlx5_1:1", "UCX_MAX_RNDV_RAILS=1", *transports
    ]  # fmt: skip
    assert not ucx_devices(Around(rdma.found, {"OMPI_MCA_pml": "ob1"}))
    # MPICH built with UCX and libfabric uses the one that it was built with first, or is told
    devices = ["UCX_NET_DEVICES=eth0", "UCX_NET_DEVICES=eth1"]
    assert names(netmods(around(), True)) == [*devices, "FI_PROVIDER=tcp", "FI_PROVIDER=sockets"]
    both_ways = dict(netmods(around(), True)[0].settings()[0].environment)
    assert both_ways == {"UCX_NET_DEVICES": "eth0", "FI_TCP_IFACE": "eth0"}
    ofi = [*names(libfabric(around())), "FI_PROVIDER=sockets"]
    assert names(netmods(around(), False)) == ofi
    assert names(netmods(around(MPIR_CVAR_CH4_NETMOD="ofi"), True)) == ofi
    (only,) = netmods(around(MPIR_CVAR_CH4_NETMOD="ucx"), True)
    assert not only.besides
    for port, some in (("rdmap0s6:1", "efa tcp"), ("hfi1_0:1", "opx psm2 tcp"),
                       ("mlx5_0:1", "mlx verbs tcp")):  # fmt: skip
        here = Around(Nodes(2, {}, False, (port,), 1, 1))
        tried = names(providers(here, (), ("mlx", "verbs")))
        assert tried == [f"FI_PROVIDER={name}" for name in some.split()]
    assert not names(providers(around(), (), ("mlx",))) and not providers(Around(), ("tcp",), ())
    assert not providers(around(I_MPI_OFI_PROVIDER="tcp"), ("sockets",), ()), "it wins"
    # what the command says stays
    own = [s for e in tcp_interfaces(around()) for s in e.settings()]
    for option in ("btl_tcp_if_include", "btl_tcp_if_exclude"):
        assert not without(own, ["mca", option])[0]


def found_on(name: str, nodes: int, around: Around | None = None) -> list[Setting]:
    mpi = MPIS[name].require()
    launcher = mpi.prefix / "bin" / ("mpirun.openmpi" if name == "openmpi4" else "mpirun")
    return settings(find_installation(str(launcher)), nodes, 2, around)[0]


def names_on(name: str, nodes: int, around: Around | None = None) -> set[str]:
    return {s.name for s in found_on(name, nodes, around)}


@pytest.mark.parametrize(
    "name,turns,sockets",
    [
        ("openmpi4", "rmaps_base_mapping_policy=node", "rmaps_base_mapping_policy=socket"),
        ("openmpi5", "rmaps_default_mapping_policy=node", "rmaps_default_mapping_policy=package"),
        ("mpich", None, "HYDRA_MAPPING=socket"),
        ("intel", "I_MPI_PERHOST=1", "I_MPI_PIN_ORDER=scatter"),
    ],
)
def test_placing_by_what_the_nodes_have_and_who_starts_them(
    name: str, turns: str | None, sockets: str
) -> None:
    def has(found: set[str], ending: str) -> bool:
        return any(n.endswith(ending) for n in found)

    one_part, two_parts = (Around(Nodes(2, {}, False, (), n, n)) for n in (1, 2))
    assert not has(names_on(name, 2, one_part), sockets)
    assert has(names_on(name, 2, two_parts), sockets)
    if turns is not None:
        assert has(names_on(name, 2, one_part), turns)
        assert not has(names_on(name, 1, one_part), turns)
    srun = names_on(name, 2, Around(two_parts.found, {}, True))
    assert {"SLURM_DISTRIBUTION=cyclic", "SLURM_CPU_BIND=cores"} <= srun
    assert not [n for n in srun if "rmaps" in n or "HYDRA" in n or "PERHOST" in n]
    assert not [n for n in names_on(name, 2, two_parts) if n.startswith("SLURM")]


def test_network_ports_are_named_as_mpich_knows_them() -> None:
    rdma = Around(Nodes(2, {}, False, ("mlx5_0:1", "mlx5_1:1"), 1, 1))
    assert {"MPIR_CVAR_CH4_OFI_PREF_NIC=0", "MPIR_CVAR_CH4_OFI_PREF_NIC=1"} <= names_on(
        "mpich", 2, rdma
    )
    assert not [n for n in names_on("mpich", 2) if "NIC" in n]
    assert "I_MPI_MULTIRAIL=1" in names_on("intel", 2, rdma)
    assert "I_MPI_MULTIRAIL=1" not in names_on("intel", 2)


@pytest.fixture(scope="module")
def rails() -> Iterator[clusters.testbed.Cluster]:
    with clusters.up(2, rails=2) as cluster:
        yield cluster


@pytest.mark.root
@pytest.mark.mpi
@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "mpich", "intel"])
def test_the_choice_of_an_interface_takes_effect(
    rails: clusters.testbed.Cluster, name: str
) -> None:
    program = MPIS[name].require().compile(BULK, rails.shared / f"bulk-{name}")
    start = clusters.launcher(rails, name, 2, 1)
    env = clusters.environment(rails, name)
    ask = f"{ASK}sleep 2"  # MPICH's mpiexec may get a SIGPIPE from a proxy that ends at once
    asked = clusters.call([*start, "sh", "-c", ask], rails.shared, env, timeout=300)
    found = read(asked.stdout)
    assert found is not None and found.hosts == 2 and list(found.interfaces) == ["eth0", "eth1"]
    known = found_on(name, 2, Around(found, {}))
    chosen = "btl_tcp_if_include|UCX_NET_DEVICES|FI_TCP_IFACE"
    tried = [s for s in known if re.match(rf"({chosen})=eth[01]$", s.name)]
    assert len(tried) == 2
    mebibytes, few = 64 << 20, 4 << 20
    for setting in tried:
        done = clusters.call(
            [*start, str(program)], rails.shared, env | dict(setting.environment), timeout=300
        )
        counted = re.search(r"sent (\d+) (\d+)", done.stdout)
        assert counted, done.stdout
        sent = {"eth0": int(counted[1]), "eth1": int(counted[2])}
        rail = setting.name.partition("=")[2]
        assert sent.pop(rail) > mebibytes and sum(sent.values()) < few, (setting, done.stdout)


@pytest.mark.root
@pytest.mark.mpi
@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "intel"])
def test_ranks_take_turns_among_nodes(rails: clusters.testbed.Cluster, name: str) -> None:
    hosts = [n.name for n in rails.nodes]
    start = clusters.launcher(rails, name, 2, 2)
    if name == "intel":  # -ppn decides, and the setting is not tried beside it
        at = start.index("-ppn")
        start = [*start[:at], *start[at + 2 :]]
    rank = "${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}"
    (setting,) = [s for s in found_on(name, 2) if re.search(r"mapping.*=node|PERHOST=1", s.name)]

    def order(environment: dict[str, str]) -> list[str]:
        words = [*start, "sh", "-c", f'echo "rank {rank} on $(uname -n)"']
        env = clusters.environment(rails, name) | environment
        said = clusters.call(words, rails.shared, env, timeout=300).stdout
        found = {int(r): host for r, host in re.findall(r"rank (\d+) on (\w+)", said)}
        assert len(found) == 4, said
        return [found[r] for r in range(4)]

    assert order(dict(setting.environment)) == [*hosts, *hosts]
    assert order({}) != [*hosts, *hosts]


@pytest.mark.root
@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "mpich", "intel"])
def test_check_of_two_nodes_names_transport_and_unequal_mtu(
    rails: clusters.testbed.Cluster, name: str
) -> None:
    """The nodes answer through the launcher; of the twin with an MTU of its own, that is named."""
    program = MPIS[name].require().compile(BULK, rails.shared / f"bulk-{name}")
    words = ["check", "--json", "--", *clusters.launcher(rails, name, 2, 1), str(program)]
    second = rails.nodes[1]

    def checked(mtu: int) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        rails.run(1, ["ip", "link", "set", "eth1", "mtu", str(mtu)])
        # 4: warnings (the host is busy with other tests, ranks are not bound)
        done = run_program(
            [sys.executable, "-m", "stretto", *words],
            cwd=rails.shared,
            env=clusters.environment(rails, name),
            timeout=300,
        )
        assert done.returncode in (0, 4), done.stdout + done.stderr
        found = json.loads(done.stdout)
        return found, {f["kind"] or f["text"]: f for f in found["findings"]}

    with beside_others():
        found, named = checked(1500)
        assert sorted(found["nodes"]) == [n.name for n in rails.nodes]
        (transport,) = [text for text in named if text.startswith("transport between nodes")]
        assert "tcp" in transport
        assert not named.keys() & {"tcp-fallback", "mixed-nodes", "mtu-mismatch", "clocks"}
        _, named = checked(1400)
        assert f"eth1 1400 on {second.name}" in named["mtu-mismatch"]["text"]
        rails.run(1, ["ip", "link", "set", "eth1", "mtu", "1500"])


@pytest.mark.root
def test_net_mpi_of_two_nodes_pairs_ranks_between_them(rails: clusters.testbed.Cluster) -> None:
    """Two ranks a node under each way to deal ranks out: pair i is rank i and rank i + 2."""
    hosts = ",".join(n.name for n in rails.nodes)
    for name in ("openmpi4", "mpich", "intel"):
        words = ["net", "mpi", "--mpi", str(MPIS[name].require().prefix), "--hosts", hosts]
        done = clusters.stretto(
            rails, name, *words, "-n", "4", "--bytes", "8", "--launches", "1", timeout=300
        )
        assert "2 pairs between nodes, 2 nodes" in done.stdout, (name, done.stdout, done.stderr)


@pytest.mark.root
@pytest.mark.mpi
def test_tune_asks_the_nodes_and_tries_their_interfaces(
    rails: clusters.testbed.Cluster,
) -> None:
    program = MPIS["openmpi4"].require().compile(BULK, rails.shared / "bulk")
    case = rails.shared / "case"
    case.mkdir()
    start = clusters.launcher(rails, "openmpi4", 2, 1)
    environment = clusters.environment(rails, "openmpi4")
    environment["OMPI_MCA_btl_tcp_if_include"] = f"{rails.network}.0/24"
    words = ["settings", "--pairs", "1", "--yes", "--metric", r"time: ([\d.e+-]+)"]
    words += ["--ignore", "sent|time", "--", *start, str(program)]
    with beside_others():
        done = run_program(
            [sys.executable, "-m", "stretto", *words], cwd=case, env=environment, timeout=600
        )
    assert done.returncode == 0, done.stderr
    assert "2 nodes share the interfaces: eth0, eth1" in done.stderr
    (path,) = case.glob("stretto-*/*.settings.json")
    file = read_settings(path)
    tried = {t.name for t in file.tried}
    assert {"btl_tcp_if_include=eth1", "btl_tcp_if_include=eth0,eth1"} <= tried
    assert "btl_tcp_if_include=eth0" not in tried, "that is what it does already"
    ran = {r.setting for r in file.runs if r.status == 0}
    assert "btl_tcp_if_include=eth0,eth1" in ran
    assert Path(path).exists()
