"""The page of one system: content into the template, styles and script inside, nothing to fetch."""

from __future__ import annotations

import math
from collections.abc import Callable

import jinja2
from markupsafe import Markup

from stretto import __version__
from stretto.files.identity import now
from stretto.report import findings, render, stats, theme
from stretto.report import format as fmt
from stretto.report.load import System
from stretto.report.points import Panel
from stretto.report.render import Figure
from stretto.report.sections import FOREST_TOP, Content, forest_bottom

Progress = Callable[[str], None]


def environment(drawn: Progress | None = None) -> jinja2.Environment:
    """Return the template environment.

    Parameters
    ----------
    drawn
        Called with each figure's name when it has been drawn.
    """
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("stretto.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def svg(figure: Figure) -> Markup:
        text = render.inline(figure)
        if drawn is not None:
            drawn(figure.name)
        return Markup(text)

    def source(name: str) -> Markup:
        loader = env.loader
        assert loader is not None
        return Markup(loader.get_source(env, name)[0])

    env.filters["key"] = _key
    env.filters["pair"] = lambda text: (_key(text), text)
    env.globals.update(
        svg=svg,
        numbers=numbers,
        times=fmt.TIMES,
        version=__version__,
        made=date(now()),
        variables=Markup(theme.css_variables()),
        style=source("style.css"),
        script=source("report.js"),
    )
    return env


def _key(text: str) -> str:
    """Return a label as one word, to compare with."""
    return text.replace(" ", "_")


def html(content: Content, drawn: Progress | None = None) -> str:
    """Return the page of one system as one self-contained HTML text."""
    system = content.system
    sentence, kind = findings.headline(system)
    parts = []
    if content.parts is not None:
        total = sum(p.mean for p in content.parts.parts) or 1.0
        parts = [
            {
                "name": p.name,
                "hue": p.hue,
                "meaning": p.meaning,
                "mean": fmt.seconds(p.mean),
                "share": fmt.percent(p.mean / total),
                "least": fmt.seconds(float(p.per_rank.min())),
                "most": fmt.seconds(float(p.per_rank.max())),
            }
            for p in content.parts.parts
        ]
    shown = {key for row in content.rows for key in row["views"].split()}
    return (
        environment(drawn)
        .get_template("report.html.j2")
        .render(
            c=content,
            title=f"Stretto report: {system.name}",
            headline=sentence,
            kind=kind,
            gain_facts=findings.gain_facts(system),
            identity=identity(system),
            time_finding=findings.where_time_goes(content.parts) if content.parts else "",
            bound=findings.bound(content.parts) if content.parts else "",
            parts=parts,
            has_choice=any(p.ever_chosen() for p in system.panels),
            views=[(v.key, v.label) for v in content.views],
            row_views=_row_views(content, shown),
            forest=_forest_scale(system),
            table_finding=findings.table_finding(system) if system.tables else "",
            notes=findings.notes(system),
            method=method(system),
            settings=settings(system),
            files=files(system),
        )
    )


def _forest_scale(system: System) -> dict[str, object]:
    """Return the ends of the interval plots, and where 1 lies between them."""
    bottom = forest_bottom([r for t in system.tables for r in t.rows])
    one = 100 * math.log(1 / bottom) / math.log(FOREST_TOP / bottom)
    return {"low": f"1/{1 / bottom:.0f}", "high": f"{FOREST_TOP:.0f}", "one": round(one, 1)}


def _row_views(content: Content, shown: set[str]) -> list[tuple[str, str]]:
    """Return the layouts by which the table's rows can be picked; none when it has only one."""
    seen: dict[str, tuple[str, str]] = {}
    for v in content.views:
        if v.key in shown:
            seen.setdefault(str(v.layout), (v.key, str(v.layout)))
    layouts = {row["layout"] for row in content.rows}
    return list(seen.values()) if len(layouts) > 1 else []


def date(text: str) -> str:
    """Return an ISO time for people: ``2026-11-21 20:00 UTC``."""
    return f"{text[:10]} {text[11:16]} UTC" if len(text) >= 16 else text


def identity(system: System) -> list[tuple[str, str]]:
    """Return who measured what where: command, layout, machine, MPI, date."""
    out: list[tuple[str, str]] = []
    source = system.verdict or system.profile
    if source is not None:
        out.append(("command", findings.command_line(source.command)))
    elif system.benches:
        out.append(("command", findings.command_line(system.benches[0].header.command)))
    if system.layout is not None:
        out.append(("layout", f"{system.layout} ({fmt.plural(system.layout.nranks, 'rank')})"))
    if system.identities:
        one = system.identities[0]
        h = one.host
        out.append(
            (
                "machine",
                f"{h.name}: {h.cpu}, {fmt.plural(h.cores, 'core')}, {fmt.size(h.memory_bytes)} memory, "
                f"Linux {h.kernel}",
            )
        )
        library = f" ({one.mpi.library})" if one.mpi.library else ""
        out.append(("MPI", f"{one.mpi.family} {one.mpi.version}{library}"))
        out.append(("date", date(one.created)))
    elif system.tables:
        t = system.tables[0]
        out.append(("machine", f"{t.host}: {t.cpu}"))
        out.append(("MPI", f"{t.family} {t.mpi_version}"))
        out.append(("date", date(t.created)))
    return out


def method(system: System) -> list[str]:
    """Return how the numbers came about, from what the files themselves say."""
    out = []
    points = [p for panel in system.panels for p in panel.points]
    if points:
        kinds = {p.estimate.kind for p in points}
        launches = sum(len(b.launches) for b in system.benches)
        times = sum(p.estimate.observations for p in points)
        out.append(
            f"{fmt.plural(times, 'time')} from {fmt.plural(launches, 'launch', 'launches')} of the measuring "
            "program. A time is the largest over the ranks, per call; a point is the median over "
            "launches of each launch's median."
        )
        out += [f"Interval: {text}." for kind, text in stats.KIND_TEXT.items() if kind in kinds]
        modes = {p.mode for p in points}
        if "latency" in modes:
            out.append(
                "Latency: calls start together, in time windows; the time is until the last rank is done."
            )
        if "throughput" in modes:
            out.append(
                "Throughput: calls follow one another in a loop; the time is the loop's, per call."
            )
        errors = [q.clock_error_us for b in system.benches for q in b.launches if q.clock_error_us]
        if errors:
            out.append(
                f"Clocks of the ranks agree within {fmt.microseconds(max(errors))} (estimated)."
            )
    if system.tables:
        out.append(
            "The table takes another algorithm than native only where it is faster with significance (rank "
            "test, control of the false discovery rate) and by more than the threshold."
        )
    if system.verdict is not None:
        m = system.verdict.metric
        found = f", found in the output by {m.pattern!r}" if m.pattern else ""
        out.append(
            f"The application was run native and tuned in turn; compared is {m.name}{found} "
            f"({m.better} is better)."
        )
    p = system.profile
    if p is not None:
        joined = sum(c.sampled for c in p.calls)
        out.append(
            "Profile: waiting is the time from a rank's entry until the last rank entered, from "
            f"{fmt.count(joined)} joined samples of collective calls; transfer is the rest. "
            f"Clocks agree within {fmt.seconds(max(p.clock_error_s))}."
        )
    return out


def settings(system: System) -> list[tuple[str, str]]:
    """Return the settings of the measuring program, as its files name them."""
    out: dict[str, str] = {}
    for bench in system.benches:
        for key, value in bench.header.settings.items():
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            out.setdefault(key.replace("_", " "), text)
    return list(out.items())


def files(system: System) -> list[dict[str, str]]:
    """Return what each file is and who made it."""
    tables, benches = iter(system.tables), iter(system.benches)
    out = []
    for kind, path in system.files:
        row = {"kind": kind, "path": str(path)}
        if kind == "table":
            t = next(tables)
            row |= {"created": t.created, "stretto": t.stretto, "host": t.host}
            row["mpi"] = f"{t.family} {t.mpi_version}"
        else:
            source = {"profile": system.profile, "verdict": system.verdict}.get(kind)
            one = source.identity if source is not None else next(benches).header.identity
            row |= {"created": one.created, "stretto": one.stretto, "host": one.host.name}
            row["mpi"] = f"{one.mpi.family} {one.mpi.version}"
        row["created"] = date(row["created"])
        out.append(row)
    return out


def numbers(panel: Panel) -> Markup:
    """Return the medians of a panel as a table: a row for each size, a column for each candidate."""
    head = "".join(
        Markup('<th class="num">{}</th>').format(fmt.choice(name)) for name in panel.candidates
    )
    rows = []
    for number in panel.sizes:
        cells = []
        for name in panel.candidates:
            p = panel.point(name, number)
            css = "num chosen" if panel.chosen.get(number) == name else "num"
            text = fmt.NONE if p is None else fmt.microseconds(p.estimate.median)
            tip = (
                ""
                if p is None
                else f"{name}: {fmt.microseconds(p.estimate.low)} to {fmt.microseconds(p.estimate.high)}"
            )
            cells.append(Markup('<td class="{}" data-tip="{}">{}</td>').format(css, tip, text))
        rows.append(
            Markup('<tr><td class="nowrap">{}</td>{}</tr>').format(
                fmt.size(number), Markup("").join(cells)
            )
        )
    return Markup("<table><thead><tr><th>size</th>{}</tr></thead><tbody>{}</tbody></table>").format(
        Markup(head), Markup("").join(rows)
    )
