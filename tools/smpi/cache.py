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

from smpi import REPOSITORY, BeyondLimitError, Case, Limits, Network, Result, simulate


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

    def __init__(
        self, path: Path, program: Path, network: Network, source: Path, limits: Limits
    ) -> None:
        self.path, self.program, self.network, self.source = path, program, network, source
        self.limits = limits
        self.known: dict[str, Result | str] = {}  # a result, or why there is none
        if path.exists():
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                self.known[json.dumps(entry["key"], sort_keys=True)] = entry.get(
                    "beyond"
                ) or Result(
                    Case(**entry["key"]["case"]),
                    entry["ends_s"],
                    entry["alone_s"],
                    entry["checked"],
                    entry["wrong_ranks"],
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
        """Return the results of the cases; those that are missing are simulated one by one.

        Raises `BeyondLimitError` for a case that went beyond the limits, also in an earlier run.
        """
        results = []
        for case in cases:
            key = self._key(nranks, ppn, selector, case)
            name = json.dumps(key, sort_keys=True)
            if name not in self.known:
                self.known[name] = self._simulate(key, nranks, case, ppn, selector)
            known = self.known[name]
            if isinstance(known, str):
                raise BeyondLimitError(known)
            results.append(known)
        return results

    def _simulate(
        self, key: dict[str, Any], nranks: int, case: Case, ppn: int, selector: str | None
    ) -> Result | str:
        """Simulate a case, say so, and write it down."""
        begin = time.monotonic()
        try:
            [found] = simulate(
                self.program,
                self.network,
                nranks,
                [case],
                ppn=ppn,
                selector=selector,
                limits=self.limits,
            )
        except BeyondLimitError as error:
            self._keep({"key": key, "beyond": str(error)})
            words, result = str(error), str(error)  # type: str, Result | str
        else:
            words, result = f"{found.steady_s * 1e6:.2f} us", found
            self._keep({"key": key, **{n: v for n, v in asdict(found).items() if n != "case"}})
        print(
            f"{nranks} ranks {selector or ''} {case.collective} {case.choice}"
            f" {case.bytes} B: {words} ({time.monotonic() - begin:.1f} s)",
            file=sys.stderr,
            flush=True,
        )
        return result

    def _keep(self, entry: dict[str, Any]) -> None:
        with self.path.open("a") as stream:
            stream.write(json.dumps(entry) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
