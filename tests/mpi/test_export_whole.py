"""An export over an older one: all of it or nothing, and a mixture is told by all that read it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from exports import FIVE, tuned
from mpis import have
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.export import openmpi
from stretto.export.output import MODULE, SCRIPT, Export, write
from stretto.export.rules import Rule
from stretto.files import io
from stretto.files.export import EXPORT, NAME
from stretto.files.identity import MPIIdentity

FILENAME = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
MPI = MPIIdentity("openmpi", "openmpi", "5.0.11", "Open MPI v5.0.11")


def rows(algorithm: int, collectives: int = 1) -> Export:
    names = ["allreduce", "bcast", "reduce", "alltoall", "barrier"][:collectives]
    return openmpi.classic([Rule(c, FIVE, 0, None, tuned(c, algorithm)) for c in names], "5")


def put(export: Export, out: Path, title: str = "one") -> Path:
    write(export, out, title, "openmpi-5", MPI)
    return out


def contents(out: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in out.iterdir()}


def sourced(out: Path) -> tuple[str, str]:
    words = ["sh", "-euc", f'. "$0"; echo "${{{FILENAME}-nothing}}"', str(out / SCRIPT)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env={"PATH": os.defpath}
    )
    return done.stdout.strip(), done.stderr


#: writes an export with a comment that no file may be as long as
_LIMITED = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_export_whole import put, rows
resource.setrlimit(resource.RLIMIT_FSIZE, (12000, 12000))
export = rows(3)
export.files["zz-large.conf"] = "#" * 20000
put(export, Path(sys.argv[1]), "two")
"""


def test_what_cannot_be_written_leaves_the_old_set(tmp_path: Path) -> None:
    """The file-size limit of a shell, which a full disk is like: others of the set do fit."""
    out = put(rows(4), tmp_path / "out")
    before = contents(out)
    words = [sys.executable, "-c", _LIMITED, str(out), str(Path(__file__).parent)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    assert done.returncode != 0 and "cannot write the export" in done.stderr, done.stderr
    assert contents(out) == before
    assert sourced(out)[0] == str(out / openmpi.RULES_FILE)


def test_a_name_that_is_no_file_is_found_before_anything_is_renamed(tmp_path: Path) -> None:
    out = put(rows(4), tmp_path / "out")
    (out / MODULE).unlink()
    (out / MODULE).mkdir()
    before = (out / SCRIPT).read_bytes(), (out / NAME).read_bytes()
    with pytest.raises(StrettoError, match="that is not a file"):
        put(rows(3), out, "two")
    assert before == ((out / SCRIPT).read_bytes(), (out / NAME).read_bytes())
    assert not [p for p in out.iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize("renames", range(5))
def test_a_write_that_is_cut_between_two_renames_sets_nothing(
    renames: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a kill there does it: what lies in the directory is of two exports."""
    out = put(rows(4), tmp_path / "out")
    real, left = Path.replace, [renames]

    def replace(self: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(io.Path, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            put(rows(3), out, "two")
    found, said = sourced(out)
    assert found == "nothing" and f"{out / NAME} is not the list of this export's rows" in said
    with pytest.raises(StrettoError, match="no such file"):
        EXPORT.read(out / NAME)
    put(rows(3), out, "two")
    assert sourced(out) == (str(out / openmpi.RULES_FILE), "")


def test_a_mixture_of_two_exports_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a copy of some files makes it."""
    old, new = put(rows(4), tmp_path / "old"), put(rows(3), tmp_path / "new", "two")
    shutil.copy(old / openmpi.RULES_FILE, new / openmpi.RULES_FILE)
    assert EXPORT.read(new / NAME).strangers(new) == [openmpi.RULES_FILE]
    assert not EXPORT.read(old / NAME).strangers(old)
    assert main(["export", "--check", "--out", str(new), "--most-ranks", "2"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert f"is not as it was written with this list of rows [{new / openmpi.RULES_FILE}]" in said
    put(rows(3), old, "two")
    shutil.copy(new / NAME, old / NAME)
    assert sourced(old)[0] == "nothing"


def test_the_module_file_refuses_as_well(tmp_path: Path) -> None:
    tclsh = have("tclsh", "tcl")
    out = put(rows(4), tmp_path / "a {b")
    program = (
        "proc module-whatis {args} {}; proc setenv {n v} {puts $n=$v}; source [lindex $argv 0]"
    )
    (tmp_path / "run.tcl").write_text(program)

    def loaded() -> subprocess.CompletedProcess[str]:
        words = [tclsh, str(tmp_path / "run.tcl"), str(out / MODULE)]
        return subprocess.run(words, capture_output=True, text=True, check=True)

    assert f"{FILENAME}={out / openmpi.RULES_FILE}" in loaded().stdout
    (out / NAME).unlink()
    assert loaded().stdout == "" and "is not the list of this export's rows" in loaded().stderr


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (openmpi.RULES_FILE, "# ", "# so much as "),
        (openmpi.RULES_FILE, None, "# another row, of a collective that has none\n"),
        (openmpi.PARAMETERS_FILE, None, "garbage = 5\n"),
    ],
)
def test_a_file_that_was_changed_is_wrong_whatever_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, old: str | None, new: str
) -> None:
    """Rows beside those in the list would be met by no call that is looked at."""
    out = put(rows(3), tmp_path / "out")
    call = ["export", "--check", "--out", str(out), "--most-ranks", "2"]
    assert main(call) == 0
    text = (out / name).read_text()
    (out / name).write_text(text + new if old is None else text.replace(old, new, 1))
    capsys.readouterr()
    assert main(call) == 1
    said = capsys.readouterr()
    assert "1 wrong beside them" in said.out
    assert "is not as it was written with this list of rows" in said.err
    assert f"at: {out / name}" in said.err and "write the export again" in said.err


def test_what_would_be_written_needs_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = put(rows(3), tmp_path / "out")
    call = ["export", "--check", "--out", str(out), "--most-ranks", "2"]
    assert main([*call, "--to", "openmpi-5"]) == 0
    for more, words in (
        (["--to", "mpich"], "holds an export for openmpi-5, not for mpich"),
        (["--nodes", "2"], "--nodes says what is written"),
        (["--without", "bcast"], "--without says what is written"),
        (["--keep-order"], "--keep-order says what is written"),
    ):
        capsys.readouterr()
        assert main([*call, *more]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("key", ["nodes", "ppn", "nranks"])
def test_a_list_of_rows_on_no_ranks_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    out = put(rows(3), tmp_path / "out")
    value = json.loads((out / NAME).read_text())
    value["rows"][0][key] = 0
    (out / NAME).write_text(json.dumps(value))
    assert main(["export", "--check", "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert "a row makes no sense" in said and "defect" not in said
