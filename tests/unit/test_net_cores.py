"""Flags and copies between cores: pairs of described machines, the page, this machine."""

from __future__ import annotations

import errno
import itertools
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from machines import described, facts
from stretto.cli import main
from stretto.files.net import CoreCopy, CorePair, NodeCore, NodeCores, Sharing, read_net
from stretto.net.cores import (
    chosen,
    cores_answer,
    cores_findings,
    cores_page,
    read_cores,
)

TWO = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")


@pytest.mark.parametrize(
    ("machine", "all_pairs", "sampled"),
    [
        ("here", {"cache": 1}, {"cache": 1}),
        ("graviton3", {"cache": 2016}, {"cache": 3}),
        # 6 pairs of NUMA domains: 2 within sockets, 4 across
        (
            "hpc6a",
            {"cache": 3 * 15, "numa": 4 * 276 - 45, "socket": 2 * 576, "node": 48 * 48},
            {"cache": 3, "numa": 4, "socket": 3, "node": 4},
        ),
        (
            "xeon-snc2",
            {"core": 1, "cache": 36 + 3 * 45, "socket": 90 + 100, "node": 19 * 20},
            {"core": 1, "cache": 3, "socket": 3, "node": 4},
        ),
        ("memory-only", {"cache": 2556}, {"cache": 3}),
        ("numa-off", {"numa": 12, "node": 16}, {"numa": 3, "node": 3}),
    ],
)
def test_chosen_pairs_of_a_machine_cover_its_classes(
    tmp_path: Path, machine: str, all_pairs: dict[str, int], sampled: dict[str, int]
) -> None:
    cores = read_cores(described(tmp_path, machine))
    every = chosen(cores, 3, every=True)
    assert Counter(share for *_, share in every) == all_pairs
    some = chosen(cores, 3)
    assert Counter(share for *_, share in some) == sampled
    assert some == chosen(cores, 3), "not the same pairs in every call"
    domains = {(a.numa, b.numa) for a, b, share in some if share in ("socket", "node")}
    if machine == "hpc6a":
        assert domains >= {(0, 2), (0, 3), (1, 2), (1, 3)}
        assert len({a.cache for a, _, share in some if share == "cache"}) == 3


def _node(flags: dict[Sharing, list[list[float]]], **more: str) -> NodeCores:
    """Return 2 sockets of 2 domains of 2 caches of 2 cores, and pairs with these flags."""
    cores = [NodeCore(n, n, n // 2, n // 4, n // 8) for n in range(16)]
    free = {share: itertools.cycle(some) for share, some in _by_share(cores).items()}
    pairs = [
        CorePair(
            *next(free[share]), share, runs, [CoreCopy("shared", 1 << 20, [1.2e10] * 3, [2e10] * 3)]
        )
        for share, found in flags.items()
        for runs in found
    ]
    return NodeCores(cores, pairs, xpmem_refused="no kernel module (/dev/xpmem)", **more)


def _by_share(cores: list[NodeCore]) -> dict[Sharing, list[tuple[int, int]]]:
    out: dict[Sharing, list[tuple[int, int]]] = {}
    for a, b, share in chosen(cores, 1, every=True):
        out.setdefault(share, []).append((a.cpu, b.cpu))
    return out


def test_cores_page_begins_with_a_line_a_class() -> None:
    node = _node({"cache": [[60, 61, 62], [63, 64, 65]], "node": [[250, 260, 255]]})
    assert cores_page(node)[:4] == [
        "Cores that share a last-level cache: flag 62.5 ns, copy 12.0 GB/s, both ways 20.0 GB/s "
        "(1 MiB).",
        "Cores of different sockets: flag 255 ns, copy 12.0 GB/s, both ways 20.0 GB/s (1 MiB).",
        "CMA works.",
        "XPMEM: no kernel module (/dev/xpmem).",
    ]
    assert not cores_findings(node)
    refused = list(cores_answer(_node({"cache": [[60]]}, cma_refused="no (errno EPERM)",
                                      cma_remedy="type this")))  # fmt: skip
    assert refused[1:3] == ["CMA refused: no (errno EPERM).", "  -> type this"]


def test_cores_findings_name_pairs_that_differ_and_pairs_that_moved() -> None:
    hidden = cores_findings(_node({"cache": [[60, 60, 60], [240, 240, 240]]}))
    assert [f.topic for f in hidden] == ["far", "class"]
    assert "one last-level cache for 2 and 3, but the flag takes 240 ns" in hidden[0].text
    assert "60.0 ns from 0 to 1 and 240 ns from 2 to 3" in hidden[1].text
    moved = cores_findings(_node({"cache": [[60, 60, 240]]}))
    assert [f.topic for f in moved] == ["moved"] and "60.0 to 240 ns" in moved[0].text
    assert not cores_findings(_node({"cache": [[60, 60, 80]], "node": [[240, 250, 260]]}))


def test_cores_page_has_matrices_of_what_was_measured_wholly() -> None:
    cores = [NodeCore(n, n, n, n, 0) for n in range(3)]
    pairs = [
        CorePair(
            a,
            b,
            "socket",
            [100.0 + a + b],
            [CoreCopy("shared", 65536, [1e9 * (a + b)], [2e9 * (a + b)])],
        )
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    text = "\n".join(cores_page(NodeCores(cores, pairs)))
    assert "Between NUMA domains: flag, ns" in text and "Between cores: copy of 64 KiB" in text
    both = text.split("Between cores: copy both ways of 64 KiB, GB/s\n")[1].splitlines()[1]
    assert both.split() == ["0", "2.00", "4.00"]
    rows = text.split("Between cores: flag, ns\n")[1].splitlines()[:4]
    assert [row.split() for row in rows] == [
        ["0", "1", "2"], ["0", "101", "102"], ["1", "101", "103"], ["2", "102", "103"],
    ]  # fmt: skip
    partly = "\n".join(cores_page(NodeCores(cores, pairs[:2])))
    assert "Between" not in partly


@TWO
def test_net_node_measures_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["net", "node", "--bytes", "4K,64K", "--runs", "2", "--pairs", "1"]
    assert main([*words, "-o", "x.net.json"]) == 0
    page = capsys.readouterr().out
    assert ": flag " in page.splitlines()[0] and "file: x.net.json" in page
    node = read_net(tmp_path / "x.net.json").cores
    assert node is not None
    for pair in node.pairs:
        assert len(pair.flag_ns) == 2 and min(pair.flag_ns) > 0
        ways = {(copy.way, copy.bytes) for copy in pair.copies}
        assert ways >= {("shared", 4096), ("shared", 65536)}
        assert node.cma_refused or ("cma", 65536) in ways
        assert all(len(copy.both_bytes_s) == 2 and min(copy.both_bytes_s) > 0
                   for copy in pair.copies)  # fmt: skip
    assert main([*words, "--all-pairs", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["answer"][0].endswith("(64 KiB).") and found["cores"]["pairs"]
    assert main([*words, "--dry-run"]) == 0 and "about" in capsys.readouterr().err


def test_net_node_refuses_one_core_and_sizes_out_of_range(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("stretto.cli.net_node.read_cores", lambda: [NodeCore(0, 0, 0, 0, 0)])
    for words, text in (([], "only one core"), (["--bytes", "2G"], "1 B to 1 GiB")):
        assert main(["net", "node", *words]) == 2
        assert text in capsys.readouterr().err


def test_net_node_names_why_cma_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    node = _node({"cache": [[60]]})
    scope = {"proc/sys/kernel/yama/ptrace_scope": "2\n"}
    monkeypatch.setattr("stretto.cli.net_node.read_cores", lambda: node.cores)
    monkeypatch.setattr("stretto.cli.net_node.collect_facts", lambda: facts(tmp_path, **scope))
    for errors, text in (
        ((errno.EPERM, errno.EPERM), "CMA refused: kernel.yama.ptrace_scope is 2 (errno EPERM)."),
        ((0, errno.EPERM), "CMA works only for processes that permit it (PR_SET_PTRACER)."),
        ((0, 0), "CMA works."),
    ):
        measured = node.pairs, errors
        monkeypatch.setattr("stretto.cli.net_node.measure_cores", lambda *_, m=measured: m)
        assert main(["net", "node"]) == 0
        assert text in capsys.readouterr().out.splitlines()


def test_dry_run_with_json_prints_a_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    node = _node({"cache": [[60]]})
    monkeypatch.setattr("stretto.cli.net_node.read_cores", lambda: node.cores)
    assert main(["net", "node", "--dry-run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["dry_run"] is True and found["cost_s"] > 0
