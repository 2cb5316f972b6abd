"""Nodes in the forms in which people type them, and one node under two names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import sweeps
from processes import executable
from stretto import cli
from stretto.campaign.command import request_of
from stretto.campaign.hosts import Hosts, find_hosts
from stretto.campaign.placement import RankPlace, StartError
from stretto.errors import StrettoError
from stretto.measure.names import allocated
from stretto.mpi.openmpi import OpenMPI
from test_campaign_kills import small


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("a,b", "a b"),
        ("login, n1.cluster.org , 10.0.0.1,x_y-2", "login n1.cluster.org 10.0.0.1 x_y-2"),
        ("a[1-2]", "a1 a2"),
        ("n[1-3,07-09],b", "n1 n2 n3 n07 n08 n09 b"),
        ("n[098-101]", "n098 n099 n100 n101"),
        ("n[9-11]x", "n9x n10x n11x"),
        ("r[1-2]n[1,3].ib", "r1n1.ib r1n3.ib r2n1.ib r2n3.ib"),
        ("[1-2]", "1 2"),
    ],
)
def test_brackets_as_slurm_has_them(tmp_path: Path, typed: str, wanted: str) -> None:
    file = tmp_path / "c.toml"
    for value in (repr(typed), repr([typed])):
        file.write_text(f"nodes = [2]\nhosts = {value}\n")
        assert request_of(file, {}).hosts == tuple(wanted.split())
    assert request_of(None, {"nodes": "2", "hosts": typed}).hosts == tuple(wanted.split())


FOREIGN = (
    "a1:2,a2:2", "n1 slots=2", "root@n1", "n1 n2", "fe80::1", "/etc/hosts", "-n1", "n{1..3}",
    "n[1-3", "n[[1-3]]",
)  # fmt: skip


def test_names_in_other_forms_are_refused_in_a_dry_run(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = dict.fromkeys(FOREIGN, "is not the name of a node")
    wanted |= dict.fromkeys(("n[3-1]", "n[]", "n[a-c]"), "is not a range")
    wanted |= {"n[1-2],n2": "n2 is named twice", ",": "hosts has no node names"}
    wanted |= dict.fromkeys(
        ("n[1-999999999999999999]", "n[1-300]x[1-300]", "n" + "[0-9]" * 40), "more than 65536"
    )
    for typed, said in wanted.items():
        assert cli.main(["campaign", "plan", "--nodes", "2", f"--hosts={typed}"]) == 2
        text = capsys.readouterr().err
        assert said in text and "at: the options: hosts" in text and "try: " in text, typed


def test_names_of_an_allocation_are_written_out_without_slurms_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    assert allocated({"SLURM_JOB_NODELIST": "n[1-2]"}) == ("n1", "n2")
    mpi = launched()
    assert find_hosts(small(tmp_path), mpi, print, False).names == ("n1", "n2")  # type: ignore[arg-type]
    named = request_of(None, {"nodes": "2", "hosts": "n[2-3]"})
    assert find_hosts(named, mpi, print, False).names == ("n2",)  # type: ignore[arg-type]


def launched() -> sweeps.NoMPI:
    mpi = sweeps.NoMPI()
    mpi.launcher = "mpirun"  # type: ignore[attr-defined]
    return mpi


def asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosts: Sequence[str], together: bool
) -> tuple[Hosts, list[tuple[str, ...]]]:
    """Ask a machine whose nodes n1 and n2 have several names each; also what it was asked.

    Unless `together`, the launcher puts all ranks of a start on the node that is named first.
    """
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    starts: list[tuple[str, ...]] = []

    def probe(mpi: object, layout: object, hosts: Sequence[str], start: object) -> list[RankPlace]:
        starts.append(tuple(hosts))
        where = hosts if together else [hosts[0]] * len(hosts)
        return [RankPlace(i, h.split(".")[0], "A CPU", 4, 8) for i, h in enumerate(where)]

    monkeypatch.setattr("stretto.campaign.hosts.probe", probe)
    request = replace(small(tmp_path), hosts=tuple(hosts))
    return find_hosts(request, launched(), print, True), starts  # type: ignore[arg-type]


def test_one_node_by_two_names_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        StrettoError, match=r"n1 and n1\.local are the same node: both have the host name n1"
    ) as error:
        asked(tmp_path, monkeypatch, ["n2", "n1", "n1.local"], True)
    assert "ppn" in (error.value.remedy or "")
    found, starts = asked(tmp_path, monkeypatch, ["n1", "n2.local"], True)
    assert found.nodes == ("n1", "n2") and starts == [("n1", "n2.local")]


@pytest.mark.parametrize("hosts", [("nosuch1",), ("nosuch1", "nosuch2", "nosuch3")])
def test_nodes_that_do_not_answer_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosts: tuple[str, ...]
) -> None:
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    launcher = executable(
        tmp_path / "mpirun", "#!/bin/sh\necho 'ssh: Could not resolve hostname' >&2\nexit 1\n"
    )
    warned: list[str] = []
    mpi = OpenMPI("openmpi", "openmpi", "4.1.4", "Open MPI", tmp_path, None, launcher)
    with pytest.raises(StrettoError) as error:
        find_hosts(replace(small(tmp_path), hosts=hosts), mpi, warned.append, True)
    said = error.value
    assert warned == [], "one error says it"
    named = " and ".join(hosts[:2])
    assert said.message == f"{named} cannot start programs: ssh: Could not resolve hostname"
    assert hosts[min(1, len(hosts) - 1)] in str(said.place) and "--hosts" in str(said.remedy)


def test_a_node_that_does_not_answer_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def probe(mpi: object, layout: object, hosts: Sequence[str], start: object) -> list[RankPlace]:
        if "nosuch1" in hosts:
            raise StartError("1 x 1 ranks cannot be started", "no such host", "mpirun", "")
        return [RankPlace(i, h, "A CPU", 4, 8) for i, h in enumerate(hosts)]

    monkeypatch.setattr("stretto.campaign.hosts.probe", probe)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    said: list[str] = []
    request = replace(small(tmp_path), hosts=("nosuch1", "n2", "n3"))
    assert find_hosts(request, launched(), said.append, True).names == ("n2", "n3")  # type: ignore[arg-type]
    words = "nosuch1 is left out, because it cannot start programs: no such host"
    assert said == [f"stretto: warning: {words}"]
