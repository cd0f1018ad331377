! SPDX-License-Identifier: Apache-2.0
! flags: -fopenmp
! A racy sum of OpenMP threads, printed to standard output (argument 0), or to a file as well (1).
program racy
  use omp_lib
  implicit none
  integer :: i, kind
  real(8), volatile :: total
  character(len=16) :: word

  kind = 0
  if (command_argument_count() > 0) then
     call get_command_argument(1, word)
     read (word, *) kind
  end if
  call omp_set_num_threads(4)
  total = 0
  !$omp parallel do schedule(dynamic, 100)
  do i = 1, 20000
     total = total + 1d0 / i
  end do
  !$omp end parallel do
  print *, 'total', total
  if (mod(kind, 2) == 1) then
     open (unit=10, file='racy.dat', status='replace')
     write (10, *) total
     close (10)
  end if
end program racy
