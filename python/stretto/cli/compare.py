"""``stretto compare``: all MPIs and their algorithms, networks, or scaling, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from stretto.cli import options as o
from stretto.cli.complete import files as completed
from stretto.cli.lazy import lazily
from stretto.errors import StrettoError, UsageError
from stretto.output import print_json, say
from stretto.progress import Progress

with lazily():
    from stretto.cli import compare_kinds
    from stretto.files.bench import read_bench
    from stretto.files.caches import COLD, all_cold
    from stretto.files.results import results_in
    from stretto.measure.candidates import labels
    from stretto.measure.idle import busy_note
    from stretto.measure.settings import parse_collectives, parse_sizes
    from stretto.mpi.detect import installations
    from stretto.report.ranking import labelled, rank
    from stretto.report.sources import excluded, machines_note, sources

EXAMPLE = """\
for m in openmpi mpich intel; do
  stretto bench -n 4 --mpi $m --candidates 'bare;native:all' -o $m.bench.jsonl
done
stretto compare *.bench.jsonl --collective allreduce --bytes 1K
stretto compare imported/ -o compared.html --svg figures/
stretto compare tcp.net.json efa.net.json       # two networks
stretto compare old.scale.jsonl new.scale.jsonl # one job with two MPIs
stretto compare before.io.json after.io.json    # one file, striped or on more ranks"""

FILTER = "Selection"
#: excluded candidates that are named one by one
MOST_NAMED = 10
#: paths and options in any order: nothing of a user's command stands here
CONTEXT = {"allow_interspersed_args": True}


_Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH",
        help="Bench results, directories of them, or a campaign; or two network results; or two or "
        "more results of stretto scale or of stretto io.",
        show_default=False,
        autocompletion=completed(".bench.jsonl", ".net.json", ".scale.jsonl", ".io.json"),
    ),
]
_Sizes = Annotated[str | None, o.option(FILTER, f"Only these sizes: {o.SIZES}.", "--bytes")]
_Nodes = Annotated[int | None, o.option(FILTER, "Only this number of nodes.", min=1)]
_Ppn = Annotated[int | None, o.option(FILTER, "Only this number of ranks per node.", min=1)]
_Mode = Annotated[
    str | None,
    o.option(FILTER, "latency or throughput (default: the mode that decides at each size)."),
]
_NativesOnly = Annotated[
    bool, o.option(FILTER, "Leave out the algorithms of Stretto.", "--natives-only")
]
_Whole = Annotated[
    bool, o.option(o.OUTPUT, "Print all algorithms, however many points there are.", "--all")
]


def command(
    paths: _Paths,
    collective: o.Collective = None,
    sizes: _Sizes = None,
    nodes: _Nodes = None,
    ppn: _Ppn = None,
    mode: _Mode = None,
    natives_only: _NativesOnly = False,
    whole: _Whole = False,
    out: Annotated[Path | None, o.out_file("Page to write: compared.html (default: none).")] = None,
    png: o.Png = None,
    svg: o.Svg = None,
    as_json: o.Json = False,
) -> None:
    """Compare every algorithm of every MPI for a call; the default of each MPI is marked.

    It also shows how far each default is from the best algorithm of that MPI, and from the best of
    all. It reads results of stretto bench and stretto import, and measures nothing. Two network
    results (NAME.net.json) are compared in all figures that both have, such as latency and
    bandwidth. Results of stretto scale (NAME.scale.jsonl) and stretto io (NAME.io.json) are
    compared with the first one.
    """
    from stretto.report import ranking_show

    options = (collective, sizes, nodes, ppn, mode, natives_only, whole)
    if compare_kinds.compare(paths, options, (out, png, svg), as_json):
        return
    if mode not in (None, "latency", "throughput"):
        raise UsageError(f"--mode {mode} is not valid", "--mode", "use latency or throughput")
    names = None if collective is None else parse_collectives(collective)
    wanted = None if sizes is None else parse_sizes(sizes)
    with Progress("comparing"):
        read = [(p, read_bench(p)) for p in results_in(paths)]
        for path, bench in read:
            if bench.truncated:
                say(f"stretto: note: {path}: the last line is cut off and left out")
        cold = all_cold(
            read, "compare cold and warm results separately: name the files of one kind"
        )
        files = sources(read)
        labels = _labels(files)
        rankings = [
            r
            for r in rank(files, labels, natives_only, mode)
            if (names is None or r.place.collective in names)
            and (wanted is None or r.place.bytes in wanted or names == ["barrier"])
            and (nodes is None or r.place.nodes == nodes)
            and (ppn is None or r.place.ppn == ppn)
        ]
        gone = _gone(files, labels)
    if not rankings:
        filters = (collective, sizes, nodes, ppn, mode, natives_only or None)
        raise _nothing(paths, any(f is not None for f in filters), gone)
    notes = _notes(files) + _few(gone) + [f"{COLD[:1].upper()}{COLD[1:]}."] * cold
    if as_json:
        answer = ranking_show.answer(rankings)
        print_json({"answer": answer, "calls": ranking_show.as_json(rankings), "notes": notes})
    else:
        for note in notes:
            say(f"stretto: note: {note}")
        say(f"stretto: {ranking_show.answer(rankings)}")
        print("\n".join(ranking_show.lines(rankings, whole or len(rankings) == 1)))
    if out is not None or png is not None or svg is not None:
        from stretto.report.page import PageFiles
        from stretto.report.ranking_page import write

        for written in write(rankings, files, notes, PageFiles(out, png, svg)):
            say(f"stretto: {written}")


def _gone(files: Sequence[Any], labels: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the candidates of which nothing counts, each with the reason."""
    out: list[str] = []
    for f in files:
        nodes = min((r.nodes for r in f.bench.launches), default=1)
        own = labels.get(f.mpi, {})
        label = partial(labelled, mpi=f.bench.header.mpi, nodes=nodes, labels=own)
        out += [f"{f.mpi}: {text}" for text in excluded(f.bench, label)]
    return list(dict.fromkeys(out))


def _nothing(paths: Sequence[Path], filtered: bool, gone: Sequence[str]) -> StrettoError:
    where = ", ".join(str(p) for p in paths)
    out = "; ".join(_few(gone))
    if filtered:
        return StrettoError(
            "these files hold no such measurement"
            + (f", or it does not count: {out}" if out else ""),
            where,
            "leave out --collective, --bytes, --nodes, --ppn, --mode or --natives-only to see all "
            "measurements",
        )
    if out:
        return StrettoError(
            f"these files hold no usable measurement ({out})", where,
            "measure again what is to be compared: one wrong result excludes a candidate for the "
            "whole collective",
        )  # fmt: skip
    return StrettoError(
        "these files hold no times", where, "measure some: stretto bench -o, or stretto import"
    )


def _few(gone: Sequence[str]) -> list[str]:
    """Return so many of the excluded as can be read, and a count of the others."""
    rest = len(gone) - MOST_NAMED
    return [*gone[:MOST_NAMED], *([f"and {rest} more that are excluded"] if rest > 0 else [])]


def _labels(files: Sequence[Any]) -> Mapping[str, Mapping[str, str]]:
    """Return the MPIs' own names of their algorithms, where that very version is installed."""
    here = installations()
    out: dict[str, dict[str, str]] = {}
    for source in files:
        mpi = source.bench.header.mpi
        found = [i for i in here if (i.family, i.version) == (mpi.family, mpi.version) and i.libmpi]
        if found:
            used = {s.candidate for s in source.bench.samples}
            out.setdefault(source.mpi, {}).update(labels(found[0], used))
    return out


def _notes(files: Sequence[Any]) -> list[str]:
    heads = [f.bench.header for f in files]
    machines = machines_note(files)
    notes = [] if machines is None else [machines]
    notes += [f"{f.path.name}: {busy}." for f in files if (busy := busy_note(f.bench)) is not None]
    if any("imported" in h.settings for h in heads):
        values = {h.settings.get("imported", {}).get("value", "largest over the ranks")
                  for h in heads}  # fmt: skip
        if len(values) > 1:
            notes.append(f"The files hold different kinds of times: {', '.join(values)}.")
    return notes
