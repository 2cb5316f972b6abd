"""What is wrong with a native file for the MPI that reads it, and what its user should know."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from stretto.export import han, openmpi_words
from stretto.export.native_rows import VERSION_2, NativeFile, NativeRow, choice_words, ignored
from stretto.export.sizes import OWN_SIZE
from stretto.files.table import WITHOUT_SIZE
from stretto.kinds import Family
from stretto.mpi.algorithms import discover
from stretto.mpi.algorithms.openmpi_names import TUNED
from stretto.mpi.base import MPIInstallation
from stretto.mpi.variables import control_variables

#: sizes of these are not looked at: a row from some size on never applies
_UNSIZED = ("barrier", "alltoallw", *WITHOUT_SIZE)
#: what parameters are called, by the ends of their settings' names
_CALLED = {
    "_fanout": "fan-out", "_segmentsize": "segment size", "_max_requests": "number of requests",
}  # fmt: skip
#: algorithms of Open MPI 6 whose fan-out is their radix
_RADIX = (("allgather", "2"), ("reduce", "8"))


@dataclass(frozen=True)
class Reader:
    """The MPI that is to read a file.

    `version`: empty: not known. `known`: ``NAME=VALUE`` of all algorithms of an installed one;
    empty: it is not here.
    """

    family: Family
    version: str = ""
    known: Collection[str] = ()

    @property
    def words(self) -> str:
        title = {"openmpi": "Open MPI", "mpich": "MPICH", "intel": "Intel MPI"}[self.family]
        return f"{title} {self.version}".rstrip()

    @property
    def release(self) -> str:
        return self.version[:1]


def known_of(installation: MPIInstallation) -> set[str]:
    """Return ``NAME=VALUE`` of all algorithms of an MPI, by number and by name."""
    known: set[str] = set()
    for algorithm in discover(installation):
        setting, value = algorithm.settings[0]
        known |= {f"{setting}={v}" for v in (value, algorithm.value, algorithm.name)}
    # HAN's own choice has a number, too, and is found without it
    for variable in control_variables(installation).values():
        known |= {f"{variable.name}={v}" for item in variable.items for v in item}
    return known


def checked(file: NativeFile, reader: Reader) -> NativeFile:
    """Return a file with what is wrong with it for an MPI."""
    faults, notes = [*file.faults], [*file.notes]
    for row in file.rows:
        fault = lacking(row, reader) or _unsized(file.form, row) or _endless(file.form, row)
        if fault:
            faults.append((row.place, fault))
    if file.family == "openmpi":
        faults += _form(file, reader)
        notes += _notes(file, reader)
    faults.sort(key=lambda f: int(f[0].rpartition(":")[2]) if f[0][-1].isdigit() else 0)
    return replace(file, faults=tuple(dict.fromkeys(faults)), notes=tuple(notes))


def lacking(row: NativeRow, reader: Reader) -> str | None:
    """Return in words that an MPI does not have a row's algorithm; None: it has, or who knows."""
    if not row.settings or row.settings[0][0] in ("component", "algorithm", "composition"):
        return None
    name, value = row.settings[0]
    if reader.known:
        # Open MPI lists all values
        named = name.endswith("_algorithm") or any(k.startswith(f"{name}=") for k in reader.known)
        missing = named and f"{name}={value}" not in reader.known
        return f"{reader.words} has no algorithm {value} for {row.collective}" if missing else None
    if name == f"coll_tuned_{row.collective}_algorithm" and value.isdecimal():
        if row.collective not in TUNED:
            return f"coll/tuned has no algorithms for {row.collective}"
        return openmpi_words.lacks(row.collective, int(value), reader.release or "9")
    if name == f"coll_han_use_{row.collective}_algorithm" and value.isdecimal():
        return openmpi_words.lacks_of_han(row.collective, int(value))
    return None


def _unsized(form: str, row: NativeRow) -> str | None:
    if form in ("classic", "json") and row.collective in _UNSIZED and row.low > 0:
        return f"it never applies: Open MPI treats every {row.collective} as one of 0 bytes"
    return None


def _endless(form: str, row: NativeRow) -> str | None:
    fanout = row.setting(openmpi_words.fanout_name(row.collective))
    radix = (row.collective, row.setting(f"coll_tuned_{row.collective}_algorithm"))
    if form == "json" and radix in _RADIX and fanout in ("0", "1"):
        return f'Open MPI 6 loops forever with a radix of {fanout}: add "faninout": 2 or more'
    return None


def _form(file: NativeFile, reader: Reader) -> Iterator[tuple[str, str]]:
    """Yield what keeps a release from reading a file at all."""
    first = f"{file.path}:1"
    release = reader.release
    if file.form == "json" and release in ("4", "5"):
        words = f"{reader.words} silently ignores a file of this form"
        yield first, f"{words}: convert it, --to openmpi-{release}"
    before = _numbers(reader.version) < (5, 0, 7) if "." in reader.version else release == "4"
    if file.form == "classic" and release and before and VERSION_2 in file.text:
        words = f"{reader.words} silently ignores files of version 2"
        yield first, f"{words}: convert it, --to openmpi-{release}"
    if file.form == "classic" and release == "6":
        words = "Open MPI 6 reads ranks of this form as upper bounds"
        yield first, f"{words}: convert it, --to openmpi-6"
    if file.form == "han" and release == "4":
        for row in file.rows:
            if row.settings[0][0] != "component":
                yield row.place, "Open MPI 4 rejects a file that names algorithms of HAN"
            elif row.settings[0][1] == "tuned" and not row.only:
                yield row.place, "Open MPI 4 crashes if coll/tuned decides for all ranks"


def _ignored(file: NativeFile) -> Iterator[str]:
    """Yield parameters that are set but have no effect."""
    for row in file.rows:
        names = [
            called
            for name, value in row.settings[1:]
            for end, called in _CALLED.items()
            if name.endswith(end) and value != "0"
            and ignored(row.collective, row.settings[0][1], name)
        ]  # fmt: skip
        if names:
            line = row.place.rpartition(":")[2]
            chosen = choice_words(row.collective, row.settings[:1])
            words = " and ".join(names)
            if (row.collective, row.settings[0][1]) == ("bcast", "7") and "fan-out" in names:
                words += "; its radix is coll_tuned_bcast_algorithm_knomial_radix"
            yield f"line {line}: {chosen} of {row.collective} does not use the {words}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:3])


def _notes(file: NativeFile, reader: Reader) -> Iterator[str]:
    collectives = {r.collective for r in file.rows}
    of_tuned = {r.collective for r in file.rows if "coll_tuned" in str(r.settings[:1])}
    of_han = han.COLLECTIVES_6 if reader.release == "6" else han.COLLECTIVES
    before = sorted(of_tuned.intersection(of_han))
    if before and reader.release != "4":
        since = "" if reader.release else " of Open MPI 5 and newer"
        yield (
            f"on several nodes HAN{since} decides {', '.join(before)} before these rules; "
            "OMPI_MCA_coll_han_priority=0 turns it off"
        )
    yield from _ignored(file)
    for collective in sorted(collectives & {*OWN_SIZE, "gather", "scatter"}):
        mine = [r for r in file.rows if r.collective == collective]
        several = any(a.first == b.first and a.settings != b.settings for a in mine for b in mine)
        if file.form in ("classic", "json") and several:
            yield (
                f"{collective}: each rank looks up its local size, so a legal call may use two "
                "rows and hang; stretto export writes one row for all sizes"
            )
    if file.form == "classic":
        for collective in sorted(collectives):
            first = [r for r in file.rows if r.collective == collective and r.first == 0]
            if any(r.settings for r in first) and first[0].written > 2:
                yield (
                    f"{collective}: the first communicator size also applies to smaller "
                    "communicators; a first size of 1 with algorithm 0 keeps these native"
                )
