"""The page of links and rails."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from stretto.counted import counted
from stretto.files.identity import titled
from stretto.files.net import RailBytes, Rails, RailSetting
from stretto.mpi.settings.nodes import INTERNAL
from stretto.mpi.settings.openmpi import SPREAD
from stretto.net.judge import ComparedRates, size_words, three
from stretto.net.p2p import RATE_BYTES, placement
from stretto.net.rails_judge import (
    SPREAD_WORD,
    bandwidth,
    compared,
    connections,
    label,
    per_launch,
    rails_answer,
    rails_findings,
    share_words,
    shares,
    shares_of,
)
from stretto.net.text import aligned


def rails_page(rails: Rails) -> list[str]:
    """Return the lines of the page."""
    said = rails_answer(rails)
    out = [said.text, *([f"  {said.remedy}"] if said.remedy else [])]
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
    out += aligned([[*row[:-1], row[-1].ljust(widest)] for row in rows])
    if any(SPREAD_WORD in s.name for s in rails.settings):
        out += ["", f"  {SPREAD_WORD}: with {label(dict(SPREAD))}; without, Open MPI uses few of "
                "the connections for large messages"]  # fmt: skip
    runs = max(len(s.sockets) for s in rails.settings)
    out += [
        "",
        f"Medians of {counted(runs, 'launch')}, settings in turn; messages of "
        f"{size_words(first.bytes)}, latency of 8 B; messages/s are of {size_words(RATE_BYTES)}. "
        "Bytes are those of the interfaces, with those of other programs.",
    ]
    return out


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
            out.append(f"  {host}: {share_words(found)} of {size_words(total)}")
    return out
