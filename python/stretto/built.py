"""Where the built parts lie: the preloaded libraries, the measuring program, the plan library."""

from __future__ import annotations

import os
import site

from stretto.errors import StrettoError
from stretto.light import TYPE_CHECKING
from stretto.paths import Path

if TYPE_CHECKING:
    from stretto.kinds import Abi, Part


def library_directories() -> list[Path]:
    """Return where the built parts are looked for, in order.

    ``$STRETTO_LIB_DIR`` alone when it is set; else beside this package, and where an editable
    installation puts them.
    """
    chosen = os.environ.get("STRETTO_LIB_DIR")
    if chosen:
        return [Path(chosen)]
    beside = Path(__file__).resolve().parent / "lib"
    return [beside, *(Path(p) / "stretto" / "lib" for p in site.getsitepackages())]


def file_name(kind: Part, abi: Abi, mpi_major: int | None = None) -> str:
    """Return a part's file name; the plan library ignores `abi`.

    `mpi_major`: first number of the MPI's version. Open MPI 4 has a recorder of its own, which does
    not export the persistent collectives that it lacks, and Open MPI 5 an interposer that does. The
    family's interposer serves both.
    """
    if kind == "plan":
        return "libstretto-plan.so"
    if kind in ("bench", "p2p", "io"):
        return f"stretto-{kind}-{abi}"
    if kind == "record":
        old = abi == "openmpi" and mpi_major is not None and mpi_major < 5
        return f"libstretto-record-{abi}{'4' if old else ''}.so"
    new = abi == "openmpi" and mpi_major is not None and mpi_major >= 5
    return f"libstretto-{abi}{'5' if new else ''}.so"


def library(kind: Part, abi: Abi, mpi_major: int | None = None) -> Path:
    """Return a built part, or raise an error that says how to get it."""
    return _built(file_name(kind, abi, mpi_major))


def net_program() -> Path:
    """Return the program that measures TCP."""
    return _built("stretto-net")


def cores_program() -> Path:
    """Return the program that measures between cores."""
    return _built("stretto-cores")


def serial_root() -> Path:
    """Return where the MPI for one process lies: ``bin``, ``include`` and ``lib``."""
    return _built("serial/bin/mpicc", "the MPI for one process").parents[1]


def _built(name: str, title: str = "") -> Path:
    directories = library_directories()
    for directory in directories:
        path = directory / name
        if path.is_file():
            return path.resolve()
    raise StrettoError(
        f"{title or name} is not built",
        " or ".join(str(d) for d in directories),
        "install Stretto with: pip install . (or set STRETTO_LIB_DIR to a build directory)",
    )
