// Ten requests at once, 20 ms each, however they come; and every ten seconds it stands still for one.
import http from "node:http";

const waiting = [];
let busy = 0;

function begin(response) {
  busy += 1;
  setTimeout(() => {
    busy -= 1;
    response.end("ok\n");
    if (waiting.length > 0) begin(waiting.shift());
  }, 20);
}

http
  .createServer((request, response) => (busy < 10 ? begin(response) : waiting.push(response)))
  .listen(18714, "127.0.0.1");

const still = new Int32Array(new SharedArrayBuffer(4));
setInterval(() => Atomics.wait(still, 0, 0, 1000), 10000);
