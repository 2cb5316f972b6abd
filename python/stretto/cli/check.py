"""``stretto check``: what MPI, launcher, network, binding and kernel give, and what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any

from stretto.cli import options as o
from stretto.cli.lazy import lazily
from stretto.counted import counted
from stretto.errors import EXIT_DONE, EXIT_FAULT, EXIT_WARNINGS
from stretto.output import print_json
from stretto.progress import Progress

with lazily():
    from stretto.check.facts import collect_facts
    from stretto.check.finding import Finding, by_cost, read_kinds, worst
    from stretto.check.job import Started, judge_installations, judge_job, probe
    from stretto.check.machine import judge, judge_nodes, known_instance
    from stretto.files.schema import encode
    from stretto.launch.job import understand
    from stretto.mpi.detect import installations
    from stretto.net.cores import cma_works

EXAMPLE = """\
stretto check
stretto check -- mpirun -n 64 ./app
stretto check --json > check.json"""

_MARKS = {"note": "note   ", "warning": "WARNING", "problem": "PROBLEM"}


def command(
    cmd: o.CommandLine = None,
    mpi: o.ScriptMpi = None,
    launch: Annotated[
        bool,
        o.option(
            o.RUNS, "Start a small program with CMD's launcher and options, to see the binding."
        ),
    ] = True,
    instance: Annotated[
        str | None,
        o.option(
            o.JOB, "Instance type of the nodes where they do not show it, e.g. hpc7a.96xlarge."
        ),
    ] = None,
    ignore: Annotated[
        str, o.option(o.OUTPUT, "Kinds of findings to leave out, e.g. huge-pages,busy.")
    ] = "",
    as_json: o.Json = False,
) -> int:
    """Check the machine, the MPI and, with CMD, the job for problems.

    Each finding has evidence and a remedy; the costliest comes first. With CMD, the launcher
    starts a small MPI program in place of CMD, which reports each node, where the ranks run, and
    which network the MPI uses. The exit code is 1 if something will not work, 4 if there are
    warnings, else 0.
    """
    ignored = read_kinds(ignore)
    facts = collect_facts(cma=cma_works())
    if instance is not None:
        facts = replace(facts, product=known_instance(instance).name)
    with Progress("checking"):
        job = understand(cmd, mpi=mpi) if cmd else None
        if job is None:
            found = installations()
            findings = [*judge(facts), *judge_installations(found)]
            nodes = {facts.name: facts}
        else:
            found = [job.mpi]
            started = probe(job) if launch else None
            nodes = {facts.name: facts}
            ranks = {facts.name: job.layout.ppn} if job.layout.ppn else {}
            if isinstance(started, Started) and started.survey.nodes:
                # facts that only a process on the node itself can find out
                nodes = {n: replace(f, cma=facts.cma if here else None,
                                    segments=facts.segments if here else (),
                                    product=facts.product if instance else f.product)
                         for n, f in started.survey.nodes.items()
                         for here in [n.split(".")[0] == facts.name]}  # fmt: skip
                ranks = Counter(r.node for r in started.placed)
            findings = [*judge_nodes(nodes, ranks), *judge_job(job, facts, started)]
    findings = by_cost([f for f in findings if f.kind not in ignored])
    if as_json:
        print_json(
            {
                "nodes": {name: encode(node) for name, node in nodes.items()},
                "mpi": [_mpi_json(m.identity, m.launcher, m.libmpi) for m in found],
                "findings": [asdict(f) for f in findings],
                "worst": worst(findings),
            }
        )
    else:
        _show(findings)
    return {"problem": EXIT_FAULT, "warning": EXIT_WARNINGS}.get(worst(findings), EXIT_DONE)


def _mpi_json(identity: object, launcher: object, libmpi: object) -> dict[str, Any]:
    out: dict[str, Any] = encode(identity)
    out["launcher"] = None if launcher is None else str(launcher)
    out["libmpi"] = None if libmpi is None else str(libmpi)
    return out


def _show(findings: Sequence[Finding]) -> None:
    """Print what is wrong, the costliest first, then what is in order."""
    for finding in findings:
        if finding.severity == "ok":
            continue
        kind = f" [{finding.kind}]" if finding.kind else ""
        where = f" (on {', '.join(finding.nodes)})" if finding.nodes else ""
        print(f"{_MARKS[finding.severity]} {finding.text}{where}{kind}")
        for name, words in (("seen", finding.seen), ("do", finding.remedy)):
            if words is not None:
                print(f"        {name + ':':5} {words}")
    fine = [f for f in findings if f.severity == "ok"]
    for topic in dict.fromkeys(f.topic for f in fine):
        print(f"{topic}: " + "; ".join(f.text for f in fine if f.topic == topic))
    count = {s: sum(f.severity == s for f in findings) for s in ("problem", "warning", "note")}
    print(", ".join(counted(number, name) for name, number in count.items()))
    if any(f.kind for f in findings):
        print("The names in brackets are sections of docs/reference/findings.md.")
