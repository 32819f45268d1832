# The other machine: it lets in whoever has the key, and ends when it is told to.
echo node >/proc/sys/kernel/hostname
ip addr add 10.7.0.2/24 dev eth0
ip link set eth0 up
/usr/sbin/sshd -f /etc/sshd_config
for second in $(seq 400); do
    [ -e /tmp/over ] && break
    sleep 1
done
