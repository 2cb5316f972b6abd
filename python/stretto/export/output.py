"""What an export amounts to: files, settings that point to them, and what could not be said."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stretto.files.io import write_atomic

#: in a file's text and in settings: the absolute path of the directory that the files are in
HERE = "@STRETTO_EXPORT_DIR@"


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
    """

    files: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)


def write(export: Export, directory: Path, title: str) -> list[Path]:
    """Write an export with a script to source and a module file; return what was written.

    Parameters
    ----------
    export
        From one of the writers.
    directory
        Made when it is not there; files of the same names are replaced.
    title
        One line that says what it is, for the files' comments.
    """
    where = str(directory.resolve())
    variables = {n: v.replace(HERE, where) for n, v in export.environment.items()}
    texts = {n: t.replace(HERE, where) for n, t in export.files.items()}
    texts["stretto-native.sh"] = _script(title, variables, export.lost)
    texts["stretto-native.modulefile"] = _module(title, variables)
    out = []
    for name, text in texts.items():
        write_atomic(directory / name, text, "the export")
        out.append(directory / name)
    return out


def _script(title: str, variables: Mapping[str, str], lost: list[str]) -> str:
    lines = [f"# {title}", "# source this file in the job script, before mpirun or srun"]
    lines += [f"# not expressed: {sentence}" for sentence in lost]
    lines += [f"export {n}={shlex.quote(v)}" for n, v in variables.items()]
    return "\n".join(lines) + "\n"


def _module(title: str, variables: Mapping[str, str]) -> str:
    words = title.replace("{", "(").replace("}", ")")
    lines = ["#%Module1.0", f"module-whatis {{{words}}}"]
    lines += [f"setenv {n} {{{v}}}" for n, v in variables.items()]
    return "\n".join(lines) + "\n"
