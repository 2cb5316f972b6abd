"""What scripts outside the package take from it is there."""

from __future__ import annotations

import ast
import importlib
from importlib.util import find_spec

from mpis import REPOSITORY


def test_scripts_import_what_the_package_has() -> None:
    taken = {
        (str(node.module), alias.name, path.name)
        for folder in ("bench", "examples", "tools")
        for path in (REPOSITORY / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "stretto"
        for alias in node.names
    }
    assert len(taken) > 50
    for module, name, script in sorted(taken):
        there = hasattr(importlib.import_module(module), name) or find_spec(f"{module}.{name}")
        assert there, f"{script}: {module} has no {name}"
