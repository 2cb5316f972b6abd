"""What an export amounts to: files, settings that point to them, and what could not be said."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from stretto.errors import StrettoError
from stretto.export.rules import Rule
from stretto.export.users import beating
from stretto.files.export import EXPORT, NAME, ExportManifest, ExportRow
from stretto.files.identity import MPIIdentity, now
from stretto.files.io import write_together

#: in a file's text and in settings: the absolute path of the directory that the files are in
HERE = "@STRETTO_EXPORT_DIR@"
SCRIPT, MODULE = "stretto-native.sh", "stretto-native.modulefile"


@dataclass
class Export:
    """Files to be written.

    Attributes
    ----------
    files
        Name to text.
    environment
        Variables that make the MPI read them; values may hold `HERE`.
    lost
        Sentences: what the MPI cannot express.
    rows
        What the files do, each with the settings that do the same by themselves.
    bounded
        Communicators of other sizes are left as they are.
    """

    files: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    rows: list[Rule] = field(default_factory=list)
    bounded: bool = True


def write(export: Export, directory: Path, title: str, target: str, mpi: MPIIdentity) -> list[Path]:
    """Write an export with a script to source and a module file; return what was written.

    Parameters
    ----------
    export
        From one of the writers.
    directory
        Made when it is not there; files of the same names are replaced.
    title
        One line that says what it is, for the files' comments.
    target, mpi
        Whose files they are, and what they were measured with.
    """
    where = str(directory.resolve())
    if _one_line(where) != where or where.encode(errors="replace") != os.fsencode(where):
        raise StrettoError(
            "the files name the directory that they are in, and this name is none for them",
            repr(where),
            "choose one in UTF-8 without line ends: --out",
        )
    variables = {n: v.replace(HERE, where) for n, v in export.environment.items()}
    texts = {n: t.replace(HERE, where) for n, t in export.files.items()}
    rows = [_row(rule) for rule in export.rows]
    manifest = ExportManifest(
        target, now(), mpi, variables, sorted(texts), rows, export.bounded, export.lost
    )
    beat = beating(target, [r.collective for r in export.rows])
    # a script and a list that are not of one export are told apart by this
    manifest.whole = _digest(repr((sorted(texts.items()), sorted(variables.items()), title)))
    seal = Seal(f"{where}/{NAME}", manifest.whole)
    texts[SCRIPT] = _script(title, variables, export.lost, beat, seal)
    texts[MODULE] = _module(title, variables, seal)
    manifest.digests = {name: _digest(text) for name, text in texts.items()}
    texts[NAME] = EXPORT.format(manifest)
    files = {directory / name: text for name, text in texts.items()}
    write_together(files, "the export")
    return list(files)


@dataclass(frozen=True)
class Seal:
    """What an export's list of rows holds, if the files beside it are its own, and where it is."""

    place: str
    whole: str

    @property
    def words(self) -> str:
        """What to say where it is not there."""
        return (
            f"{self.place} is not the list of this export's rows: the files are not all of one "
            "export, and nothing is set; write it again"
        )


def _digest(text: str) -> str:
    return sha256(text.encode(errors="backslashreplace")).hexdigest()


def _row(rule: Rule) -> ExportRow:
    layout = rule.layout
    settings = [list(pair) for pair in rule.settings]
    row = ExportRow(
        rule.collective, layout.nranks, layout.nodes, layout.ppn, rule.low, rule.high, settings
    )
    # some files end a row before what was measured
    row.measured = [p for p in rule.points if row.covers(row.collective, row.nranks, p.bytes)]
    return row


def _one_line(text: str) -> str:
    """Return a text for a comment: what stands behind a line end in a name would be a command."""
    return re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]+", " ", text)


def _script(
    title: str, variables: Mapping[str, str], lost: list[str], beat: Sequence[str], seal: Seal
) -> str:
    lines = [f"# {_one_line(title)}", "# source this file in the job script, before mpirun or srun"]
    lines += [f"# not expressed: {_one_line(sentence)}" for sentence in lost]
    if variables:  # a job goes on as without them, whatever happened to the files
        lines.append(f"if ! grep -q {seal.whole} {shlex.quote(seal.place)} 2>/dev/null; then")
        lines += [f"echo {shlex.quote(f'{SCRIPT}: {seal.words}')} >&2", "else"]
    for name in beat:
        if name not in variables:
            lines.append(_warning(name, f'[ -n "${{{name}+x}}" ]', "it may beat these files"))
    for name, value in variables.items():
        test = f'[ -n "${{{name}+x}}" ] && [ "${name}" != {shlex.quote(value)} ]'
        lines += [_warning(name, test, "it is replaced"), f"export {name}={shlex.quote(value)}"]
    lines += ["fi"] if variables else []
    return "\n".join(lines) + "\n"


def _warning(name: str, test: str, what: str) -> str:
    return f'if {test}; then echo "{SCRIPT}: {name}=${name} is set: {what}" >&2; fi'


def _word(text: str) -> str:
    """Return a text as a word of Tcl."""
    if not re.search(r"[{}\\\n]", text):
        return f"{{{text}}}"
    escaped = re.sub(r'([\\"$\[\]{}])', r"\\\1", text).replace("\n", "\\n")
    return f'"{escaped}"'


def _module(title: str, variables: Mapping[str, str], seal: Seal) -> str:
    lines = ["#%Module1.0", f"module-whatis {_word(_one_line(title))}"]
    if variables:
        read = f"set f [open {_word(seal.place)}]; set t [read $f]; close $f"
        lines.append(f"if {{[catch {{{read}}}] || [string first {seal.whole} $t] < 0}} {{")
        lines += [f"puts stderr {_word(f'{MODULE}: {seal.words}')}", "} else {"]
    lines += [f"setenv {n} {_word(v)}" for n, v in variables.items()]
    lines += ["}"] if variables else []
    return "\n".join(lines) + "\n"
