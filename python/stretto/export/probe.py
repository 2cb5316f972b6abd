"""Runs the fingerprint program (src/bench/fingerprint.c) under an MPI with given settings."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stretto.built import library
from stretto.errors import StrettoError
from stretto.export.cases import CheckCase
from stretto.files.parse import json_value
from stretto.kinds import Family
from stretto.launch.said import telling
from stretto.measure import process
from stretto.measure.job import read_status
from stretto.measure.settings import REDUCTIONS
from stretto.mpi.base import MPIInstallation

#: variables that would bring something else into the run than the MPI and its settings
_CLEARED = ("LD_PRELOAD", "STRETTO_TABLE", "STRETTO_CHOICE", "STRETTO_DISABLE")
#: a rank is held back for so long at first, so that what waits for it can be told
HOLD_MS = 60
START_S, CASE_S = 60.0, 60.0
#: a call has failed when so many launches ended at it: one may be the launcher's or the machine's
LAUNCHES = 2
#: after so many calls that failed all sizes of the next one count as failed
PATIENCE = 4
TIMED, COUNTED = "arrivals", "messages"
_KINDS = ("sums", "operands", COUNTED, TIMED)


def strongest(family: Family) -> str:
    """Return the kind of evidence that tells most algorithms of an MPI apart."""
    return COUNTED if family == "openmpi" else TIMED


@dataclass(frozen=True)
class Print:
    """What was seen of one call: digests of each kind, two a launch; what is not known lacks."""

    kinds: Mapping[str, tuple[str, ...]]

    def same(self, other: Print) -> bool | None:
        """Return whether both are of one algorithm, None where nothing tells."""
        told = self._told(other)
        return all(self.kinds[k][0] == other.kinds[k][0] for k in told) if told else None

    def by_time_only(self, other: Print) -> bool:
        """Return whether only the kind for which ranks are held back tells both apart."""
        differ = {k for k in self._told(other) if self.kinds[k][0] != other.kinds[k][0]}
        return differ == {TIMED}

    def told_by(self, kind: str, other: Print) -> bool:
        """Return whether a kind of evidence was seen of both, and the same each time."""
        return kind in self._told(other)

    def seen_again(self, again: Print, longer: bool) -> Print:
        """Return both together, of the same settings: what was not the same tells nothing.

        `longer`: ranks were held for longer there, and what that showed replaces what was seen
        before.
        """
        names = {**self.kinds, **again.kinds}
        kinds = {k: (*self.kinds.get(k, ()), *again.kinds.get(k, ())) for k in names}
        if longer and TIMED in again.kinds:
            kinds[TIMED] = again.kinds[TIMED]
        return Print(kinds)

    def _told(self, other: Print) -> list[str]:
        return [k for k in _KINDS if self._steady(k) and other._steady(k)]

    def _steady(self, kind: str) -> bool:
        return len(set(self.kinds.get(kind, ()))) == 1


@dataclass
class Prints:
    """What a set of launches saw, by call; for those that failed, why; and what ended one only."""

    seen: dict[tuple[str, int, int], Print] = field(default_factory=dict)
    failed: dict[tuple[str, int, int], str] = field(default_factory=dict)
    once: dict[tuple[str, int, int], str] = field(default_factory=dict)

    def add(self, again: Prints, longer: bool) -> None:
        for call, new in again.seen.items():
            old = self.seen.get(call)
            self.seen[call] = old.seen_again(new, longer) if old else new
        self.failed.update(again.failed)
        self.once.update(again.once)


@dataclass(frozen=True)
class ProbePlace:
    """Where the launches run: this machine, or `hosts` with `ppn` ranks each.

    `folder` is a directory that all of them see, for small files; None: the temporary one.
    """

    installation: MPIInstallation
    hosts: tuple[str, ...] = ()
    ppn: int | None = None
    folder: Path | None = None


def take(
    place: ProbePlace,
    cases: Sequence[CheckCase],
    ranks: int,
    settings: Mapping[str, str],
    unset: Sequence[str],
    held: Mapping[tuple[str, int, int], int],
) -> Prints:
    """Return the fingerprints of calls under settings.

    A call that ends two jobs is left out, and the rest is done without it.

    `held`: by call, for how many milliseconds ranks are held back at first; where nothing is said
    no rank is.
    """
    prints, patience = Prints(), PATIENCE
    ended: Counter[tuple[str, int, int] | None] = Counter()
    left = list(dict.fromkeys(c.call for c in cases))
    while left:
        culprit, why = _launch(place, left, ranks, settings, unset, held, prints)
        left = [c for c in left if c not in prints.seen]
        if why is None:
            break
        # without a case in hand the MPI did not start at all with these settings
        gone = left if culprit is None else [c for c in left if c == culprit] or left
        ended[culprit] += 1
        if ended[culprit] < LAUNCHES:
            prints.once |= dict.fromkeys(gone, why)
            continue
        patience -= 1
        if culprit and patience <= 0:  # enough: the other sizes are not tried any more
            gone = [c for c in left if c[::2] == culprit[::2]] or left
        prints.failed |= dict.fromkeys(gone, why)
        left = [c for c in left if c not in prints.failed]
    prints.once = {c: why for c, why in prints.once.items() if c not in prints.failed}
    return prints


def _launch(
    place: ProbePlace,
    calls: Sequence[tuple[str, int, int]],
    ranks: int,
    settings: Mapping[str, str],
    unset: Sequence[str],
    held: Mapping[tuple[str, int, int], int],
    prints: Prints,
) -> tuple[tuple[str, int, int] | None, str | None]:
    """Run once; return the call at which it ended before its time and the MPI's words.

    When all was seen it does not matter how it ended: Open MPI 5 with its monitoring and HAN may
    crash while it takes communicators down.
    """
    mpi = place.installation
    with _folder(place.folder) as folder:
        here = Path(folder)
        job, status, log = here / "job", here / "status", here / "log"
        output = here / "output"
        job.write_text(_job(calls, output, status, held), encoding="utf-8")
        command, environ = mpi.launch(
            ranks,
            [str(library("bench", mpi.abi)), "--fingerprint", str(job)],
            ppn=place.ppn,
            hosts=place.hosts,
            bind="none",
            variables=_telling(mpi.family) | dict(settings),
            oversubscribe=True,
        )
        environ |= _telling(mpi.family)
        for name in (*_CLEARED, *unset):
            if name not in settings:
                environ.pop(name, None)
        if mpi.libmpi is not None:
            paths = [str(mpi.libmpi.parent), environ.get("LD_LIBRARY_PATH", "")]
            environ["LD_LIBRARY_PATH"] = ":".join(paths).rstrip(":")
        beat = [time.monotonic(), -1.0]

        def stuck() -> bool:
            at = read_status(status)
            done = -1 if at is None else at.done
            if done != beat[1]:
                beat[:] = [time.monotonic(), done]
            return time.monotonic() - beat[0] > (START_S if at is None else CASE_S)

        ended = process.run(command, environ, log, stuck)
        _read(output, prints)
        if ended.status == 0 or all(call in prints.seen for call in calls):
            return None, None
        at = read_status(status)
        words = telling(ended.output) or f"exit status {ended.status}"
        why = f"it hung for {CASE_S:.0f} s" if ended.stopped else f"the job ended: {words}"
        if at is None:
            return None, why
        return (at.collective, at.bytes, int(at.candidate.partition("@")[0])), why


def _folder(parent: Path | None) -> tempfile.TemporaryDirectory[str]:
    try:
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
            parent = parent.resolve()
        return tempfile.TemporaryDirectory(prefix=".stretto-export-", dir=parent)
    except OSError as error:
        raise StrettoError(
            f"cannot create a directory that all hosts share: {error.strerror}",
            parent,
            "give a writable directory: --times DIR",
        ) from error


def _telling(family: Family) -> dict[str, str]:
    """Return what makes an MPI count messages.

    The switches by which MPICH and Intel MPI refuse what they cannot do tell nothing: MPICH's files
    do not obey them, and Intel MPI's own decisions fail by them.
    """
    if family != "openmpi":
        return {}
    out = {"OMPI_MCA_pml_monitoring_enable": "1"}
    # Where the user names the ones to use, the monitoring one must be among them; its other half,
    # before the collectives, is of no use.
    pml, coll = "OMPI_MCA_pml", "OMPI_MCA_coll"
    have = {name: os.environ.get(name, "") for name in (pml, coll)}
    if have[pml] and not have[pml].startswith("^"):
        out[pml] = f"{have[pml]},monitoring"
    if not have[coll] or have[coll].startswith("^"):
        out[coll] = ",".join([have[coll] or "^", "monitoring"]).replace("^,", "^")
    return out


def _job(
    calls: Sequence[tuple[str, int, int]],
    output: Path,
    status: Path,
    held: Mapping[tuple[str, int, int], int],
) -> str:
    lines = ["stretto-job 1", f"output {output}", f"status {status}"]
    for call in calls:
        collective, size, ranks = call
        datatype = "MPI_FLOAT" if collective in REDUCTIONS else "MPI_BYTE"
        lines.append(f"case {collective} {size} {datatype} MPI_SUM 0")
        lines.append(f"candidate {ranks}@{held[call]}" if held.get(call) else f"candidate {ranks}")
    return "\n".join([*lines, "end", ""])


def _read(output: Path, prints: Prints) -> None:
    try:
        lines = output.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            value = json_value(line)
            call = (str(value["collective"]), int(value["bytes"]), int(value["ranks"]))
            kinds = {k: (str(value[k][0]), str(value[k][1])) for k in _KINDS if k in value}
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise StrettoError(f"a line of the fingerprint program: {line[:80]}", output) from error
        prints.seen[call] = Print(kinds)
