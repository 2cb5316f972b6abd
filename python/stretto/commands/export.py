"""``stretto export``: native tuning files from results; they outlive Stretto."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stretto.cli import print_json, say
from stretto.errors import UsageError

EXAMPLE = """stretto bench -n 4 --collective bcast --candidates 'bare;native:all' -o a.bench.jsonl
stretto export --to openmpi-5 --out tuning a.bench.jsonl
source tuning/stretto-native.sh"""

#: target -> family of the results that it is made from
TARGETS = {
    "openmpi-4": "openmpi",
    "openmpi-5": "openmpi",
    "openmpi-6": "openmpi",
    "intel": "intel",
}


def command(
    results: Annotated[
        list[Path], typer.Argument(help="Results of stretto bench with native candidates.")
    ],
    to: Annotated[str, typer.Option(help=f"What to write: {', '.join(TARGETS)}.")],
    out: Annotated[Path, typer.Option(help="Directory for the files.")],
    nodes: Annotated[
        int | None, typer.Option(min=1, help="Where several layouts have as many ranks: its nodes.")
    ] = None,
    ppn: Annotated[int | None, typer.Option(min=1, help="... and its ranks per node.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the MPI's own tuning files: rules, parameters, a script to source and a module file.

    A rule is written only where an algorithm of the MPI was significantly faster than the MPI's own
    decision; elsewhere, and on other numbers of ranks, the MPI decides as before.
    """
    from stretto.export import intel, openmpi
    from stretto.export.output import write
    from stretto.export.rules import for_layouts, read_rules

    if to not in TARGETS:
        raise UsageError(f"there is no export to {to!r}", "--to", f"there are {', '.join(TARGETS)}")
    measured = read_rules(results)
    if measured.mpi.family != TARGETS[to]:
        raise UsageError(
            f"these results are of {measured.mpi.family} {measured.mpi.version}: what is fast in "
            f"one MPI says nothing of another",
            "--to",
            f"measure with {TARGETS[to]}, or export to one of "
            + ", ".join(t for t, f in TARGETS.items() if f == measured.mpi.family),
        )
    if to[-2:] in ("-4", "-5", "-6") and not measured.mpi.version.startswith(to[-1]):
        say(
            f"stretto: warning: measured with {measured.mpi.version}; the same number may mean "
            f"another algorithm in {to}"
        )
    rules, lost = for_layouts(measured.rules, nodes, ppn)
    if to == "intel":
        export = intel.adjust(rules)
    elif to == "openmpi-6":
        export = openmpi.json_rules(rules)
    else:
        export = openmpi.classic(rules, to.removeprefix("openmpi-"))
    export.lost = lost + export.lost
    files = ", ".join(str(p) for p in results)
    title = f"stretto: native tuning for {to} from {files}"
    written = write(export, out, title)
    chosen = [r for r in rules if not r.default]
    if as_json:
        print_json(
            {
                "files": [str(p) for p in written],
                "environment": export.environment,
                "rules": len(chosen),
                "lost": export.lost,
            }
        )
        return
    for sentence in export.lost:
        say(f"stretto: note: {sentence}")
    if not chosen:
        say("stretto: nothing was significantly faster than what the MPI does by itself")
    print(f"{len(chosen)} rules in {out}; next: source {out / 'stretto-native.sh'}")
