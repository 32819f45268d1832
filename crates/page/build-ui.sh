#!/bin/sh
# Builds the page with npm, to be put into the binary. Where npm or a network is missing that is said in one line and is no
# failure: the binary then holds a few words instead. A page that does not build is one.
set -eu
cd "$(dirname "$0")/ui"

without() { echo "The page is not built ($1); torment is built without it, and says so. Then run: make page build" >&2; exit 0; }

[ -f package.json ] || without "crates/page/ui is not there"
command -v npm >/dev/null 2>&1 || without "no npm; on Debian or Ubuntu: sudo apt-get install npm"
if ! [ node_modules/.package-lock.json -nt package-lock.json ]; then
    said=$(npm ci --no-audit --no-fund --fetch-retries=1 2>&1) || { echo "$said" | tail -n 3 >&2; without "npm ci fails, see above"; }
fi
npm run --silent build
