// A server that plays torment: the same addresses and answers, and a run that goes on as the test says.

import { createServer } from 'node:http';
import { page } from './browser.mjs';

export async function stage({ token = null, home = '#/' } = {}) {
  const runs = new Map();
  const listeners = new Set();
  let history = () => [];
  let compare = null;
  let picture = null;
  let asked = [];

  const answer = (request, response) => {
    const url = new URL(request.url, 'http://127.0.0.1');
    asked.push(url.pathname + url.search);
    const json = (value, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(value));
    };
    if (url.pathname === '/') {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      response.end(page());
      return;
    }
    if (token !== null && url.searchParams.get('token') !== token) return json({ error: 'this page needs its token' }, 401);
    if (url.pathname === '/api/home') return json({ home });
    if (url.pathname === '/api/history') return json({ runs: history(url.searchParams) });
    if (url.pathname === '/api/compare') return compare && !url.search.includes('none') ? json(compare) : json({ error: 'no run has this id' }, 404);
    const [, id, events, drawn] = /^\/api\/runs\/([^/]+)(\/events)?(\/picture\.svg)?$/.exec(url.pathname) ?? [];
    const run = runs.get(id);
    if (!run) return json({ error: `no run has the id ${id}` }, 404);
    if (drawn) {
      if (picture === null) return json({ error: 'this run has no picture' }, 404);
      response.writeHead(200, { 'content-type': 'image/svg+xml' });
      response.end(picture);
      return;
    }
    if (!events) return json(run);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write('retry: 200\n\n');
    listeners.add(response);
    request.on('close', () => listeners.delete(response));
  };

  let server;
  let port = 0;
  const start = () =>
    new Promise((done) => {
      server = createServer(answer);
      server.listen(port, '127.0.0.1', () => {
        port = server.address().port;
        done();
      });
    });
  const stop = () =>
    new Promise((done) => {
      for (const listener of listeners) listener.destroy();
      listeners.clear();
      server.close(done);
      server.closeAllConnections();
    });
  await start();

  return {
    url: (rest = '') => `http://127.0.0.1:${port}/${rest}`,
    run: (id, document) => runs.set(id, document),
    /** Runs, narrowed down as torment does it. */
    history: (runs) => {
      const verdicts = { met: 'good', 'not-met': 'bad' };
      history = (asked) => {
        const tone = verdicts[asked.get('verdict')];
        const from = asked.has('since') ? Date.now() - Number.parseInt(asked.get('since'), 10) * 1000 : 0;
        return runs.filter((run) => run.started_unix_ms >= from && (tone === undefined || run.verdict_tone === tone));
      };
    },
    compare: (document) => (compare = document),
    picture: (svg) => (picture = svg),
    listeners: () => listeners.size,
    asked: () => asked,
    forget: () => (asked = []),
    tell(event, data, id) {
      for (const listener of listeners) listener.write(`event: ${event}\n${id ? `id: ${id}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
    },
    start,
    stop,
  };
}

/** Some thirty runs, the oldest first. */
export function runs() {
  const now = Date.now();
  return Array.from({ length: 30 }, (_, i) => ({
    id: `run${i}`,
    name: i === 3 ? 'before the change' : null,
    tags: i % 10 === 0 ? ['nightly'] : [],
    command: i % 3 === 0 ? 'run' : 'find',
    target: i % 2 === 0 ? 'http://127.0.0.1:8181/owners' : 'demo',
    machine: i % 5 === 0 ? 'laptop' : 'homelab, 2 × Xeon, 24 GiB',
    verdict: (i === 29 ? 'still running; ' : i === 28 ? 'cut short; ' : '') + (i % 4 === 0 ? 'goal not met: zero-drop' : `holds ${1900 + i}/s`),
    verdict_tone: i % 4 === 0 ? 'bad' : 'good',
    state: i === 29 ? 'running' : i === 28 ? 'cut_short' : 'ended',
    started_unix_ms: now - (30 - i) * 6 * 3_600_000,
    ended_unix_ms: i >= 28 ? null : now - (30 - i) * 6 * 3_600_000 + 65_000 + i * 1000,
    commit: i < 14 ? '0123456789ab' : 'fedcba987654',
    limit: i % 3 === 0 ? null : { held: 1900 + i, lower: 1880 + i, upper: i === 20 ? null : 1930 + i, unit: 'requests/s' },
    alike: i % 2,
    before: i % 3 === 0 || i < 4 ? null : { id: `run${i - 2}`, text: '+0.1 %, within noise', tone: 'faint' },
  }));
}
