! SPDX-License-Identifier: Apache-2.0
! flags: -cpp
! fortran-waits HOW: two ranks, through mpif.h (f77), use mpi (f90) or use mpi_f08 (f08). Rank 1 sends
! on WHERE, which may be `other`, and waits for an answer, rank 0 receives from anywhere and then waits, too.
#ifndef WHERE
#define WHERE MPI_COMM_WORLD
#endif

subroutine f77(me, other)
  implicit none
  include 'mpif.h'
  integer :: me, other, x, error

  x = me
  if (me == 1) then
    call MPI_Send(x, 1, MPI_INTEGER, 0, 7, WHERE, error)
  else
    call MPI_Recv(x, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error) ! LINE f77 first
  end if
  print '(a)', 'waits'
  flush(6)
  call MPI_Recv(x, 1, MPI_INTEGER, 1 - me, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error) ! LINE f77 second
end subroutine

subroutine f90(me, other)
  use mpi
  implicit none
  integer :: me, other, x, error

  x = me
  if (me == 1) then
    call MPI_Send(x, 1, MPI_INTEGER, 0, 7, WHERE, error)
  else
    call MPI_Recv(x, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error) ! LINE f90 first
  end if
  print '(a)', 'waits'
  flush(6)
  call MPI_Recv(x, 1, MPI_INTEGER, 1 - me, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error) ! LINE f90 second
end subroutine

subroutine f08(me, handle)
  use mpi_f08
  implicit none
  integer :: me, handle, x
  type(MPI_Comm) :: other

  other%MPI_VAL = handle
  x = me
  if (me == 1) then
    call MPI_Send(x, 1, MPI_INTEGER, 0, 7, WHERE)
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
  integer :: me, other, error

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call MPI_Comm_dup(MPI_COMM_WORLD, other, error)
  call get_command_argument(1, how)
  if (how == 'f77') call f77(me, other)
  if (how == 'f90') call f90(me, other)
  if (how == 'f08') call f08(me, other)
  call MPI_Finalize(error)
end program
