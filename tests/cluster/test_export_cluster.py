"""Exports for several nodes, proven on a cluster of network namespaces."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import clusters
import told
from clusters import stretto, testbed
from exports import LOOKS_S, mpir, preset, tuned
from mpis import MPICH_YIELDS, MPIS
from stretto.export import han, intel, mpich, openmpi, openmpi_words
from stretto.export.check import read
from stretto.export.output import write
from stretto.export.rules import Rule
from stretto.export.verdicts import UNSEEN
from stretto.files.bench import read_bench
from stretto.files.export import ExportPoint
from stretto.files.layout import RankLayout
from stretto.mpi import from_launcher
from stretto.mpi.base import MPIInstallation

pytestmark = [pytest.mark.root, pytest.mark.mpi, pytest.mark.long]
TWO_BY_TWO = RankLayout(2, 2, 4)


nodes = clusters.nodes_of(2)


def installation(name: str) -> MPIInstallation:
    mpi = MPIS[name].require()
    return from_launcher(Path(mpi.launcher(1)[0]), mpi.environment)


def verdicts(
    cluster: testbed.Cluster,
    name: str,
    out: Path,
    status: int = 0,
    shown: Sequence[str] = (),
    **variables: str,
) -> dict[str, tuple[str, str]]:
    """The verdicts by row, when the machine was quiet enough to see what shows those of `shown`.

    The exit status must be the one expected in every look: with 0 nothing is wrong.
    """
    mpi = installation(name)
    hosts = ",".join(node.name for node in cluster.nodes)
    words = ("--hosts", hosts, "--mpi", str(mpi.need_launcher()), "--json")
    check = ("export", "--check", "--out", str(out), *words)
    until = time.monotonic() + LOOKS_S
    while True:
        done = stretto(cluster, name, *check, status=status, **variables)
        answer: dict[str, Any] = json.loads(done.stdout)
        found = {row["words"]: (row["status"], row["why"]) for row in answer["check"]}
        unseen = [words for words, (_, why) in found.items() if UNSEEN in why]
        assert all(found[words][0] != "proven" for words in unseen), found
        if not set(shown) & set(unseen) or time.monotonic() > until:
            return found


def test_han_and_tuned_by_size(nodes: testbed.Cluster) -> None:
    """Open MPI 5 on two nodes: HAN's own choice, one of its algorithms, and coll/tuned.

    Allgatherv gets to coll/tuned's rows without a word of HAN's file.
    """
    simple = (("coll_han_use_allreduce_algorithm", "2"), ("coll_han_priority", "100"))
    flat = (*tuned("allreduce", 4), ("coll_han_priority", "0"))
    rules = [
        Rule("allreduce", TWO_BY_TWO, 0, 999, flat),
        Rule("allreduce", TWO_BY_TWO, 1000, 9999, ()),
        Rule("allreduce", TWO_BY_TWO, 10000, None, flat),
        Rule("bcast", TWO_BY_TWO, 0, None, (*tuned("bcast", 1), ("coll_han_priority", "0"))),
        Rule("reduce", TWO_BY_TWO, 0, None, (("coll_han_use_reduce_algorithm", "2"), simple[1])),
        Rule(
            "allgatherv", TWO_BY_TWO, 0, None, (*tuned("allgatherv", 4), ("coll_han_priority", "0"))
        ),
    ]
    export = openmpi.classic(rules, "5")
    assert "0 tuned\n1000 han\n10000 tuned" in export.files[han.RULES_FILE]
    assert "0 han @2" in export.files[han.RULES_FILE]
    out = nodes.shared / "han"
    write(export, out, "test", "openmpi-5", installation("openmpi5").identity)
    found = verdicts(nodes, "openmpi5", out)
    status = {words: s for words, (s, _) in found.items()}
    assert "wrong" not in status.values(), found
    assert sum(s == "proven" for s in status.values()) >= 5, found
    assert [s for words, s in status.items() if words.startswith("allgatherv")] == ["proven"], found


@pytest.mark.parametrize(
    ("collective", "number", "wrong_without_han"),
    [("allreduce", 2, True), ("allgatherv", 1, True), ("reduce_scatter_block", 1, True),
     ("alltoall", 2, False)],
)  # fmt: skip
def test_what_calls_others_does_so_under_han(
    nodes: testbed.Cluster, collective: str, number: int, wrong_without_han: bool
) -> None:
    """Open MPI 5 on two nodes: no file turns HAN off for what an algorithm calls."""
    off = ("coll_han_priority", "0")
    for i, more in enumerate(((off,), ())):
        rule = Rule(collective, TWO_BY_TWO, 4096, None, (*tuned(collective, number), *more))
        of_han = collective in han.COLLECTIVES
        asked = openmpi_words.beside_han(rule, "5", "5")
        assert (asked is not None) == (wrong_without_han if more else of_han), asked
        if of_han and not more:
            continue  # HAN runs instead when it is forced so
        out = nodes.shared / f"{collective}{i}"
        rules = [Rule(collective, TWO_BY_TWO, 0, 4095, ()), rule]
        export = openmpi.classic(rules, "5")
        write(export, out, "test", "openmpi-5", installation("openmpi5").identity)
        found = verdicts(nodes, "openmpi5", out, status=int(asked is not None))
        (status,) = [s for words, (s, _) in found.items() if words.startswith(f"{collective} on")]
        assert (status == "wrong") == (asked is not None), found


def test_mpich_tells_nodes_apart(nodes: testbed.Cluster) -> None:
    rules = [
        Rule("allreduce", TWO_BY_TWO, 0, None, mpir("allreduce", "ring")),
        Rule("allreduce", RankLayout(1, 4, 4), 0, None, mpir("allreduce", "tree", TREE_KVAL=3)),
        Rule("bcast", TWO_BY_TWO, 0, None, (("MPIR_CVAR_BCAST_COMPOSITION", "3"),)),
    ]
    mpi = installation("mpich")
    export = mpich.trees(rules, mpi)
    (said,) = export.lost
    assert said.startswith("rows for 4 ranks apply to 2 to 3 nodes") and len(export.rows) == 3
    out = nodes.shared / "trees"
    write(export, out, "test", "mpich", mpi.identity)
    allreduce = ("allreduce on 4 ranks (2 x 2), any size", "allreduce on 4 ranks, any size")
    found = verdicts(nodes, "mpich", out, shown=allreduce, **MPICH_YIELDS)
    assert "wrong" not in {s for s, _ in found.values()}, found
    assert all(found[words][0] == "proven" for words in allreduce), found


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "mpich", "intel"])
def test_timed_launches_have_the_files_on_all_nodes(nodes: testbed.Cluster, name: str) -> None:
    """And bare ones nothing of them, though the user's shell has sourced the export."""
    mpi = installation(name)
    if name == "mpich":
        settings = mpir("allreduce", "ring")
    elif name == "intel":
        settings = preset("allreduce", 1)
    else:
        settings = (*tuned("allreduce", 4), ("coll_han_priority", "0"))
    points = (ExportPoint(1024, "MPI_FLOAT", "MPI_SUM", 0, 0.6),)
    rules = [Rule("allreduce", TWO_BY_TWO, 0, None, settings, points=points)]
    export = (
        mpich.trees(rules, mpi) if name == "mpich"
        else intel.adjust(rules) if name == "intel" else openmpi.classic(rules, name[-1])
    )  # fmt: skip
    out, lib = nodes.shared / f"gain-{name}", nodes.shared / f"lib-{name}"
    target = f"openmpi-{name[-1]}" if name.startswith("openmpi") else name
    write(export, out, "test", target, mpi.identity)
    variables = read(out)[1]
    told.stand_in(lib, mpi.abi)
    layout = {"nodes": 2, "ppn": 2, "nranks": 4}
    told.tell(lib, variables, {"allreduce": [50, 30]}, layout=layout)
    hosts = ",".join(node.name for node in nodes.nodes)
    words = ("--hosts", hosts, "--mpi", str(mpi.need_launcher()), "--json", "--launches", "6")
    more = {**variables, "STRETTO_LIB_DIR": str(lib)}
    done = stretto(nodes, name, "export", "--time", "--out", str(out), *words, **more)
    (row,) = json.loads(done.stdout)["time"]["rows"]
    assert row["status"] == "faster", row
    launches = read_bench(out / "gain-2x2.bench.jsonl").launches
    variants = {r.launch: r.variant for r in launches}
    seen = told.seen(lib)
    assert len(variants) == 12
    assert {n: len(ranks) for n, ranks in seen.items()} == dict.fromkeys(variants, 4)
    for launch, ranks in seen.items():
        for environment in ranks:
            mine = {n: v for n, v in environment.items() if n in variables}
            assert mine == (variables if variants[launch] == "native:files" else {})
