"""A table for a cluster that is not there yet: ``stretto tune --platform P --nodes 2-128``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.counted import counted
from stretto.errors import UsageError
from stretto.output import print_json, say

if TYPE_CHECKING:
    from stretto.files.table import Table
    from stretto.model.sweep import Answer


def tune_by_simulation(
    cmd: Sequence[str] | None,
    platform: str | None,
    nodes: str | None,
    ppn: int | None,
    only: list[str] | None,
    sizes: str,
    mpi: str | None,
    out: Path | None,
    seed: int,
    as_json: bool,
    dry_run: bool = False,
) -> None:
    """Simulate, decide, write the table and its results; all arguments are those of the command.

    Parameters
    ----------
    cmd
        Must be none: a simulation has no application to prove a gain on.
    platform, nodes, ppn
        Where.
    only, sizes
        What; None: every collective that has algorithms.
    mpi
        The MPI that the table is for.
    out
        The table's file.
    seed, as_json
        Of the noise; print JSON.
    dry_run
        Say how much would be simulated, and stop.
    """
    from stretto.files.table import TUNABLE, write_table
    from stretto.measure.settings import parse_counts, parse_sizes
    from stretto.model.native import BASELINES, native_choice
    from stretto.model.platform_file import load
    from stretto.model.sweep import write_results
    from stretto.model.table import simulated_table
    from stretto.mpi.detect import find_installation

    platform = _platform_of(cmd, platform, nodes)
    where = load(platform)
    path = out or Path(f"{where.name}.table")
    results = path.with_name(path.name.removesuffix(".table") + ".bench.jsonl")
    for existing in (path, results):
        if existing.exists():
            raise UsageError(
                f"{existing} is there already, and may hold measurements",
                "--out",
                "name another file",
            )
    installation = find_installation(mpi)
    names = only or [c for c in TUNABLE]
    counts = parse_counts(nodes or "2:64", "--nodes")
    each = ppn or int(where.cores)
    for name in names:  # before hours have gone into the others
        native_choice("openmpi", name, max(counts) * each, max(counts), 8)
    if dry_run:
        cells = len(names) * len(counts) * len(parse_sizes(sizes))
        say(
            f"stretto: {counted(cells, 'cell')} would be simulated ({', '.join(names)}; "
            f"{counted(len(counts), 'number')} of nodes x {each}), on one core about a minute for "
            "each of several thousand ranks"
        )
        return
    say(f"stretto: simulating {', '.join(names)} on {where.name}: nothing is measured")
    if installation.family not in BASELINES:
        say(
            f"stretto: note: the model does not have {installation.name}'s own decisions: gains "
            "are against Open MPI's (baseline=openmpi)"
        )
    table, answers = simulated_table(
        where, counts, [each], names, parse_sizes(sizes), installation.family,
        installation.version, seed=seed, done=lambda c: say(
            f"stretto: {c.collective} {c.nodes} x {c.ppn}, {c.bytes} B"),
    )  # fmt: skip
    write_results(answers, where, results, ["stretto", *sys.argv[1:]], "openmpi")
    write_table(table, path)
    _show(table, answers, path, results, as_json)


def _platform_of(cmd: Sequence[str] | None, platform: str | None, nodes: str | None) -> str:
    """Refuse a command, and no platform."""
    if cmd and platform is None:
        raise UsageError(
            "--nodes is not for tuning one command", "--nodes",
            "leave out the command (a campaign or a simulation has none), or measure it over nodes "
            f"with stretto scale --nodes {nodes} -- CMD",
        )  # fmt: skip
    if platform is None:
        raise UsageError(
            "--nodes needs a platform", "--nodes", "add --platform (stretto platform list)"
        )
    if cmd:
        raise UsageError(
            "a simulated table is not for one command", "--platform",
            "leave out the command, or forecast its profile: stretto simulate --profile",
        )  # fmt: skip
    return platform


def _show(
    table: Table, answers: Sequence[Answer], path: Path, results: Path, as_json: bool
) -> None:
    from stretto.model.show import answer_lines

    if as_json:
        print_json({
            "source": "simulated", "table": str(path), "file": str(results),
            "rows": [
                {"collective": r.collective, "nodes": r.nodes, "ppn": r.ppn, "low": r.low,
                 "high": r.high, "choice": r.choice, "evidence": r.evidence}
                for r in table.rows
            ],
        })  # fmt: skip
        return
    print("\n".join(answer_lines(answers, 0)))
    print(
        f"table: {path} (simulated; apply it with stretto run --table {path}, and measure on the "
        "cluster with stretto tune before you believe it)"
    )
    print(f"results: {results}")
