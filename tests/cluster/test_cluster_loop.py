"""The closed loop on four nodes x two ranks: recorded, measured, decided, applied across nodes."""

from __future__ import annotations

import json
import math
import re
import shlex
import time
from pathlib import Path

import pytest

import clusters
from clusters import launcher, program, stretto, testbed
from mpis import MPIS, REPOSITORY, have, rarely
from processes import executable
from stretto.files.profile import read_profile
from stretto.model import forecast
from test_apps import example, icofoam_log
from test_apps import run as run_here

pytestmark = [pytest.mark.root, pytest.mark.mpi]
THREE = ["openmpi4", "openmpi5", "mpich"]


nodes = clusters.nodes_of(4)


@pytest.mark.parametrize("name", rarely([*THREE, "intel"], ["openmpi4", "intel"]))
def test_profile_joins_the_nodes(nodes: testbed.Cluster, name: str) -> None:
    path = nodes.shared / f"{name}.profile.json"
    job = [*launcher(nodes, name, 4, 2), str(program(nodes, name)), "2", "5000"]
    done = stretto(nodes, name, "profile", "-o", str(path), "--", *job)
    assert "wrong: 0" in done.stdout
    profile = json.loads(path.read_text())
    assert profile["complete"] and profile["nranks"] == 8
    assert [n["name"] for n in profile["nodes"]] == [n.name for n in nodes.nodes]
    assert [len(n["ranks"]) for n in profile["nodes"]] == [2, 2, 2, 2]
    errors = profile["clock_error_s"]
    if testbed.own_clocks():
        assert errors[:2] == [0, 0] and all(0 < e < 1 for e in errors[2:])
    (row,) = [c for c in profile["calls"] if c["function"] == "MPI_Allreduce"]
    assert row["calls"] == [2] * 8
    # twice 5 s for the last rank, which itself waits for nobody as long, busy machine or not
    assert min(row["wait_s"][:7]) > row["wait_s"][7]
    assert all(w > t for w, t in zip(row["wait_s"][:7], row["transfer_s"], strict=False))
    assert not list(nodes.shared.glob(".stretto*"))


@pytest.mark.long
def test_trend_of_runs_on_fewer_ranks_contains_the_one_on_sixteen(
    nodes: testbed.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On 2, 4 and 8 ranks recorded, on 16 forecast and then run; computing is sleep."""
    name = "openmpi4"
    binary = nodes.shared / "strong"
    MPIS[name].require().compile(REPOSITORY / "tests" / "programs" / "strong.c", binary)

    def wall(path: Path) -> float:
        return max(json.loads(path.read_text())["wall_s"])

    profiles = {}
    for ppn, hosts in ((1, 2), (1, 4), (2, 4), (4, 4)):
        job = [*launcher(nodes, name, hosts, ppn), str(binary), "800", "40"]
        runs = [nodes.shared / f"strong-{ppn * hosts}-{i}.profile.json" for i in range(2)]
        for path in runs:
            stretto(nodes, name, "profile", "-o", str(path), "--", *job)
        profiles[ppn * hosts] = min(runs, key=wall)  # the one that others disturbed less
    truth = wall(profiles.pop(16))
    out = nodes.shared / "strong.forecast.json"
    words = [w for path in profiles.values() for w in ("--profile", str(path))]
    layout = ["--nodes", "4", "--ppn", "4"]
    stretto(nodes, name, "simulate", "-p", "this-machine", *words, *layout, "-o", str(out))
    (scale,) = json.loads(out.read_text())["scales"]
    widest = forecast.WIDEST
    monkeypatch.setattr(forecast, "WIDEST", math.inf)  # others may disturb the runs
    found = forecast.trend_at([read_profile(path) for path in profiles.values()], [16])[16]
    middle, low, high = found
    print(f"16 ranks: {truth:.3g} s, trend {middle:.3g} ({low:.3g} to {high:.3g})")
    assert low <= truth <= high, (truth, found)
    assert scale["trend_s"] == (pytest.approx(found) if high <= widest * low else None)


def test_diagnose_across_nodes(nodes: testbed.Cluster) -> None:
    job = [*launcher(nodes, "openmpi4", 2, 2), str(program(nodes, "openmpi4")), "8", "2000"]
    done = stretto(nodes, "openmpi4", "diagnose", "--", *job)
    assert "next: stretto" in done.stderr, done.stderr
    # the nodes share this machine's cores, for which ranks wait: that is left out of the judgement
    kept = nodes.shared / "program-openmpi4.profile.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) | {"core_wait_s": None, "cpu_s": None}))
    again = stretto(nodes, "openmpi4", "diagnose", "--profile", str(kept))
    assert re.search(r"computation imbalance", again.stdout), again.stdout


@pytest.mark.parametrize("name", THREE)
def test_bench_with_hosts(nodes: testbed.Cluster, name: str) -> None:
    path = nodes.shared / f"{name}.bench.jsonl"
    hosts = ",".join(n.name for n in nodes.nodes[:2])
    launcher_ = launcher(nodes, name, 1, 1)[0]
    stretto(
        nodes, name, "bench", "-n", "4", "--ppn", "2", "--hosts", hosts, "--mpi", launcher_,
        "--collective", "barrier", "--candidates", "native,shm+dissemination", "--launches", "1",
        "--budget", "10s", "-o", str(path),
    )  # fmt: skip
    records = [json.loads(line) for line in path.read_text().splitlines()]
    starts = [r for r in records if r.get("type") == "launch"]
    assert starts and all((r["nodes"], r["ppn"], r["nranks"]) == (2, 2, 4) for r in starts)
    samples = [r for r in records if r.get("type") == "sample"]
    assert {s["candidate"] for s in samples} == {"native", "shm+dissemination"}
    assert all(s["correct"] for s in samples)


@pytest.mark.parametrize("name", rarely(THREE, ["openmpi5"]))
def test_a_general_table_is_found_and_applied(nodes: testbed.Cluster, name: str) -> None:
    data = nodes.shared / f"data-{name}"  # a home that all nodes see
    home = {"XDG_DATA_HOME": str(data)}
    hosts = ",".join(n.name for n in nodes.nodes[:2])
    tune = [
        "table",
        "make",
        "-n",
        "4",
        "--ppn",
        "2",
        "--hosts",
        hosts,
        "--bytes",
        "8",
        "--launches",
        "1",
    ]
    tune += ["--mpi", launcher(nodes, name, 1, 1)[0], "--collective", "allreduce"]
    tune += ["--candidates", "native,shm+recursive_doubling", "--budget", "10s"]
    stretto(nodes, name, *tune, **home)
    (table,) = data.rglob("*.table")
    text = table.read_text()
    assert re.search(r"^layout nodes=2 ppn=2$", text, re.MULTILINE)
    # One launch proves nothing, so that native stands in its rows: what is found shall be seen.
    chosen, rows = re.subn(
        r"^(row allreduce +2 +2 +)\S+( +)\S+.*$", r"\g<1>0-inf\2shm+recursive_doubling -", text,
        flags=re.MULTILINE,
    )  # fmt: skip
    assert rows == 1
    table.write_text(chosen)
    argv = [str(program(nodes, name)), "50"]
    done = stretto(nodes, name, "run", "-v", "--", *launcher(nodes, name, 2, 2), *argv, **home)
    assert "wrong: 0" in done.stdout and str(table) in done.stderr
    assert re.search(r"allreduce.*shm\+recursive_doubling", done.stderr), done.stderr
    other = stretto(nodes, name, "run", "-v", "--", *launcher(nodes, name, 4, 2), *argv, **home)
    assert "wrong: 0" in other.stdout and "shm+recursive_doubling" not in other.stderr
    # A job script that calls mpirun inside says its layout nowhere else: told by the ranks.
    script = executable(
        nodes.shared / f"job-{name}.sh",
        "#!/bin/sh\n" + shlex.join([*launcher(nodes, name, 2, 2), *argv]) + "\n",
    )
    inside = stretto(nodes, name, "run", "-v", "--table", str(table), "--", str(script), **home)
    assert "wrong: 0" in inside.stdout
    assert re.search(r"allreduce.*shm\+recursive_doubling", inside.stderr), inside.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", rarely([*THREE, "intel"], ["mpich"]))
def test_scaling_over_nodes(nodes: testbed.Cluster, name: str) -> None:
    job = [*launcher(nodes, name, 4, 2), str(program(nodes, name)), "20"]
    where = ["--nodes", "1,2", "--ppn", "1,2"]
    options = ["--native-only", "--repeats", "1", "--metric", r"rank 0 of (\d+)", "--json"]
    options += ["-o", str(nodes.shared / f"scale-{name}")]
    case = nodes.shared / f"case-{name}"
    case.mkdir()
    dry = stretto(nodes, name, "scale", *where, *options, "--dry-run", "--", *job, cwd=case)
    env = clusters.environment(nodes, name)
    for words, used, ppn in (("1 x 2", 1, 2), ("2 x 1", 2, 1)):
        (line,) = re.findall(rf"stretto:   {words}: (.*)", dry.stderr)
        printed = clusters.call(shlex.split(line), case, env).stdout
        found = sorted(re.findall(r"rank \d+ of \d+ on (\S+)", printed))
        assert found == sorted(n.name for n in nodes.nodes[:used] for _ in range(ppn)), line
    where = ["--nodes", "2", "--ppn", "1,2"]
    done = stretto(nodes, name, "scale", *where, *options, "--", *job, cwd=case)
    points = json.loads(done.stdout)["points"]
    assert [(p["nodes"], p["ppn"], p["median"]) for p in points] == [(2, 1, 2.0), (2, 2, 4.0)]


def test_tune_a_command_on_two_nodes(nodes: testbed.Cluster) -> None:
    out = nodes.shared / "tuned"
    job = [*launcher(nodes, "openmpi4", 2, 2), str(program(nodes, "openmpi4")), "1500"]
    done = stretto(
        nodes, "openmpi4", "tune", "--budget", "75s", "--pairs", "1", "--launches", "1", "-o",
        str(out), "--candidates", "native,shm+recursive_doubling", "--metric",
        r"loop seconds: (\S+)", "--", *job, XDG_DATA_HOME=str(nodes.shared),
    )  # fmt: skip
    (verdict,) = out.glob("*.verdict.json")
    assert json.loads(verdict.read_text())["conclusion"]
    (profile,) = out.glob("*.profile.json")
    assert len(json.loads(profile.read_text())["nodes"]) == 2
    (table,) = out.glob("*.table")
    assert re.search(r"^row allreduce +2 +2 ", table.read_text(), re.MULTILINE), done.stderr


@pytest.mark.parametrize("used", rarely([2, 4], [2]))
def test_openfoam_solves_the_same_across_nodes(
    nodes: testbed.Cluster, tmp_path: Path, used: int
) -> None:
    have("icoFoam", "openfoam openfoam-examples")
    case = nodes.shared / f"cavity-{used}"
    run_here([example("openfoam", "prepare.sh"), str(case), str(2 * used), "6"], tmp_path)
    foam = {"WM_PROJECT_DIR": "/usr/share/openfoam", "WM_PROJECT": "OpenFOAM"}
    foam |= {"OMPI_MCA_mca_base_env_list": ";".join(f"{k}={v}" for k, v in foam.items())}
    job = [*launcher(nodes, "openmpi4", used, 2), "icoFoam", "-parallel"]
    env = clusters.environment(nodes, "openmpi4") | foam
    native = clusters.call(job, case, env)
    choice = "allreduce=shm+recursive_doubling;bcast=shm+knomial;barrier=shm+dissemination"
    tuned = stretto(
        nodes, "openmpi4", "run", "-v", "--choice", choice, "--", *job, cwd=case, **foam
    )
    assert re.search(r"allreduce.*shm\+recursive_doubling", tuned.stderr), tuned.stderr
    logs = [icofoam_log(done.stdout) for done in (native, tuned)]
    assert sum("residual" in line for line in logs[0].splitlines()) > 20
    assert logs[0] == logs[1]


def test_a_directory_that_the_nodes_do_not_see(nodes: testbed.Cluster, tmp_path: Path) -> None:
    job = [*launcher(nodes, "openmpi4", 2, 2), str(program(nodes, "openmpi4")), "20"]
    done = stretto(nodes, "openmpi4", "profile", "--", *job, cwd=tmp_path, status=1)
    assert "wrong: 0" in done.stdout  # the job itself ran
    assert "4 of 4 ranks" in done.stderr and "shared by all nodes" in done.stderr
    assert not list(tmp_path.iterdir())
    hosts = ",".join(n.name for n in nodes.nodes[:2])
    words = ["bench", "-n", "4", "--ppn", "2", "--hosts", hosts, "--collective", "barrier"]
    words += ["--mpi", launcher(nodes, "openmpi4", 1, 1)[0], "--launches", "1"]
    done = stretto(nodes, "openmpi4", *words, cwd=tmp_path, status=1)
    assert "cannot be read" in done.stderr and "on a shared file system" in done.stderr


def test_a_directory_that_some_nodes_see(nodes: testbed.Cluster) -> None:
    hidden = nodes.shared / "first-only"
    hidden.mkdir()
    for index in range(1, 4):  # the other nodes have something else there, read-only
        for argv in (["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(hidden)],):
            assert nodes.run(index, argv).returncode == 0
    job = [*launcher(nodes, "openmpi4", 2, 2), str(program(nodes, "openmpi4")), "20"]
    path = hidden / "part.profile.json"
    done = stretto(nodes, "openmpi4", "profile", "-o", str(path), "--", *job)
    assert "wrong: 0" in done.stdout and "2 of 4 ranks" in done.stderr
    profile = json.loads(path.read_text())
    assert not profile["complete"] and profile["incomplete_ranks"] == [2, 3]


@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_a_rank_killed_inside_a_collective(nodes: testbed.Cluster, name: str) -> None:
    path = nodes.shared / f"killed-{name}.profile.json"
    victim, mark = nodes.shared / f"victim-{name}.sh", nodes.shared / f"victim-{name}.mark"
    wait = f"until [ -e {mark} ]; do sleep 0.1; done; sleep 0.5"
    executable(
        victim,
        f'#!/bin/sh\n[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 3 ] && ({wait}; kill -9 $$) &\n'
        f"exec {program(nodes, name)} 100000000 0 {mark}\n",
    )
    job = [*launcher(nodes, name, 2, 2), str(victim)]
    words = ["profile", "-o", str(path), "--choice", "allreduce=shm+recursive_doubling"]
    done = stretto(
        nodes, name, *words, "--mpi", launcher(nodes, name, 1, 1)[0], "--", *job, status=3
    )
    assert str(path) in done.stderr
    assert 3 in json.loads(path.read_text())["incomplete_ranks"]

    def left() -> str:
        listed = [["ps", "-e", "-o", "args"], ["ls", "/dev/shm"]]
        said = "".join(nodes.run(i, argv).stdout for i in range(2) for argv in listed)
        return "\n".join(x for x in said.splitlines() if re.search(r"program-|^\S*stretto", x))

    deadline = time.monotonic() + 300  # the launcher's daemon there goes after the launcher
    while left() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left() == ""
