#!/bin/sh
# All tests, side by side; those that fail run once more, one at a time. What fails only beside others is told at the end and is no
# failure of the product: a load is timed on processors that seven other tests share. More than a few, or a program that died, is.
# Usage: tests/run.sh THREADS
set -eu
few=5
log=$(mktemp) && trap 'rm -f "$log" "$log.rc" "$log.unit"' EXIT
tests="cargo test --workspace --exclude torment-bench"

# Unit tests make no load: they take what the others leave of the processors, and are shown when those have ended.
nice -n 19 $tests --lib --bins --no-fail-fast -- --test-threads="$1" >"$log.unit" 2>&1 &
unit=$!
{ rc=0; $tests --test '*' --no-fail-fast -- --test-threads="$1" 2>&1 || rc=$?; echo $rc >"$log.rc"; } | tee "$log"
rc=$(cat "$log.rc")
wait $unit || rc=$?
tee -a "$log" <"$log.unit"
[ "$rc" != 0 ] || exit 0

failed=$(sed -n 's/^test \([^ ]*\).* \.\.\. FAILED$/\1/p' "$log" | sort -u)
programs=$(grep -c '^    `-p .*`$' "$log" || true)
told=$(grep -c '^test result: FAILED' "$log" || true)
counted=$(sed -n 's/^test result: FAILED\. [0-9]* passed; \([0-9]*\) failed.*/\1/p' "$log" | paste -sd+ | sed 's/^$/0/')
if [ -z "$failed" ] || [ "$programs" != "$told" ] || [ $(($counted)) != "$(echo "$failed" | wc -l)" ] || [ $(($counted)) -gt $few ]; then
    exit "$rc"
fi
echo "Once more, one at a time:" $failed
$tests --tests --no-fail-fast -- --exact --test-threads=1 $failed
echo "FAILED BESIDE OTHERS, PASSED ALONE:" $failed
