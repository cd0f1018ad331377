! SPDX-License-Identifier: Apache-2.0
! flags: -cpp
! fortran-waits HOW: two ranks, through mpif.h (f77), use mpi (f90) or use mpi_f08 (f08). Rank 1 sends
! with the tag TAG and waits for an answer, rank 0 receives from anywhere and then waits, too.
#ifndef TAG
#define TAG 7
#endif

subroutine f77(me)
  implicit none
  include 'mpif.h'
  integer :: me, x, error

  x = me
  if (me == 1) then
    call MPI_Send(x, 1, MPI_INTEGER, 0, TAG, MPI_COMM_WORLD, error)
  else
    call MPI_Recv(x, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error) ! LINE f77 first
  end if
  print '(a)', 'waits'
  flush(6)
  call MPI_Recv(x, 1, MPI_INTEGER, 1 - me, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error) ! LINE f77 second
end subroutine

subroutine f90(me)
  use mpi
  implicit none
  integer :: me, x, error

  x = me
  if (me == 1) then
    call MPI_Send(x, 1, MPI_INTEGER, 0, TAG, MPI_COMM_WORLD, error)
  else
    call MPI_Recv(x, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error) ! LINE f90 first
  end if
  print '(a)', 'waits'
  flush(6)
  call MPI_Recv(x, 1, MPI_INTEGER, 1 - me, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error) ! LINE f90 second
end subroutine

subroutine f08(me)
  use mpi_f08
  implicit none
  integer :: me, x

  x = me
  if (me == 1) then
    call MPI_Send(x, 1, MPI_INTEGER, 0, TAG, MPI_COMM_WORLD)
  else
    call MPI_Recv(x, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ! LINE f08 first
  end if
  print '(a)', 'waits'
  flush(6)
  call MPI_Recv(x, 1, MPI_INTEGER, 1 - me, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ! LINE f08 second
end subroutine

program fortran_waits
  use mpi
  implicit none
  character(3) :: how
  integer :: me, error

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call get_command_argument(1, how)
  if (how == 'f77') call f77(me)
  if (how == 'f90') call f90(me)
  if (how == 'f08') call f08(me)
  call MPI_Finalize(error)
end program
