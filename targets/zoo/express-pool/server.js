import { createRequire } from "node:module";

const require = createRequire(new URL("../../node-users/", import.meta.url));
const express = require("express");
const pg = require("pg");

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 5 });
const app = express();

app.get("/", async (request, response) => {
  await pool.query("select pg_sleep(0.02)");
  response.json({ ok: true });
});
app.listen(18705, "127.0.0.1");
