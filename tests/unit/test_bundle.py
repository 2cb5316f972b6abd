"""``stretto bundle``: what helps is in it, and nothing secret."""

from __future__ import annotations

import re
import socket
import tarfile
from pathlib import Path

import pytest

from stretto.check import bundle
from stretto.cli import main

SECRETS = {
    "SLURM_JWT": "eyJ0", "OMPI_MCA_auth_token": "t0ken", "AWS_SECRET_ACCESS_KEY": "aws0",
    "STRETTO_PASSWORD": "pass0", "GITHUB_TOKEN": "ghp0", "I_MPI_PRIVATE_KEY": "pem0",
    "SSH_AUTH_SOCK": "/tmp/ssh0", "MAIL": "me0",
}  # fmt: skip
TAKEN = {
    "OMPI_MCA_btl": "self,tcp", "STRETTO_VERBOSE": "1", "I_MPI_ADJUST_BCAST": "3",
    "UCX_NET_DEVICES": "http://me:pw0@h", "LD_LIBRARY_PATH": "/home/alice/lib",
}  # fmt: skip
TRACE = "stretto 0.1.0\nstretto run -- ./app --password hunter0 --n 4\n\nZeroDivisionError: x\n"


def _in(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        members = archive.getmembers()
        assert all(m.uid == 0 and m.uname == "" and not m.name.startswith("/") for m in members)
        return {
            m.name.removeprefix("stretto-bundle/"): archive.extractfile(m).read().decode()  # type: ignore[union-attr]
            for m in members
        }


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name, value in {**SECRETS, **TAKEN, "HOME": "/home/alice"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("getpass.getuser", lambda: "alice")
    (tmp_path / "state" / "stretto").mkdir(parents=True)
    (tmp_path / "state" / "stretto" / "traceback-1.txt").write_text(TRACE)
    return tmp_path


def test_bundle_holds_what_helps_and_nothing_secret(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:  # a set-up in which stretto check fails
        raise RuntimeError("no sysfs")

    monkeypatch.setattr(bundle, "installations", broken)
    table, out = home / "a.table", home / "b.tar.gz"
    table.write_text("stretto-table damaged")
    assert main(["bundle", str(table), "-o", str(out), "--dry-run"]) == 0 and not out.exists()
    listed = capsys.readouterr().out
    assert main(["bundle", str(table), "-o", str(out), "--yes"]) == 0
    # free memory and the like, and so the size of their file, have other digits by now
    size = re.compile(r"^ *\d+ bytes", re.MULTILINE)
    assert size.sub("", capsys.readouterr().out) == size.sub("", listed)
    found = _in(out)
    assert all(name in listed for name in found)
    whole = "\n".join(found.values())
    assert not [v for v in [*SECRETS.values(), "pw0", "hunter0", "alice"] if v in whole]
    assert len(socket.gethostname()) < 3 or socket.gethostname() not in found["facts.txt"]
    environment = found["environment.txt"]
    for line in ("OMPI_MCA_btl=self,tcp", "STRETTO_VERBOSE=1", "LD_LIBRARY_PATH=~/lib"):
        assert line in environment.splitlines()
    assert "ZeroDivisionError" in found["tracebacks/traceback-1.txt"]
    assert "not determined: RuntimeError: no sysfs" in found["check.txt"]
    assert found["files/a.table"] == "stretto-table damaged"
    assert found["versions.txt"].startswith("stretto ") and "numpy: " in found["versions.txt"]


def test_bundle_of_what_is_no_file_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = home / "b.tar.gz"
    for path, words in ((home, "a directory"), (home / "none", "not there")):
        assert main(["bundle", str(path), "-o", str(out)]) == 1
        assert words in capsys.readouterr().err and not out.exists()
    out.write_text("mine")
    assert main(["bundle", "-o", str(out)]) == 1 and out.read_text() == "mine"
