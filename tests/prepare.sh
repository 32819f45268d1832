#!/bin/sh
# Installs what the tests need beside Rust and a C compiler: PostgreSQL and nginx. Builds the faulty Tomcat where there
# is a JDK with Maven; where there is none, what needs it is skipped, and says so.
set -eu
if command -v mvn >/dev/null 2>&1 && command -v javac >/dev/null 2>&1; then
    (cd targets/tomcat-faults && mvn -q -B package) || echo "The faulty Tomcat was not built; what needs it is skipped." >&2
else
    echo "No JDK with Maven: what needs a JVM is skipped." >&2
fi
missing=
[ -n "$(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null)" ] || command -v initdb >/dev/null 2>&1 || missing="$missing postgresql"
command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    # The packages would start services of their own on standard ports; the tests start theirs elsewhere.
    keep=/usr/sbin/policy-rc.d
    if [ ! -e "$keep" ]; then
        printf '#!/bin/sh\nexit 101\n' > "$keep"
        chmod +x "$keep"
        trap 'rm -f "$keep"' EXIT
    fi
    apt-get update -qq
    apt-get install -y -qq $missing
else
    echo "Not installed:$missing. The tests that need them are skipped, and say so." >&2
    echo "On Debian or Ubuntu: sudo apt-get install$missing" >&2
fi
