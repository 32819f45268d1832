#!/bin/sh
# Workers in a cluster: a real API server with its controllers, scheduler and store, the user's kubectl, and nodes that are hollow: what is bound to
# them runs as processes of this machine. What a kubelet, a network plug-in and two machines would add is not here: docs/kubernetes.md.
# Usage: tests/cluster.sh [TEST…]      wants root, go and etcd; seven minutes, the first time twice that
set -eu
cd "$(dirname "$0")/.."
has() { command -v "$1" >/dev/null 2>&1; }
kept=${TORMENT_KUBE:-${XDG_CACHE_HOME:-$HOME/.cache}/torment-cluster}
torment=${TORMENT_BIN:-$(ls -t ${CARGO_TARGET_DIR:-target}/*/debug/torment ${CARGO_TARGET_DIR:-target}/debug/torment 2>/dev/null | head -1)}
[ -x "$torment" ] || { echo "tests/cluster.sh: there is no program: make built, or TORMENT_BIN=FILE" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "tests/cluster.sh: wants root, for networks of pods" >&2; exit 2; }
missing=
has etcd || missing="$missing etcd-server"
has ip || missing="$missing iproute2"
has containerd && has runc || missing="$missing containerd runc"
if [ -n "$missing" ]; then
    has apt-get || { echo "tests/cluster.sh: not installed:$missing" >&2; exit 2; }
    # It would start a service of its own.
    keep=/usr/sbin/policy-rc.d
    [ -e "$keep" ] || { printf '#!/bin/sh\nexit 101\n' >"$keep" && chmod +x "$keep" && made=1; }
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
    [ -z "${made:-}" ] || rm -f "$keep"
fi
tests/cluster/image.sh "$(realpath "$torment")"
tests/cluster/build.sh "$kept"

# By this bridge pods reach each other. There is one cluster at a time, for its ports are always the same.
ip link add torment-k8s type bridge ||
    { echo "tests/cluster.sh: another is under way; if not, ip link delete torment-k8s" >&2; exit 2; }
work=$(mktemp -d /tmp/torment-cluster-XXXXXX)
pids=
stop() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    for pid in $pids; do wait "$pid" 2>/dev/null || true; done
    # A process that has become another user outlives whoever started it.
    for pod in $(ip netns list 2>/dev/null | sed -n 's/^\(torment-k8s-[0-9]*\).*/\1/p'); do
        ip netns pids "$pod" | xargs -r kill -9 2>/dev/null || true
        ip netns delete "$pod"
    done
    ip link delete torment-k8s 2>/dev/null || true
    find /sys/fs/cgroup -depth -type d -path '*/kubepods-hollow*' -exec rmdir {} + 2>/dev/null || true
    rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM
# NAME COMMAND…: in the background, its words in a file.
start() {
    name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 &
    pids="$! $pids"
}
port=26443
openssl genrsa -out "$work/sa.key" 2048 2>/dev/null
openssl rsa -in "$work/sa.key" -pubout -out "$work/sa.pub" 2>/dev/null
printf '%s\n' 'admin-token,admin,admin,system:masters' 'dev-token,dev,dev' 'guest-token,guest,guest' >"$work/tokens.csv"
printf '#!/bin/sh\nexec %s kubectl "$@"\n' "$kept/kube" >"$work/kubectl"
chmod +x "$work/kubectl"
{
    printf 'apiVersion: v1\nkind: Config\ncurrent-context: dev\nclusters:\n'
    printf -- '- {name: lab, cluster: {server: "https://127.0.0.1:%s", insecure-skip-tls-verify: true}}\n' $port
    printf -- '- {name: gone, cluster: {server: "https://127.0.0.1:9", insecure-skip-tls-verify: true}}\nusers:\n'
    for who in admin dev guest; do printf -- '- {name: %s, user: {token: %s-token}}\n' $who $who; done
    printf 'contexts:\n'
    for who in admin dev guest; do printf -- '- {name: %s, context: {cluster: lab, user: %s, namespace: load}}\n' $who $who; done
    printf -- '- {name: gone, context: {cluster: gone, user: dev, namespace: load}}\n'
} >"$work/config"
sed 's/^current-context: dev/current-context: admin/' "$work/config" >"$work/admin"

etcd=127.0.0.1:26379
start etcd etcd --data-dir "$work/etcd" --listen-client-urls http://$etcd --advertise-client-urls http://$etcd \
    --listen-peer-urls http://127.0.0.1:26380 --unsafe-no-fsync
# The features want a newer etcd than Debian's.
start apiserver "$kept/kube" apiserver --etcd-servers=http://$etcd --bind-address=127.0.0.1 --secure-port=$port --cert-dir="$work/certs" \
    --service-cluster-ip-range=10.96.0.0/24 --authorization-mode=RBAC --token-auth-file="$work/tokens.csv" --service-account-issuer=https://lab \
    --service-account-key-file="$work/sa.pub" --service-account-signing-key-file="$work/sa.key" \
    --feature-gates=ListFromCacheSnapshot=false,SizeBasedListCostEstimate=false
admin() { KUBECONFIG="$work/admin" "$work/kubectl" "$@"; }
until admin get --raw /readyz >"$work/ready.log" 2>&1; do
    waited=$((${waited:-0} + 1))
    [ $waited -lt 120 ] && kill -0 "${pids%% *}" 2>/dev/null || { tail -n 20 "$work/apiserver.log" "$work/ready.log" >&2; exit 1; }
    sleep 0.5
done
start controllers "$kept/kube" controllers --kubeconfig="$work/admin" --service-account-private-key-file="$work/sa.key" \
    --leader-elect=false --secure-port=0
start scheduler "$kept/kube" scheduler --kubeconfig="$work/admin" --leader-elect=false --secure-port=0
image=torment:$("$torment" --version | sed 's/.* //')
start nodes "$kept/kube" nodes --kubeconfig "$work/admin" --folder "$work/pods" --image "$image" --binary "$(realpath "$torment")" a b c
admin apply -f tests/cluster/lab.yaml >/dev/null
# Whoever makes pods waits for the account that they have.
for namespace in load shop tight watch inner; do
    until admin -n $namespace get serviceaccount default >/dev/null 2>&1; do sleep 0.2; done
done
sed "s/IMAGE/$image/" tests/cluster/target.yaml | admin apply -f - >/dev/null
for namespace in shop inner; do
    admin -n $namespace wait --for=condition=Ready pod --all --timeout=60s >/dev/null || { tail -n 20 "$work"/*.log >&2; exit 1; }
done
export TORMENT_LAB="$work" TORMENT_BIN="$(realpath "$torment")"
rc=0
cargo test --workspace --exclude torment-bench --test it -- --ignored --test-threads=1 --nocapture "${@:-cluster::}" || rc=$?
[ $rc = 0 ] || { cp "$work"/*.log "${KEEP_LOGS:-/dev/null}" 2>/dev/null || tail -n 15 "$work"/nodes.log "$work"/controllers.log >&2; }
exit $rc
