! SPDX-License-Identifier: Apache-2.0
! flags: -fopenmp
! OpenMP from Fortran: a dynamic loop, a critical section and a lock; who came when is printed.
program gomp_fortran
	use omp_lib
	implicit none
	integer(omp_lock_kind) :: lock
	integer(omp_nest_lock_kind) :: nest
	integer :: i, who
	integer(8) :: hash, order

	hash = 0
	order = 0
	call omp_set_num_threads(4)
	call omp_init_lock(lock)
	call omp_init_nest_lock(nest)
!$omp parallel do schedule(dynamic) private(who)
	do i = 1, 200
		who = omp_get_thread_num()
		call omp_set_lock(lock)
		hash = ieor(ishftc(hash, 5), int(who + 4 * i, 8))
		call omp_unset_lock(lock)
		call omp_set_nest_lock(nest)
		if (omp_test_nest_lock(nest) /= 2) print *, 'a nested lock was not had twice'
		order = ieor(ishftc(order, 3), int(who, 8))
		call omp_unset_nest_lock(nest)
		call omp_unset_nest_lock(nest)
	end do
!$omp end parallel do
!$omp parallel
!$omp critical
	hash = ieor(ishftc(hash, 7), int(omp_get_thread_num(), 8))
!$omp end critical
!$omp end parallel
	call omp_destroy_nest_lock(nest)
	call omp_destroy_lock(lock)
	print '(Z16, 1X, Z16)', hash, order
end program
