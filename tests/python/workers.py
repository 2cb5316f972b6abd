"""Which worker of pytest-xdist runs which file, and when.

Most of the time tests wait: for MPI jobs to begin and to end, and for one another's (`mpis`). What
takes long begins first, and of the files whose jobs want the machine for themselves there is one at
a time in work, so that the other workers have something else to do.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

REPOSITORY = Path(__file__).resolve().parents[2]
#: files that take minutes by themselves, the longest first
LONG = (
    "test_export_check",
    "test_packaging",
    "test_report_page",
    "test_engine",
    "test_cluster_parallel",
    "test_apps_loop",
    "test_proofs",
    "test_cluster_loop",
    "test_cluster_campaign",
    "test_export_cluster",
    "test_report_claims",
    "test_sweep_kills",
    "test_cluster_array",
)


def in_order(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no worker is left alone with it at the end."""
    tests = Counter(item.path for item in items)

    def place(item: pytest.Item) -> tuple[int, int]:
        stem = item.path.stem
        return LONG.index(stem) if stem in LONG else len(LONG), -tests[item.path]

    items.sort(key=place)  # which keeps the order within a file


@cache
def alone(file: str) -> bool:
    """Whether a test file has MPI jobs that run beside no other."""
    return "one_job_at_a_time()" in (REPOSITORY / file).read_text(encoding="utf-8")


class OneAlone(LoadFileScheduling):
    """A file to a worker; of those whose jobs run alone the next only where none is in work."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        others = (work for other, work in self.assigned_work.items() if other is not node)
        unfinished = (f for work in others for f, done in work.items() if not all(done.values()))
        busy = any(map(alone, unfinished))
        wanted = (file for file in self.workqueue if not (busy and alone(file)))
        if (file := next(wanted, None)) is not None:
            self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)
