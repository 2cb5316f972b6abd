"""What the measurements that an export is made of promise: calls, and the gain of its rows there.

The promise is a little too good on the whole: each row's algorithm is the best of many, and the
best of many has had luck as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stretto.files.export import ExportPoint
from stretto.measure.compare import NATIVE, Comparison
from stretto.tune.decide import Segment, one_shape_each


def points_of(
    segment: Segment, sizes: Mapping[int, Sequence[Comparison]]
) -> tuple[ExportPoint, ...]:
    """Return the calls at which a segment was measured, each size in its worst shape.

    Where the MPI is to decide, any shape is one in which it was measured; nothing is promised.
    """
    out = []
    for size in segment.measured:
        shapes = one_shape_each(sizes[size])
        chosen = next((c for c in shapes if c.candidate == segment.choice), None)
        call = chosen or (shapes[0] if segment.choice == NATIVE and shapes else None)
        if call is not None:
            ratio = chosen.ratio.median if chosen else None
            cell = call.cell
            out.append(ExportPoint(size, cell.datatype, cell.operation, cell.root, ratio))
    return tuple(out)
