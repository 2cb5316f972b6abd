C An ordinary program with mpif.h; upper case and lower case as they come.
      program loading
      implicit none
      include 'mpif.h'
      integer n, ierr, rank, nranks, i, t
      parameter (n = 100)
      double precision x(n), y(n), z(64*n)
      integer half
      call MPI_INIT(ierr)
      call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
      call mpi_comm_size(MPI_COMM_WORLD, nranks, ierr)
      call MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, -rank, half, ierr)
      do t = 1, 6
        do i = 1, n
          x(i) = i + rank*t
        end do
        call MPI_ALLREDUCE(x, y, n, MPI_DOUBLE_PRECISION, MPI_SUM,
     &    MPI_COMM_WORLD, ierr)
        if (ierr .ne. MPI_SUCCESS) stop 1
        call MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE_PRECISION,
     &    MPI_MAX, half, ierr)
        call mpi_bcast(y, n, MPI_DOUBLE_PRECISION, nranks - 1,
     &    MPI_COMM_WORLD, ierr)
        if (rank .eq. 0) then
          call mpi_reduce(MPI_IN_PLACE, y, n, MPI_DOUBLE_PRECISION,
     &      MPI_SUM, 0, MPI_COMM_WORLD, ierr)
        else
          call mpi_reduce(y, z, n, MPI_DOUBLE_PRECISION,
     &      MPI_SUM, 0, MPI_COMM_WORLD, ierr)
        end if
        call mpi_allgather(x, n, MPI_DOUBLE_PRECISION, z, n,
     &    MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
        call mpi_barrier(MPI_COMM_WORLD, ierr)
        if (rank .eq. 0) print *, t, x(n), y(1), y(n), z(n*nranks)
      end do
      call MPI_COMM_FREE(half, ierr)
      if (half .ne. MPI_COMM_NULL) stop 2
      call MPI_FINALIZE(ierr)
      end
