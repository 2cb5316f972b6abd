"""``stretto export --time``: the bare MPI with an export's files against the bare MPI without."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from stretto.cli.lazy import lazily
from stretto.errors import StrettoError, UsageError
from stretto.output import say

with lazily():
    from stretto.built import library
    from stretto.export import gain
    from stretto.export.gain import TimingPlace, remedy
    from stretto.export.gained import announce, gained, lines
    from stretto.export.gained import as_json as values
    from stretto.export.users import conflicts
    from stretto.files.identity import collect
    from stretto.measure.idle import idle_warning
    from stretto.measure.ledger import require_layout
    from stretto.measure.request import ask
    from stretto.measure.runner import measure
    from stretto.mpi import MPIInstallation


def run(
    out: Path, place: TimingPlace, yes: bool, dry_run: bool, as_json: bool
) -> tuple[dict[str, Any], StrettoError | None]:
    """Time an export, print what was found, and return it, with the error that it amounts to."""
    installation, restart = place.installation, place.restart
    library("bench", installation.abi)
    if place.folder.exists() and not place.folder.is_dir():
        raise UsageError(
            "this is a file; the times of each layout need a separate file", "--times",
            f"name a directory: --times {place.folder}.d",
        )  # fmt: skip
    plan = gain.plan(out, place)
    _warn(plan, installation)
    if not plan.manifest.rows:
        say(f"stretto: {out} has no rows: there is nothing to time")
        return {"mpi": installation.name, "files": [], "rows": [], "beside": []}, None
    if not plan.timings:
        reason = next(iter(plan.left.values()))
        option = "--hosts" if "--most-ranks" not in reason else "--most-ranks"
        raise UsageError(f"no row can be timed here: {reason}", option)
    if not restart:
        gain.refuse_others(plan.timings)
    seconds = announce(plan, installation.name, say, restart)
    if dry_run:
        say("stretto: dry run: nothing was timed")
        starts = sum(t.settings.total() for t in plan.timings)
        cells = sum(len(t.calls) for t in plan.timings)
        return {
            "dry_run": True,
            "calls": cells,
            "starts": starts,
            "cost_s": round(seconds, 1),
        }, None
    ask(seconds, yes)
    warning = idle_warning() if seconds else None
    if warning:
        say(f"stretto: warning: {warning}")
    return _measured(out, installation, plan, restart, as_json)


def _warn(plan: gain.TimingPlan, installation: MPIInstallation) -> None:
    """Name what makes the times those of something else than a user's job with the files."""
    manifest = plan.manifest
    collectives = [r.collective for r in manifest.rows]
    for words in conflicts(manifest.target, collectives, manifest.environment, os.environ):
        say(f"stretto: warning: {words}")
    if installation.version != manifest.mpi.version:
        say(
            f"stretto: warning: measured with {manifest.mpi.version}, timed with "
            f"{installation.version}"
        )


def _measured(
    out: Path, installation: MPIInstallation, plan: gain.TimingPlan, restart: bool, as_json: bool
) -> tuple[dict[str, Any], StrettoError | None]:
    benches, notes = [], []
    for timing in plan.timings:
        bench, warnings = measure(
            timing.settings,
            installation,
            timing.path,
            collect(installation.identity),
            ["stretto", *sys.argv[1:]],
            say,
            restart,
        )
        require_layout(bench, timing.layout.nodes, timing.layout.ppn, timing.path)
        benches.append(bench)
        notes += warnings
    found = gained(plan, benches, notes)
    paths = [t.path for t in plan.timings]
    if not as_json:
        print("\n".join(lines(found)))
    say(f"stretto: times are in {', '.join(map(str, paths))}; next: stretto report {paths[0]}")
    worse = found.worse
    if not worse:
        return values(found, installation.name, paths), None
    words = "; ".join(f"{what}: {why}" for _, what, why in worse)
    fault = StrettoError(
        f"slower with the files than native {installation.name}: {words}",
        out,
        remedy(plan.manifest, out, [c for c, _, _ in worse]),
    )
    return values(found, installation.name, paths), fault
