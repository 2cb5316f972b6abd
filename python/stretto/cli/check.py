"""``stretto check``: what MPI, launcher, network, binding and kernel give, and what is wrong."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from stretto.check.facts import collect_facts, try_cma
from stretto.check.findings import Finding, judge, worst
from stretto.check.job import judge_installations, judge_job, probe
from stretto.cli.options import CommandLine
from stretto.errors import EXIT_DONE, EXIT_FAULT
from stretto.files.schema import encode
from stretto.launch.job import understand
from stretto.mpi.detect import installations
from stretto.output import print_json

EXAMPLE = """\
stretto check
stretto check -- mpirun -n 64 ./app
stretto check --json > check.json"""

_MARKS = {"ok": "ok     ", "note": "note   ", "warning": "WARNING", "problem": "PROBLEM"}


def command(
    cmd: CommandLine = None,
    mpi: Annotated[
        str | None,
        typer.Option(help="MPI of a script: openmpi, mpich, intel, or a launcher's path."),
    ] = None,
    launch: Annotated[
        bool,
        typer.Option(
            help="Start a small program with CMD's launcher and options, to see the binding."
        ),
    ] = True,
    json: Annotated[bool, typer.Option("--json", help="Print facts and findings as JSON.")] = False,
) -> int:
    """Check the machine, the MPI and, with CMD, the job; name what is wrong.

    Each finding has a remedy. The exit code is 1 if something will not work. CMD itself is not run:
    its launcher starts a small program that reports where it runs.

    Parameters
    ----------
    cmd, mpi, launch, json
        See the help text.
    """
    facts = collect_facts(cma=try_cma())
    job = understand(cmd, mpi=mpi) if cmd else None
    here = job.layout.ppn if job is not None else None
    findings = judge(facts, here)
    if job is None:
        found = installations()
        findings += judge_installations(found)
    else:
        found = [job.mpi]
        findings += judge_job(job, facts, probe(job) if launch else None)
    if json:
        print_json(
            {
                "host": encode(facts),
                "mpi": [_mpi_json(m.identity, m.launcher, m.libmpi) for m in found],
                "findings": [asdict(f) for f in findings],
                "worst": worst(findings),
            }
        )
    else:
        _show(findings)
    return EXIT_FAULT if worst(findings) == "problem" else EXIT_DONE


def _mpi_json(identity: object, launcher: object, libmpi: object) -> dict[str, Any]:
    out: dict[str, Any] = encode(identity)
    out["launcher"] = None if launcher is None else str(launcher)
    out["libmpi"] = None if libmpi is None else str(libmpi)
    return out


def _show(findings: list[Finding]) -> None:
    topic = ""
    for finding in findings:
        if finding.topic != topic:
            topic = finding.topic
            print(topic)
        print(f"  {_MARKS[finding.severity]} {finding.text}")
        if finding.remedy is not None:
            print(f"          -> {finding.remedy}")
    count = {s: sum(f.severity == s for f in findings) for s in ("problem", "warning")}
    print(f"{count['problem']} problem(s), {count['warning']} warning(s)")
