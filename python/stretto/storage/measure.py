"""Launches of ``stretto-io`` (src/io), which reads or writes one file in several ways."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.built import library
from stretto.counted import sized
from stretto.errors import StrettoError, UsageError, from_oserror
from stretto.files.parse import json_value
from stretto.files.storage import Way
from stretto.launch.execute import run
from stretto.measure.request import Where
from stretto.profile.paths import system_name

#: by name, in words; the first of a kind is what the others are compared with
READ = {
    "read-all": "every rank reads all of it (POSIX)",
    "read-bcast": "one rank reads it, MPI_Bcast",
    "read-whole": "MPI_File_read_at_all, every rank all of it",
    "read-parts": "MPI_File_read_at_all, every rank its part",
}
WRITE = {
    "write-gather": "one rank receives and writes all of it (POSIX)",
    "write-own": "every rank writes a separate file (POSIX)",
    "write-parts": "MPI_File_write_at_all, every rank its part",
}
WORDS = READ | WRITE
#: files up to this size are measured several times a launch
_SMALL, _SAMPLES = 64 << 20, 3
#: what an estimate assumes: bytes a second of a rank, and seconds of a start
_BYTES_S, _START_S = 1e9, 1.5
#: of its environment an MPI takes what concerns files
_VARIABLES = ("ROMIO_", "OMPI_MCA_io", "OMPI_MCA_fcoll", "OMPI_MCA_fs", "OMPI_MCA_fbtl",
              "I_MPI_EXTRA_FILESYSTEM", "MPIR_CVAR_ROMIO")  # fmt: skip


@dataclass(frozen=True)
class Target:
    """The file: one that is there, or one of so many bytes that is made in a directory."""

    path: Path
    bytes: int
    made: bool


@dataclass(frozen=True)
class IoLaunch:
    """What one launch measured: seconds and cached part of each sample, by way."""

    library: str
    hosts: tuple[str, ...]
    bytes: int
    own: bool
    system: str
    samples: Mapping[str, tuple[tuple[float, float], ...]]
    cut: bool


def target_of(file: Path | None, directory: Path | None, size: int) -> Target:
    """Return what is read or written; refuse what cannot be."""
    if file is not None:
        try:
            found = file.stat().st_size
        except FileNotFoundError:
            raise UsageError(f"there is no file {file}", "--file", "check the path") from None
        except OSError as error:
            raise from_oserror(error, "cannot access the file", file) from error
        if not file.is_file():
            what = "a directory" if file.is_dir() else "not a regular file"
            raise UsageError(f"{file} is {what}", "--file", "give a file to read")
        if not found:
            raise UsageError(f"{file} is empty", "--file", "give a file with data to read")
        return Target(file.absolute(), found, False)
    place = (directory or Path()).absolute()
    if not place.is_dir():
        raise UsageError(
            f"{place} is not a directory", "--dir", "give a directory on the file system to measure"
        )
    return Target(place, size, True)


def expected_s(target: Target, where: Where, ways: Sequence[str], launches: int) -> float:
    """Return about how long `measure` takes, in seconds; a slow file system takes longer."""
    each = target.bytes / _BYTES_S
    several = sum(where.each if way in ("read-all", "read-whole") else 1 for way in ways)
    made = each if target.made else 0
    return launches * (_START_S + _samples(target) * each * several) + made


def _samples(target: Target) -> int:
    return _SAMPLES if target.bytes <= _SMALL else 1


def measure(
    where: Where,
    target: Target,
    ways: Sequence[str],
    launches: int,
    report: Callable[[str, float], None] = lambda text, done: None,
) -> list[IoLaunch]:
    """Measure the ways in turn in repeated launches, each of which begins with another one."""
    if not target.made:
        return _launches(where, target, target.path, ways, launches, report)
    needed = (1 + any(w in WRITE for w in ways)) * target.bytes
    try:
        own = Path(tempfile.mkdtemp(prefix=".stretto-io-", dir=target.path))
        facts = os.statvfs(own)
    except OSError as error:
        raise from_oserror(error, "cannot write into the directory", target.path) from error
    try:
        free = facts.f_bavail * facts.f_frsize
        if free < needed:
            raise StrettoError(
                f"{sized(free)} are free, {sized(needed)} are needed",
                target.path,
                "name another --dir, or a smaller --bytes",
            )
        return _launches(where, target, own / "data", ways, launches, report)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _launches(
    where: Where,
    target: Target,
    file: Path,
    ways: Sequence[str],
    launches: int,
    report: Callable[[str, float], None],
) -> list[IoLaunch]:
    budget = 60 + 20 * expected_s(target, where, ways, 1)
    program = [str(library("io", where.installation.abi)), str(file)]
    program += [str(target.bytes if target.made else 0), str(_samples(target)), f"{budget:.0f}"]
    out = []
    for number in range(launches):
        report(f"launch {number + 1} of {launches}", number / launches)
        first = number % len(ways)
        argv, environ = where.installation.launch(
            where.nranks,
            [*program, *ways[first:], *ways[:first]],
            ppn=where.ppn or (where.each if where.hosts else None),
            hosts=where.hosts,
            bind="default",
            oversubscribe=where.oversubscribed,
        )
        done = run(argv, environ, timeout=2 * budget, capture="yes").require(argv)
        out.append(read_launch(done.stdout, argv[0]))
    return out


def read_launch(output: str, place: str) -> IoLaunch:
    """Return what a launch printed; other lines are skipped."""
    head = None
    samples: dict[str, tuple[tuple[float, float], ...]] = {}
    cut = True
    for line in output.splitlines():
        if not line.startswith('{"kind":'):
            continue
        values = json_value(line)
        if values["kind"] == "launch":
            head = values
        elif values["kind"] == "end":
            cut = bool(values["cut"])
        else:
            pair = (float(values["seconds"]), float(values["cached"]))
            samples[values["way"]] = (*samples.get(values["way"], ()), pair)
    if head is None or not samples:
        raise StrettoError("the launch measured nothing", place, "run it by hand to see the error")
    hosts = tuple(str(h) for h in head["hosts"])
    system = system_name(int(head["system"]))
    return IoLaunch(
        str(head["library"]), hosts, int(head["bytes"]), bool(head["own"]), system, samples, cut
    )


def collected(launches: Sequence[IoLaunch], ways: Sequence[str]) -> list[Way]:
    """Return what launches measured, by way, as the file has it."""
    out = []
    for name in ways:
        found = [launch.samples[name] for launch in launches if name in launch.samples]
        if found:
            out.append(
                Way(
                    name,
                    [[s for s, _ in one] for one in found],
                    [[c for _, c in one] for one in found],
                )
            )
    return out


def variables() -> dict[str, str]:
    """Return what the environment says to MPI-IO."""
    return {n: v for n, v in sorted(os.environ.items()) if n.startswith(_VARIABLES)}
