"""What an export amounts to: files, settings that point to them, and what could not be said."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from stretto.errors import StrettoError, from_oserror
from stretto.export.everywhere import to_be_seen
from stretto.export.rules import Rule
from stretto.export.users import beating, family_of, least, waking
from stretto.files.export import EXPORT, NAME, ExportManifest, ExportRow
from stretto.files.identity import MPIIdentity, now
from stretto.files.io import write_together
from stretto.files.layout import RankLayout
from stretto.mpi.algorithms.forced import MARKS, mark_of, settable

#: in a file's text and in settings: the absolute path of the directory that the files are in
HERE = "@STRETTO_EXPORT_DIR@"
SCRIPT, MODULE = "stretto-native.sh", "stretto-native.modulefile"


@dataclass
class Export:
    """Files to be written.

    `environment`: variables that make the MPI read them; values may hold `HERE`. `rows`: what the
    files do, each with the settings that do the same by themselves. `bounded`: communicators of
    other sizes are left as they are.
    """

    files: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    rows: list[Rule] = field(default_factory=list)
    bounded: bool = True


def write(export: Export, directory: Path, title: str, target: str, mpi: MPIIdentity) -> list[Path]:
    """Write an export with a script to source and a module file; return what was written.

    What an export that was there before has and this one has not is taken back: its files are
    removed, and the script unsets its variables in a shell that has sourced it.
    """
    where = str(directory.resolve())
    if _one_line(where) != where or where.encode(errors="replace") != os.fsencode(where):
        raise StrettoError(
            "the files contain the name of their directory, which cannot be written in them",
            repr(where),
            "choose a name in UTF-8 without line breaks: --out",
        )
    if target == "openmpi-4" and ";" in where:
        raise StrettoError(
            "Open MPI 4 reads a file name with ';' as two names, and silently ignores both",
            where,
            "choose a directory without ';' in its path: --out",
        )
    # without rows there is nothing to read, and even an empty file would turn on dynamic rules
    environment = export.environment if export.rows else {}
    variables = {n: v.replace(HERE, where) for n, v in environment.items()}
    texts = {n: t.replace(HERE, where) for n, t in export.files.items()}
    read = any(HERE in value for value in environment.values())  # by the ranks, when they start
    rows = [_row(rule) for rule in export.rows]
    manifest = ExportManifest(
        target, now(), mpi, variables, sorted(texts), rows, export.bounded, export.lost
    )
    collectives = [r.collective for r in export.rows]
    beat = dict.fromkeys(beating(target, collectives, variables), "it may override these files")
    beat |= dict.fromkeys(
        waking(target, collectives, variables), "it takes effect with these files"
    )
    before = _before(directory)
    # a script and a list that are not of one export are told apart by this
    manifest.whole = _digest(repr((sorted(texts.items()), sorted(variables.items()), title)))
    seal = f"{where}/{NAME}", manifest.whole
    mark = mark_of(family_of(target))
    back = [name for name in settable(family_of(target)) if name not in variables]
    marked = {**variables, mark: " ".join(variables)} if variables else {}
    taken = _taken_back(back, mark)
    seen = f"every node of the job must see {where} under this path" if read else None
    texts[SCRIPT] = _script(title, marked, export.lost, beat, seal, taken, seen)
    if read and any(rule.layout.nodes > 1 for rule in export.rows):
        export.lost.append(to_be_seen(Path(where), target))
    texts[MODULE] = _module(title, marked, seal, _unloaded(back, mark))
    manifest.digests = {name: _digest(text) for name, text in texts.items()}
    texts[NAME] = EXPORT.format(manifest)
    files = {directory / name: text for name, text in texts.items()}
    write_together(files, "the export")
    _remove(directory, before, texts)
    return list(files)


def _before(directory: Path) -> ExportManifest | None:
    """Return the list of rows that is replaced; None: there is none that can be read."""
    try:
        return EXPORT.read(directory / NAME)
    except StrettoError:
        return None


def _remove(directory: Path, before: ExportManifest | None, texts: Collection[str]) -> None:
    """Remove the files that only the older export had; one that was changed since is the user's."""
    if before is None:
        return
    changed = before.strangers(directory)
    for name in before.files:
        if name not in texts and name not in changed and name == Path(name).name:
            try:
                (directory / name).unlink(missing_ok=True)
            except OSError as error:
                raise from_oserror(
                    error, "cannot remove the file of the older export", directory / name
                ) from error


#: the list of rows at a place does not hold what the script or the module file holds
_MIXED = (
    "{} does not match this script: the files are from different exports, and nothing is "
    "set; write the export again"
)


def _digest(text: str) -> str:
    return sha256(text.encode(errors="backslashreplace")).hexdigest()


def _row(rule: Rule) -> ExportRow:
    layout = rule.layout
    sizes = (layout.nranks, layout.nodes, layout.ppn, rule.low, rule.high)
    row = ExportRow(rule.collective, *sizes, list(rule.settings))
    # some files end a row before what was measured
    row.measured = [p for p in rule.points if row.covers(row.collective, row.nranks, p.bytes)]
    return row


def layout_of(row: ExportRow) -> RankLayout:
    return RankLayout(row.nodes, row.ppn, row.nranks)


def as_rule(row: ExportRow) -> Rule:
    """Return a row of an export as the rule that it was."""
    return Rule(row.collective, layout_of(row), row.low, row.high, tuple(row.settings))


def _one_line(text: str) -> str:
    """Return a text for a comment: what stands behind a line end in a name would be a command."""
    return re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]+", " ", text)


def _script(
    title: str,
    variables: Mapping[str, str],
    lost: list[str],
    beat: Mapping[str, str],
    seal: tuple[str, str],
    back: list[str],
    seen: str | None,
) -> str:
    place, whole = seal
    lines = [f"# {_one_line(title)}", "# source this file in the job script, before mpirun or srun"]
    lines += [f"# {seen}"] if seen else []
    lines += [f"# not expressed: {_one_line(sentence)}" for sentence in lost]
    if variables:  # a job goes on as without them, whatever happened to the files
        lines.append(f"if ! grep -q {whole} {shlex.quote(place)} 2>/dev/null; then")
        lines += [f"echo {shlex.quote(f'{SCRIPT}: {_MIXED.format(place)}')} >&2", "else"]
    lines += back
    for name, what in beat.items():
        if name not in variables:
            bound = least(name)
            test = f'[ -n "${{{name}+x}}" ]'
            if bound is not None:  # what is no number is the MPI's to refuse
                test = f'[ "${{{name}:-0}}" -ge {bound} ] 2>/dev/null'
            lines.append(_warning(name, test, what))
    for name, value in variables.items():
        test = f'[ -n "${{{name}+x}}" ] && [ "${name}" != {shlex.quote(value)} ]'
        if name.startswith(MARKS):
            lines.append(f"export {name}={shlex.quote(value)}")
            continue
        lines += [_warning(name, test, "it is replaced"), f"export {name}={shlex.quote(value)}"]
    lines += ["fi"] if variables else []
    return "\n".join(lines) + "\n"


def _taken_back(names: Iterable[str], mark: str) -> list[str]:
    """Return what unsets the variables of the script sourced last that this one does not set."""
    cases = (f'case " ${{{mark}-}} " in *" {name} "*) unset {name};; esac' for name in names)
    return [*cases, f"unset {mark}"]


def _warning(name: str, test: str, what: str) -> str:
    return f'if {test}; then echo "{SCRIPT}: {name}=${name} is set: {what}" >&2; fi'


def _word(text: str) -> str:
    if not re.search(r"[{}\\\n]", text):
        return f"{{{text}}}"
    escaped = re.sub(r'([\\"$\[\]{}])', r"\\\1", text).replace("\n", "\\n")
    return f'"{escaped}"'


def _module(
    title: str, variables: Mapping[str, str], seal: tuple[str, str], back: list[str]
) -> str:
    place, whole = seal
    lines = ["#%Module1.0", f"module-whatis {_word(_one_line(title))}"]
    if variables:
        read = f"set f [open {_word(place)}]; set t [read $f]; close $f"
        lines.append(f"if {{[catch {{{read}}}] || [string first {whole} $t] < 0}} {{")
        lines += [f"puts stderr {_word(f'{MODULE}: {_MIXED.format(place)}')}", "} else {"]
    lines += back
    lines += [f"setenv {n} {_word(v)}" for n, v in variables.items()]
    lines += ["}"] if variables else []
    return "\n".join(lines) + "\n"


def _unloaded(names: Iterable[str], mark: str) -> list[str]:
    """Return what unsets in a module file what `_taken_back` does in a script.

    Unloading goes through the file that is there by then, a newer one perhaps: in that mode
    ``setenv`` is what unsets, and ``unsetenv`` does nothing.
    """
    unset = "if {[lsearch {remove unload} [module-info mode]] < 0} {unsetenv $n} {setenv $n {}}"
    listed = f"[lsearch -exact [split $::env({mark})] $n] >= 0"
    return [
        f"if {{[info exists ::env({mark})]}} {{ foreach n {{{' '.join(names)}}} {{",
        f"if {{[info exists ::env($n)] && {listed}}} {{ {unset} }} }}",
        f"set n {mark}; {unset} }}",
    ]
