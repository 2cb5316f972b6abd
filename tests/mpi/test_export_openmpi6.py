"""Files for Open MPI 6: their grammar, and, where one is named, what that Open MPI does with them.

No Open MPI 6 is released, and none comes from a package: its tests run where
STRETTO_TEST_OPENMPI6 names the prefix of one that was built by hand (docs/explanation/testing.md).
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exports import FIVE, FOUR, TUNED, tuned
from mpis import beside_others
from stretto.export import openmpi_json
from stretto.export.check import CheckPlan, check
from stretto.export.output import write
from stretto.export.rules import ONE_NODE, Rule, for_layouts
from stretto.export.targets import Wishes, writer_for
from stretto.export.verdicts import RowCheck
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout
from stretto.mpi import find_installation
from stretto.mpi.algorithms import discover
from stretto.mpi.base import MPIInstallation

TWO_NODES = RankLayout(2, 2, 4)
RULES = [
    *TUNED,
    Rule("allgather", FIVE, 0, 511, tuned("allgather", 2)),
    Rule("alltoall", FIVE, 0, None, tuned("alltoall", 4, max_requests=2)),
    Rule("reduce", FIVE, 0, 4095, tuned("reduce", 8)),
    Rule("reduce", FIVE, 4096, None, tuned("reduce", 8, chain_fanout=2)),
    Rule("scatter", FIVE, 0, 100, tuned("scatter", 1)),
    Rule("scatter", FIVE, 101, None, ()),
]


def document(rules: list[Rule]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(openmpi_json.json_rules(rules).files[openmpi_json.JSON_FILE])
    return found


def test_every_row_says_the_fan_out_that_forcing_has() -> None:
    """0, which a row without it means, sends Bruck's allgather and the k-nomial reduce into a loop
    without end."""
    found = document(RULES)["collectives"]
    rows = {c: [r for e in es for r in e["rules"]] for c, es in found.items()}
    assert [r["faninout"] for r in rows["allgather"]] == [4, 4]
    assert [r["faninout"] for r in rows["reduce"]] == [4, 2]
    assert [r["faninout"] for r in rows["bcast"]] == [2]
    assert rows["alltoall"] == [
        {"msg_size_min": 0, "msg_size_max": "inf", "alg": 4, "faninout": 4, "reqs": 2}
    ]
    assert rows["bcast"][0]["seg_size"] == 1024


def test_bruck_has_the_radix_that_was_measured() -> None:
    """2 in Open MPI 4 and 5, which have no other; 4 in 6, or what its fan-out says."""
    plain_calls = Wishes(plain_calls=True)
    named = (("coll_tuned_allgather_algorithm", "bruck-k-fanout"),)
    (row,) = (Rule("allgather", FIVE, 0, None, named),)
    for measured, radix in (("4.1.4", 2), ("5.0.11", 2), ("6.0.0", 4)):
        export = writer_for("openmpi-6", measured, None, plain_calls).write([row])
        found = json.loads(export.files[openmpi_json.JSON_FILE])["collectives"]["allgather"]
        assert found[0]["rules"] == [
            {"msg_size_min": 0, "msg_size_max": "inf", "alg": 2, "faninout": radix}
        ]
    five = writer_for("openmpi-5", "6.0.0", None, plain_calls)
    assert "a radix of 4, but Open MPI 5 has only 2" in str(five.reason(row))
    with_two = replace(row, settings=tuned("allgather", 2, tree_fanout=2))
    assert five.reason(with_two) is None
    assert writer_for("openmpi-5", "5.0.11", None, plain_calls).reason(row) is None


def test_collectives_without_algorithms_stand_in_hans_file_alone() -> None:
    """An entry for one crashes every job, and `--check` refused what had been written."""
    han = (("coll_han_use_gatherv_algorithm", "1"), ("coll_han_priority", "100"))
    export = openmpi_json.json_rules([Rule("gatherv", TWO_NODES, 0, None, han), *RULES])
    text = export.files[openmpi_json.JSON_FILE]
    assert "gatherv" not in {r.collective for r in openmpi_json.read_json(text, "here")[0]}
    assert [r.collective for r in export.rows].count("gatherv") == 1


def test_rows_on_several_nodes_are_kept_from_calls_within_one() -> None:
    ring = (*tuned("allreduce", 4), ("coll_han_priority", "0"))
    several = [Rule("allreduce", TWO_NODES, 0, None, ring), Rule("scan", TWO_NODES, 0, None, ())]
    export = openmpi_json.json_rules(several)
    (first, second) = json.loads(export.files[openmpi_json.JSON_FILE])["collectives"]["allreduce"]
    assert (first["comm_rank_distribution"], first["rules"]) == ("single-node", [])
    assert (second["comm_rank_distribution"], len(second["rules"])) == ("any", 1)
    # HAN comes before coll/tuned there, and has to hand over
    assert "0 tuned" in export.files["stretto-openmpi-han.rules"]
    assert export.environment["OMPI_MCA_coll_han_use_dynamic_file_rules"] == "1"


def test_one_layout_on_one_node_and_one_on_several_are_kept() -> None:
    rules = [Rule("allreduce", x, 0, None, ()) for x in (FOUR, TWO_NODES, RankLayout(4, 1, 4))]
    kept, lost = for_layouts(rules, None, None, ONE_NODE)
    assert {r.layout for r in kept} == {FOUR, TWO_NODES}
    assert len(lost) == 1 and "4 x 1" in lost[0] and "by whether they are on one node" in lost[0]
    kept, lost = for_layouts(rules, None, None)
    assert {r.layout for r in kept} == {FOUR} and len(lost) == 2


# -- with an Open MPI 6 ------------------------------------------------------------------------


@pytest.fixture
def mpi(monkeypatch: pytest.MonkeyPatch) -> MPIInstallation:
    prefix = os.environ.get("STRETTO_TEST_OPENMPI6")
    if not prefix:
        pytest.skip("STRETTO_TEST_OPENMPI6 names no Open MPI 6, and none is released")
    for name in ("OMPI", "PRTE"):
        monkeypatch.setenv(f"{name}_ALLOW_RUN_AS_ROOT", "1")
        monkeypatch.setenv(f"{name}_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")
    found = find_installation(prefix)
    assert (found.family, found.major) == ("openmpi", 6)
    return found


def exported(rules: list[Rule], mpi: MPIIdentity, out: Path) -> Path:
    write(openmpi_json.json_rules(rules), out, "test", "openmpi-6", mpi)
    return out


def checked(out: Path, mpi: MPIInstallation) -> dict[str, list[RowCheck]]:
    with beside_others():
        found = check(out, CheckPlan(mpi), quiet=True)
    return {s: [v for v in found if v.status == s] for s in ("proven", "unproven", "wrong")}


@pytest.mark.mpi
def test_rows_are_proven(mpi: MPIInstallation, tmp_path: Path) -> None:
    found = checked(exported(RULES, mpi.identity, tmp_path), mpi)
    assert not found["wrong"], found
    # linear_sync sends the messages of the default, whatever the requests in flight
    assert [v.words for v in found["unproven"]] == ["alltoall on 5 ranks, any size"], found
    assert len(found["proven"]) == 11  # ten rows, and the calls without one


@pytest.mark.mpi
def test_its_new_algorithms_are_found(mpi: MPIInstallation) -> None:
    found = {(a.collective, a.name): a for a in discover(mpi) if a.component == "tuned"}
    for collective, name, taken in (
        ("allgather", "bruck-k-fanout", "coll_tuned_allgather_algorithm_tree_fanout"),
        ("reduce", "knomial", "coll_tuned_reduce_algorithm_chain_fanout"),
    ):
        assert [p.variable for p in found[collective, name].parameters] == [taken]
    assert ("allreduce", "allgather_reduce") in found
