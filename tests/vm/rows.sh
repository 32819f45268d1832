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

row 'a search ends' 'demo & requests/s|holds|undecided|torment' torment find demo --from 20 --max 200 --trial 2s --budget 25s
row 'threads end at pids.max' 'pids.max' within few pids.max 300 torment find threads
within slow cpu.max '20000 100000' torment target --listen 127.0.0.1:8081 --model threads >/tmp/slow.log 2>&1 &
torment target --listen 127.0.0.1:8082 --model threads >/tmp/free.log 2>&1 &
for port in 8081 8082; do
    until wget -q -O /dev/null http://127.0.0.1:$port/healthz; do sleep 1; done
done
row 'a quota is named' 'throttled & quota' torment run 'http://127.0.0.1:8081/fault/cpu?us=8000' -r 40 -d 10s
row 'watching says who waits' 'torment & threads?' torment watch :8082 --for 3s
row 'a user may load' '40 due' su nobody -c 'HOME=/tmp/nobody XDG_DATA_HOME=/tmp/nobody torment run http://127.0.0.1:8082/json -r 20 -d 2s'
mount -o remount,hidepid=2 /proc
row 'hidden processes are no error' '40 due' su nobody -c 'HOME=/tmp/nobody XDG_DATA_HOME=/tmp/nobody torment run http://127.0.0.1:8082/json -r 20 -d 2s'
row 'who watches hidden ones is told' 'torment: ' su nobody -c 'HOME=/tmp/nobody XDG_DATA_HOME=/tmp/nobody torment watch :8082 --for 2s'
mount -o remount,hidepid=0 /proc
mkdir /tmp/fixed
mount -t tmpfs -o ro fixed /tmp/fixed
row 'a store that is read-only is said' 'torment: .*/tmp/fixed & [Rr]ead-only' env XDG_DATA_HOME=/tmp/fixed torment run http://127.0.0.1:8082/json -r 20 -d 2s
row 'without one it runs' '40 due' env XDG_DATA_HOME=/tmp/fixed torment run http://127.0.0.1:8082/json -r 20 -d 2s --no-store
row 'processes are started' '50 due' torment run --processes 50 -- true
row 'a probe ends' 'fork|process' torment probe launch --blocks 3
