! SPDX-License-Identifier: Apache-2.0
! Fortran through "use mpi": a wildcard receive, posted wildcard receives completed by MPI_Waitany,
! MPI_Waitsome and MPI_Testany, persistent receives, a polling MPI_Iprobe, MPI_Wtime,
! MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE. Rank 0 prints what came.
program f90_any
  use mpi
  implicit none
  integer, parameter :: rounds = 12, width = 3
  integer :: ierr, me, ranks, i

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  if (me /= 0) then
    do i = 1, rounds * (3 + 2 * width)
      call MPI_Send([me], 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, ierr)
    end do
  else
    print *, 'wtime', MPI_Wtime()
    do i = 1, rounds * (ranks - 1)
      call blocking()
      call posted(mod(i, 3))
      call persistent()
      call probed()
    end do
    print *, 'wtime', MPI_Wtime()
  end if
  call MPI_Finalize(ierr)

contains

  subroutine blocking()
    integer :: value, status(MPI_STATUS_SIZE)

    call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, status, ierr)
    if (status(MPI_SOURCE) /= value) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
    print *, 'recv', value
    call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
                  MPI_STATUS_IGNORE, ierr)
    print *, 'ignore', value
  end subroutine

  subroutine posted(how)
    integer, intent(in) :: how
    integer, asynchronous :: buffer(width)
    integer :: requests(width), indices(width), k, done, left, misses
    integer :: status(MPI_STATUS_SIZE)
    logical :: flag

    do k = 1, width
      call MPI_Irecv(buffer(k), 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, requests(k), &
                     ierr)
    end do
    left = width
    misses = 0
    do while (left > 0)
      select case (how)
      case (0)
        call MPI_Waitany(width, requests, indices(1), status, ierr)
        done = 1
      case (1)
        call MPI_Waitsome(width, requests, done, indices, MPI_STATUSES_IGNORE, ierr)
      case default
        call MPI_Testany(width, requests, indices(1), flag, MPI_STATUS_IGNORE, ierr)
        done = merge(1, 0, flag)
        if (.not. flag) misses = misses + 1
      end select
      do k = 1, done
        print *, 'posted', indices(k), buffer(indices(k))
      end do
      left = left - done
    end do
    print *, 'misses', misses
  end subroutine

  subroutine persistent()
    integer, asynchronous :: buffer(width)
    integer :: requests(width), k

    do k = 1, width
      call MPI_Recv_init(buffer(k), 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &
                         requests(k), ierr)
    end do
    call MPI_Startall(width, requests, ierr)
    call MPI_Waitall(width, requests, MPI_STATUSES_IGNORE, ierr)
    print *, 'persistent', buffer
    do k = 1, width
      call MPI_Request_free(requests(k), ierr)
    end do
  end subroutine

  subroutine probed()
    integer :: value, status(MPI_STATUS_SIZE), misses
    logical :: flag

    misses = -1
    flag = .false.
    do while (.not. flag)
      misses = misses + 1
      call MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, flag, status, ierr)
    end do
    call MPI_Recv(value, 1, MPI_INTEGER, status(MPI_SOURCE), 1, MPI_COMM_WORLD, &
                  MPI_STATUS_IGNORE, ierr)
    print *, 'probe', misses, value
  end subroutine

end program
