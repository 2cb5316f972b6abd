"""Stretto's files in notebooks: as xarray datasets, as pandas data frames and as Altair charts.

These packages are loaded when they are asked for: ``pip install '.[data,report]'``.

>>> import stretto
>>> bench = stretto.open_bench("cluster.bench.jsonl")  # doctest: +SKIP
>>> bench.to_xarray()["allreduce"].median("launch")  # doctest: +SKIP
>>> bench.plot("allreduce")  # doctest: +SKIP
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from stretto.files.bench import read_bench
from stretto.files.net import read_net
from stretto.files.profile import read_profile
from stretto.notebook.bench import BenchData
from stretto.notebook.net import NetData
from stretto.notebook.profile import ProfileData

__all__ = ["BenchData", "NetData", "ProfileData", "open_bench", "open_net", "open_profile"]


def open_bench(path: str | PathLike[str]) -> BenchData:
    """Open results of ``stretto bench``, ``tune``, ``import`` or a simulation (``.bench.jsonl``).

    Raises
    ------
    StrettoError
        The file cannot be read, or is not of this kind.
    """
    return BenchData(Path(path), read_bench(Path(path)))


def open_profile(path: str | PathLike[str]) -> ProfileData:
    """Open a profile of ``stretto profile`` or ``tune`` (``.profile.json``).

    Raises
    ------
    StrettoError
        The file cannot be read, or is not of this kind.
    """
    return ProfileData(Path(path), read_profile(Path(path)))


def open_net(path: str | PathLike[str]) -> NetData:
    """Open a result of ``stretto net`` or of ``stretto import`` (``.net.json``).

    Raises
    ------
    StrettoError
        The file cannot be read, or is not of this kind.
    """
    return NetData(Path(path), read_net(Path(path)))
