#!/usr/bin/env python3
"""Write a cube of N x N x N hexahedra as a Gmsh 2.2 text mesh: cube_mesh.py N FILE.

The faces carry the numbers that code_saturne's tutorial "simple junction" gives a meaning to, so
that its set-up serves for the cube: 1 inlet (x = 0), 5 outlet (x = 1), 8 symmetry (z), 2 wall (y).
"""

from __future__ import annotations

import sys
from pathlib import Path

QUADRANGLE, HEXAHEDRON = 3, 5  # Gmsh's element types
INLET, WALL, OUTLET, SYMMETRY, FLUID = 1, 2, 5, 8, 10


def cube(n: int) -> str:
    """Return the mesh of the unit cube with n cells along each edge."""

    def node(i: int, j: int, k: int) -> int:
        return 1 + i + (n + 1) * (j + (n + 1) * k)

    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str((n + 1) ** 3)]
    for k in range(n + 1):
        for j in range(n + 1):
            for i in range(n + 1):
                lines.append(f"{node(i, j, k)} {i / n:.10g} {j / n:.10g} {k / n:.10g}")
    elements: list[tuple[int, int, tuple[int, ...]]] = []
    for a in range(n):
        for b in range(n):
            c, d = a + 1, b + 1
            for side, x, y in ((0, INLET, WALL), (n, OUTLET, WALL)):
                corners = ((a, b), (c, b), (c, d), (a, d))
                elements.append((QUADRANGLE, x, tuple(node(side, p, q) for p, q in corners)))
                elements.append((QUADRANGLE, y, tuple(node(p, side, q) for p, q in corners)))
                elements.append((QUADRANGLE, SYMMETRY, tuple(node(p, q, side) for p, q in corners)))
    for k in range(n):
        for j in range(n):
            for i in range(n):
                square = ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1))
                corners8 = tuple(node(p, q, r) for r in (k, k + 1) for p, q in square)
                elements.append((HEXAHEDRON, FLUID, corners8))
    lines += ["$EndNodes", "$Elements", str(len(elements))]
    for index, (kind, number, nodes) in enumerate(elements, 1):
        lines.append(f"{index} {kind} 2 {number} {number} {' '.join(map(str, nodes))}")
    lines.append("$EndElements")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3 or not sys.argv[1].isdigit() or int(sys.argv[1]) < 1:
        sys.exit("usage: cube_mesh.py N FILE")
    Path(sys.argv[2]).write_text(cube(int(sys.argv[1])))
