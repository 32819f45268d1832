# How a row is said: `row NAME CODES WORDS COMMAND…` is right if the command ends within three minutes with one of the exit codes (0,91,92),
# and prints each of the words (an extended regular expression each, separated by ` & `).
row() {
    name=$1 codes=$2 words=$3
    shift 3
    timeout 180 "$@" >/tmp/said 2>&1
    code=$?
    wrong=
    case ,$codes, in *,$code,*) ;; *) wrong=" code $codes" ;; esac
    while [ -n "$words" ]; do
        word=${words%% & *}
        [ "$word" = "$words" ] && words= || words=${words#* & }
        grep -qE -- "$word" /tmp/said || wrong="$wrong '$word'"
    done
    if [ -z "$wrong" ]; then
        echo "ROW ok      $name"
    else
        echo "ROW WRONG   $name: exit $code, not so:$wrong"
        cat /tmp/said
    fi
}
