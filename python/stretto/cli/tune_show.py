"""What ``stretto tune`` does once its options are understood: run, and print what was found."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stretto.files.product import product
from stretto.launch.typed import typed
from stretto.output import print_json, say

if TYPE_CHECKING:
    from stretto.files.identity import MPIIdentity
    from stretto.tune.from_results import DecidedFile
    from stretto.tune.general import LayoutRequest
    from stretto.tune.stage import Options


def show_decided(results: list[Path], out: Path | None, as_json: bool) -> None:
    """Decide from results files.

    Parameters
    ----------
    results
        The files, or directories of them.
    out
        Of the table; None: where `stretto run` finds it.
    as_json
        Print JSON.
    """
    from stretto.files.caches import COLD
    from stretto.files.results import results_in
    from stretto.measure.compare import open_words
    from stretto.measure.idle import busy_note
    from stretto.measure.show import as_json as results_json
    from stretto.measure.show import table_lines
    from stretto.report.excluded import excluded
    from stretto.tune.from_results import decide_from

    results = results_in(results)
    found, table = decide_from(results, out)
    if found[0].bench.header.cold:
        say(f"stretto: note: {COLD}")
    for path, one in zip(results, found, strict=True):
        if one.bench.truncated:
            say(f"stretto: note: {path}: the last line is cut off and left out")
        if (busy := busy_note(one.bench)) is not None:
            say(f"stretto: note: {busy}")
    labels = [_labels(d) for d in found]
    gone = [
        text
        for d, names in zip(found, labels, strict=True)
        for text in excluded(d.bench, lambda name, names=names: names.get(name, name))  # type: ignore[misc]
    ]
    for text in gone:
        say(f"stretto: warning: {text}; it decides nothing there")
    for one in found:
        for text in one.alone:
            say(
                f"stretto: note: {text}: the baseline is missing (the MPI by itself, native or "
                "bare), so nothing is compared there"
            )
    if as_json:
        parts = [{**results_json(d.times, d.comparisons, []), "native": d.natives} for d in found]
        print_json({"table": str(table), "files": parts, "excluded": gone})
        return
    for one, names in zip(found, labels, strict=True):
        if one.times:
            print("\n".join(table_lines(one.times, one.comparisons, names)))
    rows = rows_lines([r for d in found for r in d.rows])
    natives = [f"  {text}" for d in found for text in d.natives]
    compared = any(d.comparisons for d in found)
    nothing = "nothing was compared: no candidate that counts stands beside the MPI by itself"
    faster = "no algorithm of Stretto's was faster with significance"
    untold = open_words([c for d in found for c in d.deciding])
    print("\n".join(rows) or ((untold or faster) if compared else nothing))
    if rows and untold:
        print(untold)
    if natives:
        print("faster than what the MPI does by itself, of its own algorithms:")
        print("\n".join(natives))
    print(f"table: {table}")
    if natives:
        files = shlex.join(map(str, results))
        target = _target(found[0].bench.header.mpi)
        print(f"next: stretto export --to {target} --out tuning {files}")


def _labels(one: DecidedFile) -> dict[str, str]:
    """Return the candidates in short, where this tells them apart."""
    from stretto.report.ranking import labelled

    head = one.bench.header
    nodes = min((r.nodes for r in one.bench.launches), default=1)
    names = {s.candidate: labelled(s.candidate, head.mpi, nodes) for s in one.bench.samples}
    seen = Counter(names.values())
    return {candidate: name for candidate, name in names.items() if seen[name] == 1}


def _target(mpi: MPIIdentity) -> str:
    """Return what `stretto export --to` calls an MPI."""
    from stretto.files.export import TARGETS

    name = product(mpi)
    fits = [t for t in TARGETS if t in (name, f"{name}-{mpi.version.split('.')[0]}")]
    # of an Open MPI whose version is not known, nobody can say which
    return next(iter(fits), "TARGET")


def tune_application(options: Options, as_json: bool) -> None:
    """Tune what CMD uses, and prove the gain on it.

    Parameters
    ----------
    options
        Of the command line.
    as_json
        Print JSON.
    """
    from stretto.tune.application import Tuning

    outcome = Tuning(options, say).run()
    if as_json:
        print_json(_outcome_json(outcome))
        return
    for line in rows_lines(outcome.rows):
        print(line)
    print(f"stretto: {outcome.conclusion}")
    if options.dry_run:
        return
    following = [f"stretto report {shlex.quote(_near(options.out))}"]
    if outcome.helps and outcome.table is not None:
        near = shlex.quote(_near(outcome.table))
        following.insert(0, f"stretto run --table {near} {job_words(options)}")
    print("next: " + "\n      ".join(following))


def try_settings(options: Options, as_json: bool) -> None:
    """Try the MPI's settings on CMD.

    Parameters
    ----------
    options, as_json
        As for `tune_application`.
    """
    from stretto.files.schema import encode
    from stretto.mpi.settings import NAMES
    from stretto.tune.settings import SettingsTuning, lines

    found = SettingsTuning(options, say).run()
    if found is None:
        return
    if as_json:
        print_json(encode(found))
        return
    print("\n".join(lines(found)))
    print(f"stretto: {found.conclusion}")
    if found.chosen:
        # what no file may set is typed
        named = found.chosen if found.chosen.keys() - NAMES else {}
        before = "".join(f"{name}={shlex.quote(value)} " for name, value in named.items())
        print(f"next: {before}stretto run {job_words(options)}")


def job_words(options: Options) -> str:
    """Return CMD as `stretto run` is to be given it: with the MPI that tune was told.

    Parameters
    ----------
    options
        Of the command line.
    """
    mpi = f"--mpi {shlex.quote(options.mpi)} " if options.mpi is not None else ""
    return f"{mpi}-- {typed(options.words)}"


def _near(path: Path) -> str:
    """Return a path as the user would type it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def rows_lines(rows: list[Any]) -> list[str]:
    """Return the rows of a table that change something, for people.

    Parameters
    ----------
    rows
        Of a table.
    """
    from stretto.measure.show import size_words
    from stretto.tune.evidence import weaker_words

    out = []
    for r in rows:
        if r.choice == "native":
            continue
        high = "inf" if r.high is None else size_words(r.high)
        e = r.evidence
        low_high = f" ({e['low']} to {e['high']})" if "low" in e else ""
        out.append(
            f"  {r.collective:10} {size_words(r.low)}-{high} B: {r.choice}, time x {e.get('ratio')}"
            f"{low_high}, p={e.get('p')}, {_launches(e.get('launches'))}{weaker_words(e)}"
        )
    return ["faster than native, and in the table:", *out] if out else []


def _launches(number: object) -> str:
    """Return a number of launches as a table's evidence tells it, which may be text."""
    return f"{number} {'launch' if str(number) == '1' else 'launches'}"


def _outcome_json(outcome: Any) -> dict[str, Any]:
    from stretto.files.schema import encode

    value: dict[str, Any] = {}
    for key, item in vars(outcome).items():
        if isinstance(item, Path):
            value[key] = str(item)
        elif key == "bench":
            value[key] = [str(p) for p in item]
        else:
            value[key] = encode(item)
    return value


def tune_layout(request: LayoutRequest, as_json: bool) -> None:
    """Make a table for all applications on a layout.

    Parameters
    ----------
    request
        What is measured where.
    as_json
        Print JSON.
    """
    from stretto.measure.compare import open_words
    from stretto.measure.show import as_json as results_json
    from stretto.measure.show import table_lines
    from stretto.tune.general import tune_generally

    found = tune_generally(request, ["stretto", *sys.argv[1:]], say)
    if found is None:
        if as_json:
            print_json({"conclusion": "dry run: nothing was measured", "table": None})
        return
    if as_json:
        results = results_json(found.times, found.comparisons, found.notes)
        print_json({**results, "table": str(found.path), "file": str(found.results)})
        return
    print("\n".join(table_lines(found.times, found.comparisons)))
    nothing = "native stays everywhere: nothing was faster than it with significance"
    untold = open_words(found.deciding)
    rows = rows_lines(found.rows)
    print("\n".join(rows) or untold or nothing)
    if rows and untold:
        print(untold)
    print(f"table: {found.path}")
    named = f"--table {found.path} " if request.out else ""
    print(f"next: stretto run {named}-- mpirun -n {request.where.nranks} ./app")
