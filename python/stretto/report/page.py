"""The page of one system: content into the template, styles and script inside, nothing to fetch."""

from __future__ import annotations

import math
from collections.abc import Callable

import jinja2
from markupsafe import Markup

from stretto.files.identity import now
from stretto.report import facts, findings, learned, render, theme
from stretto.report import format as fmt
from stretto.report.head import Head
from stretto.report.load import System
from stretto.report.points import Panel
from stretto.report.render import Figure
from stretto.report.sections import Content
from stretto.report.tables import FOREST_TOP, forest_bottom
from stretto.version import __version__

Progress = Callable[[str], None]


def environment(drawn: Progress | None = None) -> jinja2.Environment:
    """Return the template environment.

    `drawn`: called with each figure's name when it has been drawn.
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
        outcomes=findings.OUTCOMES,
        version=__version__,
        made=facts.date(now()),
        variables=Markup(theme.css_variables()),
        style=source("style.css"),
        script=source("report.js"),
    )
    return env


def _key(text: str) -> str:
    return text.replace(" ", "_")


def html(content: Content, drawn: Progress | None = None) -> str:
    system = content.system
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
            head=_head(content),
            gain_facts=findings.gain_facts(system),
            identity=facts.identity(system),
            time_finding=findings.where_time_goes(content.parts) if content.parts else "",
            bound=findings.bound(content.parts) if content.parts else "",
            parts=parts,
            has_choice=any(p.ever_chosen() for p in system.panels),
            views=[(v.key, v.label) for v in content.views],
            row_views=_row_views(content, shown),
            forest=_forest_scale(system),
            table_finding=findings.table_finding(system) if system.tables else "",
            learned=learned.shapes(learned.learned_rows(system)),
            learned_finding=learned.order_sentence(learned.learned_rows(system)),
            notes=findings.notes(system),
            method=facts.method(system),
            settings=facts.settings(system),
            files=facts.files(system),
        )
    )


def _head(content: Content) -> Head:
    system = content.system
    held = (
        ("application", "Application", content.runs), ("time", "Time", content.parts),
        ("latency", "Latency", content.latency), ("ranks", "Ranks", content.scaling),
        ("candidates", "Candidates", content.bars), ("table", "Table", content.rows),
        ("learned", "Learned", learned.learned_rows(system)), ("plans", "Plans", content.plans),
        ("scale", "Scale", content.forecasts), ("settings", "Settings", content.settings),
        ("communication", "Communication", content.matrices), ("method", "Method", True),
    )  # fmt: skip
    return Head(
        "report",
        system.name,
        findings.headline(system)[0],
        findings.facts_of(system),
        findings.following(system),
        findings.details(system),
        findings.busy_notes(system),
        [(id, title) for id, title, there in held if there],
        system.simulated,
    )


def _forest_scale(system: System) -> dict[str, object]:
    bottom = forest_bottom([r for t in system.tables for r in t.rows])
    one = 100 * math.log(1 / bottom) / math.log(FOREST_TOP / bottom)
    return {"low": f"1/{1 / bottom:.0f}", "high": f"{FOREST_TOP:.0f}", "one": round(one, 1)}


def _row_views(content: Content, shown: set[str]) -> list[tuple[str, str]]:
    seen: dict[str, tuple[str, str]] = {}
    for v in content.views:
        if v.key in shown:
            seen.setdefault(fmt.layout(v.layout), (v.key, fmt.layout(v.layout)))
    layouts = {row["layout"] for row in content.rows}
    return list(seen.values()) if len(layouts) > 1 else []


def numbers(panel: Panel) -> Markup:
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
            if p is not None and p.simulated:
                text += " (simulated)"
            tip = (
                ""
                if p is None
                else f"{name}: {fmt.microseconds(p.estimate.low)} to "
                f"{fmt.microseconds(p.estimate.high)}"
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
