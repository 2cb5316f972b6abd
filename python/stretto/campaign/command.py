"""What ``stretto campaign run`` and ``plan`` do, and what they say of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stretto.campaign.conclude import Outcome
from stretto.campaign.outlook import short_budget
from stretto.campaign.request import Request, make_request, read_values
from stretto.campaign.run import plan_campaign
from stretto.errors import EXIT_INTERRUPTED, StrettoError
from stretto.files.locate import site_tables
from stretto.measure.request import split_candidates
from stretto.tune.evidence import rows_lines


def request_of(file: Path | None, options: Mapping[str, object]) -> Request:
    """Return the campaign of a file (None: none) and of options by the file's keys, as typed."""
    values: dict[str, Any] = {} if file is None else read_values(file)
    default = Path("stretto.campaign")
    if file is not None:
        default = file.with_name(file.name.removesuffix(".toml") + ".campaign")
    for key, value in options.items():
        if key == "candidates":
            values[key] = split_candidates(str(value))
        elif key in ("out", "refine"):
            values[key] = str(Path(str(value)).absolute())
        else:
            values[key] = value
    return replace(make_request(values, default, str(file or "the options")), file=file)


def plan_of(request: Request, say: Callable[[str], None]) -> dict[str, Any]:
    """Say what a campaign would measure, and return it as plain values."""
    plans = plan_campaign(request, say)
    return {
        "directory": str(request.out), "plan": plans,
        "expected_s": sum(p["expected_s"] for p in plans), "budget_s": request.budget_s,
        "warnings": short_budget(request, sum(p["left_s"] for p in plans)),
    }  # fmt: skip


def finish(request: Request, outcomes: Sequence[Outcome], say: Callable[[str], None]) -> int:
    """Return the exit code; refuse to call it a success where nothing was measured."""
    if all(o.table is None and o.ended for o in outcomes):
        first = next((x for o in outcomes for x in o.left_out), "there is no layout to measure")
        remedy = next((o.remedy for o in outcomes if o.remedy), None) or (
            "name nodes that can be used (--hosts), or layouts that fit (stretto campaign plan)"
        )
        raise StrettoError(
            f"nothing was measured: {first.removesuffix(f'; {remedy}')}", request.out, remedy
        )
    if all(o.complete for o in outcomes):
        return 0
    say(
        f"stretto: not complete: all results are in {request.out}; the same command continues, "
        f"and `stretto campaign status {shlex.quote(str(request.out))}` shows the progress"
    )
    return EXIT_INTERRUPTED


def lines_of(outcome: Outcome) -> list[str]:
    """Return what came of a campaign with one MPI, for people."""
    rows = rows_lines(outcome.rows)
    out = [f"{outcome.mpi}:", *rows[1:]]
    if outcome.table is None:
        out.append("  no table: nothing was measured by this start")
    elif outcome.inconclusive:
        out.append(f"  {outcome.inconclusive}")
    elif not rows:
        out.append("  native on every row: no algorithm was significantly faster")
    if outcome.regret:
        out.append(f"  {outcome.regret}")
    out += [f"  left out: {sentence}" for sentence in outcome.left_out]
    if outcome.table is not None:
        base = outcome.results[0].parent
        site = site_tables() / base.parent.name / base.name / "any.table"
        words = ["install", "-Dm644", str(outcome.table), str(site)]
        out.append(f"  table: {outcome.table} (stretto run --table ...)")
        if outcome.complete:
            out.append(f"  for all users: {shlex.join(words)}")
        out.append(f"  results for stretto export: {shlex.quote(str(base))}/*.bench.jsonl")
    return out


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "mpi": outcome.mpi,
        "table": None if outcome.table is None else str(outcome.table),
        "results": [str(p) for p in outcome.results],
        "rows": len(outcome.rows),
        "chosen": sum(r.choice != "native" for r in outcome.rows),
        "regret": outcome.regret,
        "inconclusive": outcome.inconclusive,
        "complete": outcome.complete,
        "left_out": outcome.left_out,
        "notes": outcome.notes,
    }
