# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The programs of bench/netzer-miller as tests: the result is the one of a single rank, natively,
# recorded and replayed; replays have the recorded order of messages. The numbers that tests expect
# were computed by other means.
# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/../../lib.sh"

PAPER=$(dirname "$TESTS")/bench/netzer-miller

# paper_compile NAME: prints the path of the program
paper_compile() {
	local out=$BUILD/tests/$FLAVOUR/paper-$1

	compile_once "$out" "$PAPER/$1.c" "$PAPER/nx.h" -- \
		"mpicc.$FLAVOUR" -g -O2 -std=gnu11 -D_GNU_SOURCE -Wall -Wextra \
		-Wno-stringop-overflow "$PAPER/$1.c" -lm
	echo "$out"
}

# paper_solve NAME COMMAND...: a run, with the result of the run `alone`
paper_solve() {
	run "$@"
	status_is "$1" 0
	same_lines '^result ' alone "$1"
}

# messages_of NAME: how many messages the program says that it sent
messages_of() {
	sed -n 's/^seconds .* messages \([0-9]*\) .*/\1/p' "$1.out"
}

# paper MESSAGES PROGRAM SIZE [ARGUMENT...]: MESSAGES of 4 ranks, "some" if that varies
paper() {
	local messages=$1 name=$2 program i
	shift 2

	program=$(paper_compile "$name")
	launcher 1
	run alone "${LAUNCH[@]}" "$program" "$@"
	status_is alone 0
	lines_are 1 "^result $name " alone.out || fail "$name prints no result"
	launcher 4
	paper_solve native "${LAUNCH[@]}" "$program" "$@"
	[[ $messages == some || $(messages_of native) == "$messages" ]] ||
		fail "$name sent $(messages_of native) messages, not $messages"
	record --noise -- "${LAUNCH[@]}" "$program" "$@"
	status_is recorded 0
	same_lines '^result ' alone recorded
	lines_are 1 '^order ' recorded.out || fail "$name prints no order"
	for i in 1 2; do
		replay "replay.$i" "--noise=$i"
		status_is "replay.$i" 0
		same_lines '^(result|order) ' recorded "replay.$i"
	done
	PAPER_COMMAND=("${LAUNCH[@]}" "$program" "$@")
}

# paper_order NAME SEED: the order of messages of another run, with noise
paper_order() {
	record "--noise=$2" -- "${PAPER_COMMAND[@]}"
	status_is recorded 0
	grep '^order ' recorded.out >"$1"
}

# races: two of at most 12 runs are different ones
races() {
	local i

	paper_order first 1
	for ((i = 2; i <= 12; i++)); do
		paper_order other "$i"
		cmp -s first other || return 0
	done
	fail "12 runs with noise were the same: nothing raced"
}

# never_races: any noise leaves the run as it is
never_races() {
	local i

	paper_order first 1
	for ((i = 2; i <= 5; i++)); do
		paper_order other "$i"
		cmp -s first other || fail "a run with other noise was another run: something raced"
	done
}
