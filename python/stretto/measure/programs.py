"""The compiled parts that a campaign needs, by ABI family."""

from __future__ import annotations

from pathlib import Path

from stretto.built import Abi, library
from stretto.errors import StrettoError


def bench_program(abi: Abi) -> Path:
    """Return the measuring program for an ABI family."""
    return library("bench", abi)


def interposer(abi: Abi) -> Path:
    """Return the interposer for an ABI family."""
    return library("interposer", abi)


def has_interposer(abi: Abi) -> bool:
    """Return whether the interposer of an ABI family was built."""
    try:
        interposer(abi)
    except StrettoError:
        return False
    return True
