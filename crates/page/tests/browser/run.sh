#!/bin/sh
# The page in a real browser: run.sh [TORMENT], where TORMENT is the binary whose live page is looked at too. Screenshots go
# to target/screenshots. What is missing is said, and the tests are skipped.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)

skipped() { echo "SKIPPED: the browser tests of the page ($1)"; exit 0; }

command -v npm >/dev/null 2>&1 || skipped "no npm"
[ -x "${CHROMIUM:=/usr/bin/chromium}" ] || skipped "no $CHROMIUM; on Debian: apt-get install chromium"
"$here/../../build-ui.sh"
[ -f "$here/../../ui/dist/index.html" ] || skipped "the page is not built"
[ -d "$here/../../ui/node_modules/playwright-core" ] || skipped "no playwright-core in crates/page/ui/node_modules"

(cd "$here/../../ui" && npm test --silent)
export CHROMIUM
export SCREENSHOTS="$root/target/screenshots"
mkdir -p "$SCREENSHOTS"
if [ $# -gt 0 ]; then
    TORMENT=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
    export TORMENT
fi
# A test that fails leaves its server behind, for which the others would wait.
browse() { node --test --test-concurrency=2 --test-force-exit "$@"; }
# With its search this takes as long as all others, which run beside it.
longest=$here/real.test.mjs
browse "$longest" &
search=$!
set --
for tests in "$here"/*.test.mjs; do
    [ "$tests" = "$longest" ] || set -- "$@" "$tests"
done
failed=0
browse "$@" || failed=$?
wait $search || failed=$?
exit $failed
