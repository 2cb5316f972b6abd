"""An ordinary mpi4py script: buffers in place and not, and pickled objects."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
half = world.Split(world.rank % 2, world.rank)
for comm in (world, half):
    for t in range(6):
        x = np.arange(100.0) + comm.rank * t
        y = np.empty_like(x)
        comm.Allreduce(x, y)
        comm.Allreduce(MPI.IN_PLACE, x, op=MPI.MAX)
        comm.Bcast(y, root=comm.size - 1)
        comm.Reduce(MPI.IN_PLACE if comm.rank == 0 else y, y, root=0)
        z = np.empty((comm.size, 100))
        comm.Allgather(x, z)
        comm.Barrier()
        total = comm.allreduce(comm.rank + 1)
        if world.rank == 0:
            print(t, x.sum(), y.sum(), z.sum(), total, comm.bcast({"t": t}))
        else:
            comm.bcast({"t": t})
half.Free()
