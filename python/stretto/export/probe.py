"""Runs the fingerprint program (src/bench/fingerprint.c) under an MPI with given settings."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stretto.campaign import process, programs
from stretto.campaign.job import read_status
from stretto.campaign.settings import REDUCTIONS
from stretto.errors import StrettoError
from stretto.export.cases import Case
from stretto.files.identity import Family
from stretto.mpi.base import MPIInstallation

#: variables that would bring something else into the run than the MPI and its settings
_CLEARED = ("LD_PRELOAD", "STRETTO_TABLE", "STRETTO_CHOICE", "STRETTO_DISABLE")
#: a rank is held back for so long at first, so that what waits for it can be told
HOLD_MS = 60
START_S, CASE_S = 60.0, 60.0
#: after so many calls that ended the job all sizes of the next one count as failed
PATIENCE = 4
_KINDS = ("sums", "messages", "arrivals")


@dataclass(frozen=True)
class Print:
    """What was seen of one call: a digest of each kind, twice; kinds that are not known lack."""

    kinds: Mapping[str, tuple[str, str]]

    def same(self, other: Print) -> bool | None:
        """Return whether both are of one algorithm, None where nothing tells.

        Parameters
        ----------
        other
            Of the same call.
        """
        told = [k for k in _KINDS if self._steady(k) and other._steady(k)]
        if not told:
            return None
        return all(self.kinds[k] == other.kinds[k] for k in told)

    def _steady(self, kind: str) -> bool:
        pair = self.kinds.get(kind)
        return pair is not None and pair[0] == pair[1]


@dataclass
class Prints:
    """What a set of launches saw, by call; and for those that failed, why."""

    seen: dict[tuple[str, int, int], Print] = field(default_factory=dict)
    failed: dict[tuple[str, int, int], str] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """Where the launches run: this machine, or `hosts` with `ppn` ranks each.

    `folder` is a directory that all of them see, for small files; None: the temporary one.
    """

    installation: MPIInstallation
    hosts: tuple[str, ...] = ()
    ppn: int | None = None
    folder: Path | None = None


def take(
    place: Place,
    cases: Sequence[Case],
    ranks: int,
    settings: Mapping[str, str],
    unset: Sequence[str],
    hold_ms: int = HOLD_MS,
) -> Prints:
    """Return the fingerprints of calls under settings.

    A call that ends the job is left out, and the rest is done without it.

    Parameters
    ----------
    place
        Where to run.
    cases
        The calls.
    ranks
        Ranks of the launch.
    settings
        Variables for all ranks.
    unset
        Variables that must not be there besides.
    hold_ms
        For how long ranks are held back, where that is how algorithms are told.
    """
    prints, launches = Prints(), 0
    left = list(dict.fromkeys(c.call for c in cases))
    while left:
        culprit, why = _launch(place, left, ranks, settings, unset, hold_ms, prints)
        left = [c for c in left if c not in prints.seen]
        if why is None:
            break
        # without a case in hand the MPI did not start at all with these settings
        launches += 1
        gone = left if culprit is None else [c for c in left if c == culprit]
        if culprit and launches >= PATIENCE:  # enough: the other sizes are not tried any more
            gone = [c for c in left if c[::2] == culprit[::2]]
        for call in gone or left:
            prints.failed[call] = why
        left = [c for c in left if c not in prints.failed]
    return prints


def _launch(
    place: Place,
    calls: Sequence[tuple[str, int, int]],
    ranks: int,
    settings: Mapping[str, str],
    unset: Sequence[str],
    hold_ms: int,
    prints: Prints,
) -> tuple[tuple[str, int, int] | None, str | None]:
    """Run once; return the call at which it ended before its time and the MPI's words.

    When all was seen it does not matter how it ended: Open MPI 5 with its monitoring and HAN may
    crash while it takes communicators down.
    """
    mpi = place.installation
    with tempfile.TemporaryDirectory(prefix=".stretto-export-", dir=place.folder) as folder:
        here = Path(folder)
        job, status, log = here / "job", here / "status", here / "log"
        output = here / "output"
        job.write_text(_job(calls, output, status, mpi, hold_ms), encoding="utf-8")
        command, environ = mpi.launch(
            ranks,
            [str(programs.bench_program(mpi.abi)), "--fingerprint", str(job)],
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
        words = process.short(ended.output) or f"exit status {ended.status}"
        why = f"it hung for {CASE_S:.0f} s" if ended.stopped else f"the job ended: {words}"
        if at is None:
            return None, why
        return (at.collective, at.bytes, int(at.candidate.partition("@")[0])), why


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
    mpi: MPIInstallation,
    hold_ms: int,
) -> str:
    lines = ["stretto-job 1", f"output {output}", f"status {status}"]
    for collective, size, ranks in calls:
        reduces = collective in REDUCTIONS
        lines.append(f"case {collective} {size} {'MPI_FLOAT' if reduces else 'MPI_BYTE'} MPI_SUM 0")
        held = "" if reduces or collective == "barrier" or mpi.family == "openmpi" else hold_ms
        lines.append(f"candidate {ranks}@{held}" if held else f"candidate {ranks}")
    return "\n".join([*lines, "end", ""])


def _read(output: Path, prints: Prints) -> None:
    try:
        lines = output.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            value = json.loads(line)
            call = (str(value["collective"]), int(value["bytes"]), int(value["ranks"]))
            kinds = {k: (str(value[k][0]), str(value[k][1])) for k in _KINDS if k in value}
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise StrettoError(f"a line of the fingerprint program: {line[:80]}", output) from error
        prints.seen[call] = Print(kinds)
