"""Messages between ranks, measured through each MPI (no figure decides a test)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mpis import MPIS, Mpi, alone_here, beside_others, installation
from stretto.built import library
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.files.net import read_net
from stretto.measure.request import where
from stretto.mpi.detect import find_installation
from stretto.mpi.settings.names import NAMES
from stretto.mpi.settings.nodes import Nodes
from stretto.mpi.variables import progress_thread
from stretto.net import p2p
from stretto.net.p2p import LEVELS, PING, P2PLaunch, Point, collected, measure, points, read_launch
from stretto.net.rails import scan


def launch(mpi: Mpi, ranks: int, level: str, *words: str, budget: float = 900) -> tuple[int, str]:
    """Run stretto-p2p; `level` may have options before it."""
    abi = "openmpi" if mpi.family == "openmpi" else "mpich"
    program = [str(library("p2p", abi)), *level.split(), "-", "2", "500", str(budget), *words]
    env = mpi.environment | {"LD_LIBRARY_PATH": str(mpi.libmpi.parent)}
    with beside_others() if mpi.yields or ranks == 2 else alone_here():
        done = mpi.run(ranks, program, env=env, timeout=1200)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", MPIS)
def test_p2p_measures_every_point_with_each_mpi(name: str) -> None:
    """An odd number of ranks: the last one has no partner; the buffers fit collectives as well.

    On one node nothing goes over an interface, and an MPI may have connections that carry nothing.
    """
    mpi = MPIS[name].require()
    wanted = points([8, 100_000], 5)
    status, output = launch(mpi, 5, "--count single", *(p.word for p in wanted))
    assert status == 0, output
    found = read_launch(output, "mpirun")
    assert len(found.sockets) == 2 and set(found.traffic) == set(wanted)
    assert all(len({c.host for c in traffic}) == 1 for traffic in found.traffic.values())
    assert not found.cut and len(found.hosts) == 5
    assert set(found.batches) == set(wanted)
    assert all(len(batches) == 2 for batches in found.batches.values())
    assert all(b.seconds > 0 for batches in found.batches.values() for b in batches)


@pytest.mark.parametrize("name", MPIS)
def test_p2p_threads_of_each_level(name: str) -> None:
    mpi = MPIS[name].require()
    for level, tests in (("serialized", ["turns"]), ("multiple", ["threads", "shared", "turns"])):
        wanted = [Point("latency", 8), *(Point(t, 8, threads=3) for t in tests)]
        status, output = launch(mpi, 2, level, *(p.word for p in wanted))
        assert status == 0, output
        found: P2PLaunch = read_launch(output, "mpirun")
        assert set(found.batches) == set(wanted)
        assert found.level == level


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openmpi4", ["btl_tcp_links=2", "btl_tcp_links=2 (spread)", "btl_tcp_links=4",
                      "btl_tcp_links=4 (spread)", "btl_tcp_if_include=eth0",
                      "btl_tcp_if_include=eth1", "btl_tcp_links=8", "btl_tcp_links=8 (spread)"]),
        ("mpich", [*(f"UCX_NET_DEVICES={n},FI_TCP_IFACE={n}" for n in ("eth0", "eth1")),
                   *(f"FI_PROVIDER={n},MPIR_CVAR_CH4_NETMOD=ofi" for n in ("tcp", "sockets"))]),
        ("intel", ["FI_TCP_IFACE=eth0", "FI_TCP_IFACE=eth1"]),
    ],
)  # fmt: skip
def test_rails_offers_what_the_mpi_has_and_the_user_has_not_set(
    name: str, expected: list[str]
) -> None:
    place = replace(where(2, 1, None, str(MPIS[name].require().prefix)), nodes=2)
    tcp = Nodes(2, {"eth0": ("10.0.0.0/24",), "eth1": ("10.1.0.0/24",)}, False, (), 1, 1)
    rdma = replace(tcp, interfaces={}, ports=("mlx5_0:1", "mlx5_1:1"))
    found = scan(place, tcp, {})
    assert [s.name for s in found] == expected
    assert all({n for n, _ in s.environment} <= NAMES for s in found)
    first = dict(found[0].environment)
    assert expected[0] not in [s.name for s in scan(place, tcp, first)]
    ports = " ".join(s.name for s in scan(place, rdma, {}))
    own = {"openmpi4": ["btl_tcp_links=8"], "intel": ["MULTIRAIL=1", "FI_PROVIDER=verbs"],
           "mpich": ["MULTI_NIC_STRIPING=1", "FI_PROVIDER=verbs", "UCX_TLS=rc"]}  # fmt: skip
    assert all(words in ports for words in own[name]), ports
    if name == "openmpi4":
        assert not scan(place, tcp, {"OMPI_MCA_pml": "ucx"})[2:]


def test_net_rails_dry_run_has_cost_and_settings_and_one_node_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["net", "rails", "--mpi", str(MPIS["openmpi5"].require().prefix)]
    assert main([*words, "--hosts", "a,b", "--dry-run"]) == 0
    out = capsys.readouterr().err
    assert "6 settings and native, 6 launches each: about " in out
    assert "btl_tcp_links=4 (spread): TCP connections for each pair" in out
    assert main([*words, "--hosts", "a,b", "--dry-run", "--candidates", "btl_tcp_links=16"]) == 0
    assert "1 setting and native" in capsys.readouterr().err
    for wrong in (["--hosts", "a"], [], ["--hosts", "a,b", "-n", "1"]):
        assert main([*words, *wrong]) == 2
        assert "links and rails are between nodes" in capsys.readouterr().err


def test_p2p_refuses_what_does_not_fit() -> None:
    mpi = MPIS["openmpi4"].require()
    program = str(library("p2p", "openmpi"))
    for level, word, text in (
        ("single", "latency:8:2:1:1", "2 pairs need 4 ranks, and there are 1"),
        ("single", "latency:8:1:1", "not a point"),
        ("single", "latency:8:1:1:99", "out of range"),
        ("single", "ring:8:1:1:1", "not a point"),
        ("any", "latency:8:1:1:1", "usage: mpirun"),
    ):
        done = mpi.alone([program, level, "-", "2", "500", "60", word])
        assert done.returncode != 0 and text in done.stdout + done.stderr, (word, done)
    status, output = launch(mpi, 2, "single", "threads:8:1:1:2")
    assert status != 0 and "threads needs the thread level multiple" in output, output
    status, output = launch(mpi, 2, "single", "latency:8:1:1:1", budget=1e-9)
    assert status == 0 and read_launch(output, "mpirun").cut, output


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openmpi4", None),
        ("openmpi5", None),
        ("mpich", "MPIR_CVAR_ASYNC_PROGRESS"),
        ("intel", "I_MPI_ASYNC_PROGRESS"),
    ],
)
def test_progress_thread_is_what_the_mpi_lists(name: str, variable: str | None) -> None:
    mpi = MPIS[name].require()
    assert progress_thread(find_installation(str(mpi.prefix))) == (
        {variable: "1"} if variable else {}
    )


def test_measure_with_a_progress_thread_has_launches_of_both() -> None:
    mpi = MPIS["mpich"].require()
    place = where(2, None, None, str(mpi.prefix))
    variables = progress_thread(place.installation)
    wanted = [PING, Point("overlap", 8)]
    with beside_others():
        found = list(measure(place, wanted, 1, progress=variables))
    assert [launch.progress for launch in found] == [False, True]
    assert all(set(launch.batches) == set(wanted) for launch in found)
    ranks = collected(place.installation.identity, found, variables)
    assert ranks.progress_thread == "MPIR_CVAR_ASYNC_PROGRESS=1"
    for messages in (*ranks.messages, *ranks.with_thread):
        assert bool(messages.pure_us) == bool(messages.overall_us) == (messages.test == "overlap")


def test_net_mpi_writes_its_page_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mpi = MPIS["openmpi5"].require()
    installation("openmpi5", monkeypatch)  # its ranks give way
    monkeypatch.setattr(p2p, "SAMPLES", 2)
    monkeypatch.setattr(p2p, "BATCH_US", 500.0)
    monkeypatch.chdir(tmp_path)
    words = ["net", "mpi", "--mpi", str(mpi.prefix), "--bytes", "8,1K", "--launches", "1"]
    with beside_others():
        assert main([*words, "--threads", "2", "-o", "x.net.json"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("Open MPI 5.0.11: 8 B in ") and "1 pair within a node, 1 node" in page
    assert "  Progress thread: Open MPI 5.0.11 has none.\n" in page
    assert "MPI_THREAD_MULTIPLE" in page and "file: x.net.json" in page
    ranks = read_net(tmp_path / "x.net.json").ranks
    assert ranks is not None and len(ranks.hosts) == 2
    for level in LEVELS:
        sizes = {m.bytes for m in ranks.messages if (m.test, m.level) == ("latency", level)}
        assert sizes == {8, 1024}, level
    with pytest.raises(StrettoError, match="--ranks"):
        list(measure(where(1, None, None, str(mpi.prefix)), points([8], 2), 1))
    assert main([*words, "--dry-run"]) == 0 and "about" in capsys.readouterr().err
    assert main([*words, "--threads", "2", "--dry-run"]) == 0
    assert " points at 4 thread levels, 1 launch: about " in capsys.readouterr().err
