"""What ranks had of their processors, and whether the machine was busy with other things."""

from __future__ import annotations

from dataclasses import dataclass

from stretto.counted import counted
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
    times (ranks that poll, or yield while they wait), because they and their busy threads are more
    than the cores.
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


#: seconds of a run from which on its busy threads are known
LONG_ENOUGH_S = 1.0


@dataclass
class Crowd:
    """Ranks and their busy threads on the cores that they share.

    `bound`: the ranks' own binding keeps them there, not the machine.
    """

    ranks: int
    threads: int
    cores: int
    bound: bool = False

    @property
    def of_threads(self) -> bool:
        return self.ranks <= self.cores

    @property
    def noun(self) -> str:
        return "threads" if self.of_threads else "ranks"

    @property
    def without(self) -> float:
        """Share of the time that a thread has no core, where all want one at all times."""
        return max(1 - self.cores / self.threads, 0.0)

    @property
    def words(self) -> str:
        cores = counted(self.cores, "core")
        if self.bound:
            return f"a rank with {self.threads} busy threads is bound to {cores}"
        if not self.of_threads:
            return f"{self.ranks} ranks share {cores}"
        return f"{counted(self.ranks, 'rank')} with {self.threads} busy threads share {cores}"


def busy_threads(profile: Profile) -> list[int]:
    """Return how many threads of each rank wanted a core, 0 where it is not known.

    On a busy machine a helper thread of the MPI that wakes up twice has waited for a tenth of a
    short run.
    """
    known = profile.busy_threads if max(profile.wall_s) >= LONG_ENOUGH_S else None
    return known or [0] * profile.nranks


def crowds(profile: Profile) -> list[Crowd]:
    """Return the crowd of each machine of a run; of nodes that are one machine together."""
    found: dict[str, Crowd] = {}
    busy = busy_threads(profile)
    for node in profile.nodes:
        key = node.name if node.machine is None else str(node.machine)
        one = found.setdefault(key, Crowd(0, 0, 0))
        one.ranks += len(node.ranks)
        one.threads += sum(max(busy[r], 1) for r in node.ranks)
        one.cores = max(one.cores, node.cores or 0)
    return [crowd for crowd in found.values() if crowd.cores > 0]


def _own_crowds(profile: Profile) -> list[Crowd]:
    """Return a crowd for each rank whose binding leaves its threads fewer cores than they are."""
    pairs = zip(busy_threads(profile), profile.allowed_cores or [], strict=False)
    return [Crowd(1, busy, cores, bound=True) for busy, cores in pairs if 0 < cores < busy]


def crowd_of(profile: Profile) -> Crowd | None:
    """Return the worst of all crowds; None where there are cores for all."""
    every = [c for c in (*crowds(profile), *_own_crowds(profile)) if c.without > 0]
    return max(every, key=lambda c: c.without, default=None)


def usage_of(profile: Profile) -> RunUsage | None:
    """Return what the ranks of a profile had in the mean, None where it was not recorded."""
    if profile.cpu_s is None or profile.involuntary is None:
        return None
    n = profile.nranks
    nodes = [node for node in profile.nodes if node.load is not None]
    worst = max(nodes, key=lambda node: node.load or 0.0, default=None)
    waited = profile.core_wait_s
    shared = sum(c.ranks * c.without for c in crowds(profile)) / n
    own = sum(c.without for c in _own_crowds(profile)) / n
    return RunUsage(
        sum(profile.wall_s) / n,
        sum(profile.cpu_s) / n,
        None if waited is None else sum(waited) / n,
        round(sum(profile.involuntary) / n),
        None if worst is None else worst.load,
        0 if worst is None else worst.cores or 0,
        max(shared, own),
    )


def lacked_cores(profile: Profile) -> str | None:
    """Return what ranks lost to others, or to being more than the cores; None: little."""
    found, crowd = usage_of(profile), crowd_of(profile)
    words = [busy_words(found)]
    if found is not None and found.by_own >= BUSY and crowd is not None:
        words.append(crowd.words)
    return "; ".join(w for w in words if w) or None
