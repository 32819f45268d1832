#!/bin/sh
# The image that torment writes, taken by containerd and run by runc, as a worker's pod would be: without rights, without a root to write to.
# Usage: tests/cluster/image.sh TORMENT      wants root, containerd and runc
set -eu
torment=$1
for program in containerd ctr runc; do
    command -v $program >/dev/null || { echo "SKIPPED: there is no $program: apt-get install containerd runc"; exit 0; }
done
work=$(mktemp -d /tmp/torment-image-XXXXXX)
containerd --root "$work/root" --state "$work/state" --address "$work/sock" --log-level error >"$work/log" 2>&1 &
pid=$!
trap 'kill $pid; wait $pid 2>/dev/null || true; rm -rf "$work"' EXIT
waited=0
until ctr --address "$work/sock" version >/dev/null 2>&1; do
    waited=$((waited + 1))
    [ $waited -lt 100 ] || { cat "$work/log" >&2; exit 1; }
    sleep 0.1
done
"$torment" image -q -o - | ctr --address "$work/sock" --namespace k8s.io images import --snapshotter native - >/dev/null
version=$("$torment" --version)
name=docker.io/library/torment:${version##* }
ctr --address "$work/sock" --namespace k8s.io images list -q | grep -qx "$name" || { echo "there is no $name" >&2; exit 1; }
run() {
    ctr --address "$work/sock" --namespace k8s.io run --rm --snapshotter native --read-only --net-host "$name" "$@"
}
[ "$(run one /torment --version)" = "$version" ] || { echo "it does not run" >&2; exit 1; }
# Not root, and it says what is wrong with a file that is not there: everything it needs is inside.
said=$(run two /torment worker --join /run/torment/run.join 2>&1) && { echo "it joined nobody" >&2; exit 1; }
case $said in *"cannot read '/run/torment/run.join'"*) ;; *) echo "$said" >&2; exit 1 ;; esac
user=$(ctr --address "$work/sock" --namespace k8s.io run --rm --snapshotter native "$name" three /torment run null -r 100 -d 1s --no-store -q --format json 2>&1) ||
    { echo "$user" >&2; exit 1; }
echo "image: containerd takes it, runc runs it"
