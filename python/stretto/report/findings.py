"""What the data say, in sentences: each section of the report begins with its finding."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from stretto.files.forecast import ForecastFile
from stretto.files.settings import SettingsFile
from stretto.files.table import Row
from stretto.files.usage import busy_words, usage_of
from stretto.files.verdict import VerdictFile, metric_name
from stretto.launch.naming import program_of
from stretto.measure.idle import busy_before, busy_note
from stretto.measure.stats import FEWEST
from stretto.profile.join import rank_words
from stretto.profile.show import threads_note, tools_note
from stretto.report import format as fmt
from stretto.report.breakdown import Breakdown, breakdown
from stretto.report.format import sentence
from stretto.report.learned import learned_rows, saved, saved_sentence
from stretto.report.load import System
from stretto.report.points import NATIVE


def headline(system: System) -> tuple[str, str]:
    """Return the verdict in one sentence, and what kind of verdict it is.

    Returns kind: ``gain``, ``none`` (nothing was gained, or it is not known), ``wrong`` (outputs
    differ) or ``open`` (the application was not run).
    """
    verdict = system.verdict
    if verdict is not None:
        return _verdict_sentence(verdict)
    rows = system.rows
    if learned := learned_rows(system):
        return saved_sentence(learned), "gain" if saved(learned)[1] > 0 else "none"
    if rows:
        unused = any(r.choice != NATIVE for r in rows)
        run = " No application has been run with it yet." if unused else ""
        return _table_sentence(rows) + run, "open"
    if system.panels:
        names = sorted({p.collective for p in system.panels})
        model = all(p.simulated for q in system.panels for p in q.points)
        done = "simulated" if model else "measured"
        return (
            f"{fmt.plural(len(names), 'collective')} {done} ({', '.join(names)}); "
            "no table was made yet.",
            "open",
        )
    if system.profile is not None:
        return where_time_goes(breakdown(system.profile), program_of(system.command)), "open"
    if system.forecasts:
        return fastest_cores(system.forecasts[0]), "open"
    if system.settings:
        return settings_sentence(system.settings[0]), "open"
    return "The files contain nothing to report.", "open"


def fastest_cores(f: ForecastFile) -> str:
    """Return a forecast's finding: on how many cores the program is fastest."""
    if len(f.scales) == 1:
        (one,) = f.scales
        native, tuned_s = (fmt.seconds(t.total_s) for t in (one.native, one.tuned))
        return (
            f"In the model, {f.program} on {f.platform} takes {native} on {fmt.count(one.ranks)} "
            f"cores, and {tuned_s} tuned."
        )
    words = {}
    for what, tuned in ((NATIVE, False), ("tuned", True)):
        turn = f.turning_point(tuned)
        ranks = fmt.count((turn or f.scales[-1]).ranks)
        words[what] = f"{ranks} cores" if turn else f"{ranks} cores, the largest number simulated"
    where = f"{words[NATIVE]}, native and tuned"
    if words[NATIVE] != words["tuned"]:
        where = f"{words[NATIVE]} native, and on {words['tuned']} tuned"
    return f"In the model, {f.program} on {f.platform} is fastest on {where}."


def settings_sentence(found: SettingsFile) -> str:
    """Return what came of the search; `details` has the sentences behind it."""
    return _settings_sentences(found)[0]


def _settings_sentences(found: SettingsFile) -> list[str]:
    said = found.conclusion or ["No setting has been decided on yet: the runs are not complete"]
    # a setting's name stays as it is
    return [f"{p}." if "=" in p.partition(" ")[0] else sentence(p) for p in said]


def _verdict_sentence(v: VerdictFile) -> tuple[str, str]:
    program = program_of(v.command)
    if v.outputs_equal is False:
        return f"Do not use this tuning: the outputs of {program} differ with it.", "wrong"
    if v.outcome == "inconclusive":
        why = _why(v)
        colon = "" if why.startswith("at ") else ":"  # "at 2 of 2 calls: ..."
        return f"Inconclusive for {program}{colon} {why}.", "none"
    if v.measured is None or v.outcome == "same":
        return f"Other algorithms cannot make {program} faster.", "none"
    word = "less" if v.metric.better == "lower" else "more"
    gained = v.measured.median
    if v.outcome == "slower":
        return f"Do not use this table: {program} is slower with it.", "none"
    text = f"{program}: {fmt.percent(gained)} {word} {metric_name(v.metric)} with the table"
    return (f"{text}, but {v.warning}.", "none") if v.warning else (f"{text}.", "gain")


def _why(v: VerdictFile) -> str:
    """Return the first sentence without its outcome and the busy machine: the page has both."""
    text = v.conclusion[0].removeprefix("inconclusive").removeprefix(":").strip()
    return text.replace(f" ({busy_before([r.others for r in v.runs])})", "")


def following(system: System) -> str:
    """Return the command to type next; empty where there is none."""
    v, line = system.verdict, shlex.join(system.command) or "mpirun ./app"
    tables = [f.path for f in system.files if f.kind == "table"]
    apply = f"stretto run --table {shlex.quote(str(tables[0]))} -- {line}" if tables else ""
    if v is not None:
        if v.outputs_equal is False or v.outcome == "slower":
            return f"stretto diagnose -- {line}"
        if v.outcome == "faster":
            return apply or f"stretto run -- {line}"
        return f"stretto {'tune' if v.outcome == 'inconclusive' else 'diagnose'} -- {line}"
    if system.rows and all(map(_untested, system.rows)) and system.benches:
        return shlex.join(system.benches[0].header.command)
    if system.rows and all(r.choice == NATIVE for r in system.rows) and not system.command:
        return f"stretto diagnose -- {line}"
    if any(r.ratio is None and r.choice != NATIVE for r in learned_rows(system)):
        return f"stretto learn -- {line}   (compares the choices with native)"
    if tables:
        return f"stretto tune -- {line}" if system.command else apply
    if system.panels:
        bench = next(f.path for f in system.files if f.kind == "bench")
        return f"stretto table decide {shlex.quote(str(bench))}"
    if system.settings and system.profile is None:
        found = system.settings[0]
        line = shlex.join(found.command)
        return f"stretto {'settings' if found.outcome == 'inconclusive' else 'run'} -- {line}"
    if system.forecasts:
        f = system.forecasts[0]
        line = shlex.join(f.command) or line
        if f.cautions:
            needed = f.ranks_needed(f.scales[-1].ranks)
            return f"stretto profile -- {line}   (on idle nodes, with {needed} ranks or more)"
        return f"stretto tune -- {line}"
    return f"stretto tune -- {line}" if system.profile is not None else ""


def details(system: System) -> list[str]:
    """Return what stands behind the headline: the verdict's own sentences, none of them twice."""
    v, head = system.verdict, headline(system)[0]
    if v is None:
        found = [_settings_sentences(f) for f in system.settings]
        return found[0][1:] if found and found[0][0] == head else []
    said = v.conclusion[1:] if _why(v) in head else v.conclusion
    return [" ".join(map(sentence, said))] if said else []


def _table_sentence(rows: Sequence[Row]) -> str:
    faster = [r for r in rows if r.choice != NATIVE]
    all_rows = "every row" if len(rows) > 1 else "the only row"
    if all(map(_untested, rows)):
        most = max(int(r.number("launches") or 0) for r in rows)
        return (
            f"Inconclusive: {fmt.plural(most, 'launch', 'launches')}, and a test needs {FEWEST}; "
            f"native stays in {all_rows} of the table."
        )
    if not faster:
        return (
            "No algorithm is significantly faster than native: it stays in "
            f"{all_rows} of the table."
        )
    text = (
        f"Of {fmt.plural(len(rows), 'row')} in the table, {len(faster)} "
        f"choose{'s' if len(faster) == 1 else ''} "
        "something other than native"
        if len(rows) > 1
        else f"The only row of the table chooses {rows[0].choice}"
    )
    known = [r for r in faster if r.ratio and r.ratio > 0]
    if known:
        best = min(known, key=lambda r: r.ratio or 0)
        text += (
            f"; at best {fmt.factor(1 / (best.ratio or 1))} faster"
            f" ({best.collective}, {fmt.size_range(best.low, best.high)}, {best.choice})"
        )
    sources = [r.source for r in faster]
    for source in ("simulated", "interpolated"):
        if source in sources:
            text += f"; {'all' if set(sources) == {source} else 'some'} of it {source}"
    return text + "."


def _untested(row: Row) -> bool:
    launches = row.number("launches")
    return row.source == "measured" and launches is not None and launches < FEWEST


def unsaid(system: System, text: str) -> str:
    """Return a section's finding; empty where the page's answer says it already."""
    return "" if text in headline(system)[0] else text


def table_finding(system: System) -> str:
    return unsaid(system, _table_sentence(system.rows))


def time_finding(system: System, parts: Breakdown) -> str:
    return unsaid(system, where_time_goes(parts, program_of(system.command)))


def where_time_goes(parts: Breakdown, program: str = "the run") -> str:
    """Return the profile's finding: how much is collective, and how much of it waiting."""
    transfer, wait, unsplit = parts.share("transfer"), parts.share("wait"), parts.share("unsplit")
    total = transfer + wait + unsplit
    if total == 0:
        return sentence(f"{program} spends no time in collectives: no algorithm makes it faster")
    text = f"Collectives take {fmt.percent(total)} of {program}"
    if parts.sampled:
        text += (
            f": {fmt.percent(transfer)} transfer, which depends on the algorithm, and "
            f"{fmt.percent(wait)} waiting for the last rank, which does not"
        )
        if unsplit > 0.0005:
            text += f" ({fmt.percent(unsplit)} could not be split)"
    else:
        text += "; the part spent waiting for the last rank is unknown"
    return text + "."


def bound(parts: Breakdown) -> str:
    """Return the most that any collective algorithm could gain, in a sentence."""
    reach = parts.share("transfer", "unsplit")
    if parts.share("wait") + reach == 0:
        return ""
    text = (
        "If the transfer of all collectives took no time, the run would be "
        f"{fmt.percent(reach)} shorter. Tuning cannot gain more."
    )
    if parts.share("wait") > 0.01 and parts.imbalance > 0.03:
        text += (
            f" Rank {parts.slowest} computes {fmt.percent(parts.imbalance)} longer than the "
            "mean; other ranks may wait for it."
        )
    return text


#: what came of comparing an output of tuned runs with that of native ones
OUTCOMES = {
    "same": "the same bit for bit",
    "times": "the same apart from lines with times",
    "order": "the same lines in an order that varies",
    "differs": "DIFFERENT",
    "varies": "unknown: native runs differ among themselves",
    "unknown": "not compared: too few runs",
}


def busy_notes(system: System) -> list[str]:
    """Return that the machine was busy: first in what the answer rests on, then in other parts."""
    profile, v = system.profile, system.verdict
    runs = [[r.others for r in v.runs]] if v is not None else []
    runs += [[r.others for r in f.runs] for f in system.settings]
    busy = (busy_before(shares) for shares in runs)
    found = [None if words is None else f"the machine was busy: {words}" for words in busy]
    found += [f.lacking for f in system.forecasts]
    found.append(busy_note(*system.benches))
    found.append(None if profile is None else busy_words(usage_of(profile.recorded_part())))
    return [sentence(text) for text in dict.fromkeys(found) if text is not None]


def notes(system: System) -> list[str]:
    out = busy_notes(system)[1:]
    if system.simulated:
        out.append("Figures marked “source: simulated” come from a model; no machine has run them.")
    v = system.verdict
    if v is not None:
        bad = [r for r in v.runs if r.exit != 0 or r.value is None]
        if bad:
            exits = ", ".join(
                f"run {r.order + 1} ({r.kind}, exit code {r.exit}"
                + (", no value)" if r.exit == 0 else ")")
                for r in bad
            )
            out.append(f"Left out of the comparison: {exits}.")
        if v.measured is not None and v.measured.p is None:
            out.append(
                "The significance of the gain could not be tested: a rank test needs at least six "
                "runs of each kind."
            )
        if v.outputs_equal is None and v.runs:
            out.append("The outputs of native and tuned runs were not compared.")
    profile = system.profile
    if profile is not None and profile.unrecorded_ranks:
        out.append(
            f"Nothing was recorded on ranks {rank_words(profile.unrecorded_ranks)}: the figures "
            "are for the other ranks."
        )
    if profile is not None and not profile.recorded_part().complete:
        who = ", ".join(str(r) for r in profile.cut_short[:12])
        more = len(profile.cut_short) - 12
        who += f" and {more} more" if more > 0 else ""
        out.append(
            "The profile is incomplete (the run was cut short)"
            + (f": the records of rank {who} end early." if who else ".")
        )
    if profile is not None and (note := tools_note(profile)) is not None:
        out.append(sentence(note))
    if profile is not None and (note := threads_note(profile)) is not None:
        out.append(sentence(note) + " Shares are of the sum." * breakdown(profile).threads)
    if system.panels:
        few = {p.estimate.launches for q in system.panels for p in q.points if not p.simulated}
        if few and min(few) < FEWEST:
            out.append(
                f"Some points have only {fmt.plural(min(few), 'launch', 'launches')}: they cannot "
                "show a significant difference, because a rank test needs at least six."
            )
    failed: dict[str, set[str]] = {}
    for panel in system.panels:
        for name, why in panel.failed.items():
            where = failed.setdefault(f"{name} for {panel.collective} {why}", set())
            where.add(fmt.layout(panel.layout))
    out += [f"{what} ({', '.join(sorted(where))})." for what, where in sorted(failed.items())]
    return out + system.notes
