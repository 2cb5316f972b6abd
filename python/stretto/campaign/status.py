"""How far a campaign is, from its files alone: any process may look while others work."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stretto.campaign.begun import launches_of, read_about
from stretto.campaign.conclude import table_place
from stretto.campaign.elimination import Policy, State
from stretto.campaign.expected import expected_s, pace
from stretto.campaign.folder import ENDING
from stretto.campaign.layout import ordered, parse_layout
from stretto.campaign.plan import FILE, LayoutPlan, read_plan, round_s
from stretto.campaign.site import Site, given_up_words
from stretto.campaign.standing import Standing
from stretto.counted import duration
from stretto.errors import StrettoError
from stretto.files.bench import LaunchEnd, Record, standing_exclusions
from stretto.files.identity import Identity
from stretto.measure.ledger import Ledger

#: from such a factor on it is reported that launches take longer than they were estimated to
SLOW = 1.5


@dataclass(frozen=True)
class Ahead:
    """What is left of a campaign of one MPI, as it was estimated before the first launch.

    `layouts`: state of each.
    `measured`: of each layout the plan and what was measured.
    `policy`: when candidates are dropped; None: never.
    """

    layouts: list[dict[str, Any]]
    measured: Sequence[tuple[LayoutPlan, Sequence[Record]]]
    policy: Policy | None

    @property
    def pace(self) -> float | None:
        """How many times as long launches take; None: none has ended."""
        ended = any(
            isinstance(r, LaunchEnd) and r.status == "ok" and r.seconds is not None
            for _, records in self.measured
            for r in records
        )
        return pace(self.measured, self.policy) if ended else None

    @property
    def left_s(self) -> float:
        return float(sum(x["left_s"] for x in self.layouts))


def read_status(directory: Path) -> dict[str, Any]:
    about = read_about(directory)
    policy = Policy() if about.get("eliminate", True) else None
    found, damaged, begun = [], [], set()
    for base in _bases(directory):
        begun.add(base.parent.name)
        standing, errors = _standing(base, about, policy)
        damaged += errors
        if standing is not None:
            found.append((standing, ahead(standing)))
    usual = pace((x for _, left in found for x in left.measured), policy)
    systems = [_system(standing, left, usual, directory) for standing, left in found]
    missing = _not_begun(about, begun, usual)
    return {
        "directory": str(directory),
        "launches": about["launches"],
        "eliminate": policy is not None,
        "systems": systems,
        "not_begun": missing,
        "complete": bool(systems)
        and not damaged
        and not missing
        and all(s["complete"] for s in systems),
        "damaged": damaged,
        "left_s": sum(s["left_s"] for s in [*systems, *missing]),
    }


def _not_begun(about: dict[str, Any], begun: Collection[str], usual: float) -> list[dict[str, Any]]:
    return [
        {"mpi": x["mpi"], "left_s": usual * x["expected_s"]}
        for x in about.get("systems", ())
        if x["directory"] not in begun
    ]


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


def _system(standing: Standing, left: Ahead, usual: float, directory: Path) -> dict[str, Any]:
    mpi, cpu = standing.identity.mpi, standing.node_cpu or standing.identity.host.cpu
    table = table_place(directory, mpi, cpu)
    factor = usual if left.pace is None else left.pace
    return {
        "mpi": f"{mpi.family} {mpi.version}",
        "cpu": cpu,
        "directory": str(standing.base),
        "layouts": [{**x, "left_s": factor * x["left_s"]} for x in left.layouts],
        "complete": all(x["complete"] for x in left.layouts),
        "pace": factor,
        "left_s": factor * left.left_s,
        "table": str(table) if table.exists() else None,
    }


def ahead(standing: Standing) -> Ahead:
    policy, sites = standing.policy, standing.all()
    usual = expected_s([site.plan for site in sites], policy)
    layouts = [_layout(standing, site, policy) for site in sites]
    for x, most in zip(layouts, usual, strict=True):
        # what is alive now will not all be to the end: nobody knows better than before the start
        x["left_s"] = min(x["left_s"], most)
    measured = [(x.plan, x.folder.merged().bench.records) for x in sites]
    return Ahead(layouts, measured, policy)


def _layout(standing: Standing, site: Site, policy: Policy | None) -> dict[str, Any]:
    plan, merged = site.plan, site.folder.merged()
    listing = site.claims.listing()
    asked = plan.settings.launches
    states = {k: site.claims.state(k, listing)[0] for k in listing}
    done = sum(s == "done" for s in states.values())
    turn = standing.turn(site, listing)
    if turn is not None:  # of later rounds nobody can say yet what they lack
        done -= sum(
            s == "done" and standing.lacks(site, turn, k)
            for k, s in states.items()
            if k in site.plan.launches_of(turn)
        )
    blocked = [x.name for x in site.teachers if not _complete(standing, standing.sites[x])]
    alive = State((), ()) if turn is None else standing.cases(site, turn)
    dropped = standing.cases(site, asked if turn is None else turn).dropped
    complete = turn is None
    gone = standing_exclusions(merged.bench.records)
    left = 0.0
    if turn is not None:
        settings = plan.in_round(turn, alive.cases, policy)
        ledger = Ledger(settings, merged.bench.records)
        launches = plan.launches_of(turn)
        open_now = sum(bool(ledger.pending(k)) for k in launches)
        here = round_s(plan, turn, alive.cases, policy)
        share = open_now / max(1, len(launches))
        left = here * share + sum(
            round_s(plan, t, alive.cases, policy) for t in range(turn + 1, asked)
        )
    return {
        "layout": plan.layout.name,
        "done": done,
        "total": plan.settings.total(),
        "round": None if turn is None else turn + 1,
        "rounds": asked,
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
    return standing.turn(site, site.claims.listing()) is None


def _left_out_words(word: dict[str, Any]) -> str:
    by = f" ({word.get('by')}, {word.get('at')})"
    return str(word["why"]) + (f"; {word['remedy']}" if word.get("remedy") else "") + by


def status_lines(status: dict[str, Any], verbose: bool = False) -> list[str]:
    out = []
    for system in status["systems"]:
        out.append(f"{system['mpi']} on {system['cpu']} ({system['directory']})")
        out.append(
            f"  {'layout':>7}  {'launches':>11}  {'round':>7}  {'candidates':>12}  {'left':>10}"
        )
        for x in system["layouts"]:
            now = "done" if x["complete"] else f"{x['round']}/{x['rounds']}"
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
    for x in status["not_begun"]:
        out.append(f"{x['mpi']}: not begun; about {duration(x['left_s'])}")
    out += [f"not used: {sentence}" for sentence in status["damaged"]]
    if not out:
        out.append("nothing was measured yet")
    elif status["complete"]:
        out.append("complete")
    elif status["systems"]:
        out.append(f"about {duration(status['left_s'])} left (if one job works on it)")
    return out
