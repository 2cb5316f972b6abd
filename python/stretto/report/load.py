"""From paths to systems: which files there are, and whether they belong together."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stretto.errors import StrettoError, UsageError, from_oserror
from stretto.files.bench import Bench, read_bench
from stretto.files.caches import COLD, all_cold
from stretto.files.forecast import ForecastFile, read_forecast
from stretto.files.identity import Host, Identity
from stretto.files.layout import RankLayout
from stretto.files.profile import Profile, read_profile
from stretto.files.settings import SettingsFile, read_settings
from stretto.files.table import Table, read_table
from stretto.files.verdict import VerdictFile, read_verdict
from stretto.report import campaigns, sums
from stretto.report.machines import is_node, listed, nodes_of
from stretto.report.points import Panel, panels

PATTERNS = {
    "profile": "*.profile.json",
    "bench": "*.bench.jsonl",
    "table": "*.table",
    "verdict": "*.verdict.json",
    "forecast": "*.forecast.json",
    "settings": "*.settings.json",
}
_KINDS = ", ".join(PATTERNS.values())
_READERS: dict[str, Callable[[Path], Any]] = {
    "profile": read_profile,
    "bench": read_bench,
    "table": lambda path: read_table(path, check_names=False),  # a newer Stretto's is shown, too
    "verdict": read_verdict,
    "forecast": read_forecast,
    "settings": read_settings,
}


@dataclass
class System:
    """Everything that the files say of one MPI on one machine.

    `name`: the directory's name, or the machine's.
    `files`, `contents`: kind and path, and what was read, in the order read.
    `panels`: the measured points, with what the tables choose.
    `notes`: what the reader must know of the files themselves.
    """

    name: str
    files: list[tuple[str, Path]] = field(default_factory=list)
    contents: list[Any] = field(default_factory=list)
    profile: Profile | None = None
    benches: list[Bench] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    verdict: VerdictFile | None = None
    forecasts: list[ForecastFile] = field(default_factory=list)
    settings: list[SettingsFile] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def identities(self) -> list[Identity]:
        """Return the identities of the JSON files, the verdict's first."""
        out = [self.verdict.identity] if self.verdict else []
        out += [self.profile.identity] if self.profile else []
        return out + [b.header.identity for b in self.benches]

    @property
    def nodes(self) -> set[str]:
        found = {n.name for n in self.profile.nodes} if self.profile else set()
        return found.union(*map(nodes_of, self.benches)) - {"unknown"}

    @property
    def host(self) -> Host | None:
        """Return the host in a file's header: one of the nodes, where any of them is."""
        found = [i.host for i in self.identities]
        return next((h for h in found if is_node(h, self.nodes)), found[0] if found else None)

    @property
    def machine(self) -> str:
        """Return the nodes in words, the header's host where none are named; empty without."""
        return listed(self.nodes or ({self.host.name} if self.host else ()))

    @property
    def processors(self) -> set[str]:
        """Return the processors of the nodes, as far as they are known.

        The processor of a host that is none of the nodes (a login node) is not theirs.
        """
        out = set()
        for bench in self.benches:
            host, named = bench.header.host, bench.header.settings.get("node_cpu")
            if named or is_node(host, nodes_of(bench)):
                out.add(str(named or host.cpu))
        others = [one.identity.host for one in (self.profile, self.verdict) if one]
        return out | {h.cpu for h in others if is_node(h, self.nodes)}

    @property
    def layout(self) -> RankLayout | None:
        """Return the layout that the report is about: the profile's, else the largest measured."""
        if self.profile is not None:
            return RankLayout(self.profile.node_count, self.profile.ppn, self.profile.nranks)
        found = sorted({p.layout for p in self.panels}, key=lambda q: q.nranks)
        if found:
            return found[-1]
        for table in self.tables:
            if table.nodes is not None and table.ppn is not None:
                return RankLayout(table.nodes, table.ppn, table.nodes * table.ppn)
        return None

    @property
    def simulated(self) -> bool:
        return (
            bool(self.forecasts)
            or any(p.simulated for p in self.panels)
            or any(row.simulated for t in self.tables for row in t.rows)
        )


def load(paths: Sequence[Path]) -> list[System]:
    """Read the paths given: one system, or two to be compared.

    Raises StrettoError: when a file cannot be read, is foreign or truncated, or does not belong to
    the others.
    """
    if not paths:
        raise UsageError(
            "nothing to report on", remedy="name a directory that stretto tune made, or its files"
        )
    for path in paths:
        if not path.exists():
            raise StrettoError(
                "there is no such file or directory", path, "check the path for typing mistakes"
            )
    directories = [p for p in paths if p.is_dir()]
    if directories and len(directories) != len(paths):
        raise UsageError(
            "directories and single files cannot be mixed",
            remedy="give one directory, two directories to compare, or the files of one system",
        )
    if len(directories) > 2:
        raise UsageError(
            f"{len(directories)} directories were given",
            remedy="one directory gives its report, two are compared",
        )
    if not directories:
        return [_system("files", [(kind_of(p), p) for p in paths])]
    found = [(d, _in_directory(d)) for d in directories]
    if len(found) == 1:
        found = campaigns.apart(directories[0], found[0][1])
    systems = [_system(_label(d), files) for d, files in found]
    _same_caches(systems)
    if len(systems) == 2 and systems[0].name == systems[1].name:
        for system, (d, _) in zip(systems, found, strict=True):
            system.name = str(d)
    return systems


def _label(directory: Path) -> str:
    return directory.resolve().name or str(directory)


def _in_directory(directory: Path) -> list[tuple[str, Path]]:
    try:
        found = [
            (kind, path)
            for kind, pattern in PATTERNS.items()
            for path in sorted(directory.glob(pattern))
            if path.is_file()
        ]
        found += campaigns.below(directory, found)
    except OSError as error:
        raise from_oserror(error, "cannot look into the directory", directory) from error
    if not found:
        raise StrettoError(
            f"the directory holds none of Stretto's files ({_KINDS})",
            directory,
            "make them with: stretto tune -- CMD",
        )
    return found


def kind_of(path: Path) -> str:
    for kind, pattern in PATTERNS.items():
        if path.name.endswith(pattern.removeprefix("*")):
            return kind
    try:
        with path.open("rb") as stream:
            head = stream.read(400)
    except OSError as error:
        raise from_oserror(error, "cannot read the file", path) from error
    if head.startswith(b"stretto-table"):
        return "table"
    for kind in PATTERNS:
        if f'"stretto-{kind}"'.encode() in head:
            return kind
    raise StrettoError(
        f"this is none of Stretto's files ({_KINDS})",
        path,
        "give a directory that stretto tune made, or files of these kinds",
    )


def _distinct(files: list[tuple[str, Path]]) -> tuple[list[tuple[str, Path]], list[str]]:
    """Leave out files named twice and copies of results, whose launches would count twice."""
    out: list[tuple[str, Path]] = []
    notes: list[str] = []
    places: set[Path] = set()
    contents: dict[bytes, Path] = {}
    for kind, path in files:
        place = path.resolve()
        if place in places:
            continue
        places.add(place)
        if kind == "bench":
            first = contents.setdefault(_digest(path), path)
            if first != path:
                notes.append(f"{path.name} is a copy of {first.name}: it counts once.")
                continue
        out.append((kind, path))
    return out, notes


def _digest(path: Path) -> bytes:
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError as error:
        raise from_oserror(error, "cannot read bench results", path) from error


def _system(name: str, files: list[tuple[str, Path]]) -> System:
    files, copies = _distinct(files)
    out = System(name, files, notes=copies)
    seen: dict[str, Path] = {}
    for kind, path in files:
        if kind in ("profile", "verdict") and seen.setdefault(kind, path) != path:
            raise StrettoError(
                f"there are two {kind} files, and a report is about one run",
                f"{seen[kind]}, {path}",
                "name the files that belong together one by one",
            )
        out.contents.append(_READERS[kind](path))
    by_kind = defaultdict(list)
    for (kind, _), content in zip(files, out.contents, strict=True):
        by_kind[kind].append(content)
    out.profile, out.verdict = (next(iter(by_kind[k]), None) for k in ("profile", "verdict"))
    out.benches, out.tables = by_kind["bench"], by_kind["table"]
    out.forecasts, out.settings = by_kind["forecast"], by_kind["settings"]
    _same_mpi(out)
    _same_caches([out])
    points, failed = sums.points_of(out.benches)
    out.panels = panels(points)
    for panel in out.panels:
        sums.choose(panel, out.tables)
        panel.failed = failed.get((panel.collective, panel.layout), {})
    _same_layout(out)
    _file_notes(out)
    if name == "files" and out.identities:
        out.name = out.machine
    return out


def _same_mpi(system: System) -> None:
    """Refuse files of different MPIs: their times must never share an axis unnamed."""
    first: tuple[str, Path] | None = None
    for (kind, path), content in zip(system.files, system.contents, strict=True):
        source = content.header if kind == "bench" else content
        if kind == "forecast" or (kind == "bench" and source.settings.get("source") == "simulated"):
            continue  # a model's, of no MPI: `table simulate` puts one beside its table
        table = kind == "table"
        mpi = (
            f"{source.family} {source.mpi_version}"
            if table
            else f"{source.mpi.family} {source.mpi.version}"
        )
        if first is None:
            first = (mpi, path)
        elif mpi != first[0]:
            raise StrettoError(
                f"these files are of different MPIs: {first[0]} and {mpi}",
                f"{first[1]}, {path}",
                "put each MPI's files into a directory of its own, and compare them with: "
                "stretto report A B",
            )


def _same_caches(systems: Sequence[System]) -> None:
    """Refuse times of buffers in no cache beside others; where all are such, say so."""
    read = [
        (path, content)
        for system in systems
        for (kind, path), content in zip(system.files, system.contents, strict=True)
        if kind == "bench"
    ]
    remedy = "put each kind's files into a directory of its own, and report on each by itself"
    if all_cold(read, remedy) and len(systems) == 1:
        systems[0].notes.append(f"{COLD[:1].upper()}{COLD[1:]}.")


def _same_layout(system: System) -> None:
    """Refuse a profile whose layout neither the measurements nor the tables know."""
    profile = system.profile
    if profile is None:
        return
    nodes, ppn = profile.node_count, profile.ppn
    known = {(p.layout.nodes, p.layout.ppn) for p in system.panels}
    fits = any(t.nodes in (None, nodes) and t.ppn in (None, ppn) for t in system.tables)
    if (known or system.tables) and (nodes, ppn) not in known and not fits:
        other = sorted(known) or [(t.nodes or 0, t.ppn or 0) for t in system.tables]
        names = ", ".join(f"{a} x {b}" for a, b in other)
        path = next(p for kind, p in system.files if kind == "profile")
        raise StrettoError(
            f"the profile is of {nodes} x {ppn} (nodes x ranks per node), "
            f"and what was measured is of {names}: they do not belong together",
            path,
            "give the files of one campaign, or profile and measure in the same layout",
        )


def _file_notes(system: System) -> None:
    for (kind, path), bench in zip(system.files, system.contents, strict=True):
        if kind != "bench":
            continue
        if bench.truncated:
            system.notes.append(
                f"The last line of {path.name} was cut off (the campaign was killed while "
                "writing); it is left out."
            )
        ended = bench.ends
        for number in dict.fromkeys(q.launch for q in bench.launches):  # one resumed has two
            end = ended.get(number)
            if end is None:
                system.notes.append(
                    f"Launch {number} in {path.name} did not finish; what it measured is used."
                )
            elif end.status != "ok":
                detail = f": {end.detail}" if end.detail else ""
                word = "ran out of time" if end.status == "timeout" else "failed"
                system.notes.append(f"Launch {number} in {path.name} {word}{detail}.")
    cpus = system.processors
    if len(cpus) > 1:
        system.notes.append(
            "The files come from machines with different CPUs: " + "; ".join(sorted(cpus)) + "."
        )
