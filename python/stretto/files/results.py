"""Which results a path holds: a file, a directory of them, or a campaign's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stretto.errors import StrettoError, from_oserror

ENDING = ".bench.jsonl"
#: how deep a campaign's results lie below its directory: MPI, processor
DEPTH = 2
#: files beside which network and scaling results do not stand for their directory
_OTHERS = (f"*{ENDING}", "*.profile.json", "*.table", "*.verdict.json", "*.settings.json")


def results_below(directory: Path) -> list[Path]:
    """Return a directory's results, those of a campaign where it has none of its own."""
    try:
        for depth in range(DEPTH + 1):
            found = sorted(directory.glob("*/" * depth + f"[!.]*{ENDING}"))
            if found:
                return found
    except OSError as error:
        raise from_oserror(error, "cannot read the directory", directory) from error
    return []


def results_in(paths: Sequence[Path]) -> list[Path]:
    """Return the results files that paths mean, each once."""
    out: list[Path] = []
    for path in paths:
        found = results_below(path) if path.is_dir() else [path]
        if not found:
            raise StrettoError(
                "there are no bench results in this directory", path, "make them: stretto bench -o"
            )
        out += found
    return list(dict.fromkeys(out))


def stands_for(path: Path, ending: str) -> bool:
    """Return whether a path is a result of one kind, or a directory that holds no other kind."""
    if not path.is_dir():
        return path.name.endswith(ending)
    others = any(any(path.glob(pattern)) for pattern in _OTHERS)
    return any(path.glob(f"*{ending}")) and not others


def names_of(paths: Sequence[Path], ending: str) -> list[str]:
    """Return the names of files without their ending; where equal, of their directories."""
    own = [path.name.removesuffix(ending) for path in paths]
    above = [path.resolve().parent.name for path in paths]
    return next((n for n in (own, above) if len(set(n)) == len(n)), [str(p) for p in paths])
