"""``stretto tune --campaign FILE``, and the same by options."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from stretto.campaign.conclude import Outcome
from stretto.campaign.outlook import budget_lines
from stretto.campaign.request import Request, make_request, read_values
from stretto.campaign.run import run_campaign
from stretto.errors import EXIT_INTERRUPTED, StrettoError, UsageError
from stretto.measure.request import split_candidates
from stretto.output import print_json
from stretto.tune.evidence import weaker_words


def request_of(file: Path | None, options: Mapping[str, str | int | bool | None]) -> Request:
    """Return the campaign that a file says, with what options say in its place.

    `file`: the campaign file, None: options only.
    `options`: by the file's keys, as typed; None where not given.
    """
    values: dict[str, Any] = {} if file is None else read_values(file)
    default = Path("stretto.campaign")
    if file is not None:
        default = file.with_name(file.name.removesuffix(".toml") + ".campaign")
    given = {k: v for k, v in options.items() if v is not None}
    for key, value in given.items():
        if key == "candidates":
            values[key] = split_candidates(str(value))
        elif key in ("mpis", "collectives", "interpolate"):
            values[key] = [x for x in str(value).split(",") if x]
        elif key in ("out", "refine"):
            values[key] = str(Path(str(value)).absolute())
        else:
            values[key] = value
    return replace(make_request(values, default, str(file or "the options")), file=file)


def tune_campaign(
    file: Path | None,
    options: Mapping[str, str | int | bool | None],
    say: Callable[[str], None],
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run a campaign from the command line; return the exit code."""
    if file is not None and file.is_dir():
        raise UsageError(f"{file} is a directory", "--campaign", "name the campaign's file")
    request = request_of(file, options)
    plans: list[dict[str, Any]] = []
    words = ["stretto", *sys.argv[1:]]
    try:
        outcomes = run_campaign(request, words, say, yes, dry_run, plans=plans)
    except (StrettoError, OSError) as error:
        gone = removed(request, error)
        if gone is None:
            raise
        raise StrettoError(
            "this was removed while the campaign ran", gone,
            "measurements in it are gone, unless it was moved: move it back, and the same command "
            "goes on; without it the command begins anew",
        ) from error  # fmt: skip
    if dry_run:
        if as_json:
            print_json({
                "directory": str(request.out), "plan": plans,
                "expected_s": sum(p["expected_s"] for p in plans),
                "budget_s": request.budget_s,
                "warnings": [
                    x.removeprefix("warning: ")
                    for x in budget_lines(request, sum(p["left_s"] for p in plans))
                    if x.startswith("warning: ")
                ],
            })  # fmt: skip
        return 0
    if as_json:
        print_json({"directory": str(request.out), "mpis": [_json(o) for o in outcomes]})
    else:
        for outcome in outcomes:
            print("\n".join(lines_of(outcome)))
    if all(o.table is None and o.ended for o in outcomes):
        first = next((x for o in outcomes for x in o.left_out), "there is no layout to measure")
        remedy = next((o.remedy for o in outcomes if o.remedy), None) or (
            "name nodes that can be used (--hosts), or layouts that fit; --dry-run shows the plan"
        )
        raise StrettoError(
            f"nothing was measured: {first.removesuffix(f'; {remedy}')}", request.out, remedy
        )
    if not all(o.complete for o in outcomes):
        say(
            f"stretto: not complete: everything so far is in {request.out}; the same command goes "
            f"on, and `stretto campaign status {shlex.quote(str(request.out))}` shows how far it is"
        )
        return EXIT_INTERRUPTED
    return 0


def removed(request: Request, error: BaseException) -> Path | None:
    """Return what was taken away from below a running campaign, None where it failed otherwise."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, FileNotFoundError):
        cause = cause.__cause__ or cause.__context__
    if cause is None or cause.filename is None:
        return None
    missing = Path(os.fsdecode(cause.filename)).absolute()
    # right below it lies campaign.json, the first file: where that fails it never was there
    below = any(
        x in missing.parent.parents for x in (request.out.absolute(), request.out.resolve())
    )
    if not below or (request.refine is not None and missing == request.refine.absolute()):
        return None
    return next((p for p in reversed(missing.parents) if not p.exists()), None)


def lines_of(outcome: Outcome) -> list[str]:
    out = [f"{outcome.mpi}:"]
    for row in outcome.rows:
        if row.choice == "native":
            continue
        high = "inf" if row.high is None else row.high
        source = row.evidence.get("source", "measured")
        mark = "" if source == "measured" else f", {source}"
        out.append(
            f"  {row.collective:12} {row.nodes}x{row.ppn:<4} {row.low}-{high} B: {row.choice}, "
            f"time x {row.evidence.get('ratio')}{weaker_words(row.evidence)}{mark}"
        )
    if outcome.table is None:
        out.append("  nothing was measured by this start, so it makes no table")
    elif outcome.inconclusive:
        out.append(f"  {outcome.inconclusive}")
    elif len(out) == 1:
        out.append("  native stays everywhere: nothing was faster than it with significance")
    if outcome.regret:
        out.append(f"  {outcome.regret}")
    out += [f"  left out: {sentence}" for sentence in outcome.left_out]
    if outcome.table is not None:
        results = shlex.quote(str(outcome.results[0].parent))
        out.append(f"  table: {outcome.table} (stretto run --table ...)")
        out.append(f"  results for stretto export: {results}/*.bench.jsonl")
    return out


def _json(outcome: Outcome) -> dict[str, Any]:
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
