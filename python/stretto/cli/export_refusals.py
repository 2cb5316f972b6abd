"""What ``stretto export`` refuses before it reads or writes files: targets, layouts, places."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from stretto.cli.lazy import lazily
from stretto.errors import StrettoError, UsageError
from stretto.output import say

with lazily():
    from stretto.export.own import is_own
    from stretto.export.rules import Results
    from stretto.files.export import EXPORT, NAME, OWN, TARGETS
    from stretto.files.identity import MPIIdentity


def refuse(options: Mapping[str, bool], words: str, remedy: str = "leave it out") -> None:
    """Refuse the first option that is given; `words` has a place for its name."""
    for name, given in options.items():
        if given:
            raise UsageError(words.format(name), name, remedy)


def refuse_for_own(looks: Mapping[str, bool], of_natives: Mapping[str, bool]) -> None:
    """Refuse what only native files have, for a table of Stretto's."""
    words = "{} runs an MPI with its own files, and a table is not one of them"
    refuse(looks, words, "use stretto run --verbose with it")
    refuse(of_natives, "{} is of native tuning files")


def layout_is_there(measured: Results, nodes: int | None, ppn: int | None) -> None:
    layouts = sorted({x for x, _ in measured.benches}, key=lambda x: (x.nranks, x.nodes))
    if not any(nodes in (None, x.nodes) and ppn in (None, x.ppn) for x in layouts):
        option = "--nodes" if nodes is not None else "--ppn"
        asked = f"{nodes or 'any nodes'} x {ppn or 'any ranks'}"
        there = ", ".join(f"{x.nodes} x {x.ppn}" for x in layouts)
        raise UsageError(
            f"no results are of {asked}", option, f"name one that was measured: {there}"
        )


def is_this(out: Path, to: str | None, written: Mapping[str, bool]) -> None:
    target = EXPORT.read(out / NAME).target
    if to not in (None, target):
        raise UsageError(
            f"{out} holds an export for {target}, not for {to}",
            "--to",
            "name the directory of that one (--out), or results to write it from",
        )
    words = "{} says what is written, and no results are named to write from"
    refuse(written, words, f"name them as well, or leave it out for {out}")


def is_free(out: Path, to: str) -> None:
    """Refuse a directory with the export of another target: its files would be replaced."""
    try:
        there = EXPORT.read(out / NAME).target
    except StrettoError:  # none, or one that is no use
        there = OWN if is_own(out) else to
    if there != to:
        what = "whose script and list of rows would be replaced"
        if OWN in (there, to):
            what = "and a directory is for one of them"
        raise UsageError(
            f"{out} holds an export for {there}, {what}",
            "--out",
            f"name a directory of its own: --out {shlex.quote(f'{out}-{to}')}",
        )


def fits(mpi: MPIIdentity, to: str) -> None:
    """Refuse results of another MPI, and say where versions differ."""
    if mpi.family != TARGETS[to]:
        raise UsageError(
            f"these results are for {mpi.family} {mpi.version}: the fastest algorithm of one MPI "
            "need not be fast in another",
            "--to",
            f"measure with {'MVAPICH' if to == 'mvapich' else TARGETS[to]}, or export to one of "
            + ", ".join(t for t, f in TARGETS.items() if f == mpi.family),
        )
    if to[-2:] in ("-4", "-5", "-6") and not mpi.version.startswith(to[-1]):
        say(
            f"stretto: warning: measured with {mpi.version}; the same number may mean "
            f"another algorithm in {to}"
        )
