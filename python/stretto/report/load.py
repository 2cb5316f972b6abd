"""From paths to systems: which files there are, and whether they belong together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stretto.errors import StrettoError, UsageError, from_oserror
from stretto.files.bench import Bench, read_bench
from stretto.files.caches import COLD, all_cold
from stretto.files.calls import one_kind, with_calls
from stretto.files.forecast import ForecastFile, read_forecast
from stretto.files.identity import Host, Identity, product
from stretto.files.kind import KINDS as ALL_KINDS
from stretto.files.kind import schema_of
from stretto.files.layout import RankLayout
from stretto.files.profile import Profile, read_profile
from stretto.files.settings import SettingsFile, read_settings
from stretto.files.table import Row, Table, read_table
from stretto.files.verdict import VerdictFile, read_verdict
from stretto.report import campaigns
from stretto.report.campaigns import File
from stretto.report.format import sentence
from stretto.report.points import Panel, panels_of
from stretto.report.sources import is_node, listed, nodes_of, processor

#: by kind: how its files are named, and what reads one
KINDS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "profile": ("*.profile.json", read_profile),
    "bench": ("*.bench.jsonl", read_bench),
    "table": ("*.table", read_table),
    "verdict": ("*.verdict.json", read_verdict),
    "forecast": ("*.forecast.json", read_forecast),
    "settings": ("*.settings.json", read_settings),
}
#: directories in charts over processes
PROCESSES = 4
_PATTERNS = ", ".join(pattern for pattern, _ in KINDS.values())


@dataclass(frozen=True)
class LoadedFile:
    """One file and what was read from it."""

    kind: str
    path: Path
    content: Any

    @property
    def source(self) -> Any:
        """Return what names MPI, host and date: the header of results, else the content."""
        return self.content.header if self.kind == "bench" else self.content

    @property
    def mpi(self) -> str:
        """Return the MPI with its version, or that it is a model's."""
        if self.kind == "forecast" or is_modelled(self):
            return "simulated"
        if self.kind == "table":
            return f"{self.content.family} {self.content.mpi_version}"
        return f"{product(self.source.mpi)} {self.source.mpi.version}"

    @property
    def host(self) -> str:
        if self.kind == "forecast":
            return str(self.content.platform)
        return str(self.content.host if self.kind == "table" else self.source.host.name)


@dataclass
class System:
    """Everything that the files say of one MPI on one machine.

    `name`: the directory's name, or the machine's.
    `files`: in the order read.
    `panels`: the measured points, with what the tables choose.
    `notes`: what the reader must know of the files themselves.
    """

    name: str
    files: list[LoadedFile] = field(default_factory=list)
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
        runs = [one.identity for one in (self.verdict, self.profile) if one is not None]
        return runs + [b.header.identity for b in self.benches]

    @property
    def mpi(self) -> str:
        """Return the MPI with its version; empty where no file names it."""
        if self.identities:
            one = self.identities[0].mpi
            return self.named(f"{product(one)} {one.version}")
        return next((f"{t.family} {t.mpi_version}" for t in self.tables), "")

    def named(self, mpi: str) -> str:
        """Return the name of its MPI with the kind of calls of its results."""
        return with_calls(mpi, self.benches[0].header) if self.benches else mpi

    @property
    def command(self) -> list[str]:
        """Return the application's command; empty where it is not known."""
        source = self.verdict or self.profile
        return [] if source is None else list(source.command)

    @property
    def rows(self) -> list[Row]:
        return [row for table in self.tables for row in table.rows]

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
        """Return the nodes in words, the headers' hosts where none are named; empty without."""
        return listed(self.nodes or {i.host.name for i in self.identities})

    @property
    def processors(self) -> set[str]:
        """Return the processors of the nodes, as far as they are known.

        The processor of a host that is none of the nodes (a login node) is not theirs.
        """
        out = set()
        for bench in self.benches:
            host, named = bench.header.host, bench.header.settings.get("node_cpu")
            if named or is_node(host, nodes_of(bench)):
                out.add(processor(bench.header))
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
    def modelled(self) -> bool:
        """Whether results are there, and all of them are a model's."""
        held = [f for f in self.files if f.kind not in ("table", "forecast")]
        return bool(held) and all(map(is_modelled, held))

    @property
    def simulated(self) -> bool:
        return (
            bool(self.forecasts)
            or any(p.simulated for p in self.panels)
            or any(row.simulated for row in self.rows)
        )


def is_modelled(file: LoadedFile) -> bool:
    """Whether a model made these results; then their MPI and date mean nothing."""
    return file.kind == "bench" and file.source.settings.get("source") == "simulated"


def load(paths: Sequence[Path], most: int = 2) -> list[System]:
    """Read the paths given: one system, or several directories to be compared.

    `most`: directories that can be compared.

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
            "directories and files cannot be mixed",
            remedy="give one directory, two directories to compare, or the files of one system",
        )
    if len(directories) > most:
        raise UsageError(
            f"{len(directories)} directories were given",
            remedy="give one directory for a report, or two to compare; with --processes up to "
            f"{PROCESSES}",
        )
    if not directories:
        return [_system("files", [(kind_of(p), p) for p in paths])]
    found = [(d, _in_directory(d)) for d in directories]
    if len(found) == 1:
        found = campaigns.apart(directories[0], found[0][1], _own_files, most)
    systems = [_system(d.resolve().name or str(d), files) for d, files in found]
    _same_caches(systems)
    if len({system.name for system in systems}) < len(systems):
        for system, (d, _) in zip(systems, found, strict=True):
            system.name = str(d)
    return systems


def _own_files(directory: Path) -> list[File]:
    return [
        (kind, path)
        for kind, (pattern, _) in KINDS.items()
        for path in sorted(directory.glob(pattern))
        if path.is_file()
    ]


def _in_directory(directory: Path) -> list[File]:
    try:
        found = _own_files(directory)
        found += campaigns.below(directory, found)
    except OSError as error:
        raise from_oserror(error, "cannot read the directory", directory) from error
    if not found:
        for ending in (".io.json", ".net.json", ".scale.jsonl"):
            if others := sorted(directory.glob(f"*{ending}")):
                raise StrettoError(
                    f"this directory only has results of another kind (*{ending})", directory,
                    f"name the file: stretto report {others[0]}",
                )  # fmt: skip
        raise StrettoError(
            f"the directory contains no files of Stretto ({_PATTERNS})",
            directory,
            "make them with: stretto tune -- CMD",
        )
    return found


def kind_of(path: Path) -> str:
    for kind, (pattern, _) in KINDS.items():
        if path.name.endswith(pattern.removeprefix("*")):
            return kind
    schema = schema_of(_bytes(path)[:400].decode(errors="replace"))
    kind = (schema or "").removeprefix("stretto-")
    if kind in KINDS:
        return kind
    if schema is not None:
        other = ALL_KINDS[schema]
        name = (
            f", under a name such as NAME{other.pattern[1:]}"
            if kind in ("net", "io", "scale")
            else ""
        )
        raise StrettoError(
            f"{other.this}; a report is made of {_PATTERNS}", path,
            f"give it alone{name}" if name else "give files of these kinds",
        )  # fmt: skip
    raise StrettoError(
        f"this is not a file of Stretto ({_PATTERNS})",
        path,
        "give a directory that stretto tune made, or files of these kinds",
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise from_oserror(error, "cannot read the file", path) from error


def _distinct(files: list[File]) -> tuple[list[File], list[str]]:
    """Leave out files named twice and copies of results, whose launches would count twice."""
    once: dict[Path, File] = {}
    for kind, path in files:
        once.setdefault(path.resolve(), (kind, path))
    out: list[File] = []
    notes: list[str] = []
    contents: dict[bytes, Path] = {}
    for kind, path in once.values():
        if kind == "bench":
            first = contents.setdefault(hashlib.sha256(_bytes(path)).digest(), path)
            if first != path:
                notes.append(f"{path.name} is a copy of {first.name}; it is used once.")
                continue
        out.append((kind, path))
    return out, notes


def _system(name: str, files: list[File]) -> System:
    files, copies = _distinct(files)
    out = System(name, notes=copies)
    for kind, path in files:
        same = [f.path for f in out.files if f.kind == kind and kind in ("profile", "verdict")]
        if same:
            raise StrettoError(
                f"there are two {kind} files, but a report covers one run",
                f"{same[0]}, {path}",
                "list the files that belong together",
            )
        out.files.append(LoadedFile(kind, path, KINDS[kind][1](path)))
    by_kind = {kind: [f.content for f in out.files if f.kind == kind] for kind in KINDS}
    out.profile, out.verdict = (next(iter(by_kind[k]), None) for k in ("profile", "verdict"))
    out.benches, out.tables = by_kind["bench"], by_kind["table"]
    out.forecasts, out.settings = by_kind["forecast"], by_kind["settings"]
    _same_mpi(out)
    _same_caches([out])
    out.panels = panels_of(out.benches, out.tables)
    _same_layout(out)
    _file_notes(out)
    if name == "files":
        out.name = out.machine if out.identities else files[0][1].name
    return out


def _same_mpi(system: System) -> None:
    """Refuse files of different MPIs: their times must never share an axis unnamed."""
    first: LoadedFile | None = None
    for file in system.files:
        if file.kind == "forecast" or is_modelled(file):
            continue  # a model's, of no MPI: `table simulate` puts one beside its table
        first = first or file
        if _family(file) != _family(first):
            raise StrettoError(
                f"these files are of different MPIs: {_family(first)} and {_family(file)}",
                f"{first.path}, {file.path}",
                "put the files of each MPI into a separate directory, and compare: "
                "stretto report A B",
            )


def _family(file: LoadedFile) -> str:
    """Return the MPI as tables name it: MVAPICH is of MPICH's family there."""
    if file.kind == "table":
        return file.mpi
    return f"{file.source.mpi.family} {file.source.mpi.version}"


def _same_caches(systems: Sequence[System]) -> None:
    """Refuse times of buffers in no cache beside others; where all are such, say so."""
    read = [(f.path, f.content) for s in systems for f in s.files if f.kind == "bench"]
    remedy = "put the files of each kind into a separate directory, with one report for each"
    for s in systems:
        own = [(f.path, f.content) for f in s.files if f.kind == "bench"]
        one_kind(own, "put the files of each kind into a directory: stretto report DIR DIR")
    if all_cold(read, remedy) and len(systems) == 1:
        systems[0].notes.append(sentence(COLD))


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
        raise StrettoError(
            f"the profile is of {nodes} x {ppn} (nodes x ranks per node), "
            f"but the measurements are for {names}: they do not belong together",
            next(f.path for f in system.files if f.kind == "profile"),
            "give files of one layout",
        )


def _file_notes(system: System) -> None:
    for file in system.files:
        if file.kind != "bench":
            continue
        bench, name = file.content, file.path.name
        if bench.truncated:
            system.notes.append(
                f"The last line of {name} was cut off (the campaign was killed while writing); it "
                "is left out."
            )
        for number in dict.fromkeys(q.launch for q in bench.launches):  # one resumed has two
            end = bench.ends.get(number)
            if end is None:
                system.notes.append(
                    f"Launch {number} in {name} did not finish; what it measured is used."
                )
            elif end.status != "ok":
                detail = f": {end.detail}" if end.detail else ""
                word = "ran out of time" if end.status == "timeout" else "failed"
                system.notes.append(f"Launch {number} in {name} {word}{detail}.")
    cpus = system.processors
    if len(cpus) > 1:
        system.notes.append(
            "The files come from machines with different CPUs: " + "; ".join(sorted(cpus)) + "."
        )
