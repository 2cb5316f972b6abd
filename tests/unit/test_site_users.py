"""A site's tables apply to another user, who can read but not change them."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.files.identity import MPIIdentity
from stretto.files.locate import find_table, table_path

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="one user cannot become another"),
]

MPI = MPIIdentity("openmpi", "openmpi", "4.1.4")


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that all users see."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def put(base: Path) -> Path:
    path = table_path(MPI, "A CPU", 1, 4, base)
    path.parent.mkdir(parents=True)
    path.write_text("stretto-table 1\n")
    return path


def found_by_another(shared: Path) -> str:
    """The table that another user gets, and whether that user can change it or its directory."""
    who = pwd.getpwnam("nobody")
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:  # no Python is started: root's may be in a directory that others cannot see
        text = "it failed"
        try:
            os.setgroups([])
            os.setgid(who.pw_gid)
            os.setuid(who.pw_uid)
            environ = {
                "STRETTO_SITE_TABLES": str(shared / "site"),
                "XDG_DATA_HOME": str(shared / "data"),
            }
            found = find_table(MPI, "A CPU", 1, 4, environ)
            places = [found, found.parent, found.parent.parent] if found else []
            text = f"{found} {any(os.access(p, os.W_OK) for p in places)}"
        finally:
            os.write(theirs, text.encode())
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return text


def test_table_of_the_site_applies_to_another_user_who_cannot_change_it(shared: Path) -> None:
    site = shared / "site"
    made = put(site)
    made.chmod(0o666)
    subprocess.run(["chmod", "-R", "go+rX,go-w", site], check=True)  # as docs/howto/site.md has it
    assert found_by_another(shared) == f"{made} False"
    own = put(shared / "data" / "stretto" / "tables")
    subprocess.run(["chmod", "-R", "go+rX", shared / "data"], check=True)
    assert found_by_another(shared).startswith(str(own)), "the user's own goes first"


def test_table_that_another_user_cannot_see_does_not_apply(shared: Path) -> None:
    put(shared / "site")
    (shared / "site").chmod(0o700)
    assert found_by_another(shared) == "None False"
