// Ten requests at once, 20 ms each, however they come; every thousandth is answered 500.
import http from "node:http";

const waiting = [];
let busy = 0;
let count = 0;

function begin(response) {
  busy += 1;
  setTimeout(() => {
    busy -= 1;
    count += 1;
    response.statusCode = count % 1000 === 0 ? 500 : 200;
    response.end("ok\n");
    if (waiting.length > 0) begin(waiting.shift());
  }, 20);
}

http
  .createServer((request, response) => (busy < 10 ? begin(response) : waiting.push(response)))
  .listen(18713, "127.0.0.1");
