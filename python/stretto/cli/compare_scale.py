"""``stretto compare`` of results of ``stretto scale``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stretto.cli.lazy import lazily
from stretto.errors import UsageError
from stretto.output import print_json, say

with lazily():
    from stretto.scaling.compare import as_json as compared_json
    from stretto.scaling.compare import compared, lines, systems


def compare(
    paths: Sequence[Path],
    options: Sequence[object],
    output: Path | None,
    png: Path | None,
    svg: Path | None,
    as_json: bool,
) -> None:
    """Compare results of scale; `options`: those of collectives, of which none may be given."""
    if any(options):
        raise UsageError(
            "a comparison of results of stretto scale uses all points that they share", None,
            "leave out --collective, --bytes, --nodes, --ppn, --mode, --natives-only and --all",
        )  # fmt: skip
    found = systems(paths)
    if len(found) < 2:
        raise UsageError(
            "there is only one result of stretto scale to compare", str(paths[0]),
            "name two or more, or show this one: stretto report NAME.scale.jsonl",
        )  # fmt: skip
    result = compared(found)
    if output is not None or png is not None or svg is not None:
        from stretto.report.page import PageFiles
        from stretto.report.scaling_page import several

        for path in several(result, PageFiles(output, png, svg))["written"]:
            say(f"stretto: {path}")
    if as_json:
        print_json(compared_json(result))
    else:
        print("\n".join(lines(result)))
