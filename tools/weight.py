#!/usr/bin/env python3
"""Print the weight of the code: lines, modules, local imports, long functions, repeated names.

    python tools/weight.py            # the table
    python tools/weight.py --list     # and what stands behind each figure
    python tools/weight.py --check    # only what is above its aim; then the exit code is 1

Figures over time: docs/decisions/0027-weight.md.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "stretto"
LONGEST = 80
#: may be loaded where they are needed: they take long, or need not be installed
HEAVY = {"altair", "jinja2", "mpi4py", "numpy", "pandas", "rich", "scipy", "vl_convert", "xarray"}


def lines(files: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def local_imports(tree: ast.AST) -> Iterator[int]:
    """Lines of imports inside functions, those of `HEAVY` libraries left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Import | ast.ImportFrom):
                    name = inner.names[0].name if isinstance(inner, ast.Import) else inner.module
                    if (name or "").split(".")[0] not in HEAVY:
                        yield inner.lineno


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the weight of the code.")
    parser.add_argument("--list", action="store_true", help="List what stands behind each figure.")
    parser.add_argument("--check", action="store_true", help="Fail when an aim is missed.")
    chosen = parser.parse_args()
    modules = sorted(PACKAGE.rglob("*.py"))
    tests = sorted((ROOT / "tests").rglob("*.py"))
    classes: Counter[str] = Counter()
    long, local = [], []
    for path in modules:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        where = path.relative_to(ROOT)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONGEST:
                    long.append(f"{where}:{node.lineno} {node.name}: {length} lines")
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name] += 1
        # what only one command needs is loaded when it runs
        if path.relative_to(PACKAGE).parts[0] != "cli":
            local += [f"{where}:{number}" for number in sorted(set(local_imports(tree)))]
    twice = sorted(name for name, count in classes.items() if count > 1)
    sources = [p for ext in ("*.c", "*.h", "*.def") for p in sorted((ROOT / "src").rglob(ext))]
    kept: list[tuple[str, int, list[str]]] = [  # none of these may come back
        ("imports inside functions", len(local), local),
        (f"functions above {LONGEST} lines", len(long), long),
        ("class names defined twice", len(twice), twice),
    ]
    if chosen.check:
        for what, count, listed in kept:
            if count:
                print(f"{what}: {count}, and none is allowed", *listed, sep="\n    ")
        raise SystemExit(any(count for _, count, _ in kept))
    rows: list[tuple[str, int, list[str]]] = [
        ("Python lines", lines(modules), []),
        ("Python modules", len(modules), []),
        ("Python test lines", lines(tests), []),
        ("C lines in src", lines(sources), []),
        *kept,
        ("lines of CHANGELOG.md", lines([ROOT / "CHANGELOG.md"]), []),
        ("lines of README.md", lines([ROOT / "README.md"]), []),
        ("decisions", len(list((ROOT / "docs" / "decisions").glob("*.md"))), []),
    ]
    for what, count, listed in rows:
        print(f"{what:28}{count:8,}")
        for line in listed if chosen.list else []:
            print(f"    {line}")


if __name__ == "__main__":
    main()
