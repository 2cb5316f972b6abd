"""Copies src/node with every call that waits for a flag or sets one marked as a site.

The model checker can then spoil any one of them (main.c lists the ways), in one program for all
mutants. Usage: mutate.py SOURCE_DIR TARGET_DIR; writes TARGET_DIR/node/* and TARGET_DIR/sites.h.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# What waits, and whether an earlier value (by one) means anything: the numbers in a line differ by
# the length of the ring, so there it does not.
WAITS = {
    "stretto_await": True,
    "stretto_await_posted": True,
    "stretto_await_taken": True,
    "stretto_catch_up": True,
    "stretto_lines_begin": True,
    "stretto_chunk_begin": True,
    "stretto_ring_begin": True,
    "await_stage": True,
    "await_domain": True,
    "await_parts": True,
    "fetch_shares": False,
    "stretto_lines_get": False,
    "stretto_lines_read": False,
    "stretto_tree_look": False,
    "stretto_tree_fetch": False,
    "atomic_load_explicit": False,
}
SETS = {
    "stretto_set": True,
    "set_stage": True,
    "stretto_finish": True,
    "stretto_lines_put": False,
    "stretto_lines_write": False,
    "stretto_lines_end": False,
    "atomic_store_explicit": False,
}
# What is meant to order nothing: costs that ranks tell one another (stores.h). A flag that was
# written so by mistake is found in the sources as they are.
HINT = "memory_order_relaxed"
LINES = {"lines.h", "tree.h"}  # there, stretto_await waits for a line
CALL = re.compile(r"\b(" + "|".join(sorted(WAITS | SETS, key=len, reverse=True)) + r")\(")
DEFINITION = re.compile(r"^(?=\w).*?\b(\w+)\(")


def closing(text: str, opening: int) -> int:
    depth = 0
    for i in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError("an open parenthesis")


class Marker:
    def __init__(self) -> None:
        self.rows: list[str] = []

    def mark(self, name: str, text: str) -> str:
        """The text with its calls marked, from the last to the first, so that places stay valid."""
        found = []
        function, counts = "", dict[tuple[str, str], int]()
        starts = [0, *(m.end() for m in re.finditer("\n", text))]
        for start in starts:
            line = text[start : text.find("\n", start) + 1]
            if line.lstrip().startswith(("*", "/*", "#")):
                continue
            if definition := DEFINITION.match(line):
                function = definition[1]
                continue
            for call in CALL.finditer(line):
                opening = start + call.end() - 1
                if HINT in text[opening : closing(text, opening)]:
                    continue
                key = (function, call[1])
                counts[key] = counts.get(key, 0) + 1
                found.append((start + call.start(), start + call.end() - 1, *key, counts[key]))
        for begin, opening, function, callee, number in reversed(found):
            end = closing(text, opening)
            arguments = text[opening + 1 : end]
            site = len(self.rows)
            sets = callee in SETS
            early = (SETS | WAITS)[callee] and not (callee == "stretto_await" and name in LINES)
            pretend = callee == "stretto_finish"
            if pretend:
                handle, all_seen = arguments.split(",", 1)
                pretend = all_seen.strip() != "true"
                arguments = f"{handle}, MODEL_TRUE({site},{all_seen})"
            if callee == "stretto_lines_begin":
                pretend = True
                handle, size = arguments.split(",", 1)
                arguments = f"{handle}, MODEL_SIZE({site},{size})"
            text = f"{text[:begin]}MODEL_SITE({site}, {callee}({arguments})){text[end + 1 :]}"
            label = f"{name} {function} {callee}#{number}"
            flags = ", ".join(str(int(x)) for x in (not sets, early, pretend))
            self.rows.append(f'{{"{label}", {flags}}},')
        return text


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    (target / "node").mkdir(parents=True, exist_ok=True)
    marker = Marker()
    for path in sorted(source.glob("*.[ch]")):
        text = path.read_text()
        if not path.name.startswith(("kernels", "xpmem", "direct", "remote")):
            text = marker.mark(path.name, text)
        (target / "node" / path.name).write_text(text)
    (target / "sites.h").write_text("\n".join(marker.rows) + "\n")


if __name__ == "__main__":
    main()
