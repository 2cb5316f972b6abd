"""The files that an import is of: found in directories, and read whatever else is in them."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from stretto.errors import StrettoError, from_oserror
from stretto.files.regular import read_regular

MOST_BYTES = 64 << 20

_PACKED = {
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"\xfd7zXZ\x00": ("xz", "unxz"),
    b"BZh": ("bzip2", "bunzip2"),
}
_GZIP = b"\x1f\x8b"


class Packed(StrettoError):
    """A file that has to be unpacked first."""


def files_in(paths: Sequence[Path], left_out: list[str]) -> Iterator[Path]:
    """Yield the files named, and those in the directories named, in the order of their numbers."""
    for path in paths:
        found = _files_below(path, left_out) if path.is_dir() else [path]
        yield from sorted(found, key=lambda p: [_natural(part) for part in p.parts])


def _files_below(top: Path, left_out: list[str]) -> list[Path]:
    """Return all files below a directory, each directory once: by its own name before a link's."""

    def unread(error: OSError) -> None:
        if error.filename == str(top):
            raise from_oserror(error, "cannot read the directory", top) from error
        left_out.append(f"{error.filename}: cannot be read: {error.strerror}")

    files: list[Path] = []
    been: set[Path] = set()
    waiting = [top]
    while waiting:
        for place, folders, names in os.walk(waiting.pop(0), onerror=unread):
            at = Path(place)
            if at.resolve() in been:
                folders.clear()
                continue
            been.add(at.resolve())
            waiting += [at / name for name in folders if (at / name).is_symlink()]
            for path in (at / name for name in names):
                if os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises where a link leads far
                    files.append(path)
                else:  # reading might never end
                    left_out.append(f"{path}: a broken link, a pipe, a socket or a device")
    return files


def _natural(text: str) -> list[tuple[int, str]]:
    return [(int(w), "") if w.isdecimal() else (-1, w) for w in re.split(r"(\d+)", text)]


def text_of(path: Path) -> str:
    """Return a file's text; whatever else a job printed into it must not stop the reading.

    What gzip has packed is unpacked.
    """
    try:
        data = read_regular(path)
    except OSError as error:
        raise from_oserror(error, "cannot read a benchmark's output", path) from error
    data = _unpacked(data, path)
    # what PowerShell's > makes of an output
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8", "replace")


def _unpacked(data: bytes, path: Path) -> bytes:
    for magic, (name, tool) in _PACKED.items():
        if data.startswith(magic):
            raise Packed(
                f"compressed with {name}, which Stretto cannot read", path, f"{tool} it first"
            )
    if not data.startswith(_GZIP):
        return data
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            out = stream.read(MOST_BYTES + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise StrettoError(
            f"the compressed file is damaged ({error}) and was not read", path,
            "copy it again, or recover a part with gunzip",
        ) from error  # fmt: skip
    if len(out) > MOST_BYTES:
        raise StrettoError("too large, once unpacked, to be the output of a benchmark", path)
    return out
