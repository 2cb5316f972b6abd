"""``stretto serial``: where the MPI for one process lies, and how a program is built with it."""

from __future__ import annotations

from typing import Annotated

from stretto.cli.lazy import lazily
from stretto.cli.options import OUTPUT, Json, option
from stretto.output import print_json

with lazily():
    from stretto.built import serial_root

EXAMPLE = """\
stretto serial
make CC="$(stretto serial --bin)/mpicc" FC="$(stretto serial --bin)/mpif90" """.rstrip()


def command(
    bin_only: Annotated[
        bool, option(OUTPUT, "Print only the directory of mpicc, mpicxx and mpif90.", "--bin")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compile an MPI program for one process, without any MPI.

    Prints the paths of the compiler wrappers, headers and library. A call that needs a second
    process ends the program with an explanation.
    """
    root = serial_root()
    if as_json:
        print_json({name: str(root / name) for name in ("bin", "include", "lib")})
    elif bin_only:
        print(root / "bin")
    else:
        print(f"compilers  {root}/bin/mpicc mpicxx mpif90 mpif77")
        print(f"headers    {root}/include/mpi.h mpif.h, module mpi")
        print(f"library    {root}/lib/libstretto-serial.so .a")
        print(f"by hand    cc -I{root}/include app.c {root}/lib/libstretto-serial.a")
