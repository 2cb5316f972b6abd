"""Network results as measurements for a fit: messages through an MPI, by kind of curve."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import median

from stretto.errors import StrettoError
from stretto.files.net import Messages, read_net
from stretto.model.measurements import Kind, Series

#: messages in flight from which on a bandwidth is that of a window
WINDOW = 8
_LEVELS = ("single", "funneled", "serialized", "multiple")


def read_net_series(path: Path) -> list[Series]:
    """Read the curves of a network result: between two nodes, or within one.

    Of several numbers of pairs the largest counts. Medians over the launches.
    """
    result = read_net(path)
    if result.ranks is None:
        raise StrettoError(
            "there are no messages through an MPI in it", path,
            "measure some: stretto net mpi -o NAME.net.json",
        )  # fmt: skip
    hosts = result.ranks.hosts
    local = hosts[0] == hosts[len(hosts) // 2]
    least = min((m.level for m in result.ranks.messages), key=_LEVELS.index)
    found: dict[tuple[Kind, int, int], dict[int, float]] = defaultdict(dict)
    for m in result.ranks.messages:
        kind = _kind(m, local)
        value = float(median(median(run) for run in m.launches))
        if kind is not None and m.level == least and value > 0:
            found[kind, m.pairs, m.window][m.bytes] = value
    most = max((pairs for _, pairs, _ in found), default=1)
    software = ", ".join(result.imported.software) if result.imported else ""
    return [
        Series(kind, tuple(sorted(points.items())), pairs, window, f"{path} ({kind})", software)
        for (kind, pairs, window), points in found.items() if pairs in (1, most)
    ]  # fmt: skip


def _kind(m: Messages, local: bool) -> Kind | None:
    """Return which curve a measurement is a part of, None for those that no fit takes."""
    if m.threads > 1:
        return None
    windowed = m.window >= WINDOW
    if m.pairs > 1:
        return "multi_pair" if m.test == "bandwidth" and windowed and not local else None
    if m.test == "latency":
        return "node_latency" if local else "latency"
    if m.test == "sends":
        return "node_sends" if local else "sends"
    if m.test == "bandwidth" and windowed:
        return "node_bandwidth" if local else "bandwidth"
    return "bibandwidth" if m.test == "bidirectional" and windowed and not local else None
