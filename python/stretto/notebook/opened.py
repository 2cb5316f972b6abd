"""What all opened files have: the packages behind them, their table of facts, their charts."""

from __future__ import annotations

import html
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from stretto.errors import StrettoError, missing_package


def package(name: str) -> Any:
    """Load an optional package, or a module that needs one; name the extra where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        lacking = missing_package(error)
        if lacking is None:
            raise
        raise lacking from error


def array(name: str, dims: Any, values: Any, units: str, words: str, **about: Any) -> Any:
    """Return an `xarray.DataArray` with unit and long name; what is None is left out."""
    attrs = {"units": units, "long_name": words}
    attrs |= {key: value for key, value in about.items() if value is not None}
    return package("xarray").DataArray(values, dims=dims, name=name, attrs=attrs)


def cube(
    name: str, rows: Iterable[Mapping[str, Any]], dims: Mapping[str, str], units: str, words: str,
    **about: Any,
) -> Any:  # fmt: skip
    """Return the medians of the rows' values as an array; NaN where there is none, or one is NaN.

    `dims`: by dimension, the key of the rows that has its coordinate.
    """
    frame = package("pandas").DataFrame(rows)
    found = frame.groupby(list(dims.values()))["value"].agg(lambda values: np.median(values))
    out = found.rename_axis(list(dims)).to_xarray().astype(float)
    # pandas 2 and 3 have other types for words: NumPy's own is always the same
    return array(name, tuple(dims), out.values, units, words, **about).assign_coords(
        {dim: coordinates(dim, np.array(out[dim].values.tolist())) for dim in dims}
    )


def coordinates(dim: str, values: Any) -> Any:
    """Return the coordinates of a dimension: sizes in bytes have their unit."""
    sizes = dim.endswith("bytes")
    return array(dim, dim, values, "byte", "message size") if sizes else (dim, values)


class Opened(ABC):
    """One opened file; `path` is where it was read."""

    path: Path
    #: charts that a file may lack, and what it means
    lacking: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def _about(self) -> Mapping[str, str]:
        """Return where the figures are from."""

    @abstractmethod
    def _charts(self, charts: Any) -> Mapping[str, Callable[[], Any]]:
        """Return the charts of the file by their names."""

    def plot(self, what: str = "") -> Any:
        """Return an Altair chart, drawn as in ``stretto report``.

        Parameters
        ----------
        what
            Which chart; the first one of the file by default. Any other word lists them.

        Raises
        ------
        StrettoError
            Altair is not installed, or the file has no such chart.
        """
        found = self._charts(package("stretto.notebook.charts"))
        if what not in found and (what or not found):
            raise StrettoError(
                self.lacking.get(what, f"there is no chart {what!r}")
                if what
                else "there is nothing to draw",
                self.path,
                f"give one of: {', '.join(found)}" if found else None,
            )
        return found[what or next(iter(found))]()

    def __repr__(self) -> str:
        """Return the facts as lines: the file itself may be long."""
        return "\n".join(f"{name}: {value}" for name, value in self._facts().items())

    def _facts(self) -> Mapping[str, str]:
        return {"file": str(self.path), **self._about()}

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>"
            for name, value in self._facts().items()
        )
        return f"<table>{rows}</table>"
