"""The files that an import is of: found in directories, and read whatever else is in them."""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import re
import stat
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from stretto.errors import StrettoError, from_oserror
from stretto.files.io import read_text
from stretto.files.regular import read_regular

WHAT = "a benchmark's output"
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
        if not path.is_dir():
            yield path
            continue
        found = _files_below(path, left_out)
        yield from sorted(found, key=lambda p: [_natural(part) for part in p.parts])


def _files_below(directory: Path, left_out: list[str]) -> list[Path]:
    """Return all files below a directory, each directory once: by its own name before a link's."""
    files: list[Path] = []
    been: set[Path] = set()
    waiting, links = [directory], list[Path]()
    while waiting or links:
        at = waiting.pop() if waiting else links.pop(0)
        if (real := at.resolve()) in been:
            continue
        been.add(real)
        try:
            entries = sorted(at.iterdir())
        except OSError as error:
            if at == directory:
                raise from_oserror(error, "cannot read the directory", at) from error
            left_out.append(f"{at}: cannot be read: {error.strerror}")
            continue
        for entry in entries:
            try:
                mode = entry.stat().st_mode
            except OSError as error:
                what = "a link that cannot be followed" if entry.is_symlink() else "cannot be read"
                left_out.append(f"{entry}: {what}: {error.strerror}")
                continue
            if stat.S_ISDIR(mode):
                (links if entry.is_symlink() else waiting).append(entry)
            elif stat.S_ISREG(mode):
                files.append(entry)
            else:  # reading might never end
                left_out.append(f"{entry}: a pipe, a socket or a device, and no file")
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
        if error.errno == errno.EINVAL:
            raise StrettoError(
                "this is a pipe, a socket or a device, from which reading might never end",
                path,
                f"give a file, or what a shell reads for you: <(cat {path})",
            ) from error
        # which explains
        return read_text(path, WHAT, "check the path for typing mistakes, and where links lead")
    data = unpacked(data, path, MOST_BYTES)
    # what PowerShell's > makes of an output
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8", "replace")


def unpacked(data: bytes, path: Path, most: int) -> bytes:
    """Return a file's bytes, unpacked where gzip has packed them."""
    for magic, (name, tool) in _PACKED.items():
        if data.startswith(magic):
            raise Packed(f"compressed by {name}, which is not read here", path, f"{tool} it first")
    if not data.startswith(_GZIP):
        return data
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            out = stream.read(most + 1)
    except (EOFError, OSError, zlib.error) as error:
        cut = "is cut off" if isinstance(error, EOFError) else f"is broken ({error})"
        raise StrettoError(
            f"the compressed file {cut}, and what it holds is not taken",
            path,
            "copy it again, or unpack by gunzip what can be saved",
        ) from error
    if len(out) > most:
        raise StrettoError("too large, once unpacked, to be what a benchmark printed", path)
    return out
