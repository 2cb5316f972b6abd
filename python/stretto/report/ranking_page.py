"""The page of ``stretto compare``, and its charts as files."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from stretto.files.bench import BLOCKING
from stretto.launch.typed import without
from stretto.measure.stats import FEWEST
from stretto.report import page
from stretto.report.figures import ranking as draw
from stretto.report.page import Head, PageFiles
from stretto.report.ranking import Ranking
from stretto.report.ranking_show import answer, facts, forcing, place_words, ratio_words
from stretto.report.render import Figure
from stretto.report.sources import Source

#: bars of all algorithms for at most so many places, and at most so many charts over ranks
MOST_CHARTS = 12


@dataclass(frozen=True)
class Charts:
    """The charts of a comparison, and of how many calls there is none over ranks."""

    sizes: list[Figure]
    ranks: list[Figure]
    bars: list[Figure]
    left_out: int

    @property
    def every(self) -> list[Figure]:
        return [*self.ranks, *self.sizes, *self.bars]


def _ranks(rankings: Iterable[Ranking]) -> set[int]:
    return {r.place.nranks for r in rankings}


def charts(rankings: Sequence[Ranking]) -> Charts:
    colours = draw.hues(rankings)
    sizes: dict[object, list[Ranking]] = defaultdict(list)
    ranks: dict[object, dict[str, list[Ranking]]] = defaultdict(lambda: defaultdict(list))
    for r in rankings:
        sizes[replace(r.place, bytes=0), r.mode].append(r)
        ranks[replace(r.place, nodes=0, ppn=0, nranks=0)][r.mode].append(r)
    over = [
        f
        for modes in ranks.values()
        for g in modes.values()
        if (f := draw.over_ranks(g, colours, _ranks(q for h in modes.values() for q in h)))
    ]
    return Charts(
        [f for g in sizes.values() if (f := draw.over_sizes(g, colours))],
        over[:MOST_CHARTS],
        [draw.bars(r, colours) for r in rankings] if len(rankings) <= MOST_CHARTS else [],
        len(over[MOST_CHARTS:]),
    )


def write(
    rankings: Sequence[Ranking], files: Sequence[Source], notes: Sequence[str], to: PageFiles
) -> list[str]:
    """Write the page and the charts that were asked for; return their paths."""
    drawn = charts(rankings)
    head = Head(
        "comparison",
        ", ".join(sorted({e.mpi for r in rankings for e in r.entries})),
        answer(rankings),
        [("ranks", "Ranks", drawn.ranks), ("sizes", "Sizes", drawn.sizes),
         ("algorithms", "Algorithms", drawn.bars),
         ("defaults", "Defaults", True), ("method", "Method", True)],
        facts(rankings),
        _following(rankings, files),
        warnings=notes,
        simulated=any(r.simulated for r in rankings),
    )  # fmt: skip
    return page.write(
        "ranking.html.j2", head, drawn.every, to,
        rankings=rankings, charts=drawn, files=files, words=place_words,
        ratio=ratio_words, forced=forcing(rankings),
    )  # fmt: skip


def _following(rankings: Sequence[Ranking], files: Sequence[Source]) -> str:
    """Return the next command: one that measures on where no test can be made, else to decide."""
    held = [f for f in files if f.bench.samples] or list(files)
    for f in held:
        command = f.bench.header.command
        mine = [e for r in rankings for e in r.entries if e.file == str(f.path)]
        # an MPI's default is in launches of all kinds, each of the others in those of one
        rivals = [e for e in mine if e.kind != "default"] or mine
        if command[:2] == ["stretto", "bench"] and rivals and all(e.few for e in rivals):
            return shlex.join([*without(command, "--launches"), "--launches", str(FEWEST)])
    decides = "table decide" if held[0].bench.header.calls == BLOCKING else "report"
    return f"stretto {decides} {shlex.quote(str(held[0].path))}"
