# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the tests beside: obeys_the_rules PROGRAM [ARGUMENT...]: recorded with noise and evaluated, its
# events obey the rules of MPI (tests/events-check.py); leaves counts.out
obeys_the_rules() {
	local program

	program=$(compile "$1")
	shift
	launcher 4
	record --noise -- "${LAUNCH[@]}" "$program" "$@"
	status_is recorded 0
	run evaluated "$REPRISE" evaluate "$TRACE"
	status_is evaluated 0
	run dump "$REPRISE" dump --events --format=json "$TRACE"
	status_is dump 0
	STDIN=dump.out run counts "$TESTS/events-check.py"
	status_is counts 0
	# All that was sent was received, as these programs do.
	prints counts 'unreceived=0$'
}
