"""The script, the module file and the directory of an export; what a user has set besides."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from exports import FOUR, result_file, tuned
from mpis import have
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.export import check, examine, openmpi
from stretto.export.output import MODULE, SCRIPT, Export, write
from stretto.export.rules import Rule
from stretto.export.targets import Wishes, writer_for
from stretto.export.users import conflicts
from stretto.export.verdicts import Verdict
from stretto.files.export import EXPORT, NAME, ExportPoint
from stretto.files.identity import MPIIdentity
from stretto.mpi.mpich import MPICH

MPI4 = MPIIdentity("openmpi", "openmpi", "4.1.4", "Open MPI v4.1.4")
INTEL = MPIIdentity("intel", "mpich", "2021.18", "Intel MPI 2021.18")
FILENAME = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
DOUBLING = "native:coll_tuned_allreduce_algorithm=3,coll_tuned_use_dynamic_rules=1"


def results(path: Path) -> Path:
    return result_file(path, {("allreduce", 1024): {"bare": 50.0, DOUBLING: 30.0}}, FOUR, MPI4)


def exported(tmp_path: Path, out: Path) -> Path:
    path = tmp_path / "r.bench.jsonl"
    if not path.exists():
        results(path)
    assert main(["export", "--to", "openmpi-4", "--out", str(out), str(path)]) == 0
    return out


def sourced(out: Path, what: str, **variables: str) -> subprocess.CompletedProcess[str]:
    words = ["sh", "-euc", f'. "$0"; {what}', str(out / SCRIPT)]
    environ = {"PATH": os.defpath, **variables}
    return subprocess.run(words, capture_output=True, text=True, check=True, env=environ)


def test_what_the_user_has_set_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the script, and by --check: it beats the files, or is replaced."""
    out = exported(tmp_path, tmp_path / "out")
    assert sourced(out, f'echo "${FILENAME}"').stderr == ""
    forced = "OMPI_MCA_coll_tuned_allreduce_algorithm"
    done = sourced(out, '. "$0"; echo fine', **{FILENAME: "/site/rules.conf", forced: "4"})
    assert done.stdout == "fine\n"
    assert f"{forced}=4 is set: it may beat these files" in done.stderr
    assert done.stderr.count(f"{FILENAME}=/site/rules.conf is set: it is replaced") == 1
    capsys.readouterr()
    monkeypatch.setenv(forced, "4")
    monkeypatch.setenv(FILENAME, "/site/rules.conf")
    monkeypatch.setattr("stretto.commands.export._installed", lambda *_: None)
    assert main(["export", "--check", "--out", str(out)]) == 0
    said = capsys.readouterr().err
    assert f"warning: {forced}=4 is set here: it may beat" in said
    assert f"warning: {FILENAME}=/site/rules.conf is set here: the script replaces it" in said


def test_which_variables_do_not_go_with_an_export() -> None:
    mpich = {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring", "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "x"}
    (said,) = conflicts("mpich", ["allreduce", "allreduce"], {}, mpich)
    assert said.startswith("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=ring is set here: it may beat")
    ours = {"I_MPI_ADJUST_REDUCE": "2:0-9"}
    assert not conflicts("intel", ["reduce"], ours, ours)
    (said,) = conflicts("intel", ["reduce"], ours, {"I_MPI_ADJUST_REDUCE": "1"})
    assert said.endswith("the script replaces it")


def test_a_copied_export_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its script names the original's files: those are read, or none."""
    original = exported(tmp_path, tmp_path / "original")
    copy = tmp_path / "copy"
    shutil.copytree(original, copy)
    link = tmp_path / "link"
    link.symlink_to(original)
    manifest, environment = check.read(original)
    assert not examine.examine(manifest, link, environment, None), "the same directory"
    for there in (True, False):
        if not there:
            shutil.rmtree(original)
        (fault,) = examine.examine(*check.read(copy)[:1], copy, check.read(copy)[1], None)
        assert f"{FILENAME} names {original}/{openmpi.RULES_FILE}" in fault.message
        assert f"--out {copy}" in fault.remedy and fault.place.startswith(str(copy))
    capsys.readouterr()


def test_what_json_says_is_what_the_script_sets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["export", "--to", "openmpi-4", "--out", str(out), "--json"]
    assert main([*words, str(results(tmp_path / "r.bench.jsonl"))]) == 0
    environment = json.loads(capsys.readouterr().out)["environment"]
    assert environment[FILENAME] == str(out / openmpi.RULES_FILE)


def test_one_directory_is_for_one_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first one's script would be gone, and its files left behind."""
    out = exported(tmp_path, tmp_path / "out")
    script = (out / SCRIPT).read_text()
    three = "native:I_MPI_ADJUST_ALLREDUCE=3"
    times = {("allreduce", 8 << i): {"bare": 50.0, three: 30.0} for i in range(0, 18, 3)}
    path = result_file(tmp_path / "i.bench.jsonl", times, FOUR, INTEL)
    assert main(["export", "--to", "intel", "--out", str(out), str(path)]) == 2
    said = capsys.readouterr().err
    assert "holds an export for openmpi-4" in said and f"--out {out}-intel" in said
    assert (out / SCRIPT).read_text() == script
    assert main(["export", "--to", "intel", "--out", f"{out}-intel", str(path)]) == 0
    exported(tmp_path, out)  # its own may be written again


@pytest.mark.parametrize(
    "name", ["sp ace", "quo'te", "br}ace", "{", "dol$HOME", "a[exit]b", "\\", '"']
)
def test_paths_come_through(name: str, tmp_path: Path) -> None:
    """Into the shell and into Tcl, whatever is in them."""
    out = exported(tmp_path, tmp_path / name / "out")
    done = sourced(out, f'cat "${FILENAME}"')
    assert done.stdout == (out / openmpi.RULES_FILE).read_text()
    reader = tmp_path / "read.tcl"
    reader.write_text(
        'proc module-whatis x {}\nproc setenv {n v} {puts "$n=$v"}\nsource [lindex $argv 0]\n'
    )
    tcl = have("tclsh", "tcl")
    done = subprocess.run([tcl, reader, out / MODULE], capture_output=True, text=True, check=True)
    assert f"{FILENAME}={out}/{openmpi.RULES_FILE}" in done.stdout.splitlines()


@pytest.mark.parametrize("name", ["new\nline", os.fsdecode(b"lat\xe9in")])
def test_a_directory_that_files_cannot_name_is_refused(name: str, tmp_path: Path) -> None:
    export = openmpi.classic([Rule("allreduce", FOUR, 0, None, tuned("allreduce", 3))], "4")
    with pytest.raises(StrettoError, match="this name is none for them"):
        write(export, tmp_path / name, "test", "openmpi-4", MPI4)


def test_names_and_sentences_stay_comments(tmp_path: Path) -> None:
    """What stood behind a line end in a results file's name was run by who sourced the script."""
    export = openmpi.classic([Rule("allreduce", FOUR, 0, None, tuned("allreduce", 3))], "4")
    export.lost.append("a\necho sentence")
    write(export, tmp_path, "from a\necho title;#\rx", "openmpi-4", MPI4)
    assert sourced(tmp_path, "true").stdout == ""
    assert not [x for x in (tmp_path / MODULE).read_text().splitlines() if x.startswith("echo")]


def test_each_row_is_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three rules, "6 wrong": a fault found by reading and by running counted twice."""
    out = exported(tmp_path, tmp_path / "o")
    found = [
        Verdict(0, "a", "wrong", "read"), Verdict(0, "a", "wrong", "run"),
        Verdict(1, "b", "proven", "run"), Verdict(1, "b", "wrong", "read"),
        Verdict(2, "c", "proven", "run"), Verdict(None, "calls without a row", "proven", "run"),
        Verdict(None, "the file", "wrong", "read"),
    ]  # fmt: skip
    monkeypatch.setattr(check, "check", lambda *_: found)
    capsys.readouterr()
    assert main(["export", "--check", "--out", str(out)]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("rows: 1 proven, 0 unproven, 2 wrong; 1 wrong beside them")


def test_what_runs_wrong_is_told_beside_what_reads_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that is in the file otherwise than written may yet run as something else again."""
    out = exported(tmp_path, tmp_path / "o")
    manifest, _ = check.read(out)
    rows = range(len(manifest.rows))
    fault = examine.Fault("another algorithm", "f:1", 0)
    monkeypatch.setattr(examine, "examine", lambda *_: [fault])
    for status, told in (("wrong", 2), ("proven", 1), ("unproven", 1)):
        ran = {i: Verdict(i, "w", status, "run") for i in rows}  # type: ignore[arg-type]
        monkeypatch.setattr(check, "run", lambda *_, ran=ran: ran)
        found = check.check(out, check.Plan(object()), quiet=True)  # type: ignore[arg-type]
        assert len([v for v in found if v.row == 0]) == told
        assert "another algorithm" in found[0].why


def test_mpichs_trees_are_of_the_release_that_was_measured() -> None:
    """They are made from those in its library, and replace them whole."""
    here = MPICH(
        "mpich", "mpich", "5.0.2", "MPICH 5.0.2", Path("/m"), Path("/m/lib/libmpi.so"), None
    )
    with pytest.raises(StrettoError, match=r"measured with 4\.3\.0, and this is") as error:
        writer_for("mpich", "4.3.0", here, Wishes())
    assert "--mpi PREFIX" in (error.value.remedy or "")


def test_a_row_promises_nothing_outside_of_its_sizes(tmp_path: Path) -> None:
    """Some files end a row before what was measured: there the MPI decides as before."""
    points = tuple(ExportPoint(n, "MPI_FLOAT", "MPI_SUM", 0, 0.5) for n in (8, 64, 1024))
    rule = Rule("allreduce", FOUR, 9, 1023, tuned("allreduce", 3), points=points)
    write(Export(rows=[rule]), tmp_path, "t", "openmpi-4", MPI4)
    (row,) = EXPORT.read(tmp_path / NAME).rows
    assert [p.bytes for p in row.measured] == [64]
