#!/bin/sh
# All tests, side by side; those that fail run once more, one at a time. What fails only beside others is told at the end and is no
# failure of the product: a load is timed on processors that other tests share. More than a few is one, and a program that died, did not end, or
# left a process behind.
# Usage: tests/run.sh THREADS [CRATE…]      of these crates the integration tests make no load
set -eu
few=10
# Three times what the longest takes on two processors.
longest=20m
threads=$1
shift
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

# Each program, and the folder in which it runs, as cargo would.
cargo test --workspace --exclude torment-bench --tests --no-run --message-format=json-render-diagnostics >"$work/built"
sed -n 's/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"kind":\["\([a-z]*\)"\].*"test":true},"features".*"executable":"\([^"]*\)".*/\1 \2 \3/p' "$work/built" >"$work/programs"
[ -s "$work/programs" ] || { echo "tests/run.sh: cargo names no programs" >&2; exit 1; }

# Where FOLDER KIND runs: unit tests make no load. Those of observe ask the kernel and Java machines, and do not wait for long.
lane() {
    case "${1##*/} $2" in
        *\ test) ;;
        observe\ *) echo beside; return ;;
        *) echo quiet; return ;;
    esac
    case " $unloaded " in *" ${1##*/} "*) echo quiet; return ;; esac
    case ${1##*/} in
        torment) echo first ;;
        # None of these measures how long something takes.
        profile | service) echo beside ;;
        *) echo loads ;;
    esac
}
unloaded=$*

# Says who writes to this log still, a second after the end, and is true if nobody does: left LOG
left() {
    for try in 1 2 3 4 5; do
        holders=$(find /proc/[0-9]*/fd -lname "$1" 2>/dev/null | sed 's|/proc/\([0-9]*\)/.*|\1|' | sort -u)
        [ -n "$holders" ] || return 0
        sleep 0.2
    done
    for pid in $holders; do echo "LEFT BEHIND: process $pid, $(tr '\0' ' ' <"/proc/$pid/cmdline")"; done
    return 1
}

# One after another, of this lane: all LANE [BEFORE EACH…].
all() {
    which=$1
    shift
    while read -r folder kind program; do
        [ "$(lane "$folder" "$kind")" = "$which" ] || continue
        log=$work/${program##*/}.log
        echo "Running $kind of ${folder##*/}"
        cd "$folder"
        # Not through a pipe: who is left behind would keep it open.
        timeout --foreground --kill-after=10 $longest "$@" "$program" --test-threads="$threads" >"$log" 2>&1 </dev/null || echo "$folder $program $log" >>"$work/failed"
        cat "$log"
        left "$log" || echo "$folder $program $log" >>"$work/left"
    done <"$work/programs"
}

# Those without a load take what the others leave of the processors, and are shown when those have ended.
all quiet nice -n 19 >"$work/quiet.log" 2>&1 &
quiet=$!
all first
all beside >"$work/beside.log" 2>&1 &
beside=$!
all loads
wait $beside
cat "$work/beside.log"
wait $quiet
cat "$work/quiet.log"
[ ! -e "$work/left" ] || exit 1
[ -e "$work/failed" ] || exit 0

# What has failed by its own word, of how many.
again=
while read -r folder program log; do
    names=$(sed -n 's/^test \([^ ]*\).* \.\.\. FAILED$/\1/p' "$log" | sort -u)
    counted=$(sed -n 's/^test result: FAILED\. [0-9]* passed; \([0-9]*\) failed.*/\1/p' "$log")
    [ -n "$names" ] && [ "$counted" = "$(echo "$names" | wc -l)" ] || { echo "DIED, OR DID NOT END WITHIN $longest: $program"; exit 1; }
    again="$again $names"
done <"$work/failed"
[ "$(echo $again | wc -w)" -le $few ] || exit 1
echo "Once more, one at a time:" $again
while read -r folder program log; do
    cd "$folder"
    timeout --foreground --kill-after=10 $longest "$program" --exact --test-threads=1 $(sed -n 's/^test \([^ ]*\).* \.\.\. FAILED$/\1/p' "$log" | sort -u) </dev/null
done <"$work/failed"
echo "FAILED BESIDE OTHERS, PASSED ALONE:" $again
