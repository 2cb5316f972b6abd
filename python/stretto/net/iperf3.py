"""Bandwidth by iperf3, where all hosts have one that does what is measured."""

from __future__ import annotations

import contextlib
import math
import re
import secrets
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from stretto.errors import StrettoError
from stretto.files.net import NetHost, StreamRun
from stretto.files.parse import json_value
from stretto.net.agents import Starter
from stretto.net.hosts import Pair
from stretto.net.measure import NetResults, NetSetting, Plan

#: from here on it has a thread for each stream
THREADED = (3, 16)
#: the first that counts without the warm-up
FIRST = (3, 1)
PATIENCE_S = 20.0


def version_of(host: str, starter: Starter) -> tuple[int, int] | None:
    """Return the version of a host's iperf3, None where it has none that runs."""
    words, environ = starter(host, ["iperf3", "--version"])
    try:
        done = subprocess.run(
            words, env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"iperf (\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else None


def unfit(plan: Plan, versions: Mapping[str, tuple[int, int] | None]) -> str | None:
    """Return why iperf3 cannot take the part of the own sender here, None where it can.

    One tool measures all of a call: figures of two tools are not compared.
    """
    for host, version in versions.items():
        if version is None or version < FIRST:
            return f"{host} has none" if version is None else f"the iperf3 of {host} is too old"
    threaded = {version is not None and version >= THREADED for version in versions.values()}
    if len(threaded) > 1:
        return "the iperf3 versions differ: one thread per stream, or one thread for all"
    for setting in (s for s in plan.settings if not s.latency):
        if setting.threads != (setting.streams if True in threaded else 1):
            rule = "a thread for each stream" if True in threaded else "one thread for all streams"
            return f"it has {rule}, not {setting.threads} for {setting.streams}"
        if setting.streams > 128:
            return "it has at most 128 streams"
    if plan.at_once or plan.both:
        return "it does not measure several pairs, or both directions, at once"
    if plan.device is not None:
        return "iperf3 cannot be bound to an interface here"
    return None


class Iperf3:
    def __init__(self, hosts: Mapping[str, NetHost], starter: Starter, plan: Plan) -> None:
        self.hosts = hosts
        self.starter = starter
        self.plan = plan

    def __call__(self, pair: Pair, setting: NetSetting, results: NetResults) -> None:
        """Measure, and add the run or why there is none."""
        try:
            results.add_stream(pair, setting, self._run(pair, setting))
        except StrettoError as error:
            results.fail(pair, "timeout", f"{pair[0]} -> {pair[1]}: {error.message}")

    def _run(self, pair: Pair, setting: NetSetting) -> StreamRun:
        source, target = (self.hosts[name] for name in pair)
        port = 20000 + secrets.randbelow(12000)
        limit = PATIENCE_S + self.plan.seconds + self.plan.warmup_s + 10
        # what ssh has started there does not end with ssh
        program = ["timeout", f"{limit:.0f}", "iperf3", "-s", "-1", "--forceflush"]
        program += ["-B", target.address, "-p", str(port)]
        words, environ = self.starter(target.name, program)
        server = subprocess.Popen(
            words, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        watch = threading.Timer(limit, server.kill)
        watch.start()
        try:
            assert server.stdout is not None
            said = ""
            for line in server.stdout:
                said = line.strip() or said
                if "listening" in line:
                    break
            else:
                raise StrettoError(f"iperf3 does not listen on {target.name}: {said}")
            return self._client(source, target, port, setting)
        finally:
            watch.cancel()
            with contextlib.suppress(OSError):
                server.terminate()
            try:
                server.wait(5)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()

    def _client(
        self, source: NetHost, target: NetHost, port: int, setting: NetSetting
    ) -> StreamRun:
        plan = self.plan
        seconds = math.ceil(plan.seconds)
        words: Sequence[str] = [
            "iperf3", "-c", target.address, "-B", source.address, "-p", str(port), "-J",
            "-P", str(setting.streams), "-l", str(setting.bytes), "-t", str(seconds),
            "-O", str(math.ceil(plan.warmup_s)), "-i", f"{max(0.1, plan.interval_s):g}",
            *(["-w", str(plan.buffer)] if plan.buffer else []),
        ]  # fmt: skip
        argv, environ = self.starter(source.name, words)
        try:
            done = subprocess.run(
                argv, env=environ, capture_output=True, text=True, errors="replace", check=False,
                timeout=PATIENCE_S + seconds + plan.warmup_s, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            found = json_value(done.stdout[done.stdout.index("{") :])
            if "error" in found:
                raise StrettoError(f"iperf3: {found['error']}")
            return run_of(found)
        except subprocess.TimeoutExpired as error:
            raise StrettoError(f"iperf3 did not end within {error.timeout:g} s") from error
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            raise StrettoError(f"iperf3 gave no result: {error!r}") from error


def run_of(found: Mapping[str, Any]) -> StreamRun:
    """Return a run from what ``iperf3 --json`` printed on the sending host."""
    end = found["end"]
    intervals = [one["sum"] for one in found["intervals"] if not one["sum"].get("omitted")]
    senders = [one["sender"] for one in end["streams"]]
    each = [one["receiver"]["bits_per_second"] / 8 for one in end["streams"]]
    cpu = end["cpu_utilization_percent"]
    first = senders[0]
    start = found["start"]
    mss = int(start.get("tcp_mss_default", start.get("tcp_mss", 0)))
    return StreamRun(
        rate_bytes_s=end["sum_received"]["bits_per_second"] / 8,
        intervals_bytes_s=[one["bits_per_second"] / 8 for one in intervals],
        bytes=int(end["sum_received"]["bytes"]),
        retransmitted=end["sum_sent"].get("retransmits"),
        send_cores=cpu["host_total"] / 100,
        send_thread=cpu["host_total"] / 100,
        receive_cores=cpu["remote_total"] / 100,
        receive_thread=cpu["remote_total"] / 100,
        cwnd_bytes=int(found["intervals"][-1]["streams"][0].get("snd_cwnd", 0)),
        rtt_us=float(first.get("mean_rtt", 0)),
        min_rtt_us=float(first.get("min_rtt", 0)),
        mss=mss,
        path_mtu=int(found["intervals"][-1]["streams"][0].get("pmtu", 0)),
        send_buffer=int(start.get("sndbuf_actual", 0)),
        receive_buffer=int(start.get("rcvbuf_actual", 0)),
        buffer_limited=0.0,
        receiver_limited=0.0,
        slowest_stream_bytes_s=min(each),
        fastest_stream_bytes_s=max(each),
    )
