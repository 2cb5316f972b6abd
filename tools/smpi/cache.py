"""Simulations made already, in a file of JSON lines: a long comparison goes on where it stopped.

A simulation gives the same digits each time. A line holds for its network and for the files of its
algorithm as they were; after changes to the executor or the builder, begin a new file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from smpi import REPOSITORY, Case, Network, Result, simulate


def algorithm_digest(case: Case, source: Path = REPOSITORY / "src") -> str:
    """Return a short digest of the files of a case's algorithm; "" for what is not ours."""
    name = case.choice.removeprefix("shm+").partition("(")[0]
    path = source / "coll" / case.collective / f"{name}.c"
    if not path.exists():
        return ""
    text = path.read_text()
    for header in re.findall(r'#include "(coll/\w+)\.h"', text):
        shared = source / f"{header}.c"
        text += shared.read_text() if shared.exists() else ""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Simulations:
    """Simulates what is not in the file yet, and keeps it there."""

    def __init__(self, path: Path, program: Path, network: Network, source: Path) -> None:
        self.path, self.program, self.network, self.source = path, program, network, source
        self.known: dict[str, Result] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                case = Case(**entry["key"]["case"])
                self.known[json.dumps(entry["key"], sort_keys=True)] = Result(
                    case, entry["ends_s"], entry["alone_s"], entry["checked"], entry["wrong_ranks"]
                )

    def _key(self, nranks: int, ppn: int, selector: str | None, case: Case) -> dict[str, Any]:
        return {
            "network": asdict(self.network),
            "algorithm": algorithm_digest(case, self.source),
            "nranks": nranks,
            "ppn": ppn,
            "selector": selector,
            "case": asdict(case),
        }

    def has(self, nranks: int, case: Case, ppn: int = 1, selector: str | None = None) -> bool:
        """Whether a case needs no simulation any more."""
        key = self._key(nranks, ppn, selector, case)
        return json.dumps(key, sort_keys=True) in self.known

    def get(
        self, nranks: int, cases: Sequence[Case], ppn: int = 1, selector: str | None = None
    ) -> list[Result]:
        """Return the results of the cases; those that are missing are simulated one by one."""
        results = []
        for case in cases:
            key = self._key(nranks, ppn, selector, case)
            name = json.dumps(key, sort_keys=True)
            if name not in self.known:
                begin = time.monotonic()
                [result] = simulate(
                    self.program, self.network, nranks, [case], ppn=ppn, selector=selector
                )
                took = time.monotonic() - begin
                print(
                    f"{nranks} ranks {selector or ''} {case.collective} {case.choice}"
                    f" {case.bytes} B: {result.steady_s * 1e6:.2f} us ({took:.1f} s)",
                    file=sys.stderr,
                    flush=True,
                )
                entry = {"key": key, **asdict(result)}
                del entry["case"]
                with self.path.open("a") as stream:
                    stream.write(json.dumps(entry) + "\n")
                    stream.flush()
                    os.fsync(stream.fileno())
                self.known[name] = result
            results.append(self.known[name])
        return results
