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
from stretto.files.io import check_schema, parse_json, read_text
from stretto.sweep.conclude import table_place
from stretto.sweep.elimination import Policy, State
from stretto.sweep.expected import expected_s
from stretto.sweep.layout import ordered, parse_layout
from stretto.sweep.pace import pace
from stretto.sweep.plan import FILE, LayoutPlan, read_plan, round_s
from stretto.sweep.run import CAMPAIGN
from stretto.sweep.site import Site, given_up_words
from stretto.sweep.standing import Standing

_WHAT = "a campaign's directory"
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
    systems = []
    for base in _bases(directory):
        standing = _standing(base, about, policy)
        systems.append(_system(standing, base, directory, policy))
    return {
        "directory": str(directory),
        "launches": about["launches"],
        "eliminate": policy is not None,
        "systems": systems,
        "complete": bool(systems) and all(s["complete"] for s in systems),
        "left_s": sum(s["left_s"] for s in systems),
    }


def read_about(directory: Path) -> dict[str, Any]:
    """Return what a campaign's directory says of how it was begun.

    Parameters
    ----------
    directory
        Of the campaign.
    """
    path = directory / CAMPAIGN
    text = read_text(path, _WHAT, "give the directory of: stretto tune --campaign FILE")
    value = parse_json(text, str(path), _WHAT)
    check_schema(value, "stretto-campaign", 1, str(path), _WHAT)
    launches, layouts = value.get("launches"), value.get("layouts")
    good = isinstance(launches, int) and not isinstance(launches, bool) and launches > 0
    if not good or not isinstance(layouts, list) or not all(isinstance(x, str) for x in layouts):
        raise StrettoError(
            "this does not say the campaign's launches and layouts", path,
            "the file is damaged; the command that measures writes it anew",
        )  # fmt: skip
    return value


def _bases(directory: Path) -> Iterator[Path]:
    """Return the directories of the campaign's systems: an MPI on a kind of node."""
    seen: set[Path] = set()
    for path in sorted(directory.glob(f"*/*/*/{FILE}")):
        base = path.parent.parent
        if base not in seen:
            seen.add(base)
            yield base


def _standing(base: Path, about: dict[str, Any], policy: Policy | None) -> Standing:
    plans: dict[str, LayoutPlan] = {}
    identity: Identity | None = None
    node_cpu: str | None = None
    for path in sorted(base.glob(f"*/{FILE}")):
        plan, identity, node_cpu = read_plan(path, int(about["launches"]))
        plans[plan.layout.name] = plan
    if identity is None:
        raise StrettoError("there is no layout in here", base)
    # The campaign's own order: the latest start may have added layouts that are not begun yet.
    known = [x for x in about["layouts"] if x in plans]
    names = [*known, *(x.name for x in ordered(map(parse_layout, set(plans) - set(known))))]
    return Standing(
        [plans[n] for n in names], base, identity, policy, node_cpu=node_cpu, glance=True
    )


def _system(
    standing: Standing, base: Path, directory: Path, policy: Policy | None
) -> dict[str, Any]:
    standing.close()
    layouts = [_layout(standing, site, policy) for site in standing.all()]
    left, closing = sum(x["left_s"] for x in layouts), standing.closing
    if closing is not None and not closing.over:  # it takes what it may, or a little less
        spent = closing.spent_s
        if spent is None:  # the search is not over: as it usually goes
            spent = sum(expected_s([site.plan for site in standing.all()], policy))
        left += max(0.0, closing.limit_s - spent)
    seen = pace(((x.plan, x.folder.merged().bench.records) for x in standing.all()), policy)
    left *= seen
    for x in layouts:
        x["left_s"] *= seen
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
            alive = f"{x['cells_alive']}/{x['cells']}"
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
    if not out:
        out.append("nothing was measured yet")
    elif status["complete"]:
        out.append("complete")
    else:
        out.append(f"about {duration(status['left_s'])} left (if one job works on it)")
    return out
