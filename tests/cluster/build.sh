#!/bin/sh
# Builds what a cluster is made of: `kube`, of the Kubernetes module and of what is here. Two processors take six minutes the first time.
# Usage: tests/cluster/build.sh FOLDER      where the result is kept
set -eu
version=1.34.4
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" && cd "$1"
fresh=1
for file in "$here"/*.go; do cmp -s "$file" "${file##*/}" || fresh=; done
[ -x kube ] && [ -n "$fresh" ] && exit 0
command -v go >/dev/null || { echo "tests/cluster/build.sh: there is no go" >&2; exit 2; }
cp "$here"/*.go .
if [ ! -e go.sum ]; then
    rm -f go.mod
    go mod init kube
    go mod edit -require=k8s.io/kubernetes@v$version
    mod=$(go mod download -json k8s.io/kubernetes@v$version | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
    # Its parts are modules of their own, with versions of their own.
    for part in $(sed -n 's/^[[:space:]]*\(k8s.io[^ ]*\) => .*staging.*/\1/p' "$mod"); do
        go mod edit -replace="$part=$part@v0${version#1}"
    done
    go mod tidy
fi
said=k8s.io/component-base/version.gitVersion=v$version
asks=k8s.io/client-go/pkg/version.gitVersion=v$version
CGO_ENABLED=0 go build -trimpath -ldflags="-s -X $said -X $asks" -o kube .
