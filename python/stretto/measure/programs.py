"""The compiled parts that a campaign needs, by ABI family."""

from __future__ import annotations

from pathlib import Path

from stretto.built import library
from stretto.errors import StrettoError
from stretto.kinds import Abi


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
