"""Between JSON values and typed dataclasses, with errors that name the place in the file.

The dataclasses are the schema: a value of the wrong type, a missing key or a key that the schema
does not know is refused. Units are in the key names (``_s``, ``_us``, ``bytes``).
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

from stretto import kinds
from stretto.errors import StrettoError

T = TypeVar("T")

LARGEST_INT = 2**63 - 1


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    # names of `kinds` are there for mypy only in the modules that `stretto run` loads
    return typing.get_type_hints(cls, {**vars(kinds), **vars(sys.modules[cls.__module__])})


def _refuse(problem: str, place: str, path: str) -> StrettoError:
    return StrettoError(
        f"{path or 'the file'} {problem}",
        place,
        "the file is damaged or was changed by hand; make it again",
    )


def decode(kind: type[T], value: Any, place: str, path: str = "") -> T:
    """Turn a JSON value into an instance of `kind`."""
    return typing.cast(T, _decode(kind, value, place, path))


def _decode(kind: Any, value: Any, place: str, path: str) -> Any:
    if kind is Any:
        return value
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(typing.cast(type, kind), value, place, path)
    origin = typing.get_origin(kind)
    if origin is typing.Union or origin is types.UnionType:
        return _decode_union(typing.get_args(kind), value, place, path)
    if origin is typing.Literal:
        if not isinstance(value, str) or value not in typing.get_args(kind):
            names = ", ".join(typing.get_args(kind))
            raise _refuse(f"must be one of {names}, not {_short(value)}", place, path)
        return value
    if origin is list:
        if not isinstance(value, list):
            raise _refuse(f"must be a list, not {_short(value)}", place, path)
        (item,) = typing.get_args(kind)
        return [_decode(item, v, place, f"{path}[{i}]") for i, v in enumerate(value)]
    if origin is tuple:
        items = typing.get_args(kind)
        if not isinstance(value, list) or len(value) != len(items):
            raise _refuse(f"must be a list of {len(items)} values", place, path)
        return tuple(
            _decode(t, v, place, f"{path}[{i}]")
            for i, (t, v) in enumerate(zip(items, value, strict=True))
        )
    if origin is dict:
        if not isinstance(value, dict):
            raise _refuse(f"must be an object, not {_short(value)}", place, path)
        _, item = typing.get_args(kind)
        return {str(k): _decode(item, v, place, f"{path}.{k}") for k, v in value.items()}
    return _decode_plain(kind, value, place, path)


#: what a plain value must be: in words, and as JSON's parser gives it
_PLAIN: dict[type, tuple[str, tuple[type, ...]]] = {
    type(None): ("null", (type(None),)),
    bool: ("true or false", (bool,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
    str: ("text", (str,)),
}


def _decode_plain(kind: type, value: Any, place: str, path: str) -> Any:
    words, parsed = _PLAIN[kind]
    good = isinstance(value, parsed) and (kind is bool or not isinstance(value, bool))
    if good and kind is int:
        good = -LARGEST_INT <= value <= LARGEST_INT
    if good and kind is float:
        try:
            return float(value)
        except OverflowError:
            good = False
    if not good:
        raise _refuse(f"must be {words}, not {_short(value)}", place, path)
    return value


def _decode_union(kinds: tuple[Any, ...], value: Any, place: str, path: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    rest = [k for k in kinds if k is not type(None)]
    for kind in rest[:-1]:
        try:
            return _decode(kind, value, place, path)
        except StrettoError:
            continue
    return _decode(rest[-1], value, place, path)


def _decode_dataclass(kind: type, value: Any, place: str, path: str) -> Any:
    if not isinstance(value, dict):
        raise _refuse(f"must be an object, not {_short(value)}", place, path)
    hints = _hints(kind)
    out: dict[str, Any] = {}
    dot = f"{path}." if path else ""
    fields = dataclasses.fields(kind)
    unknown = sorted(set(value) - {f.name for f in fields})
    if unknown:
        raise _refuse("is not a key of this format", place, f"{dot}{unknown[0]}")
    for field in fields:
        if field.name in value:
            out[field.name] = _decode(
                hints[field.name], value[field.name], place, f"{dot}{field.name}"
            )
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise _refuse("is missing", place, f"{dot}{field.name}")
    try:
        return kind(**out)
    except ValueError as error:
        raise _refuse(f"is wrong: {error}", place, path) from error


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
