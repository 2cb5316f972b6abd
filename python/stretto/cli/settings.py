"""``stretto settings -- CMD``: tries settings of the MPI on CMD, and keeps the fastest."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Annotated, Any

from stretto.cli import options as o
from stretto.cli.lazy import lazily
from stretto.cli.trials import trial_options, trials
from stretto.output import conclusion, print_json, say

with lazily():
    from stretto.files.schema import encode
    from stretto.launch.typed import job_words
    from stretto.mpi.settings import NAMES
    from stretto.tune.settings import PlannedSettings, lines, tune_settings
    from stretto.tune.settings_runs import SettingRuns

EXAMPLE = """stretto settings --dry-run -- mpirun -n 64 ./app     # settings to try, number of runs
stretto settings --budget 1h --metric 'steps/s: ([\\d.]+)' --metric-better higher -- mpirun ./app
stretto settings --candidates 'btl_tcp_links=8;btl_tcp_eager_limit=1000000' -- mpirun -n 64 ./app"""


@o.sharing(trial_options)
def command(
    cmd: o.CommandLine = None,
    candidates: Annotated[
        str | None,
        o.option(
            o.WHAT, "Settings to try: 'NAME=VALUE;NAME=VALUE' (default: all that may matter here)."
        ),
    ] = None,
    *,
    yes: o.Yes = False,
    dry_run: o.DryRun = False,
    out: o.OutDirectory = None,
    as_json: o.Json = False,
    **given: Any,
) -> None:
    """Try settings of the MPI on CMD: links, eager limits, HAN, single copy, rails, binding.

    Runs with a setting alternate with native runs. Settings that help are tried together, and the
    fastest is confirmed in new runs. stretto run applies it to CMD.
    """
    options = trials(cmd, out, yes=yes, dry_run=dry_run, **given)
    # a setting may be several variables, with commas between
    names = None if candidates is None else [c for x in candidates.split(";") if (c := x.strip())]
    found = tune_settings(SettingRuns(replace(options, candidates=names), say))
    if isinstance(found, PlannedSettings):
        if as_json:
            print_json({"dry_run": True, **encode(found)})
        return
    if as_json:
        print_json(encode(found))
        return
    print("\n".join(lines(found)))
    print(conclusion(found.conclusion))
    if found.chosen:
        # what no file may set is typed
        named = found.chosen if found.chosen.keys() - NAMES else {}
        before = "".join(f"{name}={shlex.quote(value)} " for name, value in named.items())
        print(f"next: {before}stretto run {job_words(options.words, options.mpi)}")
