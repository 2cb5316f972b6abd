"""The script, the module file and the directory of an export; what a user has set besides."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from exports import FOUR, preset, result_file, tuned
from mpis import have
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.export import check, everywhere, examine, intel, openmpi
from stretto.export.output import MODULE, SCRIPT, Export, write
from stretto.export.rules import Rule
from stretto.export.targets import Wishes, writer_for
from stretto.export.users import conflicts
from stretto.export.verdicts import RowCheck
from stretto.files.export import EXPORT, NAME, ExportPoint
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout
from stretto.mpi.mpich import MPICH
from stretto.mpi.openmpi import OpenMPI

MPI4 = MPIIdentity("openmpi", "openmpi", "4.1.4", "Open MPI v4.1.4")
MPI5 = MPIIdentity("openmpi", "openmpi", "5.0.11", "Open MPI v5.0.11")
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
    assert f"{forced}=4 is set: it may override these files" in done.stderr
    assert done.stderr.count(f"{FILENAME}=/site/rules.conf is set: it is replaced") == 1
    capsys.readouterr()
    monkeypatch.setenv(forced, "4")
    monkeypatch.setenv(FILENAME, "/site/rules.conf")
    monkeypatch.setattr("stretto.cli.export._installed", lambda *_: None)
    assert main(["export", "--check", "--out", str(out)]) == 0
    said = capsys.readouterr().err
    assert f"warning: {forced}=4 is set here: it may override" in said
    assert f"warning: {FILENAME}=/site/rules.conf is set here: the script replaces it" in said


def test_which_variables_do_not_go_with_an_export() -> None:
    mpich = {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring", "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "x"}
    (said,) = conflicts("mpich", ["allreduce", "allreduce"], {}, mpich)
    assert said.startswith("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=ring is set here: it may override")
    ours = {"I_MPI_ADJUST_REDUCE": "2:0-9"}
    assert not conflicts("intel", ["reduce"], ours, ours)
    (said,) = conflicts("intel", ["reduce"], ours, {"I_MPI_ADJUST_REDUCE": "1"})
    assert said.endswith("the script replaces it")


def test_what_comes_before_the_rows_of_open_mpi_is_named(tmp_path: Path) -> None:
    """HAN's own settings, where HAN has rows, and components above coll/tuned."""
    across = RankLayout(2, 2, 4)
    han = (("coll_han_use_allreduce_algorithm", "2"), ("coll_han_priority", "100"))
    rows = {
        True: Rule("allreduce", across, 0, None, han),
        False: Rule("allreduce", FOUR, 0, None, tuned("allreduce", 3)),
    }
    of_han = {"OMPI_MCA_coll_han_use_allreduce_algorithm": "1",
              "OMPI_MCA_coll_han_reproducible": "1"}  # fmt: skip
    above = {"OMPI_MCA_coll_ucc_priority": "100", "OMPI_MCA_coll_hcoll_priority": "31"}
    below = {"OMPI_MCA_coll_xhc_priority": "30", "OMPI_MCA_coll_sm_priority": "",
             "OMPI_MCA_coll_adapt_priority": "x"}  # fmt: skip
    for with_han, rule in rows.items():
        out = tmp_path / str(with_han)
        write(openmpi.classic([rule], "5"), out, "t", "openmpi-5", MPI5)
        names = {*above, *(of_han if with_han else ())}
        environ = {**of_han, **above, **below}
        said = sourced(out, "true", **environ).stderr.splitlines()
        assert {x.split()[1].partition("=")[0] for x in said} == names
        assert all(x.endswith("is set: it may override these files") for x in said)
        variables = EXPORT.read(out / NAME).environment
        found = conflicts("openmpi-5", ["allreduce"], variables, environ)
        assert {x.partition("=")[0] for x in found} == names


MOUNTS = """overlay / overlay rw 0 0
srv:/home /home nfs4 rw 0 0
none /home/node\\040local tmpfs rw 0 0
/dev/sdb /scratch xfs rw 0 0
ost:/l /scratch lustre rw 0 0
"""


@pytest.mark.parametrize(
    ("directory", "kind"),
    [
        ("/tmp/tuning", "overlay"), ("/home/me", None), ("/home/node local/x", "tmpfs"),
        ("/home/node localx", None), ("/scratch/a", None), ("/", "overlay"),
    ],
)  # fmt: skip
def test_which_directories_one_node_alone_sees(directory: str, kind: str | None) -> None:
    assert everywhere.own_file_system(Path(directory), MOUNTS) == kind


def test_who_must_see_the_files_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open MPI says nothing where it finds none, and its ranks decide otherwise."""
    across, mounts = RankLayout(2, 2, 4), tmp_path / "mounts"
    rule = Rule("allreduce", across, 0, None, tuned("allreduce", 3))
    monkeypatch.setattr(everywhere.to_be_seen, "__defaults__", (mounts,))

    def said(kind: str, rules: list[Rule], target: str = "openmpi-4") -> list[str]:
        mounts.write_text(f"x / {kind} rw 0 0\n")
        export = openmpi.classic(rules, "4") if target != "intel" else intel.adjust(rules)
        write(export, tmp_path / "out", "t", target, MPI4)
        assert EXPORT.read(tmp_path / "out" / NAME).lost == export.lost
        return [x for x in export.lost if "every node of a job must see" in x]

    (words,) = said("nfs4", [rule])
    assert words.startswith(f"every node of a job must see {tmp_path / 'out'} under this path: ")
    (words,) = said("tmpfs", [rule])
    assert words.startswith(f"{tmp_path / 'out'} lies on this machine's own tmpfs, and every node")
    assert not said("tmpfs", [Rule("allreduce", FOUR, 0, None, tuned("allreduce", 3))])
    assert "# every node of the job must see" in (tmp_path / "out" / SCRIPT).read_text()
    assert not said("tmpfs", [replace(rule, settings=preset("allreduce", 3))], "intel")
    assert "every node" not in (tmp_path / "out" / SCRIPT).read_text(), "nothing is read"


@dataclass(frozen=True)
class TwoNodes(OpenMPI):
    """Nodes a and b; what lies in `only_a` is on a alone."""

    only_a: str = "/nowhere"

    def launch(  # type: ignore[override]
        self, nranks: int, program: list[str], hosts: tuple[str, ...] = (), **_: object
    ) -> tuple[list[str], dict[str, str]]:
        assert nranks == len(hosts)
        words = []
        for host in hosts:
            files = [f if host == "a" else f.replace(self.only_a, "/none") for f in program[3:]]
            line = program[2].replace("$(uname -n)", host)
            words.append(shlex.join([*program[:2], line, *files]))
        return ["/bin/sh", "-c", "; ".join(words)], dict(os.environ)


def test_files_that_not_all_hosts_see_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = exported(tmp_path, tmp_path / "out")
    ran: list[object] = []
    monkeypatch.setattr(check, "run", lambda *a: ran.append(a) or {})
    for only_a in ("/nowhere", str(out)):
        mpi = TwoNodes("openmpi", "openmpi", "4.1.4", "Open MPI", Path("/m"), None, None,
                       only_a=only_a)  # fmt: skip
        monkeypatch.setattr(examine, "examine", lambda *_: [])
        for hosts in (("a",), ("a", "b")):
            ran.clear()
            found = check.check(out, check.CheckPlan(mpi, hosts), quiet=True)
            wrong = [v for v in found if v.status == "wrong"]
            apart = only_a == str(out) and len(hosts) == 2
            assert bool(wrong) == apart and bool(ran) != apart
            assert all(v.why.startswith("b does not see them") for v in wrong)
            assert all("--out DIR of a shared file system" in (v.remedy or "") for v in wrong)


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
    with pytest.raises(StrettoError, match="they cannot hold this name"):
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
        RowCheck(0, "a", "wrong", "read"), RowCheck(0, "a", "wrong", "run"),
        RowCheck(1, "b", "proven", "run"), RowCheck(1, "b", "wrong", "read"),
        RowCheck(2, "c", "proven", "run"), RowCheck(None, "calls without a row", "proven", "run"),
        RowCheck(None, "the file", "wrong", "read"),
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
        ran = {i: RowCheck(i, "w", status, "run") for i in rows}  # type: ignore[arg-type]
        monkeypatch.setattr(check, "run", lambda *_, ran=ran: ran)
        found = check.check(out, check.CheckPlan(object()), quiet=True)  # type: ignore[arg-type]
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
