# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Programs of MPI and threads that are killed anywhere; sourced after lib.sh.

# A line may have been written and its end not recorded: one for each thread that writes. And the
# thread that had the lock may not have written yet: in replay it goes on to its next operation.
UNSURE=2
MORE=1

logs_are_long() {
	[[ -s log-0 && -s log-1 && $(wc -l <log-0) -gt $1 && $(wc -l <log-1) -gt $1 ]]
}

# reached RANK: the replay wrote what the recorded run had written
reached() {
	local lacks=$(($(wc -l <"recorded-$1") - $(wc -l <"log-$1"))) shorter=log-$1

	((lacks >= 0)) || shorter=recorded-$1
	((lacks >= -MORE && lacks <= UNSURE)) &&
		cmp -s -n "$(stat -c %s "$shorter")" "recorded-$1" "log-$1"
}

replays_to_the_end() {
	mv log-0 recorded-0
	mv log-1 recorded-1
	RECORDED_STATUS=$STATUS
	replay replayed --noise
	status_is replayed "$RECORDED_STATUS"
	if ! reached 0 || ! reached 1; then
		wc -l recorded-[01] log-[01]
		show replayed
		fail "the replay did not come to the recorded end"
	fi
}

# Each thread writes so many lines at most: on a starved machine the kill comes late, and a replay
# takes as long as the run.
ROUNDS_AT_MOST=2000

# killed HOW LINES WHO: kills ranks "0", "1", "0 1" or the launcher when the logs have LINES lines
killed() {
	local program rank pids=()

	program=$(compile hybrid-ends)
	launcher 2
	rm -rf "$TRACE" log-[01]
	begin recorded "$REPRISE" record -o "$TRACE" "${LAUNCH[@]}" "$program" "$1" "$ROUNDS_AT_MOST"
	wait_until 30 logs_are_long "$2"
	if [[ $3 == launcher ]]; then
		kill -KILL "$(launcher_pid)"
	else
		for rank in $3; do
			pids+=("$(rank_pid "$rank")")
		done
		kill -KILL "${pids[@]}"
	fi
	finish recorded "$JOB"
	wait_until 30 no_rank_is_left
	replays_to_the_end
	says replayed 'end of the recording'
}

# Hydra's ranks outlive their launcher
no_rank_is_left() {
	local rank pid left=

	for rank in 0 1; do
		if pid=$(rank_pid "$rank"); then
			kill -KILL "$pid" || true
			left=yes
		fi
	done
	[[ -z $left ]]
}
