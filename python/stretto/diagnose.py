"""From one profile: what the time is lost to, in order, and whether tuning can help.

Every rank's run is computing (outside MPI), files, and MPI. Lost is what ranks spend waiting for
each other, and what communication takes beyond what its size should cost:

- *Files*: the rank with the most file time minus the mean is serial I/O (the others have nothing to
  do meanwhile), when at least `SERIAL_SHARE` of all file time is one rank's.
- *Waiting* of collectives is known from joined time stamps; of messages it is the time in receives
  and waits minus what the messages should cost (`Network`). Waiting is explained first by
  serial I/O, then by computing that is spread unevenly (most minus mean, over the whole run); what
  is left changes from step to step and is booked where it was waited: late senders (messages),
  barriers that nothing needs, or computing imbalance (other collectives; never more than the
  computing itself could cause).
- *Barriers that nothing needs*: no one-sided communication, no file and no shared-memory window
  between a barrier and the one before. MPI's own messages need none.
- *Collectives*: the operation itself minus the least it should cost: tree depth times latency plus
  volume over bandwidth. What exceeds both is the algorithm's (tuning can help), the volume's part is
  bandwidth (it cannot, rails and fewer bytes can).

The numbers are upper bounds: causes hide behind each other.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from stretto.files.profile import Call, Profile
from stretto.profiling.show import compute_s, seconds, size

#: below this share of the run a cause is minor
MINOR = 0.03
#: of all file time, when one rank's is serial I/O
SERIAL_SHARE = 0.6
#: fewer barriers than this a rank are no cause of anything
FEW_BARRIERS = 10


@dataclass(frozen=True)
class Network:
    """What communication should cost: seconds and bytes a second, within a node and between nodes.

    The defaults are those of common machines (shared memory; a 25 Gbit/s cloud network); they
    judge, they do not measure.
    """

    node_latency_s: float = 0.1e-6
    node_message_s: float = 1e-6
    node_bandwidth: float = 8e9
    latency_s: float = 10e-6
    bandwidth: float = 2e9


@dataclass
class Cause:
    """One cause of lost time.

    Attributes
    ----------
    name
        A short fixed name (``imbalance``, ``late_sender``, ``collective``, ``bandwidth``,
        ``barrier``, ``serial_io``, ``communicators``).
    title
        The same in words.
    lost_s, share
        Seconds a rank (mean), and their share of the run: the most that could be gained by removing
        the cause altogether.
    tuning_s
        Of these, the most that Stretto's tuning could gain.
    evidence
        Numbers from the profile.
    because
        Why tuning cannot help, where it cannot.
    advice
        What can.
    next_command
        What to type next.
    """

    name: str
    title: str
    lost_s: float
    share: float
    tuning_s: float
    evidence: list[str]
    because: str | None
    advice: str
    next_command: str


@dataclass
class Diagnosis:
    """All causes, most time first, and the conclusion."""

    wall_s: float
    compute_share: float
    mpi_share: float
    file_share: float
    causes: list[Cause] = field(default_factory=list)
    can_help: bool = False
    verdict: str = ""
    next_command: str = ""
    warnings: list[str] = field(default_factory=list)


def diagnose(profile: Profile, where: Path | None = None, network: Network | None = None) -> Diagnosis:
    """Find out what a run loses its time to.

    Parameters
    ----------
    profile
        The run.
    where
        Its file, for the commands that are suggested.
    network
        What communication should cost.
    """
    return _Study(profile, where, network or Network()).result()


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


class _Study:
    """The numbers that the causes are made of."""

    def __init__(self, profile: Profile, where: Path | None, network: Network) -> None:
        self.p = profile
        self.net = network
        self.n = profile.nranks
        self.wall = max(max(profile.wall_s), 1e-9)
        self.compute = compute_s(profile)
        self.command = shlex.join(profile.command)
        self.file = where
        self.sizes = {c.id: c for c in profile.communicators}
        self.blocking = [c for c in profile.calls if c.kind == "collective"]

    def result(self) -> Diagnosis:
        """Attribute the waiting and rank the causes."""
        p = self.p
        bare = [c for c in self.blocking if c.function == "MPI_Barrier" and not c.detail]
        others = [c for c in self.blocking if c not in bare]
        barrier_wait = sum(_mean(c.wait_s or []) for c in bare)
        other_wait = sum(_mean(c.wait_s or []) for c in others)
        message_wait, message_cost, message_time = self._messages()
        waited = barrier_wait + other_wait + message_wait
        serial = min(self._serial(), waited)
        uneven = min(max(self.compute) - _mean(self.compute), waited - serial)
        rest = max(waited - serial - uneven, 0.0) / waited if waited else 0.0
        # ranks cannot make each other wait for longer than they compute, all of them together
        changing = min(rest * other_wait, (self.n - 1) * _mean(self.compute))
        noise = rest * other_wait - changing
        algorithm, volume, shapes = self._collectives(others)
        causes = [
            self._serial_cause(serial),
            self._imbalance_cause(uneven, changing, others + bare),
            self._sender_cause(rest * message_wait, message_time, message_cost),
            self._barrier_cause(bare, rest * barrier_wait),
            self._collective_cause(algorithm + noise, shapes),
            self._bandwidth_cause(volume, message_cost),
            self._communicator_cause(),
        ]
        found = sorted((c for c in causes if c is not None), key=lambda c: -c.lost_s)
        out = Diagnosis(
            self.wall,
            _mean(self.compute) / self.wall,
            _mean(p.mpi_s) / self.wall,
            _mean(p.io_s) / self.wall,
            found,
        )
        self._conclude(out)
        return out

    # ---- numbers -------------------------------------------------------------------------------

    def _serial(self) -> float:
        files, total = self.p.io_s, sum(self.p.io_s)
        if self.n < 2 or total <= 0 or max(files) < SERIAL_SHARE * total:
            return 0.0
        return max(files) - _mean(files)

    def _messages(self) -> tuple[float, float, float]:
        """Return waiting for messages, what they should cost, and the time spent (means)."""
        node_of = {r: i for i, node in enumerate(self.p.nodes) for r in node.ranks}
        cost = [0.0] * self.n
        for source, target, messages, volume in self.p.matrix.messages:
            if node_of[source] == node_of[target]:
                each = messages * self.net.node_message_s + volume / self.net.node_bandwidth
            else:
                each = messages * self.net.latency_s + volume / self.net.bandwidth
            cost[source] += each
            cost[target] += each
        spent = [0.0] * self.n
        for call in self.p.calls:
            awaited = call.detail or ""
            messages_wait = call.kind == "wait" and (
                not awaited or awaited.endswith(("end_init", "ecv_init", "endrecv"))
            )
            if call.kind == "p2p" or messages_wait:
                for r, time_s in enumerate(call.time_s):
                    spent[r] += time_s
        waiting = [max(s - c, 0.0) for s, c in zip(spent, cost, strict=True)]
        moving = [min(s, c) for s, c in zip(spent, cost, strict=True)]
        return _mean(waiting), _mean(moving), _mean(spent)

    def _least(self, call: Call) -> tuple[float, float]:
        """Return latency and volume parts of the least that a row's calls should take, a rank."""
        c = self.sizes.get(-1 if call.communicator is None else call.communicator)
        ranks, nodes, ppn = (c.size, max(c.nodes, 1), max(c.ppn, 1)) if c else (self.n, 1, self.n)
        calls = sum(call.calls) / self.n
        depth = math.ceil(math.log2(max(ppn, 1))) * self.net.node_latency_s
        depth += math.ceil(math.log2(max(nodes, 1))) * self.net.latency_s
        volume = sum(call.bytes) / self.n
        name = call.function.removeprefix("MPI_")
        if "lltoall" in name or "llgather" in name:
            volume *= max(ranks - 1, 1)
        elif name in ("Allreduce",):
            volume *= 2 * (ranks - 1) / max(ranks, 1)
        rate = self.net.bandwidth if nodes > 1 else self.net.node_bandwidth
        return calls * depth, volume / rate

    def _collectives(self, calls: list[Call]) -> tuple[float, float, list[tuple[float, Call]]]:
        """Return what goes to algorithms and to volume, and the rows by what they lose."""
        algorithm = volume = 0.0
        shapes = []
        for call in calls:
            if call.transfer_s is None:
                continue
            transfer = _mean(call.transfer_s)
            latency, moving = self._least(call)
            lost = max(transfer - latency - moving, 0.0)
            algorithm += lost
            volume += min(moving, max(transfer - latency, 0.0))
            shapes.append((lost, call))
        return algorithm, volume, sorted(shapes, key=lambda s: -s[0])

    # ---- causes --------------------------------------------------------------------------------

    def _show(self) -> str:
        return f"stretto profile --show {shlex.quote(str(self.file))}" if self.file else (
            f"stretto profile -- {self.command}"
        )  # fmt: skip

    def _cause(
        self,
        name: str,
        title: str,
        lost: float,
        evidence: list[str],
        advice: str,
        next_command: str,
        tuning: float = 0.0,
        because: str | None = None,
    ) -> Cause | None:
        if lost <= 0:
            return None
        return Cause(
            name, title, lost, lost / self.wall, tuning, evidence, because, advice, next_command
        )

    def _serial_cause(self, lost: float) -> Cause | None:
        files = self.p.io_s
        rank = max(range(self.n), key=lambda r: files[r])
        evidence = [
            f"rank {rank} spends {seconds(files[rank])} on files, the others "
            f"{seconds(sum(files) - files[rank])} together"
        ]
        if self.p.file_bytes and self.p.file_bytes[rank]:
            evidence.append(
                f"between MPI calls rank {rank} reads and writes {size(self.p.file_bytes[rank])}"
            )
        waits = self._top_waits(self.blocking)
        if waits:
            evidence.append(f"meanwhile the others wait, most of it in {waits}")
        return self._cause(
            "serial_io",
            "serial I/O: one rank works on files while the others wait",
            lost,
            evidence,
            "write in parallel (MPI-IO, parallel HDF5 or netCDF), less often, or from a rank that "
            "the others do not wait for",
            self._show(),
            because="no collective algorithm makes a file be written faster",
        )

    def _imbalance_cause(self, uneven: float, changing: float, calls: list[Call]) -> Cause | None:
        rank = max(range(self.n), key=lambda r: self.compute[r])
        mean = _mean(self.compute)
        evidence = [
            f"rank {rank} computes {seconds(self.compute[rank])}, the mean is {seconds(mean)}"
            + (f" ({self.compute[rank] / mean:.2f} times)" if mean > 0 else "")
        ]
        if changing > uneven:
            evidence.append(
                f"the late rank changes from call to call: {seconds(changing)} of the waiting is "
                "not explained by the sums over the run"
            )
        waits = self._top_waits(calls)
        if waits:
            evidence.append(f"the others wait for it, most of it in {waits}")
        return self._cause(
            "imbalance",
            "computation imbalance: ranks wait for the one that computes longest",
            uneven + changing,
            evidence,
            "divide the work anew (partitioner, weights), or find what slows that rank down",
            self._show(),
            because="the time passes before the collective begins, whatever its algorithm",
        )

    def _top_waits(self, calls: list[Call]) -> str:
        rows = sorted(calls, key=lambda c: -_mean(c.wait_s or []))[:2]
        return " and ".join(
            f"{c.function} ({seconds(_mean(c.wait_s))} a rank)"
            for c in rows
            if c.wait_s and _mean(c.wait_s) > 0
        )

    def _sender_cause(self, lost: float, spent: float, cost: float) -> Cause | None:
        rows = sorted(
            (c for c in self.p.calls if c.kind in ("p2p", "wait") and c.total_calls),
            key=lambda c: -sum(c.time_s),
        )
        evidence = [
            f"{seconds(spent)} a rank in sends, receives and their waits, where "
            f"{sum(m[2] for m in self.p.matrix.messages)} messages should take {seconds(cost)}"
        ]
        if rows:
            rank = max(range(self.n), key=lambda r: rows[0].time_s[r])
            evidence.append(
                f"most of it in {rows[0].function}: {seconds(_mean(rows[0].time_s))} a rank, "
                f"rank {rank} {seconds(rows[0].time_s[rank])}"
            )
        return self._cause(
            "late_sender",
            "late senders: receives wait for messages that are sent later",
            lost,
            evidence,
            "send as soon as the data is there, post receives early (MPI_Irecv) and compute "
            "meanwhile, or break the chain in which ranks wait for each other",
            self._show(),
            because="messages between two ranks are not collectives; the waiting comes from when "
            "they are sent",
        )

    def _barrier_cause(self, bare: list[Call], waiting: float) -> Cause | None:
        calls = sum(sum(c.calls) for c in bare) / self.n
        if calls < FEW_BARRIERS:
            return None
        transfer = sum(_mean(c.transfer_s or c.time_s) for c in bare)
        latency = sum(self._least(c)[0] for c in bare)
        return self._cause(
            "barrier",
            "barriers that nothing in MPI needs",
            transfer + waiting,
            [
                f"{calls:.0f} MPI_Barrier a rank with no file, one-sided or shared-memory access "
                f"since the one before: {seconds(transfer)} in the barriers themselves, "
                f"{seconds(waiting)} of waiting that would otherwise even out"
            ],
            "remove them, after a check that nothing outside MPI (files written with fwrite, "
            "signals, timers) relies on them; MPI's messages and collectives do not",
            f"stretto tune -- {self.command}",
            tuning=max(transfer - latency, 0.0),
        )

    def _collective_cause(self, lost: float, shapes: list[tuple[float, Call]]) -> Cause | None:
        evidence = []
        for amount, call in shapes[:3]:
            if amount <= 0:
                continue
            evidence.append(
                f"{call.function}, {size(sum(call.bytes) / max(call.total_calls, 1))}: "
                f"{sum(call.calls) / self.n:.0f} calls a rank, {seconds(_mean(call.transfer_s or []))} "
                f"in the operation itself, where the least is {seconds(sum(self._least(call)))}"
            )
        return self._cause(
            "collective",
            "collective algorithms: more time than the size should cost",
            lost,
            evidence,
            "let Stretto choose the algorithms",
            f"stretto tune -- {self.command}",
            tuning=lost,
        )

    def _bandwidth_cause(self, collectives: float, messages: float) -> Cause | None:
        several = len(self.p.nodes) > 1
        return self._cause(
            "bandwidth",
            "bandwidth: the bytes themselves",
            collectives + messages,
            [
                f"collectives move what should take {seconds(collectives)}, messages "
                f"{seconds(messages)}, at "
                + (
                    f"{self.net.bandwidth / 1e9:g} GB/s between nodes"
                    if several
                    else f"{self.net.node_bandwidth / 1e9:g} GB/s within the node"
                )
            ],
            "send less (single precision, fewer fields, larger steps)"
            + (", or use all network rails" if several else ""),
            self._show(),
            because="another algorithm has to move the same bytes",
        )

    def _communicator_cause(self) -> Cause | None:
        rows = [c for c in self.p.calls if c.kind == "comm"]
        lost = sum(_mean(c.time_s) for c in rows)
        calls = sum(c.total_calls for c in rows) / self.n
        return self._cause(
            "communicators",
            "making and freeing communicators",
            lost,
            [f"{calls:.0f} calls a rank, {seconds(lost)}"],
            "make communicators once and keep them",
            self._show(),
            because="making a communicator is an agreement of its ranks, not a collective to tune",
        )

    # ---- conclusion ----------------------------------------------------------------------------

    def _conclude(self, out: Diagnosis) -> None:
        tuning = sum(c.tuning_s for c in out.causes)
        out.can_help = tuning >= MINOR * self.wall
        first = out.causes[0] if out.causes else None
        if not self.p.complete:
            out.warnings.append(
                "the run was cut short; what is said here holds for the part that was recorded"
            )
        most = max((len(n.ranks) for n in self.p.nodes), default=0)
        if most > self.p.host.cores:
            out.warnings.append(
                f"{most} ranks share {self.p.host.cores} cores: much of the waiting is for a core, "
                "not for another rank"
            )
        if self.n == 1:
            out.verdict = "tuning cannot help, because there is one rank only"
            out.next_command = self._show()
        elif out.can_help:
            out.verdict = (
                f"tuning can help: at most {seconds(tuning)} of {seconds(self.wall)} "
                f"({100 * tuning / self.wall:.0f} % of the run) is in collectives beyond what they "
                "should cost"
            )
            out.next_command = f"stretto tune -- {self.command}"
        elif first is None or first.share < MINOR:
            out.verdict = (
                f"tuning cannot help, because {100 * out.compute_share:.1f} % of the run is "
                "computing outside MPI, and no cause takes "
                f"{100 * MINOR:.0f} % of it"
            )
            out.next_command = self._show()
        else:
            out.verdict = f"tuning cannot help, because {first.because}: {first.title}"
            if first.because is None:  # tunable in kind, but too little
                out.verdict = (
                    f"tuning can gain {seconds(tuning)} at most, "
                    f"{100 * tuning / self.wall:.1f} % of the run; look at this first: {first.title}"
                )
            out.next_command = first.next_command
