#!/bin/sh
# What torment finds and says on another kernel: Debian's, with control groups v2, in a virtual machine without hardware support.
# Nothing is measured there; it is too slow for that. Then two machines: the service in one, its load from the other by ssh.
# Usage: tests/vm.sh [rows|ssh]      the program: TORMENT_BIN, or what `make built` has built
set -eu
cd "$(dirname "$0")/.."
has() { command -v "$1" >/dev/null 2>&1; }
here=tests/vm
work=${CARGO_TARGET_DIR:-target}/vm
torment=${TORMENT_BIN:-$(ls -t ${CARGO_TARGET_DIR:-target}/*/debug/torment ${CARGO_TARGET_DIR:-target}/debug/torment 2>/dev/null | head -1)}
[ -x "$torment" ] || { echo "tests/vm.sh: there is no program: make built, or TORMENT_BIN=FILE" >&2; exit 2; }

missing=
has qemu-system-x86_64 || missing="$missing qemu-system-x86"
[ -x /bin/busybox ] && /bin/busybox --list | grep -qx insmod || missing="$missing busybox-static"
has cpio || missing="$missing cpio"
has ssh && [ -x /usr/sbin/sshd ] || missing="$missing openssh-client openssh-server"
if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ] && has apt-get; then
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
    else
        echo "tests/vm.sh: not installed:$missing; on Debian: sudo apt-get install$missing" >&2
        exit 2
    fi
fi

# The kernel is unpacked, not installed.
mkdir -p "$work"
if [ ! -d "$work/kernel/boot" ]; then
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: //p' | head -1)
    (cd "$work" && rm -f ./*.deb && apt-get download -qq "$package" 2>/dev/null && dpkg -x ./*.deb kernel && rm -f ./*.deb)
fi
vmlinuz=$(ls "$work"/kernel/boot/vmlinuz-*)
modules=$(ls -d "$work"/kernel/lib/modules/*)

# A program with the libraries that it is linked with.
with_libraries() {
    for file in "$@" $(ldd "$@" 2>/dev/null | tr -s ' \t' '\n' | grep '^/.*[^:]$' | sort -u); do
        mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file"
    done
}

root=$work/root
rm -rf "$root"
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/etc" "$root/root/.ssh" "$root/run/sshd" "$root/lib" "$root/usr/bin"
chmod 700 "$root/root" "$root/root/.ssh"
chmod 1777 "$root/tmp"
cp /bin/busybox "$root/bin/"
strip -o "$root/bin/torment" "$torment" 2>/dev/null || cp "$torment" "$root/bin/torment"
cp "$here/init" "$root/init"
cp "$here"/*.sh "$root/"
chmod +x "$root/init"
for module in virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci failover net_failover virtio_net; do
    found=$(find "$modules" -name "$module.ko*" | head -1)
    [ -z "$found" ] || cp "$found" "$root/lib/"
done
printf 'root::0:0:root:/root:/bin/sh\nsshd:x:74:74::/run/sshd:/bin/false\nnobody:x:65534:65534::/tmp:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nsshd:x:74:\nnogroup:x:65534:\n' >"$root/etc/group"
printf '10.7.0.1 service\n10.7.0.2 node2\n' >"$root/etc/hosts"
with_libraries /usr/bin/ssh /usr/sbin/sshd
# Both machines have both keys: they are of this test alone.
ssh-keygen -q -t ed25519 -N '' -f "$root/root/.ssh/id_ed25519"
ssh-keygen -q -t ed25519 -N '' -f "$root/etc/host_key"
cp "$root/root/.ssh/id_ed25519.pub" "$root/root/.ssh/authorized_keys"
printf 'HostKey /etc/host_key\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n' >"$root/etc/sshd_config"
printf 'Host *\n  StrictHostKeyChecking no\n  LogLevel ERROR\n' >"$root/root/.ssh/config"
chmod 600 "$root/root/.ssh/config" "$root/root/.ssh/authorized_keys"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd.gz"

# Boots a machine in a role, until it powers itself off; its console is kept.
machine() {
    role=$1
    shift
    timeout 600 qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 3G -kernel "$vmlinuz" -initrd "$work/initrd.gz" \
        -append "console=ttyS0 quiet panic=-1 role=$role" -nographic -no-reboot -net none "$@" </dev/null >"$work/$role.log" 2>&1
}

# Each row says what it is and whether it was right; all that are known have to.
judge() {
    tr -d '\r' <"$work/$1.log" | grep -o 'ROW .*' || true
    wanted=$(grep -cE '^(row|as_nobody) ' "$here/$1.sh")
    right=$(tr -d '\r' <"$work/$1.log" | grep -c 'ROW ok' || true)
    if [ "$right" != "$wanted" ]; then
        echo "tests/vm.sh: $1: $right of $wanted rows are right; the console is in $work/$1.log" >&2
        failed=1
    fi
}

failed=0
what=${1:-all}
if [ "$what" != ssh ]; then
    machine rows || true
    judge rows
fi
if [ "$what" != rows ]; then
    # Packets between the two go through a socket of this machine.
    port=$((20000 + $$ % 10000))
    machine node -device virtio-net-pci,netdev=n,mac=52:54:00:00:00:02 -netdev "socket,id=n,listen=127.0.0.1:$port" &
    node=$!
    sleep 1
    machine service -device virtio-net-pci,netdev=n,mac=52:54:00:00:00:01 -netdev "socket,id=n,connect=127.0.0.1:$port" || true
    # It ends by itself, soon after it is told to.
    wait "$node" || true
    judge service
fi
exit $failed
