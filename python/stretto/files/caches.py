"""Times of buffers that are in no cache, and of buffers used again, are not put beside one another.

The same call of 64 KiB may take twice as long when its buffer comes from memory (`stretto bench
--cold`, IMB's `-off_cache`): a difference between two files would be the caches', not the MPI's.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.bench import Bench

KINDS = {
    True: "for buffers that are not in a cache (bench --cold, -off_cache)",
    False: "for reused buffers",
}
#: what is to be said of anything that rests on such results
COLD = (
    f"the results are {KINDS[True]}: the fastest algorithm may differ for applications that "
    "reuse their buffers, as most do"
)


def all_cold(files: Iterable[tuple[Path, Bench]], remedy: str) -> bool:
    """Return whether all results are of buffers in no cache; refuse those of both kinds."""
    first: dict[bool, Path] = {}
    for path, bench in files:
        cold = first.setdefault(bench.header.cold, path)
        if len(first) > 1:
            mine = bench.header.cold
            raise StrettoError(
                f"these results are {KINDS[mine]}, those of {first[not mine]} are {KINDS[not mine]}"
                ": they cannot be mixed",
                cold,
                remedy,
            )
    return True in first
