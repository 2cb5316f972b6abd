"""How far a campaign is, from its files alone: any process may look while others work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stretto.campaign.begun import About, LayoutAsked, read_about
from stretto.campaign.conclude import system_name, table_place
from stretto.campaign.elimination import State
from stretto.campaign.expected import expected_s, pace
from stretto.campaign.layout import ordered
from stretto.campaign.plan import LayoutPlan, plan_of, round_s
from stretto.campaign.site import (
    Site,
    Standing,
    given_up_words,
    ledger_of,
    left_out_word,
)
from stretto.counted import duration, sized
from stretto.errors import StrettoError
from stretto.files.bench import read_header, standing_exclusions
from stretto.files.results import ENDING
from stretto.measure.show import in_columns

#: from such a factor on it is reported that launches take longer than they were estimated to
SLOW = 1.5


def read_status(directory: Path) -> dict[str, Any]:
    about = read_about(directory)
    damaged: list[str] = []
    names = {*about.systems, *(system_name(p.parent) for p in directory.glob(f"*/*/[!.]*{ENDING}"))}
    found = {name: _standing(directory / name, about, damaged) for name in sorted(names)}
    factor = pace(_measured([x for x in found.values() if x is not None]))
    systems = [
        _system(directory, name, standing, about.systems.get(name, {}), factor)
        for name, standing in found.items()
    ]
    return {
        "directory": str(directory),
        "eliminate": about.eliminate,
        "systems": systems,
        "pace": factor,
        "complete": bool(systems) and not damaged and all(s["complete"] for s in systems),
        "damaged": damaged,
        "left_s": sum(s["left_s"] for s in systems),
    }


def _standing(base: Path, about: About, damaged: list[str]) -> Standing | None:
    """Return how an MPI's begun layouts stand; None: there are none."""
    name = system_name(base)
    plans: dict[str, LayoutPlan] = {}
    for path in sorted(base.glob(f"[!.]*{ENDING}")):
        layout = path.name.removesuffix(ENDING)
        try:
            header = read_header(path)
            if header is not None:
                plans[layout] = plan_of(header, about.launches(name, layout, 1), path)
                identity = header.identity
        except StrettoError as error:
            damaged.append(str(error))
    if not plans:
        return None
    # the campaign's own order: the latest start may have added layouts
    known = [x for x in about.systems.get(name, {}) if x in plans]
    more = ordered(plan.layout for x, plan in plans.items() if x not in known)
    order = [plans[x] for x in (*known, *(y.name for y in more))]
    standing = Standing(order, base, identity)
    for site in standing.all():
        try:
            site.read()
        except StrettoError as error:
            damaged.append(str(error))
            gone = site.plan.layout
            del standing.sites[gone]
            for other in standing.all():
                other.teachers = [x for x in other.teachers if x != gone]
    return standing


def _measured(standings: list[Standing]) -> list[tuple[LayoutPlan, Any]]:
    return [(site.plan, site.bench.records) for x in standings for site in x.all()]


def _system(
    directory: Path,
    name: str,
    standing: Standing | None,
    asked: Mapping[str, LayoutAsked],
    factor: float,
) -> dict[str, Any]:
    layouts = [] if standing is None else ahead(standing)
    begun = {x["layout"] for x in layouts}
    layouts += [_absent(directory / name, x, of) for x, of in asked.items() if x not in begun]
    mpi, _, cpu = name.partition("/")
    found = {"mpi": mpi.replace("-", " ", 1), "cpu": cpu, "table": None}
    if standing is not None:
        identity = standing.identity
        table = table_place(directory, identity.mpi, identity.host.cpu)
        found["cpu"] = identity.host.cpu
        found["table"] = str(table) if table.exists() else None
    return {
        **found,
        "directory": str(directory / name),
        "layouts": [{**x, "left_s": factor * x["left_s"]} for x in layouts],
        "complete": all(x["complete"] for x in layouts),
        "left_s": factor * sum(x["left_s"] for x in layouts),
    }


def _absent(base: Path, name: str, asked: LayoutAsked) -> dict[str, Any]:
    """Return the state of a layout that was not begun."""
    return {
        "layout": name, "done": 0, "total": 0, "round": 0, "rounds": asked.launches,
        "complete": False, "waits_for": [], "under_way": False, "candidates": 0,
        "candidates_left": 0, "samples": 0, "given_up": [],
        "left_out": left_out_word(base / f"{name}{ENDING}"), "excluded": [],
        "dropped": [], "left_s": asked.expected_s,
    }  # fmt: skip


def ahead(standing: Standing) -> list[dict[str, Any]]:
    """Return the state of each layout, and what is left of it by estimates before the start."""
    usual = expected_s([site.plan for site in standing.all()])
    layouts = [_layout(standing, site) for site in standing.all()]
    for x, most in zip(layouts, usual, strict=True):
        # what is alive now will not all be to the end: nobody knows better than before the start
        x["left_s"] = min(x["left_s"], most)
    return layouts


def _layout(standing: Standing, site: Site) -> dict[str, Any]:
    plan = site.plan
    rounds, turn = plan.settings.launches, standing.turn(site)
    alive = State((), ()) if turn is None else standing.cases(site, turn)
    dropped = standing.cases(site, rounds if turn is None else turn).dropped
    left = 0.0
    if turn is not None:
        ledger, launches = ledger_of(site), plan.launches_of(turn)
        share = sum(standing.lacks(site, k, ledger) for k in launches) / len(launches)
        left = share * round_s(plan, turn, alive.cases)
        left += sum(round_s(plan, t, alive.cases) for t in range(turn + 1, rounds))
    waits = [x.name for x in site.teachers if standing.turn(standing.sites[x]) is not None]
    return {
        "layout": plan.layout.name,
        "done": standing.done(site) if turn is not None else plan.settings.total(),
        "total": plan.settings.total(),
        "round": None if turn is None else turn + 1,
        "rounds": rounds,
        "complete": turn is None,
        "waits_for": waits if turn is not None else [],
        "under_way": site.held,
        "candidates": sum(len(c.candidates) for c in plan.settings.cases),
        "candidates_left": sum(len(c.candidates) for c in alive.cases),
        "samples": len(site.bench.samples),
        "given_up": [{"launch": k, "why": why} for k, why in standing.failed(site).items()],
        "left_out": None if turn is None else left_out_word(site.path),
        "excluded": [
            {"collective": r.collective, "candidate": r.candidate, "bytes": r.bytes,
             "reason": r.reason, "detail": r.detail}
            for r in standing_exclusions(site.bench.records).values()
        ],
        "dropped": [vars(d) for d in dropped],
        "left_s": left,
    }  # fmt: skip


def status_lines(status: dict[str, Any], verbose: bool = False) -> list[str]:
    out = []
    for system in status["systems"]:
        out.append(f"{system['mpi']} on {system['cpu']} ({system['directory']})")
        rows = [("layout", "launches", "round", "candidates", "left", "")]
        for x in system["layouts"]:
            now = "done" if x["complete"] else f"{x['round']}/{x['rounds']}"
            note = f"waits for {', '.join(x['waits_for'])} " if x["waits_for"] else ""
            note += "under way" if x["under_way"] else ""
            alive = f"{x['candidates_left']}/{x['candidates']}" if x["candidates_left"] else "-"
            left = "-" if x["complete"] else duration(x["left_s"])
            launches = f"{x['done']}/{x['total']}" if x["total"] else "not begun"
            rows.append((x["layout"], launches, now, alive, left, note))
        out += in_columns(rows, 0)
        for x in system["layouts"]:
            out += _notes(x, verbose)
        if system["table"]:
            out.append(f"  table: {system['table']}")
    out += [f"not used: {sentence}" for sentence in status["damaged"]]
    if status["pace"] > SLOW and not status["complete"]:
        out.append(
            f"launches take {status['pace']:.1f} times the estimate made before the first one"
        )
    if not out:
        out.append("nothing was measured yet")
    elif status["complete"]:
        out.append("complete")
    elif status["systems"]:
        out.append(f"about {duration(status['left_s'])} left (if one job works on it)")
    return out


def _notes(x: Mapping[str, Any], verbose: bool) -> list[str]:
    out = []
    if (word := x["left_out"]) is not None:
        out.append(f"  left out: {x['layout']}: {word['why']} ({word['by']}, {word['at']})")
    if x["given_up"]:
        failed = {e["launch"]: e["why"] for e in x["given_up"]}
        words = f"{given_up_words(failed)}; the same command tries them again"
        out.append(f"  {x['layout']}: {words}")
    out += [
        f"  excluded on {x['layout']}: {e['candidate']} for {e['collective']} "
        f"({e['reason']} at {sized(e['bytes'])}: {e['detail']})"
        for e in x["excluded"]
    ]
    if verbose:
        out += [
            f"  dropped on {x['layout']}: {d['candidate']} for {d['collective']} at "
            f"{sized(d['bytes'])}: {d['why']}"
            for d in x["dropped"]
        ]
    return out
