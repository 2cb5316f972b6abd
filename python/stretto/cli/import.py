"""``stretto import``: results of other benchmarks, and tuning files that somebody else wrote."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stretto.cli import options as o
from stretto.cli.complete import collectives, files, mpis
from stretto.cli.lazy import lazily
from stretto.counted import counted
from stretto.errors import StrettoError, UsageError
from stretto.output import print_json, say
from stretto.progress import Progress

with lazily():
    from stretto.cli import import_rules
    from stretto.files.bench import Bench, format_bench
    from stretto.files.identity import Host
    from stretto.files.io import write_together
    from stretto.files.net import DOCUMENT, NetFile
    from stretto.imports.osu import read
    from stretto.imports.pattern import FileFacts, compile_pattern
    from stretto.imports.templates import templates
    from stretto.measure.stats import FEWEST

EXAMPLE = """stretto import osu osu_allreduce.log --mpi openmpi@5.0.6 --nodes 4 --ppn 36
stretto import osu results/ -o imported \\
    --pattern '{collective}/N{nodes}n{nranks}/run{launch}/{mpi}/{collective}_algo{algorithm}.log'
stretto import imb IMB.log --mpi intel@2021.18 --ppn 36
stretto import osu osu_latency.log osu_bw.log --mpi openmpi@5.0.6 --nodes 2
stretto table decide imported/openmpi-4.0.1-8x36.bench.jsonl
stretto import rules tuned.rules --mpi openmpi@5.0.6
env | stretto import rules -                    # I_MPI_ADJUST_* of this shell"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)

FACTS, CHECKS = "Missing facts", "Checks"


def _options(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR|FILE...",
            help="Output files of the benchmark, or directories of them.",
            show_default=False,
        ),
    ],
    pattern: Annotated[
        list[str] | None,
        o.option(
            FACTS,
            "Pattern of the files' paths: fields {collective}, {nodes}, {ppn}, {nranks}, "
            "{launch}, {mpi}, {version}, {algorithm}; * is anything. Repeatable: the first that "
            "fits a file counts.",
        ),
    ] = None,
    mpi: Annotated[
        list[str] | None,
        o.option(
            FACTS,
            "The MPI: openmpi@4.0.1; for files with NAME at {mpi}: NAME=openmpi@4.0.1.",
            autocompletion=mpis,
        ),
    ] = None,
    nodes: Annotated[int | None, o.option(FACTS, "Nodes.", min=1)] = None,
    ppn: Annotated[int | None, o.option(FACTS, "Ranks per node.", min=1)] = None,
    collective: Annotated[
        str | None,
        o.option(FACTS, "The collective.", "--collective", "-c", autocompletion=collectives),
    ] = None,
    algorithm: Annotated[
        str | None, o.option(FACTS, "Algorithm of the MPI (default: native selection).")
    ] = None,
    setting: Annotated[
        list[str] | None,
        o.option(
            FACTS,
            "Settings that select {algorithm}, instead of asking the installed MPI: "
            "'I_MPI_ADJUST_{COLLECTIVE}={algorithm}'. They apply to files of the MPI that has "
            "them; NAME=... limits them to files with NAME at {mpi}.",
        ),
    ] = None,
    value: Annotated[
        str | None,
        o.option(
            FACTS, "Statistic over the ranks: max or avg (default: max if all files have it)."
        ),
    ] = None,
    hosts: Annotated[
        str | None,
        o.option(FACTS, "Hosts of point-to-point tables, in the order of the ranks: a,b."),
    ] = None,
    window: Annotated[
        int | None,
        o.option(FACTS, "Window of osu_bw and osu_bibw (default: 64, as OSU's).", min=1),
    ] = None,
    host: Annotated[str, o.option(FACTS, "Name of the machine of the measurement.")] = "unknown",
    cpu: Annotated[str, o.option(FACTS, "CPU of that machine, as in /proc/cpuinfo.")] = "unknown",
    out: Annotated[
        Path, o.out_file("Directory of the results: one file per MPI, layout and kind.")
    ] = Path("imported"),
    as_json: o.Json = False,
) -> None:
    """What `osu` and `imb` have in common."""


@app.command("osu")
@o.sharing(_options)
def osu(**given: Any) -> None:
    """Import output of osu_allreduce, osu_latency, osu_bw, ...; each table is one launch.

    Collectives become NAME.bench.jsonl, point-to-point tables NAME.net.json. --pattern gives the
    meaning of the names in a path. Without it, file names that seem to differ in an algorithm are
    refused. Broken and truncated lines are skipped and listed.
    """
    _import("osu", read, **given)


@app.command("imb")
@o.sharing(_options)
def imb(**given: Any) -> None:
    """Import output of IMB-MPI1; the table of each number of processes is one launch.

    Collectives become NAME.bench.jsonl, PingPong, Uniband and the like NAME.net.json. Ranks of
    communicators smaller than the job are assumed to fill one node after another.
    """
    from stretto.imports.imb import read

    _import("imb", read, **given)


@app.command("rules")
def rules(
    path: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Native tuning file; - is standard input."),
    ],
    mpi: Annotated[
        str | None,
        o.option(
            CHECKS,
            "The MPI that reads the file: openmpi@5.0.6, or a family, launcher or prefix of one "
            "that is here, which is asked for its algorithms.",
            autocompletion=mpis,
        ),
    ] = None,
    results: Annotated[
        list[Path] | None,
        o.option(
            CHECKS,
            "Results of stretto bench, to compare the rules with. Repeatable.",
            autocompletion=files(".bench.jsonl"),
        ),
    ] = None,
    to: Annotated[
        str | None,
        o.option(
            "Conversion",
            "Form to convert to: openmpi-4, openmpi-5, openmpi-6, mpich, mvapich or intel.",
        ),
    ] = None,
    out: Annotated[
        Path | None, o.out_file("File of the converted rules (default: standard output).")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Explain, check, compare or convert existing tuning files.

    FILE is a rules file of Open MPI (classic form, JSON of Open MPI 6, or HAN's), a JSON tree of
    MPICH, a script or parameter file with I_MPI_ADJUST_*, OMPI_MCA_coll_* or MPIR_CVAR_*, or the
    output of Intel's mpitune. Each rule is printed in words with its line. A rule that the MPI
    refuses or never applies is an error (exit code 1).
    """
    import_rules.run(path, mpi, results or [], to, out, as_json)


def _import(
    form: str, read: Any, paths: list[Path], out: Path, pattern: list[str] | None,
    mpi: list[str] | None,
    nodes: int | None, ppn: int | None, collective: str | None, algorithm: str | None,
    setting: list[str] | None, value: str | None, hosts: str | None, window: int | None,
    host: str, cpu: str, as_json: bool,
) -> None:  # fmt: skip
    from stretto.imports import convert, gather, messages, mpis, natives, placing

    if value not in (None, "max", "avg"):
        raise UsageError(f"--value {value} is not valid", "--value", "use max or avg")
    by_name, everywhere = mpis.assigned(mpi or [])
    asked = placing.Asked(
        [compile_pattern(text) for text in pattern or []],
        FileFacts(collective=collective, nodes=nodes, ppn=ppn, algorithm=algorithm),
        by_name,
        everywhere,
        value,  # type: ignore[arg-type]
        Host(host, cpu, 0, mpis.UNKNOWN, 0),
        tuple(hosts.split(",")) if hosts else (),
        window,
    )
    left_out: list[str] = []
    notes: dict[str, None] = {}  # each once, in their order
    naming = natives.Naming(
        templates(setting or [], by_name), lambda text: notes.update({text: None})
    )
    with Progress("reading"):
        gathered = gather.gather(paths, read, asked, naming, left_out)
    items, command = gathered.items, ["stretto", *sys.argv[1:]]
    networks = messages.collect(gathered.messages, asked, command, left_out)
    if any(i.table.cold for i in items):
        naming.note(
            "these times are for buffers that are not in a cache (-off_cache), as with stretto "
            "bench --cold; most results are for reused buffers"
        )
    if nothing := convert.of_no_bytes(items):
        naming.note(nothing)
    wrong = convert.found_wrong(items)
    try:
        which = convert.choose_value(items, asked.value, left_out)
    finally:
        _tell(list(notes), left_out, wrong)
    if not items and not networks:
        raise _nothing(paths, "osu_allreduce" if form == "osu" else "IMB-MPI1")
    with Progress("converting"):
        found = convert.collect(items, asked, which, form, command)
    benches = {out / f"{layout.name}.bench.jsonl": bench for layout, bench in found.items()}
    nets = {out / f"{layout.name}.net.json": net for layout, net in networks.items()}
    _write(benches, nets)
    fewest = convert.fewest_launches(benches.values()) if benches else None
    if as_json:
        print_json(
            {
                "files": [
                    {"file": str(p), "launches": len(b.launches), "samples": len(b.samples)}
                    for p, b in benches.items()
                ],
                "networks": [
                    {"file": str(p), "messages": len(n.ranks.messages) if n.ranks else 0}
                    for p, n in nets.items()
                ],
                "value": which if benches else None,
                "fewest_launches": fewest,
                "left_out": left_out,
                "found_wrong": wrong,
                "notes": list(notes),
            }
        )
        return
    if fewest is not None:
        _show(benches, fewest, convert.WORDS[which])
        print(f"next: stretto compare {shlex.quote(str(out))}/*.bench.jsonl")
    if nets:
        _show_networks(nets)


def _nothing(paths: list[Path], program: str) -> StrettoError:
    names = ", ".join(map(str, paths))
    return StrettoError(
        f"there was nothing to import in {names}",
        None,
        f"give files with the output of {program}",
    )


def _write(benches: dict[Path, Bench], nets: dict[Path, NetFile]) -> None:
    """Write all files, or none: what stood there already would be refused the next time."""
    for path in (*benches, *nets):
        if os.path.lexists(path):
            raise StrettoError(
                "the file exists, and results are never overwritten", path,
                "name another directory (--out), or remove the file; to import files with "
                "different name patterns together, repeat --pattern: --pattern A --pattern B",
            )  # fmt: skip
    texts = {path: format_bench(bench) for path, bench in benches.items()}
    texts |= {path: DOCUMENT.format(net) for path, net in nets.items()}
    write_together(texts, "the results")


def _tell(notes: list[str], left_out: list[str], wrong: list[str]) -> None:
    for text in notes:
        say(f"stretto: note: {text}")
    for text in left_out[:MOST_NAMED]:
        say(f"stretto: warning: {text}")
    if len(left_out) > MOST_NAMED:
        say(f"stretto: warning: and {len(left_out) - MOST_NAMED} more of that kind")
    for text in wrong:
        say(f"stretto: warning: {text}")


def _show(benches: dict[Path, Bench], fewest: int, kind: str) -> None:
    if fewest < FEWEST:
        say(
            f"stretto: warning: the fewest launches of a candidate are {fewest}; with fewer than "
            f"{FEWEST} no test can be made, so nothing will be called faster or slower"
        )
    of_one: dict[object, list[str]] = {}  # a table is for one MPI
    for path, bench in benches.items():
        launches = counted(len(bench.launches), "launch")
        print(f"{path}: {launches}, {counted(len(bench.samples), 'value')} ({kind})")
        of_one.setdefault(bench.header.mpi, []).append(str(path))
    for paths in of_one.values():
        print(f"next: {shlex.join(['stretto', 'table', 'decide', *paths])}")


def _show_networks(found: dict[Path, NetFile]) -> None:
    for path, result in found.items():
        assert result.ranks is not None and result.imported is not None
        runs = [len(m.launches) for m in result.ranks.messages]
        several = counted(min(runs), "launch") + (" or more" if min(runs) < max(runs) else "")
        print(f"{path}: {counted(len(runs), 'figure')} of messages, {several} of each, measured by "
              f"{', '.join(result.imported.software)}")  # fmt: skip
        if result.imported.unknown:
            print(f"  not known: {', '.join(result.imported.unknown)}")
    print(f"next: {shlex.join(['stretto', 'report', str(next(iter(found)))])}")


#: warnings that are printed one by one
MOST_NAMED = 10
