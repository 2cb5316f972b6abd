"""Whether results belong together: one layout, and the one that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.bench import Bench, read_bench
from stretto.measure.settings import Settings


def require_layout(bench: Bench, nodes: int, ppn: int, path: Path) -> None:
    """Refuse results whose ranks were not where a table of them would say."""
    seen: dict[int, set[tuple[int, int]]] = {s.launch: set() for s in bench.samples}
    for record in bench.launches:
        if record.launch in seen:  # a start that measured nothing may not know where it was
            seen[record.launch].add((record.nodes, record.ppn))
    for launch, layouts in seen.items():
        if (nodes, ppn) not in layouts:
            where = " or ".join(f"{n} x {p}" for n, p in sorted(layouts))
            raise StrettoError(
                f"the ranks of launch {launch} were on {where} (nodes x ranks), not on "
                f"{nodes} x {ppn}, so no table for that layout can be made of it",
                path,
                "name as many nodes as are meant (--hosts), and see with `stretto check -- mpirun "
                "...` where the launcher puts the ranks",
            )


def check_same(settings: Settings, previous: Bench, path: Path) -> None:
    """Refuse to go on with results of another layout."""
    old: Mapping[str, object] = previous.header.settings
    for key, value in settings.fixed().items():
        if key in old and old[key] != value:
            raise StrettoError(
                f"these results were measured with {key} {old[key]}, and now it is {value}",
                path,
                "name another file (-o), or begin again with --restart (the old file is kept)",
            )


def as_begun(settings: Settings, path: Path) -> Settings:
    """Return the settings with the kinds of launches with which the results were begun.

    The same candidates may have launches apart or share them (``--separate-launches``, or results
    from before they could share): launches are numbered by that, so it goes on as it was.
    """
    if not path.exists() or path.stat().st_size == 0:
        return settings
    return with_variants(settings, read_bench(path).header.settings.get("variants"))


def with_variants(settings: Settings, variants: object) -> Settings:
    """Settings with other kinds of launches, if they are such for the same candidates."""
    if not isinstance(variants, list) or not all(isinstance(v, str) for v in variants):
        return settings
    found = replace(settings, variants=tuple(variants))
    return found if set(found.launches_needed()) == set(variants) else settings
