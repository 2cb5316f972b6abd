"""``stretto net tcp``: what the network between hosts gives, without an MPI."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.lazy import lazily
from stretto.cli.measured import NetOut, announce, busy_notes, finish
from stretto.cli.options import DryRun, Hosts, Json, Mpi
from stretto.counted import counted
from stretto.errors import EXIT_DONE, EXIT_FAULT, UsageError
from stretto.progress import Progress
from stretto.version import __version__

with lazily():
    from stretto.files.identity import collect_host, now
    from stretto.files.net import NetFile, write_net
    from stretto.measure.settings import parse_counts, parse_sizes
    from stretto.mpi.detect import find_installation
    from stretto.net.agents import SSH, Agents, Starter, by_mpi, by_shell, by_srun
    from stretto.net.hosts import chosen_pairs, describe, find_hosts
    from stretto.net.iperf3 import Iperf3, unfit, version_of
    from stretto.net.measure import NetSetting, Plan, measure
    from stretto.net.rails_judge import between
    from stretto.net.show import as_json, page

EXAMPLE = """\
stretto net tcp --hosts node1,node2
stretto net tcp --hosts node1,node2,node3,node4 --all-pairs --streams 16 -o cluster.net.json
salloc -N 4 stretto net tcp --streams 1,4,16 --threads 1,4"""

_STREAMS_MOST, _BYTES_MOST, _SAMPLES_MOST = 4096, 64 << 20, 4000

_Option = partial(typer.Option, rich_help_panel="Network")
_File = Annotated[Path | None, _Option(help="File with one host per line.")]
_Pairs = Annotated[
    list[str] | None,
    _Option(help="Pairs, sender first: a:b,c:d. Default: each host and the next one."),
]
_All = Annotated[bool, _Option("--all-pairs", help="Measure every pair of hosts.")]
_AtOnce = Annotated[bool, _Option("--at-once", help="Measure all pairs at the same time.")]
_Streams = Annotated[str, _Option(help="TCP connections of a pair.")]
_Threads = Annotated[str, _Option(help="Threads that serve the connections, on each side.")]
_Bytes = Annotated[str, _Option("--bytes", help="Message sizes: bytes of one send.")]
_Seconds = Annotated[float, _Option(min=0.1, max=600, help="Length of a run in seconds.")]
_Warmup = Annotated[
    float, _Option(min=0, max=60, help="Uncounted traffic before each run, in seconds.")
]
_Interval = Annotated[float, _Option(min=0.05, max=600, help="Length of a sample in seconds.")]
_Runs = Annotated[
    int, _Option(min=1, max=100, help="Runs of each pair and setting; below 6 no ratio is tested.")
]
_Reverse = Annotated[
    bool, _Option("--reverse", help="Also measure the reverse direction of each pair.")
]
_Both = Annotated[bool, _Option("--both", help="Measure both directions at the same time.")]
_Latency = Annotated[
    bool | None,
    _Option(help="Measure only latency, or no latency. Default: latency and bandwidth."),
]
_LatencyBytes = Annotated[str, _Option(help="Message sizes for latency.")]
_Buffer = Annotated[
    str | None, _Option(help="Size of the socket buffers in bytes. Default: chosen by the kernel.")
]
_Interface = Annotated[
    str | None, _Option(help="Interface or network: eth1, 10.0.0.0/8. Default: by host name.")
]
_Port = Annotated[int, _Option(min=0, max=65535, help="TCP port to listen on; 0: any free one.")]
_Tool = Annotated[
    str, _Option(help="Tool: own, iperf3, or auto (iperf3 if every host has a suitable version).")
]
_Launcher = Annotated[str, _Option(help="How to start programs on hosts: ssh, srun, mpi or auto.")]
_Agent = Annotated[
    str | None, _Option(help="Command that starts programs on hosts: CMD HOST PROGRAM, as ssh.")
]


def command(
    hosts: Hosts = None,
    hostfile: _File = None,
    pairs: _Pairs = None,
    all_pairs: _All = False,
    at_once: _AtOnce = False,
    streams: _Streams = "1,4,16",
    threads: _Threads = "1,4",
    bytes_: _Bytes = "128K",
    seconds: _Seconds = 1.0,
    warmup: _Warmup = 0.3,
    interval: _Interval = 0.25,
    runs: _Runs = 6,
    reverse: _Reverse = False,
    both: _Both = False,
    latency: _Latency = None,
    latency_bytes: _LatencyBytes = "1,1K,64K",
    buffer: _Buffer = None,
    interface: _Interface = None,
    port: _Port = 0,
    tool: _Tool = "auto",
    launcher: _Launcher = "auto",
    agent: _Agent = None,
    mpi: Mpi = None,
    output: NetOut = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Measure TCP between hosts: bandwidth by streams and threads, latency, lost packets.

    A small program runs on every host; neither an MPI nor root is needed. The exit code is 1 if a
    pair could not be measured.
    """
    names = find_hosts(hosts, hostfile)
    found = _directions(chosen_pairs(names, pairs or (), all_pairs), reverse, both, at_once)
    settings = _settings(streams, threads, bytes_, latency, latency_bytes)
    if tool not in ("auto", "own", "iperf3"):
        raise UsageError(f"there is no tool {tool!r}", "--tool", "give auto, own or iperf3")
    sample = min(max(interval, seconds / _SAMPLES_MOST), seconds)
    plan = Plan(
        found, settings, runs, seconds, warmup, sample, at_once, both,
        parse_sizes(buffer)[0] if buffer else 0,
        interface if interface and "/" not in interface else None,
    )  # fmt: skip
    start = _starter(launcher, agent, mpi)
    number = f"{counted(len(found), 'pair')}, {counted(len(settings), 'setting')}"
    number += f", {counted(runs, 'run')} each"
    if not announce(number, plan.total_s, dry_run=dry_run, as_json=json):
        return EXIT_DONE
    used = [name for name in names if any(name in pair for pair in found)]
    notes = busy_notes()
    result = _measure(used, start, plan, interface, port, tool)
    result.notes = notes
    finish(result, write_net, as_json, page, output, json)
    return EXIT_FAULT if result.failed else EXIT_DONE


def _directions(
    pairs: list[tuple[str, str]], reverse: bool, both: bool, at_once: bool
) -> list[tuple[str, str]]:
    """Return the pairs with the directions that are wanted."""
    if (reverse or at_once) and both:
        raise UsageError(
            "--both cannot be combined with --reverse or --at-once", "--both",
            "leave out --reverse and --at-once, or --both",
        )  # fmt: skip
    if reverse:
        return list(dict.fromkeys(pair for a, b in pairs for pair in ((a, b), (b, a))))
    if both:
        return [pair for at, pair in enumerate(pairs) if pair[::-1] not in pairs[:at]]
    return pairs


def _settings(
    streams: str, threads: str, sizes: str, latency: bool | None, latency_sizes: str
) -> list[NetSetting]:
    """Return what is measured of each pair; no more threads than streams."""
    out = []
    if latency is not True:
        numbers, counts = parse_counts(streams, "--streams"), parse_counts(threads, "--threads")
        if max(numbers) > _STREAMS_MOST:
            raise UsageError(f"{max(numbers)} streams are too many", "--streams", "at most 4096")
        for size in parse_sizes(sizes):
            out += [NetSetting(n, t, size) for n in numbers for t in counts if t <= n]
        if not out:
            raise UsageError("there are more threads than streams", "--threads", "give --threads 1")
    if latency is not False:
        out += [NetSetting(1, 1, size, latency=True) for size in parse_sizes(latency_sizes)]
    for setting in out:
        if not 1 <= setting.bytes <= _BYTES_MOST:
            raise UsageError(
                f"{setting.bytes} bytes cannot be measured", "--bytes", "give 1 to 64M"
            )
    return out


def _starter(launcher: str, agent: str | None, mpi: str | None) -> Starter:
    """Return what starts programs on hosts."""
    if launcher not in ("auto", "ssh", "srun", "mpi"):
        raise UsageError(f"there is no launcher {launcher!r}", "--launcher", "ssh, srun or mpi")
    if agent is not None:
        words = shlex.split(agent)
        if not words:
            raise UsageError("the command is empty", "--agent", "give for example --agent ssh")
        return by_shell(words)
    if launcher == "mpi" or (launcher == "auto" and mpi is not None):
        return by_mpi(find_installation(mpi))
    in_job = "SLURM_JOB_ID" in os.environ and shutil.which("srun") is not None
    return by_srun if launcher == "srun" or (launcher == "auto" and in_job) else by_shell(SSH)


def _measure(
    names: Sequence[str], start: Starter, plan: Plan, interface: str | None, port: int, tool: str
) -> NetFile:
    with Progress("measuring the network", plan.total_s, unit="s") as bar:
        bar.update(0, f"starting on {counted(len(names), 'host')}")
        with Agents(names, start) as agents:
            hosts = {
                name: describe(name, agent.hello or {}, interface)
                for name, agent in agents.by_name.items()
            }
            agents.listen(hosts, port, plan.device)
            other = None
            if tool != "own" and any(not setting.latency for setting in plan.settings):
                there = {n: bool((a.hello or {}).get("iperf3")) for n, a in agents.by_name.items()}
                if tool == "iperf3" or all(there.values()):
                    versions = {name: version_of(name, start) for name in names}
                    reason = unfit(plan, versions)
                    if reason is None:
                        plan = replace(plan, tool="iperf3")
                        other = Iperf3(hosts, start, plan)
                    elif tool == "iperf3":
                        raise UsageError(f"iperf3 does not fit: {reason}", "--tool", "--tool own")
            bar.update(0, total=plan.total_s)
            before = agents.traffic()
            results = measure(agents, plan, bar.advance, other)
            moved = between(before, agents.traffic())
    return NetFile(
        __version__, now(), collect_host(), sys.argv[1:], plan.seconds, plan.warmup_s,
        plan.buffer or None, list(hosts.values()), list(results.streams.values()),
        list(results.latencies.values()), list(results.failed.values()), traffic=moved,
    )  # fmt: skip
