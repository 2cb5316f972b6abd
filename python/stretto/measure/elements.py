"""What elements and operations the measuring program knows (``src/bench/data.c``)."""

from __future__ import annotations

from stretto.errors import UsageError

#: bytes of each
DATATYPES = {
    "MPI_BYTE": 1,
    "MPI_CHAR": 1,
    "MPI_INT": 4,
    "MPI_LONG": 8,
    "MPI_FLOAT": 4,
    "MPI_DOUBLE": 8,
    "MPI_UNSIGNED": 4,
    "MPI_UNSIGNED_LONG": 8,
    "MPI_LONG_LONG": 8,
}
ARITHMETIC = ("MPI_SUM", "MPI_MAX", "MPI_MIN", "MPI_PROD")
LOGIC = ("MPI_LAND", "MPI_LOR", "MPI_BAND", "MPI_BOR")
_NO_WHOLE_NUMBERS = ("MPI_BYTE", "MPI_CHAR", "MPI_FLOAT", "MPI_DOUBLE")


def mpi_name(text: str) -> str:
    """Return the MPI's name of what a user calls ``max``, ``MAX`` or ``MPI_MAX``."""
    return "MPI_" + text.strip().upper().removeprefix("MPI_")


def check_elements(size: int, datatype: str, operation: str, reduces: bool) -> None:
    """Refuse by its option what the measuring program would refuse after a launch."""
    if datatype not in DATATYPES:
        known = ", ".join(DATATYPES)
        raise UsageError(f"{datatype} is not measured", "--datatype", f"one of {known}")
    if operation not in ARITHMETIC + LOGIC:
        known = ", ".join(ARITHMETIC + LOGIC)
        raise UsageError(f"{operation} is not measured", "--operation", f"one of {known}")
    if size % DATATYPES[datatype]:
        raise UsageError(
            f"{size} bytes are no whole number of {datatype}",
            "--bytes",
            f"use multiples of {DATATYPES[datatype]}, or another --datatype",
        )
    bits = operation in LOGIC and datatype in _NO_WHOLE_NUMBERS
    if reduces and (bits or DATATYPES[datatype] == 1):
        raise UsageError(
            f"MPI does not define {operation} on {datatype}",
            "--operation" if bits else "--datatype",
            "MPI_LAND and the like are for whole numbers such as MPI_INT, and no operation "
            "is measured on MPI_BYTE and MPI_CHAR",
        )
