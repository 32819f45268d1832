// Starts the clinic in one process, or in several that share the port, and ends it when asked to.

import cluster from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { clinic } from './clinic.js';
import { read } from './knobs.js';
import { Rows } from './rows.js';

// How long requests in flight may take to end.
const GRACE_MS = 1_000;
const NO_SUCH_TABLE = '42P01';

const fail = (message, code) => {
  console.error(`node-users: ${message}`);
  process.exit(code);
};

const reason = (error) => {
  // One attempt for each address of a name.
  const { code, message } = error.errors?.[0] ?? error;
  if (code === 'EADDRINUSE') return `port ${error.port} is taken; end what listens there, or set PORT to another`;
  if (code === NO_SUCH_TABLE) return `${message}; run targets/clinic.sql in that database first`;
  return `${message}; check that PostgreSQL runs there, and the user, password and database in DATABASE_URL`;
};

// Gives the port that it listens at.
const serve = async (knobs) => {
  const rows = await Rows.open(knobs.database, knobs.pool);
  const server = createServer(clinic(rows));
  server.listen({ port: knobs.port, host: '127.0.0.1', backlog: knobs.backlog });
  await once(server, 'listening');
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => {
      server.close(() => process.exit(0));
      setTimeout(() => process.exit(0), GRACE_MS).unref();
    });
  }
  return server.address().port;
};

// The workers do the work; a worker that ends unasked is the end of all.
const lead = async (knobs) => {
  const workers = Array.from({ length: knobs.workers }, () => cluster.fork());
  let ending = false;
  cluster.on('exit', (_, code) => {
    if (!ending && code !== 0) process.exitCode = code;
    end();
  });
  const end = () => {
    if (ending) return;
    ending = true;
    workers.forEach((worker) => worker.process.kill('SIGTERM'));
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  const addresses = await Promise.all(workers.map(async (worker) => (await once(worker, 'listening'))[0]));
  return addresses[0].port;
};

let knobs;
try {
  knobs = read();
} catch (wrong) {
  fail(wrong.message, 2);
}
try {
  const port = await (cluster.isPrimary && knobs.workers > 1 ? lead(knobs) : serve(knobs));
  if (cluster.isPrimary) console.log(`listening on http://127.0.0.1:${port}`);
} catch (error) {
  fail(reason(error), 1);
}
