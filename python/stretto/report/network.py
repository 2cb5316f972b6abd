"""The page of network results, of one system, two or more: the answer, pictures, all figures."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stretto.counted import sized, three
from stretto.files.net import NetFile, Ranks
from stretto.measure.idle import says_busy
from stretto.measure.stats import median_interval
from stretto.net import systems as net
from stretto.net.answer import answer
from stretto.net.compared import NetCompared
from stretto.net.compared import compared as compared_systems
from stretto.net.cores import cores_answer, cores_findings
from stretto.net.judge import findings
from stretto.net.p2p import hosts_known, million
from stretto.net.p2p_show import level_answer, mpi_page
from stretto.net.rails_judge import (
    label,
    rails_answer,
    rails_findings,
)
from stretto.report import page
from stretto.report.format import sentence
from stretto.report.network_charts import TITLES, WORDS, lines_of, sections
from stretto.report.page import Head, PageFiles
from stretto.report.render import Figure

#: findings of a kind that are on the page
REMARKS = 2
METHOD = (
    "Medians over launches (messages through an MPI) or runs with new connections (TCP), with 95 % "
    "intervals where there are six or more. A ratio is shown only if both systems have six and "
    "the rank test, adjusted for all comparisons of this page, was made. A difference counts only "
    "if it is significant (5 %) and above 3 %. MB/s are 10^6 bytes a second."
)


@dataclass(frozen=True)
class NetPage:
    """What the page of network or of storage results shows; sections without data are not in it.

    `systems`: name, what it is of, and its files.
    `remarks`: what stands out, and its remedy.
    `rows`: all figures, the names of the columns first; `numbers`: which columns, from 1, have
    numbers.
    """

    kind: str
    method: str
    systems: Sequence[tuple[str, str, Sequence[str]]]
    sentences: Sequence[str]
    sections: Sequence[tuple[str, str, list[Figure]]]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    remarks: Sequence[tuple[str, str]] = ()
    facts: Sequence[tuple[str, str]] = ()
    following: str = ""
    warnings: Sequence[str] = ()
    numbers: Sequence[int] = (4, 5, 6)


def report(paths: Sequence[Path], to: PageFiles) -> dict[str, Any]:
    """Write the page of one, two or more systems; return what it says, for ``--json``.

    Two are compared, if they have a measurement in common.
    """
    found = net.systems(paths)
    if len(found) == 1:
        return written(alone(found[0]), to)
    if len(found) == 2 and net.alike(*found):
        return written(compared(compared_systems(*found)), to)
    return written(several(found), to)


def written(shown: NetPage, to: PageFiles) -> dict[str, Any]:
    """Write a page; return what it says, for ``--json``."""
    names = [name for name, *_ in shown.systems]
    held = [(key, key.capitalize(), figures) for key, _, figures in shown.sections]
    head = Head(
        shown.kind,
        f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else names[0],
        shown.sentences[0],
        [("findings", "Findings", [*shown.remarks, *shown.notes]), *held,
         ("numbers", "Numbers", True), ("method", "Method", True)],
        shown.facts,
        shown.following,
        shown.sentences[1:],
        shown.warnings,
    )  # fmt: skip
    figures = [figure for *_, drawn in shown.sections for figure in drawn]
    paths = page.write("network.html.j2", head, figures, to, p=shown)
    return {
        "verdict": " ".join(shown.sentences),
        "kind": shown.kind,
        "notes": list(shown.notes),
        "figures": [figure.name for figure in figures],
        "written": paths,
    }


def file_words(path: Path, result: Any) -> str:
    return f"{path} (stretto {result.stretto}, {result.created})"


def _about(system: net.NetSystem) -> tuple[str, str, list[str]]:
    files = [file_words(path, system.result) for path in system.paths]
    return system.name, system.about, files


def compared(found: NetCompared) -> NetPage:
    a, b = found.systems
    rows = [["measurement", "size", "unit", a.name, b.name, f"{b.name} against {a.name}"]]
    for r in found.rows:
        medians = [three(v.median) for v in r.values]
        rows.append([r.figure.what, r.figure.size, r.figure.unit, *medians, r.words])
    words = Counter("different" if " times " in r.words else r.words for r in found.rows)
    busy, notes = parted([f"{note.rstrip('.')}." for note in found.notes])
    facts = [("results of the tests", ", ".join(f"{n} {what}" for what, n in words.most_common()))]
    return NetPage(
        "network", METHOD, [_about(a), _about(b)], [found.answer], sections(found.systems), rows,
        notes, facts=[*facts, *((s.name, _where(s)) for s in found.systems)],
        following=f"stretto report {shlex.join(map(str, b.paths))}", warnings=busy,
        numbers=(4, 5),
    )  # fmt: skip


def several(systems: Sequence[net.NetSystem]) -> NetPage:
    """Return the page of systems side by side, in charts and a table, without a test."""
    names = [system.name for system in systems]
    found = [net.figures(system.result) for system in systems]
    rows = [["measurement", "size", "unit", *names]]
    for figure in sorted({f for one in found for f in one}, key=net.order):
        medians = [three(median_interval(one[figure]).median) if figure in one else ""
                   for one in found]  # fmt: skip
        rows.append([figure.what, figure.size, figure.unit, *medians])
    best = [words for unit in TITLES if (words := _best(systems, unit))]
    what = "; ".join(best) or ", ".join(names)
    busy, notes = parted([f"{s.name}: {note.rstrip('.')}." for s in systems
                          for note in s.result.notes])  # fmt: skip
    pairs = [(a, b) for i, a in enumerate(systems) for b in systems[i + 1 :] if net.alike(a, b)]
    notes.append("Differences are not tested here: stretto compare A B tests two results."
                 if pairs else "No two of these results have a measurement in common.")  # fmt: skip
    a, b = pairs[0] if pairs else (None, None)
    return NetPage(
        "network", METHOD, [_about(s) for s in systems], [f"{len(systems)} results: {what}."],
        sections(systems), rows, notes, warnings=busy,
        following=f"stretto compare {_typed(a)} {_typed(b)}" if a and b else "",
        numbers=range(4, 4 + len(systems)),
    )  # fmt: skip


def _typed(system: net.NetSystem) -> str:
    """Return a system's file, or the directory of its files, as it is typed."""
    paths = system.paths
    return shlex.quote(str(paths[0] if len(paths) == 1 else paths[0].parent))


def _best(systems: Sequence[net.NetSystem], unit: str) -> str:
    """Return the best value over all lines of the chart of a unit."""
    pick, word = (min, "lowest") if unit == "us" else (max, "highest")
    values = [(value.median, size, name) for name, curve in lines_of(systems, unit).items()
              for size, value in curve.items()]  # fmt: skip
    if not values:
        return ""
    value, size, name = pick(values)
    return f"{word} {WORDS[unit]} {_amount(value, unit)} ({name}, {sized(size)})"


def _amount(value: float, unit: str) -> str:
    return f"{million(value)} messages/s" if unit == "messages/s" else f"{three(value)} {unit}"


def parted(notes: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the notes on a busy machine, which stand above all else, and the others."""
    busy = [note for note in notes if says_busy(note)]
    return busy, [note for note in notes if not says_busy(note)]


def _where(system: net.NetSystem) -> str:
    return ", ".join(system.about.split("; ")[:2])


def _next_of_mpi(ranks: Ranks) -> str:
    """Return what to measure after messages between ranks."""
    hosts = list(dict.fromkeys(ranks.hosts))
    if not hosts_known(hosts):
        return ""
    if len(hosts) == 1:
        return "stretto net node   (what the cores can do without an MPI)"
    return f"stretto net rails --hosts {','.join(hosts[:2])}   (whether all network cards are used)"


def alone(system: net.NetSystem) -> NetPage:
    result = system.result
    topics: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for finding in findings(result):
        topics[finding.topic].append((finding.text, finding.remedy))
    remarks = [remark for found in topics.values() for remark in found[:REMARKS]]
    more = sum(map(len, topics.values())) - len(remarks)
    remarks += [(lost.reason, lost.remedy) for lost in result.failed]
    sentences: list[str] = []
    following = ""
    if result.ranks is not None:
        sentences.append(mpi_page(result.ranks)[0])
        sentences += [line.strip() for line in level_answer(result.ranks)]
        following = _next_of_mpi(result.ranks)
    if result.streams or result.latencies:
        said = answer(result)
        of_host = said.text.split(" ")[0] in {host.name for host in result.hosts}
        sentences.append(f"{said.text.rstrip('.')}." if of_host else sentence(said.text))
        remarks += [(said.remedy, "")] if said.remedy else []
        following = said.next_command
    if result.rails is not None:
        tried = rails_answer(result.rails)
        sentences += tried.sentences
        remarks += [(tried.remedy, "")] if tried.remedy else []
        following = tried.next_command or following
        remarks += [(f.text, f.remedy) for f in rails_findings(result.rails)]
    if result.cores is not None:
        sentences += list(cores_answer(result.cores))
        following = following or "stretto net mpi   (messages of an MPI between these cores)"
        remarks += [(f.text, f.remedy) for f in cores_findings(result.cores)]
    rows = [["measurement", "size", "unit", "median", "95 % interval", "launches or runs"]]
    for figure, values in net.figures(result).items():
        value = median_interval(values)
        spread = "" if value.low is None else f"{three(value.low)} to {three(value.high or 0)}"
        named = [figure.what, figure.size, figure.unit]
        rows.append([*named, three(value.median), spread, str(value.n)])
    unknown = result.imported.unknown if result.imported else []
    busy, notes = parted([sentence(note) for note in result.notes])
    notes += [f"Not known: {', '.join(unknown)}."] if unknown else []
    if more > 0:
        notes.append(f"{more} more findings of the same kinds: stretto net tcp --json has all.")
    return NetPage(
        "network", METHOD, [_about(system)], sentences, sections([system]), rows, notes,
        [(_remark(result, text), _remark(result, remedy)) for text, remedy in remarks],
        [*_facts(result), *([("where", where)] if (where := _where(system)) else []),
         *([("settings", label(found))] if (found := result.environment) else [])],
        following,
        busy,
    )  # fmt: skip


def _remark(result: NetFile, text: str) -> str:
    """Return a remark as a sentence; names and commands at its start stay as they are."""
    first = text.partition(" ")[0].rstrip(":")
    names = {host.name for host in result.hosts} | {"stretto", "mpirun", "sysctl"}
    kept = first in names or not first.isalpha()
    return f"{text.rstrip('.')}." if kept and text else sentence(text)


def _facts(result: NetFile) -> list[tuple[str, str]]:
    """Return the extremes of one network: the least latency, and the most bandwidth."""
    out = []
    found = {f: median_interval(v).median for f, v in net.figures(result).items()}
    extremes = (("us", min, "least latency"), ("MB/s", max, "most bandwidth"),
                ("ns", min, "shortest flag"), ("GB/s", max, "fastest copy"))  # fmt: skip
    for unit, pick, what in extremes:
        mine = {f: value for f, value in found.items() if f.unit == unit and "send" not in f.what}
        if mine:
            best = pick(mine, key=lambda f: mine[f])
            where = ", ".join(filter(None, (best.what, best.size)))
            out.append((what, f"{three(mine[best])} {unit} ({where})"))
    return out[:2]
