#!/bin/sh
# All tests, side by side; those that fail run once more, one at a time. What fails only beside others is told at the end and is no
# failure of the product: a load is timed on processors that seven other tests share. More than a few, or a program that died, is.
# Usage: tests/run.sh THREADS
set -eu
few=5
log=$(mktemp) && trap 'rm -f "$log" "$log.rc"' EXIT
tests() { cargo test --workspace --exclude torment-bench --tests "$@"; }

{ rc=0; tests --no-fail-fast -- --test-threads="$1" 2>&1 || rc=$?; echo $rc >"$log.rc"; } | tee "$log"
rc=$(cat "$log.rc")
[ "$rc" != 0 ] || exit 0

failed=$(sed -n 's/^test \([^ ]*\).* \.\.\. FAILED$/\1/p' "$log" | sort -u)
programs=$(grep -c '^    `-p .*`$' "$log" || true)
told=$(grep -c '^test result: FAILED' "$log" || true)
counted=$(sed -n 's/^test result: FAILED\. [0-9]* passed; \([0-9]*\) failed.*/\1/p' "$log" | paste -sd+ | sed 's/^$/0/')
if [ -z "$failed" ] || [ "$programs" != "$told" ] || [ $((counted)) != "$(echo "$failed" | wc -l)" ] || [ $((counted)) -gt $few ]; then
    exit "$rc"
fi
echo "Once more, one at a time:" $failed
tests --no-fail-fast -- --exact --test-threads=1 $failed
echo "FAILED BESIDE OTHERS, PASSED ALONE:" $failed
