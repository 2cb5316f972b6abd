"""Times of blocking, nonblocking and persistent calls are not put into one table or one line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.bench import BLOCKING, Bench, Header


def with_calls(name: str, header: Header) -> str:
    """Return the name of an MPI, with the kind of calls unless they are blocking."""
    return name if header.calls == BLOCKING else f"{name}, {header.calls} calls"


def one_kind(files: Iterable[tuple[Path, Bench]], remedy: str) -> None:
    """Refuse results of two kinds of calls."""
    first: tuple[Path, str] | None = None
    for path, bench in files:
        first = first or (path, bench.header.calls)
        if bench.header.calls != first[1]:
            raise StrettoError(
                f"these results are of {bench.header.calls} calls, those of {first[0]} of "
                f"{first[1]} calls: they cannot be mixed",
                path,
                remedy,
            )


def need_blocking(bench: Bench, path: Path) -> None:
    """Refuse results that no table, export or model is made of."""
    if bench.header.calls != BLOCKING:
        raise StrettoError(
            f"these results are of {bench.header.calls} calls; blocking calls are needed here",
            path,
            "measure blocking calls: stretto bench without --calls; stretto compare shows both",
        )
