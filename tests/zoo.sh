#!/bin/sh
# Whether `torment find` is right on services as people run them: targets/zoo/ has a folder for each, with a plan that starts it and the truth.
# Prints a table, and fails if a row is wrong. docs/method/zoo.md says how a row is judged; target/zoo/ has what was found.
# Usage: tests/zoo.sh TORMENT [ROW…]          these rows, or all, one after the other
#        tests/zoo.sh TORMENT --cheap         those whose truth names options for `make test`, side by side, twice if need be; only the rate and
#                                             the loss are judged then, for they want no quiet machine
set -eu
cd "$(dirname "$0")/.."
torment=$(realpath "${1:?the torment binary}")
shift
export PATH="$PATH:/usr/sbin:/sbin"
kept=$PWD/target/zoo
mkdir -p "$kept"

has() {
    case $1 in
        initdb) [ -n "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null)" ] || command -v initdb >/dev/null ;;
        php-fpm) ls /usr/sbin/php-fpm* >/dev/null 2>&1 ;;
        */*) [ -e "$1" ] ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

# serde_json's pretty form, a line for each value: limits.0.held 497.6
flat() {
    awk '{ gsub(/^ +|,$/, "") }
        /^[]}]$/ { depth--; next }
        { key = ""; value = $0 }
        match($0, /^"[^"]*": /) { key = substr($0, 2, RLENGTH - 4); value = substr($0, RLENGTH + 1) }
        key == "" && depth { key = count[depth]++ }
        { name = depth > 1 ? path[depth] "." key : key }
        value ~ /^[[{]$/ { path[++depth] = name; count[depth] = 0; next }
        { gsub(/^"|"$/, "", value); print name, value }' "$1"
}

# The value at a path of what was found, nothing if it is null: found PATH
found() { sed -n "s/^$(echo "$1" | sed 's/\./\\./g') //p" "$kept/$name.flat" | grep -vx null || true; }

# What a closed loop gets answered a second, while torment has the plan's service run and asks it once a second itself.
plateau() {
    url=$(sed -n 's|^url = "\(http://[^/]*\).*|\1|p' "$1/plan.toml")$path
    "$torment" run "$1/plan.toml" -r 1 -d $((warm + 320))s --no-watch --no-store >/dev/null 2>"$kept/$name.wrk" &
    holder=$!
    # A service may listen before it is ready: torment's first line about its load tells.
    until grep -q achieved "$kept/$name.wrk" || ! kill -0 $holder 2>/dev/null; do sleep 0.2; done
    # On the processor that the plan gives the generator.
    core=$(sed -n '/^\[generator\]/,$s/^cores = \[\(.*\)\]/\1/p' "$1/plan.toml")
    set -- taskset -c "$core" wrk -t1 -c"$wrk" ${script:+-s "$1/$script"}
    [ "$warm" = 0 ] || "$@" -d"${warm}s" "$url" >/dev/null
    # What is compiled while it is loaded gets faster, on a slow machine for minutes: until two more windows in a row get no more, the middle one of the three.
    level= windows=$((warm ? 30 : 1))
    while [ $windows -gt 0 ] && kill -0 $holder 2>/dev/null; do
        now=$("$@" -d10s "$url" | tee -a "$kept/$name.wrk" | sed -n 's/^Requests\/sec: *//p')
        [ -z "$now" ] || level=$(echo "$now $level" | awk '{ print ($1 > 1.03 * $2) ? $1 : $2 " " $3 " " $1 }')
        windows=$((windows - 1))
        [ "$(echo $level | wc -w)" -lt 3 ] || break
    done
    echo $level | tr ' ' '\n' | sort -n | sed -n "$(($(echo $level | wc -w) / 2 + 1))p"
    kill -INT $holder 2>/dev/null || true
    wait $holder || true
}

# One line of the table, nothing if what it needs is not there: row NAME
row() {
    name=$1 folder=targets/zoo/$1
    rate= wrk= path=/ script= warm=0 from= to= loss=0 gave= needs= cheap= ours= says=
    [ -f "$folder/truth" ] || { echo "| $name | | | | | | | no: there is no $folder/truth |"; return; }
    . "./$folder/truth"
    for program in $needs ${wrk:+wrk}; do
        (cd "$folder" && has "$program") || { echo "SKIPPED: $name, for there is no $program" >&2; return; }
    done
    [ -z "$wrk" ] || rate=$(plateau "$folder")
    if [ -z "$in_short" ]; then
        judged
    else
        line=$(judged $cheap)
        case $line in *"| yes |") ;; *) line=$(judged $cheap) ;; esac
        case $line in
            *"| busy |" | *"| undecided |")
                echo "SKIPPED: others take too much of this machine: $line" >&2
                echo "$line" >>"$undecided"
                ;;
            *) echo "$line" ;;
        esac
    fi
}

# The line of a search with these options: judged [OPTION…]
judged() {
    code=0
    # Interrupted it says what it has found so far.
    set -- timeout --kill-after=20 -s INT 600 "$torment" find "$folder/plan.toml" "$@" --no-store --format json
    # The kernel shares the processors among sessions: beside browsers a search wants one of its own, of more weight where that is allowed.
    [ -z "$in_short" ] || set -- setsid -w sh -c 'echo -10 >/proc/self/autogroup; exec "$@"' - "$@"
    "$@" >"$kept/$name.json" 2>"$kept/$name.log" || code=$?
    flat "$kept/$name.json" >"$kept/$name.flat"

    seconds=$(awk '/^trials\.[0-9]+\.loaded_seconds / { took = $2 } /^trials\.[0-9]+\.purpose / {
        if ($2 == "warm_up") { if (!warmed) all = 0; warmed = 1 } else all += took } END { print int(all + 0.5) }' "$kept/$name.flat")
    resent=$(awk '/^trials\.[0-9]+\.resent / { all += $2; seen = 1 } END { print seen ? all : "–" }' "$kept/$name.flat")
    cause=$(found diagnosis.cause) confidence=$(found diagnosis.confidence)
    due=$(found background.due) bad=$(found background.bad)
    awk -v name="$name" -v rate="$rate" -v wrk="$wrk" -v from="$from" -v to="$to" -v lower="$(found limits.0.lower)" -v upper="$(found limits.0.upper)" \
        -v held="$(found limits.0.held)" -v seconds="$seconds" -v resent="$resent" -v loss="$loss" -v due="$due" -v bad="$bad" -v cause="$cause" \
        -v confidence="$confidence" -v gave="$gave" -v ours="$ours" -v ended="$(found ended)" -v code="$code" -v in_short="$in_short" \
        -v says="$says" -v said="$(sed -n 's/^caveats\.[0-9]*\.code //p' "$kept/$name.flat" | tr '\n' ' ')" \
        -v uneven="$(grep -q uneven-machine "$kept/$name.flat" && echo " (uneven machine)")" '
        function whole(number) { return number == "" ? "–" : int(number) }
        function wrong(what) { words = words (words == "" ? "no: " : ", ") what }
        BEGIN {
            if (from == "") from = wrk == "" ? 0.93 : 0.75
            if (to == "") to = wrk == "" ? 1.03 : 1.05
            if (in_short) { from *= 0.85; to *= 1.05 }
            # On two processors the generator may be the limit itself: then it has to say so, and to hold that much.
            made = ours != "" && ended == "generator_limit"
            if (made) { if (lower < rate * ours) wrong("too low"); if (lower > rate * to) wrong("too high"); gave = gave " generator" }
            else if (lower == "" && upper == "") wrong("no limit (" ended ", exit code " code ")")
            else if (lower == "") wrong("below " upper)
            else if (upper == "") wrong("at least " lower " (" ended ")")
            else {
                if (upper < rate * from) wrong("too low")
                if (lower > rate * to) wrong("too high")
                # What does not last has no narrow limit: to say so is what counts.
                if (!in_short && says == "" && upper - lower > 0.3 * upper) wrong("wide" uneven)
            }
            if (says != "" && index(" " said, " " says " ") == 0) wrong("does not say " says)
            if (seconds > 180) wrong("slow")
            share = due > 0 ? bad / due : 0
            if (loss > 0 ? share < loss / 2 || share > loss * 2 : share > 0) wrong("loss")
            if (gave != "" && cause != "" && index(" " gave " ", " " cause " ") == 0) { other = ", not " gave; if (!in_short && confidence == "high") wrong("cause") }
            if (in_short && code == 92) words = "busy"
            # What it says is true as far as it goes, and its short time is spent.
            if (in_short && words != "" && ended == "budget_spent" && (lower == "" || lower <= rate * to) && (upper == "" || upper >= rate * from))
                words = "undecided"
            printf "| %s | %d/s%s | %s | %d s | %s | %s | %s%s | %s |\n", name, rate, wrk == "" ? "" : " (wrk)",
                whole(held) " (" whole(lower) " to " whole(upper) ")", seconds, resent, bad == "" ? "–" : bad " of " due,
                cause == "" ? "–" : cause " (" confidence ")", other, words == "" ? "yes" : words
        }'
}

in_short=
if [ "${1:-}" = --cheap ]; then
    in_short=yes
    set -- $(cd targets/zoo && grep -l '^cheap=' */truth | xargs -n 1 dirname)
fi
[ $# -gt 0 ] || set -- $(cd targets/zoo && ls -d */ | tr -d /)
lines=$(mktemp) undecided=$(mktemp)
trap 'rm -f "$lines" "$undecided"' EXIT
echo "| service | truth | found: held (interval) | seconds | resent | lost at any rate | gave first | right |"
echo "|---|---|---|---|---|---|---|---|"
for name; do
    if [ -n "$in_short" ]; then row "$name" | tee -a "$lines" & else row "$name" | tee -a "$lines"; fi
done
wait
wrong=$(grep -cv '| yes |$' "$lines" || true)
# A search that never ends would be undecided everywhere.
[ "$(wc -l <"$undecided")" -le $(($# / 2 + 1)) ] || { echo "hardly any row could be decided" >&2; exit 1; }
[ "$wrong" = 0 ] || { echo "$wrong rows of the zoo are wrong; target/zoo/ has what was found" >&2; exit 1; }
