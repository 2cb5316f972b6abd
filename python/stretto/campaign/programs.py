"""Where the compiled parts are: the measuring program and the interposer of an ABI family."""

from __future__ import annotations

import os
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.identity import Abi

#: for development: a build directory to use instead of the package's lib/
VARIABLE = "STRETTO_LIB"


def directory() -> Path:
    """Return the directory that holds the compiled parts."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else Path(__file__).resolve().parent.parent / "lib"


def find(name: str, need: bool = True) -> Path | None:
    """Return the path of a compiled part.

    Parameters
    ----------
    name
        File name.
    need
        Raise a `StrettoError` when it is not there; otherwise return None.
    """
    path = directory() / name
    if path.is_file():
        return path
    if not need:
        return None
    raise StrettoError(
        f"{name} is missing from this installation",
        directory(),
        f"install Stretto with its compiled parts (pip install .), or set {VARIABLE} to a build",
    )


def bench_program(abi: Abi) -> Path:
    """Return the measuring program for an ABI family."""
    path = find(f"stretto-bench-{abi}")
    assert path is not None
    return path


def interposer(abi: Abi) -> Path:
    """Return the interposer for an ABI family."""
    path = find(f"libstretto-{abi}.so")
    assert path is not None
    return path


def has_interposer(abi: Abi) -> bool:
    """Return whether the interposer of an ABI family was built."""
    return find(f"libstretto-{abi}.so", need=False) is not None
