"""What a report says of the machine: the nodes that were measured, not where it was started."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from report_samples import make
from stretto.files.bench import Header, Launch, LaunchEnd, Sample
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Host, MPIIdentity, cpu_slug
from stretto.files.table import Row, Table, write_table
from stretto.report.campaigns import below
from stretto.report.facts import identity
from stretto.report.load import System, load
from stretto.report.plans import STANDIN, platform_name

NODES = [f"q{i}" for i in range(1, 5)]


def results(
    path: Path,
    host: str = "login1",
    node_cpu: str | None = None,
    hosts: Sequence[str] = (),
    cpu: str = "Xeon",
) -> Path:
    """Results of a launch on `hosts`, started from `host`."""
    mpi = MPIIdentity("openmpi", "openmpi", "4.1.4")
    head = Header("0", "2026-11-22T00:00:00Z", Host(host, cpu, 8, "6.1", 2**34), mpi, [],
                  {"node_cpu": node_cpu} if node_cpu else {})  # fmt: skip
    with BenchWriter(path, head) as writer:
        writer.write(Launch(0, 4, 1, 4, {"bcast": ["native"]}, hosts=list(hosts) or None))
        writer.write(
            Sample(0, "bcast", "native", 8, "MPI_BYTE", None, 0, "latency", 1, [5.0], True)
        )
        writer.write(LaunchEnd(0, "ok"))
    return path


def machine(system: System) -> str:
    return dict(identity(system))["machine"]


@pytest.mark.parametrize(
    ("host", "node_cpu", "hosts", "told"),
    [
        ("login1", "EPYC 7R13", NODES, "q1, q2, q3, q4: EPYC 7R13"),
        ("login1", None, NODES, "q1, q2, q3, q4"),
        ("q2", None, NODES, "q1, q2, q3, q4: Xeon, 8 cores, 16 GiB memory, Linux 6.1"),
        ("n1", None, (), "n1: Xeon, 8 cores, 16 GiB memory, Linux 6.1"),
    ],
)
def test_the_machine_is_that_of_the_nodes(
    tmp_path: Path, host: str, node_cpu: str | None, hosts: Sequence[str], told: str
) -> None:
    (system,) = load([results(tmp_path / "a.bench.jsonl", host, node_cpu, hosts)])
    assert machine(system) == told
    assert system.name == told.split(":")[0]


def test_a_login_nodes_processor_is_no_second_one(tmp_path: Path) -> None:
    a = results(tmp_path / "a.bench.jsonl", "login1", "EPYC 7R13", NODES)
    b = results(tmp_path / "b.bench.jsonl", "q1", None, NODES, cpu="EPYC 7R13")
    (system,) = load([a, b])
    assert not any("different CPUs" in n for n in system.notes)
    assert machine(system).startswith("q1, q2, q3, q4: EPYC 7R13, 8 cores")
    c = results(tmp_path / "c.bench.jsonl", "login1", "EPYC 9R14", NODES)
    (system,) = load([a, c])
    assert any(n.endswith("different CPUs: EPYC 7R13; EPYC 9R14.") for n in system.notes)


def test_the_profiles_nodes_count_too(tmp_path: Path) -> None:
    profile = next(make.make(tmp_path / "in", "small", "measured").glob("*.profile.json"))
    value = json.loads(profile.read_text())
    value["nodes"] = [{**n, "name": "q1.cluster"} for n in value["nodes"]]
    value["host"]["name"], value["host"]["cpu"] = "login1", "Xeon"
    profile.write_text(json.dumps(value))
    (system,) = load([profile])
    assert machine(system) == "q1.cluster"
    value["host"]["name"] = "q1"
    profile.write_text(json.dumps(value))
    (system,) = load([profile])
    assert machine(system).startswith("q1.cluster: Xeon, ")


def test_a_table_says_where_it_was_made(tmp_path: Path) -> None:
    row = Row("bcast", None, None, 0, None, "native")
    path = tmp_path / "a.table"
    write_table(Table("openmpi", "4.1.4", None, None, "2026-01-01T00:00:00Z", "0", "login1",
                      "EPYC 7R13", [row]), path)  # fmt: skip
    (system,) = load([path])
    assert machine(system) == "EPYC 7R13 (table made on login1)"


def test_a_table_of_other_nodes_is_not_theirs(tmp_path: Path) -> None:
    table = Table("openmpi", "4.1.4", None, None, "2026-01-01T00:00:00Z", "0", "login1",
                  "EPYC 7R13", [Row("bcast", None, None, 0, None, "native")])  # fmt: skip
    write_table(table, tmp_path / "openmpi-4.1.4.table")
    tables = {}
    for cpu in ("EPYC 7R13", "EPYC 9R14"):
        place = tmp_path / "openmpi-4.1.4" / cpu_slug(cpu)
        place.mkdir(parents=True)
        path = results(place / "4x1.bench.jsonl", "login1", cpu, NODES)
        tables[cpu] = [file for kind, file in below(place, [("bench", path)]) if kind == "table"]
    assert tables == {"EPYC 7R13": [tmp_path / "openmpi-4.1.4.table"], "EPYC 9R14": []}


def test_a_machine_called_as_a_platform_is_none(tmp_path: Path) -> None:
    (system,) = load([results(tmp_path / "a.bench.jsonl", "c5n-tcp")])
    assert platform_name(system) == STANDIN
    system.benches[0].header.settings["source"] = "simulated"
    assert platform_name(system) == "c5n-tcp"
