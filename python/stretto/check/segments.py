"""Shared-memory segments in /dev/shm that jobs have left behind."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

#: how MPIs and their network libraries name segments: Open MPI 4 and 5, MPICH, Intel MPI, PSM, UCX.
#: Python's own shared memory is called psm_..., too.
_NAMES = re.compile(
    r"(vader_segment|sm_segment|mpich_shm_|Intel_MPI_|psm[23]?_shm|ucx_shm_posix_)[\w.:-]*"
)
_MAP = re.compile(r"\S+ \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) ", re.MULTILINE)


def left_behind(root: Path = Path("/")) -> tuple[tuple[str, int], ...]:
    """Return names and sizes of this user's segments that no process has mapped or open.

    A process that cannot be examined has more privileges than this one: it is no rank of this user.
    """
    found: dict[tuple[int, int], tuple[str, int]] = {}
    try:
        for entry in os.scandir(root / "dev/shm"):
            facts = entry.stat(follow_symlinks=False)
            mine = facts.st_uid == os.geteuid() and entry.is_file(follow_symlinks=False)
            if mine and _NAMES.fullmatch(entry.name):
                found[facts.st_dev, facts.st_ino] = entry.name, facts.st_blocks * 512
    except OSError:  # there is no /dev/shm: another finding
        return ()
    for process in (root / "proc").glob("[0-9]*") if found else ():
        for used in _used(process):
            found.pop(used, None)
    return tuple(sorted(found.values()))


def _used(process: Path) -> Iterator[tuple[int, int]]:
    """Yield device and inode of the files that a process has mapped or open."""
    try:
        maps = (process / "maps").read_text(errors="replace")
        for major, minor, inode in _MAP.findall(maps):
            yield os.makedev(int(major, 16), int(minor, 16)), int(inode)
        for link in (process / "fd").iterdir():
            try:
                facts = link.stat()
            except FileNotFoundError:
                continue  # closed meanwhile, or no file
            yield facts.st_dev, facts.st_ino
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return  # it has ended, or is another user's
