"""What ranks had of their processors, and whether the machine was busy with other things."""

from __future__ import annotations

from dataclasses import dataclass

from stretto.files.profile import Profile

#: share of the time that ranks waited for a core from which on the machine was busy
BUSY = 0.05
#: involuntary switches a second that explain lost time where the kernel does not count it
_SWITCHES = 20.0


@dataclass
class Usage:
    """What the worst rank of a launch had, while it measured.

    `cpu_s`: CPU time of the rank that had least. `core_wait_s`: time on the run queue without a
    core, of the rank that waited longest; None: not known. `involuntary`: involuntary context
    switches of the rank that had most. `load`: load average of one minute when the launch began,
    the largest of the nodes; None: not known.
    """

    wall_s: float
    cpu_s: float
    core_wait_s: float | None
    involuntary: int
    load: float | None
    cores: int

    @property
    def waited(self) -> float:
        """Share of the time in which the rank waited for a core."""
        return _waited(self.wall_s, self.cpu_s, self.core_wait_s, self.involuntary)

    @property
    def by_own(self) -> float:
        """Part of `waited` that is for cores which other ranks of the same job had."""
        return 0.0

    @property
    def by_others(self) -> float:
        """Part of `waited` that is for cores which other processes had."""
        return max(self.waited - self.by_own, 0.0)

    @property
    def busy(self) -> bool:
        """Whether the machine was busy with other things."""
        return self.by_others >= BUSY


@dataclass
class RunUsage(Usage):
    """The same of a run, in the mean of its ranks.

    `crowding`: the share of the time that they have no core where all of them want one at all
    times (ranks that poll, or yield while they wait), because they are more than the cores.
    """

    crowding: float = 0.0

    @property
    def by_own(self) -> float:
        """Part of `waited` that is for cores which other ranks of the same job had."""
        return min(self.waited, self.crowding)


def _waited(wall_s: float, cpu_s: float, core_wait_s: float | None, involuntary: int) -> float:
    if wall_s <= 0:
        return 0.0
    if core_wait_s is not None:
        return min(core_wait_s / wall_s, 1.0)
    switched = involuntary >= _SWITCHES * wall_s
    return min(max(1 - cpu_s / wall_s, 0.0), 1.0) if switched else 0.0


def usage_words(found: Usage) -> str:
    """Return in words what ranks had: CPU time, time without a core, switches, load."""
    wall = max(found.wall_s, 1e-9)
    load = "" if found.load is None else f"; load {found.load:.1f} on {found.cores} processors"
    return (
        f"ranks waited {100 * found.waited:.0f} % of the time for a core "
        f"(CPU time {100 * min(found.cpu_s / wall, 1):.0f} % of wall time, "
        f"{found.involuntary / wall:.0f} involuntary switches a second{load})"
    )


def busy_words(found: Usage | None) -> str | None:
    """Return the note for every page that a busy machine touches; None where it was not busy."""
    if found is None or not found.busy:
        return None
    return f"the machine was busy: {usage_words(found)}"


def crowds(profile: Profile) -> list[tuple[int, int]]:
    """Return ranks and cores of each machine of a run; of nodes that are one machine together."""
    ranks: dict[str, int] = {}
    cores: dict[str, int] = {}
    for node in profile.nodes:
        key = node.name if node.machine is None else str(node.machine)
        ranks[key] = ranks.get(key, 0) + len(node.ranks)
        cores[key] = max(cores.get(key, 0), node.cores or 0)
    return [(n, cores[key]) for key, n in ranks.items() if cores[key] > 0]


def usage_of(profile: Profile) -> RunUsage | None:
    """Return what the ranks of a profile had in the mean, None where it was not recorded."""
    if profile.cpu_s is None or profile.involuntary is None:
        return None
    n = profile.nranks
    nodes = [node for node in profile.nodes if node.load is not None]
    worst = max(nodes, key=lambda node: node.load or 0.0, default=None)
    waited = profile.core_wait_s
    without = sum(max(ranks - cores, 0) for ranks, cores in crowds(profile))
    return RunUsage(
        sum(profile.wall_s) / n,
        sum(profile.cpu_s) / n,
        None if waited is None else sum(waited) / n,
        round(sum(profile.involuntary) / n),
        None if worst is None else worst.load,
        0 if worst is None else worst.cores or 0,
        without / n,
    )
