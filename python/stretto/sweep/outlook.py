"""What a campaign's plan says besides numbers: input that nothing can come of; and all as JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from stretto.campaign.stats import FEWEST
from stretto.sweep.expected import at_most_s
from stretto.sweep.request import Request
from stretto.sweep.said import few_words

if TYPE_CHECKING:
    from stretto.sweep.run import System


def hopeless(request: Request, system: System) -> list[str]:
    """Return a sentence for everything in a request that nothing can come of.

    Parameters
    ----------
    request, system
        The campaign, and one of its MPIs.
    """
    out = []
    if request.launches < FEWEST:
        out.append(few_words(system.base, system.plans))
    if request.alone:
        out.append("1 x 1 is left out: a single rank has nothing to measure")
    have = len(system.hosts.names)
    many = [p.layout.words for p in system.plans if p.layout.nodes > max(1, have)]
    inside = system.away or bool(os.environ.get("SLURM_JOB_ID"))
    if request.launcher == "srun" and not inside:
        out.append("srun starts ranks inside a Slurm job only: stretto campaign submit FILE")
    elif many and not have and not inside:
        out.append(
            f"{', '.join(many)}: no hosts were named, and this is no Slurm job: they will be left "
            "out (--hosts a,b,..., or stretto campaign submit)"
        )
    elif many and have:
        out.append(f"{', '.join(many)}: there are {have} nodes: they will be left out")
    return out


def plan_json(request: Request, system: System) -> dict[str, Any]:
    """Return the plan of one MPI as plain values.

    Parameters
    ----------
    request, system
        As for `hopeless`.
    """
    guesses = system.expected_s
    cases = [c for plan in system.plans for c in plan.settings.cases]
    return {
        "mpi": system.installation.name,
        "results": str(system.base),
        "collectives": list(dict.fromkeys(c.collective for c in cases)),
        "bytes": sorted({c.bytes for c in cases}),
        "launches": request.launches,
        "layouts": [
            {
                "layout": plan.layout.name,
                "nodes": plan.layout.nodes,
                "ppn": plan.layout.ppn,
                "ranks": plan.layout.nranks,
                "cells": sum(len(c.candidates) for c in plan.settings.cases),
                "starts": plan.settings.total(),
                "shared_cores": system.hosts.shared_by(plan.layout),
                "expected_s": guess,
                "at_most_s": at_most_s(plan),
            }
            for plan, guess in zip(system.plans, guesses, strict=True)
        ],
        "expected_s": sum(guesses),
        "left_s": system.ahead_s,
        "with_closing_s": system.limit_s,
        "warnings": hopeless(request, system),
    }
