"""What settings of links and rails change: shares of rails, ignored settings, answer, page."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from stretto.counted import counted, sized, three
from stretto.files.identity import titled
from stretto.files.net import Messages, RailBytes, Rails, RailSetting
from stretto.measure.show import in_columns
from stretto.measure.stats import FEWEST, median_interval
from stretto.mpi.settings.nodes import INTERNAL
from stretto.mpi.settings.openmpi import SPREAD
from stretto.net.answer import NetAnswer
from stretto.net.judge import ComparedRates, NetFinding, compare
from stretto.net.p2p import RATE_BYTES, WINDOW, placement

NATIVE = "native"
LINKS = "OMPI_MCA_btl_tcp_links"
#: variables that choose a transport
TRANSPORTS = {"FI_PROVIDER", "UCX_TLS"}
#: of connections that all carry messages, each over the next one
SPREAD_WORD = "(spread)"
#: a rail with less than this part of the bytes is not used: launchers and others use it, too
CARRIES = 0.01
#: shares that differ by less are the same
SAME = 0.05
#: an interface with less than this part of the speed of another one is no rail beside it
SLOW = 0.5


def label(environment: Mapping[str, str]) -> str:
    """Return variables as ``--candidates`` takes them: ``btl_tcp_links=8``."""
    return ",".join(f"{n.removeprefix('OMPI_MCA_')}={v}" for n, v in environment.items())


def named(environment: Mapping[str, str]) -> str:
    """Return a name for a setting; that of several variables is short where it is well known."""
    rest = {n: v for n, v in environment.items() if (n, v) not in SPREAD}
    return (
        f"{label(rest)} {SPREAD_WORD}" if len(environment) - len(rest) == 2 else label(environment)
    )


def options(family: str, environment: Mapping[str, str]) -> list[str]:
    """Return the launcher and its options that set variables."""
    out = ["mpirun" if family in ("openmpi", "intel") else "mpiexec"]
    for name, value in environment.items():
        if family != "openmpi":
            out += ["-genv", name, value]
        elif name.startswith("OMPI_MCA_"):
            out += ["--mca", name.removeprefix("OMPI_MCA_"), value]
        else:
            out += ["-x", f"{name}={value}"]
    return out


def between(before: Sequence[RailBytes], after: Sequence[RailBytes]) -> list[RailBytes]:
    """Return what was moved between two readings of the same hosts."""
    was = {(c.host, c.name): c for c in before}
    return [
        replace(c, sent=c.sent - b.sent, received=c.received - b.received)
        for c in after
        if (b := was.get((c.host, c.name))) and c.sent >= b.sent and c.received >= b.received
    ]


def shares(traffic: Sequence[RailBytes], shared: Sequence[str]) -> dict[str, float]:
    """Return which part of the bytes each rail moved, by name, over all hosts.

    `shared`: interfaces and ports that all hosts have: rails also where they carry nothing. Others
    are rails where they carry something.
    """
    rdma, net = (
        sum(c.sent + c.received for c in traffic if c.rdma is one) for one in (True, False)
    )
    # the bytes of IPoIB are counted by the port as well
    kind = rdma > net / 2
    total: dict[str, int] = defaultdict(int)
    speed: dict[str, int] = defaultdict(int)
    for one in traffic:
        if one.rdma is kind:
            total[one.name] += one.sent + one.received
            speed[one.name] = max(speed[one.name], one.speed_mbits)
    whole = sum(total.values())
    if not whole:
        return {}
    used = {name for name, n in total.items() if n >= CARRIES * whole}
    most = max((speed[name] for name in used), default=0)
    beside = {n for n in shared if n in total and (speed[n] == 0 or speed[n] >= SLOW * most)}
    return {name: total[name] / whole for name in sorted(used | beside)}


def share_words(found: Mapping[str, float]) -> str:
    """Return ``eth0 51 %, eth1 49 %``."""
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in found.items())


def shares_of(rails: Rails, setting: RailSetting) -> dict[str, float]:
    """Return the shares of a setting over all its launches."""
    return shares([one for launch in setting.traffic for one in launch], rails.shared)


def unused(found: Mapping[str, float]) -> list[str]:
    return [name for name, share in found.items() if share < CARRIES]


def pulled(traffic: Sequence[RailBytes]) -> dict[str, list[str]]:
    """Return the interfaces and ports that are down on some hosts only: hosts by name."""
    down: dict[str, set[str]] = defaultdict(set)
    up: dict[str, set[str]] = defaultdict(set)
    for one in traffic:
        if not INTERNAL.match(one.name):
            (up if one.up else down)[one.name].add(one.host)
    return {n: sorted(down[n] - up[n]) for n in sorted(down) if up[n] and down[n] - up[n]}


def pulled_findings(traffic: Sequence[RailBytes]) -> list[NetFinding]:
    """Return a finding for each interface that is down on some hosts only."""
    return [
        NetFinding(
            "rail", tuple(hosts), (),
            f"{name} is down on {', '.join(hosts)}, but up on other hosts: messages use the other "
            "rails, or fail",
            f"check it there: ip link show {name}, ethtool {name}; its cable and switch port",
        )
        for name, hosts in pulled(traffic).items()
    ]  # fmt: skip


def connections(setting: RailSetting) -> float:
    """Return TCP connections of a pair: the median over pairs and launches."""
    return float(median([n for launch in setting.sockets for n in launch] or [0]))


def bandwidth(setting: RailSetting) -> Messages:
    found = [m for m in setting.messages if m.test == "bandwidth"]
    return max(found, key=lambda m: m.bytes)


def per_launch(messages: Messages) -> list[float]:
    """Return a value a launch."""
    return [median_interval(batches).median for batches in messages.launches]


def compared(rails: Rails) -> dict[str, ComparedRates]:
    """Return the bandwidth of each setting against native: of those that had all launches."""
    native, *others = rails.settings
    of = [s for s in others if s.messages and not s.dropped and s.failed is None]
    base = per_launch(bandwidth(native))
    found = compare([(per_launch(bandwidth(s)), base) for s in of])
    return dict(zip((s.name for s in of), found, strict=True))


def ignored(rails: Rails, setting: RailSetting, verdict: ComparedRates | None = None) -> str | None:
    """Return why a setting changed nothing that was counted; None: it did, or that is not known.

    Another transport may have as many connections over the same interface.
    """
    native = rails.settings[0]
    if setting.failed is not None or (verdict is not None and verdict.differs):
        return None
    if TRANSPORTS & setting.environment.keys():
        return None
    before, after = shares_of(rails, native), shares_of(rails, setting)
    same = connections(native) == connections(setting) and before.keys() == after.keys()
    if not same or any(abs(after[n] - share) >= SAME for n, share in before.items()):
        return None
    values = {v for value in setting.environment.values() for v in value.split(",")}
    if setting.environment == {LINKS: "1"} or values & {
        n for n, share in before.items() if share > 1 - SAME
    }:
        return f"{setting.name} is the default of the MPI"
    number = connections(setting)
    seen = f"{counted(int(number), 'connection')} per pair as before, " if number else ""
    return f"{setting.name} is ignored: {seen}unchanged shares ({share_words(after)})"


def rails_findings(rails: Rails) -> list[NetFinding]:
    """Return what stands out: rails that are down or carry nothing, settings without effect."""
    native, *others = rails.settings
    out = pulled_findings([one for launch in native.traffic for one in launch])
    found = shares_of(rails, native)
    idle = unused(found)
    if idle:
        best = next(
            (s for s in others if s.traffic and len(shares_of(rails, s)) > 1
             and not unused(shares_of(rails, s))), None,
        )  # fmt: skip
        remedy = "no tried setting uses all of them: check that each subnet reaches all hosts"
        if best is not None:
            remedy = f"{shlex.join(options(rails.mpi.family, best.environment))} uses all"
        text = f"{' and '.join(idle)} {_are(idle)} not used by default: {share_words(found)}"
        out.append(NetFinding("rail", (), (), text, remedy))
    verdicts = compared(rails)
    for one in others:
        why = ignored(rails, one, verdicts.get(one.name))
        if one.failed is not None:
            out.append(NetFinding("setting", (), (), f"{one.name} failed: {one.failed}",
                                  "leave it out with --candidates"))  # fmt: skip
        elif why is not None:
            out.append(NetFinding("setting", (), (), why, _remedy(one)))
    return out


def _remedy(setting: RailSetting) -> str:
    if LINKS in setting.environment and len(setting.environment) == 1:
        return (
            "Open MPI puts large messages over one connection unless "
            f"{shlex.join(options('openmpi', dict(SPREAD))[1:])} is set as well"
        )
    return "leave it out: it has no effect on this network"


def rails_answer(rails: Rails) -> NetAnswer:
    """Return which setting is fastest, by how much, over which rails, and what to type."""
    native, *others = rails.settings
    verdicts = compared(rails)
    size = sized(bandwidth(native).bytes)
    base = median(per_launch(bandwidth(native)))
    title = f"{titled(rails.mpi)}, {size} messages"
    rate = {s.name: median(per_launch(bandwidth(s))) for s in others if s.name in verdicts}
    application = "stretto settings -- mpirun -n N ./app   (whether your application gains)"
    words = f"{three(base)} MB/s by default"
    if verdicts and not all(v.tested for v in verdicts.values()):
        top = max(rate, key=lambda n: rate[n])
        return NetAnswer(
            f"{title}: {words}, {three(rate[top])} MB/s with {top}; not tested: fewer than "
            f"{FEWEST} launches.",
            None, f"the same with --launches {FEWEST}", (_rails_words(shares_of(rails, native)),),
        )  # fmt: skip
    faster = [s for s in others if s.name in verdicts and verdicts[s.name].differs
              and verdicts[s.name].ratio.median > 1]  # fmt: skip
    if not faster:
        return NetAnswer(
            f"{title}: {words}, and no other setting gives more ({len(others)} tried).",
            None, application, (_rails_words(shares_of(rails, native)),),
        )  # fmt: skip
    best = max(faster, key=lambda s: verdicts[s.name].ratio.median)
    ratio = verdicts[best.name].ratio.median
    candidate = shlex.quote(label(best.environment))
    return NetAnswer(
        f"{title}: {best.name} is fastest, {ratio:.2f}x the default ({three(rate[best.name])} and "
        f"{three(base)} MB/s).",
        "A setting that helps this test may not help an application, which may already have many "
        "connections: test it.",
        f"stretto settings --candidates {candidate} -- mpirun -n N ./app",
        (
            _rails_words(shares_of(rails, best)),
            f"Type: {shlex.join(options(rails.mpi.family, best.environment))} ...",
        ),
    )


def _are(names: Sequence[str]) -> str:
    """Return the verb for these subjects."""
    return "is" if len(names) == 1 else "are"


def _rails_words(found: Mapping[str, float]) -> str:
    idle = unused(found)
    if not found:
        return "The bytes per rail are unknown."
    if idle:
        return f"{' and '.join(idle)} {_are(idle)} not used: {share_words(found)}."
    if len(found) == 1:
        return f"All bytes go over {next(iter(found))}."
    return f"All {len(found)} rails are used: {share_words(found)}."


def rails_page(rails: Rails) -> list[str]:
    said = rails_answer(rails)
    out = [" ".join(said.sentences), *([f"  {said.remedy}"] if said.remedy else [])]
    out.append(f"  next: {said.next_command}")
    for finding in rails_findings(rails):
        word = "WARNING" if finding.topic == "rail" else "note:"
        out += [f"{word} {finding.text}", f"  -> {finding.remedy}"]
    first = bandwidth(rails.settings[0])
    ranks = counted(len(rails.hosts), "rank")
    out += ["", f"{titled(rails.mpi)}, {ranks}: {placement(rails.hosts, first.pairs)}"]
    verdicts = compared(rails)
    rows = [["setting", "MB/s", "range", "to native", "1000 messages/s", "latency us",
             "connections per pair", "rails"]]  # fmt: skip
    rows += [_row(rails, s, verdicts.get(s.name)) for s in rails.settings if s.messages]
    widest = max(len(row[-1]) for row in rows)
    out += in_columns([[*row[:-1], row[-1].ljust(widest)] for row in rows])
    if any(SPREAD_WORD in s.name for s in rails.settings):
        out += ["", f"  {SPREAD_WORD}: with {label(dict(SPREAD))}; without, Open MPI uses few of "
                "the connections for large messages"]  # fmt: skip
    out += _curves(rails)
    runs = max(len(s.sockets) for s in rails.settings)
    out += [
        "",
        f"Medians of {counted(runs, 'launch')}, settings interleaved; messages of "
        f"{sized(first.bytes)}, latency of 8 B; messages/s are of {sized(RATE_BYTES)}. "
        "Bytes are interface counters and include other programs.",
    ]
    return out


def _curves(rails: Rails) -> list[str]:
    """Return the bandwidth of each setting at each size, where several were measured."""
    settings = [s for s in rails.settings if s.messages]
    by = [
        {m.bytes: median(per_launch(m)) for m in s.messages
         if (m.test, m.window) == ("bandwidth", WINDOW)}
        for s in settings
    ]  # fmt: skip
    if len(by[0]) < 2:
        return []
    rows = [["size", *(s.name for s in settings)]]
    rows += [[sized(n), *(three(b[n]) if n in b else "" for b in by)] for n in sorted(by[0])]
    return ["", f"MB/s by message size, {WINDOW} messages in flight; not tested", *in_columns(rows)]


def _row(rails: Rails, setting: RailSetting, verdict: ComparedRates | None) -> list[str]:
    main = bandwidth(setting)
    values = per_launch(main)
    by = {(m.test, m.bytes): median(per_launch(m)) for m in setting.messages}
    rate = 1e3 * by.get(("bandwidth", RATE_BYTES), 0.0) / RATE_BYTES
    against = ""
    if verdict is not None:
        against = f"{verdict.ratio.median:.2f}x" if verdict.differs else "same"
        against = against if verdict.tested else "not tested"
    return [
        setting.name, three(median(values)),
        f"{three(min(values))}..{three(max(values))}" if len(values) > 1 else "",
        against, three(rate), three(by.get(("latency", 8), 0.0)),
        f"{connections(setting):g}", share_words(shares_of(rails, setting)),
    ]  # fmt: skip


def traffic_lines(traffic: Sequence[RailBytes]) -> list[str]:
    """Return a line a host for those with several interfaces, empty where none has."""
    own = [c for c in traffic if not c.rdma and not INTERNAL.match(c.name)]
    out = []
    for host in dict.fromkeys(c.host for c in own):
        here = [c for c in own if c.host == host]
        found = shares(here, [c.name for c in here if c.up])
        if len(found) > 1:
            total = sum(c.sent + c.received for c in here)
            out.append(f"  {host}: {share_words(found)} of {sized(total)}")
    return out
