# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A page of doc/guide, played at a terminal: its commands are run one after the other, lines behind a debugger's prompt are
# typed there, and all print what the page shows.
# shellcheck disable=SC2034
SECONDS_EACH=150

# As in the page: mpicc, mpirun and reprise, found by these names.
guide_commands() {
	mkdir bin
	ln -s "$REPRISE" bin/reprise
	if [[ $FLAVOUR != plain ]]; then
		ln -s "$(command -v "mpicc.$FLAVOUR")" bin/mpicc
		printf '#!/bin/sh\nexec %s "$@"\n' "mpirun.$FLAVOUR" >bin/mpirun
		chmod +x bin/mpirun
	fi
	PATH=$PWD/bin:$PATH
	cp "$TESTS"/../examples/guide/*.c .
}

# It stands still: two looks at it are the same, and nobody is at work.
is_hung() {
	reprise hang --pid "$JOB" >look.now 2>/dev/null && ! grep -q '\] runs' look.now && cmp -s look.now look.before && return 0
	cp look.now look.before
	return 1
}

# interrupted COMMAND...: as by Ctrl-C, when it does not go on
interrupted() {
	: >look.before
	begin out "$@"
	wait_until 120 is_hung
	kill -INT -- "-$JOB"
	finish out "$JOB"
}

prompt='^\((gdb|reprise [^)]*)\) '

# Times and sizes differ from run to run.
settled() {
	sed -E 's/[0-9.]+ s, [0-9.]+ [KM]iB/T/; s/ +$//' "$1"
}

# check_output: each line of `expected` is a line of `shown`, in this order; a line that ends in […] is a beginning
check_output() {
	awk 'BEGIN { n = at = 0 }
		FILENAME == ARGV[1] { want[n++] = $0; next }
		at < n { while (at < n && want[at] ~ /^\[…\]$/) at++
			if (at < n) { w = want[at]
				if (sub(/ ?\[…\]$/, "", w) ? index($0, w) == 1 : $0 == w) at++ } }
		END { while (at < n && want[at] ~ /^\[…\]$/) at++
			if (at < n) { print want[at]; exit 1 } }' <(settled expected) <(settled shown) >missing || {
		cat shown
		fail "the page shows, and this is not printed: $(cat missing)"
	}
}

play_one() {
	local command=$1 words

	if grep -qxF '^C' expected; then
		sed -i '/^\^C$/d' expected
		read -r -a words <<<"$command"
		interrupted "${words[@]}"
	else
		sed -nE "s/$prompt//p" expected >typed
		run out python3 "$TESTS/e2e/guide/terminal.py" typed bash -c "$command"
	fi
	cat out.out out.err >shown
	check_output
}

# play PAGE
play() {
	local line command=

	guide_commands
	: >expected
	while IFS= read -r line; do
		if [[ $line == '    $ '* ]]; then
			[[ -z $command ]] || play_one "$command"
			command=${line#'    $ '}
			: >expected
		elif [[ $line == '    '* && -n $command ]]; then
			echo "${line#'    '}" >>expected
		fi
	done <"$TESTS/../doc/guide/$1.md"
	play_one "$command"
	wait_until 30 nothing_runs
}
