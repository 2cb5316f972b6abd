"""``stretto compare`` of results of ``stretto io``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stretto.cli.lazy import lazily
from stretto.errors import UsageError
from stretto.output import print_json, say

with lazily():
    from stretto.storage.compare import as_json as compared_json
    from stretto.storage.compare import compared, lines, results


def compare(
    paths: Sequence[Path],
    options: Sequence[object],
    output: Path | None,
    png: Path | None,
    svg: Path | None,
    as_json: bool,
) -> None:
    """Compare results of io; `options`: those of collectives, of which none may be given."""
    if any(options):
        raise UsageError(
            "a comparison of results of stretto io uses all ways that they share", None,
            "leave out --collective, --bytes, --nodes, --ppn, --mode, --natives-only and --all",
        )  # fmt: skip
    found = compared(results(paths))
    if output is not None or png is not None or svg is not None:
        from stretto.report.page import PageFiles
        from stretto.report.storage import several

        for path in several(found, PageFiles(output, png, svg))["written"]:
            say(f"stretto: {path}")
    if as_json:
        print_json(compared_json(found))
    else:
        print("\n".join(lines(found)))
