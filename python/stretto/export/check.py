"""``stretto export --check``: each row of native files takes effect, and nothing else changes.

The MPI runs by itself, with the files, and with each row's algorithm forced by settings of its own.
A row is proven when, inside it, the files give what forcing gives and the MPI by itself does not;
beside it, the files must give what the MPI does by itself.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stretto.errors import StrettoError
from stretto.export import examine, probe
from stretto.export.cases import CheckCase, cases_of
from stretto.export.everywhere import unseen
from stretto.export.output import SCRIPT
from stretto.export.probe import Prints
from stretto.export.users import family_of, waking, woken
from stretto.export.verdicts import RowCheck, Seen, prints_of, unseen_of, verdicts_of
from stretto.files.export import EXPORT, NAME, REMEDY, ExportManifest, filled
from stretto.measure.settings import REDUCTIONS
from stretto.mpi.algorithms.forced import MARKS, settable
from stretto.mpi.algorithms.openmpi import hiding
from stretto.mpi.algorithms.pairs import settings_environment
from stretto.mpi.base import MPIInstallation
from stretto.mpi.openmpi import OpenMPI
from stretto.mpi.variables import control_variables
from stretto.progress import Progress

#: so often is looked once more, with ranks held for longer, where too little was seen even so
MORE_LOOKS = 2


@dataclass(frozen=True)
class CheckPlan:
    """Where and how far to check.

    `folder`: a directory that all hosts see; by default the export's own, or the working directory
    where nothing can be written there (a site's export).
    """

    installation: MPIInstallation | None
    hosts: tuple[str, ...] = ()
    most_ranks: int = 16
    folder: Path | None = None


def read(directory: Path) -> tuple[ExportManifest, dict[str, str]]:
    """Return what an export was to say, and the variables that its script sets."""
    manifest = EXPORT.read(directory / NAME)
    script = directory / SCRIPT
    try:
        # the shell sees nothing of ours, so that what it prints is the script's own
        done = subprocess.run(
            ["sh", "-ec", '. "$0" && env -0', str(script.resolve())],
            env={"PATH": os.defpath},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StrettoError(f"the script cannot be sourced: {error}", script, REMEDY) from error
    if done.returncode != 0:
        words = done.stderr.strip() or f"exit status {done.returncode}"
        raise StrettoError(f"the script cannot be sourced: {words}", script, REMEDY)
    pairs = (line.partition("=") for line in done.stdout.split("\0") if "=" in line)
    found = {name: value for name, _, value in pairs}
    shells = ("PATH", "PWD", "OLDPWD", "SHLVL", "_")
    return manifest, {n: v for n, v in found.items() if n not in shells and not n.startswith(MARKS)}


def check(directory: Path, plan: CheckPlan, quiet: bool = False) -> list[RowCheck]:
    """Return a verdict for each row, and for each fault besides."""
    manifest, environment = read(directory)
    verdicts = examine.examine(manifest, directory, environment, plan.installation)
    ran: dict[int | None, RowCheck] = {}
    apart = _apart(manifest, environment, plan)
    if apart:
        verdicts.append(apart)
    elif plan.installation:
        plan = replace(plan, folder=plan.folder or _writable(directory.resolve()))
        ran = run(manifest, environment, plan, quiet)
    named = {v.row for v in verdicts}
    for index, row in enumerate(manifest.rows):
        found = ran.get(index)
        if found is None:
            found = RowCheck(index, row.words, "unproven", "no MPI loaded these files here")
        if index not in named or found.status == "wrong":
            verdicts.append(found)
    if None in ran:
        # looked at without what the user has forced and only the files bring to life
        collectives = [r.collective for r in manifest.rows]
        more = woken(manifest.target, collectives, environment, os.environ)
        if isinstance(plan.installation, OpenMPI):
            more += hiding(control_variables(plan.installation), os.environ)
        verdicts.append(replace(ran[None], why="; ".join([ran[None].why, *more])))
    again = filled(REMEDY, manifest.target, directory)
    return [replace(v, remedy=again) if v.remedy == REMEDY else v for v in verdicts]


def _apart(
    manifest: ExportManifest, environment: Mapping[str, str], plan: CheckPlan
) -> RowCheck | None:
    """Return the verdict on files that not all hosts see: launches there would prove nothing."""
    paths = [Path(environment.get(name, "")) for name in manifest.environment]
    files = [p for p in paths if p.name in manifest.files and p.is_absolute() and p.is_file()]
    if plan.installation is None or len(plan.hosts) < 2 or not files:
        return None
    nodes = unseen(files, plan.hosts, plan.installation)
    if not nodes:
        return None
    sees = "does not see" if len(nodes) == 1 else "do not see"
    return RowCheck(
        None,
        "the files",
        "wrong",
        f"{', '.join(nodes)} {sees} these files, or {'sees' if len(nodes) == 1 else 'see'} "
        "different ones: ranks there would select other algorithms, so nothing was run",
        "write the export to a shared file system, with the same path on every node: --out DIR",
        str(files[0].parent),
    )


def _writable(directory: Path) -> Path:
    """Return a directory, or the working one where nothing can be written in it."""
    return directory if os.access(directory, os.W_OK | os.X_OK) else Path.cwd()


def run(
    manifest: ExportManifest, environment: Mapping[str, str], plan: CheckPlan, quiet: bool = False
) -> dict[int | None, RowCheck]:
    """Return the verdicts of running the MPI with the files, by row; None: what has no row."""
    out: dict[int | None, RowCheck] = {}
    groups: dict[tuple[tuple[str, ...], int | None], list[CheckCase]] = {}
    for case in cases_of(manifest):
        where = _where(manifest, case, plan)
        if isinstance(where, str):
            if case.inside and case.row is not None:
                words = manifest.rows[case.row].words
                out.setdefault(case.row, RowCheck(case.row, words, "unproven", where))
            continue
        groups.setdefault(where, []).append(case)
    for (hosts, ppn), cases in groups.items():
        assert plan.installation is not None
        place = probe.ProbePlace(plan.installation, hosts, ppn, plan.folder if hosts else None)
        ranks = max(c.ranks for c in cases)  # fewer ranks: the first ones of the same launch
        out |= _judge_group(manifest, environment, place, cases, ranks, quiet)
    for index, row in enumerate(manifest.rows):
        reason = "its sizes cannot be run here: too large, or not a multiple of the element size"
        out.setdefault(index, RowCheck(index, row.words, "unproven", reason))
    return out


def _where(
    manifest: ExportManifest, case: CheckCase, plan: CheckPlan
) -> tuple[tuple[str, ...], int | None] | str:
    """Return hosts and ranks per node of the launch for a case; or why there is none."""
    row = (
        max(manifest.rows, key=lambda r: r.nranks) if case.row is None else manifest.rows[case.row]
    )
    if row.nodes > 1:
        if len(plan.hosts) < row.nodes:
            return f"it needs {row.nodes} nodes: --hosts A,B,..."
        if case.ranks > row.nranks:
            return "more ranks than the layout of the row has"
        return plan.hosts[: row.nodes], row.ppn
    if case.ranks > plan.most_ranks:
        words = f"{case.ranks} ranks are too many for this machine"
        return f"{words}: give --most-ranks, or run the check on a compute node"
    return (), None


def _judge_group(
    manifest: ExportManifest,
    environment: Mapping[str, str],
    place: probe.ProbePlace,
    cases: list[CheckCase],
    ranks: int,
    quiet: bool,
) -> dict[int | None, RowCheck]:
    variants = _variants(manifest, environment, place.installation, cases)
    seen: list[tuple[list[CheckCase], Prints]] = [(mine, Prints()) for mine, _ in variants]
    # nor what another export has set in this shell, or what these files alone would wake
    others = waking(manifest.target, (), environment)
    others += settable(family_of(manifest.target))
    unset = sorted({name for _, settings in variants for name in settings}.union(others))
    strongest = probe.strongest(place.installation.family)

    def look(
        some: Sequence[CheckCase], hold: Sequence[CheckCase], ms: int, longer: bool, n: int
    ) -> None:
        held = {c.call: ms for c in hold}
        progress.update(progress.done, total=progress.done + n)
        for i, (mine, settings) in enumerate(variants[:n]):
            these = [c for c in mine if c in some]
            prints = probe.take(place, these, ranks, settings, unset, held)
            seen[i][1].add(prints, longer)
            progress.advance(1)

    with Progress("checking rows", len(variants), quiet=quiet, unit="launches") as progress:
        # Messages are counted or sums compared first: no rank need be held back for that.
        counted = strongest != probe.TIMED
        hold = [] if counted else [c for c in cases if c.collective not in REDUCTIONS]
        look(cases, hold, probe.HOLD_MS, False, len(variants))
        # Sums that are as when forced are not enough: other algorithms add in that order, too.
        alike = [] if counted else [c for c in cases if c not in hold and _as_forced(c, seen)]
        if alike:
            look(alike, alike, probe.HOLD_MS, False, len(variants))
        for turn in range(1 + MORE_LOOKS):
            # A busy machine shows little: what is not known yet is looked at for longer.
            unseen = [] if counted else unseen_of(cases, seen, strongest)
            if unseen:
                look(unseen, unseen, 4 * probe.HOLD_MS, True, len(variants))
            elif turn:
                break
            # Once more what may be chance: a row is called wrong by two launches that agree, held
            # for longer, and proven only where the MPI by itself was seen twice to do otherwise.
            some = unseen if turn else cases
            verdicts = verdicts_of(manifest, cases, seen, strongest)
            wrong = {row for row, verdict in verdicts.items() if verdict.status == "wrong"}
            doubtful = [c for c in some if c.row in wrong and not _failed(c, seen)]
            if doubtful:
                against = {True: _FILES_AND_FORCED, False: _OWN_AND_FILES}
                timed = [c for c in doubtful if _told(c, seen, against[c.inside])[1]]
                look(doubtful, timed, 4 * probe.HOLD_MS, True, len(variants))
            told = {c: _told(c, seen, _OWN_AND_FORCED) for c in some if c.inside}
            proven = [c for c in told if c.row not in wrong and told[c][0]]
            if proven:
                timed = [c for c in proven if told[c][1]]
                look(proven, timed, 3 * probe.HOLD_MS, False, 1)
    verdicts = verdicts_of(manifest, cases, seen, strongest)
    return {index: _with_hiccups(verdict, cases, seen) for index, verdict in verdicts.items()}


def _with_hiccups(verdict: RowCheck, cases: Sequence[CheckCase], seen: Seen) -> RowCheck:
    """Say it where a launch ended before its time, and another one with the same settings did not.

    It may have been the machine; an algorithm that fails now and then looks the same.
    """
    calls = {c.call: c.words for c in cases if c.row == verdict.row}
    for mine, prints in seen:
        for call in (c.call for c in mine if c.call in prints.once and c.call in calls):
            why = f"one launch failed in {calls[call]}: {prints.once[call]}"
            return replace(verdict, why=f"{verdict.why}; {why}")
    return verdict


def _as_forced(case: CheckCase, seen: Seen) -> bool:
    """Tell whether a call inside a row is as when forced, as far as was seen.

    Many algorithms add in the same order, and not only the row's and the native selection: what
    the latter does says nothing about the files.
    """
    both = prints_of(case, seen)[_FILES_AND_FORCED]
    if not case.inside or _failed(case, seen) or len(both) < 2:
        return False
    return both[0].same(both[1]) is not False


#: what was seen of a call inside a row when the MPI was by itself and when it was forced; what is
#: held against the files, inside a row and beside one
_OWN_AND_FORCED, _FILES_AND_FORCED, _OWN_AND_FILES = slice(0, 3, 2), slice(1, 3), slice(0, 2)


def _told(case: CheckCase, seen: Seen, which: slice) -> tuple[bool, bool]:
    """Return whether two launches differ in a call, and whether only held ranks show it."""
    prints = prints_of(case, seen)[which]
    differ = len(prints) == 2 and prints[0].same(prints[1]) is False
    return differ, differ and prints[0].by_time_only(prints[1])


def _failed(case: CheckCase, seen: Seen) -> bool:
    return any(case.call in prints.failed for _, prints in seen)


def _variants(
    manifest: ExportManifest,
    environment: Mapping[str, str],
    mpi: MPIInstallation,
    cases: list[CheckCase],
) -> list[tuple[list[CheckCase], dict[str, str]]]:
    """Return cases and settings of the launches: by itself, with the files, with rows forced.

    Rows with the same settings are forced in one launch.
    """
    out: list[tuple[list[CheckCase], dict[str, str]]] = [(cases, {}), (cases, dict(environment))]
    forced: list[tuple[list[CheckCase], dict[str, str]]] = []
    for index, row in enumerate(manifest.rows):
        mine = [c for c in cases if c.row == index and c.inside]
        text = ",".join(f"{name}={value}" for name, value in row.settings)
        settings = settings_environment(mpi.family, text)
        for others, have in forced:
            # not together with another collective: some are built of others
            if have == settings:
                others += mine
                break
        else:
            if mine:
                forced.append((mine, settings))
    return out + forced
