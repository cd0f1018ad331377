# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What every test uses. A test is a bash script that sources this file; it then stands in a fresh
# scratch directory that is removed at its end, with FLAVOUR set to the MPI it is to use. The first
# check that does not hold ends it with status 1 and a sentence; status 77 means that it cannot run
# on this machine.
#
# Words in capitals are for tests to read: REPRISE FLAVOUR LAUNCH SCRATCH STATUS TRACE TESTS.
set -euo pipefail

TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILD=${REPRISE_BUILD:-$(dirname "$TESTS")/build}
REPRISE=$BUILD/reprise
SECONDS_EACH=${SECONDS_EACH:-60}
RANKS=4

# More ranks than cores is the normal case here; Open MPI wants to be told. What it would find by
# itself on one host, told, saves a fifth of the time in which it starts.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=vader,self
# Its launcher sleeps between SIGTERM and SIGKILL, a second or two for each run that ends badly.
# Only tests of what happens to killed ranks wait for that. All else here concerns the start, too: no look for
# GPUs and PCI devices, no file for what ranks tell each other, no look for networks. Tests of faults start as usual.
if [[ $0 != */fault/* ]]; then
	export OMPI_MCA_odls_base_sigkill_timeout=0 PMIX_MCA_gds=hash UCX_TLS=self,sm
	export HWLOC_PLUGINS_BLACKLIST=hwloc_gl.so,hwloc_opencl.so,hwloc_pci.so,hwloc_xml_libxml.so
fi
if [[ $(id -u) == 0 ]]; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# Marks every process that this test starts; the shell itself does not have it in /proc.
export REPRISE_TEST_PART=$$.$RANDOM
unset REPRISE_TRACE_DIR REPRISE_FAULT REPRISE_MODE REPRISE_DIR LD_PRELOAD

fail() {
	echo "FAILED: $*"
	exit 1
}

# A command that fails outside of a check is a failure, too, and says where.
set -E
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

cannot_run() {
	echo "$*"
	exit 77
}

needs() {
	local command

	for command in "$@"; do
		command -v "$command" >/dev/null || cannot_run "$command is not installed"
	done
}

mpi_flavours() {
	local flavour

	for flavour in openmpi mpich; do
		if command -v "mpicc.$flavour" "mpirun.$flavour" >/dev/null; then
			echo "$flavour"
		fi
	done
}

FLAVOUR=${FLAVOUR:-$(mpi_flavours | sed -n 1p)}
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/reprise-test.XXXXXX")
TRACE=$SCRATCH/trace
cd "$SCRATCH"

test_processes() {
	local file pid

	grep -lzxF "REPRISE_TEST_PART=$REPRISE_TEST_PART" /proc/[0-9]*/environ 2>/dev/null |
		while IFS= read -r file; do
			pid=${file#/proc/}
			pid=${pid%/environ}
			# Not the grep above.
			[[ ! -e /proc/$pid || $(readlink "/proc/$pid/exe") == */grep ]] || echo "$pid"
		done || true
}

# Ends what the test started and has not ended: a check that failed leaves things running.
cleanup() {
	local status=$? pids

	trap - EXIT
	mapfile -t pids < <(test_processes)
	if [[ ${#pids[@]} != 0 ]]; then
		kill -KILL "${pids[@]}" 2>/dev/null || true
	fi
	cd /
	awk -v place="$SCRATCH/" 'index($2, place) == 1 { print $2 }' /proc/self/mounts |
		xargs -r -n 1 umount
	if [[ $status != 0 && -n ${REPRISE_TEST_KEEP-} ]]; then
		echo "kept: $SCRATCH"
	else
		rm -rf "$SCRATCH"
	fi
	exit "$status"
}
trap cleanup EXIT

# --- programs

# compile_once OUT SOURCE... -- COMMAND...: unless OUT is newer than every SOURCE. One at a time: a
# second compilation beside this one would replace a program that another test is recording.
compile_once() {
	local out=$1 source sources=() old
	shift

	while [[ $1 != -- ]]; do
		sources+=("$1")
		shift
	done
	shift
	mkdir -p "$(dirname "$out")"
	(
		flock 9
		old=
		for source in "${sources[@]}"; do
			[[ ! $source -nt $out ]] || old=yes
		done
		if [[ ! -x $out || -n $old ]]; then
			command -v "$1" >/dev/null || cannot_run "$1 is not installed"
			"$@" -o "$out.new" >&2 || fail "${out##*/} does not compile"
			mv "$out.new" "$out"
		fi
	) 9>"$out.lock"
}

# compile NAME [FLAVOUR]: prints the path of the program; "plain" is without MPI. A source may ask for
# more options in its first lines: /* flags: -fopenmp */
compile() {
	local name=$1 flavour=${2:-$FLAVOUR} out source tool flags
	local warn=(-Wall -Wextra -Wno-stringop-overflow -Wno-stringop-overread)

	out=$BUILD/tests/$flavour/$name
	for source in "$TESTS/prog/$name".{c,cc,F,f90}; do
		[[ ! -e $source ]] || break
	done
	[[ -e $source ]] || fail "there is no program $name"
	case $source in
	*.c) tool=mpicc ;;
	*.cc) tool=mpicxx ;;
	*) tool=mpif90 ;;
	esac
	if [[ $flavour == plain ]]; then
		tool=${tool#mpi}
		tool=${tool/#cxx/c++}
		tool=${tool/#f90/gfortran}
	else
		tool=$tool.$flavour
	fi
	read -r -a flags < <(sed -n '1,4s/.*flags: \([^*]*\).*/\1/p' "$source"; echo)
	compile_once "$out" "$source" "$TESTS"/prog/*.h -- \
		"$tool" -g -O1 "${warn[@]}" -D_GNU_SOURCE -pthread "${flags[@]}" "$source"
	echo "$out"
}

# launcher RANKS: sets LAUNCH, the words that come before a program
launcher() {
	LAUNCH=("mpirun.$FLAVOUR" -n "$1")
	if [[ $FLAVOUR == openmpi ]]; then
		LAUNCH+=(--oversubscribe)
	else
		# Not even a lock, if it is there: the build may be somebody else's.
		[[ $BUILD/tests/yield.so -nt $TESTS/yield.c ]] ||
			compile_once "$BUILD/tests/yield.so" "$TESTS/yield.c" -- gcc -O2 -shared -fPIC "$TESTS/yield.c"
		LAUNCH+=(-genv LD_PRELOAD "$BUILD/tests/yield.so${LD_PRELOAD:+:$LD_PRELOAD}")
	fi
}

# --- running

# run NAME COMMAND...: leaves NAME.out, NAME.err and STATUS; STDIN names the standard input, "closed"
# is none
run() {
	local name=$1
	shift

	STATUS=0
	if [[ ${STDIN-} == closed ]]; then
		timeout -k 5 "$SECONDS_EACH" "$@" <&- >"$name.out" 2>"$name.err" || STATUS=$?
	else
		timeout -k 5 "$SECONDS_EACH" "$@" <"${STDIN:-/dev/null}" >"$name.out" 2>"$name.err" ||
			STATUS=$?
	fi
	if [[ $STATUS == 124 ]]; then
		show "$name"
		fail "$name: not done after $SECONDS_EACH s: $*"
	fi
}

# begin NAME COMMAND...: the same in the background, in a process group of its own, ready for ctrl-C;
# leaves JOB, its process number and group
begin() {
	local name=$1
	shift

	# now, not when the job gets there: nobody shall take an earlier job's output for this one's
	: >"$name.out" 2>"$name.err"
	env --default-signal=INT,QUIT setsid "$@" <"${STDIN:-/dev/null}" >"$name.out" 2>"$name.err" &
	# shellcheck disable=SC2034
	JOB=$!
}

# finish NAME JOB: waits for it; leaves STATUS
finish() {
	local end=$((SECONDS + SECONDS_EACH))

	while [[ -e /proc/$2 && $(cut -d' ' -f3 "/proc/$2/stat" 2>/dev/null) != Z ]]; do
		if [[ $SECONDS -ge $end ]]; then
			show "$1"
			fail "$1: not done after $SECONDS_EACH s"
		fi
		sleep 0.05
	done
	STATUS=0
	wait "$2" || STATUS=$?
}

# record [OPTION...] -- COMMAND...: into TRACE; leaves recorded.out, recorded.err, RECORDED_STATUS.
# RECORD_WITH holds options for all recordings: the same tests for other ways to record
record() {
	local options

	read -r -a options <<<"${RECORD_WITH-}"

	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	rm -rf "$TRACE"
	run recorded "$REPRISE" record -o "$TRACE" "${options[@]}" -- "$@"
	RECORDED_STATUS=$STATUS
	[[ -d $TRACE ]] || {
		show recorded
		fail "nothing was recorded"
	}
}

# replay NAME [OPTION...]: replays TRACE
replay() {
	local name=$1
	shift

	run "$name" "$REPRISE" replay "$@" "$TRACE"
}

# show NAME: the end of what a command wrote
show() {
	echo "--- $1.out"
	tail -n 12 "$1.out" | cut -c 1-300
	echo "--- $1.err"
	tail -n 12 "$1.err" | cut -c 1-300
	echo "---"
}

# --- checks

status_is() {
	[[ $STATUS == "$2" ]] || {
		show "$1"
		fail "$1: exit status $STATUS, not $2"
	}
}

# same NAME OTHER: both printed the same bytes
same() {
	cmp -s "$1.out" "$2.out" || {
		diff "$1.out" "$2.out" | cut -c 1-300 | head -n 20 || true
		show "$2"
		fail "$2 printed something else than $1"
	}
}

# same_lines REGEX NAME OTHER: the same for the lines that match; launchers add lines of their own
same_lines() {
	grep -E "$1" "$2.out" >"$2.lines" || true
	grep -E "$1" "$3.out" >"$3.lines" || true
	cmp -s "$2.lines" "$3.lines" || {
		diff "$2.lines" "$3.lines" | head -n 20 || true
		show "$3"
		fail "$3 printed other lines '$1' than $2"
	}
}

# says NAME REGEX: a line of ours on standard error matches
says() {
	grep -E '^reprise: ' "$1.err" | grep -qiE -- "$2" || {
		show "$1"
		fail "$1: no line 'reprise: ...' matches '$2'"
	}
}

# one_sentence NAME: standard error is one line of ours
one_sentence() {
	[[ $(wc -l <"$1.err") == 1 && $(cat "$1.err") == "reprise: "* ]] || {
		show "$1"
		fail "$1: standard error is not one line that begins 'reprise: '"
	}
}

# prints NAME REGEX: a line of standard output matches
prints() {
	grep -qiE -- "$2" "$1.out" || {
		show "$1"
		fail "$1: no line of standard output matches '$2'"
	}
}

# refused NAME REGEX: exit status 2, one sentence, nothing on standard output
refused() {
	status_is "$1" 2
	one_sentence "$1"
	says "$1" "$2"
	[[ ! -s $1.out ]] || fail "$1: a refusal that prints something on standard output"
}

# wait_until SECONDS COMMAND...: until it is true
wait_until() {
	local seconds=$1 end=$((SECONDS + $1))
	shift

	until "$@"; do
		[[ $SECONDS -lt $end ]] || fail "not done after $seconds s: waited in vain for: $*"
		sleep 0.05
	done
}

# within LIMIT WHAT: SECONDS, set to 0 when it began. In these words tests/run knows who ran out of time.
within() {
	((SECONDS < $1)) || fail "$2: not done after $1 s, but after $SECONDS"
}

# varies TIMES COMMAND...: two of at most TIMES runs differ, so equal replays mean something
varies() {
	local times=$1 i
	shift

	run varies.first "$@"
	for ((i = 2; i <= times; i++)); do
		run varies.other "$@"
		cmp -s varies.first.out varies.other.out || return 0
	done
	fail "$times runs without us printed the same: equal replays would show nothing: $*"
}

# replays_alike TIMES: TRACE replays with the recorded output and exit status, whatever the noise
replays_alike() {
	local i

	for ((i = 1; i <= $1; i++)); do
		replay "replay.$i" "--noise=$i"
		status_is "replay.$i" "$RECORDED_STATUS"
		same recorded "replay.$i"
	done
}

# exact TIMES PROGRAM [ARGUMENT...]: the whole claim. The program varies by itself; once recorded,
# with noise, it replays the same TIMES times, each with other noise, and once without.
exact() {
	local times=$1 program
	shift

	program=$(compile "$1")
	shift
	launcher "$RANKS"
	varies 40 "${LAUNCH[@]}" "$program" "$@"
	record --noise -- "${LAUNCH[@]}" "$program" "$@"
	status_is recorded 0
	[[ -s recorded.out ]] || fail "the recorded run printed nothing"
	replays_alike "$times"
	replay quiet
	status_is quiet 0
	same recorded quiet
}

# exact_alone TIMES PROGRAM [ARGUMENT...]: the same for a program without MPI
exact_alone() {
	local times=$1 program
	shift

	program=$(compile "$1" plain)
	shift
	varies 40 "$program" "$@"
	record --noise -- "$program" "$@"
	status_is recorded 0
	[[ -s recorded.out ]] || fail "the recorded run printed nothing"
	replays_alike "$times"
	replay quiet
	status_is quiet 0
	same recorded quiet
}

# rounds FIRST LAST PROGRAM [ARGUMENT...]: records and replays, each round with noise of its own
rounds() {
	local first=$1 last=$2 i program
	shift 2

	program=$(compile "$1")
	shift
	launcher "$RANKS"
	for ((i = first; i <= last; i++)); do
		record "--noise=$i" -- "${LAUNCH[@]}" "$program" "$@"
		status_is recorded 0
		replay replayed "--noise=$((1000 + i))"
		status_is replayed 0
		same recorded replayed
		cp recorded.out "round.$i"
	done
	# The rounds themselves are different runs.
	[[ $(cat_sums round.*) -gt 1 ]] || fail "all recorded runs were the same"
}

# rounds_alone FIRST LAST PROGRAM: the same without MPI; the number of the round is the argument
rounds_alone() {
	local first=$1 last=$2 i program

	program=$(compile "$3" plain)
	for ((i = first; i <= last; i++)); do
		record "--noise=$i" -- "$program" "$i"
		status_is recorded 0
		replay replayed "--noise=$((1000 + i))"
		status_is replayed 0
		same recorded replayed
	done
	record -- "$program" 1
	cp recorded.out again.out
	record --noise -- "$program" 1
	! cmp -s recorded.out again.out || fail "two runs of one seed were the same"
}

cat_sums() {
	cksum "$@" | cut -d' ' -f1 | sort -u | wc -l
}

# --- processes

# rank_pid RANK: the process that is this rank of this test
rank_pid() {
	local pid

	for pid in $(test_processes); do
		if grep -qzxF "REPRISE_RANK=$1" "/proc/$pid/environ" 2>/dev/null &&
			[[ $(readlink "/proc/$pid/exe") == "$BUILD/tests/"* ]]; then
			echo "$pid"
			return
		fi
	done
	return 1
}

# launcher_pid: the process of mpirun
launcher_pid() {
	local pid

	for pid in $(test_processes); do
		case $(readlink "/proc/$pid/exe") in
		*/orterun | */mpiexec.hydra | */mpirun | */mpiexec)
			echo "$pid"
			return
			;;
		esac
	done
	return 1
}

nothing_runs() {
	[[ -z $(test_processes) ]]
}

# lines_are NUMBER REGEX FILE
lines_are() {
	[[ $(grep -cE "$2" "$3" 2>/dev/null) == "$1" ]]
}

# ended_run HOW MESSAGES WHO [REPLAYS]: records the program `crash`, which ends by itself, and
# replays it to the same end
ended_run() {
	local how=$1 messages=$2 who=$3 times=${4:-3} i program

	program=$(compile crash)
	launcher 4
	record --noise -- "${LAUNCH[@]}" "$program" "$how" "$messages" "$who"
	lines_are "$messages" '^from [0-9]+$' recorded.out || {
		show recorded
		fail "the recorded run did not print its $messages lines"
	}
	for ((i = 1; i <= times; i++)); do
		replay "replay.$i" "--noise=$i"
		status_is "replay.$i" "$RECORDED_STATUS"
		same_lines '^from ' recorded "replay.$i"
	done
}

# killed_run HOW: begins to record the program `crash HOW`, waits for its 30 lines; JOB runs on
killed_run() {
	local program

	program=$(compile crash)
	launcher 4
	rm -rf "$TRACE"
	begin recorded "$REPRISE" record --noise -o "$TRACE" "${LAUNCH[@]}" "$program" "$1" 30
	wait_until 30 lines_are 30 '^from [0-9]+$' recorded.out
}

# killed_run_replays: the run that was ended from outside replays to where it was
killed_run_replays() {
	local i

	wait_until 30 nothing_runs
	for i in 1 2; do
		replay "replay.$i" "--noise=$i"
		same_lines '^from ' recorded "replay.$i"
		says "replay.$i" 'recording ends|ends here|end of the recording'
		[[ $STATUS != 120 && $STATUS != 125 ]] || {
			show "replay.$i"
			fail "replay.$i: exit status $STATUS"
		}
	done
}

# --- exploring

# alternative WAY HOW: records the program `alternative` with rank 1 first, and explores its one race,
# so that rank 2 is first; leaves explored.out and STATUS
alternative() {
	local program

	program=$(compile alternative)
	launcher 3
	record -- "${LAUNCH[@]}" "$program" "$1" "$2"
	status_is recorded 0
	run explored "$REPRISE" explore --patience=5 "$TRACE"
}

# explored_replays NUMBER STATUS [TIMES]: the explored trace of that number, noisy, three times
explored_replays() {
	local i trace=$TRACE/explore/$1 times=${3:-3}

	cat "$trace"/output/rank-*.out >"explored.$1.out"
	for ((i = 1; i <= times; i++)); do
		run "replay.$1.$i" "$REPRISE" replay "--noise=$i" "$trace"
		status_is "replay.$1.$i" "$2"
		same_lines '^(sum|first) ' "explored.$1" "replay.$1.$i"
	done
}

# served PROGRAM [ARGUMENT...]: each rank of a recorded run, served with what it received by its log
# alone, does the same again
served() {
	local program

	program=$(compile "$1")
	shift
	launcher "$RANKS"
	record --noise -- "${LAUNCH[@]}" "$program" "$@"
	run logged "$REPRISE" checkpoint "$TRACE"
	status_is logged 0
	[[ ! -s logged.err ]] || {
		show logged
		fail "checkpoint has something to say"
	}
	serve
}

# serve: the same for a trace that has its log; first all at once, then each as the only process
serve() {
	local rank

	REPRISE_FAULT=recover replay served
	status_is served "$RECORDED_STATUS"
	sort recorded.out >recorded.sorted.out
	sort served.out >served.sorted.out
	same recorded.sorted served.sorted
	: >alone.all
	for ((rank = 0; rank < RANKS; rank++)); do
		replay alone --only "$rank"
		status_is alone "$RECORDED_STATUS"
		[[ ! -s alone.err ]] || {
			show alone
			fail "rank $rank alone has something to say"
		}
		cat alone.out >>alone.all
	done
	sort alone.all >alone.sorted.out
	same recorded.sorted alone.sorted
}
