"""Links and rails: one launch of ``stretto-p2p`` a setting, in turn; connections and bytes counted.

The settings are those of `stretto.mpi.settings`, the list that `stretto settings` tries on an
application.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from stretto.errors import CommandFailedError, StrettoError, UsageError
from stretto.files.net import Rails, RailSetting
from stretto.launch.execute import run
from stretto.measure.request import Where
from stretto.mpi.settings import Setting, settings
from stretto.mpi.settings.base import Around
from stretto.mpi.settings.names import RAILS
from stretto.mpi.settings.nodes import ASK, Nodes, read
from stretto.net.p2p import RATE_BYTES, WINDOW, P2PLaunch, Point, collected, expected_s, launch
from stretto.net.rails_judge import LINKS, NATIVE, ignored, named

#: messages in flight of the bandwidth row: MPIs that split a message do so above 1 MiB
IN_FLIGHT = 8
_PML = "OMPI_MCA_pml"
#: the most connections that the list tries on an application, and more for this test
_LINKS_MOST, _MORE_LINKS = "4", "8"
_ASK_S = 60.0
#: a launch may take so many times what the first one took, and so many seconds more
_LONGER, _LONGER_S = 5.0, 20.0


def rows(sizes: Sequence[int], pairs: int) -> list[Point]:
    """Return what each launch measures; the first is the bandwidth summed over all pairs.

    It is that of the largest size. Of several sizes each is also measured as `net mpi` does.
    """
    curve = [Point("bandwidth", n, pairs, WINDOW) for n in sizes] if len(sizes) > 1 else []
    found = [
        Point("bandwidth", max(sizes), pairs, IN_FLIGHT),
        Point("bandwidth", RATE_BYTES, pairs, WINDOW),
        *curve,
        Point("latency", 8),
    ]
    return list(dict.fromkeys(found))


def ask_nodes(where: Where) -> Nodes | None:
    """Return what the nodes share, as one rank on each reports it; None: it is not known."""
    argv, environ = where.installation.launch(
        where.nodes, ["sh", "-c", ASK], ppn=1, hosts=where.hosts, bind="none"
    )
    found = None
    for _ in range(2):  # MPICH's mpiexec may lose lines of ranks that end at once
        result = run(argv, environ, timeout=_ASK_S, capture="yes")
        found = read(result.stdout)
        if found is not None and found.hosts >= where.nodes:
            break
    if found is None:
        result.require(argv)
    return found


def scan(where: Where, found: Nodes | None, environ: Mapping[str, str]) -> list[Setting]:
    """Return the settings of links and rails that this MPI has and these nodes give a choice for.

    `found`: what the nodes share; None where they were not asked. `environ`: what the user has set:
    it is the native case, and not tried again.
    """
    offered, _ = settings(where.installation, where.nodes, where.each, Around(found, environ))
    out: list[dict[str, str]] = []
    what: dict[str, str] = {}
    for one in offered:
        variable, value = one.environment[0]
        if variable not in RAILS:
            continue
        if variable == LINKS:
            out.append({variable: value})  # as most people type it
        out.append(dict(one.environment))
        what[variable] = one.what
    out += [{**x, LINKS: _MORE_LINKS} for x in out if x.get(LINKS) == _LINKS_MOST]
    if environ.get(_PML, "ob1") != "ob1":
        out = [x for x in out if "OMPI_MCA_btl_tcp" not in next(iter(x))]
    new = [x for x in out if any(environ.get(n) != v for n, v in x.items())]
    return [Setting(named(x), what[next(iter(x))], tuple(x.items())) for x in new]


def measure(
    where: Where,
    tried: Sequence[Setting],
    wanted: Sequence[Point],
    launches: int,
    found: Nodes | None,
    report: Callable[[int, str], None] = lambda done, text: None,
) -> Rails:
    """Measure without a setting and with each, in turn.

    A setting that fails, or whose connections and shares of the first launch show that the MPI
    ignores it, gets no more launches.
    """
    native = RailSetting(NATIVE, "no setting", {})
    every = [native, *(RailSetting(s.name, s.what, dict(s.environment)) for s in tried)]
    shared = sorted({*found.interfaces, *found.ports}) if found is not None else []
    made: dict[str, list[P2PLaunch]] = {}
    out = Rails(where.installation.identity, [], shared, every)
    down = _down_words(found)
    budget = _LONGER_S if down else None
    for turn in range(launches):
        for at, one in enumerate(every if turn % 2 == 0 else every[::-1]):
            if one.failed is not None or one.dropped:
                continue
            report(turn * len(every) + at, one.name)
            begun = time.monotonic()
            try:
                here = _launch(where, wanted, one, budget)
            except CommandFailedError as error:
                if one is native and down:
                    raise StrettoError(
                        f"{down}, and {where.installation.name} waits for it: {error.message}",
                        error.place, "repair it, or exclude it by a setting of the MPI "
                        "(Open MPI: export OMPI_MCA_btl_tcp_if_exclude=lo,INTERFACE)",
                    ) from error  # fmt: skip
                if one is native:
                    raise
                one.failed = error.message
                continue
            if not out.hosts:
                budget = _LONGER * (time.monotonic() - begun) + _LONGER_S
                out.hosts = list(here.hosts)
            made.setdefault(one.name, []).append(here)
            one.sockets.append(list(here.sockets))
            one.traffic.append(list(here.traffic.get(wanted[0], ())))
            one.dropped = LINKS in one.environment and ignored(out, one) is not None
    for one in every:
        one.messages = collected(out.mpi, made[one.name]).messages if one.name in made else []
    out.mpi = collected(out.mpi, made[NATIVE]).mpi
    return out


def _down_words(found: Nodes | None) -> str:
    down = found.down if found is not None else {}
    return "; ".join(f"{name} is down on {', '.join(hosts)}" for name, hosts in down.items())


def _launch(
    where: Where, wanted: Sequence[Point], one: RailSetting, budget: float | None
) -> P2PLaunch:
    found = launch(
        where, "single", wanted, where.oversubscribed, variables=one.environment, count=True,
        budget_s=budget,
    )  # fmt: skip
    if len(set(found.hosts)) < 2:
        raise UsageError(
            f"all ranks are on {found.hosts[0]}: links and rails are between nodes", "--hosts",
            "stretto net rails --hosts a,b",
        )  # fmt: skip
    if found.cut:
        raise CommandFailedError(
            "a launch reached its time limit before all was measured: use smaller --bytes", one.name
        )
    return found


def cost_s(tried: Sequence[Setting], wanted: Sequence[Point], launches: int) -> float:
    return (1 + len(tried)) * expected_s(wanted, launches)


def refuse_nothing(tried: Sequence[Setting], where: Where) -> None:
    if not tried:
        raise StrettoError(
            f"{where.installation.name} has no setting for links or rails on these nodes, or the "
            "environment sets all of them", "the settings",
            "give some: --candidates 'NAME=VALUE;NAME=VALUE'",
        )  # fmt: skip
