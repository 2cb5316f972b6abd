"""What a campaign says when it fails, or is not complete: what is so, where, and what to type."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import sweeps
from stretto import cli
from stretto.campaign import begun, command, greeting, submit
from stretto.campaign.claims import Claims
from stretto.campaign.layout import Layout
from stretto.campaign.outlook import few_words
from stretto.errors import StrettoError, from_oserror
from stretto.files.io import write_atomic
from test_campaign_failures import Stand, mpi, outcome
from test_campaign_plan import here
from test_measure_runner import FakeMPI

__all__ = ["here", "mpi"]  # fixtures


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("nodes", [1, 2])
def test_a_full_file_system_is_named(
    mpi: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, nodes: int
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    place, hosts = tmp_path / "c", ("a", "b")[:nodes]
    monkeypatch.setenv("RANK", "well")
    greeting.greet(mpi, Layout(nodes, 2), hosts, None, False, place, 600)
    monkeypatch.setenv("RANK", "die")
    with pytest.raises(StrettoError) as error:
        greeting.greet(mpi, Layout(nodes, 2), hosts, None, False, place, 600)
    assert error.value.message == f"cannot start a first job: {os.strerror(number)}"
    assert error.value.place == str(place)
    assert any(x in str(error.value.remedy) for x in ("free some space", "quota"))
    assert list(place.iterdir()) == []


def carry_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Path], None]
) -> StrettoError:
    """Return what the command line says of something that ends a campaign."""

    def run_campaign(request, *of, **more):  # type: ignore[no-untyped-def]
        write_atomic(request.out / "campaign.json", "{}", "the campaign")
        happens(request.out)

    monkeypatch.setattr(command, "run_campaign", run_campaign)
    options = {"nodes": "2", "out": str(tmp_path / "c"), "refine": str(tmp_path / "c" / "x" / "y")}
    with pytest.raises((StrettoError, OSError)) as error:
        command.carry_out(command.request_of(None, options), [], lambda text: None, True)
    assert isinstance(error.value, StrettoError)
    return error.value


def claim(out: Path, gone: Path) -> None:
    claims = Claims(out / "mpi" / "1x2" / "claims")
    shutil.rmtree(gone)
    claims.take(0, 0)


def listing(out: Path, gone: Path) -> None:
    claims = Claims(out / "mpi" / "1x2" / "claims")
    shutil.rmtree(gone)
    claims.listing()


@pytest.mark.parametrize("ends", [claim, listing])
@pytest.mark.parametrize("below", ["", "mpi", "mpi/1x2"])
def test_a_directory_that_was_removed_is_no_typing_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    ends: Callable[[Path, Path], None], below: str,
) -> None:  # fmt: skip
    error = carry_out(tmp_path, monkeypatch, lambda out: ends(out, out / below))
    assert error.message == "this was removed while the campaign ran"
    assert error.place == str(tmp_path / "c" / below)
    assert "the same command" in str(error.remedy)


@pytest.mark.parametrize("name", ["other/x", "c/campaign.json", "c/x/y", "c"])
def test_what_was_never_there_is_not_called_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def happens(out: Path) -> None:
        error = FileNotFoundError(errno.ENOENT, "none", str(tmp_path / name))
        raise from_oserror(error, "cannot read") from error

    assert carry_out(tmp_path, monkeypatch, happens).message == "cannot read: none"


def test_commands_can_be_typed(
    here: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    file = tmp_path / "my c.toml"
    file.write_text('nodes = [2]\nppn = [1]\ncandidates = ["ring"]\ncollectives = ["allreduce"]\n')
    monkeypatch.setattr(submit, "submit", lambda *of: ("7", tmp_path))
    assert cli.main(["campaign", "submit", str(file)]) == 0
    quoted = f"stretto campaign status '{tmp_path}/my c.campaign'"
    assert capsys.readouterr().out.endswith(f"next: {quoted}\n")
    found = outcome(complete=False, left_out=["2 x 1: b is dead"], results=[Path("d d/r")])
    monkeypatch.setattr(command, "run_campaign", lambda *of, **more: [found])
    assert cli.main(["campaign", "run", str(file)]) == 130
    out, err = capsys.readouterr()
    assert f"`{quoted}`" in err and "interrupted" not in err
    assert "results for stretto export: 'd d'/*.bench.jsonl" in out


def test_fewer_launches_than_there_are(tmp_path: Path) -> None:
    request = sweeps.request_of(tmp_path / "c", layouts=(Layout(1, 2),), launches=3)
    backend = sweeps.Fake()
    worker = sweeps.worker_of(request, backend)
    plans = [s.plan for s in worker.all()]
    assert "native stays everywhere" in few_words(worker.base, plans)
    assert worker.run()
    assert "native stays everywhere" in few_words(worker.base, plans)
    more = sweeps.request_of(tmp_path / "c", layouts=(Layout(1, 2),), launches=6)
    assert sweeps.worker_of(more, backend, base=worker.base).run()
    words = few_words(worker.base, plans)
    assert words.startswith("3 launches of each candidate: no test can be made with fewer than 6")
    assert "everywhere" not in words and "are judged as before" in words
    assert begun.CAMPAIGN == "campaign.json"
