"""Launchers and libraries that are asked what they are: what is kept of it, and an srun alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from processes import script
from stretto import mpi
from stretto.errors import StrettoError
from stretto.mpi import detect, variables
from stretto.mpi import library as asking
from stretto.mpi.mpich import MPICH

UNCONFIGURED = """srun: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host
srun: error: fetch_config: DNS SRV lookup failed
srun: fatal: Could not establish a configuration source
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def srun(folder: Path) -> Path:
    """Slurm's as it is before its module is loaded, and with it."""
    said = folder / "said"
    said.write_text(UNCONFIGURED)
    return script(
        folder / "srun",
        f'[ -n "$SLURM_CONF" ] && echo slurm 22.05.8 && exit 0\ncat {said} >&2\nexit 1',
    )


def test_an_srun_without_configuration_is_slurms_by_its_name(tmp_path: Path, cache: Path) -> None:
    path = srun(tmp_path)
    assert mpi.identify_launcher(path, {}) == detect.Launcher(path, "slurm", None)
    assert not list(cache.rglob("*.txt")), "what it said on failing was kept"
    found = mpi.identify_launcher(path, {"SLURM_CONF": "/etc/slurm.conf"})
    assert found == detect.Launcher(path, "slurm", "22.05.8")
    assert mpi.identify_launcher(path, {}) == found, "this answer is kept"


@pytest.mark.parametrize("ask", [detect.need_slurm, detect.from_launcher])
def test_an_srun_without_configuration_is_refused_with_what_to_set(
    tmp_path: Path, ask: object
) -> None:
    assert callable(ask)
    with pytest.raises(StrettoError, match=r"no configured Slurm.*fatal: Could not") as caught:
        ask(srun(tmp_path), {})
    remedy = str(caught.value.remedy)
    assert "SLURM_CONF" in remedy and "Slurm module" in remedy and "--mpi" in remedy
    detect.need_slurm(tmp_path / "srun", {"SLURM_CONF": "/etc/slurm.conf"})


def test_an_srun_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_TIMEOUT_S", 0.2)
    path = script(tmp_path / "srun", "exec sleep 20")
    assert mpi.identify_launcher(path, {}).kind == "slurm"
    with pytest.raises(StrettoError, match="does not answer"):
        mpi.identify_launcher(script(tmp_path / "mpirun", "exec sleep 20"), {})


@pytest.mark.parametrize(
    "failing",
    ["echo no module is loaded", "exit 0", "echo 'mpirun (Open MPI) 4.1.4'; kill -9 $$"],
    ids=["of no kind", "silent", "killed"],
)
def test_what_a_launcher_says_on_failing_is_not_kept(
    tmp_path: Path, cache: Path, failing: str
) -> None:
    works = "[ -n \"$LOADED\" ] && echo 'mpirun (Open MPI) 5.0.11' && exit 0"
    path = script(tmp_path / "mpirun", f"{works}\n{failing}")
    try:
        mpi.identify_launcher(path, {})
    except StrettoError as error:
        assert "module" in str(error.remedy) and "--mpi" not in str(error.remedy)
    assert not list(cache.rglob("*.txt"))
    assert mpi.identify_launcher(path, {"LOADED": "1"}).version == "5.0.11"


def test_a_list_of_settings_that_is_cut_off_is_not_kept(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libmpi = tmp_path / "libmpi.so.12"
    libmpi.touch()
    installation = MPICH("mpich", "mpich", "5.0.2", "x", tmp_path, libmpi, None)
    row = ["MPIR_CVAR_A", "words", [], "1", 0, False, [-8, 7]]
    whole = json.dumps([row])
    answers = [whole[:-9], "[]", "", whole]

    def say(installation: object, libmpi: Path, settings: Mapping[str, str]) -> str:
        return answers[0]

    monkeypatch.setattr(variables, "_ask", say)
    for _ in range(3):
        try:
            assert variables.control_variables(installation) == {}
        except StrettoError as error:
            assert "cannot be read" in error.message
        assert not list(cache.rglob("*.txt"))
        answers.pop(0)
    assert variables.control_variables(installation)["MPIR_CVAR_A"].limits == (-8, 7)
    answers[0] = ""
    assert "MPIR_CVAR_A" in variables.control_variables(installation), "this one is kept"


def test_numbers_that_are_not_all_told_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libmpi = tmp_path / "libmpi.so.12"
    libmpi.touch()
    installation = MPICH("mpich", "mpich", "5.0.2", "x", tmp_path, libmpi, None)
    values: list[str | None] = ["1"]

    def say(installation: object, libmpi: Path, settings: Mapping[str, str]) -> str:
        return json.dumps([["MPIR_CVAR_A", "", [], values[0], 0, False, [-8, 7]]])

    monkeypatch.setattr(variables, "_ask", say)
    words = {"MPIR_CVAR_A": ["ring"]}
    assert variables.control_variables(installation)["MPIR_CVAR_A"].value == "1"
    values[0] = None
    assert variables.numbers(installation, words) == {}
    values[0] = "4"
    assert variables.numbers(installation, words) == {("MPIR_CVAR_A", "ring"): "4"}
