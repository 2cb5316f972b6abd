"""The pictures of prices and of many ranks: everything is there, nothing is outside."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.model.plan_gantt import MOST_LANES, critical_path, gantt
from stretto.model.platform import LEVELS, Link, Platform
from stretto.model.price import price

SVG = "{http://www.w3.org/2000/svg}"
NEAR = Link(latency=3e-7, send_overhead=1e-7, recv_overhead=1e-7)
FAR = Link(latency=1e-5, send_overhead=5e-7, recv_overhead=5e-7, gap_byte=1e-10)
CLUSTER = Platform(
    name="a cluster",
    levels={n: FAR if n in ("rail", "network") else NEAR for n in LEVELS},
    reduce_byte=1e-9,
    copy_byte=1e-10,
)


def drawn(collective: str, choice: str, nodes: int, ppn: int) -> ElementTree.Element:
    hosts = [r // ppn for r in range(nodes * ppn)]
    found = price(collective, choice, hosts, 4096, CLUSTER, trace=True)
    return ElementTree.fromstring(gantt(found, hosts, 4096))


def inside(tree: ElementTree.Element) -> bool:
    width, height = (float(v) for v in tree.attrib["viewBox"].split()[2:])
    for rect in tree.iter(f"{SVG}rect"):
        if "%" in rect.attrib["width"]:
            continue
        x, y = float(rect.attrib.get("x", 0)), float(rect.attrib.get("y", 0))
        if x < 0 or y < 0 or x + float(rect.attrib["width"]) > width or y > height:
            return False
    return True


@pytest.mark.parametrize(("nodes", "ppn"), [(4, 1), (4, 4), (16, 4), (40, 8), (200, 1)])
def test_the_time_of_every_rank(nodes: int, ppn: int) -> None:
    tree = drawn("allreduce", "knomial(4)", nodes, ppn)
    labels = [t.text or "" for t in tree.iter(f"{SVG}text")]
    lanes = [t for t in labels if re.fullmatch(r"rank \d+", t)]
    assert len(lanes) == min(nodes * ppn, len(lanes)) and len(lanes) <= MOST_LANES + 1
    if nodes * ppn <= MOST_LANES:
        assert len(lanes) == nodes * ppn
    assert any("simulated" in t for t in labels)
    assert any("lower bound" in t for t in labels)
    assert inside(tree)


def test_bars_and_messages_are_those_of_the_price() -> None:
    hosts = [0, 0, 1, 1]
    found = price("allreduce", "shm+recursive_doubling", hosts, 8, CLUSTER, trace=True)
    titles = [
        t.text or "" for t in ElementTree.fromstring(gantt(found, hosts, 8)).iter(f"{SVG}title")
    ]
    assert len([t for t in titles if "in flight" in t]) == sum(found.messages.values()) == 2
    assert any("rank 1: bcast" in t for t in titles)
    assert any("rank 2: receiving with rank 0" in t for t in titles)


@pytest.mark.parametrize(
    ("collective", "choice", "nbytes"),
    [
        ("allreduce", "shm+recursive_doubling", 8),
        ("allreduce", "rabenseifner", 4096),
        ("bcast", "shm+knomial", 64),
        ("reduce", "knomial", 8),
    ],
)
def test_the_critical_path_has_no_holes(collective: str, choice: str, nbytes: int) -> None:
    hosts = [r // 4 for r in range(32)]
    found = price(collective, choice, hosts, nbytes, CLUSTER, trace=True)
    path = critical_path(found, hosts)
    assert path[-1].end == pytest.approx(found.last)
    assert path[0].begin == pytest.approx(0.0, abs=1e-12)
    for a, b in itertools.pairwise(path):
        assert a.end == pytest.approx(b.begin, rel=1e-9, abs=1e-15), f"{a} then {b}"
    assert not any(s.kind == "wait" for s in path)


def test_the_command_draws_with_a_platform(tmp_path: Path) -> None:
    output = tmp_path / "x.svg"
    main(["plan", "draw", "bcast", "knomial", "-n", "4", "-p", "hpc7g", "-o", str(output)])
    assert "µs" in output.read_text(encoding="utf-8")
