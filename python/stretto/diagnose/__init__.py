"""From one profile: what the time is lost to, in order, and whether tuning can help.

Every rank's run is computing (outside MPI), files, and MPI. Lost is what ranks spend waiting for
each other, and what communication takes beyond what its size should cost:

- *Files*: the rank with the most file time minus the mean is what the others wait for: serial I/O
  where that rank has most of all file time. Reading that several ranks do of the same bytes could
  be done once. What is left is the time of files themselves.
- *Waiting* of collectives is known from joined time stamps; of messages it is the time in sends,
  receives and waits minus what the messages should cost (`Network`). Waiting is explained first by
  files, then by computing that is spread unevenly (most minus mean, over the whole run: the same
  ranks each time); what is left changes from step to step and is booked where it was waited: late
  senders or receivers (messages), barriers that nothing needs, ranks with empty blocks, or
  computing imbalance that moves (other collectives; beyond the typical operation's own length, and
  never more than the computing itself could cause).
- *Barriers that nothing needs*: no one-sided communication, no file and no shared-memory window on
  any of their ranks since the barrier before, nor until the next. MPI's own messages need none.
- *Empty blocks*: ranks that move nothing in a v-collective wait and work for nothing.
- *Packing*: derived datatypes whose pieces the MPI copies one by one, measured on some messages.
- *Collectives*: the operation itself minus the least it should cost: tree depth times latency plus
  volume over bandwidth. What a typical (median) call takes beyond both is the algorithm's (tuning
  can help), the volume's part is bandwidth (it cannot, rails and fewer bytes can). What single
  calls take beyond the typical one is interruption, by the operating system or other jobs.

Ranks that only do the file access of the others are left out (`io_ranks`).

The numbers are upper bounds: causes hide behind each other. Waits for nonblocking collectives and
neighbourhood collectives are judged like blocking ones, those for persistent ones, too; `Overlap`
says how much of what blocking calls would have taken is hidden. One-sided communication and
collectives whose calls could not be joined are not judged (`Unjudged`). Where they take more than a
minor part of the run, nothing is said against tuning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from stretto.counted import counted, seconds
from stretto.diagnose import busy
from stretto.diagnose.causes import Cause
from stretto.diagnose.files import FileCauses
from stretto.diagnose.io_ranks import io_ranks, without, words
from stretto.diagnose.judged import Unjudged, split_barriers, split_empty, unjudged, unjudged_words
from stretto.diagnose.numbers import MINOR, Network, mean
from stretto.diagnose.overlap import Overlap, overlaps
from stretto.diagnose.programs import Other, one_rank, pickle_note, program_name
from stretto.files.profile import Profile
from stretto.profile.join import rank_words
from stretto.profile.show import parts, threads_note, whole_s

__all__ = ["MINOR", "Cause", "Diagnosis", "Network", "Other", "Unjudged", "diagnose"]

#: causes that are a want of cores
CORES = ("busy_machine", "more_ranks_than_cores", "more_threads_than_cores")
#: below this share of the run what tuning may gain is not worth a word
NOTHING = 0.005


@dataclass
class Diagnosis:
    """All causes, most time first, and the conclusion."""

    wall_s: float
    #: None, and without causes: calls are missing
    compute_share: float | None = None
    mpi_share: float | None = None
    file_share: float | None = None
    #: the same in detail: what ranks do, and its share of the run
    parts: dict[str, float] = field(default_factory=dict)
    causes: list[Cause] = field(default_factory=list)
    #: None: not known, too much of the run was not judged
    can_help: bool | None = False
    unjudged: list[Unjudged] = field(default_factory=list)
    #: of each rank: its computing relative to the mean, where that is uneven; else empty
    weights: list[float] = field(default_factory=list)
    #: of nonblocking and persistent collectives, most time first
    overlaps: list[Overlap] = field(default_factory=list)
    verdict: str = ""
    next_command: str = ""
    warnings: list[str] = field(default_factory=list)
    #: what the ranks ran
    program: str = ""
    #: the other MPI programs of the same command, most time first
    others: list[Other] = field(default_factory=list)
    #: how the command failed; empty: it did not, or nobody knows
    failure: str = ""

    @classmethod
    def failed(cls, profile: Profile, failure: str, command: str) -> Diagnosis:
        """Return no causes: the part before a failure is mostly the start of the program."""
        verdict = f"no verdict: {failure}. First make it succeed without Stretto"
        return cls(
            max(profile.wall_s), can_help=None, verdict=verdict, next_command=command,
            program=program_name(profile), failure=failure,
        )  # fmt: skip


def diagnose(
    profile: Profile,
    where: Path | None = None,
    network: Network | None = None,
    command: str | None = None,
) -> Diagnosis:
    """Find out what a run loses its time to.

    `command`: what was typed, for the commands that are suggested; by default the profile's words.
    """
    part = profile.recorded_part()
    # with more ranks than cores, those that wait take cores too
    crowded = busy.own_wait_s(part) > 0
    serving = [] if crowded else [part.number(r) for r in io_ranks(part)]
    study = _Study(without(profile, serving), where, network or Network())
    study.command = command or study.command
    found = study.result()
    if serving:
        found.warnings.append(words(serving))
    if profile.unrecorded_ranks:
        found.warnings.append(
            f"nothing was recorded on ranks {rank_words(profile.unrecorded_ranks)}: the diagnosis "
            "covers the other ranks, without their communication with these"
        )
    return found


class _Study(FileCauses):
    """Attributes the waiting, ranks the causes, concludes."""

    #: time of algorithms, tunable ones, that a busy machine may explain: an upper bound, a rank
    hidden = 0.0

    def result(self) -> Diagnosis:
        p = self.p
        if p.tools:
            out = Diagnosis(self.wall, program=program_name(p))
            self._conclude(out)
            return out
        bare, others = split_barriers(p.calls, p.communicators)
        empty, others = split_empty(others)
        barrier_wait = sum(mean(c.wait_s or []) for c in bare)
        empty_wait = sum(mean(c.wait_s or []) for c in empty)
        other_wait = sum(mean(c.wait_s or []) for c in others)
        message_wait, message_single, message_bytes, packing, message_time = self.messages()
        waited = barrier_wait + empty_wait + other_wait + message_wait
        disturbed = busy.disturbed_s(p, waited)
        at_files = min(max(p.io_s) - mean(p.io_s), waited - disturbed)
        uneven = min(max(self.compute) - mean(self.compute), waited - disturbed - at_files)
        unexplained = max(waited - disturbed - at_files - uneven, 0.0)
        faulted = self.faulted_s()
        # ranks with the same faults at the same time do not wait for each other: no more than one's
        at_faults = min(faulted, unexplained)
        rest = (unexplained - at_faults) / waited if waited else 0.0
        # Waiting no longer than the operation itself is jitter, not computing; ranks cannot make
        # each other wait for longer than they compute, or are at files, all of them together.
        jitter = sum(self.typical(c) for c in others if c.wait_s is not None)
        at_work = mean(self.compute) + mean(p.io_s)
        late = min(max(rest * other_wait - jitter, 0.0), (self.n - 1) * at_work)
        noise = rest * other_wait - late
        changing = late * mean(self.compute) / at_work if at_work > 0 else 0.0
        algorithm, volume, interrupted, shapes = self.collectives(others)
        # a rank without a core is the interruption; and where that is the rule, not the exception,
        # it is what makes the typical call long
        seldom = busy.disturbed_s(p, waited + interrupted)
        often = busy.disturbed_s(p, waited + interrupted + algorithm) - seldom
        interrupted -= seldom - disturbed
        kept = 1 - often / algorithm if algorithm > 0 else 1.0
        self.hidden = (1 - kept) * sum(amount for amount, call in shapes if self._tunable(call))
        shapes = [(kept * amount, call) for amount, call in shapes]
        causes = [
            self.busy_cause(busy.core_wait_s(p)),
            self.crowd_cause(busy.own_wait_s(p)),
            *self.file_causes(at_files + late - changing),
            *self.imbalance_causes(uneven, changing, others + bare),
            self.sender_cause(rest * message_wait, message_time, message_single + message_bytes),
            self.message_cause(message_single, message_time),
            self.packing_cause(packing),
            self.barrier_cause(bare, rest * barrier_wait),
            self.silent_cause(empty, rest * empty_wait),
            self.collective_cause(kept * algorithm, shapes),
            self.page_fault_cause(faulted + at_faults),
            self.interruption_cause(interrupted + noise, others),
            self.bandwidth_cause(volume, message_bytes),
            self.communicator_cause(),
        ]
        found = sorted((c for c in causes if c is not None), key=lambda c: -c.lost_s)
        whole = max(whole_s(p), self.wall)
        out = Diagnosis(
            self.wall,
            mean(self.compute) / whole,
            mean(p.mpi_s) / whole,
            mean(p.io_s) / whole,
            {part.name: part.mean / whole for part in parts(p)},
            found,
            program=program_name(p),
        )
        out.unjudged = unjudged(p.calls, whole)
        out.overlaps = overlaps(self)
        if any(c.name == "imbalance" for c in found):
            out.weights = [c / max(mean(self.compute), 1e-9) for c in self.compute]
        self._conclude(out)
        return out

    def _conclude(self, out: Diagnosis) -> None:
        if not self.p.complete:
            out.warnings.append("the run ended early; this applies to the recorded part")
        if (note := threads_note(self.p)) is not None:
            out.warnings.append(note)
        if (disturbed := busy.note(self.p)) is not None:
            out.warnings.append(disturbed)
        if (idle := busy.idle_note(self.p)) is not None:
            out.warnings.append(idle)
        if (pickled := pickle_note(self.p)) is not None:
            out.warnings.append(pickled)
        # The cores are those of the machine that joined the profile, maybe a login node.
        mine = [n for n in self.p.nodes if n.name.split(".")[0] == self.p.host.name]
        most = max((len(n.ranks) for n in mine), default=0)
        if most > self.p.host.cores:
            out.warnings.append(
                f"{most} ranks share {counted(self.p.host.cores, 'core')}: ranks may wait for a "
                "core rather than for another rank"
            )
        self._verdict(out)

    def _verdict(self, out: Diagnosis) -> None:
        tuning = min(sum(c.tuning_s for c in out.causes), self.wall)
        gain = f"{seconds(tuning)} of {seconds(self.wall)} ({100 * tuning / self.wall:.1f} %)"
        dark = sum(u.share for u in out.unjudged) >= MINOR
        first = out.causes[0] if out.causes and out.causes[0].share >= MINOR else None
        others = [c.lost_s for c in out.causes if c.name not in CORES]
        rests_on = max(others, default=0.0)
        if tuning >= MINOR * self.wall:
            rests_on = tuning
        elif self.hidden >= MINOR * self.wall:  # that no gain is left may be the machine's doing
            rests_on = 0.0
        withheld = busy.lacks_calls(self.p) or busy.withheld(self.p, rests_on)
        out.can_help = tuning >= MINOR * self.wall
        out.next_command = self.show_command()
        if self.n == 1:
            out.can_help = False
            out.verdict, out.next_command = one_rank(self.p, out.next_command)
        elif withheld is not None:
            out.can_help, out.verdict = None, withheld
            again = "check" if self.p.tools else "diagnose"
            out.next_command = f"stretto {again} -- {busy.with_fewer_ranks(self.p, self.command)}"
        elif out.can_help:
            out.verdict = (
                f"tuning can help: collectives take longer than expected, by an estimated {gain}"
            )
            if dark:
                out.verdict += f"; unclassified and not counted: {unjudged_words(out.unjudged)}"
            out.next_command = self.tune_command()
        elif dark:
            out.can_help = None
            out.verdict = (
                "it is unknown whether tuning can help, because this time is unclassified: "
                f"{unjudged_words(out.unjudged)}; "
                + (
                    f"of the rest, the largest cause is: {first.title}"
                    if first is not None
                    else f"of the rest, no cause takes {100 * MINOR:.0f} % of the run"
                )
            )
        elif first is None:
            out.verdict = (
                f"tuning cannot help, because {100 * (out.compute_share or 0):.1f} % of the run is "
                "computing outside MPI and files, and every cause takes less than "
                f"{100 * MINOR:.0f} % of the run"
            )
        elif first.because is None or tuning >= NOTHING * self.wall:
            out.verdict = (
                f"tuning can gain an estimated {gain}; the largest cause is: {first.title}"
            )
            if self.long_job and tuning >= NOTHING * self.wall:  # learning costs no run
                out.next_command = self.tune_command()
        else:
            out.verdict = f"tuning cannot help, because {first.because}: {first.title}"
            out.next_command = first.next_command
