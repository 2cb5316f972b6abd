! Persistent collectives from Fortran: made, started together with a message, asked, completed, freed.
! The test makes the mpif.h and the mpi_f08 version of it.
program persistent_fortran
  use mpi
  implicit none
  integer :: requests(3)
  integer :: statuses(MPI_STATUS_SIZE, 3)
  integer :: rank, nranks, ierr, round, i, word, got(1)
  logical :: flag
  double precision :: vector(500), total(500)
  integer, allocatable :: blocks(:), theirs(:), counts(:), places(:)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
  allocate (blocks(nranks), theirs(nranks), counts(nranks), places(nranks))
  do i = 1, nranks
    counts(i) = 1
    places(i) = i - 1
  end do
  call MPI_Allreduce_init(vector, total, 500, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, &
                          MPI_INFO_NULL, requests(1), ierr)
  call MPI_Alltoallv_init(blocks, counts, places, MPI_INTEGER, theirs, counts, places, MPI_INTEGER, &
                          MPI_COMM_WORLD, MPI_INFO_NULL, requests(2), ierr)
  call MPI_Recv_init(got, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, requests(3), ierr)
  do round = 1, 5
    vector = rank + round
    total = 0
    do i = 1, nranks
      blocks(i) = 100*rank + i + round
    end do
    got = 0
    word = round
    if (mod(rank, 2) == 0) then
      call MPI_Start(requests(2), ierr)
      call MPI_Start(requests(3), ierr)
      call MPI_Start(requests(1), ierr)
    else
      call MPI_Startall(3, requests, ierr)
    end if
    call MPI_Send(word, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, ierr)
    flag = .false.
    if (mod(round, 2) == 0) then
      do while (.not. flag)
        call MPI_Test(requests(1), flag, statuses(:, 1), ierr)
      end do
    end if
    call MPI_Waitall(3, requests, statuses, ierr)
    if (any(total /= nranks*round + nranks*(nranks - 1)/2)) call MPI_Abort(MPI_COMM_WORLD, 2, ierr)
    if (got(1) /= round) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
    do i = 1, nranks
      if (theirs(i) /= 100*(i - 1) + rank + 1 + round) call MPI_Abort(MPI_COMM_WORLD, 4, ierr)
    end do
  end do
  do i = 1, 3
    call MPI_Request_free(requests(i), ierr)
    if (requests(i) /= MPI_REQUEST_NULL) call MPI_Abort(MPI_COMM_WORLD, 5, ierr)
  end do
  if (rank == 0) print *, 'persistent_fortran done'
  call MPI_Finalize(ierr)
end program
