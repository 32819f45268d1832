// Ten requests at once, at first 20 ms each. It keeps a kilobyte of each request for good, and takes a millisecond longer after every 5,000.
import http from "node:http";

const kept = [];
const waiting = [];
let busy = 0;

function begin(response) {
  busy += 1;
  kept.push(Buffer.alloc(1024, kept.length));
  setTimeout(() => {
    busy -= 1;
    response.end("ok\n");
    if (waiting.length > 0) begin(waiting.shift());
  }, 20 + kept.length / 5000);
}

http
  .createServer((request, response) => (busy < 10 ? begin(response) : waiting.push(response)))
  .listen(18715, "127.0.0.1");
