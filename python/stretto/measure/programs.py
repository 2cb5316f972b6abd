"""The compiled parts that a campaign needs, by ABI family."""

from __future__ import annotations

from pathlib import Path

from stretto.built import Abi, library
from stretto.errors import StrettoError


def bench_program(abi: Abi) -> Path:
    return library("bench", abi)


def interposer(abi: Abi) -> Path:
    return library("interposer", abi)


def has_interposer(abi: Abi) -> bool:
    try:
        interposer(abi)
    except StrettoError:
        return False
    return True
