"""Reading and writing whole files so that nothing is ever half written or misread."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from stretto.errors import StrettoError, from_oserror
from stretto.files.parse import json_value
from stretto.files.regular import MOST_BYTES, linked, read_regular
from stretto.light import TYPE_CHECKING, later

if TYPE_CHECKING:
    import json
    from typing import Any

    from stretto.files import kind
else:
    json, kind = later("json"), later("stretto.files.kind")

JSON = dict[str, "Any"]


def write_atomic(path: Path, text: str, what: str) -> None:
    r"""Write `text` to `path` so that readers see the old file or the new one, nothing between.

    When anything fails, a full disk included, the old file is untouched. What is no file
    (``/dev/null``, ``/dev/stdout``, a pipe) is written to as it is, and a symbolic link is refused:
    somebody else may have put it there. Others than the user cannot write the new file. Bytes of
    the user's words that are no UTF-8 (``\udce9``, as Python has them) are written as JSON escapes
    them, which gives them back. `what`: for the error message (``"the table"``).
    """
    write_bytes(path, text.encode(errors="backslashreplace"), what)


def write_bytes(path: Path, data: bytes, what: str) -> None:
    """Write `data` as `write_atomic` writes a text."""
    temporary: Path | None = None
    try:
        if _in_place(path):
            with path.open("ab") as stream:  # not cut off: `>> log` may lie behind it
                stream.write(data)
            return
        temporary = _filled(path, data)
        temporary.replace(path)
    except OSError as error:
        raise from_oserror(error, f"cannot write {what}", path) from error
    finally:
        _remove([temporary] if temporary is not None else [])


def write_together(files: Mapping[Path, str], what: str) -> None:
    """Write texts that belong together: all of them, or the old ones stay.

    The last one is to be what makes a whole of the others: the old one goes before the others are
    renamed, so that what a kill leaves between two renames is not taken for a whole.
    """
    staged: list[tuple[Path, Path]] = []
    *_, last = files
    try:
        for path in files:  # what a rename would fail at, or what must not be given another name
            if path.exists() and not path.is_file():
                raise StrettoError(
                    f"cannot write {what}: this name exists, but is not a file",
                    path, "name another directory",
                )  # fmt: skip
        for path, text in files.items():
            staged.append((_filled(path, text.encode(errors="backslashreplace")), path))
        path = last
        last.unlink(missing_ok=True)
        for temporary, path in staged:
            temporary.replace(path)
    except OSError as error:
        raise from_oserror(error, f"cannot write {what}", path) from error
    finally:
        _remove([temporary for temporary, _ in staged])


def _filled(path: Path, data: bytes) -> Path:
    """Return a new file beside another one, on the disk as a whole; none is left of a failure."""
    if path.is_symlink():
        raise linked(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, made = _new(path)
    try:
        with open(handle, "wb") as stream:  # noqa: PTH123 - the very file that was made
            os.fchmod(handle, 0o644 & ~_umask())
            stream.write(data)
            stream.flush()
            os.fsync(handle)
    except BaseException:
        _remove([made])
        raise
    return made


def _new(beside: Path) -> tuple[int, Path]:
    """Make a file beside another one; tempfile takes long to load."""
    for number in itertools.count():
        path = beside.with_name(f".{beside.name}.{os.getpid()}-{number}")
        with contextlib.suppress(FileExistsError):
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), path
    raise AssertionError("numbers do not end")


def _remove(temporaries: Iterable[Path]) -> None:
    for temporary in temporaries:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _in_place(path: Path) -> bool:
    """Tell whether a name must not be given to a new file: a device, a pipe, our own output."""
    if str(path).startswith(("/dev/std", "/dev/fd/", "/proc/")):
        return True
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_IFMT(mode) not in (stat.S_IFLNK, stat.S_IFREG, stat.S_IFDIR)


def _umask() -> int:
    """Return the process's umask (which can only be read by setting it)."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def read_text(path: Path, what: str, remedy: str | None = None, most: int = MOST_BYTES) -> str:
    """Return the contents of a text file of at most `most` bytes."""
    try:
        return read_regular(path, most).decode("utf-8")
    except FileNotFoundError as error:
        raise StrettoError(f"there is no such file; expected {what}", path, remedy) from error
    except OSError as error:
        raise from_oserror(error, f"cannot read {what}", path) from error
    except UnicodeDecodeError as error:
        raise StrettoError(
            f"this is not {what}: it is not text (byte {error.start})",
            path,
            "give a file that Stretto wrote; this one is damaged or of another kind",
        ) from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a valid number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text} is too large")
    return value


def parse_json(text: str, place: str, what: str, first_line: int = 1) -> JSON:
    """Parse one JSON object strictly (no NaN, no infinities, no repeated keys)."""
    try:
        value = json_value(
            text,
            parse_constant=_no_constant,
            parse_float=_finite,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        where = f"{place}:{first_line + error.lineno - 1}:{error.colno}"
        if not text[error.pos :].strip():
            raise StrettoError(
                f"expected {what}, but the file is truncated",
                where,
                "it was cut off while being written or copied; make it again or copy it again",
            ) from error
        raise StrettoError(
            f"expected {what}, but this is not valid JSON ({error.msg})",
            where,
            "the file is damaged or of another kind; make it again",
        ) from error
    except ValueError as error:
        raise StrettoError(
            f"expected {what}, but the file holds an invalid value ({error})",
            f"{place}:{first_line}",
            "the file is damaged; make it again",
        ) from error
    if not isinstance(value, dict):
        raise StrettoError(
            f"expected {what}, but this JSON is not an object", f"{place}:{first_line}"
        )
    return value


def _object(pairs: list[tuple[str, Any]]) -> JSON:
    out: JSON = {}
    for key, value in pairs:
        if key in out:
            raise ValueError(f"the key {key!r} occurs twice")
        out[key] = value
    return out


def parse_body(text: str, place: str, what: str, schema: str) -> JSON:
    """Parse a JSON object of one kind, and return it without the keys that say which it is."""
    kind.refuse_other(text, place, schema)
    value = parse_json(text, place, what)
    found = value.pop("schema", None)
    if found != schema:
        says = "does not state its kind" if found is None else f"is a {found!r}"
        raise StrettoError(
            f"expected {what}, but this file {says}",
            place,
            f"give a file of schema {schema!r}; `stretto report` shows what a file holds",
        )
    number = value.pop("version", None)
    if isinstance(number, bool) or number != 1:
        raise StrettoError(
            f"this is version {number!r} of {schema}, and this Stretto reads version 1",
            place,
            "use the Stretto that wrote it, or make the file again with this one",
        )
    return value


def dump_json(value: JSON) -> str:
    """Return readable JSON text: one key a line, but a list of plain values on one line."""
    return _dump(value, 0) + "\n"


def _dump(value: Any, depth: int) -> str:
    pad = "\n" + " " * (depth + 1)
    end = "\n" + " " * depth
    if isinstance(value, dict) and value:
        items = (
            f"{json.dumps(k, ensure_ascii=False)}: {_dump(v, depth + 1)}" for k, v in value.items()
        )
        return "{" + pad + ("," + pad).join(items) + end + "}"
    if isinstance(value, list) and any(isinstance(v, (dict, list)) and v for v in value):
        return "[" + pad + ("," + pad).join(_dump(v, depth + 1) for v in value) + end + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
