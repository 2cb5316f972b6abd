"""Cores are counted, not their hardware threads: here and on the nodes, without any tool there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import sweeps
from processes import run_program
from stretto.campaign.hosts import Hosts, find_hosts
from stretto.campaign.layout import Layout
from stretto.campaign.placement import PROBE, RankPlace, _parse
from stretto.cli.measured import refuse_odd
from stretto.errors import UsageError
from stretto.measure.idle import HYPERTHREADS, MORE_RANKS, cores, crowd_words
from stretto.measure.request import announce, where
from stretto.measure.settings import Settings, make_case
from test_campaign_kills import small


def machine(root: Path, siblings: list[str]) -> Path:
    """A machine's /sys with these hardware threads; an empty word: one that is off."""
    for cpu, text in enumerate(siblings):
        topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        topology.parent.mkdir(parents=True)
        if text:
            topology.mkdir()
            (topology / "thread_siblings_list").write_text(text + "\n")
    return root


#: four cores of two threads each, numbered as Intel's and as AMD's kernels do; one of them off
FAR = ["0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"]
NEAR = ["0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6", ""]


@pytest.mark.parametrize("siblings", [FAR, NEAR])
def test_threads_of_a_core_count_once_here(siblings: list[str], tmp_path: Path) -> None:
    root = machine(tmp_path, siblings)
    online = [n for n, text in enumerate(siblings) if text]
    assert cores(root, online) == 4
    assert cores(root, [0, online[-1]]) == 2
    pair = [n for n, text in enumerate(siblings) if text == siblings[0]]
    assert cores(root, pair) == 1
    assert cores(tmp_path / "nothing", [0, 1, 2]) == 3, "a kernel that does not tell"


@pytest.mark.parametrize("siblings,wanted", [(FAR, 4), (NEAR, 4), (["0"], 1), ([], None)])
def test_threads_of_a_core_count_once_on_a_node(
    siblings: list[str], wanted: int | None, tmp_path: Path
) -> None:
    machine(tmp_path, siblings)
    shell = PROBE.replace("/sys/", f"{tmp_path}/sys/")
    assert shell != PROBE
    done = run_program(["/bin/sh", "-c", shell], timeout=300)
    assert done.returncode == 0 and not done.stderr
    (place,) = _parse(done.stdout)
    assert place.threads > 0 and place.cpu
    assert place.cores == (place.threads if wanted is None else wanted)


def test_a_plan_says_that_ranks_share_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert HYPERTHREADS.startswith("ppn uses hyperthreads: ranks share cores")
    assert crowd_words(8, 8) == HYPERTHREADS
    assert crowd_words(9, 8) == MORE_RANKS == crowd_words(8, None)
    # without Slurm, nodes as they say themselves
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    places = [RankPlace(0, "a", "A CPU", 4, 8), RankPlace(1, "b", "A CPU", 4, 8)]
    monkeypatch.setattr("stretto.campaign.hosts.probe", lambda *of: places)
    mpi = sweeps.NoMPI()
    mpi.launcher = "mpirun"  # type: ignore[attr-defined]
    request = replace(small(tmp_path), hosts=("a", "b"))
    found = find_hosts(request, mpi, lambda text: None, True)  # type: ignore[arg-type]
    assert found == Hosts(("a", "b"), "A CPU", None, 4, 8)
    assert [found.shared_by(Layout(2, n)) for n in (4, 5, 8)] == [False, True, True]


def test_ranks_that_the_named_nodes_cannot_hold_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stretto.measure.request.find_installation", lambda mpi: sweeps.NoMPI())
    for ranks, ppn, nodes, each in ((4, 2, 2, 2), (3, 2, 2, 2), (2, 2, 1, 2), (6, None, 2, 3)):
        place = where(ranks, ppn, "a,b", None)
        assert (place.nodes, place.each) == (nodes, each)
    with pytest.raises(UsageError, match="with --ppn 2 need 3 nodes, and --hosts names 2") as e:
        where(6, 2, "a,b", None)
    assert e.value.remedy == "use 3 nodes, or -n 4, or --ppn 3"
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2],a")
    assert where(2, 1, "n1,a.site.org", None).nodes == 2
    with pytest.raises(UsageError, match=r"b, c not in this Slurm job, which has n\[1-2\],a"):
        where(3, 1, "n2,b,c", None)
    assert where(4, 2, None, None).nodes == 2
    with pytest.raises(UsageError, match="need 4 nodes, and this Slurm job has 3"):
        where(4, 1, None, None)
    with pytest.raises(UsageError, match="this Slurm job has 3 nodes, and --ppn does not") as e:
        where(5, None, None, None)
    assert e.value.remedy == "use --ppn 2 for ranks on all nodes, --ppn 5 for one"
    with pytest.raises(UsageError, match="3 ranks cannot form pairs"):
        refuse_odd(3)


def test_bench_says_that_ranks_share_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.measure.request.cores", lambda: 4)
    monkeypatch.setattr("stretto.measure.request.threads", lambda: 8)
    monkeypatch.setattr("stretto.measure.request.find_installation", lambda mpi: sweeps.NoMPI())
    for ranks, words in ((4, None), (8, HYPERTHREADS), (9, MORE_RANKS)):
        place = where(ranks, None, None, None)
        assert place.oversubscribed == (words is not None)
        case = make_case("allreduce", 8, ["native"], None, "MPI_SUM", 0)
        settings = Settings(ranks, (case,), ("native",), 6, oversubscribed=place.oversubscribed)
        said: list[str] = []
        announce(settings, "an MPI", tmp_path / "f", said.append, dry_run=True)
        assert "node-hours" not in str(said)
        told = [s for s in said if "only throughput" in s]
        assert told == ([] if words is None else [f"stretto: warning: {words}"])
    for wide in (Settings(4, (case,), ("native",), 6, ppn=2), replace(settings, hosts=("a", "b"))):
        announce(wide, "an MPI", tmp_path / "f", said.append, dry_run=True)
        assert re.search(r"cost: about .* s, [\d.e-]+ node-hours on 2 nodes; results", str(said))
        said.clear()
