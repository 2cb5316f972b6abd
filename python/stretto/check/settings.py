"""Judging the settings of an MPI in a job: unknown names, rules that do not apply, bad versions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from stretto.check.finding import Finding, note, problem, warning
from stretto.errors import UsageError
from stretto.launch.job import Job
from stretto.mpi.algorithms.forced import RULES, reads_rules
from stretto.mpi.algorithms.openmpi import selected
from stretto.mpi.base import MPIInstallation
from stretto.mpi.known import check_settings, near_name

#: how the variables of each family begin
_PREFIXES = {"openmpi": "OMPI_MCA_", "mpich": "MPIR_CVAR_", "intel": "I_MPI_"}
#: Open MPI 5 and later: HAN has priority 35, tuned 30 (5.0.11: tests/mpi/test_export_han.py)
_HAN_FIRST = 5
_TUNED_RULES = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
_HAN = ("OMPI_MCA_coll_han_priority", "OMPI_MCA_coll", "OMPI_MCA_coll_tuned_priority")

#: Faults of MPI versions that change results, hang or crash: family, pattern of the version, the
#: variable that leads there or selects the faulty component (empty: none), the component (empty:
#: any value leads there), what happens, remedy. Each was seen by us.
_BAD_VERSIONS = (
    (
        "openmpi", r"4\.1\.4|5\.0\.11", "OMPI_MCA_op", "avx",
        "reductions with AVX gave wrong results in a test (4 ranks, 100 elements, op/avx)",
        "--mca op ^avx",
    ),
    (
        "openmpi", r"4\.1\.4", "OMPI_MCA_coll_han_dynamic_rules_filename", "",
        "a HAN rules file with a rule from global to tuned ends in a segmentation fault",
        "use HAN rules files with Open MPI 5 only",
    ),
    (
        "intel", r"2021\.18(\..*)?", "", "",
        "MPI_Ineighbor_alltoall of few bytes on a ring of one or two ranks gives wrong data",
        "use MPI_Sendrecv there, or another version",
    ),
)  # fmt: skip


def judge_settings(job: Job, several_nodes: bool) -> Iterator[Finding]:
    """Judge the MPI's variables that a job gets, by environment and options."""
    given = job.command.given(job.environ)
    yield from _unknown(job.mpi, given)
    yield from _rules(job, given)
    yield from _overridden(job.mpi, given, several_nodes)
    for family, pattern, variable, component, what, remedy in _BAD_VERSIONS:
        fits = job.mpi.family == family and re.fullmatch(pattern, job.mpi.version)
        value = given.get(variable, "")
        leads = selected(value, component) if component else bool(value) or not variable
        if fits and leads:
            yield note("bad-version", f"{job.mpi.name}: {what}", remedy)


def _unknown(mpi: MPIInstallation, given: Mapping[str, str]) -> Iterator[Finding]:
    """Look for variables that the MPI does not know: it says nothing of them, nor do they act."""
    for name, value in sorted(given.items()):
        family = next((f for f, prefix in _PREFIXES.items() if name.startswith(prefix)), None)
        if family is None:
            continue
        if family != mpi.family and (family, mpi.family) != ("mpich", "intel"):
            yield note(
                "unknown-setting",
                f"{mpi.name} does not read {name}: it is a variable of another MPI",
                f"unset {name}",
            )
            continue
        try:
            doubts = check_settings(mpi, {name: value}, name)
        except UsageError as error:
            yield warning("unknown-setting", f"{name}: {error.message}", error.remedy)
        else:
            near = near_name(mpi, name) if doubts else None
            if near is not None:  # no list is complete: only what looks like a slip is reported
                remedy = f"did you mean {near}?"
                yield warning("unknown-setting", doubts[0], remedy)


def _rules(job: Job, given: Mapping[str, str]) -> Iterator[Finding]:
    """Look for files of algorithm rules that cannot be read, or that nothing switches on."""
    for name, path in given.items():
        if not path:
            continue
        if reads_rules(job.mpi.family, name, given):
            if not os.access(job.cwd / path, os.R_OK):
                yield problem(
                    "rules-missing",
                    f"{name} names {path}, which cannot be read: its rules have no effect",
                    f"give the full path of an existing file, or unset {name}",
                )
        elif job.mpi.family == "openmpi" and name in RULES:
            yield warning(
                "rules-overridden",
                f"{name} names {Path(path).name}, and {RULES[name]} is not set: Open MPI does not "
                "read it",
                f"export {RULES[name]}=1",
            )


def _overridden(
    mpi: MPIInstallation, given: Mapping[str, str], several_nodes: bool
) -> Iterator[Finding]:
    """Look for rules of coll/tuned that coll/han takes the calls from."""
    reads = given.get(_TUNED_RULES) and reads_rules(mpi.family, _TUNED_RULES, given)
    if mpi.family != "openmpi" or mpi.major < _HAN_FIRST or not reads or not several_nodes:
        return
    if not any(given.get(name) for name in _HAN):
        yield warning(
            "rules-overridden",
            f"on several nodes {mpi.name} lets HAN decide (priority 35, tuned 30): the rules in "
            f"{Path(given[_TUNED_RULES]).name} do not control the collectives of all ranks",
            "export OMPI_MCA_coll_han_priority=0",
        )
