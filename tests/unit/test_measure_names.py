"""Nodes in the forms in which people type them, and one node under two names."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import sweeps
from stretto import cli
from stretto.campaign.command import request_of
from stretto.campaign.hosts import Hosts, find_hosts
from stretto.campaign.placement import RankPlace, StartError
from stretto.campaign.slurm import allocated
from stretto.errors import StrettoError, UsageError
from stretto.measure import names
from stretto.measure.names import read_names
from stretto.measure.request import where
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


@pytest.mark.parametrize(
    ("typed", "said", "remedy"),
    [
        ("a1:2,a2:2", "'a1:2' has a number of ranks", "ppn"),
        ("n1 slots=2", "'n1 slots=2' is a line of a hostfile", "ppn"),
        ("n1 max_slots=2,n2", "is a line of a hostfile", "ppn"),
        ("root@n1", "'root@n1' names a user", "~/.ssh/config"),
        ("n1 n2", "'n1 n2' has a blank", "n1,n2"),
        ("fe80::1", "'fe80::1' is no name that launchers take", "name of the node"),
        ("/etc/hosts", "is a path", "n[1-2]"),
        ("-n1", "'-n1' is no name of a node", "n1,n2"),
        ("n{1..3}", "'n{1..3}' is no name of a node", "n[1-3,07-09]"),
        ("n[1-3", "'n[1-3' is no name of a node", "n[1-3,07-09]"),
        ("n[[1-3]]", "is no name of a node", "n[1-3,07-09]"),
        ("n[3-1]", "'3-1' is no range", "the smaller one first"),
        ("n[]", "'' is no range", "n[1-3,07-09]"),
        ("n[a-c]", "'a-c' is no range", "n[1-3,07-09]"),
        ("n[1-2],n2", "n2 is named twice", "ppn"),
        (",", "hosts names no node", '["a", "b"]'),
    ],
)
def test_what_is_no_name_is_refused_in_a_dry_run(
    typed: str, said: str, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError) as error:
        read_names([typed], "hosts")
    assert said in error.value.message and remedy in (error.value.remedy or "")
    assert cli.main(["campaign", "plan", "--nodes", "2", f"--hosts={typed}"]) == 2
    text = capsys.readouterr().err
    assert said in text and "at: the options: hosts" in text


def test_brackets_without_end_are_refused_at_once() -> None:
    begun = time.process_time()
    for word in ("n[1-999999999999999999]", "n[1-300]x[1-300]", "n" + "[0-9]" * 40):
        with pytest.raises(UsageError, match=f"more than {names.MOST_NAMES} nodes"):
            read_names([word], "hosts")
    with pytest.raises(UsageError, match="more than"):
        read_names(["a[1-60000]", "b[1-60000]"], "hosts")
    assert len(read_names([f"n[1-{names.MOST_NAMES}]"], "hosts")) == names.MOST_NAMES
    assert time.process_time() - begun < 60


def test_names_of_an_allocation_are_written_out_by_slurm_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "scontrol"
    tool.write_text('#!/bin/sh\n[ "$3" = "n[1-2]" ] && printf "n1\\nn2\\n"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
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
        StrettoError, match=r"n1 and n1\.local are the same node: both call themselves n1"
    ) as error:
        asked(tmp_path, monkeypatch, ["n2", "n1", "n1.local"], True)
    assert "ppn" in (error.value.remedy or "")
    found, starts = asked(tmp_path, monkeypatch, ["n1", "n2.local"], True)
    assert found.nodes == ("n1", "n2") and starts == [("n1", "n2.local")]


def test_two_ranks_on_one_node_do_not_make_two_nodes_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, starts = asked(tmp_path, monkeypatch, ["n1", "n2"], False)
    assert found.names == found.nodes == ("n1", "n2")
    assert starts[0] == ("n1", "n2") and set(starts[1:]) == {("n1",), ("n2",)}


def test_the_option_has_the_same_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.measure.request.find_installation", lambda name: name)
    assert where(4, 2, "n[1-2]", "an MPI").hosts == ("n1", "n2")
    assert where(4, 2, None, "an MPI").hosts == ()
    with pytest.raises(UsageError, match="number of ranks") as error:
        where(4, 2, "n1:2,n2:2", "an MPI")
    assert error.value.place == "--hosts"


@pytest.mark.parametrize("hosts", [("nosuch1",), ("nosuch1", "nosuch2", "nosuch3")])
def test_nodes_that_do_not_answer_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosts: tuple[str, ...]
) -> None:
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\necho 'ssh: Could not resolve hostname' >&2\nexit 1\n")
    launcher.chmod(0o755)
    warned: list[str] = []
    mpi = OpenMPI("openmpi", "openmpi", "4.1.4", "Open MPI", tmp_path, None, launcher)
    with pytest.raises(StrettoError) as error:
        find_hosts(replace(small(tmp_path), hosts=hosts), mpi, warned.append, True)
    said = error.value
    assert warned == [], "one error says it"
    named = "nosuch1 does" if len(hosts) == 1 else "nosuch1 and nosuch2 do"
    assert said.message == f"{named} not start programs: ssh: Could not resolve hostname"
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
    words = "nosuch1 does not start programs and is left out: no such host"
    assert said == [f"stretto: warning: {words}"]
