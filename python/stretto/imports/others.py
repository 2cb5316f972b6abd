"""What lies among results and cannot be read as them: another benchmark's output, packed files."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from stretto.errors import StrettoError

Form = Literal["osu", "imb"]
#: how each benchmark calls itself, and what is printed by it alone
_OWN: dict[Form, tuple[str, re.Pattern[str]]] = {
    "osu": ("the OSU micro-benchmarks", re.compile(r"(?:#\s*)?OSU MPI\S*\s+\S.*\bTest\b")),
    "imb": (
        "Intel MPI Benchmarks",
        re.compile(r"#\s*Intel ?\(R\) MPI Benchmarks|#bytes\s+#repetitions\s.*\bt_max\[usec\]"),
    ),
}
_PACKED = {
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"\xfd7zXZ\x00": ("xz", "unxz"),
    b"BZh": ("bzip2", "bunzip2"),
}
_GZIP = b"\x1f\x8b"


class Packed(StrettoError):
    """A file that has to be unpacked first."""


def foreign(text: str, form: Form) -> str | None:
    """Return what to say of a text that another benchmark printed, None where there is no sign.

    Parameters
    ----------
    text
        The file's.
    form
        As which it was to be read; a text with this one's marks, too, is read as it.
    """
    if _OWN[form][1].search(text):
        return None
    for other, (title, mark) in _OWN.items():
        if other != form and mark.search(text):
            return f"this is the output of {title}: stretto import {other}"
    return None


def unpacked(data: bytes, path: Path, most: int) -> bytes:
    """Return a file's bytes, unpacked where gzip has packed them.

    Parameters
    ----------
    data, path
        Of the file.
    most
        So many bytes may come of it.

    Raises
    ------
    Packed
        For a file that another program has packed.
    """
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


def together(paths: Sequence[Path], words: str) -> str:
    """Return one sentence on several files: ``a.log and 8 more: WORDS``.

    Parameters
    ----------
    paths
        At least one.
    words
        What they are.
    """
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{paths[0]}{more}: {words}"
