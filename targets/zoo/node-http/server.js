import http from "node:http";

const rows = Array.from({ length: 50 }, (_, n) => ({ id: n, name: `row ${n}`, price: n * 1.25 }));

http
  .createServer((request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(rows));
  })
  .listen(18704, "127.0.0.1");
