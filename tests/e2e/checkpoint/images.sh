# SPDX-License-Identifier: Apache-2.0
# For tests of images. shellcheck shell=bash

# images_made NAME: `run NAME` with REPRISE_FAULT=images has taken all images, and no page has changed without the
# kernel's telling: that would be said, and the status is the same
images_made() {
	status_is "$1" 0
	[[ ! -s $1.err ]] || fail "$1: checkpoint has something to say: $(cat "$1.err")"
}

# unwritten_told RANK: there were pages that were not read again, if this kernel tells which were not written
unwritten_told() {
	"$(compile tells-written plain)" || return 0
	awk '{ pages += $1 } END { exit !(pages > 0) }' "$TRACE/ckpt/rank-$1/unwritten" || fail "all pages were read each time"
}

# tail_of NAME WHOLE: what NAME printed is the end of what WHOLE printed, on both streams
tail_of() {
	local stream

	for stream in out err; do
		tail -c "$(stat -c %s "$1.$stream")" "$2.$stream" | cmp - "$1.$stream" >&2 || {
			show "$1"
			fail "$1.$stream is not the end of $2.$stream"
		}
	done
}

# each_image: goes on from every image, the last one first, and sees the recorded end; how many is left in
# IMAGES; in TOLD whether it was said that files are not compared
each_image() {
	local image dir=$TRACE/ckpt/rank-0000

	IMAGES=0
	SHORTER=0
	TOLD=0
	for image in $(find "$dir" -name '*.image' -printf '%f\n' | sort -rn); do
		run from "$REPRISE" replay --from end "$TRACE"
		status_is from "$RECORDED_STATUS"
		! grep -q 'files that the program writes were not compared' from.err || TOLD=1
		sed -i '/were not compared: this replay began in the middle/d' from.err
		grep -v '^reprise: recorded in' recorded.err >whole.err || true
		cp recorded.out whole.out
		tail_of from whole
		[[ $(stat -c %s from.out) -ge $(stat -c %s recorded.out) ]] || SHORTER=$((SHORTER + 1))
		rm "$dir/$image"
		IMAGES=$((IMAGES + 1))
		[[ $IMAGES -lt ${1:-1000} ]] || break
	done
	[[ $SHORTER -ge 1 ]] || fail "none of them printed less than the whole"
}

# ended_alike WHAT RANK...: `from` ended as recorded, and each of these ranks, and no other, printed the end of what it
# did; SHORTER counts those that printed less than the whole
SHORTER=0
ended_alike() {
	local what=$1 rank n
	shift

	status_is from "$RECORDED_STATUS"
	! grep -Ev 'were not compared: this replay is of ranks alone' from.err || fail "$what: something is said"
	for rank in "$@"; do
		grep "^rank $rank " from.out >from.lines || true
		grep "^rank $rank " recorded.out >recorded.lines || true
		n=$(wc -l <from.lines)
		tail -n "$n" recorded.lines | cmp - from.lines || fail "$what: rank $rank printed something else"
		[[ $n == "$(wc -l <recorded.lines)" ]] || SHORTER=$((SHORTER + 1))
	done
	n=$(grep -cE '^rank [0-9]+ ' from.out || true)
	[[ $n == "$(grep -cE "^rank ($(IFS='|' && echo "$*")) " from.out || true)" ]] || fail "$what: another rank printed"
}
