"""Imports that only the run of a command needs: ``--help``, Tab and usage errors do without.

    with lazily():
        from stretto.measure.runner import measure

In the program ``stretto`` such a name is bound when its command starts to run, not when its parser
is made (as `lazy import` of Python 3.15, but all at once). Elsewhere it is bound as usual.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import Any

#: whether this process is the program ``stretto``, which calls `load` before a command runs
waiting = False

#: globals of the modules that have such imports
_places: list[dict[str, Any]] = []


class _Name:
    """Stands for what a module has, until `load`."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def load(self) -> Any:
        module = import_module(self.module)
        if not hasattr(module, self.name):
            return import_module(f"{self.module}.{self.name}")
        return getattr(module, self.name)


@contextmanager
def lazily() -> Iterator[None]:
    if not waiting:
        yield
        return

    def note(
        module: str, place: dict[str, Any], _: object, names: tuple[str, ...], level: int
    ) -> Any:
        assert level == 0, module
        if not any(place is other for other in _places):
            _places.append(place)
        return SimpleNamespace(**{name: _Name(module, name) for name in names})

    usual = builtins.__import__
    builtins.__import__ = note  # type: ignore[assignment]
    try:
        yield
    finally:
        builtins.__import__ = usual


def load() -> None:
    """Bind the names."""
    while _places:
        place = _places.pop()
        for name, value in list(place.items()):
            if isinstance(value, _Name):
                place[name] = value.load()
