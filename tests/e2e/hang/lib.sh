# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Runs that hang, recorded.

# line NAME [PROGRAM]: the number of the line that has the comment "line: NAME"
line() {
	grep -n "line: $1 \*/" "$TESTS/prog/${2:-hangs}.c" | cut -d: -f1
}

# inside RANK EVENT ...: the ranks are in these events ("3 after 2": behind them)
has_come() {
	"$REPRISE" info "$TRACE" >info.now 2>/dev/null || return 1
	while [[ $# -gt 0 ]]; do
		grep -qE "^ *$1 .*$2\$" info.now || return 1
		shift 2
	done
}

# hung [RANK WHERE]... -- COMMAND...: records it until the ranks are there, and interrupts it
hung() {
	local where=()

	while [[ $1 != -- ]]; do
		where+=("$1")
		shift
	done
	shift
	rm -rf "$TRACE"
	begin recorded "$REPRISE" record -o "$TRACE" -- "$@"
	wait_until 60 has_come "${where[@]}"
	kill -INT -- "-$JOB"
	finish recorded "$JOB"
}
