"""``stretto compare`` of two network results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from stretto.cli.lazy import lazily
from stretto.errors import UsageError
from stretto.output import print_json, say

with lazily():
    from stretto.net.systems import compared, lines, systems


def compare(
    paths: Sequence[Path],
    options: Sequence[object],
    output: Path | None,
    png: Path | None,
    svg: Path | None,
    as_json: bool,
) -> None:
    """Compare two network results; `options`: those of collectives, of which none may be given."""
    if any(options):
        raise UsageError(
            "a comparison of networks uses everything that both have", None,
            "leave out --collective, --bytes, --nodes, --ppn, --mode, --natives-only and --all",
        )  # fmt: skip
    if len(paths) != 2:
        raise UsageError(
            f"network results of {len(paths)} systems were given; give two",
            ", ".join(map(str, paths[:4])),
            "name two, each a file or a directory with the files of its launches; one chart of "
            "all: stretto report A.net.json B.net.json ...",
        )
    found = compared(*systems(paths))
    if output is not None or png is not None or svg is not None:
        from stretto.report import network
        from stretto.report.page import PageFiles

        to = PageFiles(output, png, svg)
        for path in network.written(network.compared(found), to)["written"]:
            say(f"stretto: {path}")
    if as_json:
        print_json({
            "answer": found.answer,
            "systems": [{"name": s.name, "about": s.about, "files": [str(p) for p in s.paths]}
                        for s in found.systems],
            "rows": [
                {**asdict(r.figure), "values": [asdict(v) for v in r.values],
                 "ratio": asdict(r.ratio) if r.verdict.tested else None, "words": r.words,
                 "outcome": r.verdict.outcome, "why": r.verdict.words}
                for r in found.rows
            ],
            "notes": list(found.notes),
        })  # fmt: skip
    else:
        print("\n".join(lines(found)))
