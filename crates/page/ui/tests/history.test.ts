import { expect, test } from 'vitest';
import type { Listed } from '../src/document';
import { asked, shownRuns, SPANS, type Wanted } from '../src/history-rows';
import { routeOf } from '../src/route';

const run = (id: string, more: Partial<Listed>): Listed => ({
  id,
  name: '',
  tags: [],
  commit: '',
  command: 'find',
  target: 'demo',
  machine: 'homelab',
  plan: '',
  verdict: 'holds 1,983/s',
  verdict_tone: 'good',
  state: 'ended',
  started_unix_ms: 0,
  ended_unix_ms: 1000,
  limit: null,
  alike: null,
  before: null,
  ...more,
});
const RUNS = [
  run('a', { plan: 'goal = "p99<50ms"\n[load]\nrate = 300\n', started_unix_ms: 100, ended_unix_ms: 400, tags: ['nightly'], name: 'before' }),
  run('b', { started_unix_ms: 300, ended_unix_ms: null, state: 'running', target: 'http://shop/' }),
  run('c', { limit: { held: null, lower: 9, upper: null, unit: 'requests/s' }, started_unix_ms: 200, ended_unix_ms: 9000, verdict: 'goal not met', command: 'run', machine: 'Laptop' }),
];
const ids = (part: Partial<Wanted>) =>
  shownRuns(RUNS, { text: '', by: 'started', descending: true, ...part })
    .map((run) => run.id)
    .join('');

test('the latest run comes first', () => expect(ids({})).toBe('bca'));

test.each([
  ['shop', 'b'],
  ['LAPTOP goal', 'c'],
  ['tag:night', 'a'],
  ['machine:homelab command:find', 'ba'],
  ['target:nightly', ''],
  ['running', 'b'],
  ['http://shop', 'b'],
  ['before', 'a'],
  ['plan:rate=300', 'a'],
  ['plan:p99<50ms command:find', 'a'],
  ['plan:poisson', ''],
  ['rate', ''],
  ['nothing:a', ''],
  ['constructor:a', ''],
])('the filter %j', (text, expected) => expect(ids({ text })).toBe(expected));

test('verdict and time are asked of the server', () => {
  const any = { verdict: '', span: 0, from: '', to: '' };
  expect(asked(any)).toBe('/api/history?limit=10000');
  expect(asked({ ...any, verdict: 'not-met', span: 2 })).toBe('/api/history?limit=10000&verdict=not-met&since=86400s');
  const between = new URLSearchParams(asked({ ...any, span: SPANS.length, from: '2026-11-20', to: '2026-11-20' }).split('?')[1]);
  expect(between.get('since')).toBe(new Date(2026, 10, 20).toISOString());
  expect(between.get('until')).toBe(new Date(2026, 10, 21).toISOString());
  expect(asked({ ...any, span: SPANS.length, to: '' })).not.toContain('until');
});

test('other orders', () => {
  expect(ids({ by: 'lasted', descending: false })).toBe('acb');
  expect(ids({ by: 'verdict', descending: false })).toBe('cba');
  expect(ids({ by: 'limit' })).toBe('cba');
  expect(ids({ by: 'target', descending: false })[2]).toBe('b');
});

test('addresses', () => {
  expect(routeOf('')).toEqual({ page: 'history' });
  expect(routeOf('#/')).toEqual({ page: 'history' });
  expect(routeOf('#/runs/7f3a')).toEqual({ page: 'run', id: '7f3a' });
  expect(routeOf('#/compare/a,b%2C,c')).toEqual({ page: 'compare', ids: ['a', 'b,', 'c'] });
  expect(routeOf('#/runs/100%')).toEqual({ page: 'run', id: '100%' });
  expect(routeOf('#/nowhere')).toEqual({ page: 'unknown', hash: '#/nowhere' });
});
