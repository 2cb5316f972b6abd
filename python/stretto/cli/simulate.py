"""``stretto simulate``: prices collectives, tables or a recorded profile at a scale you lack."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from stretto.cli import options as o
from stretto.cli.complete import collectives, files
from stretto.cli.lazy import lazily
from stretto.counted import sized
from stretto.errors import UsageError, meant
from stretto.output import print_json, say
from stretto.progress import Progress

with lazily():
    from stretto.files.forecast import format_forecast, write_forecast
    from stretto.files.profile import read_profile
    from stretto.files.table import read_table
    from stretto.measure.request import split_candidates
    from stretto.measure.settings import parse_counts, parse_sizes
    from stretto.model.forecast import ScalingRule, trend_at
    from stretto.model.outlook import outlook
    from stretto.model.platform import Platform, crowded_note, foreign_note
    from stretto.model.platform_file import load
    from stretto.model.show import answer_lines, forecast_lines
    from stretto.model.sweep import (
        Answer,
        SimulatedCell,
        priced_table,
        require_time,
        simulate,
        write_results,
    )

EXAMPLE = """stretto simulate --platform hpc7g --collective allreduce --nodes 64 --ppn 64 --bytes 8
stretto simulate --platform c5n-efa --collective allreduce,bcast --nodes 2:32 --ppn 36 \\
    --bytes 8:1M:4 -o big.bench.jsonl --plot big.svg
stretto simulate --platform hpc7a --table mine.table --bytes 8:1M:4
stretto simulate --platform hpc7g --profile app.profile.json --nodes 1:128 --ppn 64 \\
    --scaling strong --plot app.svg
stretto simulate --platform this-machine --profile 2.profile.json --profile 4.profile.json \\
    --profile 8.profile.json --nodes 1 --ppn 16"""


_FORECAST = "Forecast of a profile"
_Table = Annotated[
    Path | None,
    o.option(o.WHAT, "Compare the rows of this table with native.", autocompletion=files(".table")),
]
_Profile = Annotated[
    list[Path] | None,
    o.option(
        o.WHAT,
        "Forecast this recorded application. With profiles of three or more numbers of ranks "
        "(repeat the option), the measured trend is extrapolated too.",
        autocompletion=files(".profile.json"),
    ),
]


def command(
    platform: o.PlatformName,
    collective: Annotated[
        str | None,
        o.option(
            o.WHAT,
            "Collectives to simulate: allreduce,bcast.",
            "--collective",
            "-c",
            autocompletion=collectives,
        ),
    ] = None,
    table: _Table = None,
    profile: _Profile = None,
    sizes: o.Sizes = "8:1M:4",
    candidates: o.Candidates = None,
    baseline: Annotated[
        str, o.option(o.WHAT, "Model of native: openmpi (coll/tuned) or hierarchical.")
    ] = "openmpi",
    seed: o.Seed = 1,
    nodes: Annotated[str, o.option(o.JOB, f"Nodes: {o.COUNTS}.")] = "2:64",
    ppn: Annotated[
        str | None, o.option(o.JOB, f"Ranks per node: {o.COUNTS} (default: the platform's cores).")
    ] = None,
    scaling: Annotated[
        str, o.option(_FORECAST, "strong: fixed problem size. weak: fixed size per rank.")
    ] = "strong",
    halo: Annotated[
        str, o.option(_FORECAST, "Exponent for scaling message size with sub-domain volume.")
    ] = "2/3",
    compute: Annotated[
        float,
        o.option(
            _FORECAST,
            "Speed of the platform's cores relative to the recorded ones.",
            callback=o.finite,
        ),
    ] = 1.0,
    error: Annotated[
        float,
        o.option(
            _FORECAST,
            "Factor by which the model may be wrong, for the interval.",
            min=1.0,
            callback=o.finite,
        ),
    ] = 1.5,
    out: Annotated[
        Path | None, o.out_file("Results file; with --profile the forecast (default: none).")
    ] = None,
    plot: Annotated[
        Path | None, o.option(o.OUTPUT, "File for a picture: SVG, PNG or HTML.")
    ] = None,
    top: Annotated[int, o.option(o.OUTPUT, "Candidates to list for a single point.", min=0)] = 15,
    as_json: o.Json = False,
) -> None:
    """Simulate collectives on a platform: the best choice and radix, and where they change.

    All figures are marked as simulated in the results file (format of stretto bench), in tables
    and in charts.
    """
    if sum(bool(x) for x in (collective, table, profile)) != 1:
        raise UsageError(
            "give one of --collective, --table, --profile", None, "stretto simulate --help"
        )
    where = load(platform)
    node_counts = sorted({*parse_counts(nodes, "--nodes")})
    ppns = sorted({*parse_counts(ppn, "--ppn")}) if ppn else [int(where.cores)]
    for note in (foreign_note(where), crowded_note(where, ppns)):
        if note is not None:
            say(f"stretto: note: {note}")
    asked = _Asked(where, node_counts, ppns, baseline, out, plot, as_json)
    if profile:
        _forecast(asked, profile, scaling, halo, compute, error)
    else:
        _sweep(asked, collective, table, sizes, candidates, seed, top)


@dataclass(frozen=True)
class _Asked:
    """What both modes have in common."""

    platform: Platform
    nodes: list[int]
    ppns: list[int]
    baseline: str
    out: Path | None
    plot: Path | None
    as_json: bool


def _advance(bar: Progress, cell: SimulatedCell, begun: str | None = None) -> None:
    """Show what is priced: one choice of a cell that is begun, or the cell as done."""
    if begun is None:
        bar.advance()
    else:
        bar.advance(0, f"{cell.nodes} x {cell.ppn}, {sized(cell.bytes)}, {begun}")


def _sweep(
    asked: _Asked,
    collective: str | None,
    table: Path | None,
    sizes: str,
    candidates: str | None,
    seed: int,
    top: int,
) -> None:
    from stretto.plan import canonical, collectives

    if asked.plot is not None:  # before it is priced: a package of an extra may be missing
        from stretto.report.figures.model import sweep_picture

    where, nodes, baseline = asked.platform, asked.nodes, asked.baseline
    wanted = parse_sizes(sizes)
    if asked.out is not None and asked.out.exists() and asked.out.stat().st_size > 0:
        raise UsageError(f"{asked.out} already exists", "--out", "name another file")
    names = [c for c in (collective or "").split(",") if c]
    for name in names:
        if name not in collectives():
            raise UsageError(f"there is no collective {name!r}", None, meant(name, collectives()))
    answers: list[Answer] = []
    if table is not None:
        with Progress("simulating the rows of the table") as bar:
            answers = priced_table(
                read_table(table), where, nodes, asked.ppns, wanted, baseline, seed,
                begun=partial(_advance, bar),
            )  # fmt: skip
        if not answers:
            raise UsageError(f"no row of {table} is for these layouts", "--nodes", "give others")
    else:
        only = None if candidates is None else split_candidates(candidates)
        for name in names:
            tried = None if only is None else [
                c if c == "native" else canonical(name, c) for c in only
            ]  # fmt: skip
            cells = [
                SimulatedCell(name, n, p, size)
                for p in asked.ppns for n in nodes if n * p > 1
                for size in ([0] if name == "barrier" else wanted)
            ]  # fmt: skip
            if len(cells) > 8:
                say(f"stretto: {len(cells)} points of {name} on {where.name}")
            require_time(cells, tried, baseline)
            with Progress(f"pricing {name}", len(cells), unit="points") as bar:
                answers += simulate(
                    cells, where, candidates=tried, baseline=baseline, seed=seed, wide=True,
                    done=partial(_advance, bar), begun=partial(_advance, bar),
                )  # fmt: skip
    if not answers:
        raise UsageError("there is nothing to simulate", "--nodes", "at least two ranks are needed")
    if asked.out is not None:
        write_results(answers, where, asked.out, ["stretto", *sys.argv[1:]], baseline)
    if asked.plot is not None:
        sweep_picture(answers, where.name, asked.plot)
    if asked.as_json:
        print_json(_answers_json(answers, where))
        return
    print("\n".join(answer_lines(answers, top)))
    if asked.out is not None:
        print(f"results: {asked.out}\nnext: stretto report {asked.out}")


def _answers_json(answers: list[Any], where: Platform) -> dict[str, Any]:
    return {
        "source": "simulated", "platform": where.name,
        "cells": [
            {**vars(a.cell), "best": a.best, "native_is": a.native_is, "bound_s": a.bound,
             "bound_why": a.bound_why, "seconds": a.seconds,
             **({} if a.chosen is None else {"table": a.chosen})}
            for a in answers
        ],
    }  # fmt: skip


def _exponent(text: str) -> float:
    top, slash, bottom = text.partition("/")
    try:
        value = float(top) / (float(bottom) if slash else 1.0)
    except (ValueError, ZeroDivisionError):
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(
            f"{text!r} is not an exponent", "--halo", "write 2/3 (3D), 1/2 (2D) or 0 to 1"
        )
    return value


def _forecast(
    asked: _Asked, paths: list[Path], scaling: str, halo: str, compute: float, error: float
) -> None:
    if asked.plot is not None:
        from stretto.report.figures.scaling import forecast_elapsed as elapsed
        from stretto.report.render import write_to

    where, nodes, baseline = asked.platform, asked.nodes, asked.baseline
    if scaling not in ("strong", "weak"):
        raise UsageError(f"{scaling!r} is not a kind of scaling", "--scaling", "strong or weak")
    if len(asked.ppns) != 1:
        raise UsageError("a forecast needs one number of ranks per node", "--ppn", "give one")
    if not compute > 0:
        raise UsageError(
            "--compute is out of range", "--compute", "1 is the speed of the recorded cores"
        )
    rule = ScalingRule("strong" if scaling == "strong" else "weak", _exponent(halo), error)
    profiles = {path: read_profile(path) for path in paths}
    path = max(profiles, key=lambda p: profiles[p].nranks)
    profile = profiles[path]
    with Progress(f"simulating the calls of {path}"):
        value = outlook(str(path), profile, rule, where, nodes, asked.ppns[0], baseline, compute)
    if len(paths) > 1:
        value.trend_of = sorted(p.nranks for p in profiles.values())
        trend = trend_at([*profiles.values()], [scale.ranks for scale in value.scales])
        for scale in value.scales:
            scale.trend_s = trend.get(scale.ranks)
    if asked.plot is not None:
        write_to(elapsed(value), asked.plot)
    if asked.out is not None:
        write_forecast(value, asked.out)
    if asked.as_json:
        print_json(json.loads(format_forecast(value)) | {"cautions": value.cautions})
        return
    print("\n".join(forecast_lines(value)))
    for name in value.unpriced:
        say(f"stretto: {name} is left out: it cannot be simulated")
    if asked.out is not None:
        print(f"forecast: {asked.out}\nnext: stretto report {asked.out}")
