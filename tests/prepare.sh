#!/bin/sh
# Installs what the tests need beside Rust and a C compiler: PostgreSQL and nginx.
set -eu
missing=
[ -n "$(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null)" ] || command -v initdb >/dev/null 2>&1 || missing="$missing postgresql"
command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    # The packages start services of their own on standard ports; the tests start theirs elsewhere.
    printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d
    apt-get update -qq && apt-get install -y -qq $missing
    rm -f /usr/sbin/policy-rc.d
else
    echo "Not installed:$missing. The tests that need them are skipped, and say so." >&2
    echo "On Debian or Ubuntu: sudo apt-get install$missing" >&2
fi
