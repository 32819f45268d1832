# One machine: control groups v2, an older kernel, and users who may do less.
export XDG_DATA_HOME=/tmp/root

# In a control group of its own with one limit: NAME FILE VALUE COMMAND…
cat >/bin/within <<'END'
#!/bin/sh
group=/sys/fs/cgroup/$1
mkdir -p $group
echo "$3" >$group/$2
echo 0 >$group/cgroup.procs
shift 3
exec "$@"
END
chmod +x /bin/within
echo '+cpu +memory +pids +cpuset +io' >/sys/fs/cgroup/cgroup.subtree_control

row 'a search ends' 0,91,92 'requests/s(:| +\()|holds|not trustworthy & time: [0-9]+ trials' torment find demo --from 20 --max 200 --trial 2s --budget 25s
row 'threads end at pids.max' 0 'pids.max' within few pids.max 300 torment find threads
within slow cpu.max '20000 100000' torment target --listen 127.0.0.1:8081 --model threads >/tmp/slow.log 2>&1 &
torment target --listen 127.0.0.1:8082 --model threads >/tmp/free.log 2>&1 &
for port in 8081 8082; do
    until wget -q -O /dev/null http://127.0.0.1:$port/healthz; do sleep 1; done
done
row 'a quota is named' 0,92,99 'throttled & quota' torment run 'http://127.0.0.1:8081/fault/cpu?us=8000' -r 40 -d 10s
row 'watching says who waits' 0 'threads? & waits? for' torment watch :8082 --for 3s
as_nobody() { row "$1" "$2" "$3" su nobody -c "HOME=/tmp/nobody XDG_DATA_HOME=/tmp/nobody $4"; }
as_nobody 'a user may load' 0,92 '40 due' 'torment run http://127.0.0.1:8082/json -r 20 -d 2s'
mount -o remount,hidepid=2 /proc
as_nobody 'hidden processes are no error' 0,92 '40 due' 'torment run http://127.0.0.1:8082/json -r 20 -d 2s'
as_nobody 'who watches hidden ones is told' 1 'torment: .*8082' 'torment watch :8082 --for 2s'
as_nobody 'and so the doctor says' 0,92 'processes of others +hidden' 'torment doctor'
mount -o remount,hidepid=0 /proc
mkdir /tmp/fixed
mount -t tmpfs -o ro fixed /tmp/fixed
row 'a store that is read-only is said' 1 'torment: .*/tmp/fixed & [Rr]ead-only' env XDG_DATA_HOME=/tmp/fixed torment run http://127.0.0.1:8082/json -r 20 -d 2s
row 'without one it runs' 0,92 '40 due' env XDG_DATA_HOME=/tmp/fixed torment run http://127.0.0.1:8082/json -r 20 -d 2s --no-store
row 'processes are started' 0,92 '50 due' torment run --processes 50 -- true
row 'a probe ends' 0,92 'fork & µs' torment probe launch --blocks 3
row 'the doctor sees groups of version 2' 0,92 'control groups +version 2' torment doctor
