"""``stretto platform``: descriptions of clusters, for simulating; listed, shown, fitted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from stretto.cli import options as o
from stretto.cli.complete import platforms
from stretto.cli.lazy import lazily
from stretto.errors import UsageError
from stretto.output import print_json, say
from stretto.progress import Progress

with lazily():
    from stretto.files.identity import collect_host, now
    from stretto.model.fit import fit
    from stretto.model.measurements import read_net_series, read_series
    from stretto.model.platform import LEVELS, parameters
    from stretto.model.platform_file import load, shipped, user_directory, write_platform
    from stretto.model.show import fit_lines, quantity, word_of

EXAMPLE = """stretto platform list
stretto platform show hpc7g
stretto platform fit mine network.net.json node.net.json
stretto platform fit mine latency=osu_latency.txt bandwidth=osu_bw.txt \\
    multi_pair=osu_mbw_mr.txt node_latency=node_latency.txt \\
    node_allreduce=node.bench.jsonl:shm -o mine.toml --plot fit.svg"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)


@app.command("list")
def list_platforms(as_json: o.Json = False) -> None:
    """List the platforms of Stretto and of the user."""
    own = sorted(p.stem for p in user_directory().glob("*.toml"))
    names = list(dict.fromkeys([*own, *shipped()]))
    found = [(name, load(name), name in own) for name in names]
    if as_json:
        print_json([{"name": n, "description": p.description, "own": o} for n, p, o in found])
        return
    width = max(len(n) for n in names)
    for name, platform, mine in found:
        print(f"{name:{width}}  {platform.description}{' (yours)' if mine else ''}")


@app.command("show")
def show(
    name: Annotated[
        str,
        typer.Argument(help="A platform's name, or a file: ./mine.toml.", autocompletion=platforms),
    ],
    as_json: o.Json = False,
) -> None:
    """Show every parameter of a platform with its value, its meaning and its source."""
    platform = load(name)
    rows: list[dict[str, Any]] = [
        {"name": f"{level}.{p.name}", "value": getattr(platform.levels[level], p.name),
         "unit": p.unit, "source": platform.sources.get(f"{level}.{p.name}"), "help": p.help}
        for level in LEVELS for p in parameters("level").values()
    ]  # fmt: skip
    rows += [
        {"name": p.name, "value": word_of(p.name, getattr(platform, p.name)), "unit": p.unit,
         "source": platform.sources.get(p.name), "help": p.help}
        for p in parameters("platform").values()
    ]  # fmt: skip
    if as_json:
        print_json({"name": platform.name, "description": platform.description, "parameters": rows})
        return
    print(f"{platform.name}: {platform.description}")
    for row in rows:
        if row["source"] is not None:
            value = quantity(row["value"], row["unit"])
            print(f"  {row['name']:24} {value:>14}  {row['source']}")
    rest = sum(row["source"] is None for row in rows)
    others = "parameter has its default" if rest == 1 else f"{rest} parameters have their defaults"
    print(f"  the other {others} (--json lists all, with descriptions)")


@app.command("fit")
def fit_command(
    name: Annotated[str, typer.Argument(help="Name of the new platform.")],
    measured: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE.net.json|KIND=FILE[:COLUMN][:NUMBER]...",
            help="Measurements: results of stretto net mpi or stretto import; or by KIND: latency, "
            "bandwidth, bibandwidth, multi_pair, sends (between nodes), node_latency, "
            "node_bandwidth, node_sends, node_bcast, node_allreduce (within one). FILE: what "
            "osu_latency, osu_bw, osu_bibw or osu_mbw_mr printed, a table with sizes in the first "
            "column, or results of stretto bench; NUMBER: pairs or ranks.",
        ),
    ],
    base: Annotated[
        str,
        typer.Option(
            help="Platform for parameters that were not measured.", autocompletion=platforms
        ),
    ] = "ib-hdr",
    when: Annotated[
        str | None,
        typer.Option(
            help="Place and date of the measurement, for the sources (default: this machine, "
            "today)."
        ),
    ] = None,
    out: Annotated[Path | None, o.out_file("The platform (default: NAME.toml).")] = None,
    plot: Annotated[
        Path | None, o.option(o.OUTPUT, "File for a picture of fit and measurements: SVG or PNG.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Fit a platform to measurements, and print the residual of every value."""
    if plot is not None:
        from stretto.report.figures.model import fit_picture

    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,63}", name):
        raise UsageError(f"{name!r} is not a name", None, "use letters, digits, - and _")
    curves = []
    for word in measured:
        if word.endswith(".net.json"):
            curves += read_net_series(Path(word))
            continue
        kind, equals, rest = word.rpartition("=") if "=" in word else ("", "", word)
        file, *more = rest.split(":")
        number = int(more.pop()) if more and more[-1].isdecimal() and len(more) != 1 else None
        curves.append(
            read_series(Path(file), kind if equals else None, more[0] if more else None, number)
        )
    stamp = when or f"{now()[:10]} on {collect_host().cpu}"
    with Progress(f"fitting {name}"):
        found = fit(name, curves, load(base), stamp)
    path = out or Path(f"{name}.toml")
    write_platform(found.platform, path)
    if plot is not None:
        fit_picture(found, plot)
    if as_json:
        print_json({
            "name": name, "file": str(path), "median_factor": found.median_factor,
            "notes": list(found.notes),
            "residuals": [{**vars(r), "ratio": r.ratio} for r in found.residuals],
        })  # fmt: skip
        return
    print("\n".join(fit_lines(found)))
    for note in found.notes:
        say(f"stretto: {note}")
    near = str(path) if "/" in str(path) else f"./{path}"
    print(f"platform: {path}")
    print(f"next: stretto simulate --platform {near} --collective allreduce --nodes 2:64 --ppn 8")
