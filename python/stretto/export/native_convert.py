"""Native files converted to another release of their MPI; to another MPI, why that is refused.

Rules say which algorithm of one MPI is fastest. Two releases of one MPI share algorithms, numbers
and the meaning of sizes, so that rules carry over. Two MPIs do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stretto.errors import StrettoError
from stretto.export import intel, openmpi, openmpi_json, openmpi_words
from stretto.export.mpich_tree import FILES, MPIR, VARIABLES
from stretto.export.native_check import Reader, checked
from stretto.export.native_rows import OTHER_SIZES, NativeFile, NativeRow, flattened
from stretto.files.export import TARGETS


@dataclass
class Converted:
    """A file of another form.

    `settings`: what makes the MPI read it, with `FILE` for its path. `lost`: what it has no words
    for.
    """

    text: str
    settings: tuple[str, ...]
    lost: list[str] = field(default_factory=list)


FILE = "@FILE@"


def convert(file: NativeFile, target: str) -> Converted:
    """Return a file's rules in the form of a target.

    Raises StrettoError: with one sentence, where that is refused.
    """
    family = TARGETS[target]
    if family != file.family:
        raise StrettoError(
            "rules cannot be converted to another MPI: an algorithm of the same name is different "
            "code there", file.path,
            f"measure that MPI: stretto bench -n 4 --mpi {family} --candidates 'bare;native:all' "
            f"-o {family}.bench.jsonl && stretto export --to {target} --out tuning "
            f"{family}.bench.jsonl",
        )  # fmt: skip
    if family == "mpich":
        if file.form != "mpich":
            return _as_it_is(file)
        return Converted(file.text, (f"export {VARIABLES[MPIR]}={FILE}",), [
            "the variable is for algorithms over whole communicators; stretto export calls such "
            f"a file {FILES[MPIR]}"
        ])  # fmt: skip
    if family == "intel":
        return _adjust(file)
    release = target[-1]
    _fits(file, release)
    if file.form == "settings":
        return _as_it_is(file)
    if file.form == "han":
        named = f"coll_han_dynamic_rules_filename={FILE}"
        return Converted(file.text, _tuned("coll_han_use_dynamic_file_rules", [named]))
    return _json(file, release) if release == "6" else _classic(file, release)


def _fits(file: NativeFile, release: str) -> None:
    """Refuse rows that the release of a target does not have."""
    form = "han" if file.form == "han" else "settings"
    lacking = checked(
        NativeFile(file.path, form, file.family, "", file.rows), Reader("openmpi", f"{release}.0")
    )
    if lacking.faults:
        place, words = lacking.faults[0]
        raise StrettoError(words, place, "remove the rule, or name another release: --to openmpi-N")


def _as_it_is(file: NativeFile) -> Converted:
    lines = [f"export {_exported(n)}={v}" for r in file.rows for n, v in r.settings]
    if file.family == "openmpi":
        lines.insert(0, "export OMPI_MCA_coll_tuned_use_dynamic_rules=1")
    return Converted("\n".join(lines) + "\n", (f"source {FILE}",))


def _exported(name: str) -> str:
    return f"OMPI_MCA_{name}" if name.startswith("coll_") else name


def _tuned(use: str, lines: Sequence[str]) -> tuple[str, ...]:
    return (f"export OMPI_MCA_{use}=1", *(f"export OMPI_MCA_{line}" for line in lines))


def _values(row: NativeRow, file: NativeFile, release: str, lost: list[str]) -> tuple[int, ...]:
    """Return algorithm, fan-out, segment size and requests of a row, as a release has them."""
    if not row.settings:
        return (0, 0, 0, 0)
    # what forcing an algorithm passes where nobody sets one differs between the releases
    values = openmpi_words.tuned_values(row, openmpi_json.FANOUT if file.form == "json" else None)
    assert values is not None
    number, fanout, segment, requests = values
    if (row.collective, number) == ("allgather", 2):
        if file.form == "classic":
            fanout = 2  # the radix that 4 and 5 always have
        elif release != "6" and fanout != 2:
            lost.append(f"{row.place}: Open MPI {release} has Bruck's algorithm with a radix of 2")
            return (0, 0, 0, 0)
    if requests and release != "6":
        lost.append(
            f"{row.place}: version 1 of the form lacks the number of requests"
            + ("; Open MPI 5.0.7 and later read version 2 as it is" if release == "5" else "")
        )
    return number, fanout, segment, requests


_DYNAMIC = "coll_tuned_use_dynamic_rules"
_NAMED = [f"coll_tuned_dynamic_rules_filename={FILE}"]


def _classic(file: NativeFile, release: str) -> Converted:
    lost: list[str] = []
    for row in file.rows:
        if set(row.only) - {OTHER_SIZES} and row.settings:
            lost.append(
                f"{row.place}: rows of this form cannot distinguish nodes ({', '.join(row.only)})"
            )
    tables: dict[str, dict[int, list[tuple[int, ...]]]] = {}
    for row in flattened([r for r in file.rows if not r.only]):
        sizes = tables.setdefault(row.collective, {}).setdefault(max(row.first, 1), [])
        values = (row.low, *_values(row, file, release, lost))
        if not sizes or sizes[-1][1:] != values[1:]:
            sizes.append(values)
    return Converted(openmpi.classic_text(tables), _tuned(_DYNAMIC, _NAMED), lost)


def _json(file: NativeFile, release: str) -> Converted:
    if file.form == "json":
        return Converted(file.text, _tuned(_DYNAMIC, _NAMED))
    lost: list[str] = []
    out: dict[str, list[dict[str, Any]]] = {}
    for row in flattened(file.rows):
        entries = out.setdefault(row.collective, [])
        last = openmpi_json.MOST if row.last is None else row.last
        if not entries or entries[-1]["comm_size_min"] != row.first:
            entries.append(openmpi_json.json_entry(row.first, last, openmpi_json.ANY, []))
        values = _values(row, file, release, lost)
        if values[0]:
            entries[-1]["rules"].append(openmpi_json.json_row(row.low, row.high, values))
    out = {collective: [e for e in entries if e["rules"]] for collective, entries in out.items()}
    return Converted(openmpi_json.json_text(out), _tuned(_DYNAMIC, _NAMED), lost)


def _adjust(file: NativeFile) -> Converted:
    """Return variables: clauses tell sizes apart or ranks, never both."""
    lines: list[str] = []
    lost: list[str] = []
    for name in dict.fromkeys(n for r in file.rows for n, _ in r.settings):
        mine = [r for r in file.rows if r.settings[0][0] == name]
        ranks = {(r.first, r.last) for r in mine}
        if any(r.only for r in mine) and len({r.only for r in mine}) > 1:
            lost.append(f"{name}: variables cannot distinguish ranks per node")
            continue
        sized = any(r.high is not None or r.low for r in mine)
        if len(ranks) > 1 and sized:
            lost.append(f"{name}: clauses distinguish sizes or ranks, not both")
            continue
        by_ranks = len(ranks) > 1
        if any(r.only for r in mine) or (not by_ranks and ranks != {(0, None)}):
            lost.append(f"{name} applies to any number of ranks and nodes")
        clauses = [
            intel.Clause(
                r.settings[0][1],
                r.low,
                intel.MOST if r.high is None else r.high,
                max(r.first, 1) if by_ranks else 1,
                intel.MOST if r.last is None or not by_ranks else r.last,
            )
            for r in mine
        ]
        lines.append(f"export {name}={intel.text_of(clauses)!r}")
    if not lines:
        raise StrettoError(
            "the variables of Intel MPI cannot express these rules", file.path, "; ".join(lost)
        )
    return Converted("\n".join(lines) + "\n", (f"source {FILE}",), lost)
