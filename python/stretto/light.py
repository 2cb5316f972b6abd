"""What `dataclasses`, `functools` and others do for ``stretto run``, without loading them.

``stretto run`` stands in front of every start of a job, and its time is that of its imports: the
library's `dataclasses` alone, with `inspect` behind it, takes as long as all of Stretto's modules.
Modules on the way of ``stretto run`` import these names from here; what they make passes for a
dataclass everywhere (`dataclasses.fields`, `replace`, `asdict`).
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # true for mypy, by its name

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import suppress
    from dataclasses import dataclass, field, replace
    from functools import cache
    from typing import Any

__all__ = [
    "TYPE_CHECKING", "cache", "dataclass", "field", "later", "module", "replace", "suppress",
]  # fmt: skip

#: whether this process is ``stretto run -- CMD``, which becomes CMD in a moment
starting = False


def module(name: str) -> Any:
    """Load a module, as `importlib.import_module` does."""
    __import__(name)
    return sys.modules[name]


def later(name: str) -> Any:
    """A module that is loaded when something of it is used."""
    return _Later(name)


class _Later:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(module(self._name), name)


class _Made:
    """A field's default that is made for each instance."""

    def __init__(self, factory: Callable[[], object]) -> None:
        self.factory = factory


class _Known:
    """What `dataclasses` keeps in a class: made by itself, once it asks."""

    def __init__(self, attribute: str, defaults: dict[str, object]) -> None:
        self.attribute, self.defaults = attribute, defaults

    def __get__(self, instance: object, owner: type) -> Any:
        module = __import__("dataclasses")
        home = next(c for c in owner.__mro__ if vars(c).get(self.attribute) is self)
        body: dict[str, Any] = {
            name: module.field(default_factory=value.factory) if isinstance(value, _Made) else value
            for name, value in self.defaults.items()
        }
        body |= {"__annotations__": home.__annotations__, "__module__": home.__module__}
        made = getattr(module.dataclass(frozen=True)(type(home.__name__, (), body)), self.attribute)
        setattr(home, self.attribute, made)
        return made


if not TYPE_CHECKING:

    class suppress:
        """As `contextlib.suppress`."""

        def __init__(self, *errors):
            self.errors = errors

        def __enter__(self):
            pass

        def __exit__(self, kind, error, trace):
            return kind is not None and issubclass(kind, self.errors)

    def cache(function):
        """Do as `functools.cache`."""
        known = {}

        def ask(*given, **named):
            key = (given, *named.items())
            if key not in known:
                known[key] = function(*given, **named)
            return known[key]

        return ask

    def field(*, default_factory):
        return _Made(default_factory)

    def replace(record, /, **changes):
        """Return a copy of a record of this module with some of its values changed."""
        names = type(record).__match_args__
        return type(record)(**{**{name: getattr(record, name) for name in names}, **changes})

    def dataclass(*, frozen):
        """Do as ``dataclasses.dataclass(frozen=True)``, for classes without bases that are such."""
        assert frozen
        return _made


def _made(cls: Any) -> Any:
    names = tuple(cls.__annotations__)
    defaults = {name: vars(cls)[name] for name in names if name in vars(cls)}
    for name, value in defaults.items():
        if isinstance(value, _Made):
            delattr(cls, name)

    def begin(self: Any, *values: object, **named: object) -> None:
        own = dict(zip(names, values, strict=False))
        unknown = [name for name in named if name in own or name not in names]
        if len(values) > len(names) or unknown:
            what = f"argument {unknown[0]!r}" if unknown else f"{len(values)} arguments"
            raise TypeError(f"{cls.__qualname__}() does not take {what}")
        own.update(named)
        for name in names:
            if name not in own:
                if name not in defaults:
                    raise TypeError(f"{cls.__qualname__}() lacks argument {name!r}")
                value = defaults[name]
                own[name] = value.factory() if isinstance(value, _Made) else value
        self.__dict__.update({name: own[name] for name in names})

    def values_of(self: Any) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in names)

    def equal(self: Any, other: object) -> Any:
        return values_of(self) == values_of(other) if type(self) is type(other) else NotImplemented

    def number(self: Any) -> int:
        return hash(values_of(self))

    def words(self: Any) -> str:
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({told})"

    def keep(self: Any, name: str, value: object = None) -> None:
        error = __import__("dataclasses").FrozenInstanceError
        raise error(f"cannot assign to or delete field {name!r}")

    own = {"__init__": begin, "__eq__": equal, "__hash__": number, "__repr__": words}
    own |= {"__setattr__": keep, "__delattr__": keep}
    for name, function in own.items():
        if name not in vars(cls) or name == "__hash__":
            setattr(cls, name, function)
    setattr(cls, "__match_args__", names)  # noqa: B010  (mypy)
    for attribute in ("__dataclass_fields__", "__dataclass_params__"):
        setattr(cls, attribute, _Known(attribute, defaults))
    return cls
