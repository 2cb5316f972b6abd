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
from typing import Literal

from stretto.campaign.settings import REDUCTIONS
from stretto.campaign.variants import settings_environment
from stretto.errors import StrettoError
from stretto.export import examine, probe
from stretto.export.cases import Case, cases_of
from stretto.export.openmpi import COMPOUND
from stretto.export.output import SCRIPT
from stretto.export.probe import Print, Prints
from stretto.files.export import EXPORT, NAME, REMEDY, ExportManifest
from stretto.mpi.base import MPIInstallation
from stretto.progress import Progress

Status = Literal["proven", "unproven", "wrong"]


@dataclass(frozen=True)
class Verdict:
    """What was found of one row, or of what has no row (``row`` None)."""

    row: int | None
    words: str
    status: Status
    why: str
    remedy: str | None = None
    place: str | None = None


@dataclass(frozen=True)
class Plan:
    """Where and how far to check.

    Attributes
    ----------
    installation
        The MPI; None: only read the files.
    hosts
        Nodes for rows of several nodes.
    most_ranks
        More ranks than these are not started on this machine.
    folder
        A directory that all hosts see; the export's own by default.
    """

    installation: MPIInstallation | None
    hosts: tuple[str, ...] = ()
    most_ranks: int = 16
    folder: Path | None = None


def read(directory: Path) -> tuple[ExportManifest, dict[str, str]]:
    """Return what an export was to say, and the variables that its script sets.

    Parameters
    ----------
    directory
        The export's.
    """
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
    return manifest, {n: v for n, v in found.items() if n not in shells}


def check(directory: Path, plan: Plan, quiet: bool = False) -> list[Verdict]:
    """Return a verdict for each row, and for each fault besides.

    Parameters
    ----------
    directory
        The export's.
    plan
        Where and how far to check.
    quiet
        Show no progress.
    """
    manifest, environment = read(directory)
    faults = examine.examine(manifest, directory, environment, plan.installation)
    verdicts = [_of_fault(manifest, fault) for fault in faults]
    ran: dict[int | None, Verdict] = {}
    if plan.installation:
        plan = replace(plan, folder=plan.folder or directory.resolve())
        ran = run(manifest, environment, plan, quiet)
    named = {v.row for v in verdicts}
    for index, row in enumerate(manifest.rows):
        found = ran.get(index)
        if found is None:
            found = Verdict(index, row.words, "unproven", "no MPI has loaded it here")
        if index not in named or found.status == "wrong":
            verdicts.append(found)
    if None in ran:
        verdicts.append(ran[None])
    return verdicts


def _of_fault(manifest: ExportManifest, fault: examine.Fault) -> Verdict:
    words = "the whole file" if fault.row is None else manifest.rows[fault.row].words
    return Verdict(fault.row, words, "wrong", fault.message, fault.remedy, fault.place)


def run(
    manifest: ExportManifest, environment: Mapping[str, str], plan: Plan, quiet: bool = False
) -> dict[int | None, Verdict]:
    """Return the verdicts of running the MPI with the files, by row; None: what has no row.

    Parameters
    ----------
    manifest, environment
        From `read`.
    plan
        Where, with an installation.
    quiet
        Show no progress.
    """
    out: dict[int | None, Verdict] = {}
    groups: dict[tuple[tuple[str, ...], int | None, int], list[Case]] = {}
    for case in cases_of(manifest):
        where = _where(manifest, case, plan)
        if isinstance(where, str):
            if case.inside and case.row is not None:
                words = manifest.rows[case.row].words
                out.setdefault(case.row, Verdict(case.row, words, "unproven", where))
            continue
        groups.setdefault(where, []).append(case)
    for (hosts, ppn, ranks), cases in _joined(groups).items():
        assert plan.installation is not None
        place = probe.Place(plan.installation, hosts, ppn, plan.folder if hosts else None)
        out |= _judge_group(manifest, environment, place, cases, ranks, quiet)
    for index, row in enumerate(manifest.rows):
        reason = "its sizes cannot be called here: too large, or no whole number of elements"
        out.setdefault(index, Verdict(index, row.words, "unproven", reason))
    return out


def _where(
    manifest: ExportManifest, case: Case, plan: Plan
) -> tuple[tuple[str, ...], int | None, int] | str:
    """Return hosts, ranks per node and ranks of the launch for a case; or why there is none."""
    row = (
        max(manifest.rows, key=lambda r: r.nranks) if case.row is None else manifest.rows[case.row]
    )
    if row.nodes > 1:
        if len(plan.hosts) < row.nodes:
            return f"it needs {row.nodes} nodes: --hosts A,B,..."
        if case.ranks > row.nranks:
            return "more ranks than the nodes have"
        return plan.hosts[: row.nodes], row.ppn, row.nranks
    if case.ranks > plan.most_ranks:
        return f"{case.ranks} ranks are too many for this machine: --most-ranks, or on its own node"
    return (), None, case.ranks


def _joined(
    groups: Mapping[tuple[tuple[str, ...], int | None, int], list[Case]],
) -> dict[tuple[tuple[str, ...], int | None, int], list[Case]]:
    """Join what runs on this machine into one launch with the most ranks."""
    here = [case for (hosts, _, _), cases in groups.items() if not hosts for case in cases]
    out = {where: cases for where, cases in groups.items() if where[0]}
    if here:
        out[(), None, max(c.ranks for c in here)] = here
    return out


def _judge_group(
    manifest: ExportManifest,
    environment: Mapping[str, str],
    place: probe.Place,
    cases: list[Case],
    ranks: int,
    quiet: bool,
) -> dict[int | None, Verdict]:
    variants = _variants(manifest, environment, place.installation, cases)
    seen: list[tuple[list[Case], Prints]] = [(mine, Prints()) for mine, _ in variants]
    unset = sorted({name for _, settings in variants for name in settings})

    def look(some: Sequence[Case], hold: Sequence[Case], ms: int, longer: bool, n: int) -> None:
        held = {c.call: ms for c in hold}
        progress.update(progress.done, total=progress.done + n)
        for i, (mine, settings) in enumerate(variants[:n]):
            these = [c for c in mine if c in some]
            prints = probe.take(place, these, ranks, settings, unset, held)
            seen[i][1].add(prints, longer)
            progress.advance(1)

    with Progress("checking rows", len(variants), quiet=quiet) as progress:
        # Messages are counted or sums compared first: no rank need be held back for that.
        counted = place.installation.family == "openmpi"
        hold = [] if counted else [c for c in cases if c.collective not in REDUCTIONS]
        look(cases, hold, probe.HOLD_MS, False, len(variants))
        alike = [] if counted else [c for c in cases if c not in hold and _alike(c, seen)]
        if alike:
            look(alike, alike, probe.HOLD_MS, False, len(variants))
        # Once more what may be chance: a row is called wrong by two launches that agree, held for
        # longer, and proven only where the MPI by itself was seen twice to do otherwise.
        verdicts = _verdicts(manifest, cases, seen)
        wrong = {row for row, verdict in verdicts.items() if verdict.status == "wrong"}
        doubtful = [c for c in cases if c.row in wrong and not _failed(c, seen)]
        if doubtful:
            timed = [c for c in doubtful if _by_time(c, seen)]
            look(doubtful, timed, 4 * probe.HOLD_MS, True, len(variants))
        proven = [c for c in cases if c.row not in wrong and c.inside and _differs(c, seen)]
        if proven:
            timed = [c for c in proven if _by_time(c, seen)]
            look(proven, timed, 3 * probe.HOLD_MS, False, 1)
    verdicts = _verdicts(manifest, cases, seen)
    return {index: _with_hiccups(verdict, cases, seen) for index, verdict in verdicts.items()}


def _with_hiccups(
    verdict: Verdict, cases: Sequence[Case], seen: Sequence[tuple[list[Case], Prints]]
) -> Verdict:
    """Say it where a launch ended before its time, and another one with the same settings did not.

    It may have been the machine; an algorithm that fails now and then looks the same.
    """
    calls = {c.call: c.words for c in cases if c.row == verdict.row}
    for mine, prints in seen:
        for call in (c.call for c in mine if c.call in prints.once and c.call in calls):
            why = f"one launch did not get through {calls[call]}: {prints.once[call]}"
            return replace(verdict, why=f"{verdict.why}; {why}")
    return verdict


def _prints(case: Case, seen: Sequence[tuple[list[Case], Prints]]) -> list[Print]:
    """Return what was seen of a call: by itself, with the files, forced."""
    return [p.seen[case.call] for mine, p in seen if case in mine and case.call in p.seen]


def _differs(case: Case, seen: Sequence[tuple[list[Case], Prints]]) -> bool:
    prints = _prints(case, seen)
    return any(one.same(other) is False for one in prints for other in prints)


def _alike(case: Case, seen: Sequence[tuple[list[Case], Prints]]) -> bool:
    """Tell whether a call inside a row is not told from the MPI's own decision yet."""
    return case.inside and not _failed(case, seen) and not _differs(case, seen)


def _by_time(case: Case, seen: Sequence[tuple[list[Case], Prints]]) -> bool:
    """Tell whether what is held against the MPI's own decision rests on held ranks alone."""
    prints = _prints(case, seen)
    pairs = [(a, b) for a in prints for b in prints if a.same(b) is False]
    return bool(pairs) and all(a.by_time_only(b) for a, b in pairs)


def _failed(case: Case, seen: Sequence[tuple[list[Case], Prints]]) -> bool:
    return any(case.call in prints.failed for _, prints in seen)


def _variants(
    manifest: ExportManifest,
    environment: Mapping[str, str],
    mpi: MPIInstallation,
    cases: list[Case],
) -> list[tuple[list[Case], dict[str, str]]]:
    """Return cases and settings of the launches: by itself, with the files, with rows forced.

    Rows with the same settings are forced in one launch.
    """
    out: list[tuple[list[Case], dict[str, str]]] = [(cases, {}), (cases, dict(environment))]
    forced: list[tuple[list[Case], dict[str, str]]] = []
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


def _verdicts(
    manifest: ExportManifest, cases: list[Case], seen: Sequence[tuple[list[Case], Prints]]
) -> dict[int | None, Verdict]:
    default, with_files = seen[0][1], seen[1][1]
    out: dict[int | None, Verdict] = {}
    for index in dict.fromkeys(c.row for c in cases):
        mine = [c for c in cases if c.row == index]
        forced = [p for some, p in seen[2:] if any(c in some for c in mine)]
        found = [_one(c, default, with_files, forced[0] if forced else default) for c in mine]
        if index is not None and _compound(manifest, index):
            words = "it calls other collectives, and those have rows, too"
            found = [
                ("unproven", words) if s == "wrong" and why.startswith(_ANOTHER) else (s, why)
                for s, why in found
            ]
        wrong = [
            (c, why) for c, (status, why) in zip(mine, found, strict=True) if status == "wrong"
        ]
        words = "calls without a row" if index is None else manifest.rows[index].words
        if wrong:
            case, why = wrong[0]
            out[index] = Verdict(index, words, "wrong", f"{case.words}: {why}", REMEDY)
            continue
        proven = [c for c, (status, _) in zip(mine, found, strict=True) if status == "proven"]
        inside = [c for c in mine if c.inside]
        if index is None:
            status: Status = "proven" if proven else "unproven"
            why = "as without the files" if proven else found[0][1]
            out[index] = Verdict(index, words, status, why)
        elif any(c.inside for c in proven):
            sizes = ", ".join(str(c.bytes) for c in proven if c.inside)
            beside = sum(not c.inside for c in proven)
            why = f"it holds at {sizes} bytes" + (
                f", and {beside} calls beside it are untouched" if beside else ""
            )
            out[index] = Verdict(index, words, "proven", why)
        else:
            reasons = [why for c, (_, why) in zip(mine, found, strict=True) if c.inside]
            out[index] = Verdict(
                index, words, "unproven", reasons[0] if inside else "nothing to see"
            )
    return out


_ANOTHER = "another algorithm"


def _compound(manifest: ExportManifest, index: int) -> bool:
    """Tell whether a row's algorithm is built of collectives that have rows themselves."""
    row = manifest.rows[index]
    values = {value for name, value in row.settings if name.endswith("_algorithm")}
    return any((row.collective, value) in COMPOUND for value in values) and any(
        r.collective != row.collective and r.nranks == row.nranks for r in manifest.rows
    )


def _one(case: Case, default: Prints, files: Prints, forced: Prints) -> tuple[Status, str]:
    """Judge one call."""
    call = case.call
    if call in default.failed:
        return "unproven", f"the MPI by itself fails here: {default.failed[call]}"
    if call in files.failed:
        return "wrong", f"with the files {files.failed[call]}"
    if call not in files.seen or call not in default.seen:
        return "unproven", "it was not reached"
    ours, own = files.seen[call], default.seen[call]
    as_default = ours.same(own)
    if not case.inside:
        if as_default is False:
            return "wrong", "the files change it, and it is to be the MPI's own decision"
        return ("unproven", "nothing tells") if as_default is None else ("proven", "untouched")
    if call in forced.failed:
        return "unproven", f"the algorithm by itself fails here: {forced.failed[call]}"
    if call not in forced.seen:
        return "unproven", "it was not reached"
    as_forced, differs = ours.same(forced.seen[call]), own.same(forced.seen[call])
    if as_forced is None:
        return "unproven", "nothing tells this collective's algorithms apart here"
    if not as_forced:
        what = "the MPI's own decision" if as_default else _ANOTHER
        return "wrong", f"{what} runs instead of the row's"
    if differs is False:
        return "proven", "as when forced"
    return "unproven", "the MPI by itself does the same here, as far as can be seen"
