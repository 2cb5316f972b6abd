"""The sample maker of tests/data/report, for the report's tests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def _load() -> ModuleType:
    path = Path(__file__).parents[1] / "data" / "report" / "make.py"
    spec = importlib.util.spec_from_file_location("report_make", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["report_make"] = module
    spec.loader.exec_module(module)
    return module


make = _load()
