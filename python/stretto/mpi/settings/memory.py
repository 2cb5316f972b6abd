"""How malloc of glibc gets memory from the kernel and returns it (``mallopt``).

By default it returns more than 128 KiB of free memory at the end of the heap to the kernel, and
maps each block of 128 KiB or more by itself. Both limits rise when such a block is freed, up to the
values here (the largest that glibc accepts for blocks, and twice that). A program that frees and
allocates a few MiB in every step can have a page fault for each page, every time.
"""

from __future__ import annotations

from stretto.mpi.settings.base import Entry

KEEP = (("MALLOC_TRIM_THRESHOLD_", "67108864"), ("MALLOC_MMAP_THRESHOLD_", "33554432"))
OF_MALLOC = frozenset(name for name, _ in KEEP)


def entries() -> list[Entry]:
    (name, value), *besides = KEEP
    what = "malloc keeps up to 64 MiB of freed memory instead of returning it to the kernel"
    return [Entry(None, name, (value,), what, besides=tuple(besides))]
