# The machine of the service, where torment is typed too: the load comes from the other one.
export XDG_DATA_HOME=/tmp/root
ip addr add 10.7.0.1/24 dev eth0
ip link set eth0 up
torment target --listen 10.7.0.1:8080 --model threads >/tmp/target.log 2>&1 &
tries=0
until ssh -o BatchMode=yes -o ConnectTimeout=3 node2 true 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 60 ] || break
    sleep 1
done
row 'a load comes from the other machine' 0,92 '1 worker on node & 200 due' torment run http://10.7.0.1:8080/json -r 50 -d 4s --on ssh:node2
row 'a search ends in a limit, with what gave first' 0 'worker on node & holds (4[5-9]|5[0-5])[.0-9]* requests/s & queue grows & inside' torment find 'http://10.7.0.1:8080/queue?us=20000' --from 10 --trial 4s --budget 2m --on ssh:node2
row 'nothing is left there' 0 '^0$' ssh node2 'ps | grep -c "[t]orment worker"; true'
row 'an address that each machine has is refused' 1 'node finds itself & name the target by an address' torment run http://127.0.0.1:8080/json -r 50 -d 4s --on ssh:node2
row 'the built-in service too' 1 'name the target by an address' torment find demo --on ssh:node2
ssh node2 'touch /tmp/over'
