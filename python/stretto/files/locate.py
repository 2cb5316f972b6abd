"""Where tables live, and which one a job gets.

A table lies under ``tables/<mpi family>-<version>/<cpu>/<nodes>x<ppn>.table``, in the user's data
directory or in a site's (``$STRETTO_SITE_TABLES``, or ``/etc/stretto/tables``); the user's goes
first. ``any`` stands for any number of nodes or ranks.
"""

from __future__ import annotations

import os

from stretto.files.identity import cpu_slug
from stretto.home import home
from stretto.light import TYPE_CHECKING, suppress
from stretto.paths import Path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    class HasVersion(Protocol):
        """What is needed to know of an MPI: `MPIIdentity` and `MPIInstallation` both have it."""

        @property
        def family(self) -> str:
            """``openmpi``, ``mpich`` or ``intel``."""

        @property
        def version(self) -> str:
            """``4.1.4``."""


def user_tables(environ: Mapping[str, str] | None = None) -> Path:
    data = (os.environ if environ is None else environ).get("XDG_DATA_HOME") or ""
    base = Path(data) if Path(data).is_absolute() else home() / ".local" / "share"
    return base / "stretto" / "tables"


def site_tables(environ: Mapping[str, str] | None = None) -> Path:
    env = os.environ if environ is None else environ
    return Path(env.get("STRETTO_SITE_TABLES") or "/etc/stretto/tables")


def table_path(
    mpi: HasVersion, cpu: str, nodes: int | None, ppn: int | None, base: Path | None = None
) -> Path:
    """Return where the table for an MPI, a kind of node and a layout lies."""
    root = user_tables() if base is None else base
    known = nodes is not None or ppn is not None
    name = f"{nodes or 'any'}x{ppn or 'any'}" if known else "any"
    return root / f"{mpi.family}-{mpi.version}" / cpu_slug(cpu) / f"{name}.table"


def find_table(
    mpi: HasVersion,
    cpu: str,
    nodes: int | None,
    ppn: int | None,
    environ: Mapping[str, str] | None = None,
) -> Path | None:
    """Return the table for a job, or None when there is none.

    It is looked for in the user's and then the site's directory: for the exact layout, then with
    ``any`` for the nodes, for the ranks per node, and for both.
    """
    for n, p in ((nodes, ppn), (None, ppn), (nodes, None), (None, None)):
        for base in (user_tables(environ), site_tables(environ)):
            path = table_path(mpi, cpu, n, p, base)
            with suppress(PermissionError):  # a site may keep its tables from some users
                if path.is_file() and os.access(path, os.R_OK):
                    return path
    return None
