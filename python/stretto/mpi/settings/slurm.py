"""Where srun puts ranks: ``SLURM_DISTRIBUTION`` (-m) and ``SLURM_CPU_BIND`` (--cpu-bind)."""

from __future__ import annotations

from stretto.mpi.settings.base import Around, Entry

#: these decide the same
_PLACE = ("m", "distribution", "SLURM_DISTRIBUTION")
_BIND = ("cpu-bind", "SLURM_CPU_BIND")


def entries(around: Around) -> list[Entry]:
    out = [
        Entry(None, "SLURM_DISTRIBUTION", ("cyclic",),
              "ranks are placed round-robin over nodes", True, _PLACE, many=True),
        Entry(None, "SLURM_CPU_BIND", ("cores", "none"), "binding of each rank", words=_BIND),
    ]  # fmt: skip
    if around.parts:
        out += [
            Entry(None, "SLURM_DISTRIBUTION", ("block:block", "block:cyclic"),
                  "ranks fill one socket after another, or are placed round-robin", words=_PLACE,
                  many=True),
            Entry(None, "SLURM_CPU_BIND", ("sockets",), "binding of each rank", words=_BIND),
        ]  # fmt: skip
    return out
