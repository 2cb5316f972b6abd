"""``stretto tune -- CMD``: measures what CMD uses, writes a table, and proves the gain on CMD."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from stretto.cli import options as o
from stretto.cli.lazy import lazily
from stretto.cli.trials import trial_options, trials
from stretto.output import conclusion, print_json, say

with lazily():
    from stretto.files.schema import encode
    from stretto.launch.job import LONG_JOB_S
    from stretto.launch.typed import job_words, near
    from stretto.measure.request import split_candidates
    from stretto.measure.settings import parse_tunable
    from stretto.tune.application import foresee, tune
    from stretto.tune.evidence import rows_lines
    from stretto.tune.session import Tuning
    from stretto.tune.verify import TuneResult

EXAMPLE = """stretto tune -- mpirun -n 64 ./app input.dat
stretto tune --budget 10m --metric 'steps/s: ([\\d.]+)' --metric-better higher -- mpirun -n 8 ./app
stretto tune --collective allreduce --candidates shm,ring --dry-run -- mpirun -n 64 ./app"""


@o.sharing(trial_options)
def command(
    cmd: o.CommandLine = None,
    collective: o.Collective = None,
    candidates: o.Candidates = None,
    launches: Annotated[
        int | None, o.option(o.WHAT, "Launches of the measuring program (10).", min=1)
    ] = None,
    *,
    yes: o.Yes = False,
    dry_run: o.DryRun = False,
    out: o.OutDirectory = None,
    as_json: o.Json = False,
    **given: Any,
) -> None:
    """Tune the collectives of CMD: profile, measure, write a table, verify the gain on CMD.

    Only the collectives that CMD calls are measured. CMD then runs alternately with and without
    the table. The same command continues after an interruption.
    """
    options = trials(
        cmd, out, " (a table for all applications: stretto table make)", yes=yes, dry_run=dry_run,
        **given,
    )  # fmt: skip
    only = None if collective is None else parse_tunable(collective, near=True)
    names = None if candidates is None else split_candidates(candidates)
    asked = replace(options, launches=launches, only=only, candidates=names)
    session = Tuning(asked, say)
    if dry_run:
        seen = foresee(session)
        if as_json:
            print_json({"dry_run": True, **encode(seen)})
        else:
            print(conclusion(seen.conclusion))
        return
    found = tune(session)
    if as_json:
        print_json(encode(found))
        return
    for line in rows_lines(found.rows):
        print(line)
    print(conclusion(found.conclusion))
    print("next: " + "\n      ".join(_following(found, session)))


def _following(found: TuneResult, session: Tuning) -> list[str]:
    """Return the commands to type next."""
    job = job_words(session.o.words, session.o.mpi)
    out = [f"stretto report {near(session.o.out)}"]
    if found.helps and found.table is not None:
        out.insert(0, f"stretto run --table {near(found.table)} {job}")
    if found.warning:
        out.insert(0, "the same command with --restart    # on an idle machine")
    if session.wants_budget:
        out.insert(0, "the same command again    # continues")
    for option, wanted in (("pairs", session.wanted_pairs), ("launches", session.wanted_launches)):
        if wanted is not None:
            out.insert(0, f"the same command with --{option} {wanted}    # continues")
    if session.run_s > LONG_JOB_S:
        out.append(f"stretto learn {job}    # CMD is long: learns during one run")
    return out
