"""Stretto's executor and plans in SimGrid SMPI: build the program, describe a network, run cases.

The same source files that run inside an application (``src/engine/exec.c``, ``src/engine/plans.c``,
``src/coll``, ``src/plan``) are compiled against the MPI of SMPI (docs/explanation/smpi.md).

Typical use::

    program = build(Path("/tmp/smpi"))
    network = Network.of(platform)
    for result in simulate(program, network, 64, [Case("allreduce", "ring", 4096)]):
        print(result.steady_s, result.alone_s)
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.model.platform import Platform

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
#: what of src/ is built, beside all of src/plan and src/coll
RUNTIME = ("exec", "exec_carry", "exec_node", "exec_told", "plans")
#: parameters of a platform that SMPI has nothing for
UNKNOWN = (
    *("rails", "nic_gap_message", "nic_recv_gap_message", "group_nodes", "oversubscription"),
    *("multipath", "latency_sigma", "detour_rate", "copy", "copy_byte", "memory_byte"),
)
SELECTORS = ("ompi", "mpich", "mvapich2", "impi")


def _inverse(gap: float) -> float:
    """Return a bandwidth; SMPI wants a finite one."""
    return 1 / gap if gap > 0 else 1e15


class SmpiError(RuntimeError):
    """The program could not be built, or a simulation failed."""


class BeyondLimitError(SmpiError):
    """A simulation was ended because it would take too much of the processor or the memory."""


@dataclass(frozen=True)
class Limits:
    """What one simulation may take of the machine.

    The processor's own time is limited, not the clock's, so that the same cases are within the
    limit on a busy machine and on an idle one.
    """

    cpu_s: float = 3600
    memory_left: float = 2e9  # bytes that must stay available to everybody else


@dataclass(frozen=True)
class Network:
    """What SMPI can express of a platform: one interface a node, a fabric that is never in the way.

    Times in seconds, sizes in bytes, bandwidths in bytes/s.
    """

    latency_s: float  # from host to host
    bandwidth: float  # of a node's interface, each way, shared by what passes it
    flow_bandwidth: float  # of one message, at most
    send_s: float  # of the processor, for each message
    send_s_per_byte: float
    receive_s: float  # the same, for eager messages
    receive_s_per_byte: float
    eager_bytes: int  # the longest message that needs no receiver to travel
    reduce_s: float
    reduce_s_per_byte: float
    local_latency_s: float  # of messages inside a node
    local_bandwidth: float  # of each of them
    handshake: bool = True  # of messages that are not eager: two latencies more
    hop_s: float = 0.0  # of node phases: for each level of a binary tree of the node's ranks
    hop_s_per_byte: float = 0.0

    @classmethod
    def of(cls, platform: Platform, hops: bool = False) -> Network:
        """Return a platform as SMPI sees it; refuse what SMPI has nothing for.

        With ``hops``, node phases take the time of a tree of messages within the node.
        """
        link, local = platform.levels["rail"], platform.levels["node"]
        plain = Platform()
        left = [name for name in UNKNOWN if getattr(platform, name) != getattr(plain, name)]
        left += [
            name
            for name in ("gap_message", "unexpected", "unexpected_byte", "rendezvous")
            if getattr(link, name) != 0
        ]
        if left:
            raise SmpiError(
                f"SMPI knows nothing like {', '.join(left)}: set them to their defaults"
            )
        return cls(
            latency_s=link.latency,
            bandwidth=_inverse(platform.nic_gap_byte),
            flow_bandwidth=_inverse(link.gap_byte),
            send_s=link.send_overhead,
            send_s_per_byte=link.send_byte,
            receive_s=link.recv_overhead,
            receive_s_per_byte=link.recv_byte,
            eager_bytes=int(min(link.eager_bytes, 2**30)),
            reduce_s=platform.reduce,
            reduce_s_per_byte=platform.reduce_byte,
            local_latency_s=local.latency,
            local_bandwidth=_inverse(local.gap_byte),
            hop_s=link.send_overhead + local.latency + link.recv_overhead if hops else 0.0,
            hop_s_per_byte=local.gap_byte if hops else 0.0,
        )

    def xml(self, nodes: int) -> str:
        """Return SMPI's platform file.

        What bounds each message by itself stands there only where it binds: SimGrid's solver looks
        at all messages under way again for each one that passes such a backbone.
        """
        backbone = ""
        if self.flow_bandwidth < self.bandwidth:
            backbone = (
                f' bb_bw="{self.flow_bandwidth!r}Bps" bb_lat="0s" bb_sharing_policy="FATPIPE"'
            )
        return (
            "<?xml version='1.0'?>\n"
            '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
            '<platform version="4.1">\n'
            f'  <cluster id="c" prefix="n" suffix="" radical="0-{nodes - 1}" speed="1Gf" core="256"'
            f' bw="{self.bandwidth!r}Bps" lat="{self.latency_s / 2!r}s"{backbone}'
            f' loopback_bw="{self.local_bandwidth!r}Bps" loopback_lat="{self.local_latency_s!r}s"'
            ' sharing_policy="SPLITDUPLEX"/>\n'
            "</platform>\n"
        )

    def flags(self) -> list[str]:
        """Return the settings: latency and bandwidth as given, without SMPI's corrections."""
        settings = {
            "network/model": "SMPI",
            "network/crosstraffic": "no",
            "network/TCP-gamma": "1e18",
            "network/weight-S": "0",
            "smpi/bw-factor": "0:1",
            # SMPI's rendezvous waits for the receiver but costs nothing: two latencies more for the
            # question and the answer. Sizes there are those of the message and an envelope of 16.
            "smpi/lat-factor": f"0:1;{self.eager_bytes + 16}:{3 if self.handshake else 1}",
            "smpi/simulate-computation": "no",
            "smpi/wtime": "0",
            "smpi/test": "0",
            "smpi/iprobe": "0",
            "smpi/async-small-thresh": str(self.eager_bytes + 1),
            "smpi/send-is-detached-thresh": str(self.eager_bytes + 1),
            "surf/precision": "1e-12",
        }
        for call, fixed, per_byte in (
            ("s", self.send_s, self.send_s_per_byte),  # MPI_Send
            ("is", self.send_s, self.send_s_per_byte),  # MPI_Isend
            ("r", self.receive_s, self.receive_s_per_byte),
        ):
            settings[f"smpi/o{call}"] = f"0:{fixed!r}:{per_byte!r}"
        return [f"--cfg={name}:{value}" for name, value in settings.items()]


@dataclass(frozen=True)
class Case:
    """One collective to simulate; ``bytes`` as `stretto bench` counts them."""

    collective: str
    choice: str  # "native": SMPI's own, by its selector
    bytes: int
    root: int = 0
    calls: int = 6  # back to back; 1: that one is `alone_s`, too
    folded: bool = False  # one memory for all ranks, contents neither moved nor checked

    def fits(self, nranks: int, limit: float) -> bool:
        """Whether all ranks' buffers together stay below a limit, in bytes."""
        wide = self.collective in ("allgather", "alltoall") or self.choice.startswith("bruck_k")
        return 3.0 * nranks * (nranks if wide else 1) * self.bytes <= limit


@dataclass(frozen=True)
class Result:
    """What a simulation showed of a case. All times are simulated seconds."""

    case: Case
    ends_s: list[float]  # when the last rank left each of the calls, made back to back
    alone_s: float  # one call that all ranks begin at the same instant
    checked: bool
    wrong_ranks: int

    @property
    def steady_s(self) -> float:
        """Time of a call in the second half of those made back to back; of the only one."""
        if len(self.ends_s) == 1:
            return self.ends_s[0]
        half = len(self.ends_s) // 2
        return (self.ends_s[-1] - self.ends_s[half - 1]) / (len(self.ends_s) - half)


def version() -> str | None:
    """Return the version of the SimGrid installed, or None."""
    if not shutil.which("smpicc") or not shutil.which("smpirun"):
        return None
    done = subprocess.run(["smpicc", "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\d+(\.\d+)+", done.stdout)
    return found.group(0) if found else None


def build(folder: Path, source: Path = REPOSITORY / "src", level: str = "-O2") -> Path:
    """Compile the program into a folder and return its path; simulated times mind no ``level``."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "stretto-smpi.so"
    files = [*HERE.glob("*.c"), *(source / "engine" / f"{name}.c" for name in RUNTIME)]
    files += [*source.glob("plan/*.c"), *source.glob("coll/**/*.c")]
    included = ["-Dmemmove=stretto_smpi_memmove", f"-I{HERE}", f"-I{source}"]
    _compile([*included, level, *sorted(map(str, files))], program)
    setup = sorted(map(str, (HERE / "setup").glob("*.c")))
    _compile([level, *setup], _setup_of(program))
    return program


def _setup_of(program: Path) -> Path:
    """Return where the library lies that spares SMPI work of no simulated time."""
    return program.with_name("stretto-smpi-setup.so")


def _compile(what: list[str], to: Path) -> None:
    argv = ["smpicc", "-DSMPI_NO_OVERRIDE_MALLOC", "-std=c11", "-D_GNU_SOURCE", "-g1"]
    argv += ["-Wall", "-Wextra", "-Werror", *what, "-o", str(to)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SmpiError(f"{' '.join(argv)}\n{done.stderr}")


def _answers(output: str, cases: Sequence[Case]) -> list[Result]:
    results = []
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    for case, line in zip(cases, lines, strict=False):
        if line["failed"]:
            raise SmpiError(f"{case.collective} {case.choice}: {line['failed']}")
        results.append(
            Result(case, line["ends_s"], line["alone_s"], line["checked"], line["wrong_ranks"])
        )
    return results


def _available() -> float:
    """Return the bytes of memory that could be had now."""
    with Path("/proc/meminfo").open(encoding="ascii") as lines:
        found = next(line for line in lines if line.startswith("MemAvailable"))
    return 1024.0 * int(found.split()[1])


def _run(
    argv: list[str], folder: Path, env: dict[str, str], limits: Limits
) -> subprocess.CompletedProcess[str]:
    """Run a simulation in a process group of its own, and end it where it takes too much."""
    seconds = int(limits.cpu_s)
    out, err = folder / "stdout", folder / "stderr"
    with out.open("w") as stdout, err.open("w") as stderr:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=env,
            cwd=folder,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)),
        )
        beyond = ""
        try:
            while process.poll() is None:
                if not beyond and _available() < limits.memory_left:
                    os.killpg(process.pid, signal.SIGKILL)
                    beyond = "the machine's memory"
                time.sleep(0.05)
        finally:
            if process.poll() is None:  # interrupted
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode in (-signal.SIGXCPU, 128 + signal.SIGXCPU):  # smpirun is a shell script
        beyond = f"{seconds} s of a processor"
    if beyond:
        raise BeyondLimitError(f"more than {beyond}")
    return subprocess.CompletedProcess(argv, process.returncode, out.read_text(), err.read_text())


def simulate(
    program: Path,
    network: Network,
    nranks: int,
    cases: Sequence[Case],
    *,
    ppn: int = 1,
    selector: str | None = None,
    options: Sequence[str] = (),
    limits: Limits = Limits(),
) -> list[Result]:
    """Run the cases, one after another, in one simulation.

    ``selector`` is which MPI's choice of algorithms ``native`` stands for, ``options`` are further
    ones of smpirun. Raises `BeyondLimitError` beyond the ``limits``.
    """
    nodes = -(-nranks // ppn)
    with tempfile.TemporaryDirectory(prefix="stretto-smpi-") as folder:
        base = Path(folder)
        (base / "platform.xml").write_text(network.xml(nodes))
        hosts = [f"n{rank // ppn}\n" for rank in range(nranks)]
        (base / "hosts").write_text("".join(hosts))
        lines = [
            f"{c.collective} {c.choice} {c.bytes} {c.root} {c.calls} {int(c.folded)}\n"
            for c in cases
        ]
        (base / "cases").write_text("".join(lines))
        argv = ["smpirun", "-no-privatize", "-np", str(nranks)]
        argv += ["-platform", str(base / "platform.xml"), "-hostfile", str(base / "hosts")]
        argv += ["-wrapper", f"env LD_PRELOAD={_setup_of(program)}"]
        argv += ["--log=root.thres:warning", *network.flags(), *options]
        argv += [f"--cfg=smpi/coll-selector:{selector}"] if selector else []
        argv += [str(program), str(base / "cases"), str(ppn), repr(network.reduce_s)]
        argv += [repr(network.reduce_s_per_byte), repr(network.hop_s), repr(network.hop_s_per_byte)]
        env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = _run(argv, base, env, limits)
    results = _answers(done.stdout, cases)
    if done.returncode != 0 or len(results) != len(cases):
        raise SmpiError(
            f"{' '.join(argv)}: exit {done.returncode} after {len(results)} of {len(cases)} cases\n"
            f"{done.stdout[-5000:]}\n{done.stderr[-2000:]}"
        )
    return results
