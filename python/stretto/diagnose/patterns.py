"""Causes that lie in who waits for whom: uneven computing, messages, empty blocks."""

from __future__ import annotations

import shlex
from collections import Counter

from stretto.counted import counted, seconds, sized
from stretto.diagnose.causes import Cause, Causes
from stretto.diagnose.numbers import MINOR, collective_of, mean
from stretto.files.profile import Call
from stretto.profile.join import rank_words
from stretto.profile.show import communicator_words, group_of

#: a rank that is late by so much of the greatest lateness is one of those to name
NAMED = 0.5
#: part of the waiting that ends with the same ranks: above, they are the cause
SAME = 0.75
#: part of the message time in blocking calls from which on they are what to change
BLOCKING = 0.8
#: part of the messages that go both ways between two ranks: above, an exchange; below, a chain
BOTH_WAYS, ONE_WAY = 0.8, 0.2
#: ranks of a neighbourhood; more are nearer to an all-to-all
NEIGHBOURS = 32
#: more compute times than these are not printed
LISTED = 16
_BLOCKING = ("MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend", "MPI_Recv", "MPI_Mrecv",
             "MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Probe", "MPI_Mprobe")  # fmt: skip


class PatternCauses(Causes):
    """Makes these causes; each is None where nothing is lost to it."""

    def imbalance_causes(
        self, uneven: float, changing: float, calls: list[Call]
    ) -> list[Cause | None]:
        """Return what computing costs that is uneven over the run, and from call to call."""
        waits = self._top_waits(calls)
        shared = [f"most of the waiting is in {waits}"] if waits else []
        if uneven < MINOR * changing or (uneven < changing and self._takes_turns()):
            return [self._moving_cause(uneven + changing, shared)]
        if changing < MINOR * uneven:
            return [self._imbalance_cause(uneven + changing, shared)]
        return [self._imbalance_cause(uneven, shared), self._moving_cause(changing, shared)]

    def _late_ranks(self) -> list[int]:
        middle, most = mean(self.compute), max(self.compute)
        return [r for r in range(self.n) if self.compute[r] - middle >= NAMED * (most - middle)]

    def _takes_turns(self) -> bool:
        """Return whether the ranks that compute longest are not those that others wait for."""
        share, late = self.p.last_share, self._late_ranks()
        if share is None:
            return False
        return sum(share[r] for r in late) < min(SAME, 2 * len(late) / self.n)

    def _imbalance_cause(self, lost: float, evidence: list[str]) -> Cause | None:
        middle, late = mean(self.compute), self._late_ranks()
        theirs = mean([self.compute[r] for r in late])
        names = rank_words([self.p.number(r) for r in late])
        several = len(late) > 1
        seen = [
            f"rank{'s' * several} {names} compute{'s' * (not several)} {seconds(theirs)}"
            f"{' on average' * several}, the mean is {seconds(middle)}"
            + (f" ({theirs / middle:.2f} times)" if middle > 0 else "")
        ]
        share = self.p.last_share
        if share is not None:
            seen.append(
                f"{100 * sum(share[r] for r in late):.0f} % of the waiting in collectives ended "
                f"when {'one of these ranks' if several else 'this rank'} arrived"
            )
        return self._cause(
            "imbalance",
            "computation imbalance: ranks always wait for the same ranks, which compute longest",
            lost,
            seen + evidence,
            "redistribute the work: give these ranks less, with weights in the partitioner, or "
            "use fewer and larger sub-domains",
            because="with any algorithm, this time passes before the last rank enters",
            steps=self._weights(middle),
        )

    def _weights(self, middle: float) -> list[str]:
        if middle <= 0:
            return []
        steps = [
            "weight each mesh cell by the time of its rank, and partition again (METIS, "
            "ParMETIS: vwgt; Scotch: vertex loads)"
        ]
        if self.n <= LISTED:
            times = " ".join(f"{c / middle:.2f}" for c in self.compute)
            steps.append(f"weights of the cells, by rank from rank {self.p.number(0)} on: {times}")
        elif self.file:
            steps.append(
                "weights of the cells, by rank: `weights` in the output of "
                f"stretto diagnose --profile {shlex.quote(str(self.file))} --json"
            )
        return steps

    def _moving_cause(self, lost: float, evidence: list[str]) -> Cause | None:
        seen = [
            f"the late rank changes from call to call: {seconds(lost)} of the waiting is not "
            "explained by the computing time per rank"
        ]
        share = self.p.last_share
        if share is not None:
            most = max(range(self.n), key=lambda r: share[r])
            seen.append(
                f"the rank that others wait for most, {self.p.number(most)}, is the last in "
                f"{100 * share[most]:.0f} % of the waiting"
            )
        return self._cause(
            "moving_imbalance",
            "changing computation imbalance: a different rank is late each time",
            lost,
            seen + evidence,
            "balance each phase between two collectives, not only the total; look for irregular "
            "work (output, other processes on the nodes); synchronise less often (fewer or "
            "nonblocking collectives)",
            because="with any algorithm, this time passes before the last rank enters",
        )

    # ---- messages --------------------------------------------------------------------------

    def sender_cause(self, lost: float, spent: float, cost: float) -> Cause | None:
        rows = sorted(
            (c for c in self.p.calls if group_of(c) in ("p2p", "p2p wait") and c.total_calls),
            key=lambda c: -sum(c.time_s),
        )
        apart = not self.p.matrix.messages and any(not c.nodes for c in self.p.communicators)
        evidence = [
            f"{seconds(spent)} per rank in sends, receives and their waits, "
            + (
                "with ranks of another MPI_COMM_WORLD"
                if apart
                else f"where {self.messages_words()}, sent and received, should take "
                f"{seconds(cost)} (assumed: {self.assumed_words()})"
            )
        ]
        if rows:
            rank = max(range(self.n), key=lambda r: rows[0].time_s[r])
            evidence.append(
                f"most of it in {rows[0].function}: {seconds(mean(rows[0].time_s))} per rank, "
                f"rank {self.p.number(rank)} {seconds(rows[0].time_s[rank])}"
            )
        whole = sum(sum(c.time_s) for c in rows)
        held = [c for c in rows if c.function in _BLOCKING]
        blocking = sum(sum(c.time_s) for c in held) >= BLOCKING * whole > 0
        names = " and ".join(dict.fromkeys(c.function for c in held[:2]))
        at_work = sum(self.compute) / self.wall
        chain = blocking and self._one_way() and 0.75 <= at_work <= 1 + 0.25 * (self.n - 1)
        if chain:
            evidence.append(
                f"on average {at_work:.1f} of {self.n} ranks compute at a time, and messages go "
                "one way"
            )
        steps = []
        if chain:
            steps.append("in the source: send the first part of the data as soon as it is ready, "
                         "in smaller pieces, so that the next rank can begin")  # fmt: skip
        elif blocking:
            steps.append(
                "in the source: MPI_Irecv and MPI_Isend for all partners, then work that needs "
                f"none of these data, then MPI_Waitall, instead of {names}"
            )
        return self._cause(
            "chain" if chain else "late_sender",
            "a chain of late senders: ranks work one after another"
            if chain
            else "late senders or receivers: ranks wait for the other end of their messages",
            lost,
            evidence,
            "send as soon as the data is ready, post receives early (MPI_Irecv) and compute "
            "meanwhile, or break the chain of waiting ranks",
            because="messages between two ranks are not collectives; the waiting depends on when "
            "they are sent and received",
            steps=steps,
        )

    def _pairs(self) -> dict[tuple[int, int], int]:
        return {(s, t): m for s, t, m, _ in self.p.matrix.messages if s != t}

    def _one_way(self) -> bool:
        """Return whether messages between two ranks go one way only, of three ranks or more."""
        pairs = self._pairs()
        both = sum(min(m, pairs.get((t, s), 0)) for (s, t), m in pairs.items())
        return self.n > 2 and both <= ONE_WAY * sum(pairs.values())

    def neighbourhood_steps(self) -> list[str]:
        """Return what to change where each rank exchanges messages with few ranks, equally often.

        What a neighbourhood collective would gain is not known before it is tried; with one partner
        it joins no messages.
        """
        pairs = self._pairs()
        both = sum(min(m, pairs.get((t, s), 0)) for (s, t), m in pairs.items())
        if not pairs or both < BOTH_WAYS * sum(pairs.values()):
            return []
        partners = Counter(s for s, _ in pairs)
        most = max(partners.values())
        fewest, highest = min(pairs.values()), max(pairs.values())
        every = len(partners) == self.n and 1 < most <= min(NEIGHBOURS, self.n - 2)
        if not every or fewest < 0.9 * highest or highest < 10:
            return []
        return [
            f"in the source: each rank sends to {counted(most, 'rank')} at most, equally often: "
            "MPI_Dist_graph_create_adjacent once, then one MPI_Neighbor_alltoallv a step (test "
            "whether it is faster)"
        ]

    def message_cause(self, single: float, spent: float) -> Cause | None:
        found = super().message_cause(single, spent)
        if found is not None:
            found.steps += self.neighbourhood_steps()
        return found

    def packing_cause(self, lost: float) -> Cause | None:
        rows = sorted(
            (c for c in self.p.calls if c.pack_s and any(c.pack_s)),
            key=lambda c: -sum(c.pack_s or []),
        )
        evidence = [
            f"{row.function} of {sized(sum(row.bytes) / max(row.total_calls, 1))}: packing takes "
            f"{seconds(sum(row.pack_s or []) / max(row.total_calls, 1))} per message more than "
            "one contiguous copy"
            for row in rows[:3]
        ]
        if rows:
            evidence.append(
                "measured on some messages; unpacking is assumed to cost the same per byte"
            )
        return self._cause(
            "packing",
            "derived datatypes: the MPI packs small pieces",
            lost,
            evidence,
            "describe larger pieces (swap the dimensions of the array, send several layers at "
            "once), or keep a contiguous copy of what is sent and fill it in the loop that "
            "computes the data",
            because="the data is packed before any algorithm begins",
        )

    # ---- collectives without a part in them ------------------------------------------------

    def silent_cause(self, silent: list[Call], waiting: float) -> Cause | None:
        evidence = []
        rows = sorted(silent, key=lambda c: -sum(c.time_s))
        for row in rows[:3]:
            ranks = [self.p.number(r) for r, n in enumerate(row.calls) if n]
            where = communicator_words(self.sizes.get(-1 if row.communicator is None
                                                      else row.communicator))  # fmt: skip
            calls = counted(round(row.total_calls / len(ranks)), "call")
            found = (
                "zeros in all sampled calls"
                if row.zero_ranks
                else f"nothing is sent or received in {calls}"
            )
            evidence.append(
                f"{collective_of(row)} on {where}: {found} of rank"
                f"{'s' * (len(ranks) > 1)} {rank_words(ranks)}"
            )
        advice = (
            "call them on a communicator without these ranks (MPI_Comm_split once), or remove the "
            "call if no rank moves data"
        )
        if any(row.zero_ranks for row in silent):
            advice += "; for ranks that add zeros, first check that they never contribute"
        whole = sum(mean(c.time_s) for c in silent)
        return self._cause(
            "empty_blocks",
            "collectives with idle ranks: they move no data, or add only zeros",
            min(waiting + sum(self.typical(c) for c in silent), whole),
            evidence,
            advice,
            because="leaving these ranks out is faster than any algorithm",
        )
