"""Which libraries a program would load, found as the dynamic loader does, without running it."""

from __future__ import annotations

import os

from stretto.light import TYPE_CHECKING, cache, dataclass, later
from stretto.paths import Path

if TYPE_CHECKING:
    import glob
    import mmap
    import struct
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Literal

    Order = Literal["little", "big"]
else:
    glob, mmap, struct = later("glob"), later("mmap"), later("struct")

_PT_LOAD, _PT_DYNAMIC = 1, 2
_SHT_DYNSYM, _STT_FUNC = 11, 2
_DT_NEEDED, _DT_STRTAB, _DT_RPATH, _DT_RUNPATH = 1, 5, 15, 29


@dataclass(frozen=True)
class Dynamic:
    path: Path
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    machine: tuple[int, bool]  # e_machine, and whether of 64 bits


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
        with path.open("rb", buffering=0) as stream:
            handle = stream.fileno()
            end = os.fstat(handle).st_size

            def read(at: int, size: int) -> bytes:
                if not 0 <= at <= at + size <= end:
                    raise ValueError("it is cut off")
                return os.pread(handle, size, at)

            return _parse(path, read, end)
    except (OSError, ValueError, KeyError):
        return None


def _parse(path: Path, read: Callable[[int, int], bytes], end: int) -> Dynamic | None:
    """Read program headers, dynamic segment and its strings (System V ABI, chapters 4 and 5)."""
    head = read(0, 52)
    if head[:4] != b"\x7fELF":
        return None
    wide = head[4] == 2
    width = 8 if wide else 4
    orders: dict[int, Order] = {1: "little", 2: "big"}
    order = orders[head[5]]

    def number(data: bytes, at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], order)

    head = read(0, 64) if wide else head
    machine = number(head, 18, 2)
    table = number(head, 24 + width, width)
    sizes = 54 if wide else 42
    size, count = number(head, sizes, 2), number(head, sizes + 2, 2)
    headers = read(table, size * count)
    loads: list[tuple[int, int, int]] = []
    dynamic: bytes | None = None
    for at in range(0, size * count, size or 1):
        kind = number(headers, at, 4)
        offset, virtual, length = (number(headers, at + n * width, width) for n in (1, 2, 4))
        if kind == _PT_LOAD:
            loads.append((virtual, length, offset))
        elif kind == _PT_DYNAMIC:
            dynamic = read(offset, length)
    if dynamic is None:
        return Dynamic(path, (), (), (), (machine, wide))
    tags: list[tuple[int, int]] = []
    for at in range(0, len(dynamic) - 2 * width + 1, 2 * width):
        tag, value = number(dynamic, at, width), number(dynamic, at + width, width)
        if tag == 0:
            break
        tags.append((tag, value))
    where = next((v for t, v in tags if t == _DT_STRTAB), None)
    strings = -1
    for virtual, length, offset in loads:
        if where is not None and virtual <= where < virtual + length:
            strings = where - virtual + offset

    def text_at(at: int) -> bytes:
        text = b""
        while b"\0" not in text and at + len(text) < end:
            text += read(at + len(text), min(256, end - at - len(text)))
        return text.partition(b"\0")[0]

    def texts(wanted: int) -> list[str]:
        out = []
        for tag, value in tags:
            if tag == wanted and strings >= 0:
                out.append(text_at(strings + value).decode("utf-8", "surrogateescape"))
        return out

    def paths(wanted: int) -> tuple[str, ...]:
        return tuple(p for text in texts(wanted) for p in text.split(":"))

    return Dynamic(
        path,
        tuple(texts(_DT_NEEDED)),
        paths(_DT_RPATH),
        paths(_DT_RUNPATH),
        (machine, wide),
    )


def _fields(layout: str, data: mmap.mmap, at: int) -> tuple[int, ...]:
    return struct.unpack_from(layout, data, at)


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
                for name in _matching(path.parent / pattern):
                    out += _conf(name, depth + 1)
        elif words:
            out.append(Path(words[0]))
    return out


def _matching(pattern: Path) -> list[Path]:
    """Return the files of a pattern, in order; one like ``/etc/ld.so.conf.d/*.conf`` by itself."""
    before, star, after = pattern.name.partition("*")
    if not star or any(c in f"{pattern.parent}{before}{after}" for c in "*?["):
        return [Path(name) for name in sorted(glob.glob(str(pattern)))]
    try:
        names = os.listdir(pattern.parent)  # noqa: PTH208
    except OSError:
        return []
    return [
        pattern.parent / name
        for name in sorted(names)
        if name.startswith(before) and name.removeprefix(before).endswith(after)
        and (before or not name.startswith("."))
    ]  # fmt: skip


def _expand(text: str, origin: Path) -> Path | None:
    for name in ("$ORIGIN", "${ORIGIN}"):
        text = text.replace(name, str(origin))
    for name in ("$LIB", "${LIB}"):
        text = text.replace(name, "lib64" if Path("/lib64").is_dir() else "lib")
    return Path(text) if text and "$" not in text else None


def find_library(name: str, chain: Iterable[Dynamic], environ: Mapping[str, str]) -> Path | None:
    """Find a needed library as ld.so does.

    `chain`: the object that needs it, then the one that loaded that, up to the program (for
    DT_RPATH).
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

    Those nearest to the program decide; what its libraries need besides is theirs.

    `prefixes`: beginnings of names: ``("libmpi.so", "libmpich.so")``.
    """
    for group in _loaded(program, environ):
        out = [n for n in group if n.name.startswith(prefixes)]
        if out:
            return out
    return []


def needed_by(program: Path, environ: Mapping[str, str]) -> list[Needed]:
    """Return all libraries that a program loads, in the order in which symbols are looked up."""
    return [n for group in _loaded(program, environ) for n in group]


def _loaded(program: Path, environ: Mapping[str, str]) -> Iterator[list[Needed]]:
    """Yield what each object needs that none before it does, breadth first as ld.so loads them.

    Libraries of the C run time, which need no other, are left out.
    """
    top = read_dynamic(program.resolve())
    queue: list[tuple[Dynamic, ...]] = [] if top is None else [(top,)]
    seen: set[str] = set()
    while queue:
        chain = queue.pop(0)
        group: list[Needed] = []
        for name in chain[0].needed:
            if name in seen or name.startswith(_PLAIN):
                continue
            seen.add(name)
            path = find_library(name, chain, environ)
            group.append(Needed(name, path))
            found = None if path is None else read_dynamic(path.resolve())
            if found is not None:
                queue.append((found, *chain))
        yield group


@cache
def defines(path: Path, prefix: str, used: bool = False) -> bool:
    """Tell whether a program or library exports a function whose name begins with a prefix.

    `used`: whether it uses one of another object instead.
    """
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as m:
            # most libraries do not even hold the letters, and need not be read
            return m.find(prefix.encode()) >= 0 and any(
                name.startswith(prefix.encode()) for name in _functions(m, used)
            )
    except (OSError, ValueError, KeyError, IndexError, OverflowError, struct.error):
        return False


def _functions(data: mmap.mmap, used: bool) -> Iterator[bytes]:
    """Yield the names of the functions that a 64-bit ELF file exports, or those that it uses."""
    if data[:4] != b"\x7fELF" or data[4] != 2:
        return
    order = {1: "<", 2: ">"}[data[5]]
    table, size, count = _fields(order + "40xQ10xHH", data, 0)
    header = order + "4xI16xQQI12xQ"  # type, offset, size, link, entry size
    for index in range(count):
        kind, offset, length, link, entry = _fields(header, data, table + index * size)
        if kind != _SHT_DYNSYM or not entry:
            continue
        strings = _fields(header, data, table + link * size)[1]
        for at in range(offset, offset + length, entry):
            name, info, section = _fields(order + "IBxH", data, at)
            if (
                (not section and info & 15 in (0, _STT_FUNC))
                if used
                else (section and info & 15 == _STT_FUNC)
            ):
                yield data[strings + name : data.find(b"\0", strings + name)]


_PLAIN = (
    "libc.so", "libm.so", "libdl.so", "librt.so", "libpthread.so", "ld-linux", "libgcc_s.so",
    "libstdc++.so", "libgfortran.so", "libquadmath.so", "libz.so", "linux-vdso.so",
)  # fmt: skip
