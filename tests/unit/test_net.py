"""stretto net without a cluster: pairs, judgement, file, and the C program over the loopback."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from processes import run_program
from stretto.built import net_program
from stretto.cli import main
from stretto.errors import StrettoError, UsageError
from stretto.files.identity import Host
from stretto.files.net import (
    Latency,
    LatencyRun,
    NetFile,
    NetHost,
    StreamRun,
    Streams,
    read_net,
    write_net,
)
from stretto.net.agents import Agents, by_shell
from stretto.net.answer import answer
from stretto.net.hosts import Pair, chosen_pairs, describe, rounds
from stretto.net.iperf3 import unfit
from stretto.net.judge import findings
from stretto.net.measure import NetResults, NetSetting, Plan, measure, step
from stretto.net.show import as_json, page

RUN = StreamRun(
    0.0, [], 10**9, 0, 0.2, 0.2, 0.3, 0.3, 10**5, 100, 50, 1448, 1500, 87040, 131072, 0.0, 0.0, 0, 0
)


@pytest.mark.parametrize("count", range(2, 10))
def test_rounds_of_all_pairs_have_each_pair_once_and_no_host_twice(count: int) -> None:
    hosts = [f"n{i}" for i in range(count)]
    pairs = chosen_pairs(hosts, (), every=True)
    found = rounds(pairs, at_once=False)
    assert sorted(pair for one in found for pair in one) == sorted(pairs)
    assert all(len({name for pair in one for name in pair}) == 2 * len(one) for one in found)
    assert len(found) <= 2 * (count - 1 + count % 2)
    assert rounds(pairs, at_once=True) == [pairs]


@pytest.mark.parametrize(
    "words,every,found",
    [
        ((), False, [("a", "b"), ("b", "c"), ("c", "a")]),
        (("a:c,c:b",), False, [("a", "c"), ("c", "b")]),
        (("a:a",), False, "not a pair"),
        (("a:x",), False, "not a pair"),
        (("ab",), False, "not a pair"),
        (("a:b",), True, "both give pairs"),
    ],
)
def test_pairs_are_those_named_or_refused(
    words: Sequence[str], every: bool, found: list[Pair] | str
) -> None:
    if isinstance(found, str):
        with pytest.raises(UsageError, match=found):
            chosen_pairs(["a", "b", "c"], words, every)
    else:
        assert chosen_pairs(["a", "b", "c"], words, every) == found


def spread(rate_gbits: float, runs: int = 6) -> list[float]:
    return [rate_gbits * 1e9 / 8 * (1 + 0.002 * (i - (runs - 1) / 2)) for i in range(runs)]


def result(
    points: dict[tuple[str, str, int, int], tuple[float, dict[str, float]]],
    runs: int = 6,
    buffer: int | None = None,
    **mtus: int,
) -> NetFile:
    """A result: (source, target, streams, threads) to Gb/s and other figures of each run."""
    names = list(dict.fromkeys(name for key in points for name in key[:2]))
    hosts = [
        NetHost(n, n, f"10.0.0.{i}", "eth0", mtus.get(n, 1500), 100000, 36, "6.1", "cubic", 1, 1)
        for i, n in enumerate(names)
    ]
    streams = [
        Streams(
            a, b, count, threads, 131072, "nothing", "own",
            [replace(RUN, rate_bytes_s=rate, **more) for rate in spread(gbits, runs)],
        )
        for (a, b, count, threads), (gbits, more) in points.items()
    ]  # fmt: skip
    host = Host("login", "cpu", 4, "6.1", 1)
    words = ["net", "tcp", "--hosts", ",".join(names)]
    return NetFile("0", "2026-01-01T00:00:00Z", host, words, 1, 0.3, buffer, hosts, streams)


def ring(*gbits: float) -> dict[tuple[str, str, int, int], tuple[float, dict[str, float]]]:
    """Each host to the next one."""
    names = [f"n{i + 1}" for i in range(len(gbits))]
    return {
        (a, b, 1, 1): (rate, {})
        for (a, b), rate in zip(pairwise([*names, names[0]]), gbits, strict=True)
    }


@pytest.mark.parametrize(
    "rates,runs,extra,words",
    [
        ({1: 9.46, 4: 37.6, 16: 93}, 6, {},
         "a -> b: 9.46 Gb/s with one stream, 37.6 Gb/s with 4, 93.0 Gb/s with 16 (9.8x): each "
         "stream is capped at about 9.46 Gb/s."),
        ({1: 9.46, 4: 37.6}, 6, {}, "capped at about 9.46 Gb/s; the total limit was not"),
        ({1: 9.46, 4: 37.6}, 3, {}, "37.6 Gb/s with 4; not tested: fewer than 6 runs"),
        ({1: 0.2, 4: 0.2}, 6, {}, "more streams do not help"),
        ({1: 9.4, 4: 14}, 6, {}, "(1.5x): one stream does not fill the path"),
        ({1: 9.4, 4: 37}, 6, {"send_thread": 0.99}, "one stream does not fill the path"),
        ({1: 9.4, 4: 37}, 6, {"receiver_limited": 0.9}, "the socket buffer limits each stream"),
        ({4: 9.4}, 6, {}, "a -> b: 9.40 Gb/s with 4 streams"),
    ],
)  # fmt: skip
def test_answer_by_rates_of_streams_gives_the_limit(
    rates: dict[int, float], runs: int, extra: dict[str, float], words: str
) -> None:
    points = {("a", "b", n, 1): (rate, extra) for n, rate in rates.items()}
    found = answer(result(points, runs))
    assert words in found.text
    assert ("x)" in found.text) == (runs >= 6 and len(rates) > 1 and "do not help" not in words)
    assert "stretto" in found.next_command


def test_answer_with_a_slow_pair_names_it_and_what_to_measure_next() -> None:
    made = result(ring(9.4, 1.0, 9.4, 9.3))
    typed = "--out=x.net.json -oy.net.json -o z.net.json --streams=4 --pairs n2:n3 --pairs=n1:n2"
    found = answer(replace(made, command=[*made.command, *typed.split(), "--streams", "1"]))
    assert found.text.startswith("n2 -> n3 is slow: 1.00 Gb/s, the other pairs")
    assert "; median of the other 3 pairs: 9.40 Gb/s" in found.text
    assert found.next_command.startswith(
        "stretto net tcp --hosts n1,n2,n3,n4 --streams 1 --threads 1 --no-latency --tool own "
        "--pairs n2:n1,n2:n4,n1:n3,n4:n3   (to find out whether a host or the path is slow)"
    )
    further = {("n2", "n1"): 1.0, ("n2", "n4"): 1.0, ("n1", "n3"): 9.4, ("n4", "n3"): 9.4}
    found = answer(result({(*pair, 1, 1): (rate, {}) for pair, rate in further.items()}))
    assert found.text.startswith("n2 is slow as a sender")
    every = {(a, b, 1, 1): (9.4 if "n3" in (a, b) else 1.0, {})
             for a in ("n1", "n2", "n3") for b in ("n1", "n2", "n3") if a != b}  # fmt: skip
    lossy = result({("a", "b", 1, 1): (9.4, {"retransmitted": 6000})})
    assert answer(lossy).text.startswith("a -> b loses packets; a -> b: 9.40 Gb/s")
    found = answer(result(every))
    assert found.text.startswith("n1 -> n2 is slow") and "--pairs" not in found.next_command
    assert all("check the path" in finding.remedy for finding in findings(result(every)))


@pytest.mark.parametrize(
    "rates,runs,words",
    [
        ({(1, 1): 9, (36, 1): 27, (36, 36): 93}, 6,
         "(3.0x): one stream does not fill the path; fastest: 93.0 Gb/s with 36 streams on 36 "
         "threads"),
        ({(1, 1): 27, (36, 1): 27, (36, 36): 93}, 2,
         "not tested: fewer than 6 runs; fastest (not tested): 93.0 Gb/s with 36 streams on 36 "
         "threads"),
        ({(36, 1): 27, (36, 36): 93}, 6,
         "27.0 Gb/s with 36 streams; fastest: 93.0 Gb/s with 36 streams on 36 threads"),
        ({(1, 1): 9, (36, 1): 27, (36, 36): 27.1}, 6, "(3.0x): one stream does not fill the path."),
    ],
)  # fmt: skip
def test_answer_names_the_fastest_streams_and_threads(
    rates: dict[tuple[int, int], float], runs: int, words: str
) -> None:
    found = answer(result({("a", "b", *key): (rate, {}) for key, rate in rates.items()}, runs))
    assert found.text.endswith(words)


def test_a_slow_pair_of_hosts_that_are_slow_with_others_names_those_pairs() -> None:
    names = [f"n{i + 1}" for i in range(4)]
    slow = ({"n1", "n2"}, {"n1", "n3"}, {"n2", "n4"})
    points = {(a, b, 1, 1): (1.0 if {a, b} in slow else 9.4, {})
              for a in names for b in names if a != b}  # fmt: skip
    found = findings(result(points))
    assert [finding.topic for finding in found] == ["pair"] * 6
    assert "also slow (n1 -> n3, n4 -> n2): check what these" in found[0].remedy
    assert not any("both are fast" in finding.remedy for finding in found)


def test_a_suggested_command_does_not_overwrite_the_result() -> None:
    made = result({("a", "b", 4, 1): (9.4, {})})
    for typed in ("-o x.net.json --streams 4", "--out=x.net.json --streams=4", "-ox.net.json"):
        found = answer(replace(made, command=["net", "tcp", *typed.split()]))
        assert found.next_command.startswith("stretto net tcp --streams 1,4,16 ")


SLOW_OUT = {
    (a, b, 1, 1): (1.0 if a == "n2" else 9.4, {})
    for a in ("n1", "n2", "n3") for b in ("n1", "n2", "n3") if a != b
}  # fmt: skip


@pytest.mark.parametrize(
    "points,expected",
    [
        (ring(9.4, 9.3, 9.4, 9.3), []),
        (ring(9.4, 1.0, 1.0, 9.3), [("host", "n3 is slow in both directions")]),
        (ring(9.4, 1.0, 9.4, 9.3), [("pair", "n2 -> n3 is slow: 1.00 Gb/s, the other")]),
        (SLOW_OUT, [("host", "n2 is slow as a sender")]),
        ({("a", "b", 1, 1): (9.4, {}), ("b", "a", 1, 1): (7.4, {})},
         [("asymmetry", "a -> b has 9.40 Gb/s, and back 7.40 Gb/s (1.27x)")]),
        ({("a", "b", 1, 1): (9.4, {"retransmitted": 6000})}, [("loss", "a -> b loses packets")]),
        ({("a", "b", 1, 1): (9.4, {"retransmitted": 6000}),
          ("a", "c", 1, 1): (1.4, {"retransmitted": 6000})},
         [("loss", "a -> 2 hosts (b, c) loses packets: 0.86 %")]),
        ({("a", "b", 1, 1): (9.4, {"send_thread": 0.99}),
          ("a", "b", 4, 1): (9.4, {"send_thread": 0.98}), ("a", "b", 4, 4): (33, {})},
         [("cpu", "sending thread on a is saturated: 0.98 cores at 9.40 Gb/s with 4 streams; "
           "4 threads: 3.51x")]),
        ({("a", "b", 1, 1): (9.4, {"receive_thread": 0.95})}, [("cpu", "receiving thread on b")]),
        ({("a", "b", 1, 1): (0.5, {"receiver_limited": 0.8})},
         [("buffer", "the receive buffer of 128 KiB limits")]),
        ({("a", "b", 1, 1): (0.5, {"buffer_limited": 0.8})},
         [("buffer", "the send buffer of 85 KiB limits")]),
        ({("a", "b", 1, 1): (0.5, {"receiver_limited": 0.8, "rtt_us": 3000})}, []),
        ({("a", "b", 1, 1): (0.5, {"path_mtu": 1400})}, [("mtu", "fragmented to 1400 bytes")]),
    ],
)  # fmt: skip
def test_findings_by_figures_name_what_stands_out(
    points: dict[tuple[str, str, int, int], tuple[float, dict[str, float]]],
    expected: list[tuple[str, str]],
) -> None:
    found = findings(result(points))
    assert [finding.topic for finding in found] == [topic for topic, _ in expected]
    for finding, (_, words) in zip(found, expected, strict=True):
        assert words in finding.text and finding.remedy


def test_latency_of_a_far_pair_is_named_and_the_page_begins_with_the_usual_one() -> None:
    base = replace(result(ring(1, 1, 1)), streams=[])
    runs = {us: [LatencyRun(9, us, us + 0.1 * i, 99.0) for i in range(6)] for us in (13, 16, 40)}
    measured = [("n1", "n2", 1, 13), ("n2", "n3", 1, 16), ("n3", "n1", 1, 40), ("n3", "n1", 9, 13)]
    found = replace(
        base, latencies=[Latency(a, b, size, "nothing", runs[us]) for a, b, size, us in measured]
    )
    (far,) = findings(found)
    assert (far.topic, far.hosts) == ("latency", ("n3", "n1")) and "40.2 us one way" in far.text
    assert page(found)[0] == "median of 3 pairs: 16.2 us one way for 1 B"


def test_findings_with_too_few_runs_name_no_slow_host_or_pair() -> None:
    assert findings(result(ring(9.4, 1.0, 1.0, 9.3), runs=2)) == []
    assert findings(result(ring(9.4, 1.0, 9.4, 9.3), runs=5)) == []


def test_findings_of_hosts_with_two_mtus_name_both() -> None:
    (found,) = findings(result(ring(9.4, 9.4, 9.4), n2=9000))
    assert found.topic == "mtu" and "1500: n1, n3; 9000: n2" in found.text


def test_names_of_one_machine_have_no_findings_of_a_network() -> None:
    found = result({("a", "b", n, 1): (9.0 * n, {"retransmitted": 9000}) for n in (1, 4)}, b=9000)
    assert {f.topic for f in findings(found)} >= {"loss", "mtu"}
    found.hosts = [replace(host, address="10.0.0.1") for host in found.hosts]
    assert not {f.topic for f in findings(found)} - {"cpu", "buffer"}
    text = "\n".join(page(found))
    assert text.startswith("one machine, no network: a -> b: 9.00 Gb/s with one stream")
    assert "loopback, no network card" in text and "eth0" not in text and "btl_tcp" not in text


def test_page_with_many_pairs_sums_up_and_has_a_matrix(tmp_path: Path) -> None:
    hosts = [f"n{i}" for i in range(4)]
    points = {(a, b, s, 1): (9.4, {}) for a in hosts for b in hosts if a != b for s in (1, 4)}
    found = result(points)
    text = "\n".join(page(found))
    assert "median of 12 pairs" in text and "from \\ to" in text
    write_net(found, tmp_path / "x.net.json")
    assert read_net(tmp_path / "x.net.json") == found
    assert as_json(found, None)["answer"]["text"] in text
    damaged = replace(found, hosts=found.hosts[1:])
    with pytest.raises(StrettoError, match="is not a pair of its hosts"):
        write_net(damaged, tmp_path / "y.net.json")


@pytest.mark.parametrize(
    "changes,versions,reason",
    [
        ({}, {"a": (3, 12), "b": (3, 9)}, None),
        ({}, {"a": (3, 12), "b": None}, "b has none"),
        ({}, {"a": (3, 12), "b": (3, 17)}, "the iperf3 versions differ"),
        ({}, {"a": (3, 16), "b": (3, 17)}, "not 1 for 4"),
        ({"settings": [NetSetting(4, 4, 1)]}, {"a": (3, 16), "b": (3, 17)}, None),
        ({"settings": [NetSetting(4, 4, 1)]}, {"a": (3, 12), "b": (3, 12)}, "not 4 for 4"),
        ({"at_once": True}, {"a": (3, 12), "b": (3, 12)}, "at once"),
        ({"both": True}, {"a": (3, 12), "b": (3, 12)}, "at once"),
    ],
)
def test_iperf3_is_used_only_where_it_does_the_same(
    changes: dict[str, object], versions: dict[str, tuple[int, int] | None], reason: str | None
) -> None:
    plan = replace(Plan([("a", "b")], [NetSetting(4, 1, 1)], 6, 1, 0.3, 0.25), **changes)  # type: ignore[arg-type]
    found = unfit(plan, versions)
    assert found is None if reason is None else found is not None and reason in found


@pytest.mark.parametrize(
    "words,said",
    [
        ([], "no hosts were given"),
        (["--hosts", "a"], "a network needs two hosts"),
        (["--hosts", "a,a"], "only this machine: 127.0.0.1,127.0.0.2"),
        (["--hosts", "a,-b"], "not a host"),
        (["--hosts", "a,b", "--streams", "1", "--threads", "4"], "more threads than streams"),
        (["--hosts", "a,b", "--streams", "5000"], "too many"),
        (["--hosts", "a,b", "--bytes", "128M"], "cannot be measured"),
        (["--hosts", "a,b", "--both", "--reverse"], "cannot be combined"),
        (["--hosts", "a,b", "--tool", "netperf"], "there is no tool"),
        (["--hosts", "a,b", "--launcher", "rsh"], "there is no launcher"),
        (["--hosts", "a,b", "--agent", "/nowhere/ssh"], "/nowhere/ssh cannot be started"),
        (["--hosts", "a,b", "--agent", "sh -c 'echo no route >&2; exit 255'"], "ended: no route"),
    ],
)
def test_command_that_cannot_work_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SLURM_JOB_NODELIST", "SLURM_NODELIST", "PBS_NODEFILE"):
        monkeypatch.delenv(name, raising=False)
    assert main(["net", "tcp", *words]) in (1, 2)
    captured = capsys.readouterr()
    assert said in captured.err and "try:" in captured.err and not captured.out


LOOPBACK = NetHost("x", "x", "127.0.0.1", "lo", 65536, None, 2, "6", "cubic", 0, 0)


@pytest.fixture
def agents(monkeypatch: pytest.MonkeyPatch) -> Iterator[Agents]:
    """Two agents on this machine that listen on the loopback."""
    monkeypatch.setattr("stretto.net.agents.is_here", lambda host: True)
    with Agents(["a", "b"], by_shell(["ssh"])) as found:
        found.listen({name: replace(LOOPBACK, name=name) for name in ("a", "b")}, 0, None)
        yield found


def plan_of(*settings: NetSetting, both: bool = False, seconds: float = 0.3) -> Plan:
    return Plan([("a", "b")], settings, 1, seconds, 0.05, 0.1, both=both)


def test_agents_measure_streams_threads_and_latency(agents: Agents) -> None:
    plan = plan_of(
        NetSetting(1, 1, 131072),
        NetSetting(3, 2, 100),
        NetSetting(40, 1, 8192),
        NetSetting(1, 1, 1, True),
    )
    found = measure(agents, plan, lambda done, note: None)
    assert not found.failed and len(found.streams) == 3 and len(found.latencies) == 1
    for (_, setting), point in found.streams.items():
        (run,) = point.runs
        # an agent that wakes late on a busy machine joins two intervals
        assert run.rate_bytes_s > 0 and 1 <= len(run.intervals_bytes_s) <= 3
        least, most = min(run.intervals_bytes_s), max(run.intervals_bytes_s)
        assert least * 0.999 <= run.rate_bytes_s <= most * 1.001
        assert run.mss > 1000 and 0 <= run.send_thread <= run.send_cores + 1e-9
        assert run.slowest_stream_bytes_s * setting.streams <= run.rate_bytes_s * 1.1
    ((latency,),) = [point.runs for point in found.latencies.values()]
    assert latency.count > 0 and 0 < latency.min_us <= latency.median_us <= latency.p99_us
    both = plan_of(NetSetting(2, 1, 65536), both=True)
    found = measure(agents, both, lambda done, note: None)
    assert [point.pair for point in found.streams.values()] == [("a", "b"), ("b", "a")]
    assert {point.beside for point in found.streams.values()} == {"reverse"}


@pytest.mark.parametrize("number,reason", [(signal.SIGKILL, "broke|ended|closed"),
                                           (signal.SIGSTOP, "no data arrives")])  # fmt: skip
def test_agents_whose_peer_dies_or_stops_end_within_seconds(
    agents: Agents, number: signal.Signals, reason: str
) -> None:
    plan = plan_of(NetSetting(2, 1, 131072), seconds=900)
    results = NetResults(plan)
    peer = agents.by_name["b"].process.pid

    def used() -> int:
        """Ticks of a core that the peer has had: with bytes it needs some, and to listen none."""
        words = Path(f"/proc/{peer}/stat").read_text().rpartition(")")[2].split()
        return int(words[11]) + int(words[12])

    def once_bytes_pass(before: int, until: float) -> None:
        while used() < before + 10 and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(peer, number)

    stop = threading.Thread(target=once_bytes_pass, args=(used(), time.monotonic() + 300))
    stop.start()
    begin = time.monotonic()
    try:
        step(agents, plan, results, [("a", "b")], plan.settings[0])
    finally:
        stop.join()
        agents.by_name["b"].process.kill()
    ((_, failed),) = results.failed.items()
    assert time.monotonic() - begin < 800 and failed.remedy
    assert any(word in failed.reason for word in reason.split("|")), failed.reason
    step(agents, plan, results, [("a", "b")], plan.settings[0])  # it is not tried again


def test_agent_serves_nobody_who_lacks_the_token_or_has_another_version(agents: Agents) -> None:
    port = agents.by_name["b"].port
    for line, reply in (
        ("stretto-net 1 0123456789abcdef control", b"error foreign"),
        (f"stretto-net 1 {agents.token}0 control", b"error foreign"),
        (f"stretto-net 2 {agents.token} control", b"error version it has version 1"),
        (f"stretto-net 1 {agents.token} data 77 0", b""),
        ("GET / HTTP/1.1", b""),
        ("x" * 600, b""),
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=300) as peer:
            peer.sendall(line.encode() + b"\n")
            try:
                found = peer.recv(200)
            except ConnectionResetError:
                found = b""
            assert found.startswith(reply) and bool(found) == bool(reply), line
    with pytest.raises(OSError):  # it listens on its address only
        socket.create_connection(("127.0.0.2", port), timeout=300)
    results = measure(agents, plan_of(NetSetting(1, 1, 1024)), lambda done, note: None)
    assert not results.failed


def test_agent_that_meets_another_program_or_nobody_names_the_remedy(agents: Agents) -> None:
    plan = plan_of(NetSetting(1, 1, 1024))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            peer, _ = server.accept()
            with peer:
                peer.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
                peer.recv(1000)

        other = threading.Thread(target=greet)
        other.start()
        agents.by_name["b"].port = server.getsockname()[1]
        results = NetResults(plan)
        step(agents, plan, results, [("a", "b")], plan.settings[0])
        other.join()
        assert "something else listens there" in results.failed["a", "b"].reason
    results = NetResults(plan)
    step(agents, plan, results, [("a", "b")], plan.settings[0])
    found = results.failed["a", "b"]
    assert "Connection refused" in found.reason and "--port" in found.remedy


def test_agent_on_a_port_that_is_taken_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.net.agents.is_here", lambda host: True)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with (
            Agents(["a"], by_shell(["ssh"])) as found,
            pytest.raises(StrettoError, match=f"cannot listen on 127.0.0.1 port {port}") as caught,
        ):
            found.listen({"a": LOOPBACK}, port, None)
    assert caught.value.place == "a" and "--port" in str(caught.value.remedy)


def test_agent_ends_with_its_input_and_refuses_foreign_lines() -> None:
    for text in ("", "run id=1\n", "token short\n", "token 0123456789abcdef\nnonsense\n"):
        done = run_program([net_program()], input=text, timeout=300)
        assert done.returncode == 0 and done.stdout.count("\n") == 1, text


def test_host_is_described_by_the_interface_that_is_named() -> None:
    hello = {
        "host": "x", "cores": 2, "kernel": "6", "congestion": "cubic",
        "tcp_wmem": "4096\t16384\t4194304", "tcp_rmem": "",
        "interfaces": [
            {"name": "eth0", "address": "10.0.0.1", "mtu": 9001, "speed_mbits": 25000},
            {"name": "eth1", "address": "fd00::1", "mtu": 1500, "speed_mbits": -1},
        ],
    }  # fmt: skip
    found = describe("nowhere.invalid", hello, None)
    assert (found.address, found.speed_mbits, found.send_buffer_most) == (
        "10.0.0.1",
        25000,
        4194304,
    )
    assert describe("nowhere.invalid", hello, "eth1").speed_mbits is None
    assert describe("nowhere.invalid", hello, "10.0.0.0/8").interface == "eth0"
    with pytest.raises(StrettoError, match="no interface eth7"):
        describe("nowhere.invalid", hello, "eth7")
