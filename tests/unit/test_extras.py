"""The core needs no package of an extra, and names the extra that a command lacks."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from processes import run_program

CODE = """
import importlib, pkgutil, sys
import stretto
from stretto.errors import EXTRAS
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
USE_THEM = ("stretto.report", "stretto.place", "stretto.notebook.charts", "stretto.__main__")
for module in pkgutil.walk_packages(stretto.__path__, "stretto."):
    if not module.name.startswith(USE_THEM):
        importlib.import_module(module.name)
from stretto.cli import main
sys.exit(main(["report", "x"]))
"""


def test_core_modules_load_without_the_extras_and_report_names_its_extra() -> None:
    done = run_program([sys.executable, "-c", CODE])
    assert done.returncode == 1 and "-m pip install 'stretto[report]'" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_citation_has_the_version_of_the_package() -> None:
    root = Path(__file__).resolve().parents[2]
    cited, built = (
        re.findall(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        for name, pattern in (
            ("CITATION.cff", r"^version: (.+)$"),
            ("pyproject.toml", r'^version = "(.+)"$'),
        )
    )
    assert cited == built and len(cited) == 1
