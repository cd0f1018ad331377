! SPDX-License-Identifier: Apache-2.0
! Fortran through "use mpi_f08": a wildcard receive, posted wildcard receives completed by MPI_Waitany,
! MPI_Waitsome and MPI_Testany, persistent receives, a polling MPI_Iprobe, MPI_Wtime,
! MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE. Rank 0 prints what came.
program f08_any
  use mpi_f08
  implicit none
  integer, parameter :: rounds = 12, width = 3
  integer :: me, ranks, i

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (me /= 0) then
    do i = 1, rounds * (3 + 2 * width)
      call MPI_Send([me], 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD)
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
  call MPI_Finalize()

contains

  subroutine blocking()
    integer :: value
    type(MPI_Status) :: status

    call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, status)
    if (status%MPI_SOURCE /= value) call MPI_Abort(MPI_COMM_WORLD, 3)
    print *, 'recv', value
    call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
                  MPI_STATUS_IGNORE)
    print *, 'ignore', value
  end subroutine

  subroutine posted(how)
    integer, intent(in) :: how
    integer, asynchronous :: buffer(width)
    type(MPI_Request) :: requests(width)
    type(MPI_Status) :: status
    integer :: indices(width), k, done, left, misses
    logical :: flag

    do k = 1, width
      call MPI_Irecv(buffer(k), 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, requests(k))
    end do
    left = width
    misses = 0
    do while (left > 0)
      select case (how)
      case (0)
        call MPI_Waitany(width, requests, indices(1), status)
        done = 1
      case (1)
        call MPI_Waitsome(width, requests, done, indices, MPI_STATUSES_IGNORE)
      case default
        call MPI_Testany(width, requests, indices(1), flag, MPI_STATUS_IGNORE)
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
    type(MPI_Request) :: requests(width)
    integer :: k

    do k = 1, width
      call MPI_Recv_init(buffer(k), 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &
                         requests(k))
    end do
    call MPI_Startall(width, requests)
    call MPI_Waitall(width, requests, MPI_STATUSES_IGNORE)
    print *, 'persistent', buffer
    do k = 1, width
      call MPI_Request_free(requests(k))
    end do
  end subroutine

  subroutine probed()
    integer :: value, misses
    type(MPI_Status) :: status
    logical :: flag

    misses = -1
    flag = .false.
    do while (.not. flag)
      misses = misses + 1
      call MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, flag, status)
    end do
    call MPI_Recv(value, 1, MPI_INTEGER, status%MPI_SOURCE, 1, MPI_COMM_WORLD, &
                  MPI_STATUS_IGNORE)
    print *, 'probe', misses, value
  end subroutine

end program
