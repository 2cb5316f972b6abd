"""A stand-in for the measuring program, which the real launchers start: its times are told to it.

Each rank writes down its environment; times depend on whether an export's files are in force there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from processes import executable

FAKE = """#!{python}
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
rank = next(os.environ[n] for n in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
            if n in os.environ)
keys, cases = {{}}, []
for line in open(sys.argv[-1]).read().splitlines()[1:-1]:
    key, _, value = line.partition(" ")
    if key == "case":
        cases.append((value.split(), []))
    elif key == "candidate":
        cases[-1][1].append(value)
    else:
        keys[key] = value
launch = int(keys["launch"])
told = json.loads((here / "told.json").read_text())
(here / f"seen.{{launch}}.{{rank}}").write_text(json.dumps(dict(os.environ)))
if launch >= told.get("killed at", 99):
    sys.exit(1)
# in force is what is set, and what the MPI would find
mine = told["variables"]
force = all(os.environ.get(n) == v for n, v in mine.items())
force = force and all(pathlib.Path(v).exists() for v in mine.values() if v.startswith("/"))
if rank == "0":
    out = open(keys["output"], "a", buffering=1)
    print(json.dumps({{"type": "launch", "launch": launch, "clock_error_us": 0.0,
                      **told.get("layout", {{"nodes": 1, "ppn": 2, "nranks": 2}})}}), file=out)
    for done, (case, candidates) in enumerate(cases):
        collective, size, datatype, operation, root = case
        for name in candidates:
            status = f"{{done}} {{len(cases)}} {{collective}} {{size}} {{name}} 1\\n"
            open(keys["status"], "w").write(status)
            at = f"{{collective}} {{size}}"
            us = told["times"].get(at, told["times"].get(collective, [50, 50]))[force]
            if us is None:
                os.abort()
            us *= 1 + 0.001 * (launch * 7 % 5)
            print(json.dumps({{
                "type": "sample", "launch": launch, "collective": collective, "candidate": name,
                "bytes": int(size), "datatype": datatype, "operation": operation,
                "root": int(root), "mode": "throughput", "batch": 10,
                "times_us": [us, us, us], "missed": 0, "correct": True, "reference_us": 2.0,
            }}), file=out)
"""


def stand_in(lib: Path, abi: str) -> None:
    """Make a directory that holds it, for STRETTO_LIB_DIR."""
    lib.mkdir()
    executable(lib / f"stretto-bench-{abi}", FAKE.format(python=sys.executable))


def tell(
    lib: Path,
    variables: Mapping[str, str],
    times: Mapping[str, Sequence[float | None]],
    **more: object,
) -> None:
    """Say what calls take, without the files and with them; None: the launch ends there."""
    said = {"times": times, "variables": variables}
    said |= {key.replace("_", " "): value for key, value in more.items()}
    (lib / "told.json").write_text(json.dumps(said))


def seen(lib: Path) -> dict[int, list[dict[str, str]]]:
    """Return the environments of all ranks, by launch."""
    out: dict[int, list[dict[str, str]]] = {}
    for path in lib.glob("seen.*"):
        out.setdefault(int(path.name.split(".")[1]), []).append(json.loads(path.read_text()))
    return out
