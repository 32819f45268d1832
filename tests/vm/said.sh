# How a row is said: `row NAME WORDS COMMAND…` is right if the command ends within three minutes, and prints each of the words (an
# extended regular expression each, separated by ` & `).
row() {
    name=$1 words=$2
    shift 2
    timeout 180 "$@" >/tmp/said 2>&1
    code=$?
    wrong=
    while [ -n "$words" ]; do
        word=${words%% & *}
        [ "$word" = "$words" ] && words= || words=${words#* & }
        grep -qE -- "$word" /tmp/said || wrong="$wrong '$word'"
    done
    if [ $code -ge 124 ] && [ $code != 130 ]; then wrong="$wrong its end ($code)"; fi
    if [ -z "$wrong" ]; then
        echo "ROW ok      $name"
    else
        echo "ROW WRONG   $name: exit $code, not found:$wrong"
        cat /tmp/said
    fi
}
