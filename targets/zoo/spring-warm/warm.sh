# Starts the clinic, has it asked for 40 s, and says so.
java -Xmx512m -XX:+UseSerialGC -jar ../../spring-clinic/target/spring-clinic.jar &
service=$!
trap 'kill $service' TERM
until curl -s -o /dev/null "http://127.0.0.1:$CLINIC_PORT/healthz"; do sleep 0.1; done
wrk -t1 -c16 -d40s "http://127.0.0.1:$CLINIC_PORT/owners/1" >/dev/null
echo "warm now"
wait $service
