"""Each cause of lost time, with its evidence, what tuning could gain and what else helps."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from stretto.counted import counted, seconds, sized
from stretto.diagnose.numbers import (
    ENOUGH_CALLS,
    FEW_BARRIERS,
    FEW_CREATIONS,
    Numbers,
    collective_of,
    mean,
    volume_of,
)
from stretto.files.profile import Call, Profile
from stretto.files.table import NEIGHBORHOODS, ROW_OF, TUNABLE
from stretto.files.usage import crowd_of, usage_of, usage_words
from stretto.launch.job import LONG_JOB_S
from stretto.mpi.settings.memory import KEEP
from stretto.profile.show import group_of

#: part of the cost of messages that counts as lost: as if each two of them were combined
COMBINED = 0.5
#: less is lost by rounding alone (s)
ROUNDING_S = 1e-9


@dataclass
class Cause:
    """One cause of lost time.

    `name`: a short fixed name (``imbalance``, ``moving_imbalance``, ``late_sender``, ``chain``,
    ``collective``, ``bandwidth``, ``barrier``, ``empty_blocks``, ``busy_machine``,
    ``more_ranks_than_cores``, ``more_threads_than_cores``, ``serial_io``, ``shared_read``,
    ``modules``, ``files``, ``communicators``, ``messages``, ``packing``, ``interruption``,
    ``page_faults``).
    `title`: the same in words.
    `lost_s`, `share`: seconds a rank (mean), and their share of the run: the most that could be
    gained by removing the cause altogether.
    `tuning_s`: of these, the most that Stretto's tuning could gain.
    `evidence`: numbers from the profile.
    `because`: why tuning cannot help, where it cannot.
    `advice`: what can.
    `next_command`: what to type next.
    `steps`: what to type or change in the source, where it is known in detail.
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
    steps: list[str] = field(default_factory=list)


def _bound(profile: Profile, cores: int) -> str:
    """Return the words of a launch line that give each rank so many cores."""
    own = {
        "openmpi": f"mpirun --map-by slot:PE={cores} --bind-to core",
        "mpich": f"mpiexec -bind-to core:{cores}",
        "intel": f"export I_MPI_PIN_DOMAIN={cores}",
    }
    return f"{own[profile.mpi.family]}, or srun -c {cores}"


class Causes(Numbers):
    """Makes the causes; each is None where nothing is lost to it."""

    def show_command(self) -> str:
        return f"stretto profile --show {shlex.quote(str(self.file))}" if self.file else (
            f"stretto profile -- {self.command}"
        )  # fmt: skip

    def place_command(self) -> str | None:
        """Return the command that shows what another order of ranks would keep inside nodes."""
        if len(self.p.nodes) < 2:
            return None
        words = f"--profile {shlex.quote(str(self.file))}" if self.file else f"-- {self.command}"
        return f"stretto place {words}"

    @property
    def long_job(self) -> bool:
        return self.wall > LONG_JOB_S

    def tune_command(self) -> str:
        """Return the command that tunes CMD: `tune` runs it about a dozen times, `learn` once."""
        return f"stretto {'learn' if self.long_job else 'tune'} -- {self.command}"

    def _cause(
        self,
        name: str,
        title: str,
        lost: float,
        evidence: list[str],
        advice: str,
        next_command: str | None = None,
        tuning: float = 0.0,
        because: str | None = None,
        steps: Sequence[str] = (),
    ) -> Cause | None:
        if lost < ROUNDING_S:
            return None
        # what threads lose beside each other is more than the run, what can be gained is not
        lost, tuning = min(lost, self.wall), min(tuning, self.wall)
        share = lost / self.wall
        return Cause(
            name,
            title,
            lost,
            share,
            tuning,
            evidence,
            because,
            advice,
            next_command or self.show_command(),
            [*steps],
        )

    def busy_cause(self, lost: float) -> Cause | None:
        used = usage_of(self.p)
        return self._cause(
            "busy_machine",
            "a busy machine: ranks wait for a core that other processes use",
            lost,
            [] if used is None else [usage_words(used)],
            "end the other processes (top lists them), use exclusive nodes, or start fewer ranks "
            "or threads than there are cores",
            "stretto check",
            because="a rank without a core is late with any algorithm",
        )

    def crowd_cause(self, lost: float) -> Cause | None:
        used, crowd = usage_of(self.p), crowd_of(self.p)
        if used is None or crowd is None:
            return None
        steps = []
        if crowd.of_threads:
            each = max(crowd.cores // crowd.ranks, 1)
            steps.append(f"export OMP_NUM_THREADS={each} (or the equivalent setting of the "
                "threading library)")  # fmt: skip
            if crowd.bound:
                wide = round(crowd.threads / crowd.ranks)
                steps.append(f"or bind each rank to {wide} cores: {_bound(self.p, wide)}")
        noun = crowd.noun
        return self._cause(
            f"more_{noun}_than_cores",
            f"more {noun} than cores: ranks wait for a core that another "
            f"{'thread' if crowd.of_threads else 'rank'} of the job uses",
            lost,
            [crowd.words, usage_words(used)],
            "start no more ranks (times threads) than there are cores",
            "stretto check",
            because="a rank without a core is late with any algorithm",
            steps=steps,
        )

    def _top_waits(self, calls: list[Call]) -> str:
        waits: dict[str, float] = {}
        for c in calls:
            name = collective_of(c)
            waits[name] = waits.get(name, 0.0) + mean(c.wait_s or [])
        rows = sorted(waits.items(), key=lambda w: -w[1])[:2]
        return " and ".join(f"{name} ({seconds(w)} per rank)" for name, w in rows if w > 0)

    def message_cause(self, single: float, spent: float) -> Cause | None:
        """Return what many messages cost; how many of them could be combined is not known.

        `single`: what goes to each message, not to its bytes. `spent`: all that goes to messages.
        """
        volume = sum(m[3] for m in self.p.matrix.messages)
        each = volume / max(sum(m[2] for m in self.p.matrix.messages), 1)
        lost = COMBINED * single
        return self._cause(
            "messages",
            "many messages: the cost per message dominates, not the bytes",
            lost,
            [
                f"{self.messages_words()}, sent and received, of {sized(each)} on average; "
                f"each takes {seconds(spent / max(self.messages_a_rank(), 1e-9))} in send, receive "
                f"and wait; assumed cost of each, not measured: {self.assumed_words()}",
                f"combining messages in pairs would save an estimated {seconds(lost)}",
            ],
            "send fewer and larger messages: combine what goes to the same rank",
            self.place_command(),
            because="messages between two ranks are not collectives",
        )

    def barrier_cause(self, bare: list[Call], waiting: float) -> Cause | None:
        calls = sum(sum(c.calls) for c in bare) / self.n
        if calls < FEW_BARRIERS:
            return None
        transfer = sum(self.typical(c) for c in bare)
        latency = sum(self.least(c)[0] for c in bare)
        return self._cause(
            "barrier",
            "barriers that no MPI call needs",
            transfer + waiting,
            [
                f"{calls:.0f} MPI_Barrier per rank without file, one-sided or shared-memory access "
                "before or after them on any rank: "
                f"{seconds(transfer)} in the barriers themselves, {seconds(waiting)} of waiting, "
                "part of which may disappear without them"
            ],
            "remove them, after checking that nothing outside MPI (mapped files, signals, timers) "
            "relies on them; messages and collectives of MPI do not",
            tuning=max(transfer - latency, 0.0),
        )

    def collective_cause(self, lost: float, shapes: list[tuple[float, Call]]) -> Cause | None:
        evidence = []
        tuning = sum(amount for amount, call in shapes if self._tunable(call))
        for amount, call in shapes[:3]:
            if amount <= 0:
                continue
            evidence.append(
                f"{collective_of(call)}, {sized(volume_of(call) / max(call.total_calls, 1))}: "
                f"{counted(round(sum(call.calls) / self.n), 'call')} per rank, "
                f"{seconds(self.typical(call))} in the operation itself; the lower bound is "
                f"{seconds(sum(self.least(call)))}"
            )
        return self._cause(
            "collective",
            "collective algorithms: slower than expected for the message size",
            lost,
            evidence,
            "let Stretto choose the algorithms" if tuning > 0 else "try other settings of the MPI",
            self.tune_command() if tuning > 0 else self.show_command(),
            tuning=tuning,
            because=None if tuning > 0 else "Stretto leaves these collectives to the MPI",
        )

    def _tunable(self, call: Call) -> bool:
        known = self.sizes.get(-1 if call.communicator is None else call.communicator)
        name = call.collective or ""
        names: tuple[str, ...] = TUNABLE
        if call.graph is not None:
            names += NEIGHBORHOODS
        return ROW_OF.get(name, name) in names and (known is None or known.tunable)

    def interruption_cause(self, lost: float, calls: list[Call]) -> Cause | None:
        rows = [c for c in calls if c.typical_s and c.transfer_s and c.sampled >= ENOUGH_CALLS]
        evidence = []
        if rows:
            row = max(rows, key=lambda c: mean(c.transfer_s or []) - self.typical(c))
            each = sum(row.transfer_s or []) / max(row.total_calls, 1)
            of = sized(volume_of(row) / max(row.total_calls, 1))
            evidence.append(
                f"{collective_of(row)}, {of}: a call takes "
                f"{seconds(row.typical_s or 0.0)} in the median, {seconds(each)} on average"
            )
        return self._cause(
            "interruption",
            "interruptions: some calls take far longer than similar calls",
            lost,
            evidence,
            "look for other jobs on these nodes, more ranks or threads than cores, missing "
            "binding, frequency changes",
            "stretto check",
            because="an interrupted rank is late with any algorithm",
        )

    def faulted_s(self) -> float:
        """Return what repeated page faults take of a rank (mean, seconds)."""
        faults, each = self.p.repeated_faults, self.p.fault_s
        if faults is None or each is None:
            return 0.0
        return mean([n * s for n, s in zip(faults, each, strict=True)])

    def page_fault_cause(self, lost: float) -> Cause | None:
        """Make the cause; `lost` includes the waiting for ranks with page faults."""
        faults = self.p.repeated_faults or [0]
        each = min((s for s in self.p.fault_s or [] if s > 0), default=0.0)
        keep = [f"{name}={value}" for name, value in KEEP]
        return self._cause(
            "page_faults",
            "page faults: most likely malloc returns memory to the kernel and takes it again",
            lost,
            [
                f"{mean([float(n) for n in faults]):.0f} page faults per rank beyond those for "
                f"the growth of its memory; one takes at least {seconds(each)} here",
                "other ranks wait for a rank that handles a page fault: at most as much again is "
                "included",
            ],
            "let malloc keep freed memory (glibc), or allocate work arrays once and reuse them",
            f"stretto settings --candidates {shlex.quote(','.join(keep))} -- {self.command}",
            because="page faults are outside of MPI",
            steps=[f"export {' '.join(keep)}, if the measurement below shows a gain"],
        )

    def bandwidth_cause(self, collectives: float, messages: float) -> Cause | None:
        several = len(self.p.nodes) > 1
        placed = self.place_command() if messages > collectives else None
        return self._cause(
            "bandwidth",
            "bandwidth: the amount of data",
            collectives + messages,
            [
                f"the data of collectives should take {seconds(collectives)}, that of messages "
                f"{seconds(messages)}, at "
                + (f"{self.net.bandwidth / 1e9:g} GB/s between nodes and " if several else "")
                + f"{self.net.node_bandwidth / 1e9:g} GB/s within a node"
            ],
            "send less (single precision, fewer fields, larger steps)"
            + (", use all network rails" if several else "")
            + (", or put ranks that exchange messages on the same node" if placed else ""),
            placed,
            because="any algorithm moves the same bytes",
        )

    def communicator_cause(self) -> Cause | None:
        rows = [c for c in self.p.calls if group_of(c) == "comm"]
        lost = sum(mean(c.time_s) for c in rows)
        calls = sum(c.total_calls for c in rows if c.kind == "comm") / self.n
        spawning = sum(mean(c.time_s) for c in rows if c.function.startswith("MPI_Comm_spawn"))
        evidence = [
            f"{counted(round(calls), 'call')} per rank, {seconds(lost)}, including waiting "
            "for late ranks"
        ]
        if spawning > 0:
            evidence.append(f"{seconds(spawning)} of this starts processes (MPI_Comm_spawn)")
        if spawning > lost / 2:
            remedy = (
                "start all processes with the launcher instead of MPI_Comm_spawn (mpi4py.futures: "
                "mpirun -n RANKS python -m mpi4py.futures SCRIPT)"
            )
        elif calls < FEW_CREATIONS:
            remedy = (
                "a longer run, if these few calls are at the start of the program; otherwise reuse "
                "communicators"
            )
        else:
            remedy = "create communicators once and reuse them"
        return self._cause(
            "communicators",
            "creating and freeing communicators",
            lost,
            evidence,
            remedy,
            because="creating a communicator is not a collective that can be tuned",
        )
