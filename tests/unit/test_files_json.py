"""Profiles, verdicts and bench results: written, read back, damaged."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import StrettoError
from stretto.files import (
    bench,
    export,
    forecast,
    io,
    net,
    profile,
    scale,
    settings,
    storage,
    verdict,
)
from stretto.files.identity import Host, MPIIdentity
from stretto.files.schema import decode, encode

KINDS = (
    bench.Launch, bench.Sample, bench.Excluded, bench.LaunchEnd,
    export.ExportManifest, forecast.ForecastFile, net.NetFile, profile.Profile,
    scale.ScaleHeader, scale.ScaleRun,
    settings.SettingsFile, storage.IoFile, verdict.VerdictFile,
)  # fmt: skip
TEXT = st.text(max_size=12)
COUNT = st.integers(0, 2**62)
st.register_type_strategy(str, TEXT)
st.register_type_strategy(int, COUNT)
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(Host, st.builds(Host, TEXT, TEXT, COUNT, TEXT, COUNT))
st.register_type_strategy(
    MPIIdentity,
    st.builds(MPIIdentity, st.sampled_from(["openmpi", "intel"]), st.just("mpi5"), TEXT, TEXT),
)
ANY = st.one_of(*(st.tuples(st.just(kind), st.from_type(kind)) for kind in KINDS))


@given(ANY)
def test_values_of_all_files_survive_a_round_trip(value: tuple[type, object]) -> None:
    kind, written = value
    text = json.dumps(encode(written))
    assert decode(kind, json.loads(text), "f") == written


def example() -> profile.Profile:
    return profile.Profile(
        stretto="0.1.0",
        created="2026-11-21T20:00:00Z",
        host=Host("h", "c", 2, "k", 1),
        mpi=MPIIdentity("openmpi", "openmpi", "4.1.4", ""),
        command=["a"],
        nranks=1,
        nodes=[profile.Node("h", [0])],
        complete=True,
        incomplete_ranks=[],
        wall_s=[1.0],
        mpi_s=[0.5],
        io_s=[0.0],
        clock_error_s=[0.0],
        communicators=[],
        calls=[],
    )


VERDICT = verdict.VerdictFile(
    "0.1.0", "2026-11-21T20:00:00Z", Host("h", "c", 2, "k", 1),
    MPIIdentity("openmpi", "openmpi", "4.1.4", ""), ["a"], verdict.Metric(),
    [verdict.Run("tuned", n, None, 1.5, 0) for n in range(2)],
    None, verdict.GainInterval(0.1, 0.2, 0.3, 0.25), True, ["faster"],
)  # fmt: skip
DOCUMENTS = {"profile": (profile.DOCUMENT, example()), "verdict": (verdict.DOCUMENT, VERDICT)}


@pytest.mark.parametrize("name", DOCUMENTS)
@given(data=st.data())
def test_documents_that_are_damaged_are_refused_with_their_place(
    name: str, data: st.DataObject
) -> None:
    """A cut file is refused; a changed byte is refused or gives a value, never another fault."""
    document, value = DOCUMENTS[name]
    text = document.format(value)  # type: ignore[arg-type]
    assert document.parse(text, "p") == value
    with pytest.raises(StrettoError):
        document.parse(text[: data.draw(st.integers(0, len(text) - 2))], "p")
    raw = bytearray(text.encode())
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        document.parse(raw.decode("utf-8", "replace"), "p")
    except StrettoError as error:
        assert error.place is not None and error.place.startswith("p")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "stretto-bench"}, "these are bench results; a profile"),
        ({"schema": None}, "does not state its kind"),
        ({"version": 2}, "version 2"),
        ({"version": True}, "version True"),
        ({"nranks": 2}, "2 ranks"),
        ({"nranks": 0}, "nranks is 0"),
        ({"wall_s": [-1.0]}, "negative"),
        ({"wall_s": ["1"]}, "wall_s[0] must be a number"),
        ({"wall_s": 1.0}, "wall_s must be a list"),
        ({"complete": 1}, "complete must be true or false"),
        ({"nodes": []}, "every rank exactly once"),
        ({"colour": 1}, "colour is not a key"),
        ({"host": {"name": "h"}}, "host.cpu is missing"),
        ({"mpi": {"family": "lam", "abi": "mpich", "version": "7"}}, "mpi.family must be one of"),
        ({"nranks": 10**30}, "nranks must be a whole number"),
    ],
)
def test_profile_wrong(change: dict[str, object], words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.profile.json"
    path.write_text(json.dumps(json.loads(profile.format_profile(example())) | change))
    with pytest.raises(StrettoError) as caught:
        profile.read_profile(path)
    assert words in caught.value.message
    assert str(path) in str(caught.value.place)
    assert caught.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": 1, "a": 2}',
        "[" * 100000,
        '"text"',
        '{"a": ' + "9" * 5000,
    ],
)
def test_impossible_json(text: str) -> None:
    with pytest.raises(StrettoError):
        io.parse_json(text, "f", "a profile")


def test_missing_binary_and_directory(tmp_path: Path) -> None:
    with pytest.raises(StrettoError, match="no such file") as caught:
        profile.read_profile(tmp_path / "none")
    assert "stretto profile" in str(caught.value.remedy)
    (tmp_path / "binary").write_bytes(b"\x7fELF\xff\xfe")
    with pytest.raises(StrettoError, match="not text"):
        profile.read_profile(tmp_path / "binary")
    with pytest.raises(StrettoError, match="cannot read"):
        profile.read_profile(tmp_path)


def test_disk_full_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.profile.json"
    profile.write_profile(example(), path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StrettoError, match="No space left") as caught:
        profile.write_profile(example(), path)
    assert "free some space" in str(caught.value.remedy)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        io.write_atomic(tmp_path / "f", "x", "the file")
    finally:
        os.umask(old)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    """``-o /dev/null`` as root made a file of it, for everybody on the machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    io.write_atomic(pipe, "through\n", "the page")
    assert os.read(reader, 100) == b"through\n"
    os.close(reader)
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_our_own_output_is_written_to(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from stretto.files.io import write_atomic;"
        "write_atomic(Path('/dev/stdout'), 'page\\n', 'the page'); print('and more')"
    )
    out = tmp_path / "out"
    out.write_text("before\n")
    with out.open("a") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert Path("/dev/stdout").is_symlink()
    assert out.read_text() == "before\npage\nand more\n"
