"""``stretto compare`` of results that are not of collectives: networks, scaling, files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stretto.cli.lazy import lazily
from stretto.errors import UsageError
from stretto.output import print_json, say

with lazily():
    from stretto.net import compared as net_compared
    from stretto.net import systems as net
    from stretto.scaling import compare as scaling
    from stretto.storage import compare as storage

#: the page, and the directories of PNG and of SVG
Pictures = tuple[Path | None, Path | None, Path | None]


def compare(
    paths: Sequence[Path], options: Sequence[object], pictures: Pictures, as_json: bool
) -> bool:
    """Compare results of one of these kinds; False: they are of collectives.

    `options`: those of collectives, of which none may be given.
    """
    for what, is_kind, used, shown in (
        ("network results", net.is_net, "everything that both have", _net),
        ("results of stretto scale", scaling.is_scale, "all points that they share", _scale),
        ("results of stretto io", storage.is_io, "all ways that they share", _io),
    ):
        mine = [is_kind(path) for path in paths]
        if not any(mine):
            continue
        if not all(mine):
            other = str(paths[mine.index(False)])
            raise UsageError(f"{what} and others cannot be compared", other, "name one kind only")
        if any(options):
            raise UsageError(
                f"a comparison of {what} uses {used}", None,
                "leave out --collective, --bytes, --nodes, --ppn, --mode, --natives-only and --all",
            )  # fmt: skip
        shown(paths, pictures, as_json)
        return True
    return False


def _net(paths: Sequence[Path], pictures: Pictures, as_json: bool) -> None:
    if len(paths) != 2:
        raise UsageError(
            f"network results of {len(paths)} systems were given; give two",
            ", ".join(map(str, paths[:4])),
            "name two, each a file or a directory with the files of its launches; one chart of "
            "all: stretto report A.net.json B.net.json ...",
        )
    found = net_compared.compared(*net.systems(paths))

    def page(to: Any) -> dict[str, Any]:
        from stretto.report import network

        return network.written(network.compared(found), to)

    _show(found, page, net_compared.lines, _net_json, pictures, as_json)


def _scale(paths: Sequence[Path], pictures: Pictures, as_json: bool) -> None:
    systems = scaling.systems(paths)
    if len(systems) < 2:
        raise UsageError(
            "there is only one result of stretto scale to compare", str(paths[0]),
            "name two or more, or show this one: stretto report NAME.scale.jsonl",
        )  # fmt: skip
    found = scaling.compared(systems)

    def page(to: Any) -> dict[str, Any]:
        from stretto.report.scaling_page import several

        return several(found, to)

    _show(found, page, scaling.lines, scaling.as_json, pictures, as_json)


def _io(paths: Sequence[Path], pictures: Pictures, as_json: bool) -> None:
    found = storage.compared(storage.results(paths))

    def page(to: Any) -> dict[str, Any]:
        from stretto.report.storage import several

        return several(found, to)

    _show(found, page, storage.lines, storage.as_json, pictures, as_json)


def _show(
    found: Any,
    page: Callable[[Any], dict[str, Any]],
    lines: Callable[[Any], list[str]],
    document: Callable[[Any], Any],
    pictures: Pictures,
    as_json: bool,
) -> None:
    """Write the page and the charts that were asked for, and print the comparison."""
    if any(p is not None for p in pictures):
        from stretto.report.page import PageFiles

        for path in page(PageFiles(*pictures))["written"]:
            say(f"stretto: {path}")
    if as_json:
        print_json(document(found))
    else:
        print("\n".join(lines(found)))


def _net_json(found: net_compared.NetCompared) -> dict[str, Any]:
    return {
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
    }  # fmt: skip
