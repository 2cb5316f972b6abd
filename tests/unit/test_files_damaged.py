"""Files cut short and files of another kind: a message with place and remedy."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from inprocess import stretto
from report_samples import make
from stretto.campaign.begun import DOCUMENT
from stretto.errors import StrettoError
from stretto.files.bench import read_bench
from stretto.files.export import EXPORT
from stretto.files.forecast import read_forecast
from stretto.files.kind import KINDS, refuse_other, schema_of
from stretto.files.net import read_net
from stretto.files.profile import read_profile
from stretto.files.scale import read_scale
from stretto.files.settings import read_settings
from stretto.files.storage import read_io
from stretto.files.table import read_table
from stretto.files.verdict import read_verdict


@functools.cache
def files() -> dict[str, Path]:
    """A file of each kind, larger than some kilobytes where it can be."""
    made = Path(tempfile.mkdtemp(prefix="stretto-samples-"))
    atexit.register(shutil.rmtree, made, True)
    make.make(made)
    patterns = {"profile": "*.profile.json", "bench": "*.bench.jsonl", "table": "*.table"}
    return {kind: next(made.rglob(pattern)) for kind, pattern in patterns.items()}


READERS: dict[str, Callable[[Path], object]] = {
    "profile": read_profile,
    "bench": read_bench,
    "table": read_table,
}


def explained(error: StrettoError, path: Path) -> None:
    assert path.name in str(error.place), error
    assert error.remedy, error


@pytest.mark.parametrize("kind", READERS)
def test_files_cut_at_every_kilobyte(kind: str, tmp_path: Path) -> None:
    data = files()[kind].read_bytes()[: 48 << 10]
    path = tmp_path / files()[kind].name
    for cut in sorted({0, 1, *range(0, len(data), 1024), len(data) - 2}):
        path.write_bytes(data[:cut])
        try:
            READERS[kind](path)
        except StrettoError as error:
            explained(error, path)
        else:  # results are appended line by line: those before the cut are good
            assert kind == "bench" and data[:cut].count(b"\n") > 0


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("given", [*READERS, "program", "empty", "directory"])
def test_files_of_another_kind(kind: str, given: str, tmp_path: Path) -> None:
    if kind == given:
        return
    path = tmp_path / "given"
    if given == "directory":
        path.mkdir()
    elif given == "empty":
        path.touch()
    else:
        shutil.copy(Path("/bin/true") if given == "program" else files()[given], path)
    with pytest.raises(StrettoError) as caught:
        READERS[kind](path)
    explained(caught.value, path)


def one_of_each_kind(directory: Path) -> dict[str, Path]:
    """The beginning of a file of each kind, by schema: enough to know it."""
    out = {}
    for schema, kind in KINDS.items():
        out[schema] = path = directory / kind.pattern.replace("*", "x")
        text = f'{{"schema": "{schema}", "version": 1}}'
        path.write_text({"stretto-table": "stretto-table 1"}.get(schema, text) + "\n")
        if not path.name.endswith(".jsonl"):  # as documents are written
            path.write_text(path.read_text().replace("{", "{\n ").replace("}", "\n}"))
    return out


#: what reads files, by the schema that it needs
DOCUMENTS: dict[str, Callable[[Path], object]] = {
    **{f"stretto-{kind}": read for kind, read in READERS.items()},
    "stretto-verdict": read_verdict, "stretto-forecast": read_forecast,
    "stretto-settings": read_settings, "stretto-net": read_net, "stretto-io": read_io,
    "stretto-scale": read_scale, "stretto-campaign": DOCUMENT.read, "stretto-export": EXPORT.read,
}  # fmt: skip
#: commands that read a file: the schema, and the words with FILE
COMMANDS = (
    ("bench", "compare FILE"), ("bench", "export --to openmpi-4 --out t FILE"),
    ("bench", "table decide FILE"), ("bench", "bench -n 2 -o FILE"),
    ("table", "table show FILE"), ("table", "run --table FILE -- mpirun -n 2 true"),
    ("table", "simulate -p hpc7g --nodes 2 --ppn 2 --table FILE"),
    ("profile", "profile --show FILE"), ("profile", "diagnose --profile FILE"),
    ("profile", "place --nodes 2 --profile FILE"),
    ("profile", "simulate -p hpc7g --nodes 2 --ppn 2 --profile FILE"),
)  # fmt: skip


def test_file_of_another_kind_is_named_and_not_called_damaged(tmp_path: Path) -> None:
    given = one_of_each_kind(tmp_path)
    assert DOCUMENTS.keys() == KINDS.keys()
    for needed, read in DOCUMENTS.items():
        for schema, path in given.items():
            with pytest.raises(StrettoError) as caught:
                read(path)
            text = "\n".join(caught.value.lines())
            if needed != schema:
                assert f"{KINDS[schema].this}; {KINDS[needed].named} " in text, (needed, path, text)
                assert "damaged" not in text and "truncated" not in text, text
                shown = KINDS[schema].shown_by
                assert shown is None or shown.format(path) in text, text
            else:
                assert "needed here" not in text, text
    for needed, command in COMMANDS:
        for schema, path in given.items():
            compared = command == "compare FILE" and schema in (
                "stretto-net",
                "stretto-scale",
                "stretto-io",
            )
            if schema != f"stretto-{needed}" and not compared:
                done = stretto(*command.replace("FILE", path.name).split(), cwd=tmp_path)
                assert done.returncode == 1, (command, path, done.stderr)
                assert f"{KINDS[schema].this}; " in done.stderr, (command, path, done.stderr)
    for schema in ("stretto-campaign", "stretto-export"):
        done = stretto("report", given[schema].name, cwd=tmp_path)
        assert KINDS[schema].this in done.stderr, done.stderr
    # none of Stretto's, or of a kind that this Stretto does not have
    assert [schema_of(t) for t in ("", "{}", '{"a": "stretto-io"}', "stretto-x 1")] == [None] * 4
    refuse_other('{"schema": "stretto-io"}', "p", "stretto-io")
    other = tmp_path / "other.json"
    other.write_text('{\n "a": 1\n}\n')
    with pytest.raises(StrettoError, match="first line is not a header"):
        read_bench(other)


def test_no_room_for_json_on_stdout() -> None:
    """Standard output is a file on a full disk."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "stretto", "profile", "--json", "--show", files()["profile"]],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=300,
        )  # fmt: skip
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "full" in done.stderr or "No space left" in done.stderr
