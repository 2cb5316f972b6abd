"""How malloc of glibc gets memory from the kernel and returns it (``mallopt``).

By default it returns free memory at the end of the heap from 128 KiB on, and maps blocks from
128 KiB on one by one, until a mapped block was freed: then both limits rise, up to the values here
(the largest that glibc accepts for blocks, and twice that). A program that frees and allocates a
few MiB in every step pays a page fault for each page, every time.
"""

from __future__ import annotations

from stretto.mpi.settings.base import Entry

KEEP = (("MALLOC_TRIM_THRESHOLD_", "67108864"), ("MALLOC_MMAP_THRESHOLD_", "33554432"))
OF_MALLOC = frozenset(name for name, _ in KEEP)


def entries() -> list[Entry]:
    (name, value), *besides = KEEP
    what = "malloc keeps up to 64 MiB of freed memory instead of returning it to the kernel"
    return [Entry(None, name, (value,), what, besides=tuple(besides))]
