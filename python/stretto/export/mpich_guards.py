"""What algorithms of MPICH's can do: its files do not check it, so that rows are kept to that.

A job ends, or gets wrong data, where a file names an algorithm for a call that it is not for. The
library's own trees are files, too: what stands on every way to an algorithm there is what that
algorithm needs (`reduce_scatter`'s `noncommutative`: blocks of one size), and stands before it in
an export as well. Algorithms that those trees do not use are in a table here.
"""

from __future__ import annotations

from collections.abc import Iterator

from stretto.export.mpich_tree import Tree, is_leaf
from stretto.files.layout import RankLayout

#: what an algorithm may need of a call, where it was measured -> all other calls
_OTHERWISE = {
    "is_op_built_in=yes": "is_op_built_in=no",
    "is_block_regular=yes": "is_block_regular=no",
    "is_node_consecutive=yes": "is_node_consecutive=no",
    "is_multi_threaded=no": "is_multi_threaded=yes",
    "comm_hierarchy=parent": "comm_hierarchy=any",
    "count=any": "count<pow2",  # no fewer elements than the largest power of two in the ranks
}
#: no bracket for the calls of a collective that were measured can hold these
_NEVER = {"is_sendbuf_inplace=yes": "works in place only"}
#: a bracket within one node has it
_ON_ONE_NODE = "comm_size=node_comm_size"
#: what MPICH's trees do not say, from 5.0.1's src/abi/coll/coll_algorithms.txt ("restrictions") and
#: the algorithms' sources. Allreduce's smp only copies where no level has two ranks; in place,
#: reduce_scatter's pairwise copies a rank's block to the front, and the job ends where both overlap
#: (5.0.2, run; the MPI itself takes it for large blocks, and fails there)
_ALSO = {
    "algorithm=MPIR_Reduce_scatter_intra_pairwise": ("is_block_regular=yes",),
    "algorithm=MPIR_Allreduce_intra_smp": ("comm_hierarchy=parent",),
    "algorithm=MPIR_Allreduce_intra_k_reduce_scatter_allgather": (
        "is_op_built_in=yes",
        "count=any",
    ),
}
#: the trees use others, too, for powers of two only, and those can do with any number of ranks
_POWERS_OF_TWO = (
    "Allgather_intra_recursive_doubling", "Allgatherv_intra_recursive_doubling",
    "Reduce_scatter_intra_noncommutative", "Reduce_scatter_block_intra_noncommutative",
)  # fmt: skip


def needs_of(leaf: str, tree: Tree) -> frozenset[str]:
    """Return the keys that hold wherever a library's tree uses a leaf."""
    found = [
        ways for name, ways in _ways(tree, ()) if name == leaf and "comm_type=inter" not in ways
    ]
    both = frozenset.intersection(*map(frozenset, found)) if found else frozenset()
    mine = (*_OTHERWISE, *_NEVER, _ON_ONE_NODE)
    return both.intersection(mine) | frozenset(_ALSO.get(leaf, ()))


def _ways(tree: Tree, keys: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for key, below in tree.items():
        if is_leaf(key):
            yield key, keys
            return
        told = key != "count=any" or "count<pow2" in tree
        yield from _ways(below, (*keys, key) if told else keys)


def refusal(leaf: str, tree: Tree, layout: RankLayout) -> str | None:
    """Return why a leaf is not for a layout; None: it is."""
    name = leaf.rpartition("_intra_")[2]
    if leaf.endswith(_POWERS_OF_TWO) and layout.nranks & (layout.nranks - 1):
        return f"{name} works on powers of two only"
    needs = needs_of(leaf, tree)
    for key, words in _NEVER.items():
        if key in needs:
            return f"{name} {words}"
    if "comm_hierarchy=parent" in needs and (layout.nodes == 1 or layout.ppn == 1):
        return f"{name} needs several nodes with several ranks"
    if _ON_ONE_NODE in needs and layout.nodes > 1:
        return f"{name} works within a node only"
    return None


def guarded(leaf: Tree, default: Tree, tree: Tree) -> Tree:
    """Return a leaf for the calls that it can do, and for the others what the MPI does."""
    (name,) = leaf
    needs, out = needs_of(name, tree), leaf
    for key, otherwise in _OTHERWISE.items():
        if key in needs:
            first = key == "count=any"  # which holds for all that is not refused before
            out = {otherwise: default, key: out} if first else {key: out, otherwise: default}
    return out
