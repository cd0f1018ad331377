! SPDX-License-Identifier: Apache-2.0
! The first line of a file, by a unit that could be written to as well.
program read_unit
  character(len=256) :: name, line
  call get_command_argument(1, name)
  open (unit=10, file=trim(name), status='old')
  read (10, '(a)') line
  print '(a)', trim(line)
end program
