"""Candidates: Stretto's choices (asked from the plan library) and native algorithms."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stretto import plan
from stretto.built import library
from stretto.errors import StrettoError, UsageError
from stretto.files.table import NEIGHBORHOODS, TUNABLE, plan_says
from stretto.kinds import Abi, Family
from stretto.measure.baseline import with_bare
from stretto.measure.compare import BARE, NATIVE
from stretto.measure.settings import EXTRA, check_candidates
from stretto.measure.show import columns
from stretto.mpi.algorithms import NativeAlgorithm, discover, named
from stretto.mpi.algorithms.base import PREFIX
from stretto.mpi.algorithms.forced import RULES, exported, forced, mark_of
from stretto.mpi.algorithms.openmpi import hiding
from stretto.mpi.algorithms.pairs import settings_environment
from stretto.mpi.base import MPIInstallation
from stretto.mpi.known import check_settings
from stretto.mpi.variables import control_variables

#: all algorithms of the MPI, as they come; and each with values for its parameters, too
ALL, EVERY = PREFIX + "all", PREFIX + "every"
#: what names files of rules to Open MPI's coll/tuned and HAN
RULES_FILES = tuple(RULES)


def fitting(
    installation: MPIInstallation, collective: str, nranks: int, nodes: int, every: bool = False
) -> list[NativeAlgorithm]:
    """Return the MPI's algorithms for a collective that can run on a layout."""
    found = [
        a for a in discover(installation) if a.collective == collective and a.fits(nranks, nodes)
    ]
    return [v for a in found for v in a.variations()] if every else found


def resolve(
    candidates: Sequence[str],
    installation: MPIInstallation,
    collective: str,
    nranks: int,
    nodes: int,
) -> list[str]:
    """Return candidates with the names of native algorithms replaced by the settings they mean.

    `candidates`: ``native:ring``, ``native:all``, ``native:every``; others stay as they are. A name
    that the MPI has for other collectives only is left out.
    """
    out: list[str] = []
    for candidate in candidates:
        name = candidate.removeprefix(PREFIX)
        if not candidate.startswith(PREFIX) or "=" in name:
            out.append(candidate)
        elif candidate in (ALL, EVERY):
            found = fitting(installation, collective, nranks, nodes, candidate == EVERY)
            out += [a.candidate for a in found]
        else:
            out += [a.candidate for a in _by_name(installation, collective, name)]
    if any(c.startswith(PREFIX) for c in out):
        _refuse_rules(installation)
    _unlisted(installation, candidates)
    return list(dict.fromkeys(out))


def asked(
    names: Sequence[str], installation: MPIInstallation, collective: str, nranks: int, nodes: int
) -> list[str]:
    """Return what candidates mean for a collective, with their baselines; others are left out."""
    found = check_candidates(collective, resolve(names, installation, collective, nranks, nodes))
    return [c for c in found if c.startswith((NATIVE, BARE)) or plan_says(collective, c) is None]


def unlisted(installation: MPIInstallation, candidates: Sequence[str]) -> list[str]:
    """Refuse what would be measured as something else; return a sentence for what might be.

    That is settings that the MPI does not know, or does not list, and what the environment says to
    the MPI that is measured by itself.

    `candidates`: ``native:NAME=VALUE,...`` as the user gave them; others are of no interest.
    """
    return [
        *by_itself(installation.family, os.environ),
        *_unlisted(installation, candidates),
        *_hidden(installation, candidates),
    ]


def _hidden(installation: MPIInstallation, candidates: Sequence[str]) -> list[str]:
    asked = any(c.startswith(PREFIX) for c in candidates)
    if not asked or installation.family != "openmpi":
        return []
    return hiding(control_variables(installation), os.environ)


def by_itself(family: Family, environ: Mapping[str, str]) -> list[str]:
    """Refuse an environment in which an export of Stretto's is in force; return what else is.

    Its launches would be measured as "the MPI by itself", which has nothing to gain there.
    """
    ours = exported(family, environ)
    if ours:
        names = " ".join([*ours, *(n for n in [mark_of(family)] if n in environ)])
        raise StrettoError(
            "an export of Stretto is active (its script was sourced, or its module loaded), so "
            "native would be measured with it",
            ", ".join(f"{n}={environ[n]}" for n in ours),
            f"measure in a new shell, or unload the module; in this shell: unset {names}",
        )
    found = forced(family, environ)
    if not found:
        return []
    are = "is set here, and is" if len(found) == 1 else "are set here, and are"
    return [f"{', '.join(found)} {are} included in the measurement of native"]


def _unlisted(installation: MPIInstallation, candidates: Sequence[str]) -> list[str]:
    out: list[str] = []
    for candidate in candidates:
        if candidate.startswith(PREFIX) and "=" in candidate:
            words = settings_environment(installation.family, candidate.removeprefix(PREFIX))
            out += check_settings(installation, words, f"the candidate {candidate}")
    return list(dict.fromkeys(out))


def _refuse_rules(installation: MPIInstallation) -> None:
    """Refuse an environment in which Open MPI's algorithms are not what they are called.

    A file of rules (a tuning export that was sourced, or a site's module) counts in 4 for more than
    an algorithm that is set, and in every release where none is: what is timed would have another
    one's name.
    """
    found = (
        [n for n in RULES_FILES if os.environ.get(n)] if installation.family == "openmpi" else []
    )
    if found:
        raise StrettoError(
            f"{found[0]} names a file of rules that overrides the selected algorithm (always in "
            "Open MPI 4): times would get the name of the wrong algorithm",
            os.environ[found[0]],
            f"measure without it: unset {' '.join(found)}, or unload the module that sets it",
        )


def _by_name(installation: MPIInstallation, collective: str, name: str) -> list[NativeAlgorithm]:
    algorithms = discover(installation)
    mine = [a for a in algorithms if a.collective == collective]
    if any(name in (a.label, a.name, a.value) for a in mine):
        return [named(mine, collective, name)]
    if any(name in (a.label, a.name) for a in algorithms):
        return []
    return [named(algorithms, collective, name, installation.name)]  # says what there is


def labels(installation: MPIInstallation, candidates: Iterable[str]) -> dict[str, str]:
    wanted = {c for c in candidates if c.startswith(PREFIX)}
    if not wanted:
        return {}
    every = (v for a in discover(installation) for v in a.variations())
    return {v.candidate: v.label for v in every if v.candidate in wanted}


def listed(
    installation: MPIInstallation, collectives: Sequence[str], nranks: int, nodes: int
) -> list[dict[str, Any]]:
    return [
        {
            "collective": collective,
            "algorithm": a.label,
            "takes": [p.name for p in a.parameters],
            "candidate": a.candidate,
        }
        for collective in collectives
        for a in fitting(installation, collective, nranks, nodes)
    ]


def list_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [("collective", "algorithm", "takes", "candidate")]
    rows += [
        (a["collective"], a["algorithm"], ", ".join(a["takes"]), a["candidate"]) for a in found
    ]
    return columns(rows, 4)


def own_choices(collective: str, nodes: int, nranks: int) -> list[str]:
    """Return Stretto's own choices for a collective on a layout.

    `collective`: ``allreduce``.
    """
    choices = plan.choices(collective, nranks=nranks, nodes=nodes)
    return [c for c in choices if not c.startswith(NATIVE)][:40]


def default_candidates(
    collective: str, abi: Abi, nodes: int, nranks: int, size: int | None = None
) -> list[str]:
    """Return what is measured when the user names nothing: native and all that fits.

    `collective`: ``allreduce``.
    """
    if collective in EXTRA:
        return [BARE, NATIVE]
    if not has_interposer(abi):
        return [BARE]
    if collective not in TUNABLE + NEIGHBORHOODS:
        return [NATIVE]
    names = [NATIVE, *own_choices(collective, nodes, nranks)]
    return names if size is None else with_bare(names, size, nodes)


def has_interposer(abi: Abi) -> bool:
    try:
        library("interposer", abi)
    except StrettoError:
        return False
    return True


def refuse_unknown(
    collectives: Sequence[str], candidates: Sequence[str], place: str = "--candidates"
) -> None:
    """Refuse a candidate that is a choice for none of the collectives."""
    for candidate in candidates:
        if candidate.startswith((NATIVE, BARE)):
            continue
        problems = [plan_says(c, candidate) for c in collectives if c not in EXTRA]
        if problems and all(problems):
            raise UsageError(str(problems[0]), place, "stretto plan list names the algorithms")
