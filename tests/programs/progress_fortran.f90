! progress_cases.c in Fortran: rank 0 blocks in one call after another while an allreduce is under
! way, and rank 1 answers only after that has ended there. The special constants go along.
! The test makes the mpif.h form of it by exchanging the lines "use mpi" and "implicit none".
program progress_fortran
  use mpi
  implicit none
  integer, parameter :: n = 131072, large = 1048576, tag = 7
  double precision, save :: from(n), to(n)
  integer, save :: data(large), other(large)
  integer :: rank, nranks, ierr, request, second, i, got, win, comm, file, victim, partner
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), both(2), kind, displacement
  integer(MPI_ADDRESS_KIND) :: bytes, address
  integer(MPI_OFFSET_KIND) :: at
  logical :: flag

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
  do i = 1, 8
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end do
  victim = 0
  partner = 1

  call begin()
  if (rank == victim) then
    call MPI_Recv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
    call check(got == 42 .and. status(MPI_SOURCE) == partner .and. status(MPI_TAG) == tag, 'recv')
  end if
  call finish()
  if (rank == partner) call MPI_Send(42, 1, MPI_INTEGER, victim, tag, MPI_COMM_WORLD, ierr)

  call begin()
  if (rank == victim) then
    call MPI_Probe(partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Recv(got, 1, MPI_INTEGER, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(got == 43, 'probe')
    flag = .false.
    do while (.not. flag)
      call MPI_Iprobe(partner, tag, MPI_COMM_WORLD, flag, status, ierr)
    end do
    call MPI_Recv(got, 1, MPI_INTEGER, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(got == 44, 'iprobe')
  end if
  call finish()
  if (rank == partner) then
    call MPI_Send(43, 1, MPI_INTEGER, victim, tag, MPI_COMM_WORLD, ierr)
    call MPI_Send(44, 1, MPI_INTEGER, victim, tag, MPI_COMM_WORLD, ierr)
  end if

  call begin() ! a large message, by an absolute address
  call MPI_Get_address(data, address, ierr)
  bytes = address
  call MPI_Type_create_hindexed(1, (/ large /), (/ bytes /), MPI_INTEGER, kind, ierr)
  call MPI_Type_commit(kind, ierr)
  if (rank == victim) then
    data = 5
    call MPI_Send(MPI_BOTTOM, 1, kind, partner, tag, MPI_COMM_WORLD, ierr)
  end if
  call finish()
  if (rank == partner) then
    data = 0
    call MPI_Recv(MPI_BOTTOM, 1, kind, victim, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(data(large) == 5, 'send from MPI_BOTTOM')
  end if
  call MPI_Type_free(kind, ierr)

  call begin()
  data = rank
  if (rank == victim) call exchange(partner)
  call finish()
  if (rank == partner) call exchange(victim)

  call begin()
  if (rank == victim) then
    call MPI_Irecv(data, 1, MPI_INTEGER, partner, tag, MPI_COMM_WORLD, both(1), ierr)
    call MPI_Irecv(other, 1, MPI_INTEGER, partner, tag + 1, MPI_COMM_WORLD, both(2), ierr)
    call MPI_Waitany(2, both, i, status, ierr)
    call MPI_Waitall(2, both, statuses, ierr)
    call check(data(1) == 1 .and. other(1) == 2, 'waitany')
    call MPI_Irecv(data, 1, MPI_INTEGER, partner, tag, MPI_COMM_WORLD, second, ierr)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(second, flag, MPI_STATUS_IGNORE, ierr)
    end do
    call check(data(1) == 3, 'test')
  end if
  call finish()
  if (rank == partner) then
    call MPI_Send(1, 1, MPI_INTEGER, victim, tag, MPI_COMM_WORLD, ierr)
    call MPI_Send(2, 1, MPI_INTEGER, victim, tag + 1, MPI_COMM_WORLD, ierr)
    call MPI_Send(3, 1, MPI_INTEGER, victim, tag, MPI_COMM_WORLD, ierr)
  end if

  call begin() ! everybody makes these calls, the victim before the allreduce has ended
  if (rank == victim) call everybody()
  call finish()
  if (rank /= victim) call everybody()

  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a)', 'progress_fortran done'
  call MPI_Finalize(ierr)

contains

  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    print '(a, a, a, i0)', 'progress_fortran: wrong ', what, ' on rank ', rank
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine

  subroutine begin()
    do i = 1, n
      from(i) = rank + i
    end do
    to = from
    call MPI_Iallreduce(MPI_IN_PLACE, to, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, &
                        request, ierr)
  end subroutine

  subroutine finish()
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    do i = 1, n
      if (to(i) /= nranks * (nranks - 1) / 2 + dble(nranks) * i) call check(.false., 'sum')
    end do
  end subroutine

  subroutine exchange(with)
    integer, intent(in) :: with
    call MPI_Sendrecv(data, large, MPI_INTEGER, with, tag, other, large, MPI_INTEGER, with, tag, &
                      MPI_COMM_WORLD, status, ierr)
    call check(other(large) == with .and. status(MPI_SOURCE) == with, 'sendrecv')
    call MPI_Sendrecv_replace(data, large, MPI_INTEGER, with, tag, with, tag, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE, ierr)
    call check(data(large) == with, 'sendrecv_replace')
  end subroutine

  subroutine everybody()
    integer :: sum
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Allreduce(1, sum, 1, MPI_INTEGER, MPI_SUM, comm, ierr)
    call check(sum == nranks, 'dup')
    displacement = 4
    bytes = 4 * large
    data = rank
    call MPI_Win_create(data, bytes, displacement, MPI_INFO_NULL, comm, win, ierr)
    call MPI_Win_fence(0, win, ierr)
    bytes = 0
    call MPI_Get(got, 1, MPI_INTEGER, mod(rank + 1, nranks), bytes, 1, MPI_INTEGER, win, ierr)
    call MPI_Win_fence(0, win, ierr)
    call check(got == mod(rank + 1, nranks), 'fence')
    call MPI_Win_free(win, ierr)
    call MPI_File_open(comm, 'progress_fortran.data', &
                       MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                       MPI_INFO_NULL, file, ierr)
    at = 4 * rank
    call MPI_File_write_at_all(file, at, rank, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call MPI_File_close(file, ierr)
    call MPI_Comm_free(comm, ierr)
  end subroutine
end program
