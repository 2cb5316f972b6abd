"""Files that somebody else may have put there: never overwritten, and read with bounds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from stretto.campaign.alone import DIRECTORY, alone_on, in_turn, node_of
from stretto.campaign.request import read_values
from stretto.errors import StrettoError
from stretto.files import io
from stretto.files.append import LineFile
from stretto.files.bench import read_bench
from stretto.files.net import read_net
from stretto.files.profile import read_profile
from stretto.files.scale import read_scale
from stretto.files.settings import read_settings
from stretto.files.table import read_table
from stretto.files.toml import toml_values
from stretto.files.trust import distrust
from stretto.files.verdict import read_verdict
from stretto.imports.walk import text_of
from stretto.launch.layout import read_hostfile
from stretto.model.measurements import read_series
from stretto.model.platform_file import parse_platform, read_platform
from stretto.tune.place import LOCK, alone_in, make_output

READERS: dict[str, Callable[[Path], object]] = {
    "table": read_table, "profile": read_profile, "bench": read_bench, "verdict": read_verdict,
    "settings": read_settings, "net": read_net, "scale": read_scale, "platform": read_platform,
    "campaign": read_values, "import": text_of,
    "measurements": lambda path: read_series(path, None, None, None),
}  # fmt: skip


def sparse(path: Path) -> Path:
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # more than there is memory
    return path


@pytest.mark.parametrize("kind", READERS)
def test_readers_refuse_what_has_no_end_at_once(kind: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    sparse(tmp_path / "sparse")
    for name, words in (
        ("fifo", "pipe"), ("zero", "device"), ("sparse", "larger than"), (".", "directory")
    ):  # fmt: skip
        with pytest.raises(StrettoError) as caught:
            READERS[kind](tmp_path / name)
        assert words in caught.value.message, (name, caught.value.message)
        assert len(caught.value.lines()) <= 3


def test_readers_of_host_files_and_tables_have_bounds(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert read_hostfile(tmp_path / "fifo") == []
    with (tmp_path / "x.table").open("wb") as stream:
        stream.truncate((16 << 20) + 1)
    with pytest.raises(StrettoError, match="larger than 16 MiB"):  # as in C
        read_table(tmp_path / "x.table")


def line_file(path: Path) -> None:
    LineFile(path, "another", "a line").close()


def in_tune(path: Path) -> None:
    path.rename(path.with_name(LOCK))
    with alone_in(path.parent):
        pass


def on_node(path: Path) -> None:
    there = path.parent / DIRECTORY / f"{node_of('localhost')}.lock"
    there.parent.mkdir()
    path.rename(there)
    with alone_on(path.parent, ["localhost"]):
        pass


def at_tables(path: Path) -> None:
    there = path.parent / DIRECTORY / ".tables.lock"
    there.parent.mkdir()
    path.rename(there)
    with in_turn(path.parent):
        pass


WRITERS: dict[str, Callable[[Path], object]] = {
    "whole": lambda p: io.write_atomic(p, "new", "the page"),
    "together": lambda p: io.write_together({p.with_name("a"): "new", p: "new"}, "the files"),
    "together, first": lambda p: io.write_together({p: "new", p.with_name("z"): "x"}, "the files"),
    "lines": line_file,
    "lock of tune": in_tune,
    "lock of a node": on_node,
}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("target", ["precious", "none"])
def test_writers_refuse_symbolic_links(kind: str, target: str, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    work = tmp_path / "work"
    work.mkdir()
    (work / "link").symlink_to(tmp_path / target)
    with pytest.raises(StrettoError, match="symbolic link") as caught:
        WRITERS[kind](work / "link")
    assert caught.value.remedy and len(caught.value.lines()) <= 3
    assert precious.read_text() == "precious" and not (tmp_path / "none").exists()
    assert not [p for p in work.iterdir() if p.name.startswith(".link.")]


def test_locks_refuse_hard_links_and_links_at_tables(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    for kind in (in_tune, on_node):
        work = tmp_path / kind.__name__
        work.mkdir()
        precious.write_text("precious")
        (work / "link").hardlink_to(precious)
        with pytest.raises(StrettoError, match="second name"):
            kind(work / "link")
        assert precious.read_text() == "precious"
    work = tmp_path / "tables"
    work.mkdir()
    (work / "link").symlink_to(precious)
    at_tables(work / "link")  # goes on without the lock
    assert precious.read_text() == "precious"


def test_new_files_are_written_by_their_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0o002)
    try:
        make_output(tmp_path / "stretto-app")
        io.write_atomic(tmp_path / "stretto-app" / "x.table", "x", "the table")
    finally:
        os.umask(old)
    assert distrust(tmp_path / "stretto-app" / "x.table") is None
    assert not (tmp_path / "stretto-app").stat().st_mode & 0o022


def test_distrust_names_what_others_may_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "stretto-app"
    folder.mkdir(mode=0o755)
    path = folder / "x.table"
    path.write_text("x")
    cases: list[tuple[Path, int, str | None]] = [
        (folder, 0o755, None), (folder, 0o757, "others may write"), (folder, 0o1777, None),
        (path, 0o644, None), (path, 0o646, "others may write"), (path, 0o600, None),
    ]  # fmt: skip
    for place, mode, words in cases:
        folder.chmod(0o755)
        path.chmod(0o644)
        place.chmod(mode)
        found = distrust(path)
        assert (found is None) == (words is None) and (words or "") in (found or ""), (place, mode)
    folder.chmod(0o755)
    path.chmod(0o664)
    monkeypatch.setattr("stretto.files.trust._alone", lambda gid: False)
    assert "chmod go-w" in str(distrust(path))
    monkeypatch.setattr("stretto.files.trust._alone", lambda gid: True)
    assert distrust(path) is None
    (tmp_path / "link").symlink_to(folder)
    assert distrust(tmp_path / "link" / "x.table") is None
    assert "cannot be checked" in str(distrust(tmp_path / "none" / "x.table"))
    if os.geteuid() == 0:
        os.chown(path, 4321, -1)
        assert distrust(path) == f"{path} belongs to user 4321"
        os.lchown(tmp_path / "link", 4321, -1)
        os.chown(path, 0, -1)
        assert "link belongs to user 4321" in str(distrust(tmp_path / "link" / "x.table"))
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4321)
        assert "belongs to" in str(distrust(path))


DEEP = 100_000


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * DEEP + "]" * DEEP, "a = " + "{b=" * DEEP, "a = " + "9" * 5000,
     "a = " + "9" * 1000, f"a = [1, {{b = -{'9' * 400}}}]", "a = 1e", "\0"],
)  # fmt: skip
def test_toml_that_cannot_be_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        toml_values(text)
    with pytest.raises(StrettoError) as caught:
        parse_platform(text, "x.toml")
    assert "x.toml" in str(caught.value.place) and len(caught.value.lines()) <= 3
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(StrettoError, match="not TOML"):
        read_values(tmp_path / "c.toml")
