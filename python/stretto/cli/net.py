"""``stretto net``: what network and node give, without an MPI and through one."""

from __future__ import annotations

import typer

from stretto.cli import net_mpi, net_node, net_rails, net_tcp

EXAMPLE = """\
stretto net tcp --hosts node1,node2     # TCP between hosts, without an MPI
stretto net mpi --hosts node1,node2     # messages between ranks, through the MPI
stretto net rails --hosts node1,node2   # which settings use all connections and network cards
stretto net node                        # between the cores of this node, without an MPI"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)
COMMANDS = (("tcp", net_tcp), ("mpi", net_mpi), ("rails", net_rails), ("node", net_node))
for name, module in COMMANDS:
    example = "\n".join(f"  {line}" for line in module.EXAMPLE.splitlines())
    app.command(name, epilog=f"Example:\n\n\b\n{example}")(module.command)
