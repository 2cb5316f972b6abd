"""Of which MPI a foreign result is: what ``--mpi``, and names in files' places, mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from stretto.errors import UsageError
from stretto.files.identity import MPIIdentity, product
from stretto.kinds import Abi, Family

UNKNOWN = "unknown"
_MVAPICH = r"mvapich2?"
#: how people name the MPIs in directories
_FAMILIES: tuple[tuple[str, Family], ...] = (
    (r"open-?mpi|ompi", "openmpi"),
    (r"intel-oneapi-mpi|intel-?mpi|impi|intel", "intel"),
    (r"mpich", "mpich"),
    (_MVAPICH, "mpich"),
)
_ABIS: dict[Family, Abi] = {"openmpi": "openmpi", "mpich": "mpich", "intel": "mpich"}
#: it becomes part of a file's name
_VERSION = re.compile(r"(?:v(?=[0-9]))?([0-9A-Za-z][0-9A-Za-z.+_-]*)")


_NAME = r"open-?mpi|ompi|mpich|mvapich2?|intel-oneapi-mpi|intel-?mpi|impi"
_NUMBERS = r"v?(\d+(?:\.\d+)*(?:rc\d+|[ab]\d+)?)"
#: openmpi@4.0.5, mpich/3.4.1, /opt/openmpi-4.1.5/bin; not the compiler's %intel@19, nor cray-mpich
_WITH_VERSION = re.compile(rf"(?<![\w%-])({_NAME})[@/_-]{_NUMBERS}", re.IGNORECASE)
#: as the libraries and launchers call themselves
_THEMSELVES = tuple(
    (name, re.compile(form.replace("VERSION", _NUMBERS), re.IGNORECASE))
    for name, form in (
        ("openmpi", r"\bOpen ?MPI[ :)]+(?:version )?VERSION|\(Open(?: MPI|RTE)\) VERSION"),
        ("intel", r"Intel(?:\(R\))? MPI(?: Library)?(?:[^\d\n]{0,40}Version)? VERSION"),
        ("mpich", r"(?<!CRAY )\bMPICH (?:Version\s*:\s*|version )?VERSION"),
        ("mvapich", r"\bMVAPICH2?(?:-\w+)? (?:Version\s*:\s*|version )?VERSION"),
    )
)
_MAY_NAME = re.compile(r"mpi|mpich|mvapich|rte", re.IGNORECASE)
_MODULE = re.compile(r"\b(?:module\s+(?:load|add|swap|switch)|ml)\s+(.*)")
#: without a version, in a module's name or a path
NAMED = re.compile(rf"(?<![\w-])({_NAME})(?![A-Za-z0-9])", re.IGNORECASE)


def named_in(text: str) -> list[str]:
    """Return the MPIs that a line names with a version, or as modules, as ``--mpi`` takes them."""
    if not _MAY_NAME.search(text):
        return []
    found = [(m[1], m[2]) for m in _WITH_VERSION.finditer(text)]
    for name, form in _THEMSELVES:
        found += [(name, next(filter(None, m.groups()))) for m in form.finditer(text)]
    module = _MODULE.search(text)
    if module and not found:
        found = [(m[1], "") for m in NAMED.finditer(module[1])]
    out = [f"{name.lower()}@{version}" if version else name.lower() for name, version in found]
    return list(dict.fromkeys(written(identity_of(words)) for words in out))


def named_by(paths: Sequence[str]) -> list[str]:
    """Return the MPIs that directories are named after, as ``--mpi`` takes them."""
    found = (m[1] for path in paths for m in NAMED.finditer(path))
    return list(dict.fromkeys(written(identity_of(name.lower())) for name in found))


def plainly(words: str) -> MPIIdentity:
    """Return the MPI of ``openmpi@4.0.1``: whatever it is called, it is one MPI."""
    mpi = identity_of(words)
    library = f"MVAPICH Version : {mpi.version}" if product(mpi) == "mvapich" else written(mpi)
    return replace(mpi, library=f"{library} (imported)")


def version_of(text: str, place: str = "--mpi") -> str:
    """Return a version, without the ``v`` that some write before it; refuse what is none."""
    found = _VERSION.fullmatch(text)
    if found is None:
        raise UsageError(
            f"{text!r} is not a version of an MPI", place,
            "give letters, digits, dots and dashes: --mpi openmpi@4.1.4",
        )  # fmt: skip
    return found.group(1)


def agreed(*versions: str) -> str | None:
    """Return the most exact of some versions (4.1.4 of 4 and 4.1.4), None if two contradict."""
    best = UNKNOWN
    for version in versions:
        if best == UNKNOWN or f"{version}.".startswith(f"{best}."):
            best = version
        elif version != UNKNOWN and not f"{best}.".startswith(f"{version}."):
            return None
    return best


def agree(one: MPIIdentity, other: MPIIdentity) -> bool:
    return product(one) == product(other) and agreed(one.version, other.version) is not None


def written(mpi: MPIIdentity) -> str:
    return product(mpi) + ("" if mpi.version == UNKNOWN else f"@{mpi.version}")


def versioned(mpi: MPIIdentity, version: str) -> MPIIdentity:
    """Return an MPI with another version, also where its library's words hold one."""
    library = mpi.library
    if product(mpi) == "mvapich":
        library = library.replace(f"Version : {mpi.version}", f"Version : {version}", 1)
    return replace(mpi, version=version, library=library)


def identity_of(words: str, place: str = "--mpi") -> MPIIdentity:
    """Return the MPI that ``openmpi4``, ``intelmpi`` or ``openmpi@4.0.1`` means.

    MVAPICH is of MPICH's family, and another MPI than MPICH of the same version.
    """
    name, at, given = words.partition("@")
    for pattern, family in _FAMILIES:
        found = re.fullmatch(rf"(?:{pattern})[-_]?v?([0-9][0-9.]*[a-z0-9]*)?", name.lower())
        if found:
            own = found.group(1) or UNKNOWN
            known = agreed(own, version_of(given, place) if at else UNKNOWN)
            if known is None:
                plain = "mvapich" if pattern == _MVAPICH else family
                raise UsageError(
                    f"{words!r} names two versions", place, f"give one: --mpi {plain}@{given}"
                )
            # told from MPICH by these words alone, in MVAPICH's own results as well
            is_mvapich = pattern == _MVAPICH
            library = f"MVAPICH Version : {known}, {words}" if is_mvapich else words
            return MPIIdentity(family, _ABIS[family], known, f"{library} (imported)")
    # what stands behind --mpi is the MPI itself; only a name in a file's place is given another
    called = "" if place.startswith("--mpi") else f"{name or 'NAME'}="
    raise UsageError(
        f"{words!r} is not an MPI that Stretto supports",
        place,
        f"name it: --mpi {called}openmpi@4.0.1 (or mpich@..., mvapich@..., intel@...)",
    )


def assigned(given: Sequence[str]) -> tuple[dict[str, MPIIdentity], MPIIdentity | None]:
    """Return what ``--mpi`` said: by the name in the paths, and for all files."""
    by_name: dict[str, MPIIdentity] = {}
    everywhere: MPIIdentity | None = None
    for text in given:
        name, equals, words = text.rpartition("=")
        mpi = plainly(words)
        if name in by_name if equals else everywhere is not None:
            raise UsageError(
                f"--mpi gives two values for {name if equals else 'the MPI of all files'}",
                f"--mpi {text}",
                "give one value; for some of the files, use the name at {mpi} in their paths: "
                "--mpi NAME=openmpi@4.0.1",
            )
        if equals:
            by_name[name] = mpi
        else:
            everywhere = mpi
    return by_name, everywhere
