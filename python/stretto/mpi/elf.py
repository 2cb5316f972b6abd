"""Which libraries a program would load, found as the dynamic loader does, without running it."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment


@dataclass(frozen=True)
class Dynamic:
    """What the dynamic section of one ELF file says."""

    path: Path
    soname: str
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    machine: str
    interpreter: str | None


def is_elf(path: Path) -> bool:
    """Tell whether a file is an ELF program or library."""
    try:
        with path.open("rb") as stream:
            return stream.read(4) == b"\x7fELF"
    except OSError:
        return False


@cache
def read_dynamic(path: Path) -> Dynamic | None:
    """Read a file's dynamic section; None when it is no ELF file, or is damaged."""
    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            return _parse(path, elf)
    except (OSError, ELFError, ValueError, KeyError, IndexError, AttributeError, UnicodeError):
        return None


def _text(tag: object, name: str) -> str:
    """Return an attribute that pyelftools adds to a tag of that kind."""
    return str(getattr(tag, name))


def _parse(path: Path, elf: ELFFile) -> Dynamic:
    needed: list[str] = []
    rpath: list[str] = []
    runpath: list[str] = []
    soname = ""
    interpreter = None
    for segment in elf.iter_segments():
        if isinstance(segment, InterpSegment):
            interpreter = segment.get_interp_name()
        elif isinstance(segment, DynamicSegment):
            for tag in segment.iter_tags():
                kind = tag.entry.d_tag
                if kind == "DT_NEEDED":
                    needed.append(_text(tag, "needed"))
                elif kind == "DT_RPATH":
                    rpath += _text(tag, "rpath").split(":")
                elif kind == "DT_RUNPATH":
                    runpath += _text(tag, "runpath").split(":")
                elif kind == "DT_SONAME":
                    soname = _text(tag, "soname")
    return Dynamic(
        path,
        soname,
        tuple(needed),
        tuple(rpath),
        tuple(runpath),
        str(elf.header.e_machine),
        interpreter,
    )


@cache
def system_directories() -> tuple[Path, ...]:
    """Return the directories that ld.so searches by itself (``/etc/ld.so.conf``, then its own)."""
    found = _conf(Path("/etc/ld.so.conf"), 0)
    trusted = [Path(p) for p in ("/lib64", "/usr/lib64", "/lib", "/usr/lib")]
    return tuple(dict.fromkeys([*found, *trusted]))


def _conf(path: Path, depth: int) -> list[Path]:
    out: list[Path] = []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return out
    for line in lines:
        words = line.partition("#")[0].split()
        if words[:1] == ["include"] and depth < 5:
            for pattern in words[1:]:
                for name in sorted(glob.glob(str(path.parent / pattern))):  # noqa: PTH207
                    out += _conf(Path(name), depth + 1)
        elif words:
            out.append(Path(words[0]))
    return out


def _expand(text: str, origin: Path) -> Path | None:
    for name in ("$ORIGIN", "${ORIGIN}"):
        text = text.replace(name, str(origin))
    for name in ("$LIB", "${LIB}"):
        text = text.replace(name, "lib64" if Path("/lib64").is_dir() else "lib")
    return Path(text) if text and "$" not in text else None


def find_library(name: str, chain: Iterable[Dynamic], environ: Mapping[str, str]) -> Path | None:
    """Find a needed library as ld.so does.

    Parameters
    ----------
    name
        As in DT_NEEDED.
    chain
        The object that needs it, then the one that loaded that, up to the program (for DT_RPATH).
    environ
        For LD_LIBRARY_PATH.
    """
    loaders = list(chain)
    if "/" in name:
        path = Path(name)
        return path if path.is_file() else None
    directories: list[Path | None] = []
    if not loaders[0].runpath:
        for loader in loaders:
            if not loader.runpath:
                directories += [_expand(p, loader.path.parent) for p in loader.rpath]
    origin = loaders[-1].path.parent
    preset = environ.get("LD_LIBRARY_PATH", "").replace(";", ":")
    directories += [_expand(p, origin) for p in preset.split(":")]
    directories += [_expand(p, loaders[0].path.parent) for p in loaders[0].runpath]
    directories += system_directories()
    for directory in directories:
        if directory is None:
            continue
        path = directory / name
        if path.is_file():
            # A library of another machine or word size is passed over, as ld.so does.
            found = read_dynamic(path.resolve())
            if found is not None and found.machine == loaders[-1].machine:
                return path
    return None


@dataclass(frozen=True)
class Needed:
    """A library that a program needs; `path` is None where it cannot be found."""

    name: str
    path: Path | None


def find_needed(
    program: Path, prefixes: tuple[str, ...], environ: Mapping[str, str]
) -> list[Needed]:
    """Return the libraries with one of the name prefixes that a program loads, nearest first.

    Libraries of the C run time, which need no other, are not opened.

    Parameters
    ----------
    program
        An ELF program or library.
    prefixes
        Beginnings of names: ``("libmpi.so", "libmpich.so")``.
    environ
        The environment in which it would run.
    """
    top = read_dynamic(program.resolve())
    if top is None:
        return []
    queue: list[tuple[Dynamic, ...]] = [(top,)]
    seen: set[str] = set()
    out: list[Needed] = []
    while queue:
        chain = queue.pop(0)
        for name in chain[0].needed:
            if name in seen or name.startswith(_PLAIN):
                continue
            seen.add(name)
            path = find_library(name, chain, environ)
            if name.startswith(prefixes):
                out.append(Needed(name, path))
            elif path is not None:
                found = read_dynamic(path.resolve())
                if found is not None:
                    queue.append((found, *chain))
        if out:
            # Those nearer to the program decide; what its libraries need besides is theirs.
            break
    return out


_PLAIN = (
    "libc.so",
    "libm.so",
    "libdl.so",
    "librt.so",
    "libpthread.so",
    "ld-linux",
    "libgcc_s.so",
    "libstdc++.so",
    "libgfortran.so",
    "libquadmath.so",
    "libz.so",
    "linux-vdso.so",
)
