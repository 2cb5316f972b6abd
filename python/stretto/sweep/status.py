"""How far a campaign is, from its files alone: any process may look while others work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stretto.campaign.cost import duration
from stretto.campaign.ledger import Ledger
from stretto.errors import StrettoError
from stretto.files.bench import standing_exclusions
from stretto.files.identity import Identity
from stretto.sweep.begun import launches_of, read_about
from stretto.sweep.conclude import table_place
from stretto.sweep.elimination import Policy, State
from stretto.sweep.expected import expected_s
from stretto.sweep.folder import ENDING
from stretto.sweep.layout import ordered, parse_layout
from stretto.sweep.pace import pace
from stretto.sweep.plan import FILE, LayoutPlan, read_plan, round_s
from stretto.sweep.site import Site, given_up_words
from stretto.sweep.standing import Standing

#: from such a factor on it is said that launches take longer than they were estimated to
SLOW = 1.5


def read_status(directory: Path) -> dict[str, Any]:
    """Return a campaign's state as plain values.

    Parameters
    ----------
    directory
        Of the campaign: what its plan names as the place of its results.
    """
    about = read_about(directory)
    policy = Policy() if about.get("eliminate", True) else None
    systems, damaged = [], []
    for base in _bases(directory):
        standing, errors = _standing(base, about, policy)
        damaged += errors
        if standing is not None:
            systems.append(_system(standing, base, directory))
    return {
        "directory": str(directory),
        "launches": about["launches"],
        "eliminate": policy is not None,
        "systems": systems,
        "complete": bool(systems) and not damaged and all(s["complete"] for s in systems),
        "damaged": damaged,
        "left_s": sum(s["left_s"] for s in systems),
    }


def _bases(directory: Path) -> Iterator[Path]:
    """Return the directories of the campaign's systems: an MPI on a kind of node."""
    seen: set[Path] = set()
    found = {*directory.glob(f"*/*/*/{FILE}"), *directory.glob(f"*/*/*/[!.]*{ENDING}")}
    for path in sorted(found):
        base = path.parent.parent
        if base not in seen:
            seen.add(base)
            yield base


def _standing(
    base: Path, about: dict[str, Any], policy: Policy | None
) -> tuple[Standing | None, list[str]]:
    """Return how a system stands, and a sentence for each layout whose plan cannot be read."""
    plans: dict[str, LayoutPlan] = {}
    damaged: list[str] = []
    identity: Identity | None = None
    node_cpu: str | None = None
    layouts = {p.parent for p in (*base.glob(f"*/{FILE}"), *base.glob(f"*/[!.]*{ENDING}"))}
    for path in sorted(x / FILE for x in layouts):
        try:
            plan, identity, node_cpu = read_plan(path, launches_of(about, path.parent.name))
        except StrettoError as error:
            damaged.append(str(error))
            continue
        plans[plan.layout.name] = plan
    if identity is None:
        return None, damaged
    # The campaign's own order: the latest start may have added layouts that are not begun yet.
    known = [x for x in about["layouts"] if x in plans]
    names = [*known, *(x.name for x in ordered(map(parse_layout, set(plans) - set(known))))]
    standing = Standing(
        [plans[n] for n in names], base, identity, policy, node_cpu=node_cpu, glance=True
    )
    return standing, damaged


def _system(standing: Standing, base: Path, directory: Path) -> dict[str, Any]:
    layouts, left, seen = _left(standing)
    mpi = standing.identity.mpi
    table = table_place(directory, mpi, standing.node_cpu or standing.identity.host.cpu)
    return {
        "mpi": f"{mpi.family} {mpi.version}",
        "cpu": standing.node_cpu or standing.identity.host.cpu,
        "directory": str(base),
        "layouts": layouts,
        "complete": all(x["complete"] for x in layouts),
        "pace": seen,
        "left_s": left,
        "table": str(table) if table.exists() else None,
    }


def left_s(standing: Standing) -> float:
    """Return how long a campaign of one MPI will probably still take, in seconds.

    Parameters
    ----------
    standing
        How it stands, at a glance.
    """
    return _left(standing)[1]


def _left(standing: Standing) -> tuple[list[dict[str, Any]], float, float]:
    """Return the state of each layout, the time left, and how much longer launches take."""
    standing.close()
    policy = standing.policy
    layouts = [_layout(standing, site, policy) for site in standing.all()]
    left, closing = sum(x["left_s"] for x in layouts), standing.closing
    if closing is not None and not closing.over:  # it takes what it may, or a little less
        spent = closing.spent_s
        if spent is None:  # the search is not over: as it usually goes
            spent = sum(expected_s([site.plan for site in standing.all()], policy))
        left += max(0.0, closing.limit_s - spent)
    seen = pace(((x.plan, x.folder.merged().bench.records) for x in standing.all()), policy)
    for x in layouts:
        x["left_s"] *= seen
    return layouts, left * seen, seen


def _layout(standing: Standing, site: Site, policy: Policy | None) -> dict[str, Any]:
    plan, merged = site.plan, site.folder.merged()
    listing = site.claims.listing()
    asked = plan.settings.launches
    states = {k: site.claims.state(k, listing)[0] for k in listing}
    # A round after those asked for has the launches that it needs, and no others.
    total = plan.settings.total() + sum(k >= plan.settings.total() for k in states)
    done = sum(s == "done" for s in states.values())
    turn = standing.turn(site, listing)
    if turn is not None:  # of later rounds nobody can say yet what they lack
        done -= sum(
            s == "done" and standing.lacks(site, turn, k)
            for k, s in states.items()
            if k in site.plan.launches_of(turn)
        )
    blocked = [g.name for g in site.guides if not _complete(standing, standing.sites[g])]
    alive = State((), ()) if turn is None else standing.cases(site, turn)
    dropped = standing.search(site, asked if turn is None else min(turn, asked)).dropped
    complete = turn is None and (standing.closing is None or standing.closing.over)
    gone = standing_exclusions(merged.bench.records)
    left = 0.0
    if turn is not None:
        settings = plan.in_round(turn, alive.cases, policy)
        ledger = Ledger(settings, merged.bench.records)
        launches = site.launches_of(turn, alive)
        open_now = sum(bool(ledger.pending(k)) for k in launches)
        here = round_s(plan, turn, alive.cases, policy)
        share = open_now / max(1, len(launches))
        left = here * share + sum(
            round_s(plan, t, alive.cases, policy) for t in range(turn + 1, asked)
        )
    return {
        "layout": plan.layout.name,
        "done": done,
        "total": total,
        "round": None if turn is None else turn + 1,
        "rounds": asked if turn is None else max(asked, turn + 1),
        "complete": complete,
        "waits_for": blocked if turn is not None else [],
        "held": sorted(k for k, s in states.items() if s == "held"),
        "cells": sum(len(c.candidates) for c in plan.settings.cases),
        "cells_alive": sum(len(c.candidates) for c in alive.cases),
        "samples": len(merged.bench.samples),
        "samples_dropped": merged.dropped,
        "not_used": list(merged.aside),
        "given_up": [{"launch": k, "why": why} for k, why in site.failed().items()],
        "left_out": None if complete else site.left_out(),
        "excluded": [
            {"collective": r.collective, "candidate": r.candidate, "bytes": r.bytes,
             "reason": r.reason, "detail": r.detail} for r in gone.values()
        ],
        "dropped": [
            {"collective": d.collective, "bytes": d.bytes, "candidate": d.candidate,
             "launches": d.launches, "why": d.why} for d in dropped
        ],
        "left_s": left,
    }  # fmt: skip


def _complete(standing: Standing, site: Site) -> bool:
    turn = standing.turn(site, site.claims.listing())
    return turn is None or turn >= site.plan.settings.launches


def _left_out_words(word: dict[str, Any]) -> str:
    by = f" ({word.get('by')}, {word.get('at')})"
    return str(word["why"]) + (f"; {word['remedy']}" if word.get("remedy") else "") + by


def status_lines(status: dict[str, Any], verbose: bool = False) -> list[str]:
    """Return a campaign's state for people.

    Parameters
    ----------
    status
        From `read_status`.
    verbose
        Every candidate that was dropped, too.
    """
    out = []
    for system in status["systems"]:
        out.append(f"{system['mpi']} on {system['cpu']} ({system['directory']})")
        out.append(
            f"  {'layout':>7}  {'launches':>11}  {'round':>7}  {'candidates':>12}  {'left':>10}"
        )
        for x in system["layouts"]:
            now = "done" if x["complete"] else f"{x['round']}/{x['rounds']}"
            if not x["complete"] and x["round"] is None:
                now = "searched"  # closing rounds begin when all layouts are
            note = f"  waits for {', '.join(x['waits_for'])}" if x["waits_for"] else ""
            note += f"  {len(x['held'])} under way" if x["held"] else ""
            alive = "-" if x["complete"] else f"{x['cells_alive']}/{x['cells']}"
            left = "-" if x["complete"] else duration(x["left_s"])
            launches = f"{x['done']}/{x['total']}"
            out.append(
                f"  {x['layout']:>7}  {launches:>11}  {now:>7}  {alive:>12}  {left:>10}{note}"
            )
        if system["pace"] > SLOW and not system["complete"]:
            out.append(
                f"  launches take {system['pace']:.1f} times as long as was estimated before the "
                "first one"
            )
        for x in system["layouts"]:
            if x["left_out"] is not None:
                out.append(f"  left out: {x['layout']}: {_left_out_words(x['left_out'])}")
            if x["given_up"]:
                failed = {e["launch"]: e["why"] for e in x["given_up"]}
                out.append(
                    f"  {x['layout']}: {given_up_words(failed)}; the same command tries them again"
                )
            for e in x["excluded"]:
                out.append(
                    f"  excluded on {x['layout']}: {e['candidate']} for {e['collective']} "
                    f"({e['reason']} at {e['bytes']} B: {e['detail']})"
                )
            out += [f"  not used: {sentence}" for sentence in x["not_used"]]
            if verbose:
                out += [
                    f"  dropped on {x['layout']}: {d['candidate']} for {d['collective']} at "
                    f"{d['bytes']} B: {d['why']}"
                    for d in x["dropped"]
                ]
        if system["table"]:
            out.append(f"  table: {system['table']}")
    out += [f"not used: {sentence}" for sentence in status["damaged"]]
    if not out:
        out.append("nothing was measured yet")
    elif status["complete"]:
        out.append("complete")
    elif status["systems"]:
        out.append(f"about {duration(status['left_s'])} left (if one job works on it)")
    return out
