"""A profile for people: where the time goes, and which calls take it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from stretto.counted import counted, seconds, sized
from stretto.files.profile import Call, Communicator, Profile
from stretto.files.usage import usage_of, usage_words
from stretto.profile.join import rank_words


def tools_note(profile: Profile) -> str | None:
    """Say that a tool hides MPI calls from the recorder; None where none does, or none is known."""
    if not profile.tools:
        return None
    own = profile.executables or []
    names = [
        f"a tool linked into {Path(tool).name}" if tool in own else Path(tool).name
        for tool in profile.tools
    ]
    return (
        f"{' and '.join(names)} {'intercepts' if len(names) == 1 else 'intercept'} MPI calls "
        "before the recorder: these calls are missing, and their time counts as computing"
    )


@dataclass
class TimePart:
    name: str
    seconds: list[float]
    calls: int = 0

    @property
    def mean(self) -> float:
        return sum(self.seconds) / len(self.seconds)


def _sum(calls: Sequence[Call], value: Callable[[Call], list[float]], n: int) -> list[float]:
    return [sum(column) for column in zip(*map(value, calls), strict=True)] if calls else [0.0] * n


def compute_s(profile: Profile) -> list[float]:
    return [
        max(w - m - i, 0.0)
        for w, m, i in zip(profile.wall_s, profile.mpi_s, profile.io_s, strict=True)
    ]


def whole_s(profile: Profile) -> float:
    """Return what shares are of: the run, or the time of all its threads where that is more."""
    sums = zip(compute_s(profile), profile.mpi_s, profile.io_s, strict=True)
    return max(max(profile.wall_s), sum(map(sum, sums)) / profile.nranks)


def threads_note(profile: Profile) -> str | None:
    """Say that times of several threads are added up, None where one thread calls the MPI."""
    inside = zip(profile.wall_s, profile.mpi_s, profile.io_s, strict=True)
    # rounding, and files seen between two calls, may make a little more than the run
    many = max(profile.threads or [1])
    if many < 2 and not any(m + i > 1.02 * w for w, m, i in inside):
        return None
    who = f"up to {many} threads" if many > 1 else "several threads"
    return (
        f"{who} of a rank call the MPI, and their times are summed: one thread may compute "
        "while another waits, so the true cost of waiting may be lower"
    )


def parts(profile: Profile) -> list[TimePart]:
    """Return where the time goes; the parts of a rank with one thread sum up to its wall time."""
    n = profile.nranks
    groups: dict[str, list[Call]] = {}
    out: list[TimePart] = []
    for call in profile.calls:
        groups.setdefault(group_of(call), []).append(call)
    out.append(TimePart("computing, outside MPI", compute_s(profile)))
    split = [c for c in groups.get("collective", []) if c.wait_s is not None]
    rest = [c for c in groups.get("collective", []) if c.wait_s is None]
    out.append(
        TimePart(
            "collectives: waiting for the last rank",
            _sum(split, lambda c: c.wait_s or c.time_s, n),
            sum(c.total_calls for c in split),
        )
    )
    out.append(
        TimePart(
            "collectives: the operation",
            _sum(split, lambda c: c.transfer_s or c.time_s, n),
            sum(c.total_calls for c in split),
        )
    )
    out.append(_part("collectives: not split", rest, n))
    for group, title in (
        ("nonblocking", "nonblocking collectives"),
        ("nonblocking wait", "nonblocking collectives: waiting"),
        ("p2p", "messages: send, receive"),
        ("p2p wait", "messages: waiting"),
        ("rma", "one-sided"),
        ("comm", "creating communicators"),
        ("other", "other MPI calls"),
    ):
        out.append(_part(title, groups.get(group, []), n))
    out.append(TimePart("files", profile.io_s, sum(c.total_calls for c in groups.get("io", []))))
    return [p for p in out if max(p.seconds) > 0]


def _part(name: str, calls: list[Call], n: int) -> TimePart:
    return TimePart(name, _sum(calls, lambda c: c.time_s, n), sum(c.total_calls for c in calls))


def awaits_message(call: Call) -> bool:
    # a probe on a communicator that found no room in its table is one, too
    return call.kind == "wait" and (
        call.detail in (None, "table full")
        or call.detail.endswith(("send_init", "Send_init", "ecv_init"))
    )


def group_of(call: Call) -> str:
    """Return what a row's time counts as: its kind, and for waiting what is waited for.

    Returns ``collective``, ``nonblocking``, ``nonblocking wait``, ``p2p``, ``p2p wait``, ``rma``,
    ``io``, ``comm`` or ``other``.
    """
    if call.kind == "wait":
        if awaits_message(call):
            return "p2p wait"
        awaited = call.detail or ""
        for start, group in (
            ("MPI_File_", "io"), ("MPI_Comm_", "comm"),
            (("MPI_Rput", "MPI_Rget", "MPI_Raccumulate"), "rma"),
        ):  # fmt: skip
            if awaited.startswith(start):
                return group
        return "nonblocking wait"
    if call.kind in ("nonblocking_collective", "persistent_collective"):
        return "nonblocking"
    if call.kind == "neighborhood":
        return "collective"
    return call.kind


def _percent(value: float, whole: float) -> str:
    return f"{100 * value / whole:.1f} %" if whole > 0 else "-"


def communicator_words(c: Communicator | None) -> str:
    """Return a communicator shape in few words.

    `c`: the shape; None for calls that have none.
    """
    if c is None:
        return ""
    nodes = f" on {c.nodes} nodes" if c.nodes > 1 else ""
    many = f" ({c.count} of them)" if c.count > 1 else ""
    name = {"MPI_COMM_WORLD": "world", "MPI_COMM_SELF": "self"}.get(c.name, c.name)
    return f"{name}, {c.size}{nodes}{many}"


def wide_console(stream: TextIO | None = None) -> Console:
    """Return a console, by default on stdout; where that is no terminal, as wide as the tables.

    It takes no markup: communicators and datatypes are called what the application calls them.
    """
    console = Console(markup=False, file=stream)
    return console if console.is_terminal else Console(markup=False, width=110, file=stream)


def show(profile: Profile, console: Console, top: int = 15) -> None:
    wall = max(profile.wall_s)
    console.print(
        f"{' '.join(profile.command)}\n{profile.mpi.family} {profile.mpi.version}, "
        f"{counted(profile.nranks, 'rank')} on {counted(profile.node_count, 'node')}, "
        f"{seconds(wall)} from MPI_Init to MPI_Finalize",
        highlight=False,
        markup=False,
    )
    if profile.cut_short:
        console.print(
            f"incomplete: ranks {rank_words(profile.cut_short)} did not reach MPI_Finalize; "
            "their data end with the recording",
            highlight=False,
        )
    if profile.unrecorded_ranks:
        console.print(
            f"incomplete: nothing was recorded on ranks {rank_words(profile.unrecorded_ranks)}; "
            "all numbers are for the other ranks",
            highlight=False,
        )
    profile = profile.recorded_part()
    for note in (tools_note(profile), threads_note(profile)):
        if note is not None:
            console.print(f"note: {note}", highlight=False, markup=False, soft_wrap=True)
    if (used := usage_of(profile)) is not None:
        busy = "note: the machine was busy: " if used.busy else ""
        console.print(f"{busy}{usage_words(used)}", highlight=False, markup=False, soft_wrap=True)
    whole = whole_s(profile)
    console.print(_time_table(profile, whole))
    console.print(_call_table(profile, whole, top))
    if profile.file_uses:
        console.print(_file_table(profile))
    if profile.matrix.messages:
        console.print(_message_table(profile))
    rest = [c for c in profile.communicators if c.id > 1]
    if rest:
        words = "; ".join(communicator_words(c) for c in rest[:8])
        more = f"; and {counted(len(rest) - 8, 'more shape')}" if len(rest) > 8 else ""
        console.print(
            f"communicators made (name, ranks): {words}{more}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def _table(title: str) -> Table:
    return Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )


def _time_table(profile: Profile, wall: float) -> Table:
    table = _table("Where the time goes, a rank")
    table.add_column("", no_wrap=True)
    for name in ("mean", "of run", "least", "most", "rank", "calls"):
        table.add_column(name, justify="right", no_wrap=True)
    for part in parts(profile):
        most = max(range(profile.nranks), key=lambda r: part.seconds[r])
        table.add_row(
            part.name,
            seconds(part.mean),
            _percent(part.mean, wall),
            seconds(min(part.seconds)),
            seconds(part.seconds[most]),
            str(profile.number(most)),
            str(part.calls) if part.calls else "",
        )
    return table


def _call_table(profile: Profile, wall: float, top: int) -> Table:
    known = {c.id: c for c in profile.communicators}
    ranked = sorted(profile.calls, key=lambda c: -sum(c.time_s))
    title = "Calls that take the most time" + (f" ({top} of {len(ranked)})" * (len(ranked) > top))
    table = _table(title)
    table.add_column("function", overflow="fold")
    table.add_column("on", overflow="fold")
    for name in ("bytes", "calls", "time", "of run", "a call", "waiting"):
        table.add_column(name, justify="right", no_wrap=True)
    for call in ranked[:top]:
        ranks = max(sum(1 for c in call.calls if c), 1)
        mean = sum(call.time_s) / profile.nranks
        words = [w for w in (call.operation, call.datatype) if w]
        name = call.function.removeprefix("MPI_") + (f"\n({call.detail})" if call.detail else "")
        waiting = "" if call.wait_s is None else _percent(sum(call.wait_s), sum(call.time_s))
        where = communicator_words(known.get(call.communicator or 0))
        table.add_row(
            name,
            ""
            if call.communicator is None
            else where + "".join(f"\n{' '.join(words)}" * bool(words)),
            sized(sum(call.bytes) / call.total_calls)
            if call.bytes_max and call.total_calls
            else "",
            str(round(call.total_calls / ranks)),
            seconds(mean),
            _percent(mean, wall),
            seconds(sum(call.time_s) / call.total_calls) if call.total_calls else "",
            waiting,
        )
    return table


def _file_table(profile: Profile) -> Table:
    uses = profile.file_uses or []
    title = f"Files{f' (10 of {len(uses)}, all: --json)' if len(uses) > 10 else ''}"
    table = _table(title)
    table.add_column("path", overflow="fold")
    for name in ("on", "size", "ranks", "opens", "read", "written", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for use in uses[:10]:
        new = use.size == 0 and sum(use.written_bytes) > 0
        table.add_row(
            use.path or "(all others)",
            use.system,
            ("new" if new else sized(use.size)) if use.path else "",
            str(len(use.ranks)),
            f"{sum(use.opens) + sum(use.mpi_opens)}",
            sized(sum(use.read_bytes)),
            sized(sum(use.written_bytes)),
            "by MPI-IO" if use.mpi_io and not use.total_s else seconds(use.total_s),
        )
    return table


def _message_table(profile: Profile) -> Table:
    table = _table("Messages by node (rank by rank: --json)")
    for name in ("from", "to"):
        table.add_column(name)
    for name in ("messages", "bytes", "mean size"):
        table.add_column(name, justify="right")
    ranked = sorted(profile.node_matrix.messages, key=lambda m: -m[3])
    for source, target, messages, volume in ranked[:10]:
        table.add_row(
            profile.nodes[source].name,
            profile.nodes[target].name,
            str(messages),
            sized(volume),
            sized(volume / messages) if messages else "",
        )
    return table
