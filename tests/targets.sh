#!/bin/sh
# Whether the services in targets/ keep their contract: started on one PostgreSQL of this test's own, they answer as
# `torment target` does, end when asked to, and refuse knobs that cannot be turned. tests/prepare.sh builds them.
# Usage: tests/targets.sh TORMENT
set -eu
cd "$(dirname "$0")/.."
torment=$(realpath "${1:?the torment binary}")
folder=$(mktemp -d)
pids= failures=0

skip() { echo "SKIPPED: $*" >&2; }
fail() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }

ended() { ! kill -0 "$1" 2>/dev/null; }

# Waits at most so many tenths of a second for a command to succeed.
within() {
    patience=$1
    shift
    until "$@"; do
        patience=$((patience - 1))
        [ "$patience" -gt 0 ] || return 1
        sleep 0.1
    done
}

clean() {
    for pid in $pids; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in $pids; do within 50 ended "$pid" || kill -KILL "$pid" 2>/dev/null || true; done
    [ -z "${database:-}" ] || { kill -INT "$database" 2>/dev/null && within 100 ended "$database"; } || true
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 130' INT TERM

# A PostgreSQL in an empty folder. It refuses to run as root; then it is the packages' user who does.
programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$programs" ] || programs=$(dirname "$(command -v initdb || echo .)")
if [ ! -x "$programs/initdb" ] || ! command -v psql >/dev/null || ! command -v curl >/dev/null; then
    skip "the services in targets/: PostgreSQL or curl is not installed"
    exit 0
fi
as=
if [ "$(id -u)" = 0 ]; then
    chown postgres "$folder"
    as="setpriv --reuid=postgres --regid=postgres --clear-groups"
fi
$as "$programs/initdb" --auth=trust --username=postgres --encoding=UTF8 --no-locale --no-sync -D "$folder/data" >/dev/null

# A port may be taken: then it is tried with the next. Below the range from which the kernel gives outgoing connections theirs.
port=$((20000 + $$ % 10000))
postgres_ready() { grep -q '^ready' "$folder/data/postmaster.pid" 2>/dev/null; }
for attempt in 1 2 3 4 5; do
    port=$((port + 1))
    (cd "$folder" && exec $as "$programs/postgres" -D data -k "$folder" -h 127.0.0.1 -p "$port" -c fsync=off \
        >"$folder/postgres.log" 2>&1) &
    database=$!
    within 300 eval 'postgres_ready || ended $database' && ! ended $database && break
    database=
done
[ -n "$database" ] || { cat "$folder/postgres.log" >&2; exit 1; }
server="postgres://postgres@127.0.0.1:$port"
sql() { psql --quiet --no-psqlrc --tuples-only --set ON_ERROR_STOP=1 "$@"; }
sql "$server/postgres" -c "CREATE DATABASE clinic" -c "CREATE DATABASE other" -c "CREATE DATABASE empty"
sql "$server/clinic" -f targets/clinic.sql

listens() { grep -q "^listening on" "$folder/$1.log"; }

# Starts a service and reads its port from the line that it prints: start NAME COMMAND…
start() {
    name=$1
    shift
    : >"$folder/$name.log"
    "$@" >"$folder/$name.log" 2>&1 &
    pid=$!
    pids="$pids $pid"
    within 600 eval "listens $name || ended $pid" || true
    if ! listens "$name"; then
        fail "$name does not start: $(cat "$folder/$name.log")"
        return 1
    fi
    where=$(sed -n 's/^listening on //p' "$folder/$name.log")
}

# A service is asked to end and does, in two seconds: stop NAME PID
stop() {
    kill -TERM "$2"
    within 20 ended "$2" || fail "$1 has not ended two seconds after SIGTERM"
    [ "$(wc -l <"$folder/$1.log")" = 1 ] || fail "$1 printed more than that it listens: $(cat "$folder/$1.log")"
}

# Status, media type and body of an answer. What is spelled in two ways means the same: html/template of Go writes &#34;
# and &#43;, and JSON may end in a new line, which $(…) removes.
get() {
    status=$(curl -s --max-time 20 -o "$folder/body" -w '%{http_code} %{content_type}' "$@" | sed 's/;.*//') || true
    body=$(sed 's/&#34;/\&quot;/g; s/&#43;/+/g' "$folder/body")
}

# Asks ours and another for the same: same NAME PATH
same() {
    get "$ours$2"
    expected="$status
$body"
    get "$where$2"
    [ "$status
$body" = "$expected" ] || fail "$1: GET $2 is answered
$status
$body
and by torment target
$expected"
}

# status NAME EXPECTED CURL-ARGUMENTS…
status() {
    name=$1 expected=$2
    shift 2
    get "$@"
    [ "${status%% *}" = "$expected" ] || fail "$name: $* is answered $status, expected $expected: $body"
}

form="first_name=Ann&last_name=%3Cb%3E%C3%9C%26%22%27&address=1+Fair+Way&city=Monona&telephone=0123456789"

# All of a service's contract: contract NAME
contract() {
    for path in / /owners/1 /owners/2 /owners/3 /owners/999 /owners/1000 /owners/0 /owners/1000000 /owners/-1 /owners/abc \
        /owners/99999999999 /fortunes /json "/json?ms=20" "/json?ms=1.5" "/json?ms=x" "/json?ms=-1" "/json?ms=" /healthz; do
        same "$1" "$path"
    done
    for path in /nope /owners /owners/1/pets /json/; do status "$1" 404 "$where$path"; done
    status "$1" 405 -X POST "$where/fortunes"
    status "$1" 200 -I "$where/fortunes"

    # Blocking or not, many wait at once.
    before=$(date +%s)
    seq 100 | xargs -P 50 -I N curl -s -o /dev/null -w '%{http_code}\n' "$where/json?ms=500" >"$folder/statuses"
    [ "$(sort "$folder/statuses" | uniq -c | tr -d ' ')" = 100200 ] || fail "$1: of 100 waiting requests not all got 200"
    [ $(($(date +%s) - before)) -lt 40 ] || fail "$1: 100 requests of half a second, 50 at once, took $(($(date +%s) - before)) s"

    # A write is a row, is where it says, and leaves nothing else behind.
    rows=$(sql "$server/clinic" -c "SELECT count(*) FROM owners")
    head=$(curl -s -D - -o /dev/null --data "$form" "$where/owners/new" | tr -d '\r')
    new=$(echo "$head" | sed -n 's/^[Ll]ocation: //p')
    case "$head" in *" 302"*) ;; *) fail "$1: a good form is answered $head" ;; esac
    case "$head" in *[Ss]et-[Cc]ookie*) fail "$1: a write makes a session: $head" ;; esac
    case "$new" in /owners/[0-9]*) same "$1" "$new" ;; *) fail "$1: a good form leads to '$new'" ;; esac
    [ $(($(sql "$server/clinic" -c "SELECT count(*) FROM owners"))) = $((rows + 1)) ] || fail "$1: a write is not one row"
    same "$1" /owners/count

    long=$(printf '%0256d' 0)
    for bad in "" "${form%telephone*}telephone=01234567890" "${form%telephone*}telephone=12a" \
        "$(echo "$form" | sed "s/Monona/$long/")" "$(echo "$form" | sed 's/Monona/%07/')" "$(echo "$form" | sed 's/Monona/+/')"; do
        get --data "$bad" "$ours/owners/new"
        expected="$status $body"
        get --data "$bad" "$where/owners/new"
        [ "$status $body" = "$expected" ] || fail "$1: the form '$bad' is answered $status $body; by torment target $expected"
    done
    [ $(($(sql "$server/clinic" -c "SELECT count(*) FROM owners"))) = $((rows + 1)) ] || fail "$1: a bad form made a row"
}

# A wrong knob is one line that names it, and exit code 2: refuses NAME KNOB COMMAND…
refuses() {
    name=$1 knob=$2
    shift 2
    code=0
    said=$(env "$knob" "$@" 2>&1) || code=$?
    [ "$code" = 2 ] && [ "$(echo "$said" | wc -l)" = 1 ] || fail "$name: $knob ends it with $code and: $said"
    case $said in *"${knob%%=*}"*) ;; *) fail "$name: $knob is not named: $said" ;; esac
}

# A database without the tables is one line that says what to do, and exit code 1: wants_tables NAME COMMAND…
wants_tables() {
    name=$1
    shift
    code=0
    said=$(env DATABASE_URL="$server/empty" "$@" 2>&1) || code=$?
    [ "$code" = 1 ] && [ "$(echo "$said" | wc -l)" = 1 ] || fail "$name: without tables it ends with $code and: $said"
    case $said in *clinic.sql*) ;; *) fail "$name: without tables it says $said" ;; esac
}

start ours "$torment" target --listen 0 --database "$server/clinic"
ours=$where
start seeded "$torment" target --listen 0 --database "$server/other"
dump() { "$programs/pg_dump" --inserts "$1" | grep -v restrict; }
dump "$server/other" >"$folder/seeded"
dump "$server/clinic" | cmp - "$folder/seeded" || fail "targets/clinic.sql makes other rows than torment target"

export DATABASE_URL="$server/clinic" PORT=0 CLINIC_PORT=0

if [ ! -f targets/spring-clinic/target/spring-clinic.jar ]; then
    skip "targets/spring-clinic is not built"
else
    jar="-XX:TieredStopAtLevel=1 -jar targets/spring-clinic/target/spring-clinic.jar"
    start spring java $jar && {
        contract spring
        curl -s "$where/actuator/prometheus" >"$folder/metrics"
        for metric in hikaricp_connections_active tomcat_threads_busy_threads http_server_requests_seconds_count; do
            grep -q "^$metric" "$folder/metrics" || fail "spring: no $metric among its metrics"
        done
        stop spring "$pid"
    }
    start spring-deferred env CLINIC_STYLE=deferred CLINIC_THREADS=4 java $jar && { contract spring-deferred; stop spring-deferred "$pid"; }
    if targets/java25 -version >/dev/null 2>&1; then
        start spring-virtual env CLINIC_VIRTUAL=true targets/java25 $jar && { contract spring-virtual; stop spring-virtual "$pid"; }
    else
        skip "virtual threads: $(targets/java25 -version 2>&1)"
    fi
    for knob in CLINIC_THREADS=0 CLINIC_STYLE=odd DATABASE_URL=mysql://me@127.0.0.1/x; do refuses spring $knob java $jar; done
    wants_tables spring java $jar
fi

if [ ! -d targets/node-users/node_modules ]; then
    skip "targets/node-users is not built"
else
    start node node targets/node-users/server.js && { contract node; stop node "$pid"; }
    start node-two env WORKERS=2 POOL=3 node targets/node-users/server.js && { contract node-two; stop node-two "$pid"; }
    for knob in POOL=0 WORKERS=x PORT=65536 DATABASE_URL=; do refuses node $knob node targets/node-users/server.js; done
    wants_tables node node targets/node-users/server.js
fi

if [ ! -x targets/go-clinic/go-clinic ]; then
    skip "targets/go-clinic is not built"
else
    start go targets/go-clinic/go-clinic && { contract go; stop go "$pid"; }
    for knob in POOL=0 GOMAXPROCS=x PORT=65536 DATABASE_URL=; do refuses go $knob targets/go-clinic/go-clinic; done
    wants_tables go targets/go-clinic/go-clinic
fi

sql "$server/clinic" -f targets/clinic-reset.sql >/dev/null
dump "$server/clinic" | cmp - "$folder/seeded" || fail "targets/clinic-reset.sql does not put the rows back"

[ "$failures" = 0 ] || { echo "$failures failures in targets/" >&2; exit 1; }
echo "The services in targets/ answer as torment target does."
