"""``stretto report``: one page from the files of the other commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from stretto.cli import options as o
from stretto.cli.complete import files
from stretto.cli.lazy import lazily
from stretto.errors import UsageError
from stretto.output import print_json, say
from stretto.progress import Progress

with lazily():
    from stretto.net.systems import is_net
    from stretto.scaling.compare import is_scale
    from stretto.storage.compare import is_io

EXAMPLE = """\
stretto report tuned/
stretto report tuned/ -o result.html --png figures/ --svg figures/
stretto report openmpi/ mpich/ -o compared.html
stretto report tuned/ --picture result.svg
stretto report campaign/ --processes charts/      # Stretto against the MPI over ranks
stretto report a/ b/ c/ --processes charts/       # the same on three machines
stretto report cluster.net.json
stretto report tcp.net.json efa.net.json -o compared.html
stretto report mpi*/*.net.json -o all.html        # a line for each result
stretto report old.scale.jsonl new.scale.jsonl -o scaling.html   # a line for each
stretto report input-*.io.json -o io.html         # time to read a file over ranks"""

#: paths and options in any order: nothing of a user's command stands here
CONTEXT = {"allow_interspersed_args": True}

_Picture = Annotated[
    Path | None,
    o.option(
        o.OUTPUT,
        "Write only one small figure, latency and application, to this .svg or .png file.",
        "--picture",
    ),
]
_Processes = Annotated[
    Path | None,
    o.option(
        o.OUTPUT,
        "Write only charts of Stretto against the MPI over processes into this directory: one "
        "file for each collective, with a small, a medium and a large size. With several "
        "directories (up to four), each chart shows all.",
        "--processes",
    ),
]


def command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="A directory that stretto tune made, or its files; two directories are compared. "
            "Or network results: one, two to compare, or more in one chart. Or results of stretto "
            "scale or stretto io: one or several.",
            show_default=False,
            autocompletion=files(".json", ".jsonl", ".table"),
        ),
    ],
    picture: _Picture = None,
    processes: _Processes = None,
    out: Annotated[Path | None, o.out_file("The page (default: report.html).")] = None,
    png: o.Png = None,
    svg: o.Svg = None,
    quiet: Annotated[bool, o.option(o.OUTPUT, "No progress bar.", "--quiet", "-q")] = False,
    as_json: o.Json = False,
) -> int:
    """Make one self-contained HTML page that opens offline.

    It shows the verdict, where the time goes, latency curves, all candidates, the table with its
    evidence, the communication matrix, and the method. It measures nothing. Simulated figures are
    marked. Network results (NAME.net.json), results of stretto io (NAME.io.json) and of stretto
    scale (NAME.scale.jsonl) have separate pages.
    """
    alone = "--picture" if picture is not None else "--processes" if processes else None
    if alone and (out is not None or png is not None or svg is not None):
        raise UsageError(f"{alone} writes no page", remedy="leave out --out, --png and --svg")
    if picture is not None and processes is not None:
        raise UsageError("--picture and --processes exclude each other", remedy="give one of them")
    with Progress("drawing", quiet=quiet or as_json) as bar:
        from stretto.report import make  # an extra, which takes long to load
        from stretto.report.page import PageFiles

        own = _page_of_their_own(paths, alone)

        def drawn(done: int, total: int, name: str) -> None:
            bar.update(done, name, total)

        to = PageFiles(out or Path("report.html"), png, svg, drawn)
        if own is not None:
            result: dict[str, Any] = own(paths, to)
        elif processes is not None:
            result = make.over_processes(paths, processes)
        elif picture is not None:
            result = make.one_picture(paths, picture)
        else:
            result = make.report(paths, to)
    if as_json:
        print_json(result)
    else:
        say(result["verdict"])
        print(result["written"][0])
    return 0


def _page_of_their_own(
    paths: list[Path], alone: str | None
) -> Callable[..., dict[str, Any]] | None:
    """Return what makes the page of results that cannot stand beside others; None: they can.

    `alone`: the option that asks for pictures without a page.
    """
    from stretto.report import network, scaling_page, storage

    nets = [is_net(path) for path in paths]
    scaled = [is_scale(path) for path in paths]
    stored = [is_io(path) for path in paths]
    for mine, whose, example in (
        (nets, "network results have a page of their own", "A.net.json [B.net.json ...]"),
        (scaled, "results of stretto scale have a page of their own", "A.scale.jsonl [B...]"),
        (stored, "results of stretto io have a page of their own", "A.io.json [B.io.json ...]"),
    ):
        if any(mine) and (alone or not all(mine)):
            raise UsageError(
                f"{whose}, without pictures alone and other files",
                remedy=f"stretto report {example} -o page.html",
            )
    made = ((nets, network.report), (scaled, scaling_page.report), (stored, storage.report))
    return next((make for mine, make in made if any(mine)), None)
