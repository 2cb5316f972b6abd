"""Whether results belong together: one layout, and the one that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.bench import Bench
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
            again = "--separate-launches as before, or " if key == "variants" else ""
            raise StrettoError(
                f"these results were measured with {key} {old[key]}, and now it is {value}",
                path,
                f"give {again}another file (-o), or --restart (it keeps the old one)",
            )
