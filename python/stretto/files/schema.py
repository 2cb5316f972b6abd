"""Between JSON values and typed dataclasses, with errors that name the place in the file.

The dataclasses are the schema: a value of the wrong type, a missing key or a key that the schema
does not know is refused. Units are in the key names (``_s``, ``_us``, ``bytes``).

A type is looked at once: it becomes a function that checks and converts, because results of a
campaign hold millions of values.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from stretto import kinds
from stretto.errors import StrettoError

T = TypeVar("T")
Decoder = Callable[[Any], Any]

LARGEST_INT = 2**63 - 1


class _Refused(Exception):
    """A value is not as its type says; `path`, from the value outwards, grows on the way up."""

    def __init__(self, problem: str, *path: str) -> None:
        super().__init__(problem)
        self.path = list(path)


def decode(kind: type[T], value: Any, place: str) -> T:
    """Turn a JSON value into an instance of `kind`."""
    try:
        return typing.cast(T, _decoder(typing.cast(Any, kind))(value))
    except _Refused as refused:
        where = "".join(reversed(refused.path)).removeprefix(".")
        raise StrettoError(
            f"{where or 'the file'} {refused}",
            place,
            "the file is damaged or was changed by hand; make it again",
        ) from refused.__cause__


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    # names of `kinds` are there for mypy only in the modules that `stretto run` loads
    return typing.get_type_hints(cls, {**vars(kinds), **vars(sys.modules[cls.__module__])})


@functools.cache
def _decoder(kind: Any) -> Decoder:
    if kind is Any:
        return lambda value: value
    if dataclasses.is_dataclass(kind):
        return _dataclass(typing.cast(type, kind))
    arguments = typing.get_args(kind)
    match typing.get_origin(kind):
        case typing.Union | types.UnionType:
            return _union(arguments)
        case typing.Literal:
            return _literal(arguments)
        case origin if origin is list:
            return _list(arguments[0])
        case origin if origin is tuple:
            return _tuple(arguments)
        case origin if origin is dict:
            return _dict(arguments[1])
    if kind is float:
        return _float
    return _int if kind is int else _plain(kind)


def _literal(names: tuple[str, ...]) -> Decoder:
    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in names:
            raise _Refused(f"must be one of {', '.join(names)}, not {_short(value)}")
        return value

    return read


def _list(kind: Any) -> Decoder:
    item = _decoder(kind)

    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise _Refused(f"must be a list, not {_short(value)}")
        out: list[Any] = []
        try:
            for v in value:
                out.append(item(v))
        except _Refused as refused:
            refused.path.append(f"[{len(out)}]")
            raise
        return out

    return read


def _tuple(kinds: tuple[Any, ...]) -> Decoder:
    items = [_decoder(kind) for kind in kinds]

    def read(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            raise _Refused(f"must be a list of {len(items)} values")
        out: list[Any] = []
        try:
            for item, v in zip(items, value, strict=True):
                out.append(item(v))
        except _Refused as refused:
            refused.path.append(f"[{len(out)}]")
            raise
        return tuple(out)

    return read


def _dict(kind: Any) -> Decoder:
    item = _decoder(kind)

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Refused(f"must be an object, not {_short(value)}")
        out: dict[str, Any] = {}
        key = ""
        try:
            for key, v in value.items():
                out[str(key)] = item(v)
        except _Refused as refused:
            refused.path.append(f".{key}")
            raise
        return out

    return read


def _float(value: Any) -> float:
    if type(value) is float:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise _Refused(f"must be a number, not {_short(value)}")


def _int(value: Any) -> int:
    # JSON's parser gives this very type; True is no whole number
    if type(value) is int and -LARGEST_INT <= value <= LARGEST_INT:
        return value
    raise _Refused(f"must be a whole number, not {_short(value)}")


#: what other plain values must be, in words
_PLAIN: dict[type, str] = {type(None): "null", bool: "true or false", str: "text"}


def _plain(kind: type) -> Decoder:
    words = _PLAIN[kind]

    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise _Refused(f"must be {words}, not {_short(value)}")
        return value

    return read


def _union(kinds: tuple[Any, ...]) -> Decoder:
    optional = type(None) in kinds
    *others, last = [_decoder(kind) for kind in kinds if kind is not type(None)]

    def read(value: Any) -> Any:
        if value is None and optional:
            return None
        for item in others:
            try:
                return item(value)
            except _Refused:
                continue
        return last(value)

    return read


def _dataclass(kind: type) -> Decoder:
    hints = _hints(kind)
    # made when the first value is read: a dataclass may hold itself
    decoders: dict[str, Decoder] = {}
    fields = dataclasses.fields(kind)
    missing = dataclasses.MISSING
    needed = [f.name for f in fields if f.default is missing and f.default_factory is missing]

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Refused(f"must be an object, not {_short(value)}")
        if not decoders:
            decoders.update((f.name, _decoder(hints[f.name])) for f in fields)
        unknown = value.keys() - decoders.keys()
        if unknown:
            raise _Refused("is not a key of this format", f".{min(unknown)}")
        out: dict[str, Any] = {}
        name = ""
        try:
            for name, v in value.items():
                out[name] = decoders[name](v)
        except _Refused as refused:
            refused.path.append(f".{name}")
            raise
        for name in needed:
            if name not in out:
                raise _Refused("is missing", f".{name}")
        try:
            return kind(**out)
        except ValueError as error:
            raise _Refused(f"is wrong: {error}") from error

    return read


def encode(value: Any) -> Any:
    """Turn a dataclass (or list, dict, plain value) into JSON values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {k: encode(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    return str(value) if isinstance(value, Path) else value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
